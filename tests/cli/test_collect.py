"""``benchmarker collect``: the records of a thousand jobs in one folder, each once."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from benchmarker.cli.main import main
from benchmarker.orchestration.submission.resources import Resources
from benchmarker.orchestration.submission.state import Submission, part_folder, save, submissions_folder
from benchmarker.records.store import add_record
from tests.support.records import make_record

JOBS = 1000
IDENTIFIER, NAME = "0123456789abcdef" * 2, "name-of-the-record"


def submission(results: Path, name: str, parts: int) -> Path:
    """Write a submission of so many parts, of whose records many have one file name, and return its folder."""
    folder = submissions_folder(results) / name
    known = Submission(
        id=name,
        engine="slurm",
        blueprint="/shared/four.toml",
        sha256="0" * 64,
        options=(),
        directory="/shared",
        cells=parts,
        parts=parts,
        resources=Resources(),
    )
    save(folder, known)
    first = {**make_record([0.01] * 6), "id": IDENTIFIER}
    (results.parent / "written").mkdir()
    written = add_record(results.parent / "written", NAME, first, {".log": b""}, durable=False).read_text()
    for part in range(1, parts + 1):
        target = part_folder(folder, part) / "results"
        target.mkdir(parents=True)
        name = "same" if part % 10 == 0 or parts < 10 else f"of-{part}"
        # As add_record would write it, in a tenth of the time.
        record = written.replace(IDENTIFIER, f"{part:032x}").replace(NAME, name)
        (target / f"{name}.json").write_text(record)
        (target / f"{name}.log").write_text(f"of part {part}")
        (target.parent / "exit").write_text("0\n")
    return folder


def test_a_thousand_jobs_are_collected_without_collision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    submission(results, "many", JOBS)
    start = time.monotonic()
    assert main(["collect", f"--results={results}", "--json"]) == 0
    print(f"{JOBS} records collected in {time.monotonic() - start:.1f} s")
    told, _, last = capsys.readouterr().out.rpartition("\n}\n")
    assert last.startswith("1000 records")
    found = json.loads(told + "}")
    assert (len(found["added"]), found["known"], found["damaged"]) == (JOBS, [], [])
    records = {path: json.loads(path.read_text()) for path in results.glob("*.json")}
    assert len(records) == JOBS
    assert len({record["id"] for record in records.values()}) == JOBS
    for path, record in records.items():
        assert record["log"] == f"{path.stem}.log"
        assert (results / record["log"]).read_text() == f"of part {int(record['id'], 16)}"
    assert main(["collect", "many", f"--results={results}"]) == 0
    assert "0 records collected into" in capsys.readouterr().out
    assert len(list(results.glob("*.json"))) == JOBS


def test_a_damaged_record_is_named_and_the_others_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    folder = submission(results, "some", 3)
    (part_folder(folder, 2) / "results" / "same.json").write_text("{")
    assert main(["collect", f"--results={results}"]) == 1
    captured = capsys.readouterr()
    assert "2 records collected into" in captured.out
    assert "part-2" in captured.err
