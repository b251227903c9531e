"""CuPy without a GPU: its plug-in over a stand-in, which has CuPy's functions and refusals over NumPy's arrays.

What CuPy's kernels compute is seen on a GPU alone; that the plug-in asks for what CuPy has is seen here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import ROOT, Command

STAND_IN = ROOT / "tests" / "data" / "cupy_stand_in"
PATHS = os.pathsep.join((str(STAND_IN), str(ROOT)))
SUITE = (
    "forward/*",
    "gradient/*",
    "ties/*",
    "program/*",
    "optimizer/*",
    "restore/*",
    "synchronize/*",
    "profile/*",
)
BRIDGED = "has an implementation for arrays on the host"


def with_stand_in(*arguments: str) -> str:
    """Return what Python prints that finds the stand-in where CuPy would be."""
    finished = subprocess.run(
        [sys.executable, "-s", *arguments],
        env={**os.environ, "PYTHONPATH": PATHS},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    return finished.stdout


def checked(*patterns: str) -> list[dict[str, Any]]:
    """Return the results of the conformance suite's checks that fit, of which those of bridged operators alone lack."""
    results: list[dict[str, Any]] = json.loads(
        with_stand_in("-m", "tests.in_framework.cupy_checks", *patterns)
    )
    assert [result for result in results if result["status"] == "failed"] == []
    assert all(BRIDGED in result["detail"] for result in results if result["status"] != "passed")
    return results


@pytest.mark.framework("numpy")
def test_operators_gradients_and_optimizers_conform() -> None:
    assert sum(result["status"] == "passed" for result in checked(*SUITE)) > 1000


@pytest.mark.framework("numpy")
def test_every_problem_runs_and_is_verified() -> None:
    assert len(checked("problem/*", "network/*", "late/*")) > 90


SCRIPT = """
import json
import numpy as np
import cupy
from cupy import _core
from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.data.values import draw_batch, draw_parameters
from benchmarker.plugins.cupy.framework import Cupy
from benchmarker.problems import mnist_mlp

graph = mnist_mlp.benchmarker_problem().graph(2)
framework = Cupy()
found = {"device": framework.configure(Device("cuda"), threads=1, seed=0), "libraries": framework.libraries()}
for precision in ("fp32", "tf32"):
    program = framework.build(
        graph, draw_parameters(graph, 0), mode="training", device=Device("cuda"), precision=precision,
        optimizer=Optimizer("momentum"), options=None,
    )
batch = program.load(draw_batch(graph, 0))
first = program.device_event()
loss = program.train_step(batch)
last = program.device_event()
found["asked"] = _core.ASKED
found["kinds"] = [type(array).__module__ for array in (*batch.values(), loss)]
found["fetched"] = type(program.fetch(loss)[0]).__module__
found["seconds"] = program.device_seconds(first, last)
found["memory"] = program.memory()
found["source"] = program.profile(batch, 1).source
refused = []
for call in (lambda: np.asarray(loss), lambda: loss + np.ones(2), lambda: np.full(2, 1.0, like=loss)):
    try:
        call()
    except TypeError as error:
        refused.append(str(error)[:24])
found["refused"] = refused
print(json.dumps(found))
"""


def test_arrays_stay_on_the_device_and_products_round_as_asked() -> None:
    found = json.loads(with_stand_in("-c", SCRIPT))
    assert found["device"] == "stand-in for a GPU"
    assert found["libraries"] == {"cuda": "13.0"}
    assert found["asked"] == [["float32", "default"], ["float32", "tf32"]]
    assert set(found["kinds"]) == {"cupy.arrays"}
    assert found["fetched"] == "numpy"
    assert found["seconds"] > 0
    assert found["memory"] == {"allocated_bytes": 1024, "peak_reserved_bytes": 2048}
    assert found["source"] == "own clock around each call, which waits for the device"
    # The stand-in refuses what CuPy does, or the tests above would show nothing.
    assert found["refused"] == [
        "Implicit conversion to a",
        "Unsupported type <class ",
        "<lambda>() got an unexpe",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--framework=cupy", "--problem=mnist_mlp"), "framework 'cupy' does not run on cpu, only on cuda"),
        (("check", "cupy"), "framework 'cupy' does not run on cpu, only on cuda"),
        (("calibrate", "--framework=cupy"), "framework 'cupy' does not run on cpu, only on cuda"),
        (
            ("verify", "--problem=mnist_mlp", "--framework=cupy"),
            "framework 'cupy' does not run on cpu, only on cuda",
        ),
    ],
)
def test_a_processor_is_refused_before_an_environment_is_made(
    command: Command, arguments: tuple[str, ...], sentence: str
) -> None:
    finished = command(*arguments)
    assert (finished.status, finished.stderr) == (2, f"benchmarker: {sentence}\n")
