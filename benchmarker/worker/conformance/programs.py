"""Checks of a program's manners: what it returns, what it leaves alone, and what it may not remember."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.worker.conformance.result import (
    NETWORK_TOLERANCE,
    OPERATOR_TOLERANCE,
    CheckFailed,
    Measurement,
    Skipped,
    compare,
)
from benchmarker.worker.conformance.subject import (
    Check,
    Subject,
    draw_batch,
    draw_parameters,
    fetch_outputs,
    reference_program,
    require_same_parameters,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_REDUCED = 0.05
"""bf16 keeps 8 bits (0.4 % a rounding), a few operators in a row; a wrong meaning is further off."""


def small_network() -> Graph:
    """Return a network with trained parameters, running statistics and dropout."""
    net = Network("small_network", 4)
    x = net.input("image", (3, 8, 8))
    label = net.labels("label", 5)
    x = net.batch_norm("bn", net.convolution("conv", x, 6, 3, stride=2, pad=1, bias=False))
    x = net.flatten(net.tanh(x))
    x = net.dropout(net.tanh(net.dense("fc1", x, 16)), ratio=0.5)
    x = net.dense("fc2", x, 5)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
    return net.graph()


def _trained(subject: Subject, optimizer: Optimizer | None = None) -> tuple[Graph, Program, Any]:
    graph = small_network()
    program = subject.program(graph, draw_parameters(graph, subject.seed), "training", optimizer)
    return graph, program, program.load(draw_batch(graph, subject.seed))


def _inferring(subject: Subject) -> tuple[Graph, Program, Any]:
    graph = small_network().without_loss()
    program = subject.program(graph, draw_parameters(graph, subject.seed), "inference")
    return graph, program, program.load(draw_batch(graph, subject.seed))


def _require_equal(before: dict[str, Array], after: dict[str, Array], what: str) -> None:
    changed = sorted(name for name in before if not np.array_equal(before[name], after[name]))
    if changed:
        raise CheckFailed(f"{what} must not change the parameters; changed: {', '.join(changed)}")


def _infer_repeats(subject: Subject) -> Measurement:
    graph, program, batch = _inferring(subject)
    before = program.parameters()
    first = fetch_outputs(program, graph, batch)
    second = fetch_outputs(program, graph, batch)
    _require_equal(before, program.parameters(), "infer")
    return compare(second, first, 1e-6)


def _batches_differ(subject: Subject) -> Measurement:
    graph, program, first = _inferring(subject)
    parameters = draw_parameters(graph, subject.seed)
    reference = reference_program(graph, parameters, "inference")
    other = draw_batch(graph, subject.seed + 1)
    second = program.load(other)
    program.infer(second)
    expected_first = fetch_outputs(reference, graph, reference.load(draw_batch(graph, subject.seed)))
    expected_second = fetch_outputs(reference, graph, reference.load(other))
    found = compare(fetch_outputs(program, graph, first), expected_first, NETWORK_TOLERANCE)
    if not (found.error or 0.0) <= NETWORK_TOLERANCE:
        return found
    return compare(fetch_outputs(program, graph, second), expected_second, NETWORK_TOLERANCE)


def _caller_untouched(subject: Subject) -> Measurement:
    graph = small_network()
    parameters, batch = draw_parameters(graph, subject.seed), draw_batch(graph, subject.seed)
    kept = {name: array.copy() for name, array in {**parameters, **batch}.items()}
    program = subject.program(graph, parameters, "training", Optimizer("sgd", learning_rate=0.5))
    returned = program.parameters()
    snapshot = {name: array.copy() for name, array in returned.items()}
    program.synchronize(program.train_step(program.load(batch)))
    _require_equal(kept, {**parameters, **batch}, "arrays belong to the caller: build, load and train_step")
    _require_equal(snapshot, returned, "parameters() must return copies: a later train_step")
    return Measurement()


def _fetch(subject: Subject) -> Measurement:
    graph, program, batch = _inferring(subject)
    outputs = program.fetch(program.infer(batch))
    if not isinstance(outputs, tuple) or len(outputs) != len(graph.outputs):
        raise CheckFailed(f"fetch must return a tuple of {len(graph.outputs)} arrays, got {type(outputs)}")
    for name, array in zip(graph.outputs, outputs):
        _require_array(f"output '{name}'", array, graph.types[name].shape)
    return Measurement()


def _require_array(what: str, array: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(array, (np.ndarray, np.generic)):  # NumPy itself gives a scalar for a 0-d array
        raise CheckFailed(f"{what} must be a NumPy array, got {type(array).__name__}")
    if array.shape != shape or array.dtype.kind != "f":
        raise CheckFailed(
            f"{what} must be of shape {shape} and a floating type, got {array.shape} and {array.dtype}"
        )


def _fetch_loss(subject: Subject) -> Measurement:
    _, program, batch = _trained(subject)
    losses = program.fetch(program.train_step(batch))
    if not isinstance(losses, tuple) or len(losses) != 1:
        raise CheckFailed("fetch must return a tuple of one array, the loss, for what train_step returned")
    _require_array("the loss", losses[0], ())
    return Measurement()


def _gradients_pure(subject: Subject) -> Measurement:
    graph, program, batch = _trained(subject, Optimizer("momentum", learning_rate=0.1))
    before = program.parameters()
    _, first = program.gradients(batch)
    _, second = program.gradients(batch)
    _require_equal(before, program.parameters(), "gradients")
    for parameter in graph.trainable:
        _require_array(f"gradient of '{parameter.name}'", first.get(parameter.name), parameter.type.shape)
    if set(first) != {p.name for p in graph.trainable}:
        raise CheckFailed("gradients must name exactly the trainable parameters")
    return compare(second, first, OPERATOR_TOLERANCE)


def network_without_dropout() -> Graph:
    """Return a network with trained parameters and running statistics."""
    net = Network("small_network_without_dropout", 6)
    x = net.input("image", (3, 6, 6))
    label = net.labels("label", 4)
    x = net.tanh(net.batch_norm("bn", net.convolution("conv", x, 4, 3, bias=False)))
    x = net.dense("fc", net.flatten(x), 4)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
    return net.graph()


def _loss_before_update(subject: Subject) -> Measurement:
    graph = network_without_dropout()
    parameters = draw_parameters(graph, subject.seed)
    program = subject.program(graph, parameters, "training", Optimizer("sgd", learning_rate=0.5))
    batch = program.load(draw_batch(graph, subject.seed))
    worst = 0.0
    for _ in range(3):
        expected, _ = program.gradients(batch)
        (loss,) = program.fetch(program.train_step(batch))
        worst = max(worst, abs(float(loss) - expected) / max(abs(expected), 1e-3))
    if not np.isfinite(worst):
        raise CheckFailed("the loss is not finite")
    return Measurement(worst, NETWORK_TOLERANCE, "train_step's loss against that of gradients just before")


def _gradients_after_training(subject: Subject) -> Measurement:
    """Gradients must see the parameters as the last step left them, and the step must have used them."""
    graph = network_without_dropout()
    parameters = draw_parameters(graph, subject.seed)
    optimizer = Optimizer("sgd", learning_rate=0.1)
    program = subject.program(graph, parameters, "training", optimizer)
    reference = reference_program(graph, parameters, "training", optimizer)
    batches = [draw_batch(graph, subject.seed + i) for i in range(2)]
    for batch in batches:
        program.fetch(program.train_step(program.load(batch)))
        reference.train_step(reference.load(batch))
    _, found = program.gradients(program.load(batches[0]))
    _, expected = reference.gradients(reference.load(batches[0]))
    return compare(found, expected, NETWORK_TOLERANCE)


def _precisions(subject: Subject) -> Measurement:
    graph, _, _ = _inferring(subject)
    parameters, batch = draw_parameters(graph, subject.seed), draw_batch(graph, subject.seed)
    reference = reference_program(graph, parameters, "inference")
    expected = fetch_outputs(reference, graph, reference.load(batch))
    declared = subject.plugin.precisions.get(subject.device.type, ())
    for precision in declared:
        program = subject.program(graph, parameters, "inference", precision=precision)
        found = compare(fetch_outputs(program, graph, program.load(batch)), expected, NETWORK_TOLERANCE)
        bound = NETWORK_TOLERANCE if precision in ("fp32", "fp64") else _REDUCED
        if not (found.error or 0.0) <= bound:
            return Measurement(found.error, bound, f"precision '{precision}': {found.detail}")
    return Measurement(detail=f"declared: {', '.join(declared)}")


_STEPS = 3


def _parts_are_the_step(subject: Subject) -> Measurement:
    """A breakdown must be of the step that is timed: after the parts all is as after the step, bit for bit."""
    graph = network_without_dropout()
    whole, again, parts = (_stepped(subject, graph, step) for step in (_whole, _whole, _in_parts))
    if all(np.array_equal(whole[name], again[name]) for name in whole):
        different = sorted(name for name in whole if not np.array_equal(whole[name], parts[name]))
        if different:
            raise CheckFailed(
                f"train_parts must do exactly what train_step does; different: {', '.join(different)}"
            )
        return Measurement(detail="parameters equal bit for bit")
    # Two runs of the very same step differ (atomic additions on a GPU): so may the parts.
    return compare(parts, whole, NETWORK_TOLERANCE)


def _stepped(subject: Subject, graph: Graph, step: Callable[[Program, Any], None]) -> dict[str, Array]:
    """Return the parameters after some steps from the same start."""
    optimizer = Optimizer("momentum", learning_rate=0.1)
    program = subject.program(graph, draw_parameters(graph, subject.seed), "training", optimizer)
    for number in range(_STEPS):
        step(program, program.load(draw_batch(graph, subject.seed + number)))
    return program.parameters()


def _whole(program: Program, batch: Any) -> None:
    program.synchronize(program.train_step(batch))


def _in_parts(program: Program, batch: Any) -> None:
    names = []
    try:
        for name, output in program.train_parts(batch):
            program.synchronize(output)
            names.append(name)
    except UnsupportedError as reason:
        raise Skipped(str(reason)) from None
    if not names or len(set(names)) != len(names):
        raise CheckFailed(f"train_parts must give each part a name of its own, got {names}")


def _compiled_once(mode: str) -> Callable[[Subject], Measurement]:
    def measure(subject: Subject) -> Measurement:
        graph = network_without_dropout() if mode == "training" else network_without_dropout().without_loss()
        program = subject.program(graph, draw_parameters(graph, subject.seed), mode)
        step = program.train_step if mode == "training" else program.infer
        counts = []
        for number in range(2 + _STEPS):
            program.synchronize(step(program.load(draw_batch(graph, subject.seed + number))))
            counts.append(program.compilations())
        if counts == [None] * len(counts):
            return Measurement(detail="the framework does not report how often it compiles")
        if not all(isinstance(count, int) and count >= 0 for count in counts):
            raise CheckFailed(f"compilations() must always be a number or always None, got {counts}")
        # The first call compiles, the second may once more for what it has learnt of the first.
        if len(set(counts[1:])) > 1:
            raise CheckFailed(
                f"steps of the same shapes must not compile again, counted after each: {counts}"
            )
        return Measurement(detail=f"compilations: {counts[-1]}, none of them after the second step")

    return measure


def _assigned(program: Program, values: dict[str, Array]) -> None:
    try:
        program.assign(values)
    except UnsupportedError as reason:
        raise Skipped(str(reason)) from None


def _other_values(subject: Subject, graph: Graph) -> dict[str, Array]:
    values = draw_parameters(graph, subject.seed + 1)
    values["bn.running_var"] = np.linspace(0.5, 2.0, values["bn.running_var"].size).astype(np.float32)
    return values


def _assigned_in_training(subject: Subject) -> Measurement:
    """After a step the program takes other values: gradients and the next step must be theirs."""
    graph, optimizer = network_without_dropout(), Optimizer("sgd", learning_rate=0.1)
    program = subject.program(graph, draw_parameters(graph, subject.seed), "training", optimizer)
    batch = draw_batch(graph, subject.seed)
    program.synchronize(program.train_step(program.load(batch)))
    values = _other_values(subject, graph)
    _assigned(program, values)
    require_same_parameters(program, graph, values)
    reference = reference_program(graph, values, "training", optimizer)
    _, found = program.gradients(program.load(batch))
    _, expected = reference.gradients(reference.load(batch))
    gradients = compare(found, expected, NETWORK_TOLERANCE)
    if not (gradients.error or 0.0) <= NETWORK_TOLERANCE:
        return gradients
    program.synchronize(program.train_step(program.load(batch)))
    reference.train_step(reference.load(batch))
    return compare(program.parameters(), reference.parameters(), NETWORK_TOLERANCE)


def _assigned_in_inference(subject: Subject) -> Measurement:
    graph = network_without_dropout().without_loss()
    program = subject.program(graph, draw_parameters(graph, subject.seed), "inference")
    batch = draw_batch(graph, subject.seed)
    fetch_outputs(program, graph, program.load(batch))
    values = _other_values(subject, graph)
    _assigned(program, values)
    reference = reference_program(graph, values, "inference")
    found = fetch_outputs(program, graph, program.load(batch))
    return compare(found, fetch_outputs(reference, graph, reference.load(batch)), NETWORK_TOLERANCE)


def program_checks() -> tuple[Check, ...]:
    return (
        Check("program/infer-repeats", _infer_repeats),
        Check("program/each-batch-its-own", _batches_differ),
        Check("program/caller-untouched", _caller_untouched),
        Check("program/fetch-outputs", _fetch),
        Check("program/fetch-loss", _fetch_loss),
        Check("program/gradients-change-nothing", _gradients_pure),
        Check("program/loss-before-update", _loss_before_update),
        Check("program/gradients-after-training", _gradients_after_training),
        Check("program/precisions", _precisions),
        Check("program/assign/training", _assigned_in_training),
        Check("program/assign/inference", _assigned_in_inference),
        Check("program/parts-are-the-step", _parts_are_the_step),
        Check("program/compiled-once/inference", _compiled_once("inference")),
        Check("program/compiled-once/training", _compiled_once("training")),
    )
