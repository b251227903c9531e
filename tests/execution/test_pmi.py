"""MPI worlds of processes that our launcher starts, by real MPICH; and what the server bears from anybody."""

from __future__ import annotations

import contextlib
import getpass
import os
import signal
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarker.api.launcher import Event, Outcome
from benchmarker.execution.free_addresses import free_addresses
from benchmarker.execution.launchers import pmi
from benchmarker.execution.launchers.local import LocalLauncher
from benchmarker.execution.launchers.pmi import PmiServer, mpi_variables
from tests.execution.test_launcher import Fake, descriptors
from tests.support.mpi import mpi_interpreter

# --- with MPICH -----------------------------------------------------------------------------------

ALL_REDUCE = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
found = np.full(1000, world.rank + 1, np.float32)
world.Allreduce(MPI.IN_PLACE, found)
send("sum", rank=world.rank, size=world.size, first=float(found[0]), last=float(found[-1]))
"""


def world(
    folder: Path,
    size: int,
    code: str,
    events: list[Event],
    variables: Mapping[str, str],
    prefixes: Sequence[tuple[str, ...]] = ((),) * 8,
) -> list[Outcome]:
    """Run ranks of an MPI world to their end."""

    def note(rank: int, event: Event) -> Iterable[tuple[int, str]]:
        if event["event"] != "result":
            events.append({**event, "from": rank})
        return ()

    commands = []
    with PmiServer(size) as server:
        for rank in range(size):
            (folder / str(rank)).mkdir()
            fake = Fake(folder / str(rank))
            fake.python = f"'{mpi_interpreter()}' -s"
            command = fake.command(fake.interpreter(f'{code}\nsend("result")'), 20.0)
            environment = {**command.environment, **variables, **server.variables(rank)}
            commands.append(
                replace(
                    command,
                    environment=environment,
                    descriptors=server.descriptors(rank),
                    prefix=prefixes[rank],
                )
            )
        return LocalLauncher().launch_group(commands, note)


@pytest.mark.framework
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("interface", [None, "lo"])
def test_ranks_are_one_world(size: int, interface: str | None, tmp_path: Path) -> None:
    events: list[Event] = []
    outcomes = world(tmp_path, size, ALL_REDUCE, events, mpi_variables(interface))
    assert outcomes == [Outcome(0)] * size
    total = sum(range(1, size + 1))
    assert sorted((event["from"], event["rank"], event["size"], event["last"]) for event in events) == [
        (rank, rank, size, total) for rank in range(size)
    ]


@pytest.mark.framework
def test_one_that_aborts_ends_the_world(tmp_path: Path) -> None:
    code = """
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 1:
    MPI.COMM_WORLD.Abort(5)
MPI.COMM_WORLD.Barrier()
"""
    start = time.monotonic()
    outcomes = world(tmp_path, 3, code, [], mpi_variables("lo"))
    assert time.monotonic() - start < 30
    assert [outcome.ended_by for outcome in outcomes] == ["group", "itself", "group"]
    assert outcomes[1].exit_status == -signal.SIGABRT
    assert "application called MPI_Abort(MPI_COMM_WORLD, 5)" in (tmp_path / "1" / "run.log").read_text()


def shared_memory() -> set[str]:
    return {path.name for path in Path("/dev/shm").glob("mpich_shm_*") if path.owner() == getpass.getuser()}


@pytest.mark.framework
@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="the kernel has no /dev/shm")
def test_worlds_share_no_memory_with_each_other_and_leave_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[str] = []
    remove = pmi._remove_shared_memory
    monkeypatch.setattr(pmi, "_remove_shared_memory", kept.append)
    code = (
        ALL_REDUCE
        + """
import signal
if world.rank:
    os.kill(os.getpid(), signal.SIGKILL)
world.Barrier()
"""
    )
    before = shared_memory()
    for turn in ("one", "two"):
        (tmp_path / turn).mkdir()
        events: list[Event] = []
        world(tmp_path / turn, 2, code, events, mpi_variables(None))
        assert {event["last"] for event in events} == {3.0}
    assert len(set(kept)) == 2
    assert len(shared_memory() - before) >= 2
    left = shared_memory()
    for space in kept:
        remove(space)
    assert len(left - shared_memory()) == 2


@pytest.mark.framework
def test_one_that_is_killed_within_a_collective_is_the_first(tmp_path: Path) -> None:
    code = """
