"""What an entry needs in order to count; each test takes one thing away."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.list_site.contests import Contest, read_contest
from benchmarker.analysis.list_site.entries import read_repository
from benchmarker.analysis.list_site.requirements import Judged, judge_entry, reasons_against
from benchmarker.analysis.list_site.reruns import check_free, verdict_file
from benchmarker.errors import UsageError
from benchmarker.records import places
from tests.support.list_entries import contest_text, contests, processes, submit, write
from tests.support.records import PRESSURE, make_failed_record


@pytest.fixture
def contest(tmp_path: Path) -> Contest:
    return read_contest(contests(tmp_path / "contests") / "example.toml")


def judged(folder: Path, contest: Contest) -> Judged:
    """Return the one entry of a folder."""
    repository = read_repository(folder)
    (entry,) = repository.entries
    return judge_entry(entry, contest, repository)


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record)
    path.write_text(json.dumps(record), encoding="utf-8")


def contaminate(record: dict[str, Any]) -> None:
    reason = {**PRESSURE, "severity": "contaminated", "value": 0.9, "limit": 0.2}
    record["trust"].update(grade="contaminated", reasons=[reason])


def noisy(record: dict[str, Any]) -> None:
    record["trust"].update(grade="noisy", reasons=[PRESSURE])


def test_an_entry_that_has_all_counts(tmp_path: Path, contest: Contest) -> None:
    submit(tmp_path / "results", 0.01)
    found = judged(tmp_path / "results", contest)
    assert found.reasons == ()
    assert len(found.counted) == 5
    assert found.rerun is not None


def test_a_rerun_is_no_entry_of_its_own(tmp_path: Path) -> None:
    submit(tmp_path, 0.01)
    repository = read_repository(tmp_path)
    assert (len(repository.records), len(repository.entries)) == (10, 1)


def test_four_processes_are_too_few(tmp_path: Path, contest: Contest) -> None:
    submit(tmp_path / "results", 0.01, count=4)
    assert judged(tmp_path / "results", contest).reasons == (
        "at least 5 processes must have succeeded, but only 4 did",
    )


def test_disturbed_processes_are_left_out_and_five_must_be_left(tmp_path: Path, contest: Contest) -> None:
    paths = submit(tmp_path / "results", 0.01, count=6)
    changed(paths[0], contaminate)
    found = judged(tmp_path / "results", contest)
    assert (found.reasons, len(found.counted)) == ((), 5)
    changed(paths[1], noisy)
    assert judged(tmp_path / "results", contest).reasons == (
        "at least 5 processes must be undisturbed (clean), but only 4 of 6 processes are (1 contaminated, 1 noisy)",
    )


def test_a_contest_may_take_noisy_processes(tmp_path: Path) -> None:
    for path in submit(tmp_path / "results", 0.01):
        changed(path, noisy)
    text = contest_text(processes(0.01)).replace("[fixed]", 'trust = "noisy"\n[fixed]')
    contest = read_contest(contests(tmp_path / "contests", example=text) / "example.toml")
    assert judged(tmp_path / "results", contest).reasons == ()


def test_a_process_that_is_not_verified_is_named(tmp_path: Path, contest: Contest) -> None:
    paths = submit(tmp_path / "results", 0.01)

    def unverified(record: dict[str, Any]) -> None:
        record["verification"].update(status="skipped", reason="--no-verify", worst=None, tensors=[])
        record["verification"]["after_timing"] = None

    changed(paths[2], unverified)
    (reason,) = judged(tmp_path / "results", contest).reasons
    assert reason.endswith("is not verified: its verification is 'skipped'")


def test_a_process_that_crashed_is_not_left_out(tmp_path: Path, contest: Contest) -> None:
    submit(tmp_path / "results", 0.01)
    first = read_repository(tmp_path / "results").entries[0].processes[0]
    crashed = make_failed_record(
        started_at="2025-03-01T12:00:00.000000Z", replication__campaign=first["replication"]["campaign"]
    )
    write(tmp_path / "results", [crashed])
    (reason,) = judged(tmp_path / "results", contest).reasons
    assert (
        reason == f"process {crashed['id']} ended as 'crashed': the worker was ended by signal 11 (SIGSEGV)"
    )


def test_hardware_and_price_must_be_said(tmp_path: Path, contest: Contest) -> None:
    submit(tmp_path / "results", 0.01, metrics__cost_of_run=None, platform__cpu=None)
    assert judged(tmp_path / "results", contest).reasons == (
        "its hardware is not stated: a record lacks the processor's model",
        "its price is not stated: measure with --price-per-hour",
    )


def test_what_a_contest_ranks_by_must_be_measured(tmp_path: Path) -> None:
    submit(tmp_path / "results", 0.01, metrics__joules_per_sample=None)
    text = contest_text(processes(0.01)).replace("step_seconds", "joules_per_sample")
    contest = read_contest(contests(tmp_path / "contests", example=text) / "example.toml")
    (reason,) = judged(tmp_path / "results", contest).reasons
    assert reason.endswith("has no energy per sample to rank by: no energy was measured")


# --- the rerun ------------------------------------------------------------------------------------


def test_without_a_verdict_it_does_not_count(tmp_path: Path, contest: Contest) -> None:
    paths = write(tmp_path / "results", processes(0.01))
    (reason,) = judged(tmp_path / "results", contest).reasons
    assert reason == (
        f"it is not shown to be reproducible: there is no '{paths[0].stem}.rerun' next to "
        "it (benchmarker rerun RECORD --keep-verdict)"
    )


def test_a_number_that_was_not_reproduced_does_not_count(tmp_path: Path, contest: Contest) -> None:
    submit(tmp_path / "results", 0.01, again=0.012)
    (reason,) = judged(tmp_path / "results", contest).reasons
    assert ".rerun' has the outcome: not reproduced: 2" in reason


def test_a_verdict_is_made_again_and_not_believed(tmp_path: Path, contest: Contest) -> None:
    paths = submit(tmp_path / "results", 0.01, again=0.012)
    file = verdict_file(paths[0])
    file.write_text(file.read_text().replace('"not reproduced"', '"reproduced"'))
    (reason,) = judged(tmp_path / "results", contest).reasons
    assert "has the outcome: not reproduced" in reason


def edited(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), **changes}))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"processes": ["0" * 32]}, "is about other records"),
        ({"new_records": ["0" * 32]}, f"names the record {'0' * 32}, which is not here"),
        ({"verdict": "cannot tell"}, "says 'cannot tell', but its records say otherwise"),
        (
            {"verdict": "<script>", "more": 1},
            "is not a verdict that benchmarker rerun --keep-verdict has written",
        ),
        ({"processes": ["../../etc/passwd"]}, "must name records by their identifiers"),
        ({"processes": 3}, "must name records by their identifiers, got 3"),
        ({"new_records": ["0" * 32] * 2}, "names a record twice"),
        ({"new_records": []}, "says that no new process succeeded"),
    ],
)
def test_a_verdict_that_shows_nothing_is_told(
    tmp_path: Path, contest: Contest, changes: dict[str, Any], told: str
) -> None:
    paths = submit(tmp_path, 0.01)
    edited(verdict_file(paths[0]), **changes)
    repository = read_repository(tmp_path)
    entry = next(entry for entry in repository.entries if entry.files[0] == paths[0])
    (reason,) = judge_entry(entry, contest, repository).reasons
    assert reason.startswith("it is not shown to be reproducible: '")
    assert told in reason


def test_a_verdict_of_some_of_the_processes_shows_nothing(tmp_path: Path, contest: Contest) -> None:
    paths = submit(tmp_path / "results", 0.01)
    file = verdict_file(paths[0])
    edited(file, processes=json.loads(file.read_text(encoding="utf-8"))["processes"][:3])
    (reason,) = judged(tmp_path / "results", contest).reasons
    assert reason.endswith("covers 3 of 5 processes")


def test_a_rerun_on_another_machine_shows_nothing(tmp_path: Path, contest: Contest) -> None:
    submit(tmp_path / "results", 0.01)
    for name in read_repository(tmp_path / "results").entries[0].reruns[0].new:
        changed(next((tmp_path / "results").glob(f"*{name[:12]}.json")), another_machine)
    (reason,) = judged(tmp_path / "results", contest).reasons
    assert reason.endswith("is from another machine")


def another_machine(record: dict[str, Any]) -> None:
    record["platform"]["cpu"]["model"] = "Another CPU"


def test_an_earlier_record_is_no_rerun(tmp_path: Path, contest: Contest) -> None:
    submit(tmp_path / "results", 0.01)
    for name in read_repository(tmp_path / "results").entries[0].reruns[0].new[:1]:
        path = next((tmp_path / "results").glob(f"*{name[:12]}.json"))
        changed(path, lambda record: record.update(started_at="2025-01-01T00:00:00.000000Z"))
    (reason,) = judged(tmp_path / "results", contest).reasons
    assert reason.endswith("names a record that is not later than the entry")


def test_no_verdict_is_kept_in_the_copy_of_a_place_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere:
        address, folder = "s3://bucket/folder", tmp_path

    monkeypatch.setattr(places, "_opened", {str(tmp_path): Elsewhere})
    with pytest.raises(UsageError, match=r"on this machine, got 's3://bucket/folder/a\.json'; bring it here"):
        check_free(tmp_path / "a.json")


def test_a_file_that_is_no_verdict_is_told(tmp_path: Path, contest: Contest) -> None:
    paths = write(tmp_path / "results", processes(0.01))
    verdict_file(paths[0]).write_text("{")
    (reason,) = judged(tmp_path / "results", contest).reasons
    assert f"'{paths[0].stem}.rerun' is not JSON" in reason


# --- which contest, and which entry ---------------------------------------------------------------


def test_the_nearest_contest_is_told_to_what_is_of_none(tmp_path: Path, contest: Contest) -> None:
    write(tmp_path / "results", processes(0.01, batch_size=64))
    repository = read_repository(tmp_path / "results")
    assert reasons_against(repository.entries[0], [contest], repository) == [
        "it belongs to no contest; the nearest is 'example', where batch_size must be 4, but is 64"
    ]


def test_campaigns_are_entries_and_what_went_on_is_of_the_first(tmp_path: Path) -> None:
    first, second = processes(0.01, day=1), processes(0.01, day=3)
    for record in second:
        record["replication"]["resumed"] = [first[0]["id"]]
    write(tmp_path, [*first, *second, *processes(0.01, day=5)])
    assert [len(entry.processes) for entry in read_repository(tmp_path).entries] == [10, 5]


def test_interrupted_runs_are_nobodys_and_copies_are_skipped(tmp_path: Path) -> None:
    records = processes(0.01)
    write(tmp_path, [*records, make_failed_record("interrupted")])
    write(tmp_path / "again", records[:1])
    repository = read_repository(tmp_path)
    assert [len(entry.processes) for entry in repository.entries] == [5]
    (reason,) = repository.skipped.values()
    assert reason.startswith("has the identifier of ")
