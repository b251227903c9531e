"""A problem whose code, where a worker runs it, does what its parameter ``act`` tells."""

from __future__ import annotations

import json
import os
import signal
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem
from benchmarker.graph.initializers import inverse_sqrt_uniform
from benchmarker.graph.network import Network
from benchmarker.worker.channel import Channel

EVIL = "\x1b[2J\x00\u202e\ud800\x9b31m"


@dataclass(frozen=True)
class Parameters:
    """What is done."""

    act: str = "none"


def write(data: bytes) -> None:
    while data:
        data = data[os.write(int(sys.argv[1]), data) :]


def for_ever(data: bytes, descriptor: int) -> None:
    while True:
        os.write(descriptor, data)


def fail() -> None:
    raise ValueError(EVIL + "m" * 10_000_000)


AT_ONCE: Mapping[str, Callable[[], Any]] = {
    "nested": lambda: write(b'{"event": "stage", "name": ' + b"[" * 1_000_000 + b"\n"),
    "endless_line": lambda: for_ever(b"x" * (1 << 20), int(sys.argv[1])),
    "stage_name": lambda: write(json.dumps({"event": "stage", "name": EVIL}).encode() + b"\n"),
    "stage_type": lambda: write(b'{"event": "stage", "name": {"build": 1}}\n'),
    "endless_log": lambda: for_ever(b"x" * (1 << 20), 1),
    "message": fail,
    "signal": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "leave": lambda: os._exit(0),
}


def no_file(result: dict[str, Any], path: Path) -> None:
    path.unlink()


def pipe(result: dict[str, Any], path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def no_archive(result: dict[str, Any], path: Path) -> None:
    path.write_bytes(b"PK\x03\x04" + b"x" * 1000)


def nested_head(result: dict[str, Any], path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        text = b"[" * 1_000_000
        header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }\n" % len(text)
        archive.writestr("head.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + text)


def other_files(result: dict[str, Any], path: Path) -> None:
    result["files"] = [path.name, "important.txt"]
    path.with_name("important.txt").write_text("not what it was")


def no_errors(result: dict[str, Any], path: Path) -> None:
    result["tensors"] = [{"passed": False}]


WITH_THE_RESULT: Mapping[str, Callable[[dict[str, Any], Path], None]] = {
    function.__name__: function
    for function in (no_file, pipe, no_archive, nested_head, other_files, no_errors)
}


def change(act: str) -> None:
    """Have the worker's result, and the file that it names, be something else."""
    told = Channel.send

    def tell(self: Channel, event: str, **fields: Any) -> None:
        if event == "result":
            WITH_THE_RESULT[act](fields, Path(asked()["path"]))
        told(self, event, **fields)

    Channel.send = tell  # type: ignore[method-assign]


def asked() -> Mapping[str, Any]:
    """Return the job of this worker, which its bootstrap has read."""
    frame = sys._getframe()
    while frame.f_back is not None and "job" not in frame.f_locals.get("message", ()):
        frame = frame.f_back
    job: Mapping[str, Any] = frame.f_locals["message"]["job"]
    return job


def build(net: Network, p: Parameters) -> None:
    if sys.argv[0].endswith("bootstrap.py"):
        AT_ONCE.get(p.act, lambda: None)()
        if p.act in WITH_THE_RESULT and Channel.send.__name__ == "send":
            change(p.act)
    weights = net.parameter("weights", (4, 2), inverse_sqrt_uniform(4))
    y = net.gemm(net.input("x", (4,)), weights)
    net.output(y)
    net.loss(net.reduce_mean(net.mul(y, y)))


def benchmarker_problem() -> Problem:
    return Problem(
        name="trapped",
        task="operator",
        source="a test",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=2,
    )
