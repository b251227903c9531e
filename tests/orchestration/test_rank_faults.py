"""One rank of a real run goes wrong: the record names it, and nothing is left running."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DISTRIBUTIONS, Command, Finished, write_distribution
from tests.support.mpi import mpi_interpreter
from tests.support.rank_runs import (
    BRIEF,
    MLP,
    check,
    emulated,
    left,
    processes_of,
    proven,
    rank_command,
    stored,
)

pytestmark = [pytest.mark.framework, pytest.mark.timeout(120)]

STUMBLING = (
    "--framework=stumbling",
    *MLP,
    *BRIEF,
    "--ranks=2",
    "--exchange=mpi",
    f"--env={mpi_interpreter()}",
)
NATIVE = (*(part for part in STUMBLING if part != "--exchange=mpi"), "--exchange=native", "--json")
STATISTICS = "running statistics of all ranks"
LONG = ("--framework=numpy", *MLP, "--warmup=1", "--steps=1000000", "--ranks=2")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command with a framework of which one rank goes wrong."""
    source = (DISTRIBUTIONS / "stumbling" / "stumbling_framework.py").read_text()
    entry, modules = {"frameworks": ["stumbling = stumbling_framework"]}, {"stumbling_framework": source}
    return rank_command(tmp_path, write_distribution(tmp_path / "stumbling", "stumbling", entry, modules))


def failed(finished: Finished) -> dict[str, Any]:
    """Return the record of a run that came to no good end."""
    assert finished.status == 1, finished.stderr
    assert "Traceback" not in finished.stderr
    (record,) = finished.records
    assert record["distributed"]["members"] == []
    assert record["timing"]["samples_seconds"] == []
    return record


def told(record: dict[str, Any]) -> tuple[str, str, str]:
    return record["status"], record["error"]["type"], record["error"]["message"]


# --- by itself ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "status", "kind", "message"),
    [
        ("SIGKILL", "crashed", "SIGKILL", r"rank 1 of 2 was ended by SIGKILL in stage '\w+'"),
        ("SIGSEGV", "crashed", "SIGSEGV", r"rank 1 of 2 was ended by SIGSEGV in stage '\w+'"),
        ("exit", "crashed", "Exit", r"rank 1 of 2 ended with exit status 3 in stage '\w+' without a result"),
        (
            "leave",
            "crashed",
            "Exit",
            r"rank 1 of 2 ended with exit status \d in stage '\w+' without a result",
        ),
        ("exception", "failed", "ValueError", r"rank 1 of 2: the framework's own mistake"),
        ("memory", "out_of_memory", r"\w*MemoryError", r"rank 1 of 2: .*[Uu]nable to allocate.*"),
    ],
)
def test_one_that_goes_wrong_is_named(
    command: Command, fault: str, status: str, kind: str, message: str
) -> None:
    finished = command(*STUMBLING, f"--set=fault={fault}", "--set=step=5", "--json")
    found = told(failed(finished))
    assert found[0] == status
    assert re.fullmatch(kind, found[1])
    assert re.fullmatch(message, found[2])
    assert processes_of(command.folder) == []


def test_one_that_is_stopped_is_named_at_the_time_limit(command: Command) -> None:
    finished = command(*STUMBLING, "--set=fault=SIGSTOP", "--set=step=5", "--timeout=4", "--json")
    found = told(failed(finished))
    assert found[:2] == ("timeout", "Timeout")
    assert re.fullmatch(r"rank 1 of 2: still in stage '\w+' after 4 s", found[2])
    assert processes_of(command.folder) == []


@pytest.mark.parametrize(
    ("fault", "arguments", "message"),
    [
        ("start", NATIVE, "rank 1 has different weights from rank 0"),
        ("untold", NATIVE, "rank 1 has different weights from rank 0"),
        ("apart", NATIVE, "update .* differs"),
        ("rows", (*STUMBLING, "--json"), "(gradient|loss) .* differs"),
    ],
)
def test_a_rank_that_trains_something_else_is_found(
    command: Command, fault: str, arguments: tuple[str, ...], message: str
) -> None:
    (command.folder / "met").write_text("")
    record = failed(command(*arguments, f"--set=fault={fault}"))
    assert told(record)[:2] == ("failed", "VerificationFailed")
    assert re.match(message, record["error"]["message"])
    assert record["verification"]["status"] == "failed"


