"""The reference's gradients: against central differences, at kinks and ties, and switched."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarker.graph.attributes import keywords
from benchmarker.graph.graph import walk
from benchmarker.graph.initializers import ZEROS
from benchmarker.graph.network import Network
from benchmarker.graph.operators import OPERATORS, STOPS
from benchmarker.plugins.numpy.base import Call
from benchmarker.plugins.numpy.gradients import GRADIENTS
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.worker.conformance.cases import OPERATOR_CASES, OperatorCase
from benchmarker.worker.conformance.derivatives import is_differentiable
from tests.support.numpy_programs import build

Array = npt.NDArray[Any]

STEP = 1e-5
TOLERANCE = 1e-6
"""Of the gradient's norm: the rounding of the loss over the step is 1e-11, the step's own error h^2."""
DIRECTIONS = 4
SMOOTH_CASES = [case for case in OPERATOR_CASES if is_differentiable(case)]
"""Those with a derivative that differences could show; kinks and stops have tests of their own below."""


@pytest.mark.parametrize("operator", sorted({case.operator for case in SMOOTH_CASES}))
def test_gradients_are_those_of_central_differences(operator: str) -> None:
    for case in SMOOTH_CASES:
        if case.operator == operator:
            check_gradients(case)


def check_gradients(case: OperatorCase) -> None:
    graph = case.graph(training=True)
    drawn, batch = case.values(graph, seed=3)
    parameters = {
        name: array.astype(np.float64) if array.dtype.kind == "f" else array for name, array in drawn.items()
    }
    program = build(graph, parameters)
    loaded = program.load(batch)
    loss_name = graph.loss or ""

    def loss(values: dict[str, Array]) -> float:
        return float(walk(graph, NumpyOperators(training=True), {**values, **loaded})[loss_name])

    value, gradients = program.gradients(loaded)
    assert value == pytest.approx(loss(parameters), rel=1e-12), case.path
    generator = np.random.default_rng(0)
    for parameter in graph.trainable:
        gradient, start = gradients[parameter.name], parameters[parameter.name]
        assert gradient.shape == parameter.type.shape, case.path
        scale = max(float(np.linalg.norm(gradient)), 1e-3)
        for _ in range(DIRECTIONS):
            direction = generator.normal(size=start.shape)
            direction /= np.linalg.norm(direction)
            sides = [loss({**parameters, parameter.name: start + s * direction}) for s in (STEP, -STEP)]
            slope = (sides[0] - sides[1]) / (2 * STEP)
            off = abs(slope - float((gradient * direction).sum()))
            assert off < TOLERANCE * scale, (case.path, parameter.name)


def test_every_operator_with_a_meaning_has_a_gradient() -> None:
    primitives = {name for name, info in OPERATORS.items() if info.kind == "primitive"}
    # Dropout is a product with its mask; a user's own operator brings its gradient with it.
    assert set(GRADIENTS) == primitives - STOPS - {"dropout"} | {"custom"}


def test_a_value_used_twice_gets_the_sum_of_both_gradients() -> None:
    net = Network("twice", 2)
    x = net.input("x", (3,))
    p = net.parameter("p", (3,), ZEROS)
    y = net.add(net.mul(p, x), net.mul(p, p))
    net.loss(net.reduce_mean(y))
    program = build(net.graph(), {"p": np.array([1.0, -2.0, 3.0])})
    x_value = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    _, gradients = program.gradients(program.load({"x": x_value}))
    expected = (x_value.sum(axis=0) + 2 * 2 * np.array([1.0, -2.0, 3.0])) / 6
    np.testing.assert_allclose(gradients["p"], expected, rtol=1e-14)


def test_nothing_flows_back_through_a_stop() -> None:
    net = Network("stopped", 1)
    x = net.input("x", (2,))
    p = net.parameter("p", (2,), ZEROS)
    y = net.mul(x, p)
    net.loss(net.reduce_mean(net.mul(y, net.stop_gradient(y))))
    program = build(net.graph(), {"p": np.array([3.0, -1.0])})
    loss, gradients = program.gradients(program.load({"x": np.array([[1.0, 2.0]])}))
    assert loss == (9 + 4) / 2
    assert gradients["p"].tolist() == [1 * 3 / 2, 2 * -2 / 2]  # x y / 2, and not twice as much


# --- single operators ------------------------------------------------------------------------


def gradient_of(
    operator: str, *inputs: Array, dy: Array | None = None, switched: float = 0.0, **given: Any
) -> Any:
    """Return the gradient of the first input for the gradient ``dy`` (ones) of the result."""
    attributes = keywords(operator, {**OPERATORS[operator].attributes, **given})
    y = getattr(NumpyOperators(), operator)(*inputs, **attributes)
    needed = (True,) + (False,) * (len(inputs) - 1)
    dy = np.ones_like(y) if dy is None else dy
    return GRADIENTS[operator](Call(inputs, (y,), (dy,), attributes, needed, switched))[0]


def test_at_a_kink_the_gradient_is_that_of_the_definition() -> None:
    zero = np.zeros(1)
    assert gradient_of("relu", zero) == 0
    assert gradient_of("abs", zero) == 0
    assert gradient_of("leaky_relu", zero, alpha=0.25) == 0.25
    bounds = np.array([-1.5, -1.0, 0.0, 2.0, 2.5])
    assert gradient_of("clip", bounds, min=-1.0, max=2.0).tolist() == [0, 1, 1, 1, 0]


WINDOW: dict[str, Any] = {"kernel_shape": (2,), "strides": (2,), "pads": (0, 0)}


def test_the_gradient_of_a_maximum_goes_to_the_first_of_equals() -> None:
    x = np.ones((1, 1, 5))
    assert gradient_of("max_pool", x, **WINDOW).ravel().tolist() == [1, 0, 1, 0, 0]
    rows = np.array([[1.0, 2.0, 2.0], [2.0, 2.0, 2.0]])
    assert gradient_of("reduce_max", rows, axes=(1,)).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert gradient_of("reduce_max", rows, axes=(0,)).tolist() == [[0, 1, 1], [1, 0, 0]]
    assert gradient_of("reduce_max", rows).tolist() == [[0, 1, 0], [0, 0, 0]]
    dy = np.array([[5.0, 7.0], [5.0, 7.0]])
    assert gradient_of("top_k", rows, k=2, dy=dy).tolist() == [[0, 5, 7], [5, 7, 0]]


def test_masked_scores_get_no_gradient() -> None:
    x, dy = np.zeros((3, 3)), np.full((3, 3), 2.0)
    assert gradient_of("causal_mask", x, dy=dy).tolist() == [[2, 0, 0], [2, 2, 0], [2, 2, 2]]


def test_rows_that_are_looked_up_several_times_get_the_sum() -> None:
    table = np.zeros((4, 2))
    indices = np.array([[3, 1], [1, 1]])
    dy = np.arange(8.0).reshape(2, 2, 2)
    assert gradient_of("gather", table, indices, dy=dy).tolist() == [[0, 0], [12, 15], [0, 0], [0, 1]]
    elements = gradient_of(
        "gather_elements", table, np.array([[1, 1], [0, 0], [1, 0], [1, 1]]), dy=dy.reshape(4, 2)
    )
    assert elements.tolist() == [[0, 1], [5, 0], [5, 4], [0, 13]]


def test_only_the_rows_of_a_table_that_were_looked_up_cost_time() -> None:
    table = np.zeros((20_000_000, 4))
    indices = np.arange(10)
    start = time.process_time()
    gradient = gradient_of("gather", table, indices)
    assert time.process_time() - start < 0.1  # to write all of it takes several times as long
    assert gradient[indices].sum() == 40


def test_the_last_repetitions_of_an_element_all_count() -> None:
    dy = np.arange(16.0).reshape(1, 1, 4, 4)
    found = gradient_of("resize", np.zeros((1, 1, 2, 2)), sizes=(4, 4), mode="nearest", dy=dy)
    assert found.ravel().tolist() == [0 + 1 + 4 + 5, 2 + 3 + 6 + 7, 8 + 9 + 12 + 13, 10 + 11 + 14 + 15]


def test_the_gradient_of_ctc_survives_certain_and_impossible_classes() -> None:
    scores = np.full((4, 1, 3), -500.0)
    scores[np.arange(4), 0, [1, 0, 1, 2]] = 500.0
    right = gradient_of("ctc_loss", scores, np.array([[1, 1, 2]]))
    np.testing.assert_allclose(right, 0.0, atol=1e-300)
    wrong = gradient_of("ctc_loss", scores, np.array([[2, 1, 2]]))
    assert np.isfinite(wrong).all()
    # Each step's gradient is a difference of two distributions.
    np.testing.assert_allclose(wrong.sum(axis=2), 0.0, atol=1e-12)


# --- switching -------------------------------------------------------------------------------

NEAR = np.array([-1e-9, 1e-9, -1e-3, 1e-3, -1.0, 1.0])


def test_a_rectifier_near_to_switching_switches_and_no_other() -> None:
    assert gradient_of("relu", NEAR).tolist() == [0, 1, 0, 1, 0, 1]
    assert gradient_of("relu", NEAR, switched=1e-6).tolist() == [1, 0, 0, 1, 0, 1]
    assert gradient_of("leaky_relu", NEAR, alpha=0.5).tolist() == [0.5, 1, 0.5, 1, 0.5, 1]
    assert gradient_of("leaky_relu", NEAR, alpha=0.5, switched=1e-6).tolist() == [1, 0.5, 0.5, 1, 0.5, 1]
    assert gradient_of("abs", NEAR).tolist() == [-1, 1, -1, 1, -1, 1]
    assert gradient_of("abs", NEAR, switched=1e-6).tolist() == [1, -1, -1, 1, -1, 1]


def test_a_dead_unit_does_not_switch() -> None:
    x = np.array([0.0, 1.0])
    for operator in ("relu", "leaky_relu", "abs"):
        assert np.array_equal(gradient_of(operator, x), gradient_of(operator, x, switched=1e-6))
    assert gradient_of("clip", x, min=0.0, max=6.0, switched=1e-6).tolist() == [1, 1]


def test_a_bound_near_to_switching_switches_and_no_other() -> None:
    x = np.array([-1e-9, 1e-9, 1e-3, 6 - 1e-9, 6 + 1e-9, 6.1])
    assert gradient_of("clip", x, min=0.0, max=6.0).tolist() == [0, 1, 1, 1, 0, 0]
    assert gradient_of("clip", x, min=0.0, max=6.0, switched=1e-6).tolist() == [1, 0, 1, 0, 1, 0]


def test_a_maximum_near_to_switching_switches_and_no_other() -> None:
    x = np.array([[[1 - 1e-9, 1.0, 0.5, 0.6]]])
    assert gradient_of("max_pool", x, **WINDOW).ravel().tolist() == [0, 1, 0, 1]
    assert gradient_of("max_pool", x, **WINDOW, switched=1e-6).ravel().tolist() == [1, 0, 0, 1]
    rows = x.reshape(2, 2)
    assert gradient_of("reduce_max", rows, axes=(1,)).tolist() == [[0, 1], [0, 1]]
    assert gradient_of("reduce_max", rows, axes=(1,), switched=1e-6).tolist() == [[1, 0], [0, 1]]


def test_masked_scores_do_not_widen_what_counts_as_near() -> None:
    rows = np.array([[0.5, 1.0, -np.inf]])
    assert gradient_of("reduce_max", rows, axes=(1,), switched=1e-6).tolist() == [[0, 1, 0]]


def test_neighbours_in_the_order_of_top_k_switch_if_they_are_near() -> None:
    x = np.array([[0.3, 1.0, 0.3 - 1e-9, 0.1], [1.0, 1 - 1e-9, 0.5, 0.0]])
    dy = np.array([[5.0, 7.0], [5.0, 7.0]])
    assert gradient_of("top_k", x, k=2, dy=dy).tolist() == [[7, 5, 0, 0], [5, 7, 0, 0]]
    # The third comes in for the second; the first and the second exchange their places.
    assert gradient_of("top_k", x, k=2, dy=dy, switched=1e-6).tolist() == [[0, 5, 7, 0], [7, 5, 0, 0]]
