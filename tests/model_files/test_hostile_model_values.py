"""Descriptions and arrays that were made to do harm are refused, each for its own reason, and cost no memory."""

import contextlib
import tracemalloc

import numpy as np
import pytest
from model_file_checks import (
    RunsCode,
    as_npy,
    change_attribute,
    change_description,
    change_labels,
    change_text,
    read_parts,
    refused,
    with_header,
    write_parts,
)

import kedge
from kedge.model_files import ModelFileError


def test_newer_format_asks_for_an_upgrade(path):
    refused(change_description(path, version=3), "it has version 3 of the format, .*; upgrade kedge")


@pytest.mark.parametrize("fields", [{"format": "other"}, {"version": "1"}, {"version": True}])
def test_other_format_is_no_model(path, fields):
    refused(change_description(path, **fields), "it is no model file; give the path")


def test_version_that_never_was_is_refused(path):
    refused(change_description(path, version=0), "it has version 0 of the format")


@pytest.mark.parametrize("name", ["Popen", "os.system", "Baseline", "sgl"])
def test_unknown_class_is_refused(path, name):
    refused(change_description(path, **{"class": name}), f"holds a '{name}', which this kedge does not have")


@pytest.mark.parametrize("field", ["class", "fitted", "parameters", "attributes", "left_out"])
def test_field_of_the_wrong_kind_is_refused(path, field):
    refused(change_description(path, **{field: 3}), f"no proper '{field}'")


def test_unknown_parameter_is_refused(path):
    parameters = read_parts(path)[0]["parameters"] | {"n_doors": 3}
    refused(change_description(path, parameters=parameters), "SGL has no parameter 'n_doors'")


def test_parameter_that_the_file_lacks_takes_its_default(path):
    parameters = read_parts(path)[0]["parameters"]
    del parameters["locality"]
    assert kedge.load(change_description(path, parameters=parameters)).locality == kedge.SGL().locality


@pytest.mark.parametrize("name", ["labels_", "row_map_", "scalings_", "n_features_in_"])
def test_missing_attribute_is_refused(path, name):
    description, parts = read_parts(path)
    value = description["attributes"].pop(name)
    if isinstance(value, dict):
        del parts[value["member"]]
    elif isinstance(value, list):
        for _, part in value[0]["items"]:
            if isinstance(part, dict):
                del parts[part["member"]]
    refused(write_parts(path, description, parts), f"SGL lacks {name}")


def test_labels_of_an_unfitted_model_are_refused(path):
    refused(change_description(path, fitted=False), "claims to be unfitted")


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_iter_", "3"), ("n_iter_", True), ("ridge_", 3), ("ridge_factors_", 1.0), ("feature_names_in_", ["a"])],
)
def test_attribute_of_the_wrong_kind_is_refused(path, name, value):
    refused(change_attribute(path, name, value), f"attribute '{name}' of SGL is no ")


@pytest.mark.parametrize("array", [np.zeros((30, 1), dtype=int), np.zeros(30), np.zeros(30, dtype="U1")])
def test_array_of_the_wrong_kind_is_refused(path, array):
    refused(change_labels(path, as_npy(array)), "attribute 'labels_' of SGL is no vector of int")


def test_scaling_with_other_fields_is_refused(path):
    scaling = {"kind": "dict", "items": [["kind", "none"], ["shift", None], ["factor", None], ["path", "x"]]}
    description, parts = read_parts(path)
    for _, part in description["attributes"]["scalings_"][0]["items"]:
        if isinstance(part, dict):
            del parts[part["member"]]
    description["attributes"]["scalings_"] = [scaling]
    refused(write_parts(path, description, parts), "'scalings_' of SGL is no list.*ViewScaling")


@pytest.mark.parametrize("name", ["predict", "__class__", "_weighting", "__dict__", "note", "a b_"])
def test_attribute_in_place_of_a_method_is_refused(path, name):
    refused(change_attribute(path, name, 1), "no attribute of a fitted SGL")


