"""``verify``: real processes of right and wrong frameworks, and what the command says of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command, Finished

WRONG = '''
"""NumPy under other names: with the loss (not its gradient) summed, without some operators, or dying."""

import os
import signal
from dataclasses import replace

from benchmarker.graph.operators import Operators
from benchmarker.plugins import numpy
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.numpy.program import NumpyFramework


def _plugin(name):
    described = numpy.benchmarker_framework()
    return replace(described, name=name, implementation=f"wrong_framework:{name.capitalize()}")


class SummingOperators(NumpyOperators):
    def softmax_cross_entropy_loss(self, scores, labels, weights=None, *, reduction, ignore_index):
        return super().softmax_cross_entropy_loss(
            scores, labels, weights, reduction="sum", ignore_index=ignore_index
        )


class Summing(NumpyFramework):
    operators = SummingOperators


class FewOperators(Operators):
    gemm = NumpyOperators.gemm


class Few(NumpyFramework):
    operators = FewOperators


class Dying(NumpyFramework):
    def build(self, *arguments, **keywords):
        os.kill(os.getpid(), signal.SIGKILL)


class SummingPlugin:
    def benchmarker_framework(self):
        return _plugin("summing")


class FewPlugin:
    def benchmarker_framework(self):
        return _plugin("few")


class DyingPlugin:
    def benchmarker_framework(self):
        return _plugin("dying")
'''


@pytest.fixture
def wrong(command: Command, distribution: Callable[..., Path]) -> Command:
    """The command with frameworks that are wrong."""
    points = [f"{name.lower()} = wrong_framework:{name}Plugin" for name in ("Summing", "Few", "Dying")]
    return command.with_path(distribution("wrong", {"frameworks": points}, {"wrong_framework": WRONG}))


def report(finished: Finished) -> dict[str, Any]:
    (line,) = finished.stdout.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_right_framework_passes_in_everything(command: Command) -> None:
    finished = command("verify", "--problem=mnist_mlp", "--framework=numpy", "--size=reduced", "--json")
    assert finished.status == 0, finished.stderr
    assert finished.stderr == ""
    found = report(finished)
    assert found["passed"] is True
    (verdict,) = found["verdicts"]
    kinds = [quantity["kind"] for quantity in verdict["quantities"]]
    assert kinds == [
        "output", "loss", "gradient", "sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad"
    ]  # fmt: skip
    assert all(quantity["status"] == "passed" for quantity in verdict["quantities"])
    assert all(0 < quantity["worst"]["norm_error"] < 1e-3 for quantity in verdict["quantities"])
    assert "times the rounding error of the reference" in found["tolerance_reason"]


def test_full_size_compares_the_frameworks_with_each_other(wrong: Command) -> None:
    options = ("--size=full", "--batch-size=6", "--json", "--set=classes=7")
    finished = wrong("verify", "--problem=mnist_mlp", "--framework=numpy,summing", *options)
    assert finished.status == 1
    found = report(finished)
    assert found["batch_sizes"] == {"full": 6}
    assert found["parameters"]["full"]["classes"] == 7
    (verdict,) = found["verdicts"]
    assert verdict["framework"] == "summing"
    assert verdict["against"].startswith("numpy ")
    assert {q["kind"]: q["status"] for q in verdict["quantities"]} == {
        "output": "passed",
        "loss": "failed",
        "gradient": "passed",  # the plugin's own gradient is that of the mean
    }


def test_a_wrong_framework_is_named_with_its_worst_tensor(wrong: Command) -> None:
    finished = wrong(
        "verify", "--problem=mnist_mlp", "--framework=numpy,summing", "--size=reduced", "--optimizer=sgd,adam"
    )
    assert finished.status == 1
    assert finished.stdout.startswith("mnist_mlp: FAILED\n")
    rows = {line.split()[0]: line for line in finished.stdout.splitlines() if line}
    assert rows["numpy"].rstrip().endswith("passed")
    assert rows["summing"].count("!") >= 3
    assert "summing: " in finished.stdout
    assert "tensors differ, most of all" in finished.stdout
    assert "computing the reference" in finished.stderr


def test_a_framework_without_the_operators_is_told_apart_from_a_wrong_one(wrong: Command) -> None:
    finished = wrong("verify", "--problem=mnist_mlp", "--framework=few,numpy", "--size=reduced", "--json")
    assert finished.status == 0, finished.stderr
    few, right = report(finished)["verdicts"]
    assert few["status"] == "unable"
    assert few["unable"].startswith("framework 'few' has no relu")
    assert right["status"] == "passed"


def test_a_framework_that_dies_fails_alone(wrong: Command) -> None:
    finished = wrong("verify", "--problem=mnist_mlp", "--framework=dying,numpy", "--size=reduced", "--json")
    assert finished.status == 1
    dying, right = report(finished)["verdicts"]
    assert "SIGKILL" in dying["failure"]
    assert right["status"] == "passed"


def test_the_problems_own_optimizer_can_be_followed(command: Command) -> None:
    finished = command(
        "verify",
        "--problem=mnist_mlp",
        "--framework=numpy",
        "--size=reduced",
        "--optimizer=own",
        "--steps=50",
        "--json",
    )
    assert finished.status == 0, finished.stderr
    (verdict,) = report(finished)["verdicts"]
    assert [quantity["kind"] for quantity in verdict["quantities"]] == ["output", "loss", "gradient", "own"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--framework=numpi",), "unknown framework 'numpi'; did you mean 'numpy'?"),
        (("--framework=numpy", "--optimizer=adma"), "unknown optimizer 'adma'; did you mean 'adam'?"),
        (("--framework=numpy", "--size=half"), "unknown size 'half'"),
        (("--framework=numpy", "--steps=0"), "the number of steps must be at least 1, got 0"),
        (("--framework=numpy", "--set=depth=3"), "problem 'mnist_mlp' has no parameter 'depth'"),
        (("--framework=numpy", "--precision=fp8"), "unknown precision 'fp8'"),
    ],
)
def test_what_makes_no_sense_is_refused(command: Command, options: tuple[str, ...], message: str) -> None:
    finished = command("verify", "--problem=mnist_mlp", *options)
    assert finished.status == 2
    assert finished.stderr.startswith(f"benchmarker: {message}")
    assert finished.stderr.count("\n") == 1
