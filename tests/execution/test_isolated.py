"""The one way into a worker: jobs there and back, and what becomes of an answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarker import registry
from benchmarker.api.framework import Device
from benchmarker.api.launcher import Event, Handler, Launcher, Outcome, WorkerCommand
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.world import World
from benchmarker.errors import BenchmarkerError, UnsupportedError, UsageError
from benchmarker.execution.environments import Interpreter
from benchmarker.execution.isolated import Answer, EventLog, run_isolated
from benchmarker.execution.outcomes import Failure
from benchmarker.execution.variables import ProcessSettings
from benchmarker.problems.files import load_object
from benchmarker.worker.job import KINDS, Job, from_json, job_class, to_json
from benchmarker.worker.main import HANDLERS
from benchmarker.worker.other_jobs import ConformanceJob

EXAMPLES: dict[str, Any] = {
    "device": Device("cuda", 1),
    "optimizer": Optimizer("adam", 0.5),
    "optimizer_rule": "benchmarker.training.optimizers.lion:Lion",
    "problem_parameters": {"sizes": [1, 2]},
    "seeds": {"adam": [1, 2]},
    "sizes": (512, 1024),
    "probes": ("adam", "sgd"),
    "world": World(1, 2, ("10.0.0.1:1", "10.0.0.2:2"), 5.0, "eth0"),
    "scheme_constants": {"every": 4},
}
JOB = ConformanceJob("benchmarker.plugins.numpy", Device("cpu"), 1, 7)
PYTHON = Interpreter(sys.executable, "current", "3.11.0")
RESULT: Event = {"event": "result", "version": "1", "seconds": {"check": 0.5}, "packages": {}}


def stage(name: str) -> Event:
    return {"event": "stage", "name": name}


def example(kind: type[Job]) -> Job:
    """Return a job in which no field has its default."""
    values = {
        field.name: EXAMPLES.get(field.name, field.name if field.default is MISSING else "other")
        for field in fields(kind)
    }
    return kind(**values)


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_of_each_kind_is_the_same_behind_the_pipe(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[object] = []  # not to the rules that all tests of this process see
    monkeypatch.setattr("benchmarker.worker.job.add_rule", added.append)
    job = example(job_class(kind))
    found = from_json(json.loads(json.dumps(to_json(job))))
    assert type(found) is job_class(kind)
    assert found.kind == kind
    assert found == job
    assert len(added) == (kind in ("run", "train", "rank", "rank_train", "collective", "serve", "help"))


def test_each_kind_of_job_is_done_by_something() -> None:
    assert set(HANDLERS) == set(KINDS)
    assert all(callable(load_object(value)) for value in HANDLERS.values())


class Scripted(Launcher):
    """Says what it is told to, and notes what it was asked."""

    name = "scripted"

    def __init__(self, *events: Event, outcome: Outcome = Outcome(0), log: str = "") -> None:
        self._events, self._outcome, self._log = events, outcome, log
        self.answers: list[str | None] = []

    def launch(self, command: WorkerCommand, handler: Handler) -> Outcome:
        self.command = command
        command.log.write_text(self._log)
        self.answers = [handler(event) for event in self._events]
        return self._outcome


def ask(launcher: Launcher, **options: Any) -> Answer:
    return run_isolated(JOB, registry.framework("numpy"), PYTHON, launcher=launcher, **options)


def test_a_worker_is_started_with_what_its_job_and_its_settings_say() -> None:
    launcher = Scripted(RESULT)
    settings = ProcessSettings(gpus=(2, 3), affinity=(0,), start="fork", timeout=9.0)
    answer = ask(launcher, settings=settings)
    command = launcher.command
    assert from_json(command.job) == JOB
    assert (command.interpreter, command.affinity, command.timeout, command.start) == (
        sys.executable,
        (0,),
        9.0,
        "fork",
    )
    assert set(command.packages) == {"benchmarker"}
    assert command.environment["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert command.environment["OMP_NUM_THREADS"] == "1"
    assert answer.environment == command.environment
    assert (answer.failure, answer.log_tail, answer.compile_cache) == (None, "", None)
    assert answer.result() == RESULT


def test_a_log_that_nobody_asked_for_is_removed() -> None:
    launcher = Scripted(RESULT)
    ask(launcher)
    assert not launcher.command.log.parent.exists()


def test_a_log_that_was_asked_for_is_kept_and_its_end_told(tmp_path: Path) -> None:
    answer = ask(Scripted(outcome=Outcome(1), log="what it said"), log=tmp_path / "run.log")
    assert answer.log_tail == (tmp_path / "run.log").read_text() == "what it said"


def test_a_handler_hears_every_event_and_answers() -> None:
    launcher = Scripted(stage("import"), stage("check"), RESULT)
    answer = ask(launcher, handler=lambda event: "go" if event["event"] == "stage" else None)
    assert launcher.answers == ["go", "go", None]
    assert answer.events["stage"] == stage("check")


def test_an_event_log_knows_the_last_stage() -> None:
    log = EventLog("run")
    assert log.stage == "start"
    for name in ("import", "build"):
        log.handle(stage(name))
    assert log.stage == "build"


def test_what_goes_on_meanwhile_begins_before_the_start_and_ends_after_the_end() -> None:
    told: list[str] = []

    @contextmanager
    def meanwhile() -> Iterator[None]:
        told.append("begins")
        yield
        told.append("ends")

    ask(Scripted(RESULT), handler=lambda event: told.append(event["event"]), meanwhile=meanwhile())
    assert told == ["begins", "result", "ends"]


def test_a_cold_compile_cache_is_told_of_and_gone_afterwards() -> None:
    plugin = replace(registry.framework("numpy"), compile_caches=("SOME_CACHE",))
    launcher = Scripted(RESULT)

    def handle(event: Event) -> None:
        (Path(launcher.command.environment["SOME_CACHE"]) / "compiled").touch()

    settings = ProcessSettings(compile_cache="cold")
    answer = run_isolated(JOB, plugin, PYTHON, settings=settings, handler=handle, launcher=launcher)
    assert answer.compile_cache is not None
    assert (answer.compile_cache.files_before, answer.compile_cache.files_after) == (0, 1)
    assert not Path(answer.environment["SOME_CACHE"]).exists()


ERROR = {"event": "error", "stage": "build", "message": "no such operator", "out_of_memory": False}


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        ("UsageError", UsageError),
        ("UnsupportedError", UnsupportedError),
        ("PluginError", BenchmarkerError),
        ("KeyError", BenchmarkerError),
    ],
)
def test_an_error_that_is_meant_for_the_user_stays_what_it_is(
    kind: str, raised: type[BenchmarkerError]
) -> None:
    answer = ask(Scripted({**ERROR, "type": kind}, outcome=Outcome(1)))
    assert answer.failure_unless_interrupted() == Failure("failed", "build", kind, "no such operator")
    with pytest.raises(BenchmarkerError, match=r"^no such operator$") as caught:
        answer.result()
    assert type(caught.value) is raised
    with pytest.raises(raised, match=r"^in build: no such operator$"):
        answer.result(lambda failed: f"in {failed.stage}: {failed.message}")


def test_an_interrupt_is_one_for_who_asks_for_the_result_and_a_failure_for_who_records_it() -> None:
    answer = ask(Scripted(RESULT, outcome=Outcome(-2, "interrupt")))
    assert answer.failure is not None
    assert answer.failure.status == "interrupted"
    for spec in (answer.result, answer.failure_unless_interrupted):
        with pytest.raises(KeyboardInterrupt):
            spec()


def test_a_timeout_is_told_with_its_limit_and_stage() -> None:
    launcher = Scripted(stage("build"), outcome=Outcome(-9, "timeout"))
    answer = ask(launcher, settings=ProcessSettings(timeout=2.5))
    assert answer.failure == Failure("timeout", "build", "Timeout", "still in stage 'build' after 2.5 s")


def test_what_cannot_be_started_is_told() -> None:
    nowhere = Interpreter("/nowhere/python", "path", "3.11.0")
    with pytest.raises(BenchmarkerError, match="'/nowhere/python' could not be started"):
        run_isolated(JOB, registry.framework("numpy"), nowhere)


def test_one_that_breaks_the_protocol_has_failed_with_what_it_sent() -> None:
    answer = ask(Scripted(stage("import"), RESULT, RESULT))
    sentence = "the worker broke the protocol: it sent the event 'result' after 'result'"
    assert answer.failure == Failure("failed", "import", "ProtocolError", sentence)
    assert "result" not in answer.events


def test_what_a_worker_says_of_its_own_failure_is_kept_whatever_follows() -> None:
    answer = ask(Scripted({**ERROR, "type": "KeyError"}, stage("import")))
    assert answer.failure == Failure("failed", "build", "KeyError", "no such operator")
