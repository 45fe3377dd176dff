"""Parameters left to the data: what is tried, what is kept, and that nothing but the data decides."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning

import kedge
from kedge import MSGL, SGL
from kedge.datasets import make_multiview
from kedge.engines import block_rows
from kedge.estimators import confidence
from kedge.estimators.automatic import decision, stage
from kedge.estimators.automatic.decision import TEMPERATURE, VOTING_SETS, _allocate, _judge
from kedge.estimators.automatic.penalties import choose_value
from kedge.estimators.automatic.settings import ALPHAS, FEW, LOCALITIES, MANY, USUAL_SHARE, Choices, Setting
from kedge.estimators.automatic.trials import Ballot
from kedge.metrics import clustering_accuracy
from kedge.model import anchor_spreading
from kedge.model.agreement import company_in_own_group
from kedge.model.anchor_spreading import spread_from
from kedge.model.consensus import agreed_groups
from kedge.model.neighborhood import count_neighbors, modularity, neighbor_graph

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
BLOBS, CLASSES = make_blobs(160, centers=4, n_features=6, cluster_std=1.0, center_box=(-20, 20), random_state=3)


@pytest.fixture(scope="module")
def fitted():
    return SGL.automatic(4, random_state=0).fit(BLOBS)


@pytest.fixture(scope="module")
def views():
    made = make_multiview(90, n_clusters=3, random_state=0)
    return made[0], made[-1]


def test_apart_clusters_are_found_and_all_votes_agree(fitted):
    assert clustering_accuracy(CLASSES, fitted.labels_) == 1.0
    assert fitted.auto_report_["agreement"] > 0.99
    assert fitted.confidence_.min() > 0.9


def test_the_report_lists_every_setting_and_why_one_was_kept(fitted):
    report = fitted.auto_report_
    triples = {(one["anchors"], *one["anchors_per_cluster"], one["alpha"], one["locality"]) for one in report["tried"]}
    assert len(triples) == len(report["tried"]) == 3 * 2 * len(ALPHAS) * len(LOCALITIES)
    assert sum(one["share"] for one in report["tried"]) == pytest.approx(1.0)
    assert report["chosen"]["anchors"] == "kmeans"
    assert {"alpha", "locality", "beta"} <= set(report["chosen"])
    assert report["chosen"]["locality"] == fitted.locality_
    assert [one["beta"] for one in report["tried_beta"]] == [0.0, 0.1, 1.0]
    assert "modularity" in report["why"]
    assert json.loads(json.dumps(report)) == report


def test_a_value_that_is_given_is_kept():
    report = SGL(4, alpha="auto", locality=0.3, n_anchors=12, random_state=0).fit(BLOBS).auto_report_
    assert {one["locality"] for one in report["tried"]} == {0.3}
    assert {tuple(one["anchors_per_cluster"]) for one in report["tried"]} == {(3.0, 3.0)}
    assert {one["alpha"] for one in report["tried"]} == set(ALPHAS)
    assert "tried_beta" not in report


@pytest.mark.parametrize("name", ["alpha", "beta", "locality"])
def test_each_parameter_can_be_left_to_the_data_alone(name):
    model = SGL(4, **{name: "auto"}, random_state=1).fit(BLOBS)
    assert clustering_accuracy(CLASSES, model.labels_) == 1.0
    assert getattr(model, name) == "auto"
    assert model.auto_report_["chosen"][name] >= 0
    assert model.graph_.shape == (160, len(model.anchors_))


def test_gamma_is_chosen_for_several_views(views):
    X, y = views
    model = MSGL.automatic(3, random_state=0).fit(X)
    assert model.auto_report_["chosen"]["gamma"] in (-5.0, -1.0, -25.0)
    assert [one["gamma"] for one in model.auto_report_["tried_gamma"]] == [-5.0, -1.0, -25.0]
    assert clustering_accuracy(y, model.labels_) > 0.9


def test_views_with_gaps_are_judged_on_kmeans_anchors_alone(views):
    X, _ = views
    gaps = [np.array(view, dtype=float) for view in X]
    gaps[0][::7] = np.nan
    report = MSGL(3, alpha="auto", random_state=0).fit(gaps).auto_report_
    assert {one["anchors"] for one in report["tried"]} == {"kmeans"}


def test_given_anchors_stay():
    anchors = BLOBS[:24]
    model = SGL(4, anchors=anchors, alpha="auto", random_state=0).fit(BLOBS)
    np.testing.assert_array_equal(model.anchors_, anchors)
    assert {one["anchors"] for one in model.auto_report_["tried"]} == {"given"}


def test_the_result_does_not_hang_on_the_number_of_threads():
    X = load_digits().data[:220]
    one, two = (SGL(10, alpha="auto", random_state=0, n_jobs=jobs).fit(X) for jobs in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.auto_report_ == two.auto_report_
    np.testing.assert_array_equal(one.confidence_, two.confidence_)


def test_the_same_seed_gives_the_same_fit_and_cloning_keeps_what_is_open(fitted):
    again = clone(fitted).fit(BLOBS)
    assert again.auto_report_ == fitted.auto_report_
    np.testing.assert_array_equal(again.labels_, fitted.labels_)


def test_rows_beyond_the_sample_follow_its_clusters(monkeypatch):
    monkeypatch.setattr(stage, "MOST_TRIED", 80)
    model = SGL(4, alpha="auto", random_state=0).fit(BLOBS)
    assert model.auto_report_["n_rows"] == 80
    assert clustering_accuracy(CLASSES, model.labels_) == 1.0
    assert model.confidence_.shape == (160,)


@pytest.fixture
def many_rows(monkeypatch):
    """More rows than are tried, in clusters large enough that near rows have the last word."""
    monkeypatch.setattr(stage, "MOST_TRIED", 450)
    monkeypatch.setattr(anchor_spreading, "CENTERS", 60)
    return make_blobs(1_200, 6, centers=4, cluster_std=1.2, random_state=5)


def test_labels_spread_to_rows_beyond_the_sample(many_rows, monkeypatch):
    rows, classes = many_rows
    spread = []
    monkeypatch.setattr(stage, "spread_from", lambda *parts: spread.append(spread_from(*parts)) or spread[-1])
    model = SGL(4, alpha="auto", random_state=0).fit(rows)
    assert len(spread) == 1
    assert clustering_accuracy(classes, model.labels_) > 0.99
    assert list(dict.fromkeys(model.labels_)) == [0, 1, 2, 3]


def test_spread_labels_do_not_hang_on_blocks_threads_or_files(many_rows, tmp_path, monkeypatch):
    rows, _ = many_rows
    model = SGL(4, alpha="auto", random_state=0)
    whole = clone(model).fit(rows).labels_
    np.save(tmp_path / "rows.npy", rows)
    monkeypatch.setattr(block_rows, "MOST_ROWS", 64)
    streamed = clone(model).set_params(n_jobs=1).fit(tmp_path / "rows.npy")
    np.testing.assert_array_equal(streamed.labels_, whole)


def test_spread_labels_of_a_cluster_of_machines_are_the_same(many_rows):
    array = pytest.importorskip("dask.array")
    rows, _ = many_rows
    model = SGL(4, alpha="auto", random_state=0)
    found = clone(model).fit(array.from_array(rows, chunks=(400, 6))).labels_
    np.testing.assert_array_equal(np.asarray(found), clone(model).fit(rows).labels_)


def test_rows_of_many_zeros_go_to_the_nearest_cluster_instead(many_rows, monkeypatch):
    monkeypatch.setattr(stage, "_begin_to_spread", lambda *parts: pytest.fail("rows of many zeros do not spread"))
    rng = np.random.default_rng(0)
    classes = rng.integers(3, size=1_200)
    rows = np.zeros((1_200, 90))
    for row, one in enumerate(classes):
        rows[row, 30 * one + rng.choice(30, size=5, replace=False)] = 1.0
    model = SGL(3, alpha="auto", random_state=0).fit(sparse.csr_array(rows))
    assert clustering_accuracy(classes, model.labels_) > 0.95


def test_rows_of_small_clusters_keep_what_the_votes_say(monkeypatch):
    monkeypatch.setattr(decision, "raise_modularity", lambda *parts: pytest.fail("clusters of 40 rows are small"))
    SGL(4, alpha="auto", random_state=0).fit(BLOBS)


def test_a_plain_fit_has_its_say(monkeypatch):
    heard = []

    def listen(votes, n_groups, weights, company_share):
        heard.append((votes[-1], weights))
        return agreed_groups(votes, n_groups, weights, company_share)

    monkeypatch.setattr(decision, "agreed_groups", listen)
    SGL(4, alpha="auto", random_state=0).fit(BLOBS)
    (plain, weights), *others = heard
    assert not others
    assert clustering_accuracy(CLASSES, plain) == 1.0
    assert weights[-1] == pytest.approx(decision.PLAIN_SHARE * weights.sum())


def test_new_rows_join_their_clusters(fitted):
    for way in ("anchors", "graph"):
        model = clone(fitted).set_params(predict_with=way).fit(BLOBS)
        np.testing.assert_array_equal(model.predict(BLOBS), model.labels_)
    assert fitted.transform(BLOBS[:5]).shape == (5, 4)


def test_the_exact_graph_follows_the_votes():
    model = SGL.automatic(4, structure="exact", random_state=0).fit(BLOBS)
    assert model.n_components_ == 4
    assert clustering_accuracy(CLASSES, model.labels_) == 1.0


def test_a_saved_model_keeps_its_report(fitted, tmp_path):
    kedge.save(fitted, tmp_path / "model.kedge")
    loaded = kedge.load(tmp_path / "model.kedge")
    assert loaded.auto_report_ == fitted.auto_report_
    np.testing.assert_array_equal(loaded.confidence_, fitted.confidence_)
    np.testing.assert_array_equal(loaded.transform(BLOBS[:9]), fitted.transform(BLOBS[:9]))


def test_a_fit_that_goes_on_from_a_checkpoint_decides_the_same(tmp_path):
    def stop(report):
        raise RuntimeError("stopped")

    parameters = {"alpha": "auto", "beta": 0.5, "random_state": 0, "checkpoint": tmp_path / "kept"}
    with pytest.raises(RuntimeError, match="stopped"):
        SGL(4, callback=stop, **parameters).fit(BLOBS)
    resumed = SGL(4, **parameters).fit(BLOBS)
    whole = SGL(4, alpha="auto", beta=0.5, random_state=0).fit(BLOBS)
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)
    assert resumed.auto_report_ == whole.auto_report_


def test_what_cannot_be_left_open_says_so():
    with pytest.raises(ValueError, match="alpha='auto' is not for recipe='published'"):
        SGL(4, alpha="auto", recipe="published").fit(BLOBS)
    with pytest.raises(ValueError, match="beta='auto' tries values relative to the data"):
        SGL(4, beta="auto", penalty_scale="absolute").fit(BLOBS)
    with pytest.raises(ValueError, match="locality"):
        SGL(4, locality="automatic").fit(BLOBS)


# What a plain fit says of its rows.


def test_every_fit_says_how_stable_its_labels_are():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    model = SGL(10, random_state=0).fit(X)
    assert model.confidence_.shape == (600,)
    assert ((model.confidence_ >= 0) & (model.confidence_ <= 1)).all()
    assert model.auto_report_ is None
    assert model.n_clusters_ == 10
    majority = np.array([np.bincount(y[model.labels_ == label]).argmax() for label in range(10)])
    wrong = majority[model.labels_] != y
    unstable = model.confidence_ < np.quantile(model.confidence_, 0.1)
    assert wrong[unstable].mean() > 2 * wrong[~unstable].mean()


def test_confidence_is_the_company_that_rows_keep_in_the_clusterings():
    X = load_digits().data[:300]
    seen = {}

    def spy(votes, block):
        seen["votes"] = heard(votes, block)
        return seen["votes"]

    heard = confidence.HeardVotes.of
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confidence.HeardVotes, "of", spy)
        model = SGL(10, random_state=0).fit(X)
    assert len(seen["votes"]) == confidence.HEARD_VOTES
    np.testing.assert_allclose(model.confidence_, company_in_own_group(seen["votes"], model.labels_))


def test_the_published_recipe_has_no_votes():
    assert SGL.as_published(4, 8, 0.1, 0.0, random_state=0).fit(BLOBS).confidence_ is None


# Parts.


def test_modularity_is_that_of_the_definition():
    graph = neighbor_graph(BLOBS, 5)
    labels = np.random.RandomState(0).randint(3, size=len(BLOBS))
    dense, degrees = graph.toarray(), np.asarray(graph.sum(axis=1)).ravel()
    total, same = dense.sum(), labels[:, None] == labels
    expected = ((dense - np.outer(degrees, degrees) / total) * same).sum() / total
    assert modularity(graph, labels) == pytest.approx(expected)
    assert modularity(graph, CLASSES) > modularity(graph, labels)


def test_neighbours_are_counted_by_the_size_of_clusters():
    assert [count_neighbors(n, k) for n, k in ((400, 40), (414, 9), (2000, 10), (3, 2))] == [3, 10, 10, 2]


def test_repeated_rows_are_no_neighbours_of_themselves():
    graph = neighbor_graph(np.repeat(np.eye(3), 4, axis=0), 3)
    assert graph.diagonal().sum() == 0


def test_a_setting_counts_the_less_the_less_modular_it_is():
    usual, other, worse = (Setting("kmeans", FEW, alpha, 0.0) for alpha in (0.01, 0.1, 0.001))
    heard = [(usual, 0.5), (other, 0.52), (other, 0.48), (worse, 0.5 - TEMPERATURE)]
    ballots = [Ballot(setting, CLASSES, value) for setting, value in heard]
    shares = {one.setting: one.share for one in _judge([usual, other, worse], ballots)}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares[other] / shares[worse] == pytest.approx(np.e)
    assert shares[usual] / shares[other] == pytest.approx(USUAL_SHARE / ((1 - USUAL_SHARE) / 2))
    verdicts = _judge([usual, other, worse], ballots[:1])
    assert [one.share for one in verdicts] == [1.0, 0.0, 0.0]


def test_seats_follow_shares():
    assert _allocate([0.5, 0.3, 0.2], 10) == [5, 3, 2]
    assert _allocate([1 / 3] * 3, 4) == [2, 1, 1]
    assert sum(_allocate(np.random.RandomState(0).dirichlet(np.ones(70)), VOTING_SETS)) == VOTING_SETS


def test_slow_anchors_are_left_out_for_many_clusters_and_dense_rows():
    choices = Choices(ALPHAS, LOCALITIES, (FEW, MANY), ("kmeans", "ffs"))
    assert choices.without_slow(10, 0.05).methods == ("kmeans", "ffs")
    assert choices.without_slow(11, 0.05).methods == ("kmeans",)
    assert choices.without_slow(10, 0.5).methods == ("kmeans",)
    assert Choices(ALPHAS, LOCALITIES, (FEW, MANY), ("ffs",)).without_slow(99, 0.5).methods == ("ffs",)


def test_farthest_rows_are_tried_on_rows_of_many_zeros_however_they_are_stored():
    X = sparse.random_array((80, 200), density=0.04, rng=np.random.default_rng(0), format="csr")
    reports = [SGL(3, alpha="auto", random_state=0).fit(rows).auto_report_ for rows in (X, X.toarray())]
    assert all("ffs" in {one["anchors"] for one in report["tried"]} for report in reports)


def test_a_set_has_either_end_of_its_range_and_not_too_many_rows():
    setting = Setting("kmeans", MANY, 0.01, 0.0)
    assert {setting.count_anchors(share, 10_000, 10) for share in (0.0, 0.49, 0.5, 0.99)} == {80, 140}
    assert setting.count_anchors(0.9, 100, 10) == 50
    assert setting.count_anchors(0.9, 12, 10) == 10


def test_another_value_than_the_usual_has_to_be_clearly_better():
    graph = neighbor_graph(BLOBS, 5)
    worse = np.random.RandomState(0).randint(4, size=len(BLOBS))
    chosen, tried = choose_value("beta", (0.0, 1.0), lambda value, fit: CLASSES if value else worse, graph)
    assert chosen == 1.0
    assert [one["beta"] for one in tried] == [0.0, 1.0]
    assert choose_value("beta", (0.0, 1.0), lambda value, fit: CLASSES, graph)[0] == 0.0
    assert choose_value("beta", (0.3,), lambda value, fit: CLASSES, graph) == (0.3, [])


def test_warnings_of_small_fits_are_not_shown(recwarn):
    SGL(4, beta="auto", random_state=0).fit(BLOBS)
    assert not [
        one for one in recwarn if issubclass(one.category, ConvergenceWarning) and "max_iter" in str(one.message)
    ]


# Where near rows have the last word.


@pytest.fixture(scope="module")
def three_rings():
    """Rows near each other in three rings, and clusterings of them with wrong rows."""
    ends = np.array(
        [(30 * ring + i, 30 * ring + (i + step) % 30) for ring in range(3) for i in range(30) for step in (1, 2)]
    )
    half = sparse.coo_array((np.ones(len(ends)), ends.T), shape=(90, 90))
    rings, rng = np.repeat([0, 1, 2], 30), np.random.default_rng(0)
    votes = []
    for _ in range(30):
        vote = rings.copy()
        wrong = rng.choice(90, 9, replace=False)
        vote[wrong] = rng.integers(3, size=9)
        votes.append(vote)
    return sparse.csr_array(half + half.T), rings, votes


def test_the_best_clusterings_agree_after_their_rows_have_moved(three_rings):
    graph, rings, votes = three_rings
    # Most clusterings are nonsense, of low modularity: only the best may vote.
    nonsense = [np.random.default_rng(seed).integers(3, size=90) for seed in range(60)]
    found, sure = decision._follow_near_rows(graph, votes[0], votes, nonsense)
    assert clustering_accuracy(rings, found) == 1.0
    np.testing.assert_allclose(sure, 1.0)
    _, doubtful = decision._follow_near_rows(graph, votes[0], nonsense, votes)
    assert doubtful.mean() < 0.9


def test_clusterings_that_tell_another_story_do_not_vote():
    # Four cliques in two clusters. Three of the cliques are near each other in one clustering, two and two in another:
    # the second has more modularity, but the votes are of one mind about the first.
    cliques = np.repeat(np.arange(4), 10)
    graph = sparse.csr_array((cliques[:, None] == cliques) & ~np.eye(40, dtype=bool), dtype=float)
    uneven, even = np.where(cliques == 3, 1, 0), cliques // 2
    assert modularity(graph, even) > modularity(graph, uneven)
    found, _ = decision._follow_near_rows(graph, uneven, [uneven] * 5, [even] * 5)
    np.testing.assert_array_equal(found, uneven)
    found, _ = decision._follow_near_rows(graph, even, [uneven] * 5, [even] * 5)
    np.testing.assert_array_equal(found[:, None] == found, even[:, None] == even)


def test_rows_between_clusters_have_little_confidence(three_rings):
    graph, rings, votes = three_rings
    edges = graph.tolil()
    for other in (30, 31, 32, 33):
        edges[0, other] = edges[other, 0] = 1.0
    _, sure = decision._follow_near_rows(sparse.csr_array(edges), rings, votes, [])
    assert sure[0] < 0.6
    assert np.median(sure) == pytest.approx(1.0)


def test_confidence_spreads_with_the_labels(many_rows):
    rows, _ = many_rows
    model = SGL(4, alpha="auto", random_state=0).fit(rows)
    assert model.confidence_.shape == (len(rows),)
    assert ((model.confidence_ >= 0) & (model.confidence_ <= 1 + 1e-12)).all()
    # A cloud half-way between two clouds is no cluster of its own: its rows are the doubtful ones.
    centers = np.array([rows[model.labels_ == label].mean(axis=0) for label in (0, 1)])
    between = centers.mean(axis=0) + np.random.default_rng(0).normal(size=(40, rows.shape[1]))
    again = SGL(4, alpha="auto", random_state=0).fit(np.vstack([rows, between]))
    assert again.confidence_[-40:].mean() < np.quantile(again.confidence_[:-40], 0.2)


def test_the_docs_give_the_numbers_of_the_code():
    page = " ".join((Path(__file__).parents[2] / "docs/automatic.md").read_text().split())
    for words in (
        f"At most {stage.MOST_TRIED:,} rows",
        f"e times less for every {decision.TEMPERATURE}",
        f"{decision.VOTING_SETS} sets of anchors",
        f"{decision.VOTING_SETS // 2} sets vote four times",
        f"a say of {100 * decision.PLAIN_SHARE:.0f} %",
        f"NMI of {decision.LEAST_ALIKE}",
        f"centres of {stage.SPREADING_ROWS:,} rows, {anchor_spreading.CENTERS} of them",
    ):
        assert words in page
    spelled = {2: "two", 3: "three", 4: "four", 5: "five", 10: "ten"}
    assert f"the {spelled[decision.REFINED_VOTES]} with the most modularity agree" in page
    assert f"at least {spelled[decision.REFINED_ROWS_PER_NEIGHBOR]} times as many rows" in page
    assert f"the {spelled[anchor_spreading.NEIGHBORS]} nearest by distance" in page
    assert f"first, {spelled[stage.SPREADING_ROUNDS]} times" in page
    assert 2 * decision.VOTES == 4
