"""MXNet's programs, seen from inside, and what of the plugin needs no MXNet.

That is its flat recurrent weights, shared statistics, and what is set apart.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker.graph.graph import Graph
from benchmarker.graph.initializers import ONES, ZEROS
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.plugins.mxnet.lowering import _used_twice
from benchmarker.plugins.mxnet.parameters import Slot, slots
from benchmarker.plugins.mxnet.shared_statistics import own_statistics, shared_statistics
from tests.support import framework_process

STEPS, BATCH, SIZE, HIDDEN = 4, 2, 3, 5
NORMAL = Distribution("normal")

# --- in MXNet's environment ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def answer(cache_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """Return what runs a script in MXNet's environment, on one thread, and reads the JSON of its last line."""
    folder = tmp_path_factory.mktemp("mxnet")
    return lambda script: framework_process.answer("mxnet", "-c", script, folder=folder, OMP_NUM_THREADS="1")


BUILD = """
import json, time
import numpy as np
from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.graph.network import Network
from benchmarker.plugins.mxnet import Options
from benchmarker.plugins.mxnet.framework import MxnetFramework
from benchmarker.worker.conformance.subject import draw_batch, draw_parameters

def build(graph, parameters, mode, optimizer=Optimizer("sgd")):
    return MxnetFramework().build(
        graph, parameters, mode=mode, device=Device("cpu"), precision="fp32", optimizer=optimizer,
        options=Options(),
    )
"""

PROFILE = """
net = Network("dense", 512)
x = net.relu(net.dense("fc1", net.input("x", (512,)), 512))
x = net.dense("fc2", x, 16)
net.output(x)
net.loss(net.softmax_cross_entropy_loss(x, net.labels("label", 16)))
graph = net.graph()
program = build(graph, draw_parameters(graph, 0), "training")
batch = program.load(draw_batch(graph, 0))

def timed():
    start = time.perf_counter()
    program.synchronize(program.train_step(batch))
    return time.perf_counter() - start

before = [timed() for _ in range(10)]
profile = program.profile(batch, 10)
calls = [(c.step, c.phase, c.node, c.native, c.start_seconds, c.seconds) for c in profile.calls]
print(json.dumps([min(before[1:] + [timed() for _ in range(10)]), profile.steps, calls]))
"""


def test_a_profiled_step_is_a_whole_step(answer: Callable[[str], Any]) -> None:
    timed, steps, calls = answer(BUILD + PROFILE)
    each = [sorted(map(str, (c[1:4] for c in calls if c[0] == step))) for step in range(10)]
    assert len(steps) == 10
    assert each == [each[0]] * 10
    for node in ("fc1", "relu_1", "fc2", "softmax_cross_entropy_loss_1"):
        assert {c[1] for c in calls if c[2] == node} == {"forward", "backward"}
    assert "update" in {c[1] for c in calls}
    # The fastest of each, as a busy machine makes steps longer and none shorter.
    assert min(seconds for _, seconds in steps) > 0.5 * timed
    for number, (_, seconds) in enumerate(steps):
        assert sum(c[5] for c in calls if c[0] == number) <= seconds


CROSS_ENTROPY = """
from benchmarker.worker.conformance.subject import reference_program

def error(classes):
    net = Network("classes", 64)
    x = net.dense("fc", net.input("x", (20,)), classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, net.labels("label", classes)))
    graph = net.graph()
    parameters, batch = draw_parameters(graph, 0), draw_batch(graph, 0)
    subject = build(graph, parameters, "training")
    _, found = subject.gradients(subject.load(batch))
    exact = reference_program(graph, parameters, "training", Optimizer("sgd"))
    _, wanted = exact.gradients(exact.load(batch))
    return float(np.linalg.norm(found["fc.bias"] - wanted["fc.bias"]) / np.linalg.norm(wanted["fc.bias"]))

print(json.dumps({classes: error(classes) for classes in (2, 10, 16, 103, 1000)}))
"""


