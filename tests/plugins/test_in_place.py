"""Updates that write over their arrays give what the update's graph gives, and overwrite nothing that is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.update_rule import Given, ParameterPlace, UpdateRule
from benchmarker.graph.graph import walk
from benchmarker.graph.operators import Operators, Tensor
from benchmarker.plugins.chainer.in_place import ArrayFunctions
from benchmarker.plugins.common.in_place import InPlaceUpdate, in_place_update
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.training.optimizers import BUILT_IN
from benchmarker.training.optimizers.update_graph import UpdateGraph, number_names, update_graph
from tests.support.framework_process import verdicts

Array = npt.NDArray[np.float64]
SHAPE = (4, 3)
PLACE = ParameterPlace("weight", SHAPE, is_hidden_matrix=False)
MEETING = {"lamb", "lars", "adafactor", "accelegrad"}
"""Rules whose elements meet, in a norm or a mean."""


class Strict(ArrayFunctions):
    """NumPy's functions, which count new arrays and copies."""

    def __init__(self, *, joins: bool = False) -> None:
        super().__init__(np)
        self.joins = joins
        self.new = self.copies = 0

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return (
            self.watched(found) if name in ("add", "sub", "mul", "div", "affine", "sqrt", "clip") else found
        )

    def watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*operands: Any, into: Any, **keywords: Any) -> Any:
            self.new += into is None
            return function(*operands, into=into, **keywords)

        return call

    def plus_scaled(self, x: Any, y: Any, number: float = 1.0, *, alpha: float, into: Any) -> Any:
        self.new += into is None
        return np.add(x, alpha * number * y, out=into)

    def copy(self, value: Any, into: Any) -> None:
        self.copies += 1
        super().copy(value, into)


@dataclass(frozen=True)
class Crossing(UpdateRule):
    """Each of parameter and state becomes what the others were, so that none can be written at once."""

    name = "crossing"
    source = "none"
    state = ("u", "v")

    def update(self, operators: Operators, given: Given) -> tuple[Tensor, dict[str, Tensor]]:
        u = operators.affine(given.parameter, alpha=2.0)
        v = operators.add(given.state["u"], given.gradient)
        parameter = operators.mul(operators.sub(given.state["v"], given.parameter), given.state["u"])
        # A number and a scaled array, which are no two arrays to be joined.
        rate = given.numbers["learning_rate"]
        return operators.add(parameter, operators.sub(rate, operators.mul(rate, u))), {"u": u, "v": v}


def made_of(rule: UpdateRule) -> tuple[UpdateGraph, tuple[str, ...]]:
    return update_graph(rule, PLACE), number_names(rule)


def updates(rule: UpdateRule, *, joins: bool = False) -> tuple[InPlaceUpdate | None, Strict]:
    functions = Strict(joins=joins)
    return in_place_update(*made_of(rule), functions, {}), functions


def chosen(kind: str) -> UpdateRule:
    decay = {} if kind == "accelegrad" else {"weight_decay": 0.1}
    return Optimizer.default(kind).with_constants(decay).rule


@pytest.mark.parametrize("joins", [False, True])
@pytest.mark.parametrize("kind", [*sorted(BUILT_IN.keys() - MEETING), "crossing"])
def test_three_updates_are_those_of_the_graph(kind: str, joins: bool) -> None:
    rule = Crossing() if kind == "crossing" else chosen(kind)
    made, names = made_of(rule)
    update, functions = updates(rule, joins=joins)
    assert update is not None
    generator = np.random.default_rng(1)
    start: dict[str, Array] = {name: generator.random(SHAPE) for name in ("parameter", *made.state)}
    expected, held = dict(start), {name: array.copy() for name, array in start.items()}
    memory: dict[str, float] = {}
    for step in range(1, 4):
        gradient = generator.normal(size=SHAPE)
        given = gradient.copy()
        numbers = rule.numbers(step, memory)
        inputs = {name if name == "parameter" else f"state.{name}": array for name, array in expected.items()}
        scalars = {f"number.{name}": np.float64(number) for name, number in numbers.items()}
        found = walk(made.graph, NumpyOperators(), {"gradient": gradient, **inputs, **scalars})
        expected = {name: found[output] for name, output in zip(made.results, made.graph.outputs)}
        update([numbers[name] for name in names], [given, *held.values()])
        assert np.array_equal(given, gradient)  # a gradient is not ours to write over
        for name, array in held.items():
            assert np.allclose(array, expected[name], rtol=1e-13, atol=0.0), name
        if step == 1:
            made_at_first = functions.new
    assert functions.new == made_at_first  # what is between operators has its arrays from then on
    assert (functions.copies > 0) == (kind == "crossing")


@pytest.mark.parametrize("joins", [False, True])
def test_momentum_needs_one_new_array(joins: bool) -> None:
    update, functions = updates(chosen("momentum"), joins=joins)
    assert update is not None
    update([0.1, 0.1, 0.9], [np.ones(SHAPE) for _ in range(3)])
    assert functions.new == 1  # for the decayed gradient, then for the step


def test_joined_momentum_without_decay_needs_none() -> None:
    update, functions = updates(Optimizer.default("momentum").rule, joins=True)
    assert update is not None
    update([0.1, 0.0, 0.9], [np.ones(SHAPE) for _ in range(3)])
    assert functions.new == 0


@pytest.mark.parametrize("kind", sorted(MEETING))
def test_elements_that_meet_are_not_updated_so(kind: str) -> None:
    assert updates(chosen(kind))[0] is None


def test_neither_is_what_takes_a_total_of_all_parameters() -> None:
    place = ParameterPlace("scale", (), is_hidden_matrix=False)
    rule = Optimizer.default("accelegrad").rule
    made = update_graph(rule, place)
    assert in_place_update(made, number_names(rule), ArrayFunctions(np), {}) is None


@pytest.mark.framework
@pytest.mark.parametrize("framework", ["mxnet", "paddle", "chainer"])
def test_a_framework_s_functions_are_numpy_s(framework: str, tmp_path: Path) -> None:
    found = verdicts(framework, "in_place_functions", framework, folder=tmp_path)
    assert len(found) > 40
    assert {name: why for name, why in found.items() if why} == {}
