"""Native schemes with processes beside the ranks, a scheduler and a server: what is proven, and what dies."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarker import registry
from benchmarker.api.world import World
from benchmarker.execution.free_addresses import free_addresses
from benchmarker.orchestration.rank_run import PORT_TAKEN
from tests.conftest import ROOT, Command, write_distribution
from tests.support.mpi import mpi_interpreter
from tests.support.rank_runs import (
    BRIEF,
    MLP,
    PARAMETER_BYTES,
    check,
    emulated,
    left,
    processes_of,
    proven,
    rank_command,
    stored,
)

pytestmark = [pytest.mark.framework, pytest.mark.timeout(300)]

SERVED = ("--framework=mxnet", *MLP, "--ranks=2", "--scheme=parameter-server", "--exchange=native")
ASYNCHRONOUS = ("--framework=mxnet", *MLP, "--ranks=2", "--scheme=asynchronous-server", "--exchange=native")
OPTIMIZERS = registry.framework("mxnet").schemes["asynchronous-server"].optimizers
REPLAY = "replay of the server's log"
LONG = (*SERVED, "--warmup=1", "--steps=1000000")


@pytest.mark.parametrize("optimizer", [["sgd"], ["adam"], ["lamb"], ["momentum", "--clip-norm=0.1"]])
def test_a_framework_s_own_server_is_proven_with_any_optimizer(optimizer: list[str], tmp_path: Path) -> None:
    kind, *more = optimizer
    command = rank_command(tmp_path)
    (record,) = proven(command(*SERVED, *BRIEF, f"--optimizer={kind}", *more, "--json"))
    told = record["distributed"]
    assert (told["exchange"], told["scheme"]) == ("native", "parameter-server")
    assert told["means"] == registry.framework("mxnet").schemes["parameter-server"].means
    assert told["volume"]["logical_bytes"] == {"push": PARAMETER_BYTES, "pull": PARAMETER_BYTES}
    assert told["volume"]["expected_bytes"] == 2 * 2 * PARAMETER_BYTES
    if told["volume"]["wire_bytes"] is not None:
        assert 1 < told["volume"]["wire_bytes"] / told["volume"]["expected_bytes"] < 1.1
    assert check(record, "weights of all ranks")["detail"] == "the same bits on 2 ranks"
    assert check(record, "further steps of all ranks")["status"] == "passed"
    assert processes_of(tmp_path) == []


def test_three_ranks_train_in_micro_batches_beside_a_server(tmp_path: Path) -> None:
    arguments = ("--batch-size=48", "--ranks=3", "--micro-batch=8", *BRIEF, "--json")
    (record,) = proven(rank_command(tmp_path)(*SERVED, *arguments))
    assert len(record["distributed"]["members"]) == 3
    assert check(record, "weights of all ranks")["detail"] == "the same bits on 3 ranks"


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_log_of_a_framework_s_own_asynchronous_server_is_replayed(optimizer: str, tmp_path: Path) -> None:
    arguments = ("--steps=36", "--warmup=1", f"--optimizer={optimizer}", "--json")
    (record,) = proven(rank_command(tmp_path)(*ASYNCHRONOUS, *arguments))
    told = record["distributed"]
    assert told["means"] == registry.framework("mxnet").schemes["asynchronous-server"].means
    # The first step, one to warm up, and those that are timed.
    assert told["server_updates"] == 2 * (1 + 1 + 36)
    assert sum(told["staleness"].values()) == told["server_updates"]
    assert told["staleness"].keys() - {"0"}
    assert told["volume"]["logical_bytes"] == {"push": PARAMETER_BYTES + 8, "pull": PARAMETER_BYTES + 8}
    assert check(record, REPLAY)["detail"] == "the same bits after 60 updates"


def test_recurrent_layers_come_back_from_the_server(tmp_path: Path) -> None:
    problem = ("--problem=lstm_imdb", "--batch-size=4", "--micro-batch=1", *BRIEF)
    (record,) = proven(rank_command(tmp_path)(*ASYNCHRONOUS, *problem, "--json"))
    assert check(record, REPLAY)["detail"] == "the same bits after 16 updates"


@pytest.mark.parametrize("framework", ["mxnet", "numpy"])
def test_an_asynchronous_server_ends_without_a_proof_too(framework: str, tmp_path: Path) -> None:
    arguments = (*MLP, *BRIEF, "--ranks=2", "--scheme=asynchronous-server", "--no-verify", "--json")
    finished = rank_command(tmp_path)(f"--framework={framework}", *arguments)
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    assert sum(record["distributed"]["staleness"].values()) == record["distributed"]["server_updates"] > 0


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--optimizer=lamb"], "takes the optimizers sgd, momentum, nesterov, adam, adamw, rmsprop, adagrad"),
        (["--clip-norm=1"], "got 'sgd' with what is done around it; use --exchange=mpi"),
        (["--recipe=digits_cnn", "--problem=", "--batch-size="], "has its optimizer on a server"),
    ],
    ids=["optimizer", "modifiers", "schedule"],
)
def test_what_the_server_cannot_do_is_refused_beforehand(
    more: list[str], sentence: str, tmp_path: Path
) -> None:
    given = [part for part in ASYNCHRONOUS if f"{part.partition('=')[0]}=" not in more]
    finished = rank_command(tmp_path)(*given, *(part for part in more if not part.endswith("=")))
    assert finished.status == 2
    assert sentence in " ".join(finished.stderr.split())


FAULTY = """
import dataclasses
import os
from benchmarker.api.scheme import Update
from benchmarker.plugins import mxnet
from benchmarker.plugins.mxnet import distributed, serving

