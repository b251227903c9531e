"""Checks of the optimizers over several steps: the way that the parameters went, and what is remembered of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.modifiers import Modifiers
from benchmarker.api.optimizer import Optimizer, constants, state_names
from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.support import missing_operators
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.numpy.equations import Equations
from benchmarker.training.optimizers import BUILT_IN
from benchmarker.training.optimizers.advance import places
from benchmarker.worker.conformance.gradient_program import GradientProgram
from benchmarker.worker.conformance.result import CheckFailed, Measurement, Skipped, compare, relative_error
from benchmarker.worker.conformance.subject import (
    Check,
    Subject,
    draw_batch,
    draw_parameters,
    reference_program,
    train_with_reference,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    _Arrays = Mapping[str, Array]

_STEPS = 5
_TOLERANCE = 1e-3
"""Share of a parameter's way: float32 loses bits of a step that is small against the value, and Adam
divides by the root of small gradients; an equation that differs is off by 0.02 or more."""

_VARIANTS = {
    "sgd": Optimizer("sgd", learning_rate=0.1),
    "sgd-weight-decay": Optimizer("sgd", learning_rate=0.1, weight_decay=0.1),
    "momentum": Optimizer("momentum", learning_rate=0.05, momentum=0.8),
    "momentum-weight-decay": Optimizer("momentum", learning_rate=0.05, momentum=0.8, weight_decay=0.1),
    "nesterov": Optimizer("nesterov", learning_rate=0.05, momentum=0.8),
    "nesterov-weight-decay": Optimizer("nesterov", learning_rate=0.05, momentum=0.8, weight_decay=0.1),
    # A large epsilon shows on which side of a root or a bias correction it is added.
    "adam": Optimizer("adam", learning_rate=0.02, beta1=0.8, beta2=0.95, epsilon=1e-2),
    "adam-default-epsilon": Optimizer("adam", learning_rate=0.02),
    "adam-weight-decay": Optimizer("adam", learning_rate=0.02, epsilon=1e-2, weight_decay=0.1),
    "adamw": Optimizer("adamw", learning_rate=0.02, beta1=0.8, beta2=0.95, epsilon=1e-2, weight_decay=0.1),
    "rmsprop": Optimizer("rmsprop", learning_rate=0.01, decay=0.8, epsilon=1e-2),
    "rmsprop-weight-decay": Optimizer("rmsprop", learning_rate=0.01, epsilon=1e-2, weight_decay=0.1),
    "adagrad": Optimizer("adagrad", learning_rate=0.05, epsilon=1e-2),
    "adagrad-weight-decay": Optimizer("adagrad", learning_rate=0.05, epsilon=1e-10, weight_decay=0.1),
}


def matrix_network() -> Graph:
    net = Network("optimizers", 16)
    x = net.input("x", (10,))
    label = net.labels("label", 4)
    x = net.tanh(net.dense("fc1", x, 12))
    x = net.dense("fc2", x, 4)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
    return net.graph()


def _travel(optimizer: Optimizer, subject: Subject) -> Measurement:
    graph = matrix_network()
    start = draw_parameters(graph, subject.seed)
    found, expected = train_with_reference(subject, graph, start, optimizer, _STEPS)
    worst, where = 0.0, ""
    for name, before in start.items():
        way = expected[name].astype(np.float64) - before
        if not way.any():
            raise CheckFailed(f"the reference did not move '{name}'")
        error = relative_error(found[name].astype(np.float64) - before, way)
        worst, where = max((worst, where), (error, name))
    return Measurement(worst, _TOLERANCE, f"as a share of how far '{where}' moved in {_STEPS} steps")


_STATE_STEPS = 3
_STATE_TOLERANCE = 1e-3
"""Share of the largest element: a state in another scale or layout is off by far more than float32 rounds."""


def _image_network() -> Graph:
    """Return a network whose parameters frameworks keep in layouts of their own."""
    net = Network("optimizer_state", 8)
    x = net.input("x", (3, 6, 6))
    label = net.labels("label", 4)
    x = net.tanh(net.convolution("conv", x, 5, 3, stride=2, pad=1))
    x = net.tanh(net.dense("fc1", net.flatten(x), 7))
    x = net.dense("fc2", x, 4)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
    return net.graph()


def recurrent_network() -> Graph:
    net = Network("recurrent_optimizer_state", 4)
    x = net.transpose(net.input("x", (3, 5)), perm=(1, 0, 2))
    y, _, _ = net.lstm_layer("lstm", x, 6)
    net.output(y)
    net.loss(net.reduce_mean(net.mul(y, y)))
    return net.graph()


def two_way_network() -> Graph:
    """Return a network of recurrent layers of each kind, whose weights frameworks keep in parts or together."""
    net = Network("two_way_optimizer", 4)
    x = net.transpose(net.input("x", (3, 5)), perm=(1, 0, 2))
    y, _, _ = net.lstm_layer("lstm", x, 6, direction="bidirectional")
    y = net.reshape(net.transpose(y, perm=(0, 2, 1, 3)), shape=(3, 4, 12))
    y, _ = net.gru_layer("gru", y, 5, direction="bidirectional")
    y = net.reshape(net.transpose(y, perm=(0, 2, 1, 3)), shape=(3, 4, 10))
    y, _ = net.rnn_layer("rnn", y, 6)
    net.output(y)
    # Steps are then large enough for float32 to tell their equations.
    net.loss(net.affine(net.reduce_mean(net.mul(y, y)), alpha=8.0))
    return net.graph()


def _optimizer_state(program: Program) -> dict[str, dict[str, Array]]:
    try:
        return program.optimizer_state()
    except UnsupportedError as reason:
        raise Skipped(str(reason)) from None


def _require_form(state: Mapping[str, Mapping[str, Array]], graph: Graph, optimizer: Optimizer) -> None:
    """Fail unless there is an array of the right shape for each letter and each parameter that has it."""
    kind, letters = optimizer.kind, state_names(optimizer.kind)
    if set(state) != set(letters):
        raise CheckFailed(f"the state of '{kind}' must be {list(letters)}, got {sorted(state)}")
    shapes = {place.name: optimizer.rule.state_shapes(place) for place in places(graph).values()}
    for letter, arrays in state.items():
        having = {name: found[letter] for name, found in shapes.items() if letter in found}
        if set(arrays) != set(having):
            raise CheckFailed(f"'{letter}' must be given for {sorted(having)}, got {sorted(arrays)}")
        for name, array in arrays.items():
            if array.shape != having[name] or array.dtype != np.float32:
                raise CheckFailed(
                    f"'{letter}' of '{name}' must be float32 of shape {having[name]}, "
                    f"got {array.dtype} of shape {array.shape}"
                )


def _flat(state: Mapping[str, Mapping[str, Array]]) -> dict[str, Array]:
    return {f"{letter} of {name}": a for letter, arrays in state.items() for name, a in arrays.items()}


def _remembered(optimizer: Optimizer, network: Callable[[], Graph], subject: Subject) -> Measurement:
    graph = network()
    if "conv" in missing_operators(graph, subject.framework.operators):
        graph = matrix_network()  # a young framework has no convolutions yet, and remembers all the same
    start = draw_parameters(graph, subject.seed)
    program = subject.program(graph, start, "training", optimizer)
    reference = reference_program(graph, start, "training", optimizer)
    before = _optimizer_state(program)
    _require_form(before, graph, optimizer)
    if any(array.any() for array in _flat(before).values()):
        raise CheckFailed("all state must start at 0")
    for step in range(_STATE_STEPS):
        batch = draw_batch(graph, subject.seed + step)
        program.synchronize(program.train_step(program.load(batch)))
        reference.train_step(reference.load(batch))
    found = _optimizer_state(program)
    kept = {name: array.copy() for name, array in _flat(found).items()}
    program.synchronize(program.train_step(program.load(draw_batch(graph, subject.seed))))
    if any(not np.array_equal(kept[name], array) for name, array in _flat(found).items()):
        raise CheckFailed("optimizer_state() must return copies: a later train_step must not change them")
    _require_form(found, graph, optimizer)
    if not kept:
        return Measurement(detail="the optimizer keeps no state")
    return compare(kept, _flat(reference.optimizer_state()), _STATE_TOLERANCE)


def _state_checks() -> Iterator[Check]:
    for kind in sorted({o.kind for o in _VARIANTS.values()}):
        name = kind if kind in ("sgd", "adam") else f"{kind}-weight-decay"
        optimizer = _VARIANTS.get(name, _VARIANTS[kind])
        yield Check(f"optimizer/{kind}/state", partial(_remembered, optimizer, _image_network))
    adam = _VARIANTS["adam"]
    yield Check("optimizer/adam/state-of-lstm", partial(_remembered, adam, recurrent_network))
    # Without weight decay a framework may take an optimizer of its own, which scales its buffer.
    momentum = _VARIANTS["momentum"]
    yield Check("optimizer/momentum/state-of-lstm", partial(_remembered, momentum, recurrent_network))
    yield Check("optimizer/adafactor/state-of-matrices", partial(_remembered, _ADAFACTOR, matrix_network))
    for kind in ("lion", *WHOLE):
        yield Check(f"optimizer/{kind}/state", partial(_remembered, SCHEDULED[kind], _image_network))
        yield Check(
            f"optimizer/{kind}/state-of-lstm", partial(_remembered, SCHEDULED[kind], recurrent_network)
        )
        yield Check(
            f"optimizer/{kind}/state-both-ways", partial(_remembered, SCHEDULED[kind], two_way_network)
        )


_FOLLOWED_STEPS = 20
_FOLLOWED_TOLERANCE = 1e-5
"""Share of a parameter's way, by the framework's own gradients: what float32 rounds in so many updates."""
_WARM_UP = 5
_ADAFACTOR = Optimizer.default("adafactor").with_constants({"learning_rate": 0.02})
SCHEDULED = {
    "sgd": Optimizer("sgd", learning_rate=0.1, weight_decay=0.1),
    "momentum": Optimizer("momentum", learning_rate=0.05, momentum=0.8),
    "momentum-weight-decay": Optimizer("momentum", learning_rate=0.05, momentum=0.8, weight_decay=0.1),
    "nesterov": Optimizer("nesterov", learning_rate=0.05, momentum=0.8, weight_decay=0.1),
    "adam": Optimizer("adam", learning_rate=0.02, epsilon=1e-2, weight_decay=0.1),
    "adamw": Optimizer("adamw", learning_rate=0.02, epsilon=1e-2, weight_decay=0.1),
    "rmsprop": Optimizer("rmsprop", learning_rate=0.01, decay=0.8, epsilon=1e-2),
    "adagrad": Optimizer("adagrad", learning_rate=0.05, epsilon=1e-2),
    # A framework may have it without a decay of weights, or of matrices alone.
    "adafactor-without-decay": _ADAFACTOR,
    **{
        kind: Optimizer.default(kind).with_constants(chosen)
        for kind, chosen in {
            "nadam": {"learning_rate": 0.02, "epsilon": 1e-2, "weight_decay": 0.1},
            "lion": {"learning_rate": 0.005, "weight_decay": 0.1},
            "lamb": {"learning_rate": 0.02, "epsilon": 1e-2, "weight_decay": 0.1},
            "lars": {"learning_rate": 0.5, "trust": 0.02, "weight_decay": 0.1},
            "adafactor": {"learning_rate": 0.02, "weight_decay": 0.1},
            "muon": {"weight_decay": 0.1, "adam_ratio": 0.5, "epsilon": 1e-2},
            "schedule_free_sgd": {"learning_rate": 0.1, "weight_decay": 0.1},
            "schedule_free_adamw": {"learning_rate": 0.02, "epsilon": 1e-2, "weight_decay": 0.1},
            "accelegrad": {"diameter": 2.0, "bound": 1.0},
        }.items()
    },
}


WHOLE = ("lamb", "lars", "adafactor")
"""Rules that see a parameter of the graph as a whole, in however many tensors a framework keeps it."""


def _schedule(optimizer: Optimizer) -> Iterator[dict[str, float]]:
    """Yield the constants of each step: a warm-up that starts at a rate of 0, then a cosine, others with it."""
    for step in range(_FOLLOWED_STEPS):
        rest = math.pi * (step - _WARM_UP) / (_FOLLOWED_STEPS - _WARM_UP)
        share = step / _WARM_UP if step < _WARM_UP else 0.5 + 0.5 * math.cos(rest)
        values = {"learning_rate": optimizer.learning_rate * share}
        if "momentum" in constants(optimizer.kind):
            values["momentum"] = optimizer.momentum * (1.0 - 0.2 * share)
        if optimizer.weight_decay:
            values["weight_decay"] = optimizer.weight_decay * (1.0 - 0.5 * share)
        yield values


def _followed_schedule(
    optimizer: Optimizer, differentiated: GradientProgram, subject: Subject
) -> Measurement:
    graph = differentiated.network()
    start = draw_parameters(graph, subject.seed)
    program = subject.program(graph, start, "training", optimizer)
    expected = {name: array.astype(np.float64) for name, array in start.items()}
    known = Hyperparameters(optimizer)
    update = Equations(known, expected, where=tuple(places(graph, optimizer.modifiers.decay_of).values()))
    schedule = list(_schedule(optimizer))
    try:
        # All before the first step, as a training prepares those of a row of steps.
        prepared = [program.prepare_hyperparameters(values) for values in schedule]
        program.use_hyperparameters(prepared[0])
    except UnsupportedError as reason:
        raise Skipped(str(reason)) from None
    for step, values in enumerate(schedule):
        program.use_hyperparameters(prepared[step])
        known.take(values)
        batch = draw_batch(graph, subject.seed + step)
        gradients = differentiated.gradients(subject, program, batch)
        program.synchronize(program.train_step(program.load(batch)))
        update({name: gradient.astype(np.float64) for name, gradient in gradients.items()})
    worst, where = max(
        _off(start, expected, program.parameters(), ""),
        _off(start, update.evaluated(), program.evaluation_parameters(), " as it is evaluated"),
    )
    return Measurement(
        worst, _FOLLOWED_TOLERANCE, f"as a share of how far {where} moved in {_FOLLOWED_STEPS} steps"
    )


def _off(start: _Arrays, expected: _Arrays, found: _Arrays, words: str) -> tuple[float, str]:
    """Return the largest share of a parameter's way that it is off by, and which that is."""
    ways = {name: array - start[name] for name, array in expected.items()}
    made = {name: found[name].astype(np.float64) - start[name] for name in ways}
    worst, name = max((relative_error(made[name], ways[name]), name) for name in ways)
    return worst, f"'{name}'{words}"


