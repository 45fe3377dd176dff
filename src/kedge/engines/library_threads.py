"""Thread pools of libraries, held to one thread while blocks of rows run side by side."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_thread_per_library() -> Iterator[None]:
    """Hold BLAS and OpenMP to one thread each: blocks of rows run side by side instead, and pools do not fight."""
    with _thread_pools().limit(limits=1):
        yield
