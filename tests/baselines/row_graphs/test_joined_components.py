"""Pieces of a graph are joined by the rows that they hold."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from kedge.baselines import affinity
from kedge.baselines.affinity import cluster_affinity, join_components
from kedge.datasets import make_union_of_subspaces

X, Y = make_union_of_subspaces(300, n_subspaces=3, dim=3, ambient_dim=12, random_state=0)
# Every subspace falls into ten pieces of ten rows.
PIECES = np.empty(300, dtype=np.int64)
for subspace in range(3):
    PIECES[subspace == Y] = 10 * subspace + np.arange(100) // 10


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("most_rows", [4_000, 50])
def test_pieces_of_one_subspace_come_together(kind, most_rows, monkeypatch):
    monkeypatch.setattr(affinity, "MOST_ROWS", most_rows)
    chain = sparse.csr_array((PIECES[:, None] == PIECES[None, :]).astype(float))
    with pytest.warns(ConvergenceWarning, match="30 connected components for 3 clusters; they are joined"):
        found = cluster_affinity(chain, 3, np.random.RandomState(0), rows=kind(X))
    assert adjusted_rand_score(Y, found["labels_"]) == 1
    assert len(np.unique(found["embedding_"].round(12), axis=0)) == 30


def test_lone_rows_are_embedded_at_zero_and_every_component_has_a_place(monkeypatch):
    monkeypatch.setattr(affinity, "MOST_ROWS", 5)
    alone = PIECES.copy()
    alone[:4] = -1
    _, alone[4:] = np.unique(alone[4:], return_inverse=True)
    vectors = join_components(X, alone, 3)
    assert not vectors[:4].any()
    np.testing.assert_allclose(np.linalg.norm(vectors[4:], axis=1), 1)