def test_attribute_in_place_of_a_parameter_is_refused(path):
    refused(change_attribute(path, "n_clusters", 1), "'n_clusters' is no attribute of a fitted SGL")


BAD_VALUES = [
    {},
    {"kind": "dataclass", "name": "ViewScaling", "fields": {}},
    {"kind": ["float"]},
    {"kind": "float", "value": "1e5"},
    {"kind": "float", "value": "nan", "more": 1},
    {"kind": "tuple", "items": 3},
    {"kind": "dict", "items": [["a", 1], ["a", 2]]},
    {"kind": "dict", "items": [[1.5, 1]]},
    {"kind": "dict", "items": [[[], 1]]},
    {"kind": "dict", "items": [["a"]]},
    {"kind": "slice", "bounds": [1, 2]},
    {"kind": "slice", "bounds": [1, "2", 3]},
    {"kind": "path", "value": 3},
    {"kind": "text scalar", "value": None},
    {"kind": "scalar", "type": "<f8", "bytes": "00"},
    {"kind": "scalar", "type": "<f8", "bytes": "zz"},
    {"kind": "scalar", "type": "|O8", "bytes": "0000000000000000"},
    {"kind": "scalar", "type": "<f16", "bytes": "00" * 16},
    {"kind": "scalar", "type": "<f3", "bytes": "00" * 3},
    {"kind": "scalar", "type": "|b1", "bytes": "02"},
    {"kind": "scalar", "type": "f8,f8", "bytes": "00" * 16},
    {"kind": "array", "member": "array_0.npy"},
    {"kind": "array", "member": "array_999.npy"},
    {"kind": "array", "member": "model.json"},
    {"kind": "array", "member": ["array_0.npy"]},
    {"kind": "array", "member": "../array_0.npy"},
]


@pytest.mark.parametrize("value", BAD_VALUES, ids=str)
def test_value_that_is_none_of_the_known_kinds_is_refused(path, value):
    refused(change_attribute(path, "extra_", value), "'extra_' is no |missing or used twice")


def csr_value(shape):
    members = {"data": "array_100.npy", "indices": "array_101.npy", "indptr": "array_102.npy"}
    return {"kind": "csr", "shape": shape, **members}


BAD_CSR = {
    "a trillion rows": ([10**12, 4], [1.0], [0], [0, 1]),
    "column out of range": ([1, 4], [1.0], [4], [0, 1]),
    "column below zero": ([1, 4], [1.0], [-1], [0, 1]),
    "pointers that fall": ([3, 4], [1.0], [0], [0, 5, 0, 1]),
    "pointers that do not start at zero": ([1, 4], [1.0], [0], [1, 1]),
    "entries without end": ([1, 4], [1.0, 2.0], [0, 1], [0, 1]),
    "one dimension": ([2], [1.0], [0], [0, 1, 1]),
    "three dimensions": ([1, 4, 1], [1.0], [0], [0, 1]),
    "negative size": ([-1, 4], [], [], []),
    "fractional size": ([1.0, 4], [1.0], [0], [0, 1]),
}


@pytest.mark.parametrize("parts", BAD_CSR.values(), ids=BAD_CSR)
def test_sparse_array_with_wrong_parts_is_refused(path, parts):
    shape, data, indices, indptr = parts
    indices, indptr = np.array(indices, dtype=np.int64), np.array(indptr, dtype=np.int64)
    members = {"_100": as_npy(np.array(data, dtype=float)), "_101": as_npy(indices), "_102": as_npy(indptr)}
    refused(change_attribute(path, "extra_", csr_value(shape), **members), "'extra_' is no csr")


