"""Results survive crashes: whole lines are kept, torn ones run again, nothing is recorded twice."""

import json

import pytest

from benchmarks.paper.plan import Unit
from benchmarks.paper.results import ResultsFile, read_records

UNITS = [Unit("cluster", "generated-subspaces", "KMeans", "{}", seed, 60) for seed in range(3)]


def test_what_is_appended_is_there_when_opened_again(tmp_path):
    path = tmp_path / "deep" / "results.jsonl"
    first = ResultsFile(path)
    first.append(UNITS[0], {"acc": 50.0})
    first.close()
    second = ResultsFile(path)
    assert UNITS[0].key in second.records
    assert UNITS[1].key not in second.records
    assert second.records[UNITS[0].key]["acc"] == 50.0
    second.append(UNITS[1], {"failed": "out of time"})
    second.close()
    assert len(read_records(path)) == 2


def test_a_line_cut_off_by_a_crash_is_set_aside_and_its_unit_is_open_again(tmp_path):
    path = tmp_path / "results.jsonl"
    file = ResultsFile(path)
    for unit in UNITS:
        file.append(unit, {"acc": 1.0})
    file.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    again = ResultsFile(path)
    assert [unit.key in again.records for unit in UNITS] == [True, True, False]
    again.append(UNITS[2], {"acc": 2.0})
    again.close()
    assert [json.loads(line)["acc"] for line in path.read_text().splitlines()] == [1.0, 1.0, 2.0]
    assert (tmp_path / "results.torn").exists()


def test_a_unit_is_recorded_once(tmp_path):
    file = ResultsFile(tmp_path / "results.jsonl")
    file.append(UNITS[0], {"acc": 1.0})
    with pytest.raises(ValueError, match="recorded already"):
        file.append(UNITS[0], {"acc": 2.0})
    file.close()


def test_foreign_files_are_refused_and_left_alone(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"key": "a"}\nhello\n')
    with pytest.raises(ValueError, match=r"results.jsonl, line 2, is not a record"):
        ResultsFile(path)
    assert path.read_text() == '{"key": "a"}\nhello\n'


@pytest.mark.needs("linux")
def test_two_writers_are_refused(tmp_path):
    first = ResultsFile(tmp_path / "results.jsonl")
    with pytest.raises(RuntimeError, match="in use by another run"):
        ResultsFile(tmp_path / "results.jsonl")
    first.close()