MODIFIED = {
    "momentum/clip-norm": Optimizer("momentum", 0.05, 0.8, modifiers=Modifiers(clip_norm=0.7)),
    "adam/clip-value": Optimizer("adam", 0.02, epsilon=1e-2, modifiers=Modifiers(clip_value=0.05)),
    "sgd/average": Optimizer("sgd", 0.1, modifiers=Modifiers(ema=0.8)),
    "schedule_free_sgd/average": Optimizer.default("schedule_free_sgd").with_constants({"ema": 0.8}),
    "momentum/decay-of-weights": Optimizer(
        "momentum", 0.05, 0.8, weight_decay=0.1, modifiers=Modifiers(decay_of="weights")
    ),
    "adamw/decay-of-names": Optimizer(
        "adamw", 0.02, epsilon=1e-2, weight_decay=0.1, modifiers=Modifiers(decay_of="fc1.* *.bias")
    ),
    "adam/decoupled-decay": Optimizer(
        "adam", 0.02, epsilon=1e-2, weight_decay=0.1, modifiers=Modifiers(decay_kind="decoupled")
    ),
    "momentum/decoupled-decay": Optimizer(
        "momentum", 0.05, 0.8, weight_decay=0.1, modifiers=Modifiers(decay_kind="decoupled")
    ),
    "adafactor/all-together": _ADAFACTOR.with_constants(
        {"weight_decay": 0.1, "clip_norm": 0.7, "ema": 0.8, "decay_of": "weights"}
    ),
    "lamb/coupled-decay": Optimizer(
        "lamb", 0.02, epsilon=1e-2, weight_decay=0.1, modifiers=Modifiers(decay_kind="coupled")
    ),
    "adamw/all-together": Optimizer(
        "adamw",
        0.02,
        epsilon=1e-2,
        weight_decay=0.1,
        modifiers=Modifiers(clip_norm=0.7, ema=0.8, decay_kind="coupled", decay_of="weights"),
    ),
}
"""What is done around rules: the limits are of the size of the gradients of the small network."""


