"""Rows drawn block by block, so that a file of any size can be written."""

import os

import numpy as np

N_CLUSTERS = 10
ROWS_DRAWN = 100_000
# Standard deviation of each feature around the subspaces: enough that some rows are nearer to another one.
SUBSPACE_NOISE = 0.15


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


def draw_subspace_rows(n_rows, n_features, seed):
    """Yield blocks of float32 rows near ten subspaces of dimension three, x as likely as -x, and their subspaces.

    A row is a point of the unit sphere of its subspace plus noise. All subspaces meet in the origin, which is also the
    mean of each: k-means has no centres to find.
    """
    shapes = np.random.default_rng(seed).normal(size=(N_CLUSTERS, n_features, 3))
    bases = [np.linalg.qr(shape)[0].T.astype(np.float32) for shape in shapes]
    for number, start in enumerate(range(0, n_rows, ROWS_DRAWN)):
        rng = np.random.default_rng([seed, number])
        size = min(ROWS_DRAWN, n_rows - start)
        labels = rng.integers(0, N_CLUSTERS, size, dtype=np.uint8)
        points = rng.standard_normal((size, 3), dtype=np.float32)
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        block = np.float32(SUBSPACE_NOISE) * rng.standard_normal((size, n_features), dtype=np.float32)
        for subspace, basis in enumerate(bases):
            own = labels == subspace
            block[own] += points[own] @ basis
        yield block, labels


def write_file(path, n_rows, n_features, seed=0, draw=draw_rows):
    """Write the rows to a .npy file and their clusters beside it."""
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_features)}
        np.lib.format.write_array_header_1_0(file, header)
        labels = []
        for block, own in draw(n_rows, n_features, seed):
            file.write(block.data)
            labels.append(own)
    np.save(labels_path(path), np.concatenate(labels))


def labels_path(path):
    """Return where the clusters of the rows of a file are."""
    return path.with_suffix(".labels.npy")


def read_blocks(path):
    """Yield the rows of a .npy file in blocks, each in memory of its own."""
    stored = np.load(path, mmap_mode="r")
    n_rows, n_features = stored.shape
    for start in range(0, n_rows, ROWS_DRAWN):
        size = min(ROWS_DRAWN, n_rows - start)
        offset = stored.offset + start * n_features * stored.itemsize
        yield np.fromfile(path, stored.dtype, size * n_features, offset=offset).reshape(size, n_features)


def forget(path):
    """Drop a file from the cache of the system, where it lets us."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
