"""The reference as a framework: its programs, its optimizers, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarker.api.framework import Device
from benchmarker.api.optimizer import OPTIMIZERS, Optimizer
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.graph.initializers import ONES, ZEROS
from benchmarker.graph.network import Network
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.worker.conformance.subject import draw_batch, draw_parameters
from tests.support.numpy_programs import build

# --- optimizers ------------------------------------------------------------------------------


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


def test_nesterov_steps_by_where_the_momentum_will_be() -> None:
    optimizer = Optimizer("nesterov", learning_rate=0.5, momentum=0.5)
    # v is 1, 1.5, 0.75 and the step is half of g + v / 2.
    assert steps(optimizer, [1.0, 1.0, 0.0]) == pytest.approx([0.25, -0.625, -0.8125])


GRADIENTS = [0.3, -0.1, 0.2]


def adam_by_algorithm_1(o: Optimizer, *, coupled: float = 0.0, decoupled: float = 0.0) -> list[float]:
    p, m, v, expected = 1.0, 0.0, 0.0, []
    for t, gradient in enumerate(GRADIENTS, start=1):
        g = gradient + coupled * p
        p -= o.learning_rate * decoupled * p
        m = o.beta1 * m + (1 - o.beta1) * g
        v = o.beta2 * v + (1 - o.beta2) * g * g
        p -= o.learning_rate * (m / (1 - o.beta1**t)) / (math.sqrt(v / (1 - o.beta2**t)) + o.epsilon)
        expected.append(p)
    return expected


ADAM = Optimizer("adam", learning_rate=0.1, beta1=0.8, beta2=0.9, epsilon=0.05)


def test_adam_is_algorithm_1() -> None:
    assert steps(ADAM, GRADIENTS) == pytest.approx(adam_by_algorithm_1(ADAM), rel=1e-6)


def test_adams_weight_decay_is_part_of_the_gradient_and_adamws_is_not() -> None:
    adam = replace(ADAM, weight_decay=0.5)
    adamw = replace(adam, kind="adamw")
    assert steps(adam, GRADIENTS) == pytest.approx(adam_by_algorithm_1(adam, coupled=0.5), rel=1e-6)
    assert steps(adamw, GRADIENTS) == pytest.approx(adam_by_algorithm_1(adamw, decoupled=0.5), rel=1e-6)


@pytest.mark.parametrize("kind", ["rmsprop", "adagrad"])
def test_the_gradient_is_divided_by_the_root_of_its_squares(kind: str) -> None:
    o = Optimizer(kind, learning_rate=0.1, decay=0.75, epsilon=0.05)
    old, new = (0.75, 0.25) if kind == "rmsprop" else (1.0, 1.0)
    p, s, expected = 1.0, 0.0, []
    for g in GRADIENTS:
        s = old * s + new * g * g
        p -= 0.1 * g / (math.sqrt(s) + 0.05)
        expected.append(p)
    assert steps(o, GRADIENTS) == pytest.approx(expected, rel=1e-6)


DECOUPLED = {"adafactor", "adamw", "lion", "muon", "schedule_free_adamw"}
"""What shrinks parameters by themselves, not through their gradients."""


@pytest.mark.parametrize("kind", sorted(set(OPTIMIZERS) - DECOUPLED))
def test_weight_decay_is_added_to_the_gradient(kind: str) -> None:
    # The first step from p = 1 sees the gradient 0.2 + 0.5 * 1.
    decayed = steps(Optimizer(kind, learning_rate=0.1, epsilon=0.05, weight_decay=0.5), [0.2])
    assert decayed == pytest.approx(steps(Optimizer(kind, learning_rate=0.1, epsilon=0.05), [0.7]))


# --- programs --------------------------------------------------------------------------------


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
        assert program.parameters()["p"].dtype == dtype


def test_a_class_weight_that_is_trainable_is_refused() -> None:
    net = Network("weighted", 2)
    scores = net.dense("fc", net.input("x", (3,)), 4)
    weights = net.parameter("weights", (4,), ONES)
    net.loss(net.softmax_cross_entropy_loss(scores, net.labels("label", 4), weights))
    graph = net.graph()
    program = build(graph, draw_parameters(graph, 0))
    with pytest.raises(
        UnsupportedError, match=r"'softmax_cross_entropy_loss'.*class weight.*not be trainable"
    ):
        program.gradients(program.load(draw_batch(graph, 0)))


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="cpu only, got device 'cuda'"):
        NumpyFramework().configure(Device("cuda"), threads=1, seed=0)
    with pytest.raises(UnsupportedError, match="got precision 'fp16'"):
        build(line(), {"p": np.ones(1)}, precision="fp16")
    with pytest.raises(UnsupportedError, match="got 'shampoo'"):
        build(line(), {"p": np.ones(1)}, optimizer=Optimizer("shampoo"))
    with pytest.raises(UnsupportedError, match="built for inference"):
        build(line(), {"p": np.ones(1)}, mode="inference").train_step({"x": np.ones((1, 1))})


def test_the_blas_is_named() -> None:
    libraries = NumpyFramework().libraries()
    assert libraries["blas"]
