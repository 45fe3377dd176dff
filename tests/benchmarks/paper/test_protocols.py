"""What is done with the rows: scores belong to the rows that they are said to be of."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from benchmarks.paper.plan import GENERATED, Unit, as_json, expand_grid
from benchmarks.paper.protocols import PROTOCOLS, DataRows, load_rows, run_unit

BLOBS = DataRows(*make_blobs(300, centers=3, n_features=4, cluster_std=0.2, random_state=1), 3)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [("KMeans", {}), ("SGL", {"n_neighbors": 3}), ("SGL", {"neighbors_of": "rows"}), ("SLSR", {"scale": "none"})],
)
def test_new_rows_are_scored_in_their_own_places(method, parameters):
    unit = Unit("out of sample", "blobs", method, as_json(parameters), 0)
    record = PROTOCOLS[unit.protocol](unit, BLOBS)
    # Far-apart blobs are found, unless labels go to the wrong rows; regression on unit rows may mix some.
    assert record["acc"] > (60 if method == "SLSR" else 99.9)
    assert record["fit_seconds"] > 0


def test_measures_of_a_clustering_are_in_percent_and_the_objective_is_recorded():
    record = PROTOCOLS["cluster"](Unit("cluster", "blobs", "KMeans", "{}", 0), BLOBS)
    assert [record[name] for name in ("acc", "nmi", "purity", "inverse_purity", "ari")] == pytest.approx([100] * 5)
    traced = PROTOCOLS["objective"](Unit("objective", "blobs", "SGL", as_json({"beta": 0.1, "n_init": 1}), 0), BLOBS)
    assert np.all(np.diff(traced["objective"]) <= 1e-9 * traced["objective"][0])


@pytest.mark.needs("linux")
def test_a_unit_is_run_on_as_many_rows_as_it_says_and_its_memory_is_recorded():
    assert len(load_rows(GENERATED, 70).y) == 70
    record = run_unit(Unit("cluster", GENERATED, "KMeans", "{}", 0, 70))
    assert record["peak_mib"] > 10


def test_grids_are_resolved_against_the_number_of_clusters():
    cells = expand_grid({"n_anchors": ["2.5k", 10, "1k"], "scale": ["none"]}, 4)
    assert cells == [as_json({"n_anchors": n, "scale": "none"}) for n in (10, 4)]
