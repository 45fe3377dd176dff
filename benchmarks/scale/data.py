"""Rows drawn block by block, so that a file of any size can be written."""

import numpy as np

N_CLUSTERS = 10
ROWS_DRAWN = 100_000


def draw_rows(n_rows, n_features, seed):
    """Yield blocks of float32 rows: ten clusters, each around a point of a five-dimensional subspace of its own."""
    rng = np.random.default_rng(seed)
    bases = rng.normal(size=(N_CLUSTERS, 5, n_features)).astype(np.float32)
    centers = 3.0 * rng.normal(size=(N_CLUSTERS, n_features)).astype(np.float32)
    for start in range(0, n_rows, ROWS_DRAWN):
        size = min(ROWS_DRAWN, n_rows - start)
        labels = rng.integers(0, N_CLUSTERS, size)
        block = rng.normal(size=(size, n_features)).astype(np.float32)
        for cluster in range(N_CLUSTERS):
            own = labels == cluster
            block[own] += centers[cluster] + rng.normal(size=(own.sum(), 5)).astype(np.float32) @ bases[cluster]
        yield block, labels


def write_file(path, n_rows, n_features, seed=0):
    """Write the rows to a .npy file and their clusters beside it."""
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_features)}
        np.lib.format.write_array_header_1_0(file, header)
        labels = []
        for block, own in draw_rows(n_rows, n_features, seed):
            file.write(block.tobytes())
            labels.append(own)
    np.save(path.with_suffix(".labels.npy"), np.concatenate(labels))
