"""The measures equal those of the paper's program and obey their laws."""

from itertools import pairwise

import numpy as np
import pandas
import polars
import pytest
from conftest import GOLDEN
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from kedge.metrics import ari, clustering_accuracy, contingency_table, inverse_purity, nmi, purity

CASES = np.load(GOLDEN / "metrics.npz")
MEASURES = [ari, clustering_accuracy, nmi, purity, inverse_purity]
LABELS = hnp.arrays(np.int64, st.shared(st.integers(1, 40), key="n"), elements=st.integers(0, 6))


@pytest.mark.parametrize("case", range(len(CASES["tag"])), ids=[f"{i} {tag}" for i, tag in enumerate(CASES["tag"])])
def test_scores_equal_the_recorded_ones(case):
    truth, found = CASES["y_true"][case], CASES["y_pred"][case]
    one_way, other_way = CASES["acc_nmi_purity_truth_pred"][case], CASES["acc_nmi_purity_pred_truth"][case]
    accuracy, information = clustering_accuracy(truth, found), nmi(truth, found)
    # Two partitions of one block each give 0/0 in the recorded program; one is the sensible value.
    both_trivial = len(np.unique(truth)) == len(np.unique(found)) == 1
    expected = [one_way[0], 1.0 if both_trivial else one_way[1], one_way[2], other_way[2]]
    got = [accuracy, information, purity(truth, found), inverse_purity(truth, found)]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)


@given(LABELS, LABELS)
def test_laws(truth, found):
    accuracy = clustering_accuracy(truth, found)
    assert 0 <= accuracy <= min(purity(truth, found), inverse_purity(truth, found)) + 1e-15 <= 1 + 1e-15
    assert accuracy == clustering_accuracy(found, truth)
    # Identical clusterings agree fully, whatever the labels are called.
    assert clustering_accuracy(truth, truth * 3 + 1) == 1
    assert nmi(truth, truth * 3 + 1) == pytest.approx(1)
    scores = [nmi(truth, found, average=a) for a in ("max", "arithmetic", "geometric", "min")]
    assert all(low <= high + 1e-9 for low, high in pairwise(scores))
    assert scores[0] == pytest.approx(nmi(found, truth))


def test_one_block_has_full_inverse_purity():
    truth = [0, 0, 0, 1, 1]
    assert inverse_purity(truth, [7] * 5) == 1
    assert purity(truth, [7] * 5) == 0.6


@pytest.mark.parametrize("measure", MEASURES)
def test_bad_labels_are_refused(measure):
    with pytest.raises(ValueError, match="y_true has 2 labels and y_pred 3"):
        measure([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="at least one label"):
        measure([], [])
    with pytest.raises(ValueError, match="y_pred has nan in row 1"):
        measure([0.0, 1.0], [0.0, np.nan])
    with pytest.raises(ValueError, match="got shape"):
        measure([[0, 1]], [[0, 1]])


def test_unknown_average_is_refused():
    with pytest.raises(ValueError, match="average must be one of"):
        nmi([0, 1], [0, 1], average="sqrt")


@given(LABELS, LABELS)
def test_measures_equal_those_of_scikit_learn(truth, found):
    np.testing.assert_array_equal(contingency_table(truth, found).toarray(), contingency_matrix(truth, found))
    assert ari(truth, found) == pytest.approx(adjusted_rand_score(truth, found))
    for average in ("max", "min", "geometric", "arithmetic"):
        expected = normalized_mutual_info_score(truth, found, average_method=average)
        assert nmi(truth, found, average=average) == pytest.approx(expected, abs=1e-12)


@given(LABELS, LABELS)
def test_accuracy_is_the_best_of_all_matchings(truth, found):
    table = contingency_table(truth, found).toarray()
    wide = max(table.shape)
    square = np.pad(table, [(0, wide - table.shape[0]), (0, wide - table.shape[1])])
    assert clustering_accuracy(truth, found) == square[linear_sum_assignment(-square)].sum() / len(truth)


@given(LABELS, LABELS)
def test_purity_and_inverse_purity_exchange_their_arguments(truth, found):
    assert purity(truth, found) == inverse_purity(found, truth)
    assert purity(truth, found) == sum(np.bincount(truth[found == c]).max() for c in np.unique(found)) / len(truth)


KINDS = {
    "of several types": lambda y: [["x", 1, 2.5, b"z"][i] for i in y],
    "numbers and their names": lambda y: [["1", 1, "one", 2][i] for i in y],
    "strings": lambda y: np.array(["low", "high", "mid", "none"])[y],
    "objects": lambda y: np.array(["low", "high", "mid", "none"], dtype=object)[y],
    "categorical": lambda y: pandas.Categorical.from_codes(y, ["d", "c", "b", "a"]),
    "pandas": lambda y: pandas.Series(y, index=range(5, 5 + len(y)), dtype="string"),
    "polars": lambda y: polars.Series(y),
    "unsigned": lambda y: (y * 10**12).astype(np.uint64),
    "fractions": lambda y: y - 100.5,
    "tuple": tuple,
}


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_any_kind(measure, kind):
    rng = np.random.default_rng(0)
    truth, found = rng.integers(4, size=60), rng.integers(3, size=60)
    assert measure(KINDS[kind](truth), found) == pytest.approx(measure(truth, found), abs=1e-12)
    assert measure(found == 2, KINDS[kind](truth)) == pytest.approx(measure(np.equal(found, 2) * 1, truth), abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("missing", [None, float("nan"), pandas.NA, pandas.NaT], ids=str)
def test_missing_labels_are_refused(measure, missing):
    with pytest.raises(ValueError, match=r"y_pred has .* in row 2"):
        measure(["a", "b", "a"], ["a", "b", missing])


@pytest.mark.parametrize("measure", MEASURES)
def test_one_block_on_both_sides_is_full_agreement(measure):
    assert measure([3, 3, 3], ["x", "x", "x"]) == 1


@pytest.mark.parametrize("average", ["max", "min", "geometric", "arithmetic"])
def test_one_block_tells_nothing_of_classes(average):
    assert nmi([0, 0, 1], [5, 5, 5], average=average) == 0
    assert nmi([5, 5, 5], [0, 0, 1], average=average) == 0


def test_very_many_clusters_need_no_table_of_all_pairs():
    rows = np.arange(300_000)
    assert clustering_accuracy(rows, rows[::-1]) == 1
    assert clustering_accuracy(rows // 2, rows) == 0.5
    assert purity(rows // 2, rows) == 1
