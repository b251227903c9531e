"""Groups of ranks that are started together: what one of them does, and what becomes of the others."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarker import registry
from benchmarker.api.framework import Device
from benchmarker.api.launcher import Event, Launcher, Outcome, WorkerCommand
from benchmarker.errors import ProtocolError, UnsupportedError
from benchmarker.execution.environments import Interpreter
from benchmarker.execution.isolated import Answer, first_failure, run_isolated_group
from benchmarker.execution.launchers import event_lines, event_loop
from benchmarker.execution.launchers.local import LocalLauncher
from benchmarker.execution.outcomes import ENDED_WITH_GROUP, Failure
from benchmarker.execution.rank_networks import open_rank_network
from benchmarker.execution.variables import ProcessSettings
from benchmarker.worker.other_jobs import CalibrateJob
from tests.execution.test_launcher import Fake, children, descriptors, settled

WAITS = 'send("ready", pid=os.getpid()); line(); time.sleep(1000)'
BEGINS = 'import subprocess; subprocess.Popen(["sleep", "1000"]); line(); send("started", pid=os.getpid())\n'
Told = Callable[[int, Event], Iterable[tuple[int, str]]]


class Ranks:
    """Launches groups of workers that run a few lines instead of the bootstrap, each with a child of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: dict[int, int] = {}
        self.events: list[tuple[int, str]] = []

    def commands(self, *codes: str, **settings: Any) -> list[WorkerCommand]:
        found = []
        for rank, code in enumerate(codes):
            folder = self.folder / str(rank)
            folder.mkdir()
            fake = Fake(folder)
            found.append(
                replace(fake.command(fake.interpreter(f'{BEGINS}{code}\nsend("result")')), **settings)
            )
        return found

    def __call__(self, *codes: str, handler: Told | None = None, **options: Any) -> list[Outcome]:
        settings = {name: options.pop(name) for name in ("timeout", "prefix") if name in options}

        def handle(rank: int, event: Event) -> Iterable[tuple[int, str]]:
            if event["event"] == "started":
                self.processes[rank] = event["pid"]
            self.events.append((rank, event["event"]))
            return handler(rank, event) if handler else ()

        return LocalLauncher().launch_group(self.commands(*codes, **settings), handle, **options)

    def left(self) -> list[int]:
        """Return the processes of all groups that still run; each rank has left a child behind."""
        assert len(self.processes) > 1
        deadline = time.monotonic() + 5
        while (found := _in_groups(set(self.processes.values()))) and time.monotonic() < deadline:
            time.sleep(0.02)
        return found


def _in_groups(groups: set[int]) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, group, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(group) in groups and state != "Z":
            found.append(int(folder.name))
    return found


@pytest.fixture
def ranks(tmp_path: Path) -> Ranks:
    return Ranks(tmp_path)


def when_all(size: int, kind: str, act: Callable[[Ranks], None], ranks: Ranks) -> Told:
    """Act once all ranks have sent an event of a kind."""

    def handler(rank: int, event: Event) -> Iterable[tuple[int, str]]:
        if event["event"] == kind and sum(name == kind for _, name in ranks.events) == size:
            act(ranks)
        return ()

    return handler


# --- together -------------------------------------------------------------------------------------


def test_all_run_at_once_and_hear_from_each_other(ranks: Ranks) -> None:
    waiting: list[int] = []

    def barrier(rank: int, event: Event) -> Iterable[tuple[int, str]]:
        if event["event"] == "ready":
            waiting.append(rank)
        if event["event"] == "ready" and len(waiting) == 3:
            yield from ((other, f"go {other}") for other in (2, 0, 1))

    code = 'send("ready"); send("heard" if line() == "go %d" else "wrong")'
    outcomes = ranks(*(code % rank for rank in range(3)), handler=barrier)
    assert outcomes == [Outcome(0)] * 3
    heard = [(rank, kind) for rank, kind in ranks.events if kind in ("heard", "wrong")]
    assert sorted(heard) == [(0, "heard"), (1, "heard"), (2, "heard")]
    assert ranks.left() == []


def test_events_are_handled_one_at_a_time_and_none_is_lost(ranks: Ranks) -> None:
    code = '[send("n", i=i) for i in range(3000)]'
    assert ranks(code, code, code) == [Outcome(0)] * 3
    assert ranks.events.count((1, "n")) == ranks.events.count((2, "n")) == 3000


