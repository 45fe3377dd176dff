"""Pairs of rows are always honoured, help other rows, and are refused with all reasons if they contradict."""

import warnings

import dask
import dask.array
import numpy as np
import pytest
from fuzzing import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_blobs

from kedge import MSGL, SGL
from kedge.metrics import nmi
from kedge.partition import colouring
from kedge.partition.colouring import place_groups

X, Y = make_blobs(90, n_features=5, centers=4, cluster_std=3.0, random_state=0)
MANY, TRUTH = make_blobs(6000, n_features=14, centers=12.0 * np.eye(5, 14), cluster_std=2.0, random_state=0)
OPTIONS = [
    {"n_clusters": 4},
    {"n_clusters": "auto"},
    {"n_clusters": 4, "partition": "spectral"},
    {"n_clusters": 4, "structure": "exact"},
    {"n_clusters": "auto", "beta": 0.3},
    {"n_clusters": 4, "signed": True},
]
NO_PAIRS = np.empty((0, 2), dtype=int)


def drawn_pairs(y, n_pairs, seed, *, same):
    """Draw pairs of rows of one class, or of two."""
    random = np.random.default_rng(seed)
    pairs = random.integers(len(y), size=(40 * n_pairs + 400, 2))
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & ((y[pairs[:, 0]] == y[pairs[:, 1]]) == same)]
    return pairs[:n_pairs]


def assert_honoured(labels, must, cannot):
    labels = np.asarray(labels)
    assert (labels[must[:, 0]] == labels[must[:, 1]]).all()
    assert (labels[cannot[:, 0]] != labels[cannot[:, 1]]).all()
    assert sorted(set(labels.tolist())) == list(range(labels.max() + 1))


