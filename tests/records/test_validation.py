"""Record files checked many at a time say what each says by itself."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarker.analysis.results.collection import load_results
from benchmarker.errors import BenchmarkerError
from benchmarker.records import validation
from benchmarker.records.schema import validate
from benchmarker.records.store import Store
from benchmarker.records.validation import check_file, check_files
from tests.support.records import make_record, set_at


def test_many_files_are_told_apart_in_their_order(tmp_path: Path) -> None:
    record = make_record()
    bad = {**record, "batch_size": 0}
    files = [tmp_path / f"{i:03d}.json" for i in range(350)]
    for index, file in enumerate(files):
        file.write_text(json.dumps(bad if index % 100 == 7 else record))
    files[333].write_text("{")
    told: list[int] = []
    found = check_files(files, told.append)
    assert list(found) == files
    assert [file.name for file, faults in found.items() if faults] == [
        "007.json",
        "107.json",
        "207.json",
        "307.json",
        "333.json",
    ]
    assert found[files[7]] == validate(bad)
    assert "is not JSON" in found[files[333]][0].message
    assert told == sorted(told)
    assert told[-1] == 350


def end_at_once(files: Sequence[Path]) -> None:
    os._exit(9)


def test_a_process_that_is_ended_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "available_threads", lambda: 2)
    monkeypatch.setattr(validation, "_check_chunk", end_at_once)
    with pytest.raises(BenchmarkerError, match="could not all be checked"):
        check_files([tmp_path / f"{i}.json" for i in range(250)])


def test_nothing_to_check_is_no_fault() -> None:
    assert check_files([]) == {}


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" * 400])
def test_a_number_too_large_for_a_double_is_a_fault(tmp_path: Path, number: str) -> None:
    record = make_record()
    record["metrics"]["loss_last"] = 12345.678
    file = tmp_path / "r.json"
    file.write_text(json.dumps(record).replace("12345.678", number))
    assert [str(fault) for fault in check_file(file)] == ["$.metrics.loss_last must be a finite number"]


@pytest.mark.parametrize("path", ["timing.import_seconds", "memory.peak_bytes", "batch_size"])
@pytest.mark.parametrize("number", [2**1023 * 2, 10**400])
def test_a_number_that_no_reader_can_hold_is_no_record_for_any(
    tmp_path: Path, path: str, number: int
) -> None:
    record = make_record()
    set_at(record, path, number)
    file = tmp_path / "r.json"
    file.write_text(json.dumps(record))
    assert [str(fault) for fault in check_file(file)] == [f"$.{path} must be a finite number"]
    assert load_results(file).damaged == {file: f"is not a valid record: $.{path} must be a finite number"}


@pytest.mark.parametrize("path", ["memory.peak_bytes", "batch_size"])
def test_a_count_has_at_most_64_bits(tmp_path: Path, path: str) -> None:
    record = make_record()
    set_at(record, path, 2**63)
    file = tmp_path / "r.json"
    file.write_text(json.dumps(record))
    told = f"$.{path} must be at most 9223372036854775807, got 9223372036854775808"
    assert [str(fault) for fault in check_file(file)] == [told]
    assert load_results(file).damaged == {file: f"is not a valid record: {told}"}


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_what_only_python_takes_for_json_is_refused(tmp_path: Path, constant: str) -> None:
    file = tmp_path / "r.json"
    file.write_text(json.dumps(make_record()).replace('"mode": "inference"', f'"mode": {constant}'))
    (fault,) = check_file(file)
    assert fault.path == "$"
    assert "is not a JSON number" in fault.message


def test_a_text_that_is_no_unicode_is_no_fault(tmp_path: Path) -> None:
    """A log in an unknown encoding leaves half a surrogate pair."""
    path = Store(tmp_path).save(make_record(platform__note="\udcff"))
    assert "\\udcff" in path.read_text()
    assert check_file(path) == []


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    (fault,) = check_file(tmp_path / "gone.json")
    assert "cannot be read" in fault.message
    (fault,) = check_file(tmp_path)
    assert "cannot be read" in fault.message