def test_one_that_ends_well_waits_for_nobody_and_ends_nobody(ranks: Ranks) -> None:
    assert ranks("", 'time.sleep(0.3); send("late")', "") == [Outcome(0)] * 3
    assert ranks.events[-2:] == [(1, "late"), (1, "result")]


def test_those_that_have_sent_their_result_may_wait_for_one_that_has_not(
    ranks: Ranks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_loop, "LEAVE_SECONDS", 0.3)
    assert ranks("import atexit; atexit.register(time.sleep, 1.2)", "time.sleep(1)") == [Outcome(0)] * 2
    with pytest.raises(ProtocolError, match="it sent its result and ran on") as caught:
        Ranks(_new(ranks.folder))("", "import atexit; atexit.register(time.sleep, 1000)")
    assert caught.value.rank == 1


def _new(folder: Path) -> Path:
    (folder / "again").mkdir()
    return folder / "again"


# --- one comes to no good end ---------------------------------------------------------------------


def test_one_that_is_killed_ends_the_others_at_once(ranks: Ranks) -> None:
    def kill(seen: Ranks) -> None:
        os.kill(seen.processes[1], signal.SIGKILL)

    start = time.monotonic()
    outcomes = ranks(WAITS, WAITS, WAITS, handler=when_all(3, "ready", kill, ranks))
    assert time.monotonic() - start < 5
    assert outcomes == [Outcome(-9, "group"), Outcome(-9, "itself"), Outcome(-9, "group")]
    assert ranks.left() == []


def test_one_that_exits_with_a_status_ends_the_others(ranks: Ranks) -> None:
    codes = (WAITS, WAITS, 'send("ready"); line(); sys.exit(3)')

    def go(rank: int, event: Event) -> Iterable[tuple[int, str]]:
        return [(2, "go")] if ranks.events.count((rank, "ready")) and len(ranks.events) == 6 else []

    outcomes = ranks(*codes, handler=go)
    assert outcomes == [Outcome(-9, "group"), Outcome(-9, "group"), Outcome(3, "itself")]
    assert ranks.left() == []


@pytest.mark.parametrize(("gives_up", "status"), [("os.abort()", -6), ("os._exit(1)", 1)])
def test_one_that_gives_up_is_named_unless_another_was_killed(
    gives_up: str, status: int, ranks: Ranks
) -> None:
    """MPI aborts where another rank is gone, often before anyone has noticed that one's end."""
    assert ranks(gives_up, WAITS) == [Outcome(status, "itself"), Outcome(-9, "group")]
    again = Ranks(_new(ranks.folder))(gives_up, "time.sleep(0.2); os.kill(os.getpid(), 9)")
    assert again == [Outcome(status, "group"), Outcome(-9, "itself")]


def test_one_that_leaves_without_its_result_ends_the_others(ranks: Ranks) -> None:
    assert ranks(WAITS, "os._exit(0)") == [Outcome(-9, "group"), Outcome(0, "itself")]


def test_one_that_says_error_ends_the_others_and_may_not_wait_for_them(ranks: Ranks) -> None:
    start = time.monotonic()
    outcomes = ranks(WAITS, 'send("error"); time.sleep(1000)', WAITS)
    assert time.monotonic() - start < 10
    assert [outcome.ended_by for outcome in outcomes] == ["group", "itself", "group"]
    assert _in_groups(set(ranks.processes.values())) == []


def test_one_that_says_error_keeps_its_own_status(ranks: Ranks) -> None:
    outcomes = ranks(WAITS, 'send("error"); time.sleep(0.2); sys.exit(1)')
    assert outcomes == [Outcome(-9, "group"), Outcome(1, "itself")]


def test_one_that_is_stopped_is_found_by_the_time_limit_and_named(ranks: Ranks) -> None:
    def stop(seen: Ranks) -> None:
        os.kill(seen.processes[2], signal.SIGSTOP)

    outcomes = ranks(WAITS, WAITS, WAITS, handler=when_all(3, "ready", stop, ranks), timeout=1.5)
    assert [outcome.ended_by for outcome in outcomes] == ["group", "group", "timeout"]
    assert ranks.left() == []


