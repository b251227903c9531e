"""The start of a whole run in this process, with the real NumPy plugin: right programs pass, wrong ones do not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker.api.framework import STEP_MODES, Device, Framework, FrameworkPlugin
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.orchestration.references import reference_job
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.program import NumpyProgram
from benchmarker.worker.job import RunJob
from benchmarker.worker.jobs.reference import compute_reference
from benchmarker.worker.jobs.run import run
from benchmarker.worker.stages import Stages
from tests.support.faulty_frameworks import framework_of

Array = np.ndarray


class Events:
    """Takes the place of the pipe."""

    def __init__(self) -> None:
        self.sent: dict[str, dict[str, Any]] = {}

    def send(self, event: str, **fields: Any) -> None:
        self.sent[event] = fields

    def wait_for(self, *messages: str) -> str:
        return "skip" if "skip" in messages else "go"


class Plugin:
    """The framework under test, chosen by ``Plugin.framework``."""

    framework: Callable[[], Framework] = NumpyFramework

    def benchmarker_framework(self) -> FrameworkPlugin:
        return FrameworkPlugin(
            "tested", "numpy", ("numpy",), "tests.worker.test_verified_start:make_framework"
        )


def make_framework() -> Framework:
    return Plugin.framework()


@dataclass(frozen=True)
class Sizes:
    features: int = 12
    classes: int = 5
    dropout: float = 0.0
    outputs: int = 1


def build_dense(net: Network, p: Sizes) -> None:
    x = net.input("x", (p.features,))
    label = net.labels("label", p.classes)
    x = net.relu(net.dense("fc1", x, 9))
    if p.dropout:
        x = net.dropout(x, ratio=p.dropout)
    hidden, x = x, net.dense("fc2", x, p.classes)
    net.output(x)
    if p.outputs > 1:
        net.output(hidden)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def build_biased(net: Network, p: Sizes) -> None:
    """A bias before a normalization, which takes it away again: its gradient is zero but for rounding."""
    x = net.input("x", (3, 8, 8))
    label = net.labels("label", p.classes)
    x = net.relu(net.batch_norm("bn", net.convolution("conv", x, 6, 3, pad=1, bias=True)))
    x = net.dense("fc", net.flatten(net.global_average_pool(x)), p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def build_drowned(net: Network, p: Sizes) -> None:
    """Adds what float32 cannot hold beside the input, so that no two programs need agree."""
    x = net.input("x", (p.features,))
    label = net.labels("label", p.classes)
    x = net.add(x, net.parameter("offset", (p.features,), Distribution("constant", 1e9), trainable=False))
    x = net.dense("fc", net.batch_norm("bn", x), p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


class Drowned:
    def benchmarker_problem(self) -> Problem:
        return Problem("drowned", "test", "none", Sizes, build_drowned)


class Dense:
    def benchmarker_problem(self) -> Problem:
        return Problem("dense", "test", "none", Sizes, build_dense)


class Biased:
    def benchmarker_problem(self) -> Problem:
        return Problem("biased", "test", "none", Sizes, build_biased)


JOB = RunJob(
    framework=f"{__name__}:Plugin",
    device=Device("cpu"),
    threads=1,
    seed=3,
    problem=f"{__name__}:Dense",
    problem_parameters={},
    mode="training",
    batch_size=6,
    precision="fp32",
    steps=1,
    warmup=0,
)


def run_events(
    job: RunJob, folder: Path, framework: Callable[[], Framework] = NumpyFramework, samples: int | None = None
) -> dict[str, dict[str, Any]]:
    """Compute the reference, run the job and return what the worker said."""
    count = job.batch_size if samples is None else samples
    path = folder / "reference.npz"
    job = replace(job, reference=str(path), verification_samples=count)
    events: Any = Events()
    compute_reference(reference_job(job, path), events, Stages(events))
    events.sent.clear()
    Plugin.framework = framework
    run(job, events, Stages(events))
    sent: dict[str, dict[str, Any]] = events.sent
    return sent


def verdict_of(*arguments: Any, **options: Any) -> dict[str, Any]:
    return run_events(*arguments, **options)["verification"]


def compared(verification: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(t["kind"], t["name"]) for t in verification["tensors"]]


PARAMETERS = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
GRADIENTS = [("loss", "loss"), *(("gradient", name) for name in PARAMETERS)]
FIRST_STEP = [("loss", "loss of the first step"), *(("update", name) for name in PARAMETERS)]


def test_inference_is_verified_by_its_outputs(tmp_path: Path) -> None:
    sent = run_events(replace(JOB, mode="inference", problem_parameters={"outputs": 2}), tmp_path)
    verification = sent["verification"]
    assert verification["status"] == "passed"
    assert [kind for kind, _ in compared(verification)] == ["output", "output"]
    assert verification["samples"] == 6
    assert [t["elements"] for t in verification["tensors"]] == [6 * 5, 6 * 9]
    assert len(sent["result"]["samples_nanoseconds"]) == 1


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "nesterov"])
def test_training_is_verified_by_loss_gradients_and_updates(
    optimizer: str, decay: float, tmp_path: Path
) -> None:
    verification = verdict_of(replace(JOB, optimizer=Optimizer(optimizer, weight_decay=decay)), tmp_path)
    assert verification["status"] == "passed"
    state = [("state", f"v of {name}") for name in PARAMETERS if optimizer != "sgd"]
    assert compared(verification) == GRADIENTS + FIRST_STEP + state


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("change", [{"momentum": 0.8}, {"weight_decay": 0.2}, {"learning_rate": 0.011}])
def test_a_first_step_by_another_constant_is_found(
    change: dict[str, float], decay: float, tmp_path: Path
) -> None:
    class Other(NumpyFramework):
        def build(self, *arguments: Any, **options: Any) -> Any:
            options["optimizer"] = replace(options["optimizer"], **change)
            return super().build(*arguments, **options)

    optimizer = Optimizer("nesterov", weight_decay=decay)
    verification = verdict_of(replace(JOB, optimizer=optimizer), tmp_path, Other)
    assert verification["status"] == "failed"
    assert "update" in {t["kind"] for t in verification["tensors"] if not t["passed"]} <= {"update", "state"}


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "rmsprop", "adagrad"])
def test_the_first_update_of_others_is_verified_too(optimizer: str, tmp_path: Path) -> None:
    verification = verdict_of(replace(JOB, optimizer=Optimizer(optimizer, 0.001)), tmp_path)
    assert verification["status"] == "passed"
    assert {kind for kind, _ in compared(verification)} == {"loss", "gradient", "update", "state"}


def test_a_step_with_dropout_cannot_be_compared_but_its_gradients_without(tmp_path: Path) -> None:
    verification = verdict_of(replace(JOB, problem_parameters={"dropout": 0.5}), tmp_path)
    assert verification["status"] == "passed"
    assert compared(verification) == GRADIENTS


class Counting(NumpyFramework):
    built: list[int] = []  # noqa: RUF012

    def build(self, graph: Any, *arguments: Any, **options: Any) -> Any:
        self.built.append(graph.batch_size)
        return super().build(graph, *arguments, **options)


@pytest.mark.parametrize(("samples", "built"), [(2, [6]), (4, [6, 4])])
def test_part_of_a_training_batch_fills_it_or_is_verified_by_a_second_program(
    samples: int, built: list[int], tmp_path: Path
) -> None:
    Counting.built.clear()
    verification = verdict_of(JOB, tmp_path, Counting, samples=samples)
    assert verification["status"] == "passed"
    assert verification["samples"] == samples
    assert compared(verification) == GRADIENTS
    assert Counting.built == built


class LastSampleForgotten(NumpyProgram):
    """Leaves the last sample out of the gradients of a large mini-batch."""

    def gradients(self, batch: Any) -> Any:
        if len(batch["x"]) < 6:
            return super().gradients(batch)
        return super().gradients({name: np.concatenate([a[:-1], a[:1]]) for name, a in batch.items()})


@pytest.mark.parametrize("problem", ["Dense", "Biased"])
def test_every_row_is_verified_where_the_reference_has_computed_a_part(problem: str, tmp_path: Path) -> None:
    job = replace(JOB, problem=f"{__name__}:{problem}")
    framework = framework_of(LastSampleForgotten)
    assert verdict_of(job, tmp_path, samples=3)["status"] == "passed"
    assert verdict_of(job, tmp_path, framework, samples=3)["status"] == "failed"


def test_part_of_an_inference_batch_is_verified_by_its_first_samples(tmp_path: Path) -> None:
    verification = verdict_of(replace(JOB, mode="inference"), tmp_path, samples=2)
    assert verification["status"] == "passed"
    assert [t["elements"] for t in verification["tensors"]] == [2 * 5]


@pytest.mark.parametrize("mode", STEP_MODES)
def test_double_precision_passes(mode: str, tmp_path: Path) -> None:
    verification = verdict_of(replace(JOB, mode=mode, precision="fp64"), tmp_path)
    assert verification["status"] == "passed"


def test_a_gradient_that_is_zero_but_for_rounding_passes(tmp_path: Path) -> None:
    verification = verdict_of(replace(JOB, problem=f"{__name__}:Biased"), tmp_path)
    assert verification["status"] == "passed", verification["reason"]


def test_a_problem_too_ill_conditioned_is_inconclusive_and_timed(tmp_path: Path) -> None:
    sent = run_events(replace(JOB, problem=f"{__name__}:Drowned"), tmp_path)
    assert sent["verification"]["status"] == "inconclusive"
    assert "float32 rounding alone moves" in sent["verification"]["reason"]
    assert len(sent["result"]["samples_nanoseconds"]) == 1


def test_updates_too_small_to_be_seen_pass(tmp_path: Path) -> None:
    verification = verdict_of(replace(JOB, optimizer=Optimizer("sgd", 1e-12)), tmp_path)
    assert verification["status"] == "passed", verification["reason"]


@pytest.mark.parametrize("rate", [0.0, 1e-6, 1e-3, 10.0])
def test_a_right_step_passes_at_any_learning_rate(rate: float, tmp_path: Path) -> None:
    verification = verdict_of(replace(JOB, optimizer=Optimizer("sgd", rate)), tmp_path)
    assert verification["status"] == "passed", verification["reason"]


# --- planted faults ------------------------------------------------------------------------------


class ScaledOutput(NumpyProgram):
    def fetch(self, output: Any) -> tuple[Array, ...]:
        return tuple(1.001 * array for array in super().fetch(output))


class NotANumber(NumpyProgram):
    def fetch(self, output: Any) -> tuple[Array, ...]:
        return tuple(np.full_like(array, math.nan) for array in super().fetch(output))


class SwappedSamples(NumpyProgram):
    def infer(self, batch: Any) -> Any:
        return tuple(array[::-1] for array in super().infer(batch))


class NoOutput(NumpyProgram):
    def fetch(self, output: Any) -> tuple[Array, ...]:
        return ()


class OneOutput(NumpyProgram):
    def fetch(self, output: Any) -> tuple[Array, ...]:
        return super().fetch(output)[:1]


INFERENCE = replace(JOB, mode="inference")


@pytest.mark.parametrize("program", [ScaledOutput, NotANumber, SwappedSamples])
def test_a_wrong_output_fails_and_nothing_is_timed(program: type[NumpyProgram], tmp_path: Path) -> None:
    sent = run_events(INFERENCE, tmp_path, framework_of(program))
    assert sent["verification"]["status"] == "failed"
    assert "output 'fc2' differs by" in sent["verification"]["reason"]
    assert "(1 of 1 tensors differ)" in sent["verification"]["reason"]
    assert "result" not in sent
    assert "ready" not in sent


def test_no_output_is_no_proof(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="the graph has 1 outputs, the framework returned 0"):
        run_events(INFERENCE, tmp_path, framework_of(NoOutput))
    two = replace(INFERENCE, problem_parameters={"outputs": 2})
    with pytest.raises(RuntimeError, match="the graph has 2 outputs, the framework returned 1"):
        run_events(two, tmp_path, framework_of(OneOutput))


class WrongGradient(NumpyProgram):
    def gradients(self, batch: Any) -> tuple[float, dict[str, Array]]:
        loss, found = super().gradients(batch)
        return loss, {**found, "fc2.weight": found["fc2.weight"] * 1.01}


class MissingGradient(NumpyProgram):
    def gradients(self, batch: Any) -> tuple[float, dict[str, Array]]:
        loss, found = super().gradients(batch)
        return loss, {name: g for name, g in found.items() if not name.endswith(".bias")}


class WrongLoss(NumpyProgram):
    def gradients(self, batch: Any) -> tuple[float, dict[str, Array]]:
        loss, found = super().gradients(batch)
        return loss * 6, found


class NoUpdate(NumpyProgram):
    def train_step(self, batch: Any) -> Array:
        return np.asarray(self.gradients(batch)[0], np.float32)


class OneParameterKept(NumpyProgram):
    def train_step(self, batch: Any) -> Any:
        kept = self._parameters["fc1.bias"].copy()
        loss = super().train_step(batch)
        self._parameters["fc1.bias"][:] = kept
        return loss


class DoubleUpdate(NumpyProgram):
    def train_step(self, batch: Any) -> Any:
        loss = super().train_step(batch)
        super().train_step(batch)
        return loss


class LossAfterUpdate(NumpyProgram):
    def train_step(self, batch: Any) -> Array:
        super().train_step(batch)
        return np.asarray(self.gradients(batch)[0], np.float32)


class NotFinite(NumpyProgram):
    def gradients(self, batch: Any) -> tuple[float, dict[str, Array]]:
        loss, found = super().gradients(batch)
        return loss, {**found, "fc.weight": found["fc.weight"] * math.nan}


def test_no_condition_excuses_what_is_not_finite(tmp_path: Path) -> None:
    sent = run_events(replace(JOB, problem=f"{__name__}:Drowned"), tmp_path, framework_of(NotFinite))
    assert sent["verification"]["status"] == "failed"
    assert "gradient 'fc.weight' differs by inf" in sent["verification"]["reason"]
    assert "result" not in sent


TRAINING_FAULTS: tuple[tuple[type[NumpyProgram], str, str], ...] = (
    (WrongGradient, "gradient 'fc2.weight' differs by", "(1 of 10 tensors differ)"),
    (WrongLoss, "loss 'loss' differs by", "(1 of 10 tensors differ)"),
    (NoUpdate, "update '", "(4 of 10 tensors differ)"),
    (OneParameterKept, "update 'fc1.bias' differs by", "(1 of 10 tensors differ)"),
    (DoubleUpdate, "update '", "(4 of 10 tensors differ)"),
    (LossAfterUpdate, "loss 'loss of the first step' differs by", "(1 of 10 tensors differ)"),
)


@pytest.mark.parametrize(
    ("program", "worst", "count"), TRAINING_FAULTS, ids=[fault[0].__name__ for fault in TRAINING_FAULTS]
)
def test_a_wrong_training_step_fails(
    program: type[NumpyProgram], worst: str, count: str, tmp_path: Path
) -> None:
    sent = run_events(JOB, tmp_path, framework_of(program))
    assert sent["verification"]["status"] == "failed"
    assert worst in sent["verification"]["reason"]
    assert count in sent["verification"]["reason"]
    assert "result" not in sent


def test_the_second_program_is_verified_too(tmp_path: Path) -> None:
    verification = verdict_of(JOB, tmp_path, framework_of(WrongGradient), samples=2)
    assert "gradient 'fc2.weight' differs by" in verification["reason"]


def test_a_missing_gradient_is_named(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"returned no gradient for fc1\.bias, fc2\.bias"):
        run_events(JOB, tmp_path, framework_of(MissingGradient))


class WrongMomentum(NumpyFramework):
    def build(self, *arguments: Any, optimizer: Optimizer, **options: Any) -> NumpyProgram:
        damped = replace(optimizer, learning_rate=optimizer.learning_rate * (1 - optimizer.momentum))
        return super().build(*arguments, optimizer=damped, **options)


def test_momentum_with_dampening_fails(tmp_path: Path) -> None:
    verification = verdict_of(replace(JOB, optimizer=Optimizer("momentum")), tmp_path, WrongMomentum)
    assert verification["status"] == "failed"
    assert "update '" in verification["reason"]


def test_a_reference_of_other_values_is_refused(tmp_path: Path) -> None:
    run_events(JOB, tmp_path)
    other = replace(JOB, seed=4, reference=str(tmp_path / "reference.npz"), verification_samples=6)
    events: Any = Events()
    with pytest.raises(RuntimeError, match="computed from other weights or another mini-batch"):
        run(other, events, Stages(events))
