"""The list of data sets and the search by name."""

import re

import pytest

from kedge.datasets import available, load
from kedge.datasets.catalogue import CATALOGUE, find_dataset

PAPER = [
    "ba",
    "orl",
    "tr11",
    "tr41",
    "tr45",
    "rcv1-4",
    "mnist",
    "covertype",
    "pokerhand",
    "caltech101-7",
    "citeseer",
    "nus",
]
OTHERS = ["nus-standin", "caltech101-7-reextracted", "tdt2", "pokerhand-synthesised", "pokerhand-partial"]


def test_the_catalogue_has_the_sets_of_the_paper_and_their_stand_ins():
    assert sorted(dataset.name for dataset in available()) == sorted(PAPER + OTHERS)
    assert len({dataset.file_name for dataset in available()}) == len(available())


def test_sets_of_the_paper_never_carry_the_status_of_a_substitute():
    assert {CATALOGUE[name].status for name in PAPER} == {"exact", "not available here"}
    assert not {CATALOGUE[name].status for name in OTHERS} & {"exact", "not available here"}


def test_each_entry_is_consistent(subtests):
    for dataset in available():
        with subtests.test(dataset.name):
            assert len(dataset.view_names or ["X"]) == len(dataset.widths) == len(dataset.keys)
            assert dataset.is_downloadable != bool(dataset.why_not)
            assert dataset.stand_in is None or CATALOGUE[dataset.stand_in].status not in ("exact", "not available here")
            assert all(
                re.fullmatch("[0-9a-f]{64}", d) for d in (dataset.digest, *(dataset.leading_digest or ())[1:]) if d
            )
            for file in (file for home in dataset.homes for file in home.files):
                assert all(url.startswith("https://") for url in file.urls)
                assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
                # A second address is only safe when the bytes are known to be the same.
                assert len(file.urls) < 2 or file.sha256


def test_what_can_be_downloaded_can_be_verified(subtests):
    for dataset in available():
        with subtests.test(dataset.name):
            assert bool(dataset.digest or dataset.leading_digest) == (dataset.status != "not available here")


def test_the_text_of_an_entry_names_what_matters():
    text = repr(find_dataset("citeseer"))
    for part in ("citeseer", "exact", "3312 x 3703 + 3312", "6 clusters", "LINQS", "zskong", "https://"):
        assert part in text
    assert "\n" not in text


def test_names_are_found_in_any_case():
    assert find_dataset(" TR45 ").name == "tr45"
    assert find_dataset("NUS-StandIn").name == "nus-standin"


def test_an_unknown_name_lists_the_nearest_and_all():
    with pytest.raises(ValueError, match=r"no data set is called 'tr44'; nearest: .*tr45.*; all names: ba") as caught:
        load("tr44")
    assert all(name in str(caught.value) for name in PAPER + OTHERS)


def test_a_name_that_is_no_string_is_a_type_error():
    with pytest.raises(TypeError, match="name must be a string, got int"):
        load(45)
