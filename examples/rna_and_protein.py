"""
RNA and protein of cells
========================

This program clusters cells by their RNA and their surface proteins together. Some cells lack the protein panel.
Generated counts stand in for a CITE-seq experiment. With your own MuData object, these lines are enough::

    from kedge import MSGL
    model = MSGL(n_clusters=5, random_state=0).fit(mudata)
    mudata.obs["cluster"] = model.labels_
"""

import numpy as np

from kedge import MSGL
from kedge.metrics import clustering_accuracy

N_CELLS, N_GENES, N_PROTEINS, N_KINDS = 1_500, 800, 30, 5

# %%
# The cells
# ---------
# Kinds 0 and 1 have the same RNA, and kinds 2 and 3 have the same proteins. You need both to tell all five apart.


def draw_counts(rng):
    """Draw counts of genes and proteins for cells of several kinds; some pairs of kinds differ in one modality only."""
    kinds = rng.integers(0, N_KINDS, N_CELLS)
    genes = np.exp(rng.normal(-1.5, 1.0, N_GENES) + 0.6 * rng.normal(size=(N_KINDS, N_GENES)))
    proteins = np.exp(rng.normal(3.0, 0.5, N_PROTEINS) + 0.5 * rng.normal(size=(N_KINDS, N_PROTEINS)))
    genes[1], proteins[3] = genes[0], proteins[2]
    depth = rng.lognormal(0.0, 0.4, size=(N_CELLS, 1))
    rna = rng.poisson(depth * genes[kinds])
    protein = rng.poisson(proteins[kinds] * rng.lognormal(0.0, 0.3, size=(N_CELLS, 1)))
    return rna, protein, kinds


def log_shares(counts):
    """Return log(1 + counts per cell at equal depth), the usual first step."""
    return np.log1p(counts * (np.median(counts.sum(axis=1)) / counts.sum(axis=1, keepdims=True)))


rng = np.random.default_rng(0)
rna, protein, kinds = draw_counts(rng)
views = {"rna": log_shares(rna), "protein": log_shares(protein)}

# %%
# Each alone, then both
# ---------------------

for name, view in views.items():
    labels = MSGL(N_KINDS, random_state=0).fit({name: view}).labels_
    print(f"{name} alone: accuracy {clustering_accuracy(kinds, labels):.3f}")
model = MSGL(N_KINDS, random_state=0).fit(views)
weights = ", ".join(f"{n} {w:.2f}" for n, w in zip(model.view_names_, model.view_weights_, strict=True))
print(f"together: accuracy {clustering_accuracy(kinds, model.labels_):.3f}; weights {weights}")

# %%
# Cells without protein
# ---------------------
# A row of NaN says that the cell lacks the view. kedge fills nothing in. It clusters such cells by what they have.

views["protein"][rng.choice(N_CELLS, N_CELLS // 3, replace=False)] = np.nan
labels = MSGL(N_KINDS, random_state=0).fit(views).labels_
print(f"a third of the cells without protein: accuracy {clustering_accuracy(kinds, labels):.3f}")
