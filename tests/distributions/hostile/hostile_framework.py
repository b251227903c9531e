"""A framework whose worker says what no worker says, as its option ``act`` or ``HOSTILE_ACT`` tells.

The variable is for commands that give a framework no options.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarker.api import FrameworkPlugin
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.worker.channel import Channel


@dataclass(frozen=True)
class Options:
    """What the worker does."""

    act: str = "none"


def benchmarker_framework() -> FrameworkPlugin:
    return FrameworkPlugin(
        name="hostile",
        distribution="numpy",
        requirements=("numpy",),
        implementation="hostile_framework:Hostile",
        options=Options,
    )


def write(data: bytes) -> None:
    while data:
        data = data[os.write(int(sys.argv[1]), data) :]


def send(event: str, **fields: Any) -> None:
    write(json.dumps({"event": event, **fields}).encode() + b"\n")


def ready(times: int) -> None:
    for _ in range(times):
        send("ready", pid=os.getpid(), steps=1, step_seconds=1.0)


def for_ever(data: bytes, descriptor: int | None = None) -> None:
    while True:
        os.write(int(sys.argv[1]) if descriptor is None else descriptor, data)


EVIL = "\x1b[2J\x00\u202e\ud800\x9b31m"
STAGE = b'{"event": "stage", "name": "build"}\n'

WHILE_BUILDING: Mapping[str, Callable[[], Any]] = {
    "nested": lambda: write(b'{"event": "stage", "name": ' + b"[" * 1_000_000 + b"\n"),
    "endless_line": lambda: for_ever(b"x" * (1 << 20)),
    "digits": lambda: write(b'{"event": "progress", "done": ' + b"9" * 10_000 + b"}\n"),
    "unknown": lambda: send(EVIL * 1000),
    "stage_name": lambda: send("stage", name=EVIL),
    "stage_type": lambda: send("stage", name={"build": 1}),
    "stage_members": lambda: send("stage", name="build", more=1),
    "no_members": lambda: send("error"),
    "result_first": lambda: send("result", seconds={}),
    "ready_first": lambda: send("ready", pid=os.getpid(), steps=1, step_seconds=1.0),
    "many_stages": lambda: for_ever(STAGE * 1000),
    "many_lines": lambda: for_ever(b"\n" * 10_000),
    "endless_log": lambda: for_ever(b"x" * (1 << 20), 1),
    "signal": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "leave": lambda: os._exit(0),
}

IN_THE_FIRST_STEP: Mapping[str, Callable[[], Any]] = {
    "nan": lambda: send("progress", done=1, total=None, step_seconds=float("nan")),
    "infinite": lambda: send("progress", done=1, total=None, step_seconds=float("inf")),
    "negative": lambda: send("progress", done=1, total=None, step_seconds=-1.0),
    "huge": lambda: send("progress", done=10**30, total=None, step_seconds=1.0),
    "ready_often": lambda: ready(1000),
    "prepared_again": lambda: send("prepared", version="1"),
    "timed_first": lambda: send("timed"),
    "beyond": lambda: send("progress", done=10**18, total=1, step_seconds=1e9),
}

NESTED: list[Any] = []
for _ in range(400):
    NESTED = [NESTED]

LONG = "x" * 4000

CHANGED: Mapping[str, tuple[str, dict[str, Any]]] = {
    "evidence": ("result", {"evidence": {"steal_share": "a lot"}}),
    "checkpoints": ("result", {"checkpoints": {"step": [EVIL]}}),
    "no_samples": ("result", {"samples_nanoseconds": []}),
    "samples": ("result", {"steps": 7, "samples_nanoseconds": [1, 2]}),
    "negative_sample": ("result", {"samples_nanoseconds": [1, -2, 3]}),
    "learning": ("result", {"learning": {"steps": "all"}}),
    "libraries": ("result", {"libraries": {f"library{i}": "x" * 3000 for i in range(1000)}}),
    "nested_less": ("result", {"libraries": {"library": NESTED}}),
    "clock": ("result", {"clock": None}),
    "texts": ("prepared", {"composed_operators": [LONG] * 2500}),
    "pid_of_nobody": ("ready", {"pid": 2**30, "steps": 2**62, "step_seconds": 1e9}),
    "pid_of_init": ("untimed_pass_started", {"pid": 1}),
    "verdict": ("verification", {"status": "surely"}),
    "tensors": ("verification", {"tensors": [{"name": EVIL}]}),
    "seeds": ("result", {"seeds": {EVIL: [-1]}}),
    "no_version": ("result", {"version": None}),
    "products": ("result", {"products": []}),
    "rate": ("result", {"bytes_per_second": float("inf")}),
    "size": ("result", {"products": [{"size": 2**62, "flops_per_second": 1e30}]}),
    "checks": ("check", {"detail": ["x"]}),
    "check_error": ("check", {"error": "much"}),
    "rank": ("result", {"rank": {"rank": 7}}),
    "training": ("result", {"training": {"evaluations": EVIL}}),
}


def results() -> Path:
    return Path(os.environ["BENCHMARKER_TEST_FOLDER"], "results")


def fill_results() -> None:
    """Leave no byte free where the records go."""
    with contextlib.suppress(OSError), open(results() / "filler", "wb", buffering=0) as filler:
        while True:
            filler.write(b"x" * 4096)


def take_results_away() -> None:
    """Put a file where the folder of the records was."""
    shutil.rmtree(results(), ignore_errors=True)
    with contextlib.suppress(OSError):
        results().write_text("no folder")


def hang() -> None:
    results().with_name("hanging").touch()
    time.sleep(1000)


def own_log() -> Path:
    """Take this worker's log away and return where it was."""
    path = Path("/proc/self/fd/1").readlink()
    path.unlink()
    return path


