"""What a framework's programs must do beyond plain inference and training: run in the framework's environment.

Each function whose name starts with ``check_`` asserts one thing of a :class:`Subject`;
``python -m tests.in_framework.native_modes FRAMEWORK`` runs them all and prints, as JSON, why each failed, or an empty
text. Frameworks are compared with the NumPy reference in float64.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np

from benchmarker.api.framework import Device, FrameworkPlugin
from benchmarker.api.optimizer import OPTIMIZERS, Optimizer
from benchmarker.api.profile import PHASES, Profile
from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.plugins.common.composed import View, native_place
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.program import NumpyProgram
from benchmarker.worker.conformance.case_checks import CaseMeasure, CaseProgram, run_each
from benchmarker.worker.conformance.cases import OPERATOR_CASES, OperatorCase
from benchmarker.worker.conformance.optimizers import optimizer_checks
from benchmarker.worker.conformance.result import CheckFailed, Measurement, compare
from benchmarker.worker.conformance.subject import Check, Subject, draw_batch, draw_parameters, fetch_outputs
from tests.in_framework.comparing import near
from tests.in_framework.verdicts import tell

Arrays = Mapping[str, Any]
EXACT = 1e-9
"""Of norms, in float64: 16 digits, less what some operators in a row lose; float32 has 1e-7."""
SINGLE = 2e-5
FLOAT32_ONLY = ("ctc_loss",)
"""Operators that a framework may have in float32 alone, which it then says in a sentence."""
OF_ENGINES = ("quantize_dequantize",)
"""Operators of quantized inference, which not every framework here offers."""


# --- graphs --------------------------------------------------------------------------------------


def image_network() -> Graph:
    """Convolutions, pooling and dense layers with running statistics, as float64 and micro-batches see them."""
    net = Network("image_network", 6)
    x = net.input("image", (3, 8, 8))
    x = net.relu(net.batch_norm("bn", net.convolution("conv", x, 6, 3, pad=1, bias=False)))
    x = net.pool(net.tanh(net.convolution("conv2", x, 8, 3, pad=1)), 2)
    x = net.dense("fc", net.gelu(net.flatten(x)), 5)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, net.labels("label", 5)))
    return net.graph()


def word_network() -> Graph:
    """A table of which few rows are used, a recurrent layer and a normalization of features."""
    net = Network("word_network", 4)
    words = net.input("words", (3,), "int64", Distribution("integers", 9))
    x = net.layer_norm("norm", net.embedding("table", words, 12, 6))
    y, _, _ = net.lstm_layer("lstm", net.transpose(x, perm=(1, 0, 2)), 5)
    x = net.dense("fc", net.reshape(y, shape=(12, 5)), 3)
    net.output(x)
    net.loss(net.reduce_mean(net.mul(x, x)))
    return net.graph()


def convolution() -> Graph:
    """An operator with data and weights in the mini-batch, as the operator level has them."""
    net = Network("convolution", 2)
    x = net.input("x", (3, 9, 7))
    net.batch_size = 4
    w = net.input("w", (3, 3, 3))
    net.output(net.conv(x, w, strides=(2, 1), pads=(1, 1, 1, 1), dilations=(1, 1)))
    return net.graph()


def halves() -> Graph:
    """An operator with two outputs, and an operand that takes no gradient."""
    net = Network("halves", 4)
    rows = net.gather(net.input("table", (6,)), net.input("words", (), "int64", Distribution("integers", 4)))
    for half in net.split(net.tanh(rows), axis=1, num_outputs=2):
        net.output(half)
    return net.graph()


def sparse_product() -> Graph:
    """A matrix most of whose elements are 0, times a dense one."""
    net = Network("sparse_product", 20)
    zeros = Distribution("normal", probability=0.1)
    a = net.parameter("a", (30, 20), zeros, trainable=False)
    net.output(net.sparse_matmul(a, net.input("b", (8,))))
    return net.graph()


# --- programs ------------------------------------------------------------------------------------


def started(graph: Graph, precision: str = "fp32") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return parameters and mini-batch; in float64 with digits that float32 has not."""
    values = draw_parameters(graph, 0), draw_batch(graph, 0)
    if precision != "fp64":
        return values
    parameters, batch = ({n: _finer(a) for n, a in arrays.items()} for arrays in values)
    return parameters, batch


def _finer(array: Any) -> Any:
    return array.astype(np.float64) * (1.0 + 1e-9) if array.dtype.kind == "f" else array


