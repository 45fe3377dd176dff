"""Row solvers: min 1/2 z'Hz + f'z over the probability simplex for many rows and one H."""

from kedge.kernels.contract import Kernel, PreparedHessian, RowSolution, RowStatus, RowSums
from kedge.kernels.selection import available_kernels, choose_kernel
from kedge.kernels.simplex import simplex_qp, solve_rows

__all__ = [
    "Kernel",
    "PreparedHessian",
    "RowSolution",
    "RowStatus",
    "RowSums",
    "available_kernels",
    "choose_kernel",
    "simplex_qp",
    "solve_rows",
]