from mpi4py import MPI
import signal
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 2:
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGKILL)
MPI.COMM_WORLD.Barrier()
"""
    outcomes = world(tmp_path, 3, code, [], mpi_variables("lo"))
    assert outcomes[2] == Outcome(-9, "itself")
    assert [outcome.ended_by for outcome in outcomes[:2]] == ["group", "group"]


# --- what anybody says ----------------------------------------------------------------------------


class Client:
    """One rank's end of the sockets."""

    def __init__(self, server: PmiServer, rank: int) -> None:
        self.socket = socket.socket(fileno=os.dup(server.descriptors(rank)[0]))
        self.socket.settimeout(5)
        self._replies = self.socket.makefile("rb")

    def say(self, data: str | bytes) -> None:
        self.socket.sendall(data.encode() + b"\n" if isinstance(data, str) else data)

    def reply(self) -> str:
        """Return the next line; nothing if the server has hung up."""
        try:
            return self._replies.readline().decode().rstrip("\n")
        except ConnectionResetError:
            return ""

    def ask(self, line: str) -> str:
        self.say(line)
        return self.reply()

    def close(self) -> None:
        self._replies.close()
        self.socket.close()


@pytest.fixture
def clients() -> Iterator[list[Client]]:
    before = descriptors()
    with PmiServer(2) as server:
        made = [Client(server, 0), Client(server, 1)]
        yield made
        for client in made:
            client.close()
    assert descriptors() == before


def test_what_one_puts_another_gets(clients: list[Client]) -> None:
    one, other = clients
    assert one.ask("cmd=init pmi_version=1 pmi_subversion=1") == (
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
    )
    assert other.ask("cmd=get kvsname=ours key=address") == "cmd=get_result rc=-1 msg=key_not_found"
    assert one.ask("cmd=put kvsname=ours key=address value=a=b#c") == "cmd=put_result rc=0"
    assert other.ask("cmd=get kvsname=ours key=address") == "cmd=get_result rc=0 value=a=b#c"
    assert other.ask("cmd=get kvsname=ours key=PMI_process_mapping").endswith("value=(vector,(0,1,2))")


def test_a_barrier_waits_for_all_each_time(clients: list[Client]) -> None:
    one, other = clients
    for _ in range(3):
        one.say("cmd=barrier_in")
        one.socket.settimeout(0.05)
        with pytest.raises(TimeoutError):
            one.socket.recv(1, socket.MSG_PEEK)
        one.socket.settimeout(5)
        other.say("cmd=barrier_in")
        assert one.reply() == other.reply() == "cmd=barrier_out rc=0"


WRONG: dict[str, Any] = {
    "no words": "hello",
    "nothing": "",
    "no command": "key=a value=b",
    "unknown": "cmd=spawn nprocs=1000",
    "many": "mcmd=spawn",
    "not ascii": b"cmd=put key=\xff\xfe value=b\n",
    "zero": b"cmd=put\0 key=a value=b\n",
    "long key": f"cmd=put key={'k' * 65} value=b",
    "no key": "cmd=put value=b",
    "long value": f"cmd=put key=a value={'v' * 1025}",
    "long line": "cmd=" + "x" * 5000,
    "endless line": b"x" * 5000,
    "other version": "cmd=init pmi_version=2 pmi_subversion=0",
    "two barriers": "cmd=barrier_in\ncmd=barrier_in",
    "abort": "cmd=abort exitcode=1",
}


@pytest.mark.parametrize("said", WRONG.values(), ids=WRONG)
def test_who_says_what_none_says_is_hung_up_on_and_others_are_not(
    said: str | bytes, clients: list[Client]
) -> None:
    clients[0].say(said)
    assert clients[0].reply() == ""
    assert clients[1].ask("cmd=get_appnum") == "cmd=appnum appnum=0 rc=0"


def test_who_puts_too_much_is_hung_up_on(clients: list[Client], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pmi, "MAX_KEYS", 3)
    replies = [clients[0].ask(f"cmd=put key=k{number} value=v") for number in range(4)]
    assert replies == ["cmd=put_result rc=0"] * 3 + [""]


def test_who_asks_and_never_reads_is_hung_up_on_and_holds_nobody_up(clients: list[Client]) -> None:
    clients[0].ask(f"cmd=put key=k value={'v' * 1000}")
    clients[0].socket.settimeout(0.5)
    with contextlib.suppress(OSError):
        for _ in range(100_000):
            clients[0].say("cmd=get key=k")
    with pytest.raises(BrokenPipeError):
        clients[0].say("cmd=get key=k")
    assert clients[1].ask("cmd=get_appnum") == "cmd=appnum appnum=0 rc=0"


# --- ports ----------------------------------------------------------------------------------------


def test_addresses_are_free_and_no_two_are_alike() -> None:
    found = free_addresses(["127.0.0.1"] * 50)
    assert len(set(found)) == 50
    for address in found:
        host, _, port = address.rpartition(":")
        with socket.socket() as taken:
            taken.bind((host, int(port)))


def test_a_port_that_is_taken_is_not_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert f"127.0.0.1:{taken.getsockname()[1]}" not in free_addresses(["127.0.0.1"] * 200)


def test_hosts_of_another_network_have_ports_too() -> None:
    found = free_addresses(["10.231.0.1", "10.231.0.2", "10.231.0.1"])
    assert [address.rpartition(":")[0] for address in found] == ["10.231.0.1", "10.231.0.2", "10.231.0.1"]
    assert len({address.rpartition(":")[2] for address in found}) == 3
