"""Verification passes the same function, however rounded, and fails another one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, replace

import numpy as np
import pytest

from benchmarker.api.optimizer import Optimizer
from benchmarker.worker.verification.samples import (
    MAX_COMPARED,
    Errors,
    TensorSample,
    errors,
    tensor_sample,
)
from benchmarker.worker.verification.tolerances import (
    EPSILON,
    FLOOR,
    FP64_FLOOR,
    GPU_RECURRENT_FLOOR,
    LOW_PRECISION_FLOOR,
    LOW_PRECISION_MARGIN,
    MARGIN,
    MAX_TOLERANCE,
    MODELLED_FLOOR,
    MODELLED_MARGIN,
    NEGLIGIBLE_ERROR,
    REVERSED_UPDATE,
    Expected,
    Tolerance,
    floor_of,
    tolerances,
    too_ill_conditioned,
)
from benchmarker.worker.verification.update_rule import start, update_verdicts
from benchmarker.worker.verification.verdicts import TensorVerdict, Verification, judge

Array = np.ndarray
TIGHT = Tolerance(1e-5, 1e-5)


def tensor(size: int = 1000, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=size)


def expected(array: Array, rounding: float = 1e-7, name: str = "y", kind: str = "output") -> Expected:
    return Expected(name, kind, tensor_sample(name, array), Errors(rounding, rounding, rounding))


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
    found = errors(
        tensor_sample("y", np.array([1.0, -2.0, 4.0])), tensor_sample("y", np.array([1.0, 2.0, 4.0]))
    )
    assert found == Errors(4.0, 1.0, 4.0 / math.sqrt(21.0), 8.0 / 21.0)


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
    return int(np.setdiff1d(marked, tensor_sample("y", marked).values)[0])


def test_up_to_the_limit_every_element_is_compared() -> None:
    assert tensor_sample("y", np.arange(MAX_COMPARED)).values.tolist() == list(range(MAX_COMPARED))


def test_beyond_the_limit_a_part_is_compared() -> None:
    part = tensor_sample("y", np.arange(MAX_COMPARED + 1))
    assert part.values.size == MAX_COMPARED
    assert part.elements == MAX_COMPARED + 1
    verdict = judge(expected(tensor(LARGE)), tensor(LARGE), TIGHT)
    assert verdict.passed
    assert (verdict.elements, verdict.compared) == (LARGE, MAX_COMPARED)


def test_the_same_elements_are_taken_each_time_and_others_under_another_name() -> None:
    array = tensor(LARGE)
    assert np.array_equal(tensor_sample("y", array).values, tensor_sample("y", array.reshape(4, -1)).values)
    assert not np.array_equal(tensor_sample("y", array).values, tensor_sample("z", array).values)


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
    assert limit(1.0) == Tolerance(MAX_TOLERANCE, MAX_TOLERANCE)
    assert limit(math.inf) == Tolerance(MAX_TOLERANCE, MAX_TOLERANCE)


def test_the_floor_of_full_precision() -> None:
    assert limit(1e-9, "fp32") == Tolerance(FLOOR, FLOOR)
    assert limit(1e-15, "fp64") == Tolerance(FP64_FLOOR, FP64_FLOOR)


def test_the_tolerance_of_tf32_is_far_from_anything_goes() -> None:
    floor = LOW_PRECISION_FLOOR * EPSILON["tf32"]
    assert floor < 0.1
    scale = float(np.abs(tensor()).max())
    assert limit(1e-9, "tf32") == Tolerance(floor, floor, scale)
    assert limit(0.01, "tf32") == Tolerance(LOW_PRECISION_MARGIN * 0.01, LOW_PRECISION_MARGIN * 0.01, scale)


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_the_tolerance_of_a_half_precision_is_below_a_fault_of_5_percent(precision: str) -> None:
    floor = MODELLED_FLOOR[precision]
    assert floor < 0.05 / 3
    scale = float(np.abs(tensor()).max())

    def tried(rounding: float) -> Tolerance:
        return tolerances([replace(expected(tensor(), rounding), trials=(0.0,))], precision)["y"]

    assert tried(1e-9) == Tolerance(floor, floor, scale, floor)
    assert tried(0.01) == Tolerance(MODELLED_MARGIN * 0.01, MODELLED_MARGIN * 0.01, scale, floor)


def test_a_rectifier_that_no_trial_has_met_may_switch_in_a_low_precision() -> None:
    def norm(rounding: float, switching: float, precision: str, kind: str = "adagrad") -> float:
        tried = replace(expected(tensor(), rounding, "g", kind), trials=(0.0,), switching=switching)
        return tolerances([tried], precision)["g"].norm

    assert norm(0.01, 0.2, "bf16") == 0.2
    assert norm(0.01, 0.9, "bf16") == MAX_TOLERANCE
    # Where trials have met some, what these do says more than what all do.
    assert norm(0.03, 0.2, "bf16") == MODELLED_MARGIN * 0.03
    assert norm(0.03, 0.2, "fp16") == 0.2
    assert norm(0.01, 0.0, "bf16") == MODELLED_MARGIN * 0.01
    # Gradients are compared on a mini-batch that was chosen for it.
    assert norm(0.01, 0.2, "bf16", "gradient") == MODELLED_MARGIN * 0.01


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
    assert bound == Tolerance(MAX_TOLERANCE, MARGIN * 1e-5)
    array = tensor()
    jumped = array.copy()
    jumped[17] += 0.9 * bound.norm * np.linalg.norm(array)
    assert passes(jumped, array, bound)
    jumped[17] += 0.2 * bound.norm * np.linalg.norm(array)
    assert not passes(jumped, array, bound)


@pytest.mark.parametrize(("switching", "norm"), [(0.0, MARGIN * 1e-5), (0.01, 0.02), (0.4, MAX_TOLERANCE)])
def test_what_switching_may_do_to_a_gradient_is_allowed(switching: float, norm: float) -> None:
    gradient = replace(expected(tensor(), 1e-5, "g", "gradient"), switching=switching)
    assert tolerances([gradient], "fp32")["g"] == Tolerance(MAX_TOLERANCE, norm)


def test_a_tensor_that_is_zero_but_for_rounding_is_judged_on_the_scale_of_its_kind() -> None:
    others = [expected(tensor(seed=i), 1e-7, f"g{i}", "gradient") for i in range(4)]
    vanishing = expected(1e-17 * tensor(16, seed=9), 1e8, "bias", "gradient")
    bound = tolerances([*others, vanishing], "fp32")["bias"]
    typical = float(np.median([np.abs(e.tensor_sample.values).max() for e in (*others, vanishing)]))
    assert bound == Tolerance(NEGLIGIBLE_ERROR, NEGLIGIBLE_ERROR, typical)

    def passed(size: float) -> bool:
        return judge(vanishing, np.full(16, size), bound).passed

    assert passed(0.0)
    assert passed(0.5 * NEGLIGIBLE_ERROR * typical)
    assert not passed(2 * NEGLIGIBLE_ERROR * typical)
    assert not passed(math.nan)


def test_a_tensor_that_is_exactly_zero_is_judged_on_the_scale_of_its_kind() -> None:
    others = [expected(tensor(seed=i), 1e-7, f"g{i}", "gradient") for i in range(4)]
    zero = expected(np.zeros(16), math.inf, "bias", "gradient")
    bound = tolerances([*others, zero], "fp32")["bias"]
    assert judge(zero, np.full(16, 1e-9), bound).passed
    verdict = judge(zero, np.full(16, 0.1), bound)
    assert not verdict.passed
    assert 0.01 < verdict.norm_error < 0.1  # of the others' size, not infinite


def test_a_small_tensor_that_is_mostly_rounding_counts_as_zero() -> None:
    others = [expected(tensor(seed=i), 1e-7, f"g{i}", "gradient") for i in range(4)]
    small = 1e-5 * tensor(16, seed=9)
    noise, value = expected(small, 1.0, "n", "gradient"), expected(small, 1e-6, "v", "gradient")
    bounds = tolerances([*others, noise, value], "fp32")
    assert bounds["n"].scale > 0
    assert bounds["v"] == Tolerance(MAX_TOLERANCE, MARGIN * 1e-6)


def test_rounding_that_switched_rectifiers_explain_gets_no_margin_of_its_own() -> None:
    def bound(rounding: float, switching: float) -> float:
        gradient = replace(expected(tensor(), rounding, "g", "gradient"), switching=switching)
        return tolerances([gradient], "fp32")["g"].norm

    assert bound(0.01, 0.008) == pytest.approx(0.02)
    assert bound(0.01, 0.001) == pytest.approx(MARGIN * 0.01)
    assert bound(5e-6, 4e-6) == pytest.approx(MARGIN * 5e-6)


def test_a_change_may_be_off_by_the_rounding_of_the_stored_parameter() -> None:
    change = replace(expected(tensor(), 1e-9, "p", "sgd"), stored=1e-3)
    bound = tolerances([change], "fp32")["p"]
    norm = float(np.linalg.norm(tensor()))
    assert bound.norm == pytest.approx(FLOOR + 1e-3 / norm)
    assert bound.relative == pytest.approx(REVERSED_UPDATE + 1e-3 / np.abs(tensor()).max())


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


def test_an_excerpt_holds_what_the_record_says() -> None:
    array = tensor(LARGE)
    part = tensor_sample("y", array)
    assert part == TensorSample(LARGE, part.values, part.norm)
    assert part.norm == pytest.approx(float(np.linalg.norm(array)), rel=1e-12)


def test_recurrent_layers_of_a_gpu_have_a_floor_of_their_own() -> None:
    assert floor_of({"gemm", "lstm"}, "cuda") == GPU_RECURRENT_FLOOR > FLOOR
    assert floor_of({"gemm", "lstm"}, "cpu") == floor_of({"gemm", "conv"}, "cuda") == FLOOR
    # What TF32 does to such a layer stays a fault.
    assert EPSILON["tf32"] / 4 > GPU_RECURRENT_FLOOR


@pytest.mark.parametrize("moved", [0.0, 1e-6])
def test_a_gradient_of_zeros_allows_no_velocity(moved: float) -> None:
    optimizer, zeros = Optimizer("momentum", learning_rate=0.1), {"w": np.zeros(3)}
    before = start(optimizer, {"w": np.ones(3)})
    after = replace(before, steps=1, state={"v": {"w": np.full(3, moved)}})
    limits = {"w": Tolerance(1e-5, 1e-5)}
    verdicts = {v.kind: v for v in update_verdicts(optimizer, before, after, zeros, limits, "fp32")}
    assert verdicts["update"].passed
    assert verdicts["state"].passed is (moved == 0.0)
    assert verdicts["state"].used >= 0.0
