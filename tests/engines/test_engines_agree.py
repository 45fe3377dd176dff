"""In memory, out of core and on Dask, the same blocks give the same graph and the same labels."""

import dask
import dask.array
import numpy as np
import pytest
from fuzzing import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import kedge.engines.dask_engine  # noqa: F401  (imported before anything is patched)
from kedge import MSGL, SGL
from kedge.engines import local as choose

X, _ = make_blobs(90, n_features=5, centers=4, random_state=0)
OPTIONS = [
    {},
    {"beta": 0.3},
    {"n_anchors": 12},
    {"structure": "exact"},
    {"signed": True, "alpha": 3.0},
    {"scale": "zscore"},
    {"scale": "minmax", "structure": "exact"},
]


@st.composite
def partitions(draw):
    """Draw block sizes that add up to all rows: also blocks of one row, and an empty last one."""
    cuts = draw(st.lists(st.integers(1, 89), max_size=8, unique=True))
    ends = np.array([0, *sorted(cuts), 90])
    return [*np.diff(ends).tolist(), *([0] if draw(st.booleans()) else [])]


def slices_of(sizes):
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def fit_everywhere(make, sizes, tmp_path_factory, parts):
    """Return the models of one fit: in memory, from files, from Dask arrays, all with these blocks."""
    folder = tmp_path_factory.mktemp("views")
    for number, part in enumerate(parts):
        np.save(folder / f"{number}.npy", part)
    files = [folder / f"{number}.npy" for number in range(len(parts))]
    lazy = [dask.array.from_array(part, chunks=(tuple(sizes), -1)) for part in parts]
    with pytest.MonkeyPatch.context() as patch, dask.config.set(scheduler="synchronous"):
        patch.setattr(choose, "cut_rows", lambda n_rows, step: slices_of(sizes))
        return [make().fit(given if len(parts) > 1 else given[0]) for given in (parts, files, lazy)]


def assert_same(models):
    first, stored, lazy = models
    graphs = [first.graph_.toarray(), stored.graph_.to_csr().toarray(), lazy.graph_.compute().toarray()]
    embeddings = [np.asarray(model.embedding_) for model in models]
    for graph, embedding, model in zip(graphs, embeddings, models, strict=True):
        np.testing.assert_allclose(graph, graphs[0], atol=1e-10)
        np.testing.assert_allclose(embedding, embeddings[0], atol=1e-10)
        np.testing.assert_array_equal(np.asarray(model.labels_), first.labels_)
        np.testing.assert_allclose(model.objective_, first.objective_, rtol=1e-12)
        assert model.n_components_ == first.n_components_


@given(partitions(), st.sampled_from(OPTIONS))
@settings(max_examples=examples(10))
def test_one_view(tmp_path_factory, sizes, options):
    assert_same(fit_everywhere(lambda: SGL(4, random_state=0, **options), sizes, tmp_path_factory, [X]))


@given(partitions(), st.booleans())
@settings(max_examples=examples(5))
def test_several_views_with_gaps(tmp_path_factory, sizes, gaps):
    views = [X[:, :3].copy(), X[:, 3:].copy(), X @ np.random.default_rng(0).normal(size=(5, 4))]
    if gaps:
        views[1][::7] = np.nan
    assert_same(fit_everywhere(lambda: MSGL(4, random_state=0), sizes, tmp_path_factory, views))


MANY, TRUTH = make_blobs(6000, n_features=14, centers=12.0 * np.eye(5, 14), cluster_std=2.0, random_state=0)
UNEVEN = [2500, 1, 1499, 2000]


def fit_from_checkpoint(make, rows, folder):
    """Return a model whose fit was cut off after its first pass and went on from its checkpoint."""

    def cut_off(report):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        make().set_params(checkpoint=folder, callback=cut_off).fit(rows)
    assert any(folder.glob("pass-*.npz"))
    return make().set_params(checkpoint=folder).fit(rows)


@pytest.mark.parametrize(
    "options",
    [
        {"n_init": 1},
        *(
            pytest.param(more, marks=pytest.mark.check)
            for more in ({}, {"structure": "exact"}, {"partition": "spectral"})
        ),
    ],
    ids=str,
)
def test_many_rows_with_near_anchors(tmp_path_factory, options):
    def make():
        return SGL(5, random_state=0, **options)

    models = fit_everywhere(make, UNEVEN, tmp_path_factory, [MANY])
    assert models[0].n_near_ is not None
    assert_same(models)
    again = fit_from_checkpoint(make, MANY, tmp_path_factory.mktemp("checkpoint"))
    np.testing.assert_array_equal(again.labels_, models[0].labels_)
    np.testing.assert_allclose(again.graph_.toarray(), models[0].graph_.toarray(), atol=1e-10)
    with dask.config.set(scheduler="synchronous"):
        for k in (1, 3):
            for model in models:
                np.testing.assert_array_equal(model.labels_at(k), models[0].labels_at(k))
        lazy = models[2].predict(dask.array.from_array(MANY, chunks=(2000, -1)))
        np.testing.assert_array_equal(np.asarray(lazy), models[0].predict(MANY))


@pytest.mark.check
def test_many_rows_that_lack_views(tmp_path_factory):
    views = [MANY[:, :7].copy(), MANY[:, 7:].copy() + MANY[:, :7]]
    views[0][::5] = np.nan
    views[1][2::5] = np.nan
    models = fit_everywhere(lambda: MSGL(5, random_state=0), UNEVEN, tmp_path_factory, views)
    assert models[0].n_near_ is not None
    assert_same(models)
    assert adjusted_rand_score(TRUTH, models[0].labels_) > 0.95
    assert adjusted_rand_score(TRUTH, models[0].predict(views)) > 0.95
