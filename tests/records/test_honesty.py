"""Check of honesty A4: a record from which anything is missing, or in which anything is other, is refused.

The record is one that the command wrote, and what it must have is read off it, not off the schema: a schema that
forgets to ask for a member fails here.
"""

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarker.records.schema import decoding, validate
from benchmarker.records.schema.record import Record
from benchmarker.records.schema.timing import Overhead, Timing
from benchmarker.records.schema.trust import Checkpoints, Trust
from tests.conftest import Command, command_environment
from tests.support.timed_frameworks import with_clockwork

pytestmark = pytest.mark.framework("numpy")

FREE = (
    "specification",
    "framework.options",
    "framework.libraries",
    "problem.parameters",
    "execution.environment_variables",
    "execution.compile_cache",
    "platform",
    "collectors",
    "environment.packages",
    "timing.breakdown.parts",
    "memory.framework",
    "memory.predicted",
    "monitors",
    "trust.doctor",
)
"""Maps whose members are named by plugins; they themselves must be there."""

Path_ = tuple[Any, ...]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, plain_home: Path) -> dict[str, Any]:
    """A record of training with a breakdown, the third of three processes, in which nothing is left null."""
    folder = tmp_path_factory.mktemp("written")
    command = Command(folder, command_environment(folder, plain_home))
    finished = with_clockwork(command, folder)(
        "--framework=clockwork", "--problem=mnist_mlp", "--batch-size=2", "--steps=45", "--repeats=3",
        "--breakdown", "--threads=1", "--set=compile_at=20", "--json",
    )  # fmt: skip
    assert finished.status == 0, finished.stderr
    record = finished.records[-1]
    assert record["timing"]["block_steps"] == 2
    record["timing"]["device_event_seconds"] = [0.001] * record["timing"]["steps"]
    record["timing"]["window_seconds"] = None
    record["trust"]["evidence"]["foreign"] = [{"name": "other", "pid": 7, "cores": 0.2}]
    record["acceptance"] = {
        "status": "passed",
        "limits": [{"name": "min_throughput", "limit": 1.0, "value": 2.0, "passed": True}],
    }
    record["peaks"] = {
        "flops_per_second": 1e11,
        "flops_by": "numpy",
        "bytes_per_second": 1e10,
        "bytes_by": "numpy",
        "measured_at": record["started_at"],
    }
    record["peaks_reason"] = None
    record["execution"]["shared"] = {
        "hash_seed": 1,
        "address_layout": True,
        "server_processes": 1,
        "import_seconds": 0.5,
        "threads_ended": 0,
    }
    # A quiet machine gives it no reason.
    reason = {
        "kind": "foreign_load",
        "severity": "contaminated",
        "text": "another program ran",
        "value": 0.6,
        "limit": 0.5,
    }
    record["trust"] |= {"grade": "contaminated", "reasons": [reason, *record["trust"]["reasons"]]}
    assert record["replication"]["ci95"] is not None
    assert validate(record) == []
    return record


def failed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same record of a run that did not end well."""
    error = {"stage": "measure", "type": "ValueError", "message": "wrong", "log_tail": "Traceback"}
    changed = {**copy.deepcopy(dict(record)), "status": "failed", "error": error}
    assert validate(changed) == []
    return changed


def members(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield where members are, all of objects and the first of lists, but for those that plugins name."""
    if ".".join(map(str, path)) in FREE:
        return
    if isinstance(value, dict):
        for name, member in value.items():
            yield (*path, name)
            yield from members(member, (*path, name))
    elif isinstance(value, list) and value and isinstance(value[0], (dict, list)):
        yield from members(value[0], (*path, 0))


def parent(record: Any, path: Path_) -> Any:
    for step in path[:-1]:
        record = record[step]
    return record


def accepted(record: dict[str, Any], path: Path_, *value: Any) -> bool:
    """Return whether a record is still valid with the member removed, or of another value."""
    changed = copy.deepcopy(record)
    if value:
        (parent(changed, path)[path[-1]],) = value
    else:
        del parent(changed, path)[path[-1]]
    return validate(changed) == []


def other_kind(value: Any) -> Any:
    """Return a value of a kind that the member cannot have."""
    if isinstance(value, bool) or value is None:
        return [["neither"]]
    return 7 if isinstance(value, (str, dict, list)) else "a text"


def everything(record: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Path_]]:
    """Yield every member of the record, and those of the error of one that did not end well."""
    assert len(list(members(record))) > 200
    for path in members(record):
        yield record, path
    broken = failed(record)
    for path in members(broken):
        if path[0] == "error":
            yield broken, path


