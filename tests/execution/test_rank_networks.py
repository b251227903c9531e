"""Networks of ranks: counted exactly, slow as asked, and gone whatever happens."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from benchmarker.api.launcher import Event, Outcome
from benchmarker.errors import UnsupportedError, UsageError
from benchmarker.execution import namespaces
from benchmarker.execution.emulated_links import Link, parse_link
from benchmarker.execution.launchers.pmi import mpi_variables
from benchmarker.execution.rank_networks import RankNetwork, network_faults, open_rank_network
from tests.conftest import ROOT
from tests.execution.test_launcher import descriptors
from tests.execution.test_pmi import world
from tests.support.waiting import gone_soon

FAULTS = network_faults()
counted = pytest.mark.skipif(FAULTS.counting is not None, reason=f"no counted network: {FAULTS.counting}")
emulated = pytest.mark.skipif(FAULTS.emulation is not None, reason=f"no emulated one: {FAULTS.emulation}")
MEGABYTES = 1_000_000

# --- what is asked for ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("10mbit", Link(10e6)),
        ("1gbit", Link(1e9)),
        ("2.5gbit", Link(2.5e9)),
        ("64kbit", Link(64e3)),
        ("100gbit", Link(100e9)),
        (" 100Mbit,1ms ", Link(100e6, 1e-3)),
        ("100mbit,250us", Link(100e6, 250e-6)),
    ],
)
def test_links_are_read(text: str, link: Link) -> None:
    found = parse_link(text)
    assert found.bits_per_second == pytest.approx(link.bits_per_second)
    assert found.latency_seconds == pytest.approx(link.latency_seconds)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"a link must be a rate such as 10mbit or 1gbit.*; got ''$"),
        ("fast", r"got 'fast'$"),
        ("10", r"got '10'$"),
        ("10 mbit", r"got '10 mbit'$"),
        ("-10mbit", r"got '-10mbit'$"),
        ("10mbit,", r"got '10mbit,'$"),
        ("10mbit,1s", r"got '10mbit,1s'$"),
        ("1e9mbit", r"got '1e9mbit'$"),
        ("10mbit\x1b[2J", r"got '10mbit\\x1b\[2J'$"),
        ("9" * 500 + "mbit", r"a link must be"),
        ("63kbit", r"^the rate of a link must be from 64kbit to 100gbit; got '63kbit'$"),
        ("0mbit", r"got '0mbit'$"),
        ("101gbit", r"got '101gbit'$"),
        ("1gbit,10001ms", r"^the latency of a link must be at most 10000ms; got '10001ms'$"),
    ],
)
def test_what_is_no_link_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as caught:
        parse_link(text)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"size": 0}, "a network has 1 to 250 ranks; got 0"),
        ({"size": 251}, "a network has 1 to 250 ranks; got 251"),
        ({"size": 2, "wanted": "none"}, "must be one of auto, counted, shared; got 'none'"),
        (
            {"size": 2, "wanted": "shared", "rate": "10mbit"},
            "an emulated link needs a private network",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence), open_rank_network(**options):
        pass


def test_a_shared_network_counts_nothing_and_says_so() -> None:
    with open_rank_network(3, wanted="shared") as network:
        assert network == RankNetwork(
            ((), (), ()),
            ("127.0.0.1",) * 3,
            "lo",
            absent_reason="the ranks share the machine's network, as asked",
        )
        assert network.sent_bytes() is None


# --- counted --------------------------------------------------------------------------------------

SEND = """
import socket, sys, threading, time
host, size = sys.argv[1], int(sys.argv[2])
server = socket.create_server((host, 0))
def take():
    taken, _ = server.accept()
    while taken.recv(1 << 16):
        pass
    taken.close()
taker = threading.Thread(target=take)
taker.start()
with socket.create_connection(server.getsockname()) as connection:
    connection.sendall(bytes(size))
taker.join()
"""


def run(network: RankNetwork, code: str, *arguments: object, rank: int = 0) -> str:
    command = [*network.prefixes[rank], sys.executable, "-S", "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@counted
def test_bytes_are_those_of_the_ranks_alone() -> None:
    with open_rank_network(2, wanted="counted") as network:
        assert (network.hosts, network.interface) == (("127.0.0.1",) * 2, "lo")
        assert (network.emulated, network.absent_reason) == (None, None)
        assert network.sent_bytes() == 0
        subprocess.run([sys.executable, "-S", "-c", SEND, "127.0.0.1", str(MEGABYTES)], check=True)
        assert network.sent_bytes() == 0
        run(network, SEND, "127.0.0.1", 8 * MEGABYTES, rank=1)
        # Headers, and acknowledgements, which are more where the machine is busy.
        sent = network.sent_bytes()
        assert sent is not None
        assert 1 <= sent / (8 * MEGABYTES) < 1.1


@counted
def test_a_rank_keeps_its_process_parent_and_session() -> None:
    code = "import os; print(os.getpid(), os.getppid(), os.getsid(0), os.getuid())"
    with open_rank_network(1, wanted="counted") as network:
        command = [*network.prefixes[0], sys.executable, "-S", "-c", code]
        with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
            found = process.communicate()[0].decode().split()
        assert list(map(int, found[:3])) == [process.pid, os.getpid(), process.pid]


ALL_REDUCE = """
from mpi4py import MPI
import numpy as np
vector = np.ones(1_000_000, np.float32)
for _ in range(5):
    MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, vector)
