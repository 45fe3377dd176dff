"""What cannot be stored is refused by name."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import date

import numpy as np
import pytest
from numpy.random import PCG64, RandomState
from scipy import sparse
from sklearn.cluster import KMeans

import kedge
from kedge.core.scaling import ViewScaling


class OwnSGL(kedge.SGL):
    pass


@dataclass
class Note:
    text: str


OTHERS = [OwnSGL(3), KMeans(3), object(), "SGL", kedge.SGL]


@pytest.mark.parametrize("thing", OTHERS, ids=lambda thing: type(thing).__name__)
def test_other_classes_are_refused(tmp_path, thing):
    with pytest.raises(TypeError, match="which cannot be saved; these can: SGL, MSGL, "):
        kedge.save(thing, tmp_path / "model.kedge")
    assert list(tmp_path.iterdir()) == []


VALUES = {
    "set": {1},
    "bytes": b"x",
    "date": date(2020, 1, 1),
    "complex": 1j,
    "dataclass": Note("x"),
    "dataclass of kedge": ViewScaling("none"),
    "ordered dict": OrderedDict(a=1),
    "float key": {1.5: 2},
    "bool key": {True: 2},
    "slice of text": slice("a", "b"),
    "objects": np.array([1, "a"], dtype=object),
    "dates": np.array(["2020-01-01"], dtype="M8[D]"),
    "structure": np.zeros(2, dtype=[("a", int)]),
    "long double": np.zeros(2, dtype=np.longdouble),
    "long double scalar": np.longdouble(1),
    "masked": np.ma.masked_array([1.0], [True]),
    "matrix": sparse.csr_matrix((2, 2)),
    "other format": sparse.csc_array((2, 2)),
    "sparse vector": sparse.csr_array(np.ones(3)),
    "generator": np.random.default_rng(0),
    "other generator": RandomState(PCG64(0)),
    "class": int,
    "inside": [{"a": (1, {2})}],
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_value_outside_the_closed_set_is_refused_by_name(tmp_path, value):
    model = kedge.SGL(3)
    model.extra_ = value
    with pytest.raises(TypeError, match=r"^attribute 'extra_' of SGL.* can(not)? be saved"):
        kedge.save(model, tmp_path / "model.kedge")
    assert list(tmp_path.iterdir()) == []


def test_place_inside_a_value_is_named(tmp_path):
    with pytest.raises(TypeError, match=r"parameter 'views' of MSGL\[1\]\['a'\] is a builtins.set"):
        kedge.save(kedge.MSGL(3, views=[1, {"a": {2}}]), tmp_path / "model.kedge")


def test_list_in_itself_is_refused(tmp_path):
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested more than 20 levels deep"):
        kedge.save(kedge.MSGL(3, views=endless), tmp_path / "model.kedge")


def test_deepest_value_that_is_saved_can_be_loaded(tmp_path):
    value = 1
    for _ in range(20):
        value = {"a": value}
    kedge.save(kedge.MSGL(3, views=value), tmp_path / "model.kedge")
    assert kedge.load(tmp_path / "model.kedge").views == value
    with pytest.raises(ValueError, match="levels deep"):
        kedge.save(kedge.MSGL(3, views=[value]), tmp_path / "model.kedge")


def test_huge_integer_is_refused(tmp_path):
    with pytest.raises(ValueError, match="'n_clusters' of SGL is an integer of more than 1000 digits"):
        kedge.save(kedge.SGL(10**5000), tmp_path / "model.kedge")
    kedge.save(kedge.SGL(-(2**3000) + 1), tmp_path / "model.kedge")
    assert kedge.load(tmp_path / "model.kedge").n_clusters == -(2**3000) + 1


def test_long_list_is_refused_with_advice(tmp_path):
    with pytest.raises(ValueError, match="pass long lists as arrays"):
        kedge.save(kedge.MSGL(3, views=[10**9] * 1_000_000), tmp_path / "model.kedge")
    assert list(tmp_path.iterdir()) == []


def test_too_many_arrays_are_refused(tmp_path):
    one = np.ones(1)
    with pytest.raises(ValueError, match="more than 9999 arrays"):
        kedge.save(kedge.MSGL(3, anchors=[one] * 10_000), tmp_path / "model.kedge")


def test_largest_number_of_arrays_can_be_loaded(tmp_path):
    kedge.save(kedge.MSGL(3, anchors=[np.ones(1)] * 9999), tmp_path / "model.kedge")
    assert len(kedge.load(tmp_path / "model.kedge").anchors) == 9999


@pytest.mark.parametrize("name", ["note", "predict", "_private_"])
def test_attribute_that_is_not_of_a_fit_is_refused(tmp_path, name):
    model = kedge.SGL(3)
    setattr(model, name, 1)
    with pytest.raises(TypeError, match=f"the model cannot be saved: '{name}' is no attribute of a fitted SGL"):
        kedge.save(model, tmp_path / "model.kedge")


def test_fitted_model_that_lost_an_attribute_is_refused(tmp_path, rows):
    model = kedge.SGL(3, n_anchors=6, random_state=0).fit(rows)
    del model.row_map_
    with pytest.raises(TypeError, match="SGL lacks row_map_"):
        kedge.save(model, tmp_path / "model.kedge")
