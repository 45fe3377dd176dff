"""Hypothesis strategies: row problems of every kind we know to be awkward."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

HESSIANS = ("spectrum", "anchors", "low_rank", "duplicates", "identity", "diagonal")
LINEARS = ("random", "tiny", "huge", "constant", "zero", "vertex", "ties", "interior", "mixed_scale")
STARTS = ("none", "sparse", "feasible", "negative", "zero", "ones", "vertex", "solution", "unnormalised")


@dataclass
class Problem:
    """One Hessian and a few rows."""

    hessian: np.ndarray
    linear: np.ndarray
    condition: float


def make_hessian(kind, m, log_condition, rng):
    if kind == "spectrum":
        basis = np.linalg.qr(rng.normal(size=(m, m)))[0]
        matrix = (basis * np.logspace(0, -log_condition, m)) @ basis.T
    elif kind == "identity":
        matrix = 3.0 * np.eye(m)
    elif kind == "diagonal":
        matrix = np.diag(np.logspace(0, -log_condition, m)[rng.permutation(m)])
    else:
        rank = max(1, m // 4) if kind == "low_rank" else m + 2
        anchors = rng.normal(size=(m, rank))
        if kind == "duplicates" and m > 1:
            anchors[rng.integers(m, size=m // 2)] = anchors[0]
        ridge = 10.0 ** (3 - min(log_condition, 8))  # from supports of all anchors to few
        matrix = 2 * anchors @ anchors.T + 2 * ridge * np.eye(m)
    return (matrix + matrix.T) / 2


def make_linear(kind, n, hessian, rng):
    m = len(hessian)
    rows = rng.normal(size=(n, m))
    if kind == "interior":
        rows = -rng.dirichlet(np.ones(m), size=n) @ hessian
    scaled = {
        "tiny": lambda: 1e-9 * rows,
        "huge": lambda: 1e6 * rows,
        "constant": lambda: np.repeat(rows[:, :1], m, axis=1),
        "zero": lambda: np.zeros((n, m)),
        "vertex": lambda: np.where(np.arange(m) == rng.integers(m), -100.0, rows),
        "ties": lambda: np.round(rows),
        "mixed_scale": lambda: rows * 10.0 ** rng.uniform(-6, 6, size=(1, m)),
    }
    return scaled.get(kind, lambda: rows)()


@st.composite
def problems(draw, max_anchors=60, max_rows=6):
    """Draw a problem of random kind and size."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(1, max_anchors))
    n = draw(st.integers(0, max_rows))  # from four rows on, large supports take the dual path
    hessian = make_hessian(draw(st.sampled_from(HESSIANS)), m, draw(st.floats(0, 8)), rng)
    linear = make_linear(draw(st.sampled_from(LINEARS)), n, hessian, rng)
    return Problem(hessian, linear, float(np.linalg.cond(hessian)))


def make_start(kind, problem, solution, rng):
    """Return a start for every row: feasible or not, near the solution or far from it."""
    n, m = problem.linear.shape
    if kind == "none":
        return None
    if kind == "solution":
        return solution
    if kind == "sparse":
        return sparse.csr_array(rng.normal(size=(n, m)) * (rng.random((n, m)) < 0.5))
    choices = {
        "feasible": lambda: rng.dirichlet(np.full(m, 0.3), size=n),
        "negative": lambda: rng.normal(size=(n, m)),
        "zero": lambda: np.zeros((n, m)),
        "ones": lambda: np.ones((n, m)),
        "vertex": lambda: np.eye(m)[rng.integers(m, size=n)],
        "unnormalised": lambda: 1e6 * rng.random((n, m)) * (rng.random((n, m)) < 0.5),
    }
    return choices[kind]().reshape(n, m)
