"""Frameworks on a real GPU; left out where there is none, or where this interpreter has no build for it."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any

import pytest

from benchmarker.execution.environments.gpu_driver import gpu_count, nvidia_driver_present
from tests.conftest import Command

pytestmark = [
    pytest.mark.skipif(not nvidia_driver_present(), reason="there is no NVIDIA driver"),
    pytest.mark.framework("pytorch"),
    pytest.mark.cold,  # a GPU's driver does not survive a fork
    pytest.mark.timeout(600),
]
PEAK_BF16 = 5e15
"""FLOP/s above which no single GPU of today multiplies: a product that was not waited for shows more."""


def run(command: Command, framework: str, *further: str) -> list[dict[str, Any]]:
    """Run a framework of this interpreter on the GPU and return the records."""
    module = {"pytorch": "torch"}.get(framework, framework)
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"this interpreter has no {module}")
    version = importlib.import_module(module).__version__.split("+")[0]
    request = f"--framework={framework}=={version}"
    # The tests' flags of XLA are for the version of managed environments; another ends at one that it does not know.
    environment = {name: value for name, value in command.environment.items() if name != "XLA_FLAGS"}
    return replace(command, environment=environment)(
        "run", request, "--env=current", "--device=cuda", "--seconds=0.3", "--json", *further
    ).records


@pytest.mark.parametrize("framework", ["pytorch", "jax"])
def test_a_training_is_verified_and_its_memory_is_the_device_s(command: Command, framework: str) -> None:
    (record,) = run(command, framework, "--problem=simple_cnn")
    assert (record["status"], record["verification"]["status"]) == ("ok", "passed")
    assert record["device"]["type"] == "cuda"
    assert any("peak" in name and value > 0 for name, value in record["memory"]["framework"].items())


@pytest.mark.parametrize("framework", ["pytorch", "jax"])
def test_a_long_product_is_waited_for(command: Command, framework: str) -> None:
    sizes = [f"--set={name}=4096" for name in "mnk"]
    (record,) = run(command, framework, "--problem=gemm", "--mode=inference", "--precision=bf16", *sizes)
    assert record["status"] == "ok"
    assert 0 < record["metrics"]["flops_per_second"] < PEAK_BF16


@pytest.mark.parametrize("framework", ["pytorch", "jax"])
def test_a_profile_names_nodes(command: Command, framework: str) -> None:
    (record,) = run(command, framework, "--problem=simple_cnn", "--breakdown", "--no-verify")
    assert {"conv", "gemm"} & {node["operator"] for node in record["profile"]["nodes"]}


def test_a_gpu_beyond_the_last_is_refused(command: Command) -> None:
    count = gpu_count()
    if count is None:
        pytest.skip("the driver does not tell how many GPUs there are")
    finished = command("run", "--framework=pytorch", "--problem=mnist_mlp", f"--gpus={count}")
    assert finished.status == 2
    assert f"GPU {count} cannot be used" in finished.stderr


def test_verify_computes_on_the_gpu(command: Command) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("this interpreter has no torch")
    request = f"--framework=pytorch=={importlib.import_module('torch').__version__.split('+')[0]}"
    finished = command(
        "verify", request, "--problem=mnist_mlp", "--size=reduced", "--env=current", "--device=cuda"
    )
    assert finished.status == 0
    assert "reduced size, batch 8, on cuda, against numpy" in finished.stdout
