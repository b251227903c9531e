"""What is done around a rule, held to its equations written a second time here in NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarker.api.modifiers import MODIFIERS, Modifiers
from benchmarker.api.optimizer import Optimizer, settings_of
from benchmarker.api.update_rule import ParameterPlace
from benchmarker.errors import UsageError
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.numpy.equations import Equations
from benchmarker.training.optimizers import BUILT_IN
from benchmarker.training.optimizers.advance import places
from tests.training.test_update_rules import (
    CHOSEN,
    EXACT,
    PLACES,
    SHAPES,
    STEPS,
    Arrays,
    far,
    gradients,
    rate,
    starts,
)

UNDECAYED = [replace(place, decays=place.name in ("matrix", "kernel")) for place in PLACES]


def followed(optimizer: Optimizer, where: list[ParameterPlace] = PLACES, steps: int = STEPS) -> Equations:
    """The equations after some steps at a rate that changes."""
    known = Hyperparameters(optimizer)
    update = Equations(known, starts(), where=where)
    for step in range(steps):
        known.take({"learning_rate": rate(optimizer.learning_rate, step + 1)})
        update(gradients(step))
    return update


def moved(update: Equations) -> Arrays:
    return dict(update._parameters)


def with_gradients(optimizer: Optimizer, change: Any, where: list[ParameterPlace] = PLACES) -> Arrays:
    """Where a rule by itself comes to if its gradients and parameters are changed by hand before each update."""
    known = Hyperparameters(optimizer)
    held = starts()
    update = Equations(known, held, where=where)
    for step in range(STEPS):
        now = rate(optimizer.learning_rate, step + 1)
        known.take({"learning_rate": now})
        update(change(gradients(step), held, now))
    return held


def differ(first: Arrays, second: Arrays) -> bool:
    assert set(first) == set(second) == set(SHAPES)
    return any(not np.allclose(first[name], second[name], rtol=1e-6) for name in SHAPES)


def norm(given: Arrays) -> float:
    return float(np.sqrt(sum(np.sum(g * g) for g in given.values())))


LIMIT = 9.0
"""Between the smallest and the largest norm of the gradients, so that some steps are clipped and others not."""


def test_the_limit_of_the_norm_is_met_by_some_gradients_only() -> None:
    norms = [norm(gradients(step)) for step in range(STEPS)]
    assert min(norms) < LIMIT < max(norms)


@pytest.mark.parametrize("kind", [kind for kind in BUILT_IN if kind != "accelegrad"])
def test_gradients_are_scaled_down_to_a_norm_of_all_together(kind: str) -> None:
    def clipped(given: Arrays, held: Arrays, now: float) -> Arrays:
        return {name: min(1.0, LIMIT / norm(given)) * g for name, g in given.items()}

    plain = Optimizer.default(kind).with_constants(CHOSEN[kind])
    found = moved(followed(plain.with_constants({"clip_norm": LIMIT})))
    assert far(found, with_gradients(plain, clipped)) <= EXACT
    assert differ(found, with_gradients(plain, lambda given, *_: given))


@pytest.mark.parametrize("kind", BUILT_IN)
def test_no_element_of_a_gradient_exceeds_a_value(kind: str) -> None:
    plain = Optimizer.default(kind).with_constants(CHOSEN[kind])
    found = moved(followed(plain.with_constants({"clip_value": 0.5})))
    expected = with_gradients(plain, lambda given, *_: {n: np.clip(g, -0.5, 0.5) for n, g in given.items()})
    assert far(found, expected) <= EXACT
    assert differ(found, with_gradients(plain, lambda given, *_: given))


@pytest.mark.parametrize("kind", BUILT_IN)
def test_the_average_is_of_what_the_rule_evaluates(kind: str) -> None:
    plain = Optimizer.default(kind).with_constants(CHOSEN[kind])
    expected = starts()
    for step in range(1, STEPS + 1):
        evaluated = followed(plain, steps=step).evaluated()
        expected = {name: 0.9 * a + 0.1 * evaluated[name] for name, a in expected.items()}
    update = followed(plain.with_constants({"ema": 0.9}))
    assert far(moved(update), moved(followed(plain))) <= EXACT
    assert far(update.evaluated(), expected) <= EXACT
    assert differ(update.evaluated(), followed(plain).evaluated())


def test_a_coupled_decay_is_part_of_the_gradient_and_a_decoupled_one_is_not() -> None:
    none = Optimizer.default("adam").with_constants({"epsilon": 1e-2})
    decaying = none.with_constants({"weight_decay": 0.1})

    def inside(given: Arrays, held: Arrays, now: float) -> Arrays:
        return {name: g + 0.1 * held[name] for name, g in given.items()}

    def outside(given: Arrays, held: Arrays, now: float) -> Arrays:
        for array in held.values():
            array -= now * 0.1 * array
        return given

    for kind in ("adam", "adamw"):
        chosen = replace(decaying, kind=kind)
        coupled = moved(followed(chosen.with_constants({"decay_kind": "coupled"})))
        decoupled = moved(followed(chosen.with_constants({"decay_kind": "decoupled"})))
        assert far(coupled, with_gradients(none, inside)) <= EXACT
        assert far(decoupled, with_gradients(none, outside)) <= EXACT
        assert differ(coupled, decoupled)


DECAYS = [
    (kind, decay_kind)
    for kind, rule in BUILT_IN.items()
    for decay_kind in ("own", "coupled", "decoupled")
    # The rate of one follows all gradients together; others keep the weights in their state.
    if kind != "accelegrad" and not (decay_kind == "decoupled" and "z" in rule.state)
]


@pytest.mark.parametrize(("kind", "decay_kind"), DECAYS)
def test_parameters_that_are_not_meant_to_decay_do_not(kind: str, decay_kind: str) -> None:
    asked = {**CHOSEN[kind], "weight_decay": 0.1, "decay_kind": decay_kind, "decay_of": "weights"}
    chosen = Optimizer.default(kind).with_constants(asked)
    some = moved(followed(chosen, UNDECAYED))
    every = moved(followed(chosen, PLACES))
    none = moved(followed(chosen.with_constants({"weight_decay": 0.0}), PLACES))
    for name in SHAPES:
        expected = every if name in ("matrix", "kernel") else none
        assert np.allclose(some[name], expected[name], rtol=1e-12), name
    assert differ(every, none)


def network() -> Graph:
    net = Network("parts", 4)
    x = net.relu(net.batch_norm("bn", net.convolution("conv", net.input("x", (3, 6, 6)), 5, 3)))
    x = net.dense("fc", net.flatten(x), 4)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, net.labels("label", 4)))
    return net.graph()


def recurrent() -> Graph:
    net = Network("recurrent", 4)
    y, _, _ = net.lstm_layer("lstm", net.transpose(net.input("x", (3, 5)), perm=(1, 0, 2)), 6)
    net.output(y)
    net.loss(net.reduce_mean(net.mul(y, y)))
    return net.graph()


def decaying(graph: Graph, decay_of: str) -> set[str]:
    return {name for name, place in places(graph, decay_of).items() if place.decays}


def test_weights_are_neither_biases_nor_of_a_normalization() -> None:
    everything = set(places(network()))
    assert decaying(network(), "all") == everything
    assert decaying(network(), "weights") == {"conv.weight", "fc.weight"}
    assert decaying(network(), "conv.* *.bias") == {
        "conv.weight",
        *(n for n in everything if n.endswith("bias")),
    }
    assert len(decaying(recurrent(), "weights")) == len(decaying(recurrent(), "all")) - 1


def test_a_pattern_of_no_parameter_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"weight decay is set for 'head\.\*', but no parameter of 'parts' has such a name"
    ):
        places(network(), "conv.* head.*")


@pytest.mark.parametrize(
    ("kind", "asked", "words"),
    [
        ("sgd", {"clip_norm": 1.0, "clip_value": 1.0}, "by their norm or by value"),
        ("accelegrad", {"clip_norm": 1.0}, "follows the norm of all gradients itself"),
        ("schedule_free_sgd", {"decay_kind": "decoupled"}, "keeps the weights in its state"),
    ],
)
def test_what_does_not_fit_together_is_refused(kind: str, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        assert Optimizer.default(kind).with_constants(asked).rule


def test_what_is_not_asked_for_changes_nothing_and_is_not_told() -> None:
    plain = Optimizer.default("adam")
    assert type(plain.rule) is type(BUILT_IN["adam"])
    assert not set(plain.to_json()) & set(MODIFIERS)
    assert set(MODIFIERS) < set(settings_of("adam"))
    assert {
        name: rule.accepts(getattr(Modifiers(), name)) for name, rule in MODIFIERS.items()
    } == dict.fromkeys(MODIFIERS, True)


def test_what_is_asked_for_is_told_and_read_again() -> None:
    asked = {"clip_norm": 2.0, "ema": 0.99, "decay_of": "*.weight", "decay_kind": "decoupled"}
    chosen = Optimizer.default("momentum").with_constants(asked)
    assert {name: chosen.to_json()[name] for name in asked} == asked
    assert Optimizer.from_json(chosen.to_json()) == chosen
    assert hash(chosen) == hash(Optimizer.from_json(chosen.to_json()))
    assert chosen.state_elements([(3, 4)]) == 24