def stop(seen: Ranks) -> None:
    """Stop one of them."""
    os.kill(seen.processes[1], signal.SIGSTOP)


def test_one_that_is_stopped_while_others_wait_is_found_sooner(ranks: Ranks) -> None:
    start = time.monotonic()
    codes = (WAITS, "time.sleep(0.5); " + WAITS, WAITS)
    outcomes = ranks(
        *codes, handler=when_all(3, "started", stop, ranks), timeout=60.0, silence=1.0, answered=("ready",)
    )
    assert 1.0 < time.monotonic() - start < 10
    assert [outcome.ended_by for outcome in outcomes] == ["group", "silence", "group"]
    assert ranks.left() == []


def test_one_that_is_stopped_is_found_though_no_event_tells_that_others_wait(ranks: Ranks) -> None:
    start = time.monotonic()
    handler = when_all(3, "started", stop, ranks)
    outcomes = ranks("time.sleep(1000)", "time.sleep(1000)", WAITS, handler=handler, silence=1.0)
    assert 1.0 < time.monotonic() - start < 10
    assert [outcome.ended_by for outcome in outcomes] == ["group", "stopped", "group"]
    assert ranks.left() == []


def test_one_that_is_stopped_for_a_moment_goes_on(ranks: Ranks) -> None:
    # For half of what is allowed, twice.
    code = (
        'import signal; pid = os.getpid(); send("stops"); '
        'wake = f"sleep 0.6; kill -CONT {pid}; sleep 0.4; kill -STOP {pid}; sleep 0.6; kill -CONT {pid}"; '
        'subprocess.Popen(["sh", "-c", wake]); os.kill(pid, signal.SIGSTOP); time.sleep(1.6)'
    )
    assert ranks(code, "time.sleep(2)", silence=1.2) == [Outcome(0)] * 2


def test_nobody_is_silent_that_waits_itself_or_speaks_or_was_just_told_something(ranks: Ranks) -> None:
    speaks = '[(send("progress"), time.sleep(0.2)) for _ in range(8)]; send("ready"); line(); time.sleep(0.3)'
    waits = 'send("ready"); line(); time.sleep(0.3)'

    def barrier(rank: int, event: Event) -> Iterable[tuple[int, str]]:
        return [(0, "go"), (1, "go")] if (rank, event["event"]) == (1, "ready") else ()

    assert ranks(waits, speaks, handler=barrier, silence=0.8, answered=("ready",)) == [Outcome(0)] * 2


def test_nobody_is_silent_once_all_that_waited_were_told(ranks: Ranks) -> None:
    waits, works = 'send("ready"); line(); time.sleep(1.2)', "time.sleep(1.4)"

    def go(rank: int, event: Event) -> Iterable[tuple[int, str]]:
        return [(rank, "go")] if event["event"] == "ready" else ()

    assert ranks(waits, works, handler=go, silence=0.6, answered=("ready",)) == [Outcome(0)] * 2


def test_without_a_limit_of_time_all_are_late_that_have_one(ranks: Ranks) -> None:
    outcomes = ranks(WAITS, WAITS, timeout=1.0)
    assert [outcome.ended_by for outcome in outcomes] == ["timeout", "timeout"]


def test_one_that_waits_for_an_answer_is_not_who_is_late(ranks: Ranks) -> None:
    outcomes = ranks(WAITS, "time.sleep(1000)", timeout=1.0, answered=("ready",))
    assert [outcome.ended_by for outcome in outcomes] == ["group", "timeout"]


@pytest.mark.parametrize("where", ["handler", "lines"])
def test_one_that_breaks_the_protocol_ends_all_and_is_named(
    where: str, ranks: Ranks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_lines, "MAX_EVENT_BYTES", 1 << 16)
    wrong = {"handler": 'send("nonsense")', "lines": 'write(b"x" * (1 << 20))'}[where]

    def handler(rank: int, event: Event) -> Iterable[tuple[int, str]]:
        if event["event"] == "nonsense":
            raise ProtocolError("it sent nonsense")
        return [(2, "go")] if sum(name == "ready" for _, name in ranks.events) == 3 else []

    with pytest.raises(ProtocolError) as caught:
        ranks(WAITS, WAITS, f'send("ready"); line(); {wrong}; time.sleep(1000)', handler=handler)
    assert caught.value.rank == 2
    assert ranks.left() == []


