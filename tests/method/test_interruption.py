"""Callbacks, progress and interrupts."""

import sys
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kedge import SGL


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)[0][:600]


def test_callback_sees_every_iteration(digits):
    seen = []
    model = SGL(10, n_anchors=50, beta=1.0, random_state=0, callback=seen.append).fit(digits)
    assert [report.iteration for report in seen] == list(range(1, model.n_iter_ + 1))
    np.testing.assert_array_equal([report.objective for report in seen], model.objective_)
    assert seen[-1].n_components == model.n_components_
    assert all(a.seconds <= b.seconds for a, b in pairwise(seen))


def test_callback_that_returns_true_stops_and_keeps_the_result(digits):
    stopped = SGL(10, n_anchors=50, beta=1.0, tol=0, random_state=0, callback=lambda r: r.iteration == 3).fit(digits)
    assert stopped.n_iter_ == 3
    with pytest.warns(UserWarning, match="max_iter=3"):
        limited = SGL(10, n_anchors=50, beta=1.0, tol=0, max_iter=3, random_state=0).fit(digits)
    np.testing.assert_array_equal(stopped.labels_, limited.labels_)


@pytest.mark.parametrize("iteration", [1, 2])
def test_interrupt_says_how_far_it_came_and_leaves_the_estimator_alone(digits, iteration):
    def interrupt(report):
        if report.iteration == iteration:
            raise KeyboardInterrupt

    model = SGL(10, n_anchors=50, beta=1.0, random_state=0).fit(digits)
    before = model.labels_.copy()
    model.set_params(callback=interrupt, n_clusters=5)
    with pytest.raises(KeyboardInterrupt, match=f"after {iteration} finished iterations"):
        model.fit(digits)
    np.testing.assert_array_equal(model.labels_, before)


def test_verbose_is_quiet_where_nobody_looks(digits, capsys):
    SGL(10, verbose=1, random_state=0).fit(digits)
    assert capsys.readouterr() == ("", "")


def test_verbose_shows_a_bar_on_a_terminal(digits, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    SGL(10, n_anchors=50, beta=1.0, verbose=1, random_state=0).fit(digits)
    assert "iteration" in capsys.readouterr().err


def test_verbose_without_rich_says_what_to_install(digits, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.warns(UserWarning, match=r"pip install 'kedge\[cli\]'"):
        SGL(10, verbose=1, random_state=0).fit(digits)