send("sum", first=float(vector[0]))
"""


@counted
@pytest.mark.framework
@pytest.mark.parametrize("size", [2, 4])
def test_an_all_reduce_sends_what_its_formula_says(size: int, tmp_path: Path) -> None:
    events: list[Event] = []
    with open_rank_network(size, wanted="counted") as network:
        variables = mpi_variables(network.interface)
        outcomes = world(tmp_path, size, ALL_REDUCE, events, variables, network.prefixes)
        sent = network.sent_bytes()
    assert outcomes == [Outcome(0)] * size
    assert {event["first"] for event in events} == {float(size**5)}
    # On busy cores some packets are sent again.
    assert sent == pytest.approx(5 * 2 * (size - 1) * 4 * MEGABYTES, rel=0.08)


# --- emulated -------------------------------------------------------------------------------------

TAKE = """
import socket, sys
server = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("ready", flush=True)
taken, _ = server.accept()
total = 0
while data := taken.recv(1 << 20):
    total += len(data)
taken.sendall(b"all")
print(total)
"""
GIVE = """
import socket, sys, time
with socket.create_connection((sys.argv[1], int(sys.argv[3]))) as connection:
    start = time.monotonic()
    connection.sendall(bytes(int(sys.argv[2])))
    connection.shutdown(socket.SHUT_WR)
    connection.recv(3)
    print(start, time.monotonic())
"""


def transfer(
    network: RankNetwork, size: int, giver: int = 0, taker: int = 1, port: int = 5000
) -> tuple[float, float]:
    """Send bytes from one rank to another and return when it began and when it ended, in seconds of the clock."""
    host = network.hosts[taker]
    command = [*network.prefixes[taker], sys.executable, "-S", "-c", TAKE, host, str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as taking:
        assert taking.stdout is not None
        assert taking.stdout.readline() == "ready\n"
        start, end = map(float, run(network, GIVE, host, size, port, rank=giver).split())
        assert taking.stdout.read() == f"{size}\n"
    return start, end


def seconds_of(network: RankNetwork, size: int) -> float:
    """Return how many seconds bytes take from the first rank to the second."""
    start, end = transfer(network, size)
    return end - start


@emulated
def test_a_link_is_as_slow_as_asked_and_counted() -> None:
    with open_rank_network(2, rate="100mbit") as network:
        assert network.emulated == "100mbit"
        assert len(set(network.hosts)) == 2
        seconds = seconds_of(network, 12_500_000)
        sent = network.sent_bytes()
    assert 1.0 < seconds < 1.4
    assert sent is not None
    assert 1.0 < sent / 12_500_000 < 1.12


@emulated
def test_a_link_of_ten_times_the_rate_is_quicker() -> None:
    with open_rank_network(3, rate="1gbit") as network:
        assert seconds_of(network, 12_500_000) < 0.7


BOTH_WAYS = pytest.mark.parametrize("pairs", [((0, 1), (0, 2)), ((1, 0), (2, 0))], ids=["from one", "to one"])


@emulated
@BOTH_WAYS
def test_two_transfers_share_the_link_of_the_rank_that_both_use(pairs: tuple[tuple[int, int], ...]) -> None:
    with open_rank_network(3, rate="100mbit") as network, ThreadPoolExecutor(2) as pool:
        transfers = [
            pool.submit(transfer, network, 4_000_000, giver, taker, 5000 + giver) for giver, taker in pairs
        ]
        starts, ends = zip(*(done.result() for done in transfers))
    # Neither begins exactly with the other, so it is the two together that take twice as long as one.
    assert 0.55 < max(ends) - min(starts) < 1.2


@emulated
@pytest.mark.framework
def test_ranks_of_an_emulated_network_are_a_world(tmp_path: Path) -> None:
    events: list[Event] = []
    with open_rank_network(2, rate="1gbit") as network:
        variables = mpi_variables(network.interface)
        outcomes = world(tmp_path, 2, ALL_REDUCE, events, variables, network.prefixes)
        sent = network.sent_bytes()
    assert outcomes == [Outcome(0)] * 2
    assert sent == pytest.approx(5 * 2 * 4 * MEGABYTES, rel=0.12)


@emulated
@pytest.mark.skipif(FAULTS.latency is None, reason="the kernel can delay packets")
def test_a_latency_that_the_kernel_cannot_make_is_one_sentence() -> None:
    with pytest.raises(UnsupportedError, match=r"^this kernel cannot delay packets \(it has no 'netem'\)"):
        _open_and_leave(2, "100mbit,1ms")
    assert holders(os.getpid()) == []


@emulated
@pytest.mark.skipif(FAULTS.latency is not None, reason="the kernel cannot delay packets")
def test_a_latency_is_felt() -> None:
    with open_rank_network(2, rate="100mbit,100ms") as network:
        assert seconds_of(network, 1000) > 0.2


def _open_and_leave(size: int, rate: str | None) -> None:
    with open_rank_network(size, rate=rate):
        pass


def _open_and_fail(size: int, rate: str | None, held: int) -> None:
    with open_rank_network(size, rate=rate):
        assert len(holders(os.getpid())) == held
        raise ZeroDivisionError


# --- gone -----------------------------------------------------------------------------------------


def holders(parent: int) -> list[int]:
    """Return the children of a process that hold namespaces."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            its_parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if its_parent == parent and b"namespace" in words:
                found.append(int(folder.name))
    return found


