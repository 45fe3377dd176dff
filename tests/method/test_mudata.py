"""RNA and protein of one tissue as MuData, where cells may lack a modality."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from kedge import MSGL, SGL

anndata = pytest.importorskip("anndata")
pytestmark = pytest.mark.filterwarnings("ignore")


def draw_cells(n_cells=240, n_genes=120, n_proteins=12, seed=0):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, n_cells)
    rna = rng.poisson(np.exp(rng.normal(0, 1.2, size=(3, n_genes)))[kinds]).astype(np.float32)
    protein = rng.poisson(20 * np.exp(rng.normal(0, 0.8, size=(3, n_proteins)))[kinds]).astype(np.float32)
    return rna, protein, kinds, pd.Index([f"cell{i}" for i in range(n_cells)])


def as_mudata(rna, protein, cells, with_protein):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mudata = pytest.importorskip("mudata")
        parts = {
            "rna": anndata.AnnData(np.log1p(rna), obs=pd.DataFrame(index=cells)),
            "protein": anndata.AnnData(np.log1p(protein[with_protein]), obs=pd.DataFrame(index=cells[with_protein])),
        }
        return mudata.MuData(parts)


def test_modalities_are_views():
    rna, protein, kinds, cells = draw_cells()
    everyone = np.arange(len(cells))
    data = as_mudata(rna, protein, cells, everyone)
    model = MSGL(3, random_state=0).fit(data)
    assert model.view_names_ == ["rna", "protein"]
    assert adjusted_rand_score(kinds, model.labels_) > 0.95
    np.testing.assert_array_equal(
        model.labels_, MSGL(3, random_state=0).fit([np.log1p(rna), np.log1p(protein)]).labels_
    )
    np.testing.assert_array_equal(
        model.predict(data), model.predict({"protein": np.log1p(protein), "rna": np.log1p(rna)})
    )


def test_cells_without_a_modality_and_in_another_order():
    rna, protein, kinds, cells = draw_cells()
    some = np.random.default_rng(1).permutation(len(cells))[:150]
    data = as_mudata(rna, protein, cells, some)
    model = MSGL(3, random_state=0).fit(data)
    place = cells.get_indexer(data.obs_names)
    assert adjusted_rand_score(kinds[place], model.labels_) > 0.95
    holes = np.full_like(protein, np.nan)
    holes[some] = np.log1p(protein[some])
    by_hand = MSGL(3, random_state=0).fit([np.log1p(rna)[place], holes[place]])
    np.testing.assert_array_equal(by_hand.labels_, model.labels_)


def test_anndata_is_one_view():
    rna, _, kinds, cells = draw_cells()
    data = anndata.AnnData(np.log1p(rna), obs=pd.DataFrame(index=cells))
    model = MSGL(3, random_state=0).fit(data)
    assert adjusted_rand_score(kinds, model.labels_) > 0.95
    np.testing.assert_array_equal(model.labels_, SGL(3, scale="auto", random_state=0).fit(np.log1p(rna)).labels_)