def test_a4_a_record_without_any_of_its_members_is_refused(written: dict[str, Any]) -> None:
    assert [path for record, path in everything(written) if accepted(record, path)] == []


def test_a4_a_record_with_a_member_of_another_kind_is_refused(written: dict[str, Any]) -> None:
    def is_accepted(record: dict[str, Any], path: Path_) -> bool:
        return accepted(record, path, other_kind(parent(record, path)[path[-1]]))

    assert [path for record, path in everything(written) if is_accepted(record, path)] == []


def test_a4_a_record_with_one_member_more_is_refused(written: dict[str, Any]) -> None:
    objects = [path for path in members(written) if isinstance(parent(written, path)[path[-1]], dict)]
    closed = [path for path in objects if ".".join(map(str, path)) not in FREE]
    assert [path for path in closed if accepted(written, (*path, "one_more"), "x")] == []


class ForgetfulTiming(Timing, frozen=True, kw_only=True):
    overhead: Overhead | None = None


class ForgetfulTrust(Trust, frozen=True, kw_only=True):
    checkpoints: Checkpoints | None = None


class ForgetfulRecord(Record, frozen=True, kw_only=True):
    timing: ForgetfulTiming
    trust: ForgetfulTrust | None


def test_a4_would_find_a_struct_that_forgets_a_member(
    written: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "Record", ForgetfulRecord)
    missed = [path for path in members(written) if accepted(written, path)]
    assert missed == [("timing", "overhead"), ("trust", "checkpoints")]


VALUES: tuple[tuple[str, Any], ...] = (
    ("timing.samples_seconds.0", 1e-9),
    ("timing.steps", 44),
    ("timing.steps", None),
    ("timing.block_steps", 1),
    ("timing.block_steps", 3),
    ("timing.sampling", "latency"),
    ("timing.total_seconds", 1e-9),
    ("timing.wall_seconds", 1e-9),
    ("timing.warmup_steps", 99),
    ("timing.warmup_samples_seconds", []),
    ("timing.compilations", 0),
    ("timing.device_event_seconds", [0.001]),
    ("timing.steady_state", None),
    ("timing.steady_state.kind", "steady"),
    ("timing.steady_state.start", 23),
    ("timing.steady_state.segments.0.end", 99),
    ("timing.steady_state.segments.0.end", 0),
    ("timing.step_seconds.count", 24),
    ("timing.step_seconds.median", 1e-9),
    ("timing.step_seconds.ci95", [1e-9, 2e-9]),
    ("timing.step_seconds.p95", 0.001),
    ("timing.step_seconds.percentiles_reason", {}),
    ("timing.overhead.null_p50_seconds", -1e-7),
    ("trust", None),
    ("trust.grade", "clean"),
    ("trust.grade", "excellent"),
    ("trust.reasons", []),
    ("trust.reasons.0.severity", "grave"),
    ("trust.evidence.steal_share", -0.1),
    ("trust.evidence.cpus", 0),
    ("trust.checkpoints.step", [0]),
    ("trust.checkpoints.busy_seconds", []),
    ("replication.processes", 9),
    ("replication.processes", 0),
    ("replication.position", 1),
    ("replication.cells", 0),
    ("replication.round", -1),
    ("replication.min_processes", 0),
    ("replication.centre_seconds", 1e-9),
    ("replication.centre_seconds", None),
    ("replication.ci95", None),
    ("replication.ci95", [1.0, 2.0]),
    ("replication.half_width", None),
    ("replication.half_width", 1e6),
    ("replication.stop_reason", "significance"),
    ("replication.stop_reason", "bored"),
    ("peaks", None),
    ("peaks_reason", "not calibrated"),
    ("comparable.hash", f"sha256:{'0' * 64}"),
    ("comparable.keys.threads", 99),
    ("metrics.throughput", 1.0),
    ("batch_size", 3),
)


@pytest.mark.parametrize(("path", "value"), VALUES, ids=[f"{path}={value}" for path, value in VALUES])
def test_a4_a_number_that_contradicts_the_others_is_refused(
    written: dict[str, Any], path: str, value: Any
) -> None:
    steps = tuple(int(step) if step.isdigit() else step for step in path.split("."))
    if path == "timing.samples_seconds.0":
        # What lies before the steady part has no number that it could contradict.
        steps = (*steps[:-1], written["timing"]["steady_state"]["start"] or 0)
    assert parent(written, steps)[steps[-1]] != value
    assert not accepted(written, steps, value)