@pytest.mark.parametrize(
    "kinds", [(object, "i8", "i8"), ("U1", "i8", "i8"), ("f8", "i4", "i8"), ("f8", "f8", "f8"), (">f8", "i8", "i8")]
)
def test_sparse_array_of_wrong_types_is_refused(path, kinds):
    members = [as_npy(np.array([0], dtype=kinds[0])), as_npy(np.array([0], dtype=kinds[1]))]
    members += [as_npy(np.array([0, 1], dtype=kinds[2]))]
    value = csr_value([1, 4])
    refused(
        change_attribute(path, "extra_", value, _100=members[0], _101=members[1], _102=members[2]), "is no csr|objects"
    )


@pytest.mark.parametrize(
    ("shape", "text", "lengths"),
    [
        ([2], b"ab", [1, 2]),
        ([2], b"ab", [3, -1]),
        ([3], b"ab", [1, 1]),
        ([2], b"ab", [2**63 - 1, -(2**63) + 3]),
        ([3], b"ab", [2**62, 2**62, 2**63 - 1]),
        ([1], b"\xff\xff", [2]),
        ([0, 2**62, 2**62], b"", []),
    ],
)
def test_strings_whose_lengths_are_wrong_are_refused(path, shape, text, lengths):
    value = {"kind": "strings", "shape": shape, "text": "array_100.npy", "lengths": "array_101.npy"}
    members = {"_100": as_npy(np.frombuffer(text, np.uint8)), "_101": as_npy(np.array(lengths, dtype=np.int64))}
    refused(change_attribute(path, "extra_", value, **members), "'extra_' is no strings")


@pytest.mark.parametrize(
    ("key", "position", "gauss"),
    [
        (np.zeros(3, np.uint32), 0, [0, 0.0]),
        (np.zeros(624), 0, [0, 0.0]),
        (np.zeros(624, np.uint32), 10**6, [0, 0.0]),
        (np.zeros(624, np.uint32), 0, [0]),
        (np.zeros(624, np.uint32), 0, [5, 0.0]),
        (np.zeros(624, np.uint32), 0, [1, "x"]),
    ],
)
def test_random_state_out_of_range_is_refused(path, key, position, gauss):
    value = {"kind": "random state", "key": "array_100.npy", "position": position, "gauss": gauss}
    refused(change_attribute(path, "extra_", value, _100=as_npy(key)), "no random state")


def header(shape, kind="<i8", more=""):
    return f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, {more}}}"


BAD_ARRAYS = {
    "pickled objects": as_npy(np.array([RunsCode()], dtype=object), allow_pickle=True),
    "header that says objects": with_header(header("(30,)", "|O")),
    "structure": as_npy(np.zeros(3, dtype=[("a", int)])),
    "dates": as_npy(np.zeros(3, dtype="M8[s]")),
    "bytes": as_npy(np.zeros(3, dtype="S4")),
    "long double": as_npy(np.zeros(3, dtype=np.longdouble)),
    "text of no length": with_header(header("(1000000000,)", "<U0")),
    "a billion rows": with_header(header("(1000000000,)")) + bytes(240),
    "a shape that overflows": with_header(header("(4294967296, 4294967296, 4294967296)")),
    "a shape that overflows to the right size": with_header(header("(9223372036854775807, 2)", "|u1")),
    "an overflow hidden by zero": with_header(header("(0, 9223372036854775807, 16)")),
    "forty dimensions": with_header(header("(" + "1, " * 40 + ")")) + bytes(8),
    "negative size": with_header(header("(-1,)")),
    "code in the header": with_header(header("__import__('os').getpid()")),
    "deep header": with_header(header("-" * 400 + "1")),
    "header of Python 2": with_header(header("(30L,)")),
    "header with more fields": with_header(header("(30,)", more="'more': 1, ")),
    "long header": with_header(header("(30,)") + " " * 600),
    "other version": b"\x93NUMPY\x02\x00" + as_npy(np.zeros(30, dtype=int))[8:],
    "too few numbers": as_npy(np.zeros(30, dtype=int))[:-8],
    "too many numbers": as_npy(np.zeros(30, dtype=int)) + bytes(8),
    "header cut short": as_npy(np.zeros(30, dtype=int))[:40],
    "nothing": b"",
    "bool of three": as_npy(np.full(30, 3, dtype=np.uint8)).replace(b"|u1", b"|b1"),
    "text beyond Unicode": as_npy(np.full(30, 2**31, dtype=np.uint32)).replace(b"<u4", b"<U1"),
}