class Faulty(serving.Ledger):
    def _take(self, pushed, stored):
        fault = os.environ["FAULT"]
        if fault == "raises" and len(self._log) == 5:
            raise ValueError("the server's own mistake")
        if fault == "skips" and len(self._log) == 5:
            pushed[serving.HEADER:] = 0
        if fault == "rule" and len(self._log) == 5:
            self._known.take({"learning_rate": 2 * self._known.optimizer.learning_rate})
        super()._take(pushed, stored)
        if fault == "forgets":
            last = self._log[-1]
            self._log[-1] = Update(last.worker, last.step, len(self._log) - 1 if last.step else 0)

class Helper(serving.PsLite):
    def run(self, kept):
        serving.Ledger = Faulty
        return super().run(kept)

if os.environ.get("FAULT") == "both":
    made = serving.make_updates

    def doubled(known, weights, gradients):
        known.take({"learning_rate": 2 * known.optimizer.learning_rate})
        return made(known, weights, gradients)

    serving.make_updates = doubled

if os.environ.get("FAULT") in ("sum", "own"):
    def take(self):
        means(self)
        self.number += 1
        is_late = self._store.rank == 1 and self.number == 5
        factor = self._store.size if os.environ["FAULT"] == "sum" else 0.5 if is_late else 1.0
        for _, gradient in self._pairs:
            gradient *= factor

    means, distributed.MeanGradients.take = distributed.MeanGradients.take, take
    distributed.MeanGradients.number = 0

def benchmarker_framework():
    plugin = mxnet.benchmarker_framework()
    return dataclasses.replace(plugin, name="faulty", helper="faulty_framework:Helper")
