"""Each rule's one text, held to its published equations, written a second time here in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarker.api.optimizer import Optimizer, constants, optimizer_kinds, rules
from benchmarker.api.update_rule import ParameterPlace, UpdateRule, rule_constants
from benchmarker.errors import UnsupportedError, UsageError
from benchmarker.graph.graph import walk
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.numpy.equations import Equations
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.numpy.optimizers import NATIVE, make_update
from benchmarker.training.optimizers import BUILT_IN
from benchmarker.training.optimizers.advance import advanced
from benchmarker.training.optimizers.update_graph import totals_graph, update_graph

Array = npt.NDArray[np.float64]
Arrays = dict[str, Array]
STEPS = 20
SHAPES = {"matrix": (6, 4), "wide": (3, 5), "bias": (6,), "kernel": (4, 3, 2, 2)}
PLACES = [ParameterPlace(name, shape, name == "matrix") for name, shape in SHAPES.items()]
CHOSEN = {
    "sgd": {"weight_decay": 0.1},
    "momentum": {"weight_decay": 0.1, "momentum": 0.8},
    "nesterov": {"weight_decay": 0.1, "momentum": 0.8},
    "adam": {"weight_decay": 0.1, "epsilon": 1e-2},
    "adamw": {"weight_decay": 0.1, "epsilon": 1e-2},
    "rmsprop": {"weight_decay": 0.1, "epsilon": 1e-2},
    "adagrad": {"weight_decay": 0.1, "epsilon": 1e-2},
    "nadam": {"weight_decay": 0.1, "epsilon": 1e-2},
    "lion": {"weight_decay": 0.1},
    "lamb": {"weight_decay": 0.1},
    "lars": {"weight_decay": 0.1, "learning_rate": 0.5, "trust": 0.02},
    "adafactor": {"weight_decay": 0.1, "learning_rate": 0.05},
    "muon": {"weight_decay": 0.1, "adam_ratio": 0.5},
    "schedule_free_sgd": {"weight_decay": 0.1, "learning_rate": 0.1},
    "schedule_free_adamw": {"weight_decay": 0.1, "learning_rate": 0.02},
    "accelegrad": {"diameter": 0.6, "bound": 0.5},
}


def starts() -> Arrays:
    generator = np.random.default_rng(3)
    return {name: generator.normal(size=shape) for name, shape in SHAPES.items()}


def gradients(step: int) -> Arrays:
    generator = np.random.default_rng(100 + step)
    return {name: generator.normal(size=shape) for name, shape in SHAPES.items()}


def rate(base: float, step: int) -> float:
    return base * (step / 5 if step < 5 else 0.5 + 0.5 * math.cos(math.pi * (step - 5) / STEPS))


def equations(kind: str) -> Equations:
    return Equations(Optimizer.default(kind).with_constants(CHOSEN[kind]), starts(), where=PLACES)


class Published:
    """The equations as their authors have them, for all parameters together."""

    def __init__(self, rule: UpdateRule) -> None:
        self.rule: Any = rule
        self.p = starts()
        self.t = 0
        self.state: dict[str, Arrays] = {}
        self.scalars: dict[str, float] = {}

    def of(self, letter: str, name: str) -> Array:
        return self.state.setdefault(letter, {}).setdefault(name, np.zeros(SHAPES[name]))

    def step(self, g: Arrays, lr: float) -> None:
        self.t += 1
        before = getattr(self, "before_all", None)
        if before is not None:
            before(g)
        for name in SHAPES:
            self.one(name, g[name], lr)

    def one(self, name: str, g: Array, lr: float) -> None:
        raise NotImplementedError

    def evaluated(self) -> Arrays:
        return self.p


class Descent(Published):
    def one(self, name: str, g: Array, lr: float) -> None:
        self.p[name] = self.p[name] - lr * (g + self.rule.weight_decay * self.p[name])


class Polyak(Published):
    def one(self, name: str, g: Array, lr: float) -> None:
        g = g + self.rule.weight_decay * self.p[name]
        v = self.state["v"][name] = self.rule.momentum * self.of("v", name) + g
        self.p[name] = self.p[name] - lr * self.along(g, v)

    def along(self, g: Array, v: Array) -> Array:
        return v


class Ahead(Polyak):
    def along(self, g: Array, v: Array) -> Array:
        ahead: Array = g + self.rule.momentum * v
        return ahead


class Moments(Published):
    coupled = True

    def one(self, name: str, g: Array, lr: float) -> None:
        r, p = self.rule, self.p[name]
        if self.coupled:
            g = g + r.weight_decay * p
        else:
            p = p * (1 - lr * r.weight_decay)
        self.p[name] = p - lr * self.direction(name, g)

    def direction(self, name: str, g: Array) -> Array:
        r, t = self.rule, self.t
        m = self.of("m", name)
        v = self.of("v", name)
        m = self.state["m"][name] = r.beta1 * m + (1 - r.beta1) * g
        v = self.state["v"][name] = r.beta2 * v + (1 - r.beta2) * g * g
        step: Array = self.mean(m, g, t) / (np.sqrt(v / (1 - r.beta2**t)) + r.epsilon)
        return step

    def mean(self, m: Array, g: Array, t: int) -> Array:
        mean: Array = m / (1 - self.rule.beta1**t)
        return mean


class Decoupled(Moments):
    coupled = False


class LookingAhead(Moments):
    def mean(self, m: Array, g: Array, t: int) -> Array:
        b1 = self.rule.beta1
        mean: Array = b1 * m / (1 - b1 ** (t + 1)) + (1 - b1) * g / (1 - b1**t)
        return mean


class Layerwise(Moments):
    def one(self, name: str, g: Array, lr: float) -> None:
        p = self.p[name]
        r = self.direction(name, g) + self.rule.weight_decay * p
        self.p[name] = p - lr * np.linalg.norm(p) / np.linalg.norm(r) * r


class Squares(Published):
    def one(self, name: str, g: Array, lr: float) -> None:
        r, p = self.rule, self.p[name]
        g = g + r.weight_decay * p
        decays = hasattr(r, "decay")
        old, new = (r.decay, 1 - r.decay) if decays else (1.0, 1.0)
        s = self.of("s", name)
        s = self.state["s"][name] = old * s + new * g * g
        self.p[name] = p - lr * g / (np.sqrt(s) + r.epsilon)


class Signs(Published):
    def one(self, name: str, g: Array, lr: float) -> None:
        r, p = self.rule, self.p[name]
        m = self.of("m", name)
        u = np.sign(r.beta1 * m + (1 - r.beta1) * g)
        self.p[name] = p - lr * (u + r.weight_decay * p)
        self.state["m"][name] = r.beta2 * m + (1 - r.beta2) * g


class Scaled(Published):
    def one(self, name: str, g: Array, lr: float) -> None:
        r, p = self.rule, self.p[name]
        size = np.linalg.norm(p)
        q = r.trust * size / (np.linalg.norm(g) + r.weight_decay * size)
        v = self.of("v", name)
        v = self.state["v"][name] = r.momentum * v + lr * q * (g + r.weight_decay * p)
        self.p[name] = p - v


class Factored(Published):
    def one(self, name: str, g: Array, lr: float) -> None:
        r, p, t = self.rule, self.p[name], self.t
        rho = min(lr, 1 / math.sqrt(t))
        alpha = max(1e-3, math.sqrt(np.mean(p * p))) * rho
        b2 = 1 - t**-0.8
        q = g * g + 1e-30
        if g.ndim == 1:
            v = self.of("v", name)
            v = self.state["v"][name] = b2 * v + (1 - b2) * q
        else:
            rows = self.state.setdefault("r", {}).setdefault(name, np.zeros(g.shape[:-1]))
            columns = self.state.setdefault("c", {}).setdefault(name, np.zeros((*g.shape[:-2], g.shape[-1])))
            rows = self.state["r"][name] = b2 * rows + (1 - b2) * q.mean(-1)
            columns = self.state["c"][name] = b2 * columns + (1 - b2) * q.mean(-2)
            v = rows[..., :, None] * columns[..., None, :] / rows.mean(-1)[..., None, None]
        u = g / np.sqrt(v)
        u = u / max(1.0, math.sqrt(np.mean(u * u)) / r.clip)
        self.p[name] = p * (1 - lr * r.weight_decay) - alpha * u


class Orthogonal(Decoupled):
    def one(self, name: str, g: Array, lr: float) -> None:
        r = self.rule
        if name != "matrix":
            super().one(name, g, lr * r.adam_ratio)
            return
        m = self.of("m", name)
        m = self.state["m"][name] = r.momentum * m + g
        u = r.momentum * m + g
        x = u / (np.linalg.norm(u) + 1e-7)
        rows, columns = x.shape
        x = x.T if rows > columns else x
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        x = x.T if rows > columns else x
        p = self.p[name] * (1 - lr * r.weight_decay)
        self.p[name] = p - lr * math.sqrt(max(1, rows / columns)) * x


class Free(Published):
    """``p`` is y, where gradients are taken."""

    def step(self, g: Arrays, lr: float) -> None:
        largest = self.scalars["largest"] = max(self.scalars.get("largest", 0.0), lr)
        total = self.scalars["total"] = self.scalars.get("total", 0.0) + largest**2
        self.scalars["c"] = largest**2 / total if total else 0.0
        super().step(g, lr)

    def one(self, name: str, g: Array, lr: float) -> None:
        r, c, y = self.rule, self.scalars["c"], self.p[name]
        z = self.state.setdefault("z", {}).setdefault(name, y.copy())
        x = self.state.setdefault("x", {}).setdefault(name, y.copy())
        z = self.state["z"][name] = z - lr * self.direction(name, g) - lr * r.weight_decay * y
        x = self.state["x"][name] = (1 - c) * x + c * z
        b = self.between()
        self.p[name] = b * x + (1 - b) * z

    def direction(self, name: str, g: Array) -> Array:
        return g

    def between(self) -> float:
        return float(self.rule.momentum)

    def evaluated(self) -> Arrays:
        return self.state["x"]


class FreeAdam(Free):
    def direction(self, name: str, g: Array) -> Array:
        r = self.rule
        v = self.of("v", name)
        v = self.state["v"][name] = r.beta2 * v + (1 - r.beta2) * g * g
        step: Array = g / (np.sqrt(v / (1 - r.beta2**self.t)) + r.epsilon)
        return step

    def between(self) -> float:
        return float(self.rule.beta1)


class Accelerated(Published):
    """``p`` is x, where gradients are taken; all parameters are one vector."""

    def step(self, g: Arrays, lr: float) -> None:
        r, t = self.rule, self.t
        if t == 0:
            self.z = {name: p.copy() for name, p in self.p.items()}
            self.x0 = {name: p.copy() for name, p in self.p.items()}
            self.squares, self.weights = 0.0, 0.0
            self.mean = {name: np.zeros(shape) for name, shape in SHAPES.items()}
        alpha = 1.0 if t <= 2 else (t + 1) / 4
        self.squares += alpha**2 * sum(float(np.sum(one * one)) for one in g.values())
        eta = lr * 2 * r.diameter / math.sqrt(r.bound**2 + self.squares)
        y = {name: self.p[name] - eta * g[name] for name in SHAPES}
        away = {name: self.z[name] - alpha * eta * g[name] - self.x0[name] for name in SHAPES}
        size = math.sqrt(sum(float(np.sum(one * one)) for one in away.values()))
        share = min(1.0, r.diameter / 2 / size) if size else 1.0
        self.z = {name: self.x0[name] + share * away[name] for name in SHAPES}
        self.mean = {n: (self.weights * self.mean[n] + alpha * y[n]) / (self.weights + alpha) for n in SHAPES}
        self.weights += alpha
        self.t += 1
        tau = 1.0 if self.t <= 2 else 4 / (self.t + 1)
        self.p = {name: tau * self.z[name] + (1 - tau) * y[name] for name in SHAPES}

    def evaluated(self) -> Arrays:
        return self.mean


PUBLISHED: Mapping[str, Callable[[UpdateRule], Published]] = {
    "sgd": Descent,
    "momentum": Polyak,
    "nesterov": Ahead,
    "adam": Moments,
    "adamw": Decoupled,
    "rmsprop": Squares,
    "adagrad": Squares,
    "nadam": LookingAhead,
    "lion": Signs,
    "lamb": Layerwise,
    "lars": Scaled,
    "adafactor": Factored,
    "muon": Orthogonal,
    "schedule_free_sgd": Free,
    "schedule_free_adamw": FreeAdam,
    "accelegrad": Accelerated,
}


EXACT = 1e-11
"""What rounding in float64 leaves of :func:`far`."""


def far(found: Mapping[str, Any], expected: Mapping[str, Any]) -> float:
    """Return how far parameters are off at most, over the way that they were to come; infinite if that is none."""
    assert set(found) == set(expected) == set(SHAPES)
    ways = {name: float(np.linalg.norm(expected[name] - start)) for name, start in starts().items()}
    off = {name: float(np.linalg.norm(found[name] - expected[name])) for name in SHAPES}
    return float(np.max([off[name] / ways[name] if ways[name] else math.inf for name in SHAPES]))


def test_every_rule_is_here() -> None:
    assert set(PUBLISHED) == set(CHOSEN) == set(BUILT_IN)
    assert set(optimizer_kinds()) >= set(BUILT_IN)


@pytest.mark.parametrize("kind", BUILT_IN)
def test_a_rule_is_its_published_equations_while_its_rate_changes(kind: str) -> None:
    chosen = Optimizer.default(kind).with_constants(CHOSEN[kind])
    known = Hyperparameters(chosen)
    moved = starts()
    update = Equations(known, moved, where=PLACES)
    published = PUBLISHED[kind](chosen.rule)
    for step in range(STEPS):
        now = rate(chosen.learning_rate, step + 1)
        known.take({"learning_rate": now})
        update(gradients(step))
        published.step(gradients(step), now)
        assert far(moved, published.p) <= EXACT
    assert far(update.evaluated(), published.evaluated()) <= EXACT


@pytest.mark.parametrize("kind", NATIVE)
def test_numpys_own_updates_are_the_rule(kind: str) -> None:
    chosen = Optimizer.default(kind).with_constants(CHOSEN[kind])
    quick, rule = starts(), starts()
    first, second = make_update(chosen, quick), Equations(chosen, rule)
    for step in range(STEPS):
        first(gradients(step))
        second(gradients(step))
    assert far(quick, rule) <= EXACT


@pytest.mark.parametrize("kind", BUILT_IN)
def test_the_graph_of_an_update_is_the_update(kind: str) -> None:
    update = equations(kind)
    for step in range(3):
        update(gradients(step))
    rule = Optimizer.default(kind).with_constants(CHOSEN[kind]).rule
    memory: dict[str, float] = {}
    for step in range(1, 5):
        numbers = rule.numbers(step, memory)
    scalars = {name: np.asarray(value) for name, value in numbers.items()}
    operators = NumpyOperators()
    values = {p.name: _values(update, p.name) for p in PLACES}
    given = gradients(9)
    states = {name: state for name, (_, state) in values.items()}
    parameters = {name: parameter for name, (parameter, _) in values.items()}
    moved, remembered = advanced(rule, operators, PLACES, given, parameters, states, scalars)
    totals: dict[str, Any] = {}
    for place in PLACES:
        made = totals_graph(rule, place)
        if made is not None:
            inputs = _inputs(given[place.name], parameters[place.name], states[place.name], scalars)
            found = walk(made.graph, operators, inputs)
            for name, output in zip(made.results, made.graph.outputs):
                totals[name] = totals.get(name, 0.0) + found[output]
    for place in PLACES:
        made = update_graph(rule, place)
        inputs = _inputs(given[place.name], parameters[place.name], states[place.name], scalars, totals)
        found = walk(made.graph, operators, inputs)
        expected = {"parameter": moved[place.name], **remembered[place.name]}
        assert set(made.results) == set(expected)
        for name, output in zip(made.results, made.graph.outputs):
            assert np.allclose(found[output], expected[name], rtol=1e-13, atol=0.0), (place.name, name)


def _values(update: Equations, name: str) -> tuple[Array, dict[str, Any]]:
    state = {letter: arrays[name].copy() for letter, arrays in update.state.items() if name in arrays}
    return update._parameters[name].copy(), state


def _inputs(
    gradient: Array,
    parameter: Array,
    state: Mapping[str, Any],
    numbers: Mapping[str, Any],
    totals: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "gradient": gradient,
        "parameter": parameter,
        **{f"state.{letter}": array for letter, array in state.items()},
        **{f"number.{name}": number for name, number in numbers.items()},
        **{f"total.{name}": total for name, total in (totals or {}).items()},
    }


@pytest.mark.parametrize("kind", BUILT_IN)
def test_steps_made_before_count(kind: str) -> None:
    """What a proof after timing relies on: a state and the number of updates that led to it are all there is."""
    whole = equations(kind)
    for step in range(6):
        whole(gradients(step))
    part = equations(kind)
    for step in range(4):
        part(gradients(step))
    chosen = Optimizer.default(kind).with_constants(CHOSEN[kind])
    resumed = Equations(chosen, part._parameters, part.state, where=PLACES, steps=4)
    for step in range(4, 6):
        resumed(gradients(step))
    assert far(part._parameters, whole._parameters) <= 1e-13


def test_the_constants_of_each_rule_are_declared_with_bounds() -> None:
    for kind, rule in BUILT_IN.items():
        assert rule.name == kind
        assert rule.source
        assert {"learning_rate", "weight_decay"} <= set(rule_constants(rule))
        for name, allowed in rule_constants(rule).items():
            assert allowed.accepts(getattr(rule, name)), (kind, name)


def test_what_a_request_says_is_what_the_rule_has() -> None:
    for kind in BUILT_IN:
        chosen = Optimizer.default(kind).with_constants(CHOSEN[kind])
        assert chosen.kind == chosen.rule.name == kind
        for name in constants(kind):
            assert getattr(chosen.rule, name) == CHOSEN[kind].get(name, getattr(rules()[kind], name))
        assert Optimizer.from_json(chosen.to_json()) == chosen


def test_the_seven_of_old_records_are_written_as_before() -> None:
    assert Optimizer("momentum", learning_rate=0.1).to_json() == {
        "kind": "momentum",
        "learning_rate": 0.1,
        "momentum": 0.9,
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-8,
        "weight_decay": 0.0,
        "decay": 0.99,
    }


def test_a_constant_that_cannot_change_is_refused() -> None:
    known = Hyperparameters(Optimizer("adam"))
    with pytest.raises(UsageError, match="optimizer 'adam' has no momentum"):
        known.take({"momentum": 0.5})
    with pytest.raises(UsageError, match="the beta1 of an optimizer is constant"):
        known.take({"beta1": 0.5})
    with pytest.raises(UsageError, match="the learning rate must be a number of at least 0, got -1"):
        known.take({"learning_rate": -1.0})
    with pytest.raises(UsageError, match="an optimizer has no 'learning_rat'; did you mean 'learning_rate'"):
        known.take({"learning_rat": 1.0})
    with pytest.raises(UnsupportedError, match="built with a weight decay of 0"):
        known.take({"weight_decay": 0.1})
    known.take({"learning_rate": 0.5, "weight_decay": 0.0})
    assert known.optimizer == replace(Optimizer("adam"), learning_rate=0.5)
