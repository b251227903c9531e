"""Checks of going backward: gradients of outputs, steps that update nothing, micro-batches, and fp64."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.profile import PHASES, Profile
from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.operators import STOPS
from benchmarker.worker.conformance.case_checks import CaseMeasure, CaseProgram
from benchmarker.worker.conformance.cases import OPERATOR_CASES, OperatorCase
from benchmarker.worker.conformance.result import (
    NETWORK_TOLERANCE,
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
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[Any]]

EXACT_TOLERANCE = 1e-11
"""Of a few operators in float64: one value on the way rounded to float32 is off by 6e-8."""
_RATE = 0.5
_LEFT_OUT = frozenset({"dropout"}) | STOPS
"""What drops at random, and what lets nothing through."""


def _representatives() -> list[OperatorCase]:
    """Return one case of each operator that takes a gradient of its outputs: one that has no loss."""
    found: dict[str, OperatorCase] = {}
    for case in OPERATOR_CASES:
        graph = case.graph(training=False)
        if graph.loss is None and case.operator not in _LEFT_OUT and graph.for_gradient().trainable:
            found.setdefault(case.operator, case)
    return list(found.values())


def _upstream(cases: Sequence[OperatorCase], subject: Subject) -> list[Measurement]:
    """The gradients of all operands must follow from those of the outputs, which the mini-batch holds."""
    graphs = [case.graph(training=False).for_gradient() for case in cases]
    built = CaseProgram.build(cases, graphs, subject, "gradient")
    batches = built.batches(subject.seed)
    loaded = built.load(batches)
    _, gradients = built.program.gradients(loaded)
    value, kept = built.program.gradient_step(loaded)
    built.program.synchronize((value, kept))
    outputs = dict(zip(built.graph.outputs, built.program.fetch(value)))
    parts = (built.references, batches, built.parts(gradients), built.parts(outputs))
    return list(map(_compared_both_ways, graphs, *parts, map(subject.tolerance, graphs)))


def _compared_both_ways(
    graph: Graph, reference: Program, batch: Arrays, gradients: Arrays, outputs: Arrays, tolerance: float
) -> Measurement:
    _, exact_gradients = reference.gradients(reference.load(batch))
    backward = compare(gradients, exact_gradients, tolerance)
    exact_outputs, _ = reference.gradient_step(reference.load(batch))
    forward = compare(outputs, dict(zip(graph.outputs, exact_outputs)), tolerance)
    return max((backward, forward), key=lambda found: found.error or 0.0)


def network(samples: int, *, normalized: bool) -> Graph:
    """Return a small network with a mean loss."""
    net = Network("small_network", samples)
    x, label = net.input("image", (3, 6, 6)), net.labels("label", 4)
    x = net.convolution("conv", x, 4, 3, bias=not normalized)
    x = net.tanh(net.batch_norm("bn", x) if normalized else x)
    x = net.dense("fc", net.flatten(x), 4)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
    return net.graph()


def _nothing_updated(subject: Subject) -> Measurement:
    """A step of mode gradient leaves all parameters alone, and returns the loss that training would."""
    graph = network(4, normalized=True)
    parameters, batch = draw_parameters(graph, subject.seed), draw_batch(graph, subject.seed)
    program = subject.program(graph, parameters, "gradient")
    before = program.parameters()
    output = program.gradient_step(program.load(batch))
    program.synchronize(output)
    (loss,) = program.fetch(output[0])
    after = program.parameters()
    moved = [p.name for p in graph.trainable if not np.array_equal(before[p.name], after[p.name])]
    if moved:
        raise CheckFailed(f"gradient_step must not change any parameter; it changed {', '.join(moved)}")
    reference = reference_program(graph, parameters, "gradient")
    expected = reference.gradient_step(reference.load(batch))[0]
    return Measurement(
        abs(float(loss) - float(expected)) / abs(float(expected)), NETWORK_TOLERANCE, "the loss"
    )


def _halves(batch: Arrays) -> list[Arrays]:
    return [{name: array[part] for name, array in batch.items()} for part in (slice(0, 2), slice(2, 4))]


def _micro_batches(subject: Subject, *, normalized: bool) -> Measurement:
    """Several steps in two halves each must go where the mean of the halves' gradients leads.

    Without batch normalization that is where whole mini-batches lead.
    """
    graph, optimizer = network(2, normalized=normalized), Optimizer("momentum", learning_rate=_RATE)
    start = draw_parameters(graph, subject.seed)
    program = subject.program(graph, start, "training", optimizer)
    whole = graph if normalized else network(4, normalized=False)
    reference = reference_program(whole, start, "training", optimizer)
    worst = 0.0
    for step in range(2):
        batch = draw_batch(network(4, normalized=normalized), subject.seed + step)
        halves = _halves(batch)
        try:
            loss = program.train_micro([program.load(half) for half in halves])
        except UnsupportedError as reason:
            raise Skipped(str(reason)) from None
        program.synchronize(loss)
        if normalized:
            expected = reference.train_micro([reference.load(half) for half in halves])
        else:
            expected = reference.train_step(reference.load(batch))
        (found,) = program.fetch(loss)
        worst = max(worst, abs(float(found) - float(expected)) / abs(float(expected)))
    moved = compare(program.parameters(), reference.parameters(), NETWORK_TOLERANCE)
    return max(
        (moved, Measurement(worst, NETWORK_TOLERANCE, "the mean loss")), key=lambda found: found.error or 0.0
    )


def _float64(subject: Subject) -> Measurement:
    """In fp64 nothing may be rounded to float32 on the way, values that float32 cannot hold included."""
    if "fp64" not in subject.plugin.precisions.get(subject.device.type, ()):
        raise Skipped("the plugin does not declare fp64")
    graph = network(4, normalized=True)
    fine = 1.0 + 2.0**-40
    start = {name: array.astype(np.float64) * fine for name, array in draw_parameters(graph, 0).items()}
    batch = {
        name: array.astype(np.float64) * fine if array.dtype.kind == "f" else array
        for name, array in draw_batch(graph, subject.seed).items()
    }
    pairs: list[tuple[Arrays, Arrays]] = []
    for mode in ("inference", "training"):
        if mode not in subject.plugin.modes:
            continue
        made = graph.without_loss() if mode == "inference" else graph
        given = {p.name: start[p.name] for p in made.parameters}
        program = subject.program(made, given, mode, precision="fp64")
        reference = reference_program(made, given, mode)
        loaded, exact = program.load(batch), reference.load(batch)
        pairs.append((program.parameters(), given))
        if mode == "inference":
            pairs.append((fetch_outputs(program, made, loaded), fetch_outputs(reference, made, exact)))
        else:
            pairs.append((program.gradients(loaded)[1], reference.gradients(exact)[1]))
    narrow = [name for found, _ in pairs for name, array in found.items() if array.dtype != np.float64]
    if narrow:
        raise CheckFailed(
            f"in fp64 all values must come back as float64; these did not: {', '.join(narrow[:5])}"
        )
    found = [compare(found, expected, EXACT_TOLERANCE) for found, expected in pairs]
    return max(found, key=lambda each: each.error or 0.0)


def _profile(mode: str, subject: Subject) -> Measurement:
    """The profile must tell of the graph's own nodes, and of no more time than has passed."""
    graph = network(4, normalized=True)
    graph = graph.without_loss() if mode == "inference" else graph
    program = subject.program(graph, draw_parameters(graph, subject.seed), mode)
    batch = program.load(draw_batch(graph, subject.seed))
    try:
        found = program.profile(batch, 3)
    except UnsupportedError as reason:
        raise Skipped(str(reason)) from None
    named = _require_profile(found, graph)
    if not {"conv", "fc"} <= named:
        raise CheckFailed(f"the profile must name the nodes 'conv' and 'fc', got {sorted(named)}")
    phases = {call.phase for call in found.calls}
    if mode != "inference" and "backward" not in phases:
        raise CheckFailed(f"a step with a backward pass must have calls in that phase, got {sorted(phases)}")
    return Measurement(detail=f"{found.source}: {len(named)} of {len(graph.nodes)} nodes")