@given(st.sampled_from(OPTIONS), st.integers(0, 40), st.integers(0, 40), st.integers(0, 10**6))
@settings(max_examples=examples(40))
def test_pairs_are_always_honoured_even_against_the_rows(options, n_must, n_cannot, seed):
    # Classes by chance: the pairs say nothing about the rows, but four clusters can honour them.
    classes = np.random.default_rng(seed).integers(4, size=len(X))
    must, cannot = (drawn_pairs(classes, n, seed, same=same) for n, same in ((n_must, True), (n_cannot, False)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = SGL(random_state=0, **options).fit(X, must_link=must, cannot_link=cannot)
        except ValueError as error:
            assert options.get("structure") == "exact"
            assert "take structure='soft'" in str(error)  # noqa: PT017
            return
    assert_honoured(model.labels_, must, cannot)
    assert model.n_clusters_ == model.labels_.max() + 1
    if isinstance(options["n_clusters"], int):
        assert model.n_clusters_ <= options["n_clusters"]


@pytest.mark.parametrize("partition", ["communities", "spectral"])
def test_identical_rows_can_be_kept_apart(partition):
    rows = np.repeat([[0.0, 0.0], [5.0, 5.0]], 10, axis=0)
    cannot = np.array([(0, 1), (1, 2), (0, 2), (12, 13)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SGL(3, random_state=0, partition=partition).fit(rows, cannot_link=cannot)
    assert_honoured(model.labels_, NO_PAIRS, cannot)
    assert model.predict(rows).shape == (20,)


def test_auto_finds_enough_clusters_for_the_cannot_links():
    rows = [3, 20, 41, 60, 77, 88]
    cannot = np.array([(a, b) for a in rows for b in rows if a < b])
    model = SGL(random_state=0).fit(X, cannot_link=cannot)
    assert_honoured(model.labels_, NO_PAIRS, cannot)
    assert model.n_clusters_ >= 6


def test_auto_counts_clusters_that_pairs_join_as_one():
    rows, y = make_blobs(600, centers=12.0 * np.eye(6), cluster_std=0.5, random_state=0)
    assert SGL(random_state=0).fit(rows).n_clusters_ == 6
    must = drawn_pairs(y // 2, 60, 0, same=True)
    model = SGL(random_state=0).fit(rows, must_link=must)
    assert model.n_clusters_ == 3
    assert nmi(y // 2, model.labels_) == pytest.approx(1.0)


def test_few_pairs_find_odd_and_even_digits():
    digits, y = load_digits(return_X_y=True)
    must, cannot = (drawn_pairs(y % 2, 36, 0, same=same) for same in (True, False))
    alone = nmi(y % 2, SGL(2, random_state=0).fit(digits).labels_)
    model = SGL(2, random_state=0).fit(digits, must_link=must, cannot_link=cannot)
    others = np.setdiff1d(np.arange(len(y)), np.concatenate([must, cannot]))
    assert nmi((y % 2)[others], model.labels_[others]) > 0.5 > 0.1 > alone


def test_pairs_help_where_anchors_are_cut_instead_of_rows():
    y = TRUTH // 2  # two classes of two blobs, and one blob
    must = drawn_pairs(y, 60, 0, same=True)
    others = np.setdiff1d(np.arange(len(y)), must)
    alone, model = (SGL(3, random_state=0, n_init=1).fit(MANY, must_link=pairs) for pairs in (None, must))
    assert nmi(y[others], model.labels_[others]) > 0.9 > nmi(y, alone.labels_)


def test_a_row_that_only_its_pair_explains_is_not_sure(monkeypatch):
    monkeypatch.setattr("kedge.partition.pairs.ROWS_PER_PAIR", 0.0)  # so that the pair moves its own rows alone
    rows, y = make_blobs(200, centers=[(0, 0), (20, 0)], random_state=0)
    pair = [int(np.flatnonzero(y == 0)[0]), int(np.flatnonzero(y == 1)[0])]
    model = SGL(2, random_state=0).fit(rows, must_link=[pair])
    assert model.labels_[pair[0]] == model.labels_[pair[1]]
    assert nmi(y, model.labels_) > 0.9
    assert sorted(model.confidence_[pair]) == pytest.approx([0.0, 1.0], abs=0.01)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_without_pairs_nothing_changes(options):
    plain = SGL(random_state=0, **options).fit(X)
    for empty in (None, [], NO_PAIRS):
        again = SGL(random_state=0, **options).fit(X, must_link=empty, cannot_link=None)
        np.testing.assert_array_equal(again.labels_, plain.labels_)
        np.testing.assert_array_equal(again.confidence_, plain.confidence_)
        np.testing.assert_array_equal(again.tree_, plain.tree_)


@pytest.mark.parametrize("partition", ["communities", "spectral"])
@pytest.mark.parametrize(("rows", "y"), [(X, Y), (MANY, TRUTH)], ids=["few", "many"])
def test_engines_agree(tmp_path, rows, y, partition):
    # Half of the pairs contradict the rows, so that labels have to be changed.
    classes = np.where(np.arange(len(y)) % 2, y, np.random.default_rng(0).integers(4, size=len(y)))
    must, cannot = (drawn_pairs(classes, 30, seed, same=seed == 0) for seed in (0, 1))
    np.save(tmp_path / "rows.npy", rows)
    with dask.config.set(scheduler="synchronous"):
        given = (rows, tmp_path / "rows.npy", dask.array.from_array(rows, chunks=(2500, -1)))
        models = [
            SGL(5, random_state=0, n_init=1, partition=partition).fit(one, must_link=must, cannot_link=cannot)
            for one in given
        ]
        labels = [np.asarray(model.labels_) for model in models]
        sure = [np.asarray(model.confidence_) for model in models]
    for one, confidence in zip(labels, sure, strict=True):
        assert_honoured(one, must, cannot)
        np.testing.assert_array_equal(one, labels[0])
        np.testing.assert_allclose(confidence, sure[0], atol=1e-10)


def test_several_views_take_pairs():
    must, cannot = drawn_pairs(Y, 10, 0, same=True), drawn_pairs(Y, 10, 0, same=False)
    model = MSGL(4, random_state=0).fit([X[:, :3], X[:, 3:]], must_link=must.tolist(), cannot_link=cannot.tolist())
    assert_honoured(model.labels_, must, cannot)


def test_a_checkpoint_belongs_to_its_pairs(tmp_path):
    def cut_off(report):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        SGL(4, random_state=0, checkpoint=tmp_path, callback=cut_off).fit(X, must_link=[(0, 1)])
    with pytest.raises(ValueError, match="must_link"):
        SGL(4, random_state=0, checkpoint=tmp_path).fit(X, must_link=[(0, 2)])


@pytest.mark.parametrize(
    ("must", "cannot", "message"),
    [
        ([(3, 8), (8, 12)], [(3, 12)], r"cannot_link has \(3, 12\), but must_link joins them: 3 - 8 - 12"),
        ([(1, 2), (2, 3), (3, 4), (1, 4)], [(4, 2)], "joins them: 4 - 3 - 2|joins them: 4 - 1 - 2"),
        (None, [(5, 5)], r"cannot_link\[0\] pairs row 5 with itself"),
        ([(0, 90)], None, r"must_link\[0\] = \(0, 90\) has a row number outside 0 to 89"),
        (None, [(1, 2), (-1, 4)], r"cannot_link\[1\] = \(-1, 4\) has a row number outside 0 to 89"),
        ([1, 2, 3], None, r"must_link must have shape \(n_pairs, 2\), two row numbers per pair; got \(3,\)"),
        ([(1, 2, 3)], None, r"got \(1, 3\)"),
        ([(1, 2), (3,)], None, r"must_link must have shape \(n_pairs, 2\)"),
        ([(1.5, 2)], None, "must_link must hold whole numbers"),
        ([("a", "b")], None, "must_link must hold whole numbers"),
        ([(True, False)], None, "must_link must hold whole numbers"),
        (None, [(a, b) for a in range(5) for b in range(a)], "cannot keep apart rows 0, 1, 2, 3, 4;"),
        ([(0, i) for i in range(1, 88)], None, "into 3 groups, fewer than n_clusters=4"),
    ],
)
def test_wrong_pairs_are_refused_with_the_reason(must, cannot, message):
    with pytest.raises(ValueError, match=message):
        SGL(4, random_state=0).fit(X, must_link=must, cannot_link=cannot)


def test_an_odd_ring_of_cannot_links_names_its_rows_alone():
    ring = [(10, 11), (11, 12), (12, 13), (13, 14), (14, 10)]
    with pytest.raises(ValueError, match=r"needs more than 2 clusters.*rows 10, 11, 12, 13, 14;"):
        SGL(2, random_state=0).fit(X, cannot_link=[*ring, (14, 20), (20, 21), (40, 41)])


def test_cannot_links_that_are_too_entangled_are_refused_without_a_claim(monkeypatch):
    monkeypatch.setattr(colouring, "_MOST_TRIED", 2)
    with pytest.raises(ValueError, match="no way was found to keep its rows apart in 3 clusters"):
        SGL(3, random_state=0).fit(X, cannot_link=[(a, b) for a in range(5) for b in range(a)])


def test_all_problems_are_named_at_once():
    with pytest.raises(ValueError, match="pairs of rows") as caught:
        SGL(4).fit(X, must_link=[(1, 2), (0, 100)], cannot_link=[(2, 1), (7, 7), (3, 200)])
    told = str(caught.value)
    for part in ("must_link[1]", "cannot_link[2]", "row 7 with itself", "joins them: 2 - 1"):
        assert part in told


def test_the_published_algorithm_refuses_pairs():
    with pytest.raises(ValueError, match="published algorithm"):
        SGL.as_published(2, 10, 1.0, 0.1).fit(X, must_link=[(0, 1)])


@given(st.integers(2, 4), st.integers(2, 12), st.integers(0, 10**6))
@settings(max_examples=examples(60))
def test_groups_find_clusters_exactly_if_there_are_enough(n_clusters, n_groups, seed):
    random = np.random.default_rng(seed)
    hidden = random.integers(n_clusters, size=n_groups)
    apart = [{o for o in range(n_groups) if hidden[o] != hidden[g]} for g in range(n_groups)]
    found = place_groups(random.random((n_groups, n_clusters)), apart, hidden)
    assert found is not None
    assert all(found[group] != found[other] for group in range(n_groups) for other in apart[group])
    if len(np.unique(hidden)) == n_clusters:
        assert place_groups(random.random((n_groups, n_clusters - 1)), apart, hidden) is None


def test_groups_without_conflicts_take_their_best_cluster():
    scores = np.random.default_rng(0).random((20, 3))
    np.testing.assert_array_equal(place_groups(scores, [set() for _ in scores], np.zeros(20, int)), scores.argmax(1))
