"""Every way to find the centres by name: a function of a task.

Each returns the centres and the number of rounds that the library says it did. Each imports what it needs, so that a
process has only the libraries of its own method.
"""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import numpy as np

from benchmarks.speed.child import BLOCK_ENTRIES


@dataclass(frozen=True)
class Task:
    """Rows, the numbers of those that are the first centres, and how many rounds, threads, and which seed to take."""

    rows: np.ndarray
    starts: np.ndarray
    n_rounds: int
    n_threads: int
    seed: int


def kedge(task):
    """Run the rounds as a fit does: on threads of its own, each with one thread of BLAS."""
    from kedge.core.lloyd import lloyd_rounds
    from kedge.kernels.selection import one_thread_per_library

    with one_thread_per_library():
        centers = lloyd_rounds([task.rows], None, task.starts, task.n_rounds, n_threads=task.n_threads)[0]
    return centers, task.n_rounds


def faiss_kmeans(task):
    """Run faiss on all the rows that it is given."""
    import faiss

    faiss.omp_set_num_threads(task.n_threads)
    # Without these it would draw a sample, or warn that the rows are few.
    limits = {"min_points_per_centroid": 1, "max_points_per_centroid": len(task.rows)}
    model = faiss.Kmeans(task.rows.shape[1], len(task.starts), niter=task.n_rounds, verbose=False, **limits)
    model.train(task.rows, init_centroids=task.rows[task.starts])
    return model.centroids, len(model.iteration_stats)


def superkmeans(task):
    """Run SuperKMeans on all the rows that it is given; it draws its own starts."""
    from superkmeans import SuperKMeans

    exactly = {"hierarchical": False, "sampling_fraction": 1.0, "early_termination": False, "angular": False}
    model = SuperKMeans(len(task.starts), task.rows.shape[1], iters=task.n_rounds, seed=task.seed, **exactly)
    return model.train(task.rows), len(model.iteration_stats)


def sklearn_kmeans(task):
    """Run scikit-learn's k-means."""
    from sklearn.cluster import KMeans

    settings = {"n_init": 1, "max_iter": task.n_rounds, "tol": 0, "algorithm": "lloyd"}
    model = KMeans(len(task.starts), init=task.rows[task.starts], **settings).fit(task.rows)
    return model.cluster_centers_, model.n_iter_


def bare_products(task):
    """Form the products of all rows with the centres, once per round, and keep nothing."""
    transposed = task.rows[task.starts].T
    n_held = max(1, BLOCK_ENTRIES // len(task.starts))
    product = np.empty((n_held, len(task.starts)), dtype=task.rows.dtype)
    for _ in range(task.n_rounds):
        for first in range(0, len(task.rows), n_held):
            block = task.rows[first : first + n_held]
            np.matmul(block, transposed, out=product[: len(block)])
    return None, task.n_rounds


OURS, YARDSTICK, PRODUCTS = "kedge", "scikit-learn KMeans", "bare products"
METHODS = {
    OURS: kedge,
    "faiss Kmeans": faiss_kmeans,
    "SuperKMeans": superkmeans,
    YARDSTICK: sklearn_kmeans,
    PRODUCTS: bare_products,
}
# Module and package of what need not be installed.
NEEDED = {"faiss Kmeans": ("faiss", "faiss-cpu"), "SuperKMeans": ("superkmeans", "superkmeans")}


def package_missing(method):
    """Return what to install before a method can run, an empty string if it can."""
    module, package = NEEDED.get(method, ("", ""))
    return package if module and find_spec(module) is None else ""


def versions_of_rivals():
    """Return the versions of the rivals' libraries, in words."""
    words = []
    for package in ("scikit-learn", *(package for _, package in NEEDED.values())):
        try:
            words.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            words.append(f"{package} not installed")
    return ", ".join(words)