@emulated
@pytest.mark.parametrize(("rate", "count"), [(None, 1), ("10mbit", 3)])
def test_nothing_is_left_after_the_end_or_an_exception(rate: str | None, count: int) -> None:
    opened, named = descriptors(), sorted(Path("/run").glob("netns/*"))
    _open_and_leave(2, rate)
    with pytest.raises(ZeroDivisionError):
        _open_and_fail(2, rate, count)
    assert holders(os.getpid()) == []
    assert descriptors() == opened
    assert sorted(Path("/run").glob("netns/*")) == named


@emulated
@pytest.mark.parametrize(("rate", "count"), [(None, 1), ("10mbit", 3)])
def test_nothing_is_left_when_the_command_is_killed(rate: str | None, count: int) -> None:
    code = (
        "import time\nfrom benchmarker.execution.rank_networks import open_rank_network\n"
        f"with open_rank_network(2, rate={rate!r}) as network:\n"
        "    print('open', flush=True)\n    time.sleep(1000)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        held = holders(process.pid)
        process.send_signal(signal.SIGKILL)
    assert len(held) == count
    assert all(map(gone_soon, held))


NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


@emulated
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_who_is_not_root_has_a_user_namespace() -> None:
    code = (
        "import json, subprocess\nfrom benchmarker.execution.rank_networks import open_rank_network\n"
        "with open_rank_network(2, rate='1gbit') as network:\n"
        "    done = subprocess.run([*network.prefixes[1], 'ip', '-o', 'address'], capture_output=True, text=True)\n"
        "    print(json.dumps([network.prefixes[1], done.stdout, network.sent_bytes()]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def tried(python: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*NOBODY, python, "-B", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd="/")

    pythons = (sys.executable, "/usr/bin/python3")
    python = next((p for p in pythons if tried(p, "-c", "import benchmarker.version").returncode == 0), None)
    if python is None or Path("/proc/sys/user/max_user_namespaces").read_text().strip() == "0":
        pytest.skip("another user can run no Python here, or make no user namespace")
    done = tried(python, "-c", code)
    assert done.returncode == 0, done.stderr
    prefix, shown, sent = json.loads(done.stdout)
    assert "--preserve-credentials" in prefix
    assert "10.77.0.2/24" in shown
    assert sent == 0


# --- what is not there ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "package"),
    [("ip", "iproute2"), ("tc", "iproute2"), ("nsenter", "util-linux"), ("unshare", "util-linux")],
)
def test_a_tool_that_is_not_here_is_named(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch, clean_tools: Callable[[], None]
) -> None:
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda tool, path: None if tool == name else which(tool, path=path))
    clean_tools()
    sentence = f"'{name}' is not installed; it comes with '{package}'"
    with pytest.raises(UnsupportedError, match=f"^{sentence}$"):
        _open_and_leave(2, "10mbit")
    with open_rank_network(2) as network:
        assert network.absent_reason == (None if name == "tc" else sentence)
    assert network_faults().emulation == sentence


@pytest.fixture
def clean_tools(monkeypatch: pytest.MonkeyPatch) -> Any:
    yield namespaces.tool.cache_clear
    monkeypatch.undo()
    namespaces.tool.cache_clear()


def test_where_no_namespace_may_be_made_the_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean_tools: Callable[[], None]
) -> None:
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    clean_tools()
    reason = "no network namespace can be made here: unshare: unshare failed: Operation not permitted"
    with open_rank_network(2) as network:
        assert (network.absent_reason, network.sent_bytes()) == (reason, None)
        assert network.prefixes == ((), ())
    for options in ({"wanted": "counted"}, {"rate": "10mbit"}):
        with pytest.raises(UnsupportedError, match=f"^{reason}$"), open_rank_network(2, **options):
            pass


@counted
def test_a_command_inside_that_does_not_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(namespaces.Namespace()) as own:
        monkeypatch.setattr(namespaces, "_SECONDS", 0.3)
        with pytest.raises(UnsupportedError, match=r"cannot be set up here: no answer within 0\.3 s$"):
            own.run("sleep", "60")