@pytest.mark.parametrize("fault", ["none", "statistics"])
def test_who_normalizes_the_whole_mini_batch_keeps_the_same_statistics(command: Command, fault: str) -> None:
    (command.folder / "met").write_text("")
    problem = ("--problem=resnet44", "--batch-size=4", f"--set=fault={fault}", "--set=step=5")
    finished = command(*NATIVE, *problem)
    if fault == "none":
        (record,) = proven(finished)
        assert record["distributed"]["batch_normalization"] == "global"
        assert check(record, STATISTICS)["detail"] == "the same bits on all ranks"
    else:
        record = failed(finished)
        assert f"after the timed part: {STATISTICS}: rank 1 differs from rank 0" in record["error"]["message"]


def test_the_others_wait_for_a_slow_one(command: Command) -> None:
    (record,) = proven(command(*STUMBLING, "--set=fault=late", "--json"))
    found = record["distributed"]
    first, slow = (member["part_seconds"] for member in found["members"])
    assert slow["forward and backward"] > 0.02 > first["forward and backward"]
    assert first["exchange and update"] > 0.015 > slow["exchange and update"]
    assert found["parts"]["compute_seconds"] == slow["compute"] > 0.02
    # Half of the ranks wait.
    assert 0.007 < found["parts"]["waiting_seconds"] < 0.02
    assert found["parts"]["exchange_seconds"] < 0.01
    assert record["timing"]["step_seconds"]["median"] > 0.02


def test_ranks_meet_elsewhere_where_another_process_has_their_port(command: Command) -> None:
    finished = command(*NATIVE, "--no-verify", "--network=shared")
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    assert record["status"] == "ok"
    taken, free = (command.folder / "met").read_text().split()
    assert taken != free
    assert len(record["distributed"]["members"]) == 2


IMPATIENT = """
import sys
from benchmarker.orchestration import rank_run
rank_run.MIN_SILENCE_SECONDS = 1.5
from benchmarker.cli.main import main
sys.exit(main())
"""