def test_an_interrupt_ends_all(ranks: Ranks) -> None:
    def interrupt(seen: Ranks) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

    polite = "import signal; signal.signal(signal.SIGTERM, lambda *_: os._exit(7)); " + WAITS
    outcomes = ranks(WAITS, polite, WAITS, handler=when_all(3, "ready", interrupt, ranks))
    assert outcomes == [Outcome(-15, "interrupt"), Outcome(7, "interrupt"), Outcome(-15, "interrupt")]
    assert ranks.left() == []


def test_one_that_does_not_start_leaves_none_running(ranks: Ranks) -> None:
    commands = ranks.commands(WAITS, WAITS, WAITS)
    before = children()
    with pytest.raises(Exception, match="'/nowhere/python' could not be started"):
        LocalLauncher().launch_group(
            [*commands[:2], replace(commands[2], interpreter="/nowhere/python")], lambda rank, event: ()
        )
    assert children() == before


def test_groups_leave_no_descriptor_and_no_process(ranks: Ranks) -> None:
    ranks("", "")
    before = descriptors(), len(children())
    for turn in range(5):
        folder = ranks.folder / f"turn{turn}"
        folder.mkdir()
        Ranks(folder)("sys.exit(1)", WAITS, "")
    assert settled(descriptors, before[0]) == before[0]
    assert len(children()) == before[1]


def test_no_group_is_forked_by_a_warm_server(ranks: Ranks) -> None:
    commands = [replace(command, start="fork") for command in ranks.commands("", "")]
    with pytest.raises(
        UnsupportedError, match=r"forks single workers, no groups of ranks; use --start=spawn$"
    ):
        LocalLauncher().launch_group(commands, lambda rank, event: ())


def test_another_launcher_says_that_it_starts_no_groups() -> None:
    class Other(Launcher):
        name = "other"

        def launch(self, command: WorkerCommand, handler: object) -> Outcome:
            return Outcome(0)

    with pytest.raises(UnsupportedError, match=r"^the launcher 'other' starts no groups of ranks"):
        Other().launch_group([], lambda rank, event: ())


def test_a_prefix_becomes_the_interpreter(ranks: Ranks) -> None:
    code = 'send("same" if os.getppid() == parent and os.getsid(0) == os.getpid() else "other")'
    assert ranks(code, code, prefix=("env", "SOMETHING=1")) == [Outcome(0)] * 2
    assert (0, "same") in ranks.events
    assert (1, "same") in ranks.events


def test_a_rank_inherits_its_own_descriptors_and_no_others(ranks: Ranks) -> None:
    code = 'send("open", found=sorted(int(name) for name in os.listdir("/proc/self/fd")))'
    commands = ranks.commands(code, code)
    found: dict[int, list[int]] = {}
    pipes = [os.pipe(), os.pipe()]

    def note(rank: int, event: Event) -> Iterable[tuple[int, str]]:
        if event["event"] == "open":
            found[rank] = event["found"]
        return ()

    try:
        given = [
            replace(c, descriptors=(writable,)) for c, (_, writable) in zip(commands, pipes, strict=True)
        ]
        assert LocalLauncher().launch_group(given, note) == [Outcome(0)] * 2
    finally:
        for descriptor in (*pipes[0], *pipes[1]):
            os.close(descriptor)
    assert pipes[0][1] in found[0]
    assert pipes[1][1] in found[1]
    assert not {*pipes[1], pipes[0][0]} & set(found[0])
    assert not {*pipes[0], pipes[1][0]} & set(found[1])


# --- through the one way into a worker ------------------------------------------------------------

PYTHON = Interpreter(sys.executable, "current", "3.11.0")


def job(seconds: float = 0.05) -> CalibrateJob:
    return CalibrateJob(
        "benchmarker.plugins.numpy",
        Device("cpu"),
        1,
        7,
        precision="fp32",
        sizes=(64,),
        copy_bytes=1 << 26,
        seconds=seconds,
        orchestrator=os.getpid(),
    )