def reference(
    graph: Graph, parameters: Arrays, mode: str, optimizer: Optimizer | None = None
) -> NumpyProgram:
    program = NumpyFramework().build(
        graph,
        dict(parameters),
        mode=mode,
        device=Device("cpu"),
        precision="fp64",
        optimizer=optimizer or Optimizer("sgd"),
        options=None,
    )
    assert isinstance(program, NumpyProgram)
    return program


def synchronized(program: Program, output: Any) -> Any:
    program.synchronize(output)
    return output


def length(gradients: Any) -> float:
    """Return the length of all gradients as one vector, which no native layout changes.

    That of a table may be native row by row, whose length is another.
    """
    each = gradients.values() if isinstance(gradients, Mapping) else gradients
    natives = [getattr(g, "asnumpy", getattr(g, "numpy", lambda g=g: g))() for g in each]
    return float(np.sqrt(sum(np.square(np.asarray(native, np.float64)).sum() for native in natives)))


# --- gradient mode -------------------------------------------------------------------------------


def check_gradient_step_has_the_loss(subject: Subject) -> None:
    for graph in (image_network(), word_network()):
        parameters, batch = started(graph)
        program = subject.program(graph, parameters, "gradient")
        loaded = program.load(batch)
        expected_loss, expected = reference(graph, parameters, "training").gradients(batch)
        loss, gradients = program.gradients(loaded)
        near({"loss": loss, **gradients}, {"loss": expected_loss, **expected}, SINGLE)
        value, native = synchronized(program, program.gradient_step(loaded))
        (array,) = program.fetch(value)
        near({"loss": array}, {"loss": expected_loss}, SINGLE)
        if graph.name == "image_network":
            near({"length": length(native)}, {"length": length(expected)}, SINGLE)


def check_gradient_step_moves_statistics_alone(subject: Subject) -> None:
    graph = image_network()
    parameters, batch = started(graph)
    program = subject.program(graph, parameters, "gradient")
    follower = reference(graph, parameters, "training")
    for _ in range(2):
        synchronized(program, program.gradient_step(program.load(batch)))
        follower.gradient_step(follower.load(batch))
    near(program.parameters(), follower.parameters(), SINGLE)
    before = program.parameters()
    program.gradients(program.load(batch))
    near(program.parameters(), before, 0.0)


def check_operators_take_upstream_gradients(subject: Subject) -> None:
    for graph in (convolution().for_gradient(), halves().for_gradient()):
        parameters, batch = started(graph)
        program = subject.program(graph, parameters, "gradient")
        loaded = program.load(batch)
        other = reference(graph, parameters, "gradient")
        expected_value, expected = other.gradients(other.load(batch))
        value, gradients = program.gradients(loaded)
        near({"value": value, **gradients}, {"value": expected_value, **expected}, SINGLE)
        outputs, native = synchronized(program, program.gradient_step(loaded))
        if graph.name == "convolution":
            near({"length": length(native)}, {"length": length(expected)}, SINGLE)
        expected_outputs = other.fetch(other.gradient_step(other.load(batch))[0])
        assert [a.shape for a in program.fetch(outputs)] == [a.shape for a in expected_outputs]
        near(
            dict(zip("ab", program.fetch(outputs))),
            dict(zip("ab", expected_outputs)),
            SINGLE,
        )


# --- float64 -------------------------------------------------------------------------------------


def check_float64_operators(subject: Subject) -> None:
    cases = [case for case in OPERATOR_CASES if case.operator not in OF_ENGINES]
    checks = [
        Check(f"{name}/{case.path}", CaseMeasure(case, measure))
        for name, measure in (("forward", _outputs_in_float64), ("gradient", _gradients_in_float64))
        for case in cases
    ]
    refused = tuple(f"{name}/{operator}/" for name in ("forward", "gradient") for operator in FLOAT32_ONLY)
    wrong = [
        f"{result.name}: {result.detail}"[:300]
        for result in run_each(checks, subject)
        if result.status == "failed" or (result.status == "skipped" and not result.name.startswith(refused))
    ]
    assert not wrong, "\n".join(wrong)