def test_one_that_says_nothing_while_another_waits_for_its_answer_is_named(command: Command) -> None:
    # Its 20th way forward and backward is one without any exchange; the other one has made all of its own.
    arguments = (*STUMBLING, "--set=fault=SIGSTOP", "--set=step=20", "--json")
    done = subprocess.run(
        [sys.executable, "-c", IMPATIENT, *arguments],
        cwd=command.folder,
        env=command.environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    status, kind, message = told(failed(Finished(done.returncode, done.stdout, done.stderr)))
    # Where the other one is slow to come to where it waits, it is seen first that this one is stopped.
    messages = {
        "Silence": "rank 1 of 2 said nothing for 1.5 s in stage 'parts' while other ranks waited",
        "Stopped": "rank 1 of 2 was stopped by a signal for 1.5 s in stage 'parts' while other ranks ran",
    }
    assert (status, message) == ("timeout", messages[kind])
    assert left(command) == []


def test_one_that_is_stopped_in_an_exchange_is_named_without_a_time_limit(
    command: Command, long: Long
) -> None:
    rank = long(program=("-c", IMPATIENT)).rank(1)
    os.kill(rank, signal.SIGSTOP)
    stopped = time.monotonic()
    status, record = long.end()
    assert 1.5 < time.monotonic() - stopped < 10
    message = "rank 1 of 2 was stopped by a signal for 1.5 s in stage 'measure' while other ranks ran"
    assert (status, *told(record)) == (1, "timeout", "Stopped", message)
    assert left(command) == []


# --- by others' hands -----------------------------------------------------------------------------


class Long:
    """A run whose timed part is long."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self.process: subprocess.Popen[str] | None = None

    def __call__(self, *arguments: str, **options: Any) -> Long:
        """Start it, and return once its steps are timed."""
        self.process = self._command.start(*LONG, *arguments, **options)
        assert self.process.stderr is not None
        if not any("measuring" in line for line in self.process.stderr):
            raise AssertionError(self.process.communicate())
        time.sleep(0.3)  # the other ranks say so themselves
        return self

    def rank(self, number: int) -> int:
        """Return a rank's process."""
        (found,) = (p for p in processes_of(self._command.folder) if _is_rank(Path("/proc", str(p)), number))
        return found

    def send(self, number: signal.Signals) -> None:
        """Send a signal to whoever has started the ranks."""
        assert self.process is not None
        self.process.send_signal(number)

    def end(self) -> tuple[int, dict[str, Any]]:
        """Return the exit status, and the one record."""
        assert self.process is not None
        _, stderr = self.process.communicate(timeout=30)
        assert "Traceback" not in stderr
        (record,) = stored(self._command.folder)
        return self.process.returncode, record


def _is_rank(process: Path, number: int) -> bool:
    environment = (process / "environ").read_bytes().split(b"\0")
    return (
        f"PMI_RANK={number}".encode() in environment and b"bootstrap.py" in (process / "cmdline").read_bytes()
    )


@pytest.fixture
def long(command: Command) -> Iterator[Long]:
    made = Long(command)
    yield made
    if made.process is not None:
        made.process.kill()
        made.process.communicate()


@pytest.mark.parametrize("number", [0, 1])
def test_one_that_is_killed_in_the_timed_part_ends_the_run(command: Command, long: Long, number: int) -> None:
    os.kill(long().rank(number), signal.SIGKILL)
    killed = time.monotonic()
    status, record = long.end()
    assert time.monotonic() - killed < 5
    message = f"rank {number} of 2 was ended by SIGKILL in stage 'measure'"
    assert (status, *told(record)) == (1, "crashed", "SIGKILL", message)
    assert left(command) == []


def test_an_interrupt_ends_all_ranks_and_leaves_a_record(command: Command, long: Long) -> None:
    long().send(signal.SIGINT)
    status, record = long.end()
    assert (status, *told(record)) == (130, "interrupted", "KeyboardInterrupt", "interrupted by the user")
    assert left(command) == []


def test_no_rank_outlives_whoever_started_it(command: Command, long: Long) -> None:
    long()
    assert len(processes_of(command.folder)) > 2
    long.send(signal.SIGKILL)
    assert left(command) == []


def test_a_server_is_called_by_its_name(command: Command, long: Long) -> None:
    os.kill(long("--scheme=parameter-server").rank(2), signal.SIGKILL)
    status, record = long.end()
    message = "the server was ended by SIGKILL in stage 'serve'"
    assert (status, *told(record)) == (1, "crashed", "SIGKILL", message)
    assert left(command) == []


def test_beside_a_server_ranks_are_still_as_many_as_train(long: Long) -> None:
    os.kill(long("--scheme=asynchronous-server").rank(1), signal.SIGKILL)
    status, record = long.end()
    message = "rank 1 of 2 was ended by SIGKILL in stage 'measure'"
    assert (status, *told(record)) == (1, "crashed", "SIGKILL", message)


@emulated
def test_a_network_that_is_cut_ends_the_run_at_its_time_limit(command: Command, long: Long) -> None:
    rank = long("--network=1gbit", "--timeout=4").rank(1)
    enter = ["nsenter", f"--target={rank}", "--net", "--preserve-credentials"]
    if Path(f"/proc/{rank}/ns/user").readlink() != Path("/proc/self/ns/user").readlink():
        enter.append("--user")
    subprocess.run([*enter, "ip", "link", "set", "eth0", "down"], check=True)
    status, record = long.end()
    message = "rank 0 of 2 and rank 1 of 2: still in stage 'measure' after 4 s"
    assert (status, *told(record)) == (1, "timeout", "Timeout", message)
    assert left(command) == []