"""
FAULTY_RUN = ("--framework=faulty", *MLP, "--ranks=2", "--warmup=1", "--json")


def faulty(fault: str, folder: Path) -> Command:
    """Return the command with a framework of which the server or a rank does something else."""
    entry, modules = {"frameworks": ["faulty = faulty_framework"]}, {"faulty_framework": FAULTY}
    command = rank_command(folder, write_distribution(folder / "faulty", "faulty", entry, modules))
    command.environment["FAULT"] = fault
    return command


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("none", ""),
        ("raises", "the server: the server's own mistake"),
        ("skips", "rank 0: 60 updates made again are off by"),
        ("rule", "rank 0: 60 updates made again are off by"),
        ("both", "rank 0: update 1 is off by 1 of its length"),
        ("forgets", "rank 0: 60 updates made again are off by"),
    ],
)
def test_an_asynchronous_server_that_does_something_else_is_found(
    fault: str, message: str, tmp_path: Path
) -> None:
    command = faulty(fault, tmp_path)
    finished = command(
        *FAULTY_RUN, f"--env={mpi_interpreter('mxnet')}", "--scheme=asynchronous-server", "--steps=36"
    )
    if not message:
        proven(finished)
        return
    (record,) = finished.records
    assert (finished.status, record["status"]) == (1, "failed")
    assert message in record["error"]["message"]
    assert left(command) == []


@pytest.mark.parametrize(
    ("fault", "message"), [("sum", "update .* differs"), ("own", "rank 1 has different weights")]
)
def test_ranks_that_do_not_take_the_mean_are_found(fault: str, message: str, tmp_path: Path) -> None:
    command = faulty(fault, tmp_path)
    finished = command(
        *FAULTY_RUN, f"--env={mpi_interpreter('mxnet')}", "--scheme=parameter-server", "--steps=6"
    )
    (record,) = finished.records
    assert (finished.status, record["status"]) == (1, "failed")
    assert re.search(message, record["error"]["message"])
    assert left(command) == []


@emulated
def test_helpers_have_links_of_their_own(tmp_path: Path) -> None:
    (record,) = proven(rank_command(tmp_path)(*SERVED, *BRIEF, "--network=1gbit", "--json"))
    assert record["distributed"]["network"]["kind"] == "emulated"
    assert record["distributed"]["volume"]["wire_bytes"] > 2 * 2 * PARAMETER_BYTES


def process_of(folder: Path, name: str) -> int:
    """Return the process whose log has a name."""
    (found,) = (p for p in processes_of(folder) if _prints_to(p, f"{name}.log"))
    return found


def _prints_to(process: int, log: str) -> bool:
    own = Path(f"/proc/{process}")
    return b"bootstrap.py" in (own / "cmdline").read_bytes() and (own / "fd/1").readlink().name == log


@contextmanager
def measuring(command: Command) -> Iterator[subprocess.Popen[str]]:
    """Yield a long run whose steps are timed."""
    running = command.start(*LONG)
    try:
        assert running.stderr is not None
        assert any("measuring" in line for line in running.stderr)
        yield running
    finally:
        running.kill()
        running.communicate()


@pytest.mark.parametrize("name", ["server", "scheduler", "rank 1"])
def test_whoever_is_killed_ends_the_run_and_is_named(name: str, tmp_path: Path) -> None:
    command = rank_command(tmp_path)
    with measuring(command) as running:
        os.kill(process_of(tmp_path, name), signal.SIGKILL)
        killed = time.monotonic()
        running.communicate(timeout=60)
        assert time.monotonic() - killed < 10
    (record,) = stored(tmp_path)
    # It is rank 0 that told of measuring, which rank 1 may be about to begin.
    who, stage = ("rank 1 of 2", "(warmup|measure)") if name == "rank 1" else (f"the {name}", "serve")
    assert record["status"] == "crashed"
    assert re.fullmatch(f"{who} was ended by SIGKILL in stage '{stage}'", record["error"]["message"])
    assert left(command) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_helper_outlives_whoever_started_it(number: signal.Signals, tmp_path: Path) -> None:
    command = rank_command(tmp_path)
    with measuring(command) as running:
        assert process_of(tmp_path, "scheduler") != process_of(tmp_path, "server")
        running.send_signal(number)
        running.communicate(timeout=60)
    assert [record["status"] for record in stored(tmp_path)] == ["interrupted"] * (number == signal.SIGINT)
    assert left(command) == []


ALONE = """
import sys
from benchmarker.api.world import World
from benchmarker.plugins.mxnet.serving import PsLite
address = sys.argv[1]
PsLite(World(0, 2, (), helpers=(address, address)), "parameter-server", "scheduler").run(0)
"""


def test_a_port_that_another_process_has_is_told_so_that_ranks_meet_elsewhere() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{other.getsockname()[1]}"
        finished = subprocess.run(
            [str(mpi_interpreter("mxnet")), "-s", "-c", ALONE, address],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    assert finished.returncode != 0
    last = finished.stderr.strip().splitlines()[-1]
    assert "UnsupportedError: ps-lite did not start" in last
    assert any(sign in last.lower() for sign in PORT_TAKEN)


def test_addresses_of_helpers_are_no_ranks() -> None:
    from benchmarker.plugins.mxnet.distributed import rank_variables

    one, two, scheduler, server = free_addresses(["127.0.0.1"] * 4)
    world = World(1, 2, (one, two), helpers=(scheduler, server))
    told = rank_variables(world, "parameter-server")
    assert told["DMLC_PS_ROOT_PORT"] == scheduler.rpartition(":")[2]
    assert told["PORT"] == two.rpartition(":")[2]
    assert (told["DMLC_NUM_WORKER"], told["DMLC_NUM_SERVER"], told["DMLC_ROLE"]) == ("2", "1", "worker")