def _require_profile(found: Profile, graph: Graph) -> set[str]:
    known = {node.name for node in graph.nodes}
    named = {call.node for call in found.calls if call.node is not None}
    if not named <= known:
        raise CheckFailed(f"the profile names {sorted(named - known)[:5]}, which are not nodes of the graph")
    if len(found.steps) != 3:
        raise CheckFailed(f"the profile must cover 3 steps, got {len(found.steps)}")
    if any(call.seconds < 0 or call.phase not in PHASES for call in found.calls):
        raise CheckFailed(f"calls must take 0 seconds or more, in a phase of {', '.join(PHASES)}")
    for step, (_, wall) in enumerate(found.steps):
        used = sum(call.seconds for call in found.calls if call.step == step and call.thread == 0)
        if used > 1.05 * wall:
            raise CheckFailed(f"calls of one thread take {used:.3g} s of a step of {wall:.3g} s")
    return named


def backward_checks() -> tuple[Check, ...]:
    return (
        *(Check(f"upstream/{case.path}", CaseMeasure(case, _upstream)) for case in _representatives()),
        Check("backward/nothing-updated", _nothing_updated),
        Check("backward/micro-batches", partial(_micro_batches, normalized=False)),
        Check("backward/micro-batches-normalized", partial(_micro_batches, normalized=True)),
        Check("program/float64", _float64),
        *(
            Check(f"profile/{mode}", partial(_profile, mode))
            for mode in ("inference", "gradient", "training")
        ),
    )