@pytest.mark.parametrize("content", BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_array_that_is_not_plain_is_refused_without_memory(path, content):
    change_labels(path, content)
    tracemalloc.start()
    try:
        refused(path, r"array_\d+.npy (is no .npy|holds|has shape)")
        assert tracemalloc.get_traced_memory()[1] < 3e6  # the buffers of a read, which are of a megabyte
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("depth", [2_000, 2_000_000])
def test_deep_description_is_refused(path, depth):
    text = b'{"format": "kedge model", "version": 1, "class": "SGL", "fitted": false, "parameters": {}, "left_out": [],'
    text += b' "members": {}, "attributes": {"x_": ' + b"[" * depth + b"]" * depth + b"}}"
    refused(write_parts(path, {}, {}, text=text), "maximum recursion depth exceeded")


def test_brackets_in_text_are_not_nesting(tmp_path):
    model = kedge.SGL(3, scratch_folder='[{"\\' * 300)
    kedge.save(model, tmp_path / "model.kedge")
    assert kedge.load(tmp_path / "model.kedge").scratch_folder == model.scratch_folder


def test_text_without_an_end_is_refused_at_once(path):
    # Looked for from every quote, the end would take hours.
    refused(write_parts(path, *read_parts(path), text=b'"' + b'\\"' * 2_000_000), "no JSON")


def test_large_description_is_refused(path):
    description, parts = read_parts(path)
    text = b" " * (4 * 2**20 + 1)
    refused(write_parts(path, description, parts, text=text), "model.json has more than 4194304 bytes")


@pytest.mark.parametrize("item", ["[],", '"é",', "{},", "0.5,"])
def test_description_takes_fifty_times_its_size_at_most(path, item):
    # So a description of the largest size takes 200 MB at most.
    content = (item * (150_000 // len(item))).encode()
    text = b'{"format": "kedge model", "version": 1, "class": "SGL", "fitted": false, "parameters": {}, "left_out": [],'
    text += b' "members": {}, "attributes": {"x_": [' + content + b"0]}}"
    write_parts(path, {}, {}, text=text)
    tracemalloc.start()
    try:
        with contextlib.suppress(ModelFileError):
            kedge.load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 2 * len(text) < peak < 50 * len(text) + 1e6


CHANGES = {
    "infinity": (lambda text: text.replace('"n_iter_": ', '"n_iter_": Infinity, "x_": '), "no finite number"),
    "out of range": (lambda text: text.replace('"n_iter_": ', '"n_iter_": 1e999, "x_": '), "no finite number"),
    "many digits": (lambda text: text.replace('"n_iter_": ', f'"n_iter_": {"9" * 100_000}, "x_": '), "no JSON"),
    "said twice": (lambda text: text.replace('"n_iter_": ', '"n_iter_": 1, "n_iter_": '), "says something twice"),
    "no JSON": (lambda text: text[:-1], "no JSON"),
    "a list": (lambda text: f"[{text}]", "no model file"),
    "a null character": (lambda text: text + "\0", "no JSON"),
}


@pytest.mark.parametrize(("change", "problem"), CHANGES.values(), ids=CHANGES)
def test_description_that_is_not_plain_json_is_refused(path, change, problem):
    refused(change_text(path, change), problem)


def test_description_in_another_encoding_is_refused(path):
    refused(write_parts(path, *read_parts(path), text=b"\xff\xfe{\0}\0"), "no JSON")
