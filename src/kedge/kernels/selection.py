"""Which row solver is used, and how many threads it and the libraries around it may take."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from kedge.kernels.contract import FloatArray, Kernel
from kedge.kernels.reference import ReferenceKernel
from kedge.user_warnings import warn_user


@cache
def available_kernels() -> dict[str, Kernel]:
    """Return the kernels of this installation by name, the preferred one first."""
    kernels: dict[str, Kernel] = {}
    try:
        from kedge.kernels.compiled import CompiledKernel
    except ImportError as error:
        warn_user(
            f"kedge's compiled row solver could not be loaded ({error}); the NumPy one is used, which is hundreds of "
            "times slower. Reinstall kedge with a C++20 compiler at hand, or run `kedge doctor`.",
            RuntimeWarning,
        )
    else:
        kernels["compiled"] = CompiledKernel()
    kernels["reference"] = ReferenceKernel()
    return kernels


def choose_kernel(name: str | None = None) -> Kernel:
    """Return the kernel of that name, or the preferred one."""
    kernels = available_kernels()
    if name is None:
        return next(iter(kernels.values()))
    if name not in kernels:
        raise ValueError(f"kernel must be one of {sorted(kernels)} here, got {name!r}")
    return kernels[name]


def smallest_columns(values: FloatArray, count: int) -> tuple[NDArray[np.int32], FloatArray]:
    """Return the columns of the smallest entries of every row, smallest first, and these entries."""
    return choose_kernel().smallest_columns(values, count)


def default_threads() -> int:
    """Return the number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_thread_per_library() -> Iterator[None]:
    """Hold BLAS and OpenMP to one thread each: blocks of rows run side by side instead, and pools do not fight."""
    with _thread_pools().limit(limits=1):
        yield


def hold_libraries() -> None:
    """Hold BLAS and OpenMP to one thread each from here on, in a thread of one's own."""
    _thread_pools().limit(limits=1)