IN_PLACE_OF_THE_LOG: Mapping[str, Callable[[], Any]] = {
    "log_pipe": lambda: os.mkfifo(own_log()),
    "log_folder": lambda: own_log().mkdir(),
    "log_device": lambda: own_log().symlink_to("/dev/zero"),
    "log_gone": own_log,
}

TO_THE_DISK: Mapping[str, Callable[[], Any]] = {
    "fill": fill_results,
    "vanish": take_results_away,
    "hang": hang,
}

HARMLESS: Mapping[str, Callable[[], Any]] = {
    "half_a_character": lambda: write(b'{"event": "stage", "name": "\xc3"}\n'),
    "no_events": lambda: write(b'\x00\xff\n[]\nnull\n{"event": 3}\n' + b"y" * (1 << 20) + b"\n"),
}


def change(kind: str, members: Mapping[str, Any]) -> None:
    """Have the worker's next event of a kind say something else."""
    told = Channel.send

    def tell(self: Channel, event: str, **fields: Any) -> None:
        told(self, event, **{**fields, **(members if event == kind else {})})

    Channel.send = tell  # type: ignore[method-assign]


class Hostile(NumpyFramework):
    act = "none"

    def version(self) -> str:
        return f"1{EVIL}" if self.act == "version" else super().version()

    def libraries(self) -> dict[str, str]:
        return {EVIL: EVIL} if self.act == "names" else super().libraries()

    def build(self, graph: Any, parameters: Any, **settings: Any) -> Any:
        self.act = act = os.environ.get("HOSTILE_ACT", settings["options"].act)
        program = super().build(graph, parameters, **settings)
        if act == "message":
            raise ValueError(EVIL + "m" * 10_000_000)
        if act == "after_the_result":
            atexit.register(send, "stage", name="more")
        elif act == "result_again":
            atexit.register(send, "result", seconds={})
        elif act in IN_PLACE_OF_THE_LOG:
            IN_PLACE_OF_THE_LOG[act]()
            raise ValueError("nobody finds my log")
        elif act in CHANGED:
            change(*CHANGED[act])
        elif act in IN_THE_FIRST_STEP:
            step = program.train_step

            def acting(batch: Any) -> Any:
                IN_THE_FIRST_STEP[act]()
                return step(batch)

            program.train_step = acting  # type: ignore[method-assign]
        {**WHILE_BUILDING, **HARMLESS, **TO_THE_DISK}.get(act, lambda: None)()
        return program