LAYERS = """
from benchmarker.worker.conformance.optimizers import recurrent_network
from benchmarker.worker.conformance.subject import reference_program

net = Network("wide", 2)
x = net.dense("fc", net.input("x", (1024,)), 1536)
net.output(x)
net.loss(net.mean_squared_error_loss(x, net.input("target", (1536,))))
graph, found = net.graph(), {}
start = draw_parameters(graph, 0)
# Steps large enough for float32 to tell them from the weights.
constants = {"lamb": {"learning_rate": 0.1}, "lars": {"learning_rate": 0.5, "trust": 0.1}}
for kind, own in constants.items():
    optimizer = Optimizer.default(kind).with_constants({**own, "weight_decay": 0.1})
    program = build(graph, start, "training", optimizer)
    expected = reference_program(graph, start, "training", optimizer)
    for step in range(2):
        batch = draw_batch(graph, step)
        program.train_step(program.load(batch))
        expected.train_step(expected.load(batch))
    ways = [p.parameters()["fc.weight"].astype(np.float64) - start["fc.weight"] for p in (program, expected)]
    recurrent = recurrent_network()
    found[kind] = [
        program.optimizer_variant(),
        build(recurrent, draw_parameters(recurrent, 0), "training", optimizer).optimizer_variant(),
        float(np.linalg.norm(ways[0] - ways[1]) / np.linalg.norm(ways[1])),
    ]
print(json.dumps(found))
"""


@pytest.mark.framework
def test_lamb_and_lars_are_mxnets_own_and_exact_of_layers_with_many_weights(
    answer: Callable[[str], Any],
) -> None:
    for wide, recurrent, error in answer(BUILD + LAYERS).values():
        # All weights of a recurrent layer lie in one array, of which these rules would see one norm.
        assert (wide, recurrent) == ("native", "composed")
        # MXNet's own norm of so many weights is off by 1e-3.
        assert error < 2e-5


def test_a_gradient_through_few_classes_is_as_exact_as_through_many(answer: Callable[[str], Any]) -> None:
    """Through two of oneDNN's it would be off by 1e-4, through ten by 1.2e-6."""
    errors = {int(classes): error for classes, error in answer(BUILD + CROSS_ENTROPY).items()}
    bounds = {2: 5e-6, 10: 5e-7, 16: 5e-7, 103: 1e-6, 1000: 1e-6}
    assert errors.keys() == bounds.keys()
    assert {classes for classes, error in errors.items() if error > bounds[classes]} == set()


# --- without it ----------------------------------------------------------------------------------


def recurrent(operator: str, directions: int, *, layers: int = 1, frozen_bias: bool = False) -> Graph:
    """Return a graph that applies one set of recurrent weights ``layers`` times."""
    net = Network("recurrent", STEPS)
    x = net.input("x", (BATCH, SIZE))
    rows = {"rnn": 1, "lstm": 4, "gru": 3}[operator] * HIDDEN
    weights = (
        net.parameter("w", (directions, rows, SIZE), NORMAL),
        net.parameter("r", (directions, rows, HIDDEN), NORMAL),
        net.parameter("b", (directions, 2 * rows), NORMAL, trainable=not frozen_bias),
    )
    direction = "bidirectional" if directions == 2 else "forward"
    for _ in range(layers):
        y = getattr(net, operator)(x, *weights, hidden_size=HIDDEN, direction=direction)
        net.output(y[0])
    return net.graph()


def numbered(slot: Slot) -> dict[str, np.ndarray]:
    """Return the members filled with numbers that are all different."""
    values, start = {}, 0
    for member in slot.members:
        size = member.type.elements
        values[member.name] = np.arange(start, start + size, dtype=np.float32).reshape(member.type.shape)
        start += size
    return values


