"""Verification passes the same function, however rounded, and fails another one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker.framework import MODES, Framework, FrameworkPlugin, Optimizer
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.plugins.numpy.program import NumpyFramework, NumpyProgram
from benchmarker.problem import Problem
from benchmarker.worker.job import Job
from benchmarker.worker.reference_job import compute_reference
from benchmarker.worker.run import run
from benchmarker.worker.stages import Stages
from benchmarker.worker.verification import (
    EPSILON,
    FLOOR,
    MARGIN,
    MAX_COMPARED,
    WIDEST,
    Errors,
    Excerpt,
    Expected,
    TensorVerdict,
    Tolerance,
    Verification,
    errors,
    excerpt,
    judge,
    tolerances,
    too_ill_conditioned,
    update_tolerance,
)

Array = np.ndarray
TIGHT = Tolerance(1e-5, 1e-5)


def tensor(size: int = 1000, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=size)


def expected(array: Array, rounding: float = 1e-7, name: str = "y", kind: str = "output") -> Expected:
    return Expected(name, kind, excerpt(name, array), Errors(rounding, rounding, rounding))


def passes(found: Array, array: Array, tolerance: Tolerance = TIGHT) -> bool:
    return judge(expected(array), found, tolerance).passed


# --- one tensor ----------------------------------------------------------------------------------


def test_the_same_tensor_passes() -> None:
    verdict = judge(expected(tensor()), tensor(), TIGHT)
    assert verdict.passed
    assert (verdict.max_absolute_error, verdict.max_relative_error, verdict.norm_error) == (0, 0, 0)
    assert (verdict.elements, verdict.compared) == (1000, 1000)


def test_rounding_passes() -> None:
    assert passes(tensor().astype(np.float32), tensor())
    assert passes(tensor() * (1 + 1e-6), tensor())


def one_element(a: Array) -> Array:
    a[17] += 1e-3 * np.abs(a).max()
    return a


def one_sign(a: Array) -> Array:
    a[17] = -a[17]
    return a


def one_value(value: float) -> Callable[[Array], Array]:
    def put(a: Array) -> Array:
        a[17] = value
        return a

    return put


FAULTS: dict[str, Callable[[Array], Array]] = {
    "one-element": one_element,
    "one-sign": one_sign,
    "scaled": lambda a: a * 1.001,
    "all-signs": lambda a: -a,
    "permuted": lambda a: np.roll(a, 1),
    "reversed": lambda a: a[::-1],
    "bias": lambda a: a + 1e-3 * np.abs(a).max(),
    "zeros": np.zeros_like,
    "nan": one_value(math.nan),
    "all-nan": lambda a: np.full_like(a, math.nan),
    "infinite": one_value(math.inf),
    "minus-infinite": one_value(-math.inf),
    "too-short": lambda a: a[:-1],
    "too-long": lambda a: np.append(a, 0.0),
    "empty": lambda a: a[:0],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    assert not passes(FAULTS[fault](tensor()), tensor())


@pytest.mark.parametrize("fault", ["nan", "infinite", "too-short", "empty"])
def test_what_cannot_be_compared_is_infinitely_far_off(fault: str) -> None:
    verdict = judge(expected(tensor()), FAULTS[fault](tensor()), Tolerance(1e300, 1e300))
    assert not verdict.passed
    assert verdict.used == math.inf


def test_a_small_bias_everywhere_moves_the_norm_more_than_any_element() -> None:
    spiky = np.full(10_000, 1e-3)
    spiky[0] = 1.0
    moved = spiky + 5e-6
    verdict = judge(expected(spiky), moved, TIGHT)
    assert verdict.max_relative_error <= TIGHT.relative
    assert verdict.norm_error > TIGHT.norm
    assert not verdict.passed


def test_one_element_moves_the_maximum_more_than_the_norm() -> None:
    flat = np.ones(10_000)
    moved = flat.copy()
    moved[3] += 5e-5
    verdict = judge(expected(flat), moved, TIGHT)
    assert verdict.norm_error <= TIGHT.norm
    assert verdict.max_relative_error > TIGHT.relative
    assert not verdict.passed


def test_the_errors_by_hand() -> None:
    found = errors(excerpt("y", np.array([1.0, -2.0, 4.0])), excerpt("y", np.array([1.0, 2.0, 4.0])))
    assert found == Errors(4.0, 1.0, 4.0 / math.sqrt(21.0))


def test_expected_zeros_allow_nothing_else() -> None:
    assert passes(np.zeros(5), np.zeros(5))
    assert not passes(np.full(5, 1e-30), np.zeros(5))
    assert passes(np.zeros(0), np.zeros(0))


def test_an_expectation_that_is_not_finite_never_passes() -> None:
    assert not passes(np.ones(3), np.array([1.0, math.nan, 1.0]))
    assert not passes(np.ones(3), np.array([1.0, math.inf, 1.0]))


def test_a_scalar_is_compared() -> None:
    assert passes(np.asarray(2.0), np.array([2.0]))
    assert not passes(np.asarray(2.01), np.asarray(2.0))


# --- large tensors -------------------------------------------------------------------------------

LARGE = MAX_COMPARED * 4


def outside(array: Array) -> int:
    """Return an element that the excerpt leaves out."""
    marked = np.arange(array.size, dtype=np.float64)
    return int(np.setdiff1d(marked, excerpt("y", marked).values)[0])


def test_up_to_the_limit_every_element_is_compared() -> None:
    assert excerpt("y", np.arange(MAX_COMPARED)).values.tolist() == list(range(MAX_COMPARED))


def test_beyond_the_limit_a_part_is_compared() -> None:
    part = excerpt("y", np.arange(MAX_COMPARED + 1))
    assert part.values.size == MAX_COMPARED
    assert part.elements == MAX_COMPARED + 1
    verdict = judge(expected(tensor(LARGE)), tensor(LARGE), TIGHT)
    assert verdict.passed
    assert (verdict.elements, verdict.compared) == (LARGE, MAX_COMPARED)


def test_the_same_elements_are_taken_each_time_and_others_under_another_name() -> None:
    array = tensor(LARGE)
    assert np.array_equal(excerpt("y", array).values, excerpt("y", array.reshape(4, -1)).values)
    assert not np.array_equal(excerpt("y", array).values, excerpt("z", array).values)


def test_a_fault_outside_of_the_excerpt_is_seen_by_the_norm() -> None:
    array = tensor(LARGE)
    moved = array.copy()
    moved[outside(array)] = 100.0
    verdict = judge(expected(array), moved, TIGHT)
    assert verdict.max_absolute_error == 0
    assert verdict.norm_error > TIGHT.norm
    assert not verdict.passed


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_outside_of_the_excerpt_is_seen(value: float) -> None:
    array = tensor(LARGE)
    moved = array.copy()
    moved[outside(array)] = value
    assert not passes(moved, array)


def test_a_permutation_of_a_large_tensor_is_seen_though_its_norm_is_the_same() -> None:
    assert not passes(np.roll(tensor(LARGE), 1), tensor(LARGE))


# --- tolerances ----------------------------------------------------------------------------------


def limit(rounding: float, precision: str = "fp32") -> Tolerance:
    return tolerances([expected(tensor(), rounding)], precision)["y"]


def test_the_tolerance_is_the_margin_over_the_references_own_rounding() -> None:
    assert limit(1e-5) == Tolerance(MARGIN * 1e-5, MARGIN * 1e-5)
    assert limit(1e-9) == Tolerance(FLOOR, FLOOR)
    assert limit(0.0) == Tolerance(FLOOR, FLOOR)
    assert limit(1.0) == Tolerance(WIDEST, WIDEST)
    assert limit(math.inf) == Tolerance(WIDEST, WIDEST)


@pytest.mark.parametrize(
    ("precision", "factor"), [("fp64", 1), ("fp32", 1), ("tf32", 2**13), ("fp16", 2**13), ("bf16", 2**16)]
)
def test_the_tolerance_follows_the_precision(precision: str, factor: int) -> None:
    assert limit(1e-9, precision) == Tolerance(min(WIDEST, factor * FLOOR), min(WIDEST, factor * FLOOR))


@pytest.mark.parametrize("precision", EPSILON)
def test_a_tensor_rounded_to_the_precision_passes_and_zeros_do_not(precision: str) -> None:
    array = tensor()
    noise = np.random.default_rng(1).uniform(-1, 1, array.size) * EPSILON[precision]
    assert passes(array * (1 + noise), array, limit(1e-7, precision))
    assert not passes(np.zeros_like(array), array, limit(1e-7, precision))
    assert not passes(-array, array, limit(1e-7, precision))


def test_a_tensor_has_at_least_the_tolerance_that_is_typical_of_its_kind() -> None:
    outputs = [expected(tensor(), r, f"y{r}") for r in (1e-9, 1e-5, 3e-5)]
    found = tolerances([*outputs, expected(tensor(), 1e-3, "loss", "loss")], "fp32")
    assert found["y1e-09"] == Tolerance(MARGIN * 1e-5, MARGIN * 1e-5)
    assert found["y1e-05"] == Tolerance(MARGIN * 1e-5, MARGIN * 1e-5)
    assert found["y3e-05"] == Tolerance(MARGIN * 3e-5, MARGIN * 3e-5)
    assert found["loss"] == Tolerance(MARGIN * 1e-3, MARGIN * 1e-3)


def test_a_single_element_of_a_gradient_may_jump_where_rounding_switches_a_rectifier() -> None:
    bound = tolerances([expected(tensor(), 1e-5, "g", "gradient")], "fp32")["g"]
    assert bound == Tolerance(WIDEST, MARGIN * 1e-5)
    array = tensor()
    jumped = array.copy()
    jumped[17] += 0.9 * bound.norm * np.linalg.norm(array)
    assert passes(jumped, array, bound)
    jumped[17] += 0.2 * bound.norm * np.linalg.norm(array)
    assert not passes(jumped, array, bound)


def test_a_tensor_that_is_zero_but_for_rounding_is_judged_on_the_scale_of_its_kind() -> None:
    others = [expected(tensor(seed=i), 1e-7, f"g{i}", "gradient") for i in range(4)]
    vanishing = expected(1e-17 * tensor(16, seed=9), 1e8, "bias", "gradient")
    bound = tolerances([*others, vanishing], "fp32")["bias"]
    typical = float(np.median([np.abs(e.excerpt.values).max() for e in (*others, vanishing)]))

    values = vanishing.excerpt.values
    assert bound.relative == pytest.approx(FLOOR * typical / np.abs(values).max())
    assert bound.norm == pytest.approx(FLOOR * typical * math.sqrt(16) / np.linalg.norm(values))

    def passed(size: float) -> bool:
        return judge(vanishing, np.full(16, size), bound).passed

    assert passed(0.0)
    assert passed(0.5 * FLOOR * typical)
    assert not passed(2 * FLOOR * typical)
    assert not passed(math.nan)


def test_a_small_tensor_that_is_not_zero_keeps_its_tolerance() -> None:
    others = [expected(tensor(seed=i), 1e-7, f"g{i}", "gradient") for i in range(4)]
    small = expected(1e-4 * tensor(16, seed=9), 1e-6, "small", "gradient")
    assert tolerances([*others, small], "fp32")["small"].norm == MARGIN * 1e-6


def test_rounding_that_moves_the_reference_itself_allows_no_verdict() -> None:
    usable, hopeless = expected(tensor(), 1e-4), expected(tensor(), 0.1)
    assert too_ill_conditioned([usable]) is None
    sentence = too_ill_conditioned([hopeless])
    assert sentence is not None
    assert "float32 rounding alone moves each output" in sentence
    assert "0.1 of its norm" in sentence
    assert too_ill_conditioned([usable, usable, hopeless]) is None
    assert too_ill_conditioned([usable, hopeless, hopeless]) is not None
    assert too_ill_conditioned([expected(tensor(), math.nan)]) is not None


def test_each_kind_is_looked_at_for_itself() -> None:
    outputs = [expected(tensor(), 1e-7, f"y{i}") for i in range(9)]
    gradient = expected(tensor(), 0.2, "g", "gradient")
    assert "each gradient" in (too_ill_conditioned([*outputs, gradient]) or "")


def test_an_update_is_allowed_the_rounding_of_its_parameter() -> None:
    base, before = Tolerance(1e-5, 2e-5), np.array([0.5, -2.0], np.float32)
    rounding = 4 * 2.0**-24 * 2.0
    assert update_tolerance(base, before, 0.1) == Tolerance(2e-5 + rounding / 0.1, 4e-5 + rounding / 0.1)
    assert update_tolerance(base, np.zeros(2, np.float32), 0.1) == Tolerance(2e-5, 4e-5)
    assert update_tolerance(base, before, 0.0).relative == 2e-5 + WIDEST
    assert update_tolerance(Tolerance(0.4, 0.5), np.zeros(2, np.float32), 0.1) == Tolerance(WIDEST, WIDEST)


def test_an_update_below_the_rounding_of_its_parameter_cannot_be_seen() -> None:
    before = np.ones(4, np.float32)
    tiny = 1e-9
    assert (before - np.float32(tiny) == before).all()
    assert update_tolerance(TIGHT, before, tiny).relative > 1.0


# --- the verdict ---------------------------------------------------------------------------------


def test_the_worst_tensor_is_the_one_that_used_most_of_its_tolerance() -> None:
    def verdict(name: str, relative: float, norm: float) -> TensorVerdict:
        return TensorVerdict(name, "output", 1, 1, 0.0, relative, 1e-5, norm, 1e-3, True)

    tensors = (verdict("a", 1e-6, 1e-6), verdict("b", 1e-7, 9e-4), verdict("c", 5e-6, 0.0))
    verification = Verification("passed", "", "NumPy", 1, "", tensors)
    assert verification.worst is not None
    assert verification.worst.name == "b"
    assert verification.to_json()["worst"] == asdict(tensors[1])
    assert Verification("passed", "", "NumPy", 1, "", ()).to_json()["worst"] is None


# --- a whole run with the real NumPy plugin, in this process -------------------------------------


class Events:
    """Takes the place of the pipe."""

    def __init__(self) -> None:
        self.sent: dict[str, dict[str, Any]] = {}

    def send(self, event: str, **fields: Any) -> None:
        self.sent[event] = fields

    def wait_for(self, message: str) -> None:
        assert message == "go"


class Plugin:
    """The framework under test, chosen by ``Plugin.framework``."""

    framework: Callable[[], Framework] = NumpyFramework

    def benchmarker_framework(self) -> FrameworkPlugin:
        return FrameworkPlugin("tested", "numpy", ("numpy",), "tests.test_verification:make_framework")


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


JOB = Job("run", f"{__name__}:Plugin", f"{__name__}:Dense", batch_size=6, steps=1, warmup=0, seed=3)


def run_events(
    job: Job, folder: Path, framework: Callable[[], Framework] = NumpyFramework, samples: int | None = None
) -> dict[str, dict[str, Any]]:
    """Compute the reference, run the job and return what the worker said."""
    count = job.batch_size if samples is None else samples
    job = replace(job, reference=str(folder / "reference.npz"), verification_samples=count)
    events: Any = Events()
    compute_reference(job, events, Stages(events))
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


@pytest.mark.parametrize("optimizer", ["sgd", "momentum"])
def test_training_is_verified_by_loss_gradients_and_updates(optimizer: str, tmp_path: Path) -> None:
    verification = verdict_of(replace(JOB, optimizer=Optimizer(optimizer)), tmp_path)
    assert verification["status"] == "passed"
    assert compared(verification) == GRADIENTS + FIRST_STEP


def test_the_update_of_adam_is_left_to_the_conformance_suite(tmp_path: Path) -> None:
    verification = verdict_of(replace(JOB, optimizer=Optimizer("adam", 0.001)), tmp_path)
    assert verification["status"] == "passed"
    assert compared(verification) == [*GRADIENTS, ("loss", "loss of the first step")]


def test_a_step_with_dropout_cannot_be_compared_but_its_gradients_without(tmp_path: Path) -> None:
    verification = verdict_of(replace(JOB, problem_parameters={"dropout": 0.5}), tmp_path)
    assert verification["status"] == "passed"
    assert compared(verification) == GRADIENTS


def test_part_of_a_training_batch_is_verified_by_a_second_program(tmp_path: Path) -> None:
    class Counting(NumpyFramework):
        built: list[int] = []  # noqa: RUF012

        def build(self, graph: Any, *arguments: Any, **options: Any) -> Any:
            self.built.append(graph.batch_size)
            return super().build(graph, *arguments, **options)

    verification = verdict_of(JOB, tmp_path, Counting, samples=2)
    assert verification["status"] == "passed"
    assert verification["samples"] == 2
    assert compared(verification) == GRADIENTS
    assert Counting.built == [6, 2]


def test_part_of_an_inference_batch_is_verified_by_its_first_samples(tmp_path: Path) -> None:
    verification = verdict_of(replace(JOB, mode="inference"), tmp_path, samples=2)
    assert verification["status"] == "passed"
    assert [t["elements"] for t in verification["tensors"]] == [2 * 5]


@pytest.mark.parametrize("mode", MODES)
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


def framework_of(program: type[NumpyProgram]) -> type[NumpyFramework]:
    class Faulty(NumpyFramework):
        def build(self, *arguments: Any, **options: Any) -> NumpyProgram:
            built = super().build(*arguments, **options)
            built.__class__ = program
            return built

    return Faulty


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
    def train_step(self, batch: Any) -> Array:
        kept = self._parameters["fc1.bias"].copy()
        loss = super().train_step(batch)
        self._parameters["fc1.bias"][:] = kept
        return loss


class DoubleUpdate(NumpyProgram):
    def train_step(self, batch: Any) -> Array:
        loss = super().train_step(batch)
        super().train_step(batch)
        return loss


class LossAfterUpdate(NumpyProgram):
    def train_step(self, batch: Any) -> Array:
        super().train_step(batch)
        return np.asarray(self.gradients(batch)[0], np.float32)


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
    with pytest.raises(RuntimeError, match=r"returned no gradient of fc1\.bias, fc2\.bias"):
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


def test_an_excerpt_holds_what_the_record_says(tmp_path: Path) -> None:
    array = tensor(LARGE)
    part = excerpt("y", array)
    assert part == Excerpt(LARGE, part.values, part.norm)
    assert part.norm == pytest.approx(float(np.linalg.norm(array)), rel=1e-12)
