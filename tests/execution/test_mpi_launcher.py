"""Workers and ranks that each known MPI starts: as locally, ended as locally, and nothing left of them."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from benchmarker.execution.launchers.rank_link import PROOF_BYTES, admit, prove
from tests.conftest import CACHE_HOME
from tests.support import launched_runs
from tests.support.launched_runs import ended, measuring
from tests.support.mpi_engines import ENGINES, with_engine
from tests.support.rank_runs import processes_of
from tests.support.waiting import wait_until


def start(folder: Path, environment: dict[str, str], *options: str) -> subprocess.Popen[str]:
    ours = {"BENCHMARKER_HOME": str(CACHE_HOME), "BENCHMARKER_TEST_FOLDER": str(folder)}
    return launched_runs.start({**environment, **ours}, folder, "--launcher=mpi", *options)


def workers_of(folder: Path) -> list[int]:
    """Return the workers of a test's runs."""
    found = []
    for process in processes_of(folder):
        try:
            command = Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            continue
        if b"bootstrap.py" in command and b"rank_end.py" not in command:
            found.append(process)
    return found


def assert_nothing_is_left(folder: Path) -> None:
    assert wait_until(lambda: not processes_of(folder), 30), processes_of(folder)


@pytest.mark.framework
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ranks", [1, 2])
def test_each_mpi_starts_a_worker_and_a_group(engine: str, ranks: int, tmp_path: Path) -> None:
    record = ended(start(tmp_path, with_engine(engine), "--steps=6", f"--ranks={ranks}"), tmp_path)
    assert record["status"] == "ok", record["error"]
    assert record["verification"]["after_timing"]["status"] == "passed"
    assert record["execution"]["launcher"] == "mpi"
    if ranks == 2:
        assert [member["node"] for member in record["distributed"]["members"]] == [0, 0]
    assert_nothing_is_left(tmp_path)


@pytest.mark.framework
@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_rank_ends_the_others(engine: str, tmp_path: Path) -> None:
    process = start(tmp_path, with_engine(engine), "--steps=1000000", "--ranks=2")
    measuring(process)
    workers = workers_of(tmp_path)
    assert len(workers) == 2
    os.kill(workers[-1], signal.SIGKILL)
    record = ended(process, tmp_path)
    assert record["status"] == "crashed"
    # Rank 1 may still be warming up when rank 0 tells that it measures.
    assert re.search(r"was ended by SIGKILL in stage '(warmup|measure)'", record["error"]["message"])
    assert_nothing_is_left(tmp_path)


@pytest.mark.framework
@pytest.mark.parametrize("engine", ENGINES)
def test_an_interruption_and_a_kill_leave_nothing(engine: str, tmp_path: Path) -> None:
    process = start(tmp_path, with_engine(engine), "--steps=1000000", "--ranks=2")
    measuring(process)
    process.send_signal(signal.SIGINT)
    assert ended(process, tmp_path)["status"] == "interrupted"
    assert_nothing_is_left(tmp_path)
    process = start(tmp_path, with_engine(engine), "--steps=1000000")
    measuring(process)
    process.kill()
    process.communicate()
    assert_nothing_is_left(tmp_path)


@pytest.mark.framework
def test_ranks_come_to_an_address_too(tmp_path: Path) -> None:
    environment = {**with_engine("MPICH"), "BENCHMARKER_ADDRESS": "127.0.0.1"}
    record = ended(start(tmp_path, environment, "--steps=6", "--ranks=2"), tmp_path)
    assert record["status"] == "ok", record["error"]


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        (None, "neither 'mpirun' nor 'mpiexec' was found; the launcher 'mpi' needs one of"),
        ("#!/bin/sh\necho some other program 1.0\n", "--version' says: some other program 1.0"),
    ],
)
def test_what_is_no_mpi_is_refused_in_a_sentence(program: str | None, sentence: str, tmp_path: Path) -> None:
    process = start(tmp_path, only_with(tmp_path, program), "--steps=6", "--env=current")
    _, told = process.communicate(timeout=60)
    assert process.returncode == 2
    assert sentence in told
    assert len(told.strip().splitlines()) == 1
    assert not list(tmp_path.rglob("*.json"))


def test_what_starts_no_ranks_is_told_in_the_record(tmp_path: Path) -> None:
    program = "#!/bin/sh\necho Open MPI\necho ERROR: no slots here >&2\nexit 3\n"
    record = ended(start(tmp_path, only_with(tmp_path, program), "--steps=6", "--env=current"), tmp_path)
    assert "ERROR: no slots here" in record["error"]["message"]


def only_with(folder: Path, program: str | None) -> dict[str, str]:
    """Return an environment that has no other ``mpirun`` than a program."""
    programs = folder / "bin"
    programs.mkdir()
    if program:
        (programs / "mpirun").write_text(program)
        (programs / "mpirun").chmod(0o755)
    return {**os.environ, "PATH": str(programs)}


SECRET = bytes(range(PROOF_BYTES))


def admitted(theirs: bytes) -> int:
    """Return who is admitted that has a secret."""
    ours, other = socket.socketpair()
    with ours, other:
        other.settimeout(10)
        ours.settimeout(10)

        def come() -> None:
            try:
                prove(other, theirs, 3)
            except OSError:
                other.close()

        coming = threading.Thread(target=come)
        coming.start()
        try:
            return admit(ours, SECRET)
        finally:
            ours.close()
            coming.join()


def test_who_knows_the_secret_is_admitted_and_nobody_else() -> None:
    assert admitted(SECRET) == 3
    with pytest.raises(PermissionError, match="does not know the secret"):
        admitted(SECRET[::-1])
