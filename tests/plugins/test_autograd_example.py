"""The framework that the tutorial writes, ``examples/autograd_framework``, in an environment of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.installing import make_fresh, run_module

EXAMPLE = ROOT / "examples" / "autograd_framework"
pytestmark = pytest.mark.framework("numpy")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with benchmarker, the example and autograd."""
    return make_fresh(tmp_path_factory.mktemp("autograd"), [ROOT], "-e", f"{EXAMPLE}[test]")


def run(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_module(python, folder, "benchmarker", *arguments, timeout=280)


def test_it_conforms(fresh: Path, tmp_path: Path) -> None:
    done = run(fresh, tmp_path, "check", "autograd", "--threads=1", "--json")
    report = json.loads(done.stdout)
    found = {result["name"]: result for result in report["results"]}
    assert [result for result in found.values() if result["status"] == "failed"] == []
    for name in (
        "gradient/gemm/dense",
        "gradient/sin/4d",
        "optimizer/sgd",
        "optimizer/momentum/state",
        "optimizer/adam/schedule",
        "problem/mnist_mlp/training",
        "synchronize/train_step",
    ):
        assert found[name]["status"] == "passed", found[name]
    # What is refused is told in the example's own words.
    assert found["optimizer/lion/schedule"]["status"] == "skipped"
    assert found["optimizer/lion/schedule"]["detail"].startswith("autograd has sgd, momentum, adam")


def test_it_trains_beside_numpy_and_is_verified(fresh: Path, tmp_path: Path) -> None:
    done = run(
        fresh,
        tmp_path,
        "--framework=autograd,numpy",
        "--problem=mnist_mlp",
        "--steps=3",
        "--threads=1",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["framework"]["name"] for record in records] == ["autograd", "numpy"]
    for record in records:
        assert (record["status"], record["verification"]["status"]) == ("ok", "passed")
    assert records[0]["digests"] == records[1]["digests"]


def test_the_tutorial_shows_what_the_example_says() -> None:
    tutorial = (ROOT / "docs" / "plugin_tutorial.md").read_text()
    code = "".join(path.read_text() for path in (EXAMPLE / "benchmarker_autograd").glob("*.py"))
    for line in (
        'implementation="benchmarker_autograd.framework:Autograd",',
        'modes=("inference", "training"),',
        "values = {**parameters, **batch}",
        "found = call(*[values[name] if name else None for name in inputs])",
        "self._value_and_gradients = autograd.value_and_grad(loss)",
    ):
        assert line in tutorial
        assert line in code
