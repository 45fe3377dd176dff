"""Agreement of views: dependence is seen, independence is not, and gaps do not matter."""

import numpy as np
from scipy import sparse

from kedge.core.view_weights import agreement_prior
from kedge.datasets import make_multiview

VIEWS, _ = make_multiview(300, n_clusters=4, n_views=3, n_features=(5, 7, 9), noise=0.3, random_state=0)
VIEWS = [(view - view.mean(axis=0)) / view.std() for view in VIEWS]
NOISE = np.random.default_rng(0).normal(size=(300, 4))


def test_noise_counts_next_to_nothing_and_the_others_alike():
    prior = agreement_prior([*VIEWS, NOISE], None)
    np.testing.assert_allclose(prior.mean(), 1)
    np.testing.assert_allclose(prior[:3], prior[0], rtol=0.3)
    assert prior[3] < 0.25 * prior[0]


def test_units_and_sparsity_do_not_matter():
    plain = agreement_prior([*VIEWS, NOISE], None)
    other = agreement_prior([1e3 * VIEWS[0], sparse.csr_array(VIEWS[1]), VIEWS[2], 1e-3 * NOISE], None)
    np.testing.assert_allclose(other, plain, rtol=1e-8)


def test_up_to_two_views_count_alike():
    np.testing.assert_array_equal(agreement_prior([VIEWS[0], NOISE], None), [1, 1])


def test_gaps_leave_noise_noise():
    observed = np.random.default_rng(1).uniform(size=(300, 4)) > 0.4
    holes = [np.where(observed[:, [v]], view, 0.0) for v, view in enumerate([*VIEWS, NOISE])]
    prior = agreement_prior(holes, observed)
    assert prior[3] < 0.5 * prior[:3].min()


def test_views_that_never_meet_or_are_constant():
    observed = np.zeros((300, 3), dtype=bool)
    for view in range(3):
        observed[view::3, view] = True
    np.testing.assert_allclose(agreement_prior(VIEWS, observed), 1)
    assert np.isfinite(agreement_prior([*VIEWS, np.zeros((300, 2))], None)).all()