def _schedule_checks() -> Iterator[Check]:
    of_matrices = GradientProgram(matrix_network)
    for name, optimizer in SCHEDULED.items():
        yield Check(f"optimizer/{name}/schedule", partial(_followed_schedule, optimizer, of_matrices))
    for name, optimizer in MODIFIED.items():
        yield Check(f"optimizer/{name}", partial(_followed_schedule, optimizer, of_matrices))
    for name, network in (("of-lstm", recurrent_network), ("both-ways", two_way_network)):
        differentiated = GradientProgram(network)
        for kind in WHOLE:
            followed = partial(_followed_schedule, SCHEDULED[kind], differentiated)
            yield Check(f"optimizer/{kind}/schedule-{name}", followed)
        # A framework that keeps biases and weights in one tensor must tell them apart.
        optimizer = MODIFIED["momentum/decay-of-weights"]
        followed = partial(_followed_schedule, optimizer, differentiated)
        yield Check(f"optimizer/momentum/decay-of-weights-{name}", followed)


def optimizer_checks() -> tuple[Check, ...]:
    """Return checks of every optimizer: the way it goes, what it remembers, and constants that change."""
    assert {o.kind for o in SCHEDULED.values()} == set(BUILT_IN)
    travels = (
        Check(f"optimizer/{name}", partial(_travel, optimizer)) for name, optimizer in _VARIANTS.items()
    )
    return (*travels, *_state_checks(), *_schedule_checks())
