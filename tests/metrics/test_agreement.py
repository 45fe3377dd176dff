"""The measures equal those of the paper's program and obey their laws."""

from itertools import pairwise

import numpy as np
import pytest
from conftest import GOLDEN
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kedge.metrics import clustering_accuracy, inverse_purity, nmi, purity

CASES = np.load(GOLDEN / "metrics.npz")
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


@pytest.mark.parametrize("measure", [clustering_accuracy, nmi, purity, inverse_purity])
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
