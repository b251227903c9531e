"""A framework of which one rank goes wrong on purpose, in the way its option ``fault`` says, in one of its steps."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarker.api import FrameworkPlugin
from benchmarker.api.framework import NativeScheme
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.program import NumpyProgram


@dataclass(frozen=True)
class Options:
    """Which rank goes wrong, at which of its ways forward and backward, and how.

    Parameters
    ----------
    fault : str
        What happens; ``late`` in every step, ``start`` before all (``untold``: and rank 0 is slow to say what it has
        found), ``rows`` with what ranks are given,
        ``statistics`` with what batch normalization keeps; ``apart`` ranks exchange nothing.
    rank : int
        Of whom.
    step : int
        From 1.
    """

    fault: str = "none"
    rank: int = 1
    step: int = 1


def benchmarker_framework() -> FrameworkPlugin:
    return FrameworkPlugin(
        name="stumbling",
        distribution="numpy",
        requirements=("numpy",),
        implementation="stumbling_framework:Stumbling",
        options=Options,
        rank_requirements=("mpi4py",),
        schemes={"all-reduce": NativeScheme("all rows on all ranks", "global")},
    )


def own_rank() -> int:
    """Return the number by which MPI knows this rank."""
    return int(os.environ.get("PMI_RANK", "0"))


def without_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20),) * 2)
    np.ones(1 << 28)


def go_wrong(fault: str) -> None:
    if fault.startswith("SIG"):
        os.kill(os.getpid(), signal.Signals[fault])
        time.sleep(0.2)
    elif fault == "memory":
        without_memory()
    elif fault == "exception":
        raise ValueError("the framework's own mistake")
    elif fault == "exit":
        os._exit(3)
    elif fault == "leave":
        sys.exit(0)


def give_first_rows() -> None:
    """Have this rank be given the rows of the first one."""
    from benchmarker.data.values import part_of
    from benchmarker.worker.ranks import view

    def first(batch: Any, part: int, parts: int, counted: Any) -> Any:
        return part_of(batch, 0, parts, counted)

    vars(view)["part_of"] = first


def tell_late() -> None:
    """Have this rank say late what it has verified."""
    from benchmarker.worker.channel import Channel

    send = Channel.send

    def late(self: Channel, event: str, **fields: Any) -> None:
        if event == "verification":
            time.sleep(1.5)
        send(self, event, **fields)

    Channel.send = late  # type: ignore[method-assign]


class StumblingProgram(NumpyProgram):
    fault = Options()
    made = 0
    all_rows = False
    """Whether each rank trains with the rows of all."""

    def load(self, batch: Mapping[str, Any]) -> Any:
        if not self.all_rows:
            return super().load(batch)
        from mpi4py import MPI

        parts = {name: MPI.COMM_WORLD.allgather(array) for name, array in batch.items()}
        return super().load({name: np.concatenate(rows) for name, rows in parts.items()})

    def train_step(self, batch: Any) -> Any:
        self.made += 1
        return super().train_step(batch)

    def gradient_step(self, batch: Any) -> tuple[Any, Any]:
        self.made += 1
        if self.fault.rank == own_rank():
            if self.made == self.fault.step:
                go_wrong(self.fault.fault)
            if self.fault.fault == "late":
                time.sleep(0.02)
        return super().gradient_step(batch)

    def parameters(self) -> Any:
        found = super().parameters()
        if (
            self.fault.fault == "statistics"
            and own_rank() == self.fault.rank
            and self.made >= self.fault.step
        ):
            found.update((name, array * 1.01) for name, array in found.items() if "running_var" in name)
        return found


class Stumbling(NumpyFramework):
    _joined = False

    def join(self, world: Any, scheme: str) -> None:
        """Take the port where ranks meet: the first time with another socket on it."""
        self._joined = True
        marker = Path(os.environ["BENCHMARKER_TEST_FOLDER"], "met")
        if world.rank:
            time.sleep(0.5)  # the first rank fails, or is alone with what is wrong
            return
        if not marker.exists():
            marker.write_text(world.addresses[0])
            with socket.create_server((world.meeting_host, world.meeting_port)):
                socket.create_server((world.meeting_host, world.meeting_port))
        marker.write_text(f"{marker.read_text()} {world.addresses[0]}")

    def build(self, graph: Any, parameters: Mapping[str, Any], **settings: Any) -> Any:
        options = settings["options"]
        if options.fault == "rows" and options.rank == own_rank():
            give_first_rows()
        if options.fault == "untold" and own_rank() == 0:
            tell_late()
        if options.fault in ("start", "untold") and options.rank == own_rank():
            parameters = {name: array + np.float32(1e-3) for name, array in parameters.items()}
        program = super().build(graph, parameters, **settings)
        program.__class__ = StumblingProgram
        together = self._joined and settings["mode"] == "training" and options.fault != "apart"
        vars(program).update(fault=options, all_rows=together)
        return program