def _outputs_in_float64(cases: Sequence[OperatorCase], subject: Subject) -> list[Measurement]:
    graphs = [case.graph(training=False) for case in cases]
    built = CaseProgram.build(cases, graphs, subject, "inference", precision="fp64")
    batches = built.batches(0)
    outputs = fetch_outputs(built.program, built.graph, built.load(batches))
    _require_float64(outputs)
    exact = [fetch_outputs(r, g, r.load(b)) for r, g, b in zip(built.references, graphs, batches)]
    return [compare(found, expected, EXACT) for found, expected in zip(built.parts(outputs), exact)]


def _gradients_in_float64(cases: Sequence[OperatorCase], subject: Subject) -> list[Measurement]:
    graphs = [case.graph(training=True) for case in cases]
    built = CaseProgram.build(cases, graphs, subject, "training", precision="fp64")
    batches = built.batches(0)
    _, gradients = built.program.gradients(built.load(batches))
    _require_float64(gradients)
    exact = [r.gradients(r.load(b))[1] for r, b in zip(built.references, batches)]
    return [compare(found, expected, EXACT) for found, expected in zip(built.parts(gradients), exact)]


def _require_float64(arrays: Arrays) -> None:
    others = {
        name: a.dtype for name, a in arrays.items() if a.dtype.kind not in "biu" and a.dtype != np.float64
    }
    if others:
        raise CheckFailed(f"in another type: {others}")


def check_float64_all_the_way(subject: Subject) -> None:
    for kind in OPTIMIZERS:
        optimizer = Optimizer(kind, learning_rate=0.01, epsilon=1e-2, weight_decay=0.05)
        for graph in (image_network(), word_network()):
            parameters, batch = started(graph, "fp64")
            program = subject.program(graph, parameters, "training", optimizer, precision="fp64")
            near(program.parameters(), parameters, 1e-15)
            other = reference(graph, parameters, "training", optimizer)
            for _ in range(3):
                (loss,) = program.fetch(program.train_step(program.load(batch)))
                expected = other.train_step(other.load(batch))
                assert loss.dtype == np.float64
                near({"loss": loss}, {"loss": expected}, EXACT)
            names = parameters
            near(program.parameters(), {name: other.value(name) for name in names}, EXACT)


# --- micro-batches -------------------------------------------------------------------------------


def check_micro_batches_are_one_update(subject: Subject) -> None:
    for kind in ("sgd", "momentum", "adam"):
        optimizer = Optimizer(kind, learning_rate=0.05, epsilon=1e-2)
        for graph in (image_network(), word_network()):
            parameters = draw_parameters(graph, 0)
            program = subject.program(graph, parameters, "training", optimizer)
            other = reference(graph, parameters, "training", optimizer)
            for step, count in enumerate((3, 1, 2)):
                batches = [draw_batch(graph, 10 * step + number) for number in range(count)]
                loss = program.train_micro([program.load(batch) for batch in batches])
                expected = other.train_micro([other.load(batch) for batch in batches])
                near({"loss": program.fetch(loss)[0]}, {"loss": expected}, 1e-4)
            _near_ways(program, other, parameters)


def check_micro_batches_leave_plain_steps_alone(subject: Subject) -> None:
    graph, optimizer = image_network(), Optimizer("momentum", learning_rate=0.05)
    parameters = draw_parameters(graph, 0)
    program = subject.program(graph, parameters, "training", optimizer)
    other = reference(graph, parameters, "training", optimizer)
    batches = [draw_batch(graph, number) for number in range(2)]
    for one in (program, other):
        loaded = [one.load(batch) for batch in batches]
        one.train_step(loaded[0])
        one.train_micro(loaded)
        one.train_step(loaded[1])
    _near_ways(program, other, parameters)


def _near_ways(program: Program, other: NumpyProgram, start: Arrays) -> None:
    """Compare how far each parameter has come."""
    ways = [{n: a - start[n] for n, a in each.parameters().items()} for each in (program, other)]
    near(ways[0], ways[1], 1e-3)


# --- profile -------------------------------------------------------------------------------------


def check_profile_tells_of_nodes(subject: Subject) -> None:
    for mode in ("inference", "gradient", "training"):
        graph = image_network() if mode != "inference" else image_network().without_loss()
        program = subject.program(graph, draw_parameters(graph, 0), mode)
        loaded = program.load(draw_batch(graph, 0))
        began = time.perf_counter()
        profile = program.profile(loaded, 3)
        _profile_is_sound(profile, graph, time.perf_counter() - began)
        phases = {call.phase for call in profile.calls if call.node}
        assert phases == ({"forward"} if mode == "inference" else {"forward", "backward"}), phases
        assert ("update" in {call.phase for call in profile.calls}) == (mode == "training")
        named = {call.node for call in profile.calls}
        assert {"conv", "conv2", "fc"} <= {name for name in named if name}, named


