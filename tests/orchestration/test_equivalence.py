"""``verify``: real processes of right and wrong frameworks, and what the command says of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.text.equivalence import equivalence_table
from benchmarker.orchestration.jobs.equivalence_report import EquivalenceReport, FrameworkVerdict
from benchmarker.worker.verification.equivalence import Quantity
from benchmarker.worker.verification.findings import left_out
from benchmarker.worker.verification.later_gradients import GRADIENT_STEPS
from benchmarker.worker.verification.verdicts import TensorVerdict
from tests.conftest import Command, Finished

pytestmark = pytest.mark.framework("numpy")

LEFT_OUT = left_out("later steps", "they take long")

WRONG = '''
"""NumPy under other names: with the loss (not its gradient) summed, without some operators, or dying."""

import os
import signal
from dataclasses import dataclass, replace

import numpy as np

from benchmarker.graph.operators import Operators
from benchmarker.plugins import numpy
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.numpy.framework import NumpyFramework


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


class Doubling(NumpyFramework):
    class operators(NumpyOperators):
        def dropout_mask(self, x, ratio):
            mask = super().dropout_mask(x, ratio)
            return None if mask is None else mask / (1 - ratio)


class DoublingPlugin:
    def benchmarker_framework(self):
        return _plugin("doubling")


class FewOperators(Operators):
    gemm = NumpyOperators.gemm


class Few(NumpyFramework):
    operators = FewOperators


class Dying(NumpyFramework):
    def build(self, *arguments, **keywords):
        os.kill(os.getpid(), signal.SIGKILL)


class Single(NumpyFramework):
    """Computes in float32, whatever it declares."""

    def build(self, *arguments, **keywords):
        return super().build(*arguments, **{**keywords, "precision": "fp32"})


@dataclass(frozen=True)
class TunableOptions:
    wrong_by: float = 0.0


class Tunable(NumpyFramework):
    def build(self, *arguments, **keywords):
        program = super().build(*arguments, **keywords)
        gradients, train_step, wrong = program.gradients, program.train_step, keywords["options"].wrong_by

        def with_other_loss(batch):
            loss, found = gradients(batch)
            return loss * (1 + wrong), found

        program.gradients = with_other_loss
        program.train_step = lambda batch: train_step(batch) * np.float32(1 + wrong)
        return program


class CoarsePlugin:
    def benchmarker_framework(self):
        return replace(
            _plugin("coarse"), implementation="wrong_framework:Single", precisions={"cpu": ("fp32", "bf16")}
        )


class SinglePlugin:
    def benchmarker_framework(self):
        return replace(_plugin("single"), precisions={"cpu": ("fp32",)})


class TunablePlugin:
    def benchmarker_framework(self):
        return replace(_plugin("tunable"), options=TunableOptions)


class SummingPlugin:
    def benchmarker_framework(self):
        return _plugin("summing")


class FewPlugin:
    def benchmarker_framework(self):
        return _plugin("few")


class DyingPlugin:
    def benchmarker_framework(self):
        return _plugin("dying")


class Inferring(NumpyFramework):
    pass


class InferringPlugin:
    def benchmarker_framework(self):
        return replace(_plugin("inferring"), modes=("inference",))
'''


@pytest.fixture
def wrong(command: Command, distribution: Callable[..., Path]) -> Command:
    """The command with frameworks that are wrong."""
    names = ("Doubling", "Summing", "Few", "Dying", "Coarse", "Single", "Tunable", "Inferring")
    points = [f"{name.lower()} = wrong_framework:{name}Plugin" for name in names]
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
    assert found["status"] == "passed"
    (verdict,) = found["verdicts"]
    kinds = [quantity["kind"] for quantity in verdict["quantities"]]
    assert kinds == [
        "output", "loss", "gradient",
        "sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad", "later",
    ]  # fmt: skip
    assert all(quantity["status"] == "passed" for quantity in verdict["quantities"])
    assert all(0 < quantity["worst"]["norm_error"] < 1e-3 for quantity in verdict["quantities"])
    assert "times the rounding error of the reference" in found["tolerance_reason"]


def test_dropouts_own_masks_are_compared(wrong: Command) -> None:
    asked = ("--problem=deep_mnist", "--framework=numpy,doubling", "--size=reduced", "--optimizer=sgd")
    finished = wrong("verify", *asked, "--json")
    assert finished.status == 1, finished.stderr
    right, doubling = report(finished)["verdicts"]
    steps = (GRADIENT_STEPS, "passed")
    assert [(check["name"], check["status"]) for check in right["checks"]] == [steps, ("dropout", "passed")]
    assert [(check["name"], check["status"]) for check in doubling["checks"]] == [
        steps,
        ("dropout", "failed"),
    ]
    assert all(quantity["status"] == "passed" for quantity in doubling["quantities"])
    assert (right["status"], doubling["status"]) == ("passed", "failed")
    told = wrong("verify", *asked).stdout
    assert "numpy: dropout agrees: the loss of " in told
    assert "doubling: dropout DIFFERS: the loss of " in told


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


@pytest.mark.parametrize("frameworks", ["inferring", "numpy,inferring", "inferring,numpy"])
def test_a_framework_without_training_is_compared_by_its_outputs(wrong: Command, frameworks: str) -> None:
    options = ("--batch-size=4", "--json", "--set=classes=7", "--steps=1")
    finished = wrong("verify", "--problem=mnist_mlp", f"--framework={frameworks}", *options)
    assert finished.status == 0, finished.stdout + finished.stderr
    verdicts = [v for v in report(finished)["verdicts"] if v["framework"] == "inferring"]
    sizes = ["reduced", "full"] if frameworks == "numpy,inferring" else ["reduced"]
    assert [verdict["size"] for verdict in verdicts] == sizes
    assert all([q["kind"] for q in verdict["quantities"]] == ["output"] for verdict in verdicts)


def test_a_wrong_framework_is_named_with_its_worst_tensor(wrong: Command) -> None:
    finished = wrong(
        "verify", "--problem=mnist_mlp", "--framework=numpy,summing", "--size=reduced", "--optimizer=sgd,adam"
    )
    assert finished.status == 1
    assert finished.stdout.startswith("mnist_mlp: FAILED\n")
    rows = {line.split()[0]: line for line in finished.stdout.splitlines() if line}
    assert rows["status"].split() == ["status", "passed", "failed"]
    marked = {kind for kind in ("outputs", "loss", "gradients", "sgd", "adam") if "!" in rows[kind]}
    assert marked == {"loss", "sgd", "adam"}
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
        "--steps=20",
        "--json",
    )
    assert finished.status == 0, finished.stderr
    (verdict,) = report(finished)["verdicts"]
    assert [quantity["kind"] for quantity in verdict["quantities"]] == [
        "output", "loss", "gradient", "own", "later"
    ]  # fmt: skip


def test_what_rounding_alone_decides_is_neither_passed_nor_failed(wrong: Command) -> None:
    """Rounding its weights to bfloat16 moves the gradients of a small ResNet by a tenth and more."""
    options = ("--size=reduced", "--precision=bf16", "--optimizer=sgd")
    finished = wrong("verify", "--problem=resnet50", "--framework=coarse", *options)
    assert finished.status == 3, finished.stdout
    assert finished.stdout.startswith("resnet50: INCONCLUSIVE\n")
    assert "tensors not judged" in finished.stdout


def test_a_precision_that_a_framework_does_not_declare_is_not_verified(wrong: Command) -> None:
    options = ("--size=reduced", "--precision=fp64", "--optimizer=sgd", "--json")
    finished = wrong("verify", "--problem=mnist_mlp", "--framework=single,numpy", *options)
    assert finished.status == 0, finished.stderr
    single, right = report(finished)["verdicts"]
    assert single["unable"] == "framework 'single' has no fp64 on cpu; it has fp32"
    assert (single["status"], right["status"]) == ("unable", "passed")


def test_options_of_a_framework_reach_it(wrong: Command) -> None:
    options = ("--size=reduced", "--optimizer=sgd", "--set=wrong_by=0.5", "--set=inputs=20", "--json")
    finished = wrong("verify", "--problem=mnist_mlp", "--framework=tunable", *options)
    assert finished.status == 1, finished.stderr
    found = report(finished)
    assert found["parameters"]["reduced"]["inputs"] == 20
    statuses = {q["kind"]: q["status"] for q in found["verdicts"][0]["quantities"]}
    assert statuses == {
        "output": "passed", "loss": "failed", "gradient": "passed", "sgd": "failed", "later": "failed"
    }  # fmt: skip
    assert found["verdicts"][0]["options"] == {"wrong_by": 0.5}


def test_the_options_that_are_not_as_by_default_stand_beside_the_verdict(wrong: Command) -> None:
    options = ("--size=reduced", "--optimizer=sgd", "--set=tunable.wrong_by=0.5")
    finished = wrong("verify", "--problem=mnist_mlp", "--framework=tunable", *options)
    assert "tunable (wrong_by=0.5): " in finished.stdout


@pytest.mark.parametrize(("wrong_by", "status"), [("0.0", 0), ("0.5", 1)])
def test_check_takes_the_options_of_a_framework_beside_those_of_a_problem(
    wrong: Command, wrong_by: str, status: int
) -> None:
    options = ("--gradients", "--problem=mnist_mlp", f"--set=wrong_by={wrong_by}", "--set=inputs=20")
    finished = wrong("check", "tunable", *options, "--json")
    assert finished.status == status, finished.stderr
    assert json.loads(finished.stdout)["options"] == {"wrong_by": float(wrong_by)}
    told = wrong("check", "tunable", *options).stdout.splitlines()[-1]
    assert told.endswith(": 1 passed, 0 failed, 0 skipped") is (status == 0)
    assert ("(wrong_by=0.5)" in told) is (status == 1)


def test_what_was_left_out_is_told_with_its_reason() -> None:
    loss = TensorVerdict("loss", "loss", 1, 1, 0.0, 0.0, 1e-5, 0.0, 1e-5, True)
    verdict = FrameworkVerdict(
        "numpy", "2.4", "reduced", "numpy 2.4", (Quantity("loss", 1, (), loss, ()),), checks=(LEFT_OUT,)
    )
    found = EquivalenceReport("mnist_mlp", {"reduced": {}}, {"reduced": 4}, "cpu", 3, "32 times", (verdict,))
    assert found.status == "passed"
    assert found.to_json()["verdicts"][0]["checks"] == [
        {"name": "later steps", "status": "left_out", "detail": "they take long"}
    ]
    assert "numpy: later steps left out: they take long" in equivalence_table(found).splitlines()


def test_tables_fit_the_terminal(wrong: Command) -> None:
    frameworks = "--framework=numpy,summing,few,tunable,dying"
    finished = wrong("verify", "--problem=mnist_mlp", frameworks, "--size=reduced")
    assert finished.status == 1
    assert max(map(len, finished.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--framework=numpi",), "unknown framework 'numpi'; did you mean 'numpy'?"),
        (("--framework=numpy", "--optimizer=adma"), "unknown optimizer 'adma'; did you mean 'adam'?"),
        (("--framework=numpy", "--size=half"), "unknown size 'half'"),
        (("--framework=numpy", "--steps=0"), "--steps must be a whole number from 1 to 2147483647, got 0"),
        (("--framework=numpy", "--set=depth=3"), "none of 'mnist_mlp', 'numpy' has a parameter 'depth'"),
        (
            ("--framework=numpy", "--precision=fp8"),
            "--precision must be 'fp32', 'fp64', 'tf32', 'bf16', 'fp16' or 'int8', got",
        ),
        (
            ("--framework=numpy", "--precision=bf16"),
            "framework 'numpy' has no bf16 on cpu; it has fp32, fp64",
        ),
        (
            ("--framework=numpy", "--batch-size=0"),
            "--batch-size must be a whole number from 1 to 2147483647, got 0",
        ),
        (
            ("--framework=numpy", "--threads=0"),
            "--threads must be a whole number from 1 to 2147483647, got 0",
        ),
        (
            ("--framework=numpy", "--threads=-5"),
            "--threads must be a whole number from 1 to 2147483647, got -5",
        ),
        (("--framework=numpy", "--seed=-1"), "--seed must be a whole number from 0 to 4294967295, got -1"),
        (("--framework=numpy", "--timeout=0"), "--timeout must be a number above 0, got 0"),
        (
            ("--framework=numpy", "--set=classes=7,8"),
            "verify takes one value of 'classes', got 7, 8",
        ),
        (("--framework=numpy,numpy",), "framework 'numpy' is named twice"),
        (("--framework=numpy", "--optimizer=sgd,sgd"), "optimizer 'sgd' is named twice"),
        (
            ("--framework=numpy", "--size=full"),
            "at full size, frameworks are compared with each other, so there must be two or more, got 'numpy' alone",
        ),
        (
            ("--framework=numpy", "--env=/nowhere"),
            "--env must be auto, current, managed, container:IMAGE or the path of a Python interpreter; there is no ",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(command: Command, options: tuple[str, ...], message: str) -> None:
    finished = command("verify", "--problem=mnist_mlp", *options)
    assert finished.status == 2
    assert finished.stderr.startswith((f"benchmarker: {message}", f"benchmarker verify: {message}"))
    assert finished.stderr.count("\n") == 1
