"""The reference itself: forward against the definitions written out, gradients against central differences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarker.errors import UnsupportedError
from benchmarker.framework import Device, Optimizer
from benchmarker.graph.graph import Graph, walk
from benchmarker.graph.initializers import ZEROS
from benchmarker.graph.network import Network
from benchmarker.graph.operators import OPERATORS
from benchmarker.graph.shapes import Shapes
from benchmarker.graph.types import TensorType
from benchmarker.plugins.numpy.gradients import GRADIENTS, Call
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.numpy.program import NumpyFramework, NumpyProgram
from benchmarker.testing.cases import OPERATOR_CASES, OperatorCase
from benchmarker.testing.subject import draw_batch, draw_parameters

Array = npt.NDArray[Any]

STEP = 1e-5
SMOOTH_CASES = [case for case in OPERATOR_CASES if case.path != "relu/zeros"]


def build(
    graph: Graph,
    parameters: dict[str, Array],
    *,
    mode: str = "training",
    precision: str = "fp64",
    optimizer: Optimizer = Optimizer(),
    seed: int = 0,
) -> NumpyProgram:
    framework = NumpyFramework()
    framework.configure(Device("cpu"), threads=1, seed=seed)
    return framework.build(
        graph,
        parameters,
        mode=mode,
        device=Device("cpu"),
        precision=precision,
        optimizer=optimizer,
        options=None,
    )


# --- gradients -------------------------------------------------------------------------------


def central_difference(
    loss: Callable[[dict[str, Array]], float], parameters: dict[str, Array], name: str, index: Any
) -> float:
    """Return the slope of ``loss`` along one element of one parameter."""
    sides = []
    for step in (STEP, -STEP):
        moved = parameters[name].copy()
        moved[index] += step
        sides.append(loss({**parameters, name: moved}))
    return (sides[0] - sides[1]) / (2 * STEP)


@pytest.mark.parametrize("case", SMOOTH_CASES, ids=lambda case: case.path)
def test_gradients_are_those_of_central_differences(case: OperatorCase) -> None:
    graph = case.graph(training=True)
    drawn, batch = case.values(graph, seed=3)
    parameters = {name: array.astype(np.float64) for name, array in drawn.items()}
    program = build(graph, parameters)
    loaded = program.load(batch)
    loss_name = graph.loss or ""

    def loss(values: dict[str, Array]) -> float:
        return float(walk(graph, NumpyOperators(training=True), {**values, **loaded})[loss_name])

    value, gradients = program.gradients(loaded)
    assert value == pytest.approx(loss(parameters), rel=1e-12)
    generator = np.random.default_rng(0)
    for parameter in graph.trainable:
        gradient = gradients[parameter.name]
        assert gradient.shape == parameter.type.shape
        indices = list(np.ndindex(*parameter.type.shape))
        chosen = [indices[i] for i in generator.permutation(len(indices))[:40]]
        slopes = np.array([central_difference(loss, parameters, parameter.name, i) for i in chosen])
        found = np.array([gradient[i] for i in chosen])
        scale = max(np.abs(gradient).max(), 1e-3)
        assert np.abs(found - slopes).max() / scale < 1e-6, parameter.name


def test_every_operator_with_a_meaning_has_a_gradient() -> None:
    primitives = {name for name, info in OPERATORS.items() if info.kind == "primitive"}
    assert set(GRADIENTS) == primitives - {"dropout"}  # which is a product with its mask


def test_relu_has_gradient_0_at_0() -> None:
    graph = next(case for case in OPERATOR_CASES if case.path == "relu/zeros").graph(training=True)
    batch = {"x": np.zeros((4, 6)), "dy0": np.ones((4, 6))}
    program = build(graph, {"x.shift": np.zeros((4, 6))})
    _, gradients = program.gradients(program.load(batch))
    assert not gradients["x.shift"].any()


def test_the_gradient_of_a_maximum_goes_to_the_first_of_equals() -> None:
    graph = next(case for case in OPERATOR_CASES if case.path == "max_pool/1d").graph(training=True)
    dy = np.ones((2, 3, 4))
    program = build(graph, {"x.shift": np.zeros((2, 3, 9))})
    _, gradients = program.gradients(program.load({"x": np.ones((2, 3, 9)), "dy0": dy}))
    expected = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0]) / dy.size
    np.testing.assert_allclose(gradients["x.shift"], np.broadcast_to(expected, (2, 3, 9)), rtol=1e-14)


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


# --- forward, by the definitions -------------------------------------------------------------


def padded_element(x: Array, n: int, c: int, position: tuple[int, ...], outside: float) -> float:
    inside = all(0 <= p < size for p, size in zip(position, x.shape[2:]))
    return float(x[(n, c, *position)]) if inside else outside


def window(
    out: tuple[int, ...], kernel: tuple[int, ...], attributes: dict[str, Any]
) -> list[tuple[int, ...]]:
    """Return the positions in the unpadded input that the window of output position ``out`` sees."""
    dilations = attributes.get("dilations", (1,) * len(kernel))
    return [
        tuple(
            o * s + k * d - p
            for o, s, k, d, p in zip(out, attributes["strides"], at, dilations, attributes["pads"])
        )
        for at in itertools.product(*map(range, kernel))
    ]


def conv_by_definition(
    x: Array, w: Array, b: Array | None, shape: tuple[int, ...], a: dict[str, Any]
) -> Array:
    y = np.zeros(shape)
    for n, m, *out in np.ndindex(*shape):
        first = m // (w.shape[0] // a["group"]) * w.shape[1]
        positions = window(tuple(out), w.shape[2:], a)
        for c in range(w.shape[1]):
            seen = [padded_element(x, n, first + c, position, 0.0) for position in positions]
            y[(n, m, *out)] += np.dot(seen, w[m, c].reshape(-1))
        y[(n, m, *out)] += 0.0 if b is None else b[m]
    return y


def pool_by_definition(operator: str, x: Array, shape: tuple[int, ...], a: dict[str, Any]) -> Array:
    y = np.zeros(shape)
    for n, c, *out in np.ndindex(*shape):
        positions = window(tuple(out), a["kernel_shape"], a)
        inside = [p for p in positions if all(0 <= i < size for i, size in zip(p, x.shape[2:]))]
        seen = [float(x[(n, c, *p)]) for p in inside]
        count = len(positions) if a.get("count_include_pad") else len(inside)
        y[(n, c, *out)] = max(seen) if operator == "max_pool" else sum(seen) / count
    return y


def values_of(case: OperatorCase) -> tuple[Graph, dict[str, Array]]:
    graph = case.graph(training=False)
    parameters, batch = case.values(graph, seed=5)
    return graph, {name: array.astype(np.float64) for name, array in {**parameters, **batch}.items()}


@pytest.mark.parametrize(
    "case", [c for c in OPERATOR_CASES if c.operator == "conv"], ids=lambda case: case.path
)
def test_convolution_is_its_definition(case: OperatorCase) -> None:
    graph, values = values_of(case)
    shape = graph.types[graph.outputs[0]].shape
    expected = conv_by_definition(values["x"], values["w"], values.get("b"), shape, dict(case.attributes))
    found = walk(graph, NumpyOperators(), values)[graph.outputs[0]]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "case",
    [c for c in OPERATOR_CASES if c.operator in ("max_pool", "average_pool")],
    ids=lambda case: case.path,
)
def test_pooling_is_its_definition(case: OperatorCase) -> None:
    graph, values = values_of(case)
    shape = graph.types[graph.outputs[0]].shape
    expected = pool_by_definition(case.operator, values["x"], shape, dict(case.attributes))
    found = walk(graph, NumpyOperators(), values)[graph.outputs[0]]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_convolution_does_not_depend_on_how_many_samples_are_unfolded_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = next(c for c in OPERATOR_CASES if c.path == "conv/2d-pad-stride")
    graph = case.graph(training=True)
    parameters, batch = case.values(graph, seed=1)
    whole = build(graph, parameters).gradients(batch)[1]
    monkeypatch.setattr("benchmarker.plugins.numpy.operators._CHUNK", 1)
    single = build(graph, parameters).gradients(batch)[1]
    for name in whole:
        np.testing.assert_allclose(single[name], whole[name], rtol=1e-6, atol=1e-9)


def test_lstm_is_the_onnx_definition() -> None:
    case = next(c for c in OPERATOR_CASES if c.path == "lstm/small")
    graph, v = values_of(case)
    h = case.attributes["hidden_size"]
    x, w, r, b = v["x"], v["w"][0], v["r"][0], v["b"][0]
    hidden, cell, every = np.zeros((x.shape[1], h)), np.zeros((x.shape[1], h)), []
    for x_t in x:
        z = x_t @ w.T + hidden @ r.T + b[: 4 * h] + b[4 * h :]
        i, o, f = (1 / (1 + np.exp(-z[:, k * h : (k + 1) * h])) for k in range(3))
        cell = f * cell + i * np.tanh(z[:, 3 * h :])
        hidden = o * np.tanh(cell)
        every.append(hidden)
    found = walk(graph, NumpyOperators(), v)
    y, y_h, y_c = (found[name] for name in graph.outputs)
    np.testing.assert_allclose(y, np.stack(every)[:, None], rtol=1e-12)
    np.testing.assert_allclose(y_h[0], hidden, rtol=1e-12)
    np.testing.assert_allclose(y_c[0], cell, rtol=1e-12)


def test_loss_and_softmax_survive_large_scores() -> None:
    operators = NumpyOperators()
    scores = np.array([[1000.0, 999.0], [-1000.0, -1002.0]])
    loss = operators.softmax_cross_entropy_loss(scores, np.array([0, 1]))
    expected = (math.log(1 + math.exp(-1)) + 2 + math.log(1 + math.exp(-2))) / 2
    assert float(loss) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(operators.softmax(scores).sum(axis=1), 1.0)
    assert operators.sigmoid(np.array([-1e4, 0.0, 1e4])).tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", OPERATOR_CASES, ids=lambda case: case.path)
def test_every_result_keeps_the_floating_type_and_has_the_inferred_shape(
    case: OperatorCase, dtype: type[Any]
) -> None:
    graph = case.graph(training=True)
    parameters, batch = case.values(graph, seed=0)
    values = {
        name: array.astype(dtype) if array.dtype.kind == "f" else array
        for name, array in {**parameters, **batch}.items()
    }
    generator = np.random.default_rng(0)
    meaning = NumpyOperators(training=True, generator=generator, update_statistics=True)
    for name, array in walk(graph, meaning, values).items():
        assert array.shape == graph.types[name].shape, name
        if array.dtype.kind == "f":
            assert array.dtype == dtype, name


# --- programs --------------------------------------------------------------------------------


def line() -> Graph:
    """Return ``mean(p * x)`` with the gradient ``mean(x)`` for ``p``."""
    net = Network("line", 1)
    x = net.input("x", (1,))
    net.loss(net.reduce_mean(net.mul(x, net.parameter("p", (1,), ZEROS))))
    return net.graph()


def steps(optimizer: Optimizer, gradients: list[float]) -> list[float]:
    program = build(line(), {"p": np.array([1.0])}, optimizer=optimizer)
    positions = []
    for gradient in gradients:
        program.train_step(program.load({"x": np.array([[gradient]])}))
        positions.append(float(program.parameters()["p"][0]))
    return positions


def test_sgd() -> None:
    assert steps(Optimizer("sgd", learning_rate=0.5), [1.0, -2.0]) == pytest.approx([0.5, 1.5])


def test_momentum() -> None:
    optimizer = Optimizer("momentum", learning_rate=0.5, momentum=0.5)
    assert steps(optimizer, [1.0, 1.0, 0.0]) == pytest.approx([0.5, -0.25, -0.625])


def test_adam_is_algorithm_1() -> None:
    o = Optimizer("adam", learning_rate=0.1, beta1=0.8, beta2=0.9, epsilon=0.05)
    p, m, v, expected = 1.0, 0.0, 0.0, []
    gradients = [0.3, -0.1, 0.2]
    for t, g in enumerate(gradients, start=1):
        m = o.beta1 * m + (1 - o.beta1) * g
        v = o.beta2 * v + (1 - o.beta2) * g * g
        p -= o.learning_rate * (m / (1 - o.beta1**t)) / (math.sqrt(v / (1 - o.beta2**t)) + o.epsilon)
        expected.append(p)
    assert steps(o, gradients) == pytest.approx(expected, rel=1e-6)


def test_running_statistics_move_to_the_mean_and_biased_variance_of_the_mini_batch() -> None:
    net = Network("statistics", 2)
    y = net.batch_norm("bn", net.input("x", (1, 2)), momentum=0.75)
    net.loss(net.reduce_mean(y))
    start = {"bn.weight": [1.0], "bn.bias": [0.0], "bn.running_mean": [4.0], "bn.running_var": [2.0]}
    program = build(net.graph(), {name: np.array(value) for name, value in start.items()})
    batch = program.load({"x": np.array([[[1.0, 3.0]], [[5.0, 7.0]]])})  # mean 4, biased variance 5
    program.gradients(batch)
    assert program.parameters()["bn.running_var"][0] == 2.0
    program.train_step(batch)
    assert program.parameters()["bn.running_mean"][0] == pytest.approx(4.0)
    assert program.parameters()["bn.running_var"][0] == pytest.approx(0.75 * 2.0 + 0.25 * 5.0)


def test_dropout_depends_on_the_seed_alone() -> None:
    net = Network("dropout", 4)
    x = net.input("x", (50,))
    net.loss(net.reduce_mean(net.dropout(net.mul(x, net.parameter("p", (1,), ZEROS)), ratio=0.5)))
    graph = net.graph()
    batch, parameters = draw_batch(graph, 0), {"p": np.ones(1)}
    losses = [float(build(graph, parameters, seed=seed).train_step(batch)) for seed in (1, 1, 2)]
    assert losses[0] == losses[1] != losses[2]


def test_precision_is_that_of_the_arrays() -> None:
    graph = line()
    for precision, dtype in (("fp32", np.float32), ("fp64", np.float64)):
        program = build(graph, draw_parameters(graph, 0), precision=precision)
        batch = program.load(draw_batch(graph, 0))
        assert program.fetch(program.train_step(batch))[0].dtype == dtype
        assert program.gradients(batch)[1]["p"].dtype == dtype
        assert program.parameters()["p"].dtype == np.float32


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="cpu only, got device 'cuda'"):
        NumpyFramework().configure(Device("cuda"), threads=1, seed=0)
    with pytest.raises(UnsupportedError, match="got precision 'fp16'"):
        build(line(), {"p": np.ones(1)}, precision="fp16")
    with pytest.raises(UnsupportedError, match="got 'lion'"):
        build(line(), {"p": np.ones(1)}, optimizer=Optimizer("lion"))
    with pytest.raises(UnsupportedError, match="built for inference"):
        build(line(), {"p": np.ones(1)}, mode="inference").train_step({"x": np.ones((1, 1))})


def test_the_blas_is_named() -> None:
    libraries = NumpyFramework().libraries()
    assert libraries["blas"]


@pytest.mark.parametrize("ceil_mode", [False, True])
def test_pooling_has_as_many_windows_as_the_shapes_say(ceil_mode: bool) -> None:
    checked = 0
    for size, kernel, stride, begin, end in itertools.product(
        range(1, 8), (1, 2, 3), (1, 2, 3), (0, 1, 2), (0, 1, 2)
    ):
        attributes = {
            "kernel_shape": (kernel,),
            "strides": (stride,),
            "pads": (begin, end),
            "ceil_mode": ceil_mode,
        }
        if size + begin + end < kernel:
            continue
        expected = Shapes().max_pool(TensorType((1, 1, size)), **attributes).shape
        found = NumpyOperators().max_pool(-np.arange(1.0, size + 1).reshape(1, 1, size), **attributes)
        assert found.shape == expected, (size, attributes)
        checked += 1
    assert checked > 500


def gradient_of(
    operator: str, x: npt.NDArray[Any], y: npt.NDArray[Any], switched: float, **attributes: Any
) -> Any:
    call = Call((x,), (y,), (np.ones_like(y),), attributes, (True,), switched)
    return GRADIENTS[operator](call)[0]


def test_a_rectifier_near_to_switching_switches_and_no_other() -> None:
    x = np.array([-1e-9, 1e-9, -1e-3, 1e-3, -1.0, 1.0])
    y = np.maximum(x, 0)
    assert gradient_of("relu", x, y, 0.0).tolist() == [0, 1, 0, 1, 0, 1]
    assert gradient_of("relu", x, y, 1e-6).tolist() == [1, 0, 0, 1, 0, 1]


def test_a_maximum_near_to_switching_switches_and_no_other() -> None:
    x = np.array([[[1 - 1e-9, 1.0, 0.5, 0.6]]])
    y = np.array([[[1.0, 0.6]]])
    attributes = {"kernel_shape": (2,), "strides": (2,), "pads": (0, 0)}
    assert gradient_of("max_pool", x, y, 0.0, **attributes).ravel().tolist() == [0, 1, 0, 1]
    assert gradient_of("max_pool", x, y, 1e-6, **attributes).ravel().tolist() == [1, 0, 0, 1]
