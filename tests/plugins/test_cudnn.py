"""cuBLAS and cuDNN without a GPU: the plug-in over a stand-in for the libraries, written in C, with their signatures.

What the libraries' kernels compute is seen on a GPU alone; arguments, layouts and the places of weights are seen here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from tests.conftest import ROOT, Command

SOURCE = ROOT / "tests" / "data" / "cuda_stand_in.c"
WORST = {"fp32": 1e-6, "tf32": 1e-6, "fp64": 1e-14, "fp16": 2e-3, "bf16": 2e-2}
"""How far each precision may be from float64, over the largest value; the stand-in multiplies in float64."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what the plug-in does over the stand-in."""
    library = tmp_path_factory.mktemp("stand_in") / "libstandin.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-lm"], check=True)
    finished = subprocess.run(
        [sys.executable, "-s", "-m", "tests.in_framework.cudnn_checks", str(library)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


@pytest.mark.framework("numpy")
def test_it_conforms_in_what_it_has(told: dict[str, Any]) -> None:
    checks = told["checks"]
    assert [check for check in checks if check["status"] == "failed"] == []
    passed = Counter("/".join(c["name"].split("/")[:2]) for c in checks if c["status"] == "passed")
    had = ("gemm", "matmul", "conv", "rnn", "lstm", "gru", "relu", "sigmoid", "tanh", "reshape")
    assert {name for name in had if not passed[f"forward/{name}"]} == set()


@pytest.mark.framework("numpy")
def test_every_precision_is_as_near_as_its_elements_are(told: dict[str, Any]) -> None:
    assert len(told["errors"]) == 8 * 5 * 2
    assert [found for found in told["errors"] if found["error"] > WORST[found["precision"]]] == []
    assert {found["precision"] for found in told["errors"] if found["error"] > 1e-4} == {"fp16", "bf16"}


@pytest.mark.framework("numpy")
def test_what_the_libraries_tell_is_told(told: dict[str, Any]) -> None:
    assert told["libraries"] == {"cuda": "13.0", "cublas": "13.1.2", "cudnn": "9.19.0"}
    assert told["seconds"] > 0
    assert told["out of memory"] == ["cudaMalloc: out of memory"] * 2


def test_a_processor_is_refused_before_an_environment_is_made(command: Command) -> None:
    finished = command("--framework=cudnn", "--problem=deepbench_gemm", "--mode=inference")
    assert (finished.status, finished.stderr) == (
        2,
        "benchmarker: framework 'cudnn' does not run on cpu, only on cuda\n",
    )