def _profile_is_sound(profile: Profile, graph: Graph, wall: float) -> None:
    nodes = {node.name for node in graph.nodes}
    assert len(profile.steps) == 3
    assert profile.steps[0][0] >= 0
    assert sum(seconds for _, seconds in profile.steps) <= wall
    for call in profile.calls:
        assert call.node is None or call.node in nodes, call
        assert call.seconds >= 0, call
        assert call.phase in PHASES, call
        assert call.native, call
        start, seconds = profile.steps[call.step]
        assert start - 1e-4 <= call.start_seconds <= start + seconds, (call, start, seconds)
    assert [c.start_seconds for c in profile.calls] == sorted(c.start_seconds for c in profile.calls)
    for step, (_, seconds) in enumerate(profile.steps):
        for thread in {call.thread for call in profile.calls}:
            of_thread = [c.seconds for c in profile.calls if c.step == step and c.thread == thread]
            assert sum(of_thread) <= seconds * 1.001, (step, thread, sum(of_thread), seconds)


def check_profile_leaves_the_program_as_it_was(subject: Subject) -> None:
    graph = image_network().without_loss()
    program = subject.program(graph, draw_parameters(graph, 0), "inference")
    loaded = program.load(draw_batch(graph, 0))
    before = fetch_outputs(program, graph, loaded)
    program.profile(loaded, 1)
    near(fetch_outputs(program, graph, loaded), before, 0.0)


# --- rules of whole parameters -------------------------------------------------------------------


def check_norms_of_native_tensors_are_found(subject: Subject) -> None:
    """A rule that is given native tensors for parameters fails the check that it passes otherwise."""
    (check,) = (check for check in optimizer_checks() if check.name == "optimizer/lamb/schedule-both-ways")
    assert check.run(subject).status == "passed"
    composed = importlib.import_module(f"benchmarker.plugins.{subject.plugin.name}.composed")
    with mock.patch.object(composed, "views", _native_views):
        assert check.run(subject).status == "failed"
    if subject.plugin.name == "mxnet":
        # All weights and biases of a layer as one.
        with mock.patch.object(composed.ComposedUpdates, "_takes_together", return_value=True):
            assert check.run(subject).status == "failed"


def _native_views(rule: Any, place: Any, shapes: Any, layout: Any) -> Any:
    return [View(native_place(place, shape), (i,), layout) for i, shape in enumerate(shapes)]


# --- sparse --------------------------------------------------------------------------------------


def check_sparse_products(subject: Subject) -> None:
    graph = sparse_product()
    parameters, batch = started(graph)
    program = subject.program(graph, parameters, "inference")
    near(program.parameters(), parameters, 0.0)
    other = reference(graph, parameters, "inference")
    expected = fetch_outputs(other, graph, other.load(batch))
    near(fetch_outputs(program, graph, program.load(batch)), expected, SINGLE)
    backward = graph.for_gradient()
    parameters, batch = started(backward)
    program = subject.program(backward, parameters, "gradient")
    other = reference(backward, parameters, "gradient")
    near(program.gradients(program.load(batch))[1], other.gradients(other.load(batch))[1], SINGLE)


CHECKS: Mapping[str, Callable[[Subject], None]] = {
    name[len("check_") :]: check for name, check in globals().items() if name.startswith("check_")
}


def checks_of(plugin: FrameworkPlugin) -> list[str]:
    """Return the names of the checks of a framework: without float64's where it declares no float64."""
    double = "fp64" in plugin.precisions["cpu"]
    return [name for name in CHECKS if double or not name.startswith("float64")]


def subject_of(name: str) -> Subject:
    """Return the framework, imported and configured."""
    plugin = importlib.import_module(f"benchmarker.plugins.{name}").benchmarker_framework()
    module, _, cls = plugin.implementation.partition(":")
    framework = getattr(importlib.import_module(module), cls)()
    framework.configure(Device("cpu"), threads=1, seed=0)
    return Subject(framework, plugin, Device("cpu"))


def main() -> None:
    """Run the checks that are named after the framework, or all, and print a line for each."""
    subject = subject_of(sys.argv[1])
    tell({name: CHECKS[name] for name in sys.argv[2:] or checks_of(subject.plugin)}, subject)


if __name__ == "__main__":
    main()