def ask(
    folder: Path, jobs: Sequence[CalibrateJob], handler: Told = lambda rank, event: (), **settings: Any
) -> list[Answer]:
    """Return the answers of ranks; settings are those of the last."""
    return run_isolated_group(
        jobs,
        registry.framework("numpy"),
        PYTHON,
        settings=[*[ProcessSettings()] * (len(jobs) - 1), ProcessSettings(**settings)],
        handler=handler,
        logs=[folder / f"rank{rank}.log" for rank in range(len(jobs))],
    )


def test_each_rank_does_its_job(tmp_path: Path) -> None:
    told: list[tuple[int, str]] = []

    def note(rank: int, event: Event) -> Iterable[tuple[int, str]]:
        told.append((rank, event["event"]))
        return ()

    answers = ask(tmp_path, [job(), job()], note, variables={"SOMETHING": "1"})
    assert [answer.failure for answer in answers] == [None, None]
    assert first_failure(answers) is None
    assert [answer.result()["products"][0]["size"] for answer in answers] == [64, 64]
    assert {(0, "result"), (1, "result"), (0, "stage")} <= set(told)
    assert ["SOMETHING" in answer.environment for answer in answers] == [False, True]


def test_workers_work_in_a_network_of_their_own(tmp_path: Path) -> None:
    with open_rank_network(2) as network:
        if network.absent_reason is not None:
            pytest.skip(network.absent_reason)
        answers = ask(tmp_path, [job(), job()], command_prefix=network.prefixes[1])
    assert [answer.failure for answer in answers] == [None, None]


def first(answers: Sequence[Answer]) -> Failure:
    """Return why a group failed, all others than the last rank having been ended with it."""
    assert [failed.type for answer in answers[:-1] if (failed := answer.failure)] == [ENDED_WITH_GROUP] * 2
    found = first_failure(answers)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("number", "status", "sentence"),
    [
        (signal.SIGKILL, "crashed", r"rank 2 of 3 was ended by SIGKILL in stage '\w+'"),
        (signal.SIGSTOP, "timeout", r"rank 2 of 3: still in stage '\w+' after 3 s"),
    ],
)
def test_the_rank_that_a_signal_hit_is_named(
    number: signal.Signals, status: str, sentence: str, tmp_path: Path
) -> None:
    def hit(rank: int, event: Event) -> Iterable[tuple[int, str]]:
        if (rank, event.get("name")) == (2, "device"):
            os.kill(_process_with("THE_LAST=1"), number)
        return ()

    failed = first(ask(tmp_path, [job(60), job(60), job(60)], hit, timeout=3.0, variables={"THE_LAST": "1"}))
    assert failed.status == status
    assert re.fullmatch(sentence, failed.message)


def _process_with(variable: str) -> int:
    """Return the only process of ours with a variable."""
    found = []
    for process in children():
        with contextlib.suppress(OSError):
            if variable.encode() in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                found.append(int(process))
    assert len(found) == 1
    return found[0]


def test_a_rank_that_runs_out_of_memory_is_named(tmp_path: Path) -> None:
    limited = ("prlimit", f"--as={400 << 20}", "--")
    answers = ask(tmp_path, [job(60), job(60), replace(job(), copy_bytes=1 << 30)], command_prefix=limited)
    failed = first(answers)
    assert failed.status == "out_of_memory"
    assert failed.message.startswith("rank 2 of 3: ")


def test_a_rank_that_breaks_the_protocol_is_named(tmp_path: Path) -> None:
    def refuse(rank: int, event: Event) -> Iterable[tuple[int, str]]:
        if (rank, event.get("name")) == (2, "device"):
            raise ProtocolError("it sent nonsense")
        return ()

    answers = ask(tmp_path, [job(60), job(60), job(60)], refuse)
    failed = first(answers)
    assert (failed.status, failed.type) == ("failed", "ProtocolError")
    assert failed.message == "rank 2 of 3 broke the protocol: it sent nonsense"


def test_an_interrupt_is_one_of_all_ranks(tmp_path: Path) -> None:
    def interrupt(rank: int, event: Event) -> Iterable[tuple[int, str]]:
        raise KeyboardInterrupt

    answers = ask(tmp_path, [job(60), job(60)], interrupt)
    failed = first_failure(answers)
    assert failed is not None
    assert (failed.status, failed.message) == ("interrupted", "interrupted by the user")
    with pytest.raises(KeyboardInterrupt):
        answers[1].failure_unless_interrupted()
