"""Cluster cells by RNA and protein together, where some cells lack the protein panel.

Generated counts stand in for a CITE-seq experiment; run with ``python examples/rna_and_protein.py``. The three lines
that matter, for a MuData object of your own:

    from kedge import MSGL
    model = MSGL(n_clusters=5, random_state=0).fit(mudata)
    mudata.obs["cluster"] = model.labels_
"""

import numpy as np

from kedge import MSGL
from kedge.metrics import clustering_accuracy

N_CELLS, N_GENES, N_PROTEINS, N_KINDS = 1_500, 800, 30, 5


def draw_counts(rng):
    """Draw counts of genes and proteins for cells of several kinds, some pairs of which only one modality separates."""
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


def main():
    """Fit each modality alone and both together, then with gaps."""
    rng = np.random.default_rng(0)
    rna, protein, kinds = draw_counts(rng)
    views = {"rna": log_shares(rna), "protein": log_shares(protein)}
    for name, view in views.items():
        labels = MSGL(N_KINDS, random_state=0).fit({name: view}).labels_
        print(f"{name} alone: accuracy {clustering_accuracy(kinds, labels):.3f}")
    model = MSGL(N_KINDS, random_state=0).fit(views)
    weights = ", ".join(f"{n} {w:.2f}" for n, w in zip(model.view_names_, model.view_weights_, strict=True))
    print(f"together: accuracy {clustering_accuracy(kinds, model.labels_):.3f}; weights {weights}")
    views["protein"][rng.choice(N_CELLS, N_CELLS // 3, replace=False)] = np.nan
    labels = MSGL(N_KINDS, random_state=0).fit(views).labels_
    print(f"a third of the cells without protein: accuracy {clustering_accuracy(kinds, labels):.3f}")


if __name__ == "__main__":
    main()
