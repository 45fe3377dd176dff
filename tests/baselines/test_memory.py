"""Sizes that do not fit are refused with what is needed and what would fit."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from kedge import baselines
from kedge import memory as machine


def test_the_message_tells_need_limit_and_what_would_fit():
    with pytest.raises(
        MemoryError, match=r"LSR of 1,000,000 rows needs about [\d,]+.\d GiB .* memory_limit allows 1\.0"
    ):
        baselines.LSR(3, memory_limit=2**30).fit(sparse.csr_array((1_000_000, 4)))
    fits = baselines.LSR(3).largest_n(2**30, n_features=4)
    with pytest.raises(MemoryError, match=f"at most about {fits:,} rows fit"):
        baselines.LSR(3, memory_limit=2**30).fit(np.ones((20_000, 4)))


def test_the_machine_itself_is_the_limit_by_default(monkeypatch):
    monkeypatch.setattr("kedge.baselines.base.machine_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match=r"the machine has 0\.0"):
        baselines.LSR(3).fit(np.ones((100, 4)))


def test_nothing_large_is_allocated_before_the_refusal():
    rows = sparse.csr_array((2_000_000, 3))
    tracemalloc.start()
    with pytest.raises(MemoryError):
        baselines.LSR(3).fit(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6


def test_memory_of_the_machine_is_that_of_the_container_if_less(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    limit.write_text("12345\n")
    monkeypatch.setattr(machine, "_CONTAINER_LIMITS", (str(limit),))
    assert machine.machine_memory() == 12345
    limit.write_text("max\n")
    assert machine.machine_memory() > 2**28


def test_bisection_finds_the_last_size_that_fits():
    model = baselines.LSR(3)
    assert model.memory_needed(model.largest_n(1e6, 4), 4) <= 1e6 < model.memory_needed(model.largest_n(1e6, 4) + 1, 4)
    assert baselines.KMeans(3).largest_n(1e30) == 10**12
