"""Blocks, threads and library thread pools do not change what a pass finds."""

from functools import partial

import numpy as np
import pytest
from fuzzing import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_info

from kedge import SGL
from kedge.core.block_step import PassState, RowBlock, solve_block
from kedge.core.rows import build_row_problem
from kedge.core.scaling import ViewScaling
from kedge.engines import local as block_rows
from kedge.engines.local import BlockEngine, cut_rows, rows_per_block
from kedge.kernels.selection import one_thread_per_library
from kedge.readers.arrays import ArraySource

X = load_digits(return_X_y=True)[0][:500]
STATE = PassState((build_row_problem([X[::20]], weights=[1.0], ridge=100.0),))


def engine_of(blocks, n_threads=1):
    source = ArraySource([X], [ViewScaling("none")])
    return BlockEngine(source, blocks, n_threads)


@given(st.integers(1, 600), st.integers(1, 4))
@settings(max_examples=examples(25))
def test_blocks_give_the_sums_and_rows_of_the_whole_array(step, n_threads):
    whole, expected = solve_block(STATE, RowBlock(slice(0, 500), [X]))
    engine = engine_of(cut_rows(500, step), n_threads)
    summary = engine.run_pass(partial(solve_block, STATE))
    np.testing.assert_allclose(engine.graph(None).toarray(), whole.toarray(), atol=1e-10)
    np.testing.assert_allclose(summary.gram, expected.gram, rtol=1e-10)
    np.testing.assert_allclose(summary.column_sums, expected.column_sums, rtol=1e-10)
    np.testing.assert_allclose(summary.view_values, expected.view_values, rtol=1e-10)
    np.testing.assert_allclose(summary.squared_norms, [np.square(X).sum()], rtol=1e-10)
    engine.close()


@pytest.mark.parametrize("options", [{}, {"beta": 0.3}, {"structure": "exact"}, {"signed": True}])
def test_threads_give_the_same_bits_and_blocks_the_same_labels(options, monkeypatch):
    rows = X[:200]
    monkeypatch.setattr(block_rows, "rows_per_block", lambda *_: 64)
    several = [SGL(10, random_state=0, n_jobs=n, **options).fit(rows) for n in (1, 3)]
    for model in several[1:]:
        np.testing.assert_array_equal(model.labels_, several[0].labels_)
        np.testing.assert_array_equal(model.graph_.data, several[0].graph_.data)
        np.testing.assert_array_equal(model.objective_, several[0].objective_)
        np.testing.assert_array_equal(model.transform(rows), several[0].transform(rows))
    monkeypatch.setattr(block_rows, "rows_per_block", lambda *_: 8192)
    whole = SGL(10, random_state=0, **options).fit(rows)
    np.testing.assert_array_equal(whole.labels_, several[0].labels_)
    np.testing.assert_allclose(whole.graph_.toarray(), several[0].graph_.toarray(), atol=1e-10)


def test_an_error_in_a_block_reaches_the_caller_and_ends_the_threads():
    engine = engine_of(cut_rows(500, 100), 2)
    with pytest.raises(ZeroDivisionError):
        engine.per_row(lambda block: 1 // 0, width=None, dtype=float)
    engine.close()


def test_libraries_are_held_to_one_thread_and_released():
    before = [pool["num_threads"] for pool in threadpool_info()]
    with one_thread_per_library():
        assert {pool["num_threads"] for pool in threadpool_info()} == {1}
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_blocks_of_more_columns_have_fewer_rows():
    assert rows_per_block(1) == block_rows.MOST_ROWS
    assert rows_per_block(1000) == 1000
