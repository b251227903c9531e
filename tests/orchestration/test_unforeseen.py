"""A fault in the handling of one run ends that run alone: a record that has failed, its traceback in the log."""

from __future__ import annotations

import signal
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarker.experiment.campaign import Campaign
from benchmarker.experiment.planning import plan
from benchmarker.experiment.progress import Progress
from benchmarker.experiment.spec import Experiment
from benchmarker.orchestration import orchestrator as under_test
from benchmarker.orchestration.orchestrator import Orchestrator
from benchmarker.records.assembly import facts
from benchmarker.records.assembly import record as assembly
from benchmarker.records.store import Store
from benchmarker.records.timestamps import from_record
from benchmarker.records.validation import check_file
from tests.conftest import Command

pytestmark = [pytest.mark.framework("numpy"), pytest.mark.usefixtures("warm_workers")]

QUICK = ("--problem=mnist_mlp", "--batch-size=2", "--steps=3", "--warmup=1", "--json", "--no-verify")
LAUNCHER = """
from benchmarker.api import Launcher

class Broken(Launcher):
    name = "broken"

    def launch(self, command, handler):
        raise ERROR("no machine\\x1b[2J to start it on")

def benchmarker_launcher():
    return Broken()
"""
FRAMEWORK = """
from dataclasses import replace

from benchmarker.api import FrameworkPlugin
from benchmarker.plugins.numpy import benchmarker_framework as numpy

def benchmarker_framework():
    return replace(numpy(), name="odd", distribution={"not": "a text"})
"""


@pytest.mark.parametrize("kind", ["ZeroDivisionError", "SystemExit"])
def test_an_exception_of_a_launcher_ends_its_run_alone(
    kind: str, command: Command, distribution: Callable[..., Path]
) -> None:
    folder = distribution(
        "broken",
        {"launchers": ["broken = broken_launcher"]},
        {"broken_launcher": LAUNCHER.replace("ERROR", kind)},
    )
    finished = command.with_path(folder)("--framework=numpy", "--launcher=broken,local", *QUICK)
    assert finished.status == 1
    assert "Traceback" not in finished.stderr
    bad, good = finished.records
    assert good["status"] == "ok"
    assert (bad["status"], bad["error"]["type"]) == ("failed", kind)
    assert bad["error"]["message"] == (
        rf"the run could not be recorded: {kind}: no machine\x1b[2J to start it on"
    )
    log = (command.folder / "results" / bad["log"]).read_text()
    assert "in launch" in log
    assert "Traceback" in log


def test_a_crash_of_the_command_itself_says_where_it_was(
    command: Command, distribution: Callable[..., Path]
) -> None:
    source = LAUNCHER.replace(
        'raise ERROR("no machine\\x1b[2J to start it on")', "import ctypes; ctypes.string_at(0)"
    )
    folder = distribution("broken", {"launchers": ["broken = broken_launcher"]}, {"broken_launcher": source})
    process = command.with_path(folder).start("--framework=numpy", "--launcher=broken", *QUICK)
    _, told = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in told
    assert "broken_launcher.py" in told
    assert "in launch" in told


def test_what_makes_no_valid_record_is_left_out_of_it(
    command: Command, distribution: Callable[..., Path]
) -> None:
    folder = distribution("odd", {"frameworks": ["odd = odd_framework"]}, {"odd_framework": FRAMEWORK})
    finished = command.with_path(folder)("--framework=odd,numpy", *QUICK)
    assert finished.status == 1
    assert "Traceback" not in finished.stderr
    assert [record["status"] for record in finished.records] == ["ok"]
    assert "odd mnist_mlp" in finished.stderr
    assert "it left no record: " in finished.stderr


# --- planted in the orchestrator itself ----------------------------------------------------------


class Notes(Progress):
    def __init__(self) -> None:
        self.told: list[str] = []

    def note(self, text: str) -> None:
        self.told.append(text)


@pytest.fixture
def records(tmp_path: Path) -> Callable[[], list[dict[str, Any]]]:
    """Run two processes of NumPy and return their records, all of them valid and stored."""

    def run() -> list[dict[str, Any]]:
        asked: dict[str, Any] = {"frameworks": ["numpy"], "problems": ["mnist_mlp"], "batch_sizes": [2]}
        experiment = Experiment(**asked, steps=[3], warmup=[1], repeats=2, verify=False)
        made = list(Orchestrator(Store(tmp_path), Notes()).run(Campaign(plan(experiment))))
        assert not [fault for run in made for fault in check_file(run.path)]
        return [run.record for run in made]

    return run


def once(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> None:
    """Have a function raise when it first is called."""
    real, calls = getattr(place, name), []

    def raising(*arguments: Any, **keywords: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise LookupError(f"planted in {name}")
        return real(*arguments, **keywords)

    monkeypatch.setattr(place, name, raising)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (assembly, "make_record"),
        (assembly, "timing_of"),
        (under_test, "judge"),
        (under_test, "CollectorSession"),
        (under_test, "prepared_data"),
        (under_test, "log_text"),
        (Store, "save"),
    ],
)
def test_a_fault_of_ours_ends_its_run_alone(
    place: Any, name: str, records: Callable[[], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    once(monkeypatch, place, name)
    bad, good = records()
    assert good["status"] == "ok"
    assert (bad["status"], bad["error"]["type"]) == ("failed", "LookupError")
    assert f"planted in {name}" in bad["error"]["message"]


def test_a_run_without_any_record_is_told_and_the_next_is_made(
    records: Callable[[], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Orchestrator._run_one

    def run_one(self: Orchestrator, spec: Any, log: Path) -> dict[str, Any]:
        if spec.repetition == 0:
            raise LookupError("planted")
        return real(self, spec, log)

    monkeypatch.setattr(Orchestrator, "_run_one", run_one)
    assert [record["repetition"] for record in records()] == [1]


def test_a_clock_that_is_set_back_while_it_runs_changes_no_duration(
    records: Callable[[], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class SetBack(datetime):
        """An hour ahead when a run begins."""

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(hours=1)

    monkeypatch.setattr(facts, "datetime", SetBack)
    made = records()
    assert len(made) == 2
    for record in made:
        took = from_record(record["ended_at"]) - from_record(record["started_at"])
        assert (record["status"], timedelta(0) < took < timedelta(minutes=5)) == ("ok", True)


def test_an_interrupt_is_none(
    records: Callable[[], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(under_test, "judge", interrupted)
    with pytest.raises(KeyboardInterrupt):
        records()