@pytest.mark.parametrize("operator", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("directions", [1, 2])
def test_flat_weights_come_back(operator: str, directions: int) -> None:
    (slot,) = slots(recurrent(operator, directions))
    values = numbered(slot)
    flat = slot.encode(values)
    assert flat.shape == slot.shape
    assert sorted(flat) == list(range(flat.size))
    back = slot.decode(flat)
    for name, value in values.items():
        np.testing.assert_array_equal(back[name], value)


def test_flat_weights_are_in_the_order_of_mxnet() -> None:
    (slot,) = slots(recurrent("gru", 2))
    values = numbered(slot)
    flat = slot.encode(values)
    w, r, b = values["w"], values["r"], values["b"]
    reset = slice(HIDDEN, 2 * HIDDEN)  # the graph's gates are z, r, h and MXNet's r, z, h
    assert list(flat[: HIDDEN * SIZE]) == list(w[0, reset].ravel())
    assert list(flat[w[0].size : w[0].size + HIDDEN * HIDDEN]) == list(r[0, reset].ravel())
    second = w[0].size + r[0].size
    assert list(flat[second : second + HIDDEN * SIZE]) == list(w[1, reset].ravel())
    assert list(flat[2 * second : 2 * second + HIDDEN]) == list(b[0, reset])
    assert list(flat[-HIDDEN:]) == list(b[1, -HIDDEN:])


def test_a_layer_applied_twice_has_one_flat_vector() -> None:
    assert len(slots(recurrent("lstm", 1, layers=2))) == 1


def test_a_frozen_bias_keeps_the_weights_apart() -> None:
    found = slots(recurrent("lstm", 1, frozen_bias=True))
    assert [slot.name for slot in found] == ["w", "r", "b"]
    assert [slot.trainable for slot in found] == [True, True, False]


def test_a_scalar_has_one_axis() -> None:
    net = Network("scalar", 2)
    net.output(net.mul(net.input("x", (3,)), net.parameter("s", (), ONES)))
    (slot,) = slots(net.graph())
    assert slot.encode({"s": np.float32(2.0)}).shape == (1,)  # type: ignore[dict-item]
    assert slot.decode(np.ones(1, np.float32))["s"].shape == ()


class Mutable(np.ndarray):
    """An array with the method of MXNet's that settling statistics needs."""

    def copyto(self, other: np.ndarray) -> None:
        other[...] = self


def normalizing(times: int) -> Graph:
    """Return a graph whose normalizations share scale, shift and statistics, each with a momentum."""
    net = Network("normalizing", 4)
    shared = [
        net.parameter("scale", (3,), ONES),
        net.parameter("shift", (3,), ZEROS),
        net.parameter("mean", (3,), ZEROS, trainable=False),
        net.parameter("var", (3,), ONES, trainable=False),
    ]
    for number in range(times):
        x = net.input(f"x{number}", (3,))
        net.output(net.named(f"bn{number}").batch_normalization(x, *shared, momentum=0.9 - 0.2 * number))
    return net.graph()


def test_statistics_of_one_node_are_not_shared() -> None:
    assert shared_statistics(normalizing(1)) == ()


def test_shared_statistics_move_in_the_order_of_the_graph() -> None:
    graph = normalizing(3)
    mean, var = shared_statistics(graph)
    assert (mean.name, var.name) == ("mean", "var")
    assert mean.momenta == pytest.approx((0.9, 0.7, 0.5))
    old = np.array([1.0, -2.0, 0.5])
    batches = [np.array([3.0, 1.0, 0.0]), np.array([-1.0, 4.0, 2.0]), np.array([0.5, 0.5, 7.0])]
    arrays = {"mean": old.copy().view(Mutable)}
    expected = old
    for momentum, batch, copy in zip(mean.momenta, batches, mean.copies.values()):
        arrays[copy] = (momentum * old + (1.0 - momentum) * batch).view(Mutable)
        expected = momentum * expected + (1.0 - momentum) * batch
    mean.settle(arrays)
    for array in arrays.values():
        np.testing.assert_allclose(array, expected)


def test_each_node_has_a_copy_of_its_own() -> None:
    own = own_statistics(shared_statistics(normalizing(2)))
    assert set(own) == {(f"bn{n}", s) for n in range(2) for s in ("mean", "var")}
    assert len(set(own.values())) == 4


@pytest.mark.parametrize(
    ("then", "apart"),
    [
        (lambda net, y: net.relu(y), False),
        (lambda net, y: net.gelu(y), False),
        (lambda net, y: net.add(y, y), True),
        (lambda net, y: net.silu(y), True),
        (lambda net, y: net.gelu(y, approximate="tanh"), True),
        (lambda net, y: net.add(net.relu(y), y), True),
    ],
)
def test_a_result_used_twice_is_set_apart(then: object, apart: bool) -> None:
    net = Network("twice", 2)
    y = net.dense("fc", net.input("x", (3,)), 4)
    assert callable(then)
    result: Value = then(net, y)
    net.output(result)
    assert _used_twice(net.graph(), y.name) is apart


def test_a_result_that_is_an_output_too_is_set_apart() -> None:
    net = Network("output", 2)
    y = net.dense("fc", net.input("x", (3,)), 4)
    net.output(y)
    net.output(net.relu(y))
    assert _used_twice(net.graph(), y.name)
