"""Comparison of models bit by bit, and model files rewritten as someone with bad intentions would."""

import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.random import RandomState
from scipy import sparse

import kedge
from kedge.model_files import ModelFileError

# Parameters of SGL and MSGL, of every kind that a fit keeps.
anchor_graphs = st.fixed_dictionaries(
    {
        "n_anchors": st.sampled_from([6, np.int64(7)]),
        "beta": st.sampled_from([0.0, 0.1]),
        "signed": st.booleans(),
        "structure": st.sampled_from(["soft", "exact"]),
        "n_init": st.sampled_from([1, 2]),
        "n_neighbors": st.sampled_from([1, 3]),
        "predict_with": st.sampled_from(["anchors", "graph"]),
        "locality": st.sampled_from([0.0, 0.5]),
        "random_state": st.sampled_from([0, np.int32(1)]),
    }
)


def assert_same_value(found, expected, where="value"):
    """Assert that two values are of one type and have the same bits."""
    assert type(found) is type(expected), f"{where}: {type(found)} and {type(expected)}"
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected), where
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same_value(one, other, f"{where}[{number}]")
    elif isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key in expected:
            assert_same_value(found[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, np.ndarray | np.generic):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), where
        if found.ndim == 2 and (expected.flags.c_contiguous or expected.flags.f_contiguous):
            assert found.flags.f_contiguous == expected.flags.f_contiguous, where
        assert found.tolist() == expected.tolist() if found.dtype == object else found.tobytes() == expected.tobytes()
    elif sparse.issparse(expected):
        assert found.shape == expected.shape, where
        for part in ("data", "indices", "indptr"):
            assert_same_value(getattr(found, part), getattr(expected, part), f"{where}.{part}")
    elif isinstance(expected, RandomState):
        assert found.standard_normal(5).tobytes() == expected.standard_normal(5).tobytes(), where
    elif isinstance(expected, float):
        assert np.float64(found).tobytes() == np.float64(expected).tobytes(), where
    else:
        assert found == expected, where


def assert_same_model(found, expected):
    """Assert that two estimators are of one class with the same parameters and attributes."""
    assert type(found) is type(expected)
    assert_same_value(found.get_params(), expected.get_params(), "parameters")
    names = set(vars(expected))
    assert set(vars(found)) == names
    for name in names:
        assert_same_value(vars(found)[name], vars(expected)[name], name)


def read_parts(path):
    """Return the description and the other members of a model file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("model.json")), members


def as_npy(array, **options):
    """Return the bytes of an .npy file."""
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def with_header(text):
    """Return an .npy file of a header alone."""
    header = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


def write_parts(path, description, members, text=None, comment=None, sealed=True, **options):
    """Write a model file; ``sealed`` makes all sizes and checksums right, so that no other check is spared."""
    if sealed:
        facts = {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in members.items()
        }
        description = description | {"members": facts}
    text = json.dumps(description).encode() if text is None else text
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("model.json", text)
        digest = f"kedge model sha256={hashlib.sha256(text).hexdigest()}".encode()
        archive.comment = digest if comment is None else comment
    return Path(path)


class RunsCode:
    """What a pickle runs when it is read."""

    def __reduce__(self):
        """Fail the test."""
        return pytest.fail, ("code of the file was run",)


def change_attribute(path, name, value, **members):
    """Give an attribute another JSON value; members by number."""
    description, parts = read_parts(path)
    description["attributes"][name] = value
    return write_parts(path, description, parts | {f"array_{n[1:]}.npy": data for n, data in members.items()})


def change_labels(path, data):
    """Give the labels other bytes."""
    description, parts = read_parts(path)
    name = description["attributes"]["labels_"]["member"]
    return write_parts(path, description, parts | {name: data})


def change_description(path, **fields):
    """Change fields of the description."""
    description, parts = read_parts(path)
    return write_parts(path, description | fields, parts)


def change_text(path, change):
    """Change the text of the description."""
    description, parts = read_parts(path)
    facts = {name: {"bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for name, d in parts.items()}
    text = json.dumps(description | {"members": facts})
    assert change(text) != text
    return write_parts(path, description, parts, text=change(text).encode())


def refused(path, problem):
    """Assert that a file is refused for this reason, with its name and with advice."""
    with pytest.raises(ModelFileError, match=problem) as caught:
        kedge.load(path)
    assert str(caught.value).startswith(f"{path} cannot be loaded: ")
    assert "; " in str(caught.value), "what to do is said"
