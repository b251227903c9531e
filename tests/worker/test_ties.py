"""Gradients that are not unique: every subgradient passes and is named, anything else is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker.api.framework import Device
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.plugins.numpy import benchmarker_framework
from benchmarker.plugins.numpy.base import Call
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.gradients import GRADIENTS
from benchmarker.plugins.numpy.pooling import max_pool_gradient
from benchmarker.worker.conformance.result import CheckResult
from benchmarker.worker.conformance.subject import Subject
from benchmarker.worker.conformance.ties import find, tie_cases, tie_checks
from benchmarker.worker.verification import reference
from tests.conftest import Command
from tests.support import pooling_gradients
from tests.support.pooling_gradients import evenly, last, pooled

CHECKS = {check.name: check for check in tie_checks()}


def maximum(share: Callable[[Any], Any]) -> Callable[[Call], tuple[Any, ...]]:
    """Return a gradient of ``reduce_max`` over the last axis by the weights of tied elements."""

    def gradient(call: Call) -> tuple[Any, ...]:
        (x,), (dy,) = call.inputs, call.gradients
        return (dy[..., None] * share(x == x.max(axis=-1, keepdims=True)),)

    return gradient


def slope(at_bend: float, place: float = 0.0) -> Callable[[str], Callable[[Call], tuple[Any, ...]]]:
    """Return what makes of an operator's gradient one that has this slope at a bend."""

    def changed(operator: str) -> Callable[[Call], tuple[Any, ...]]:
        own = GRADIENTS[operator]

        def gradient(call: Call) -> tuple[Any, ...]:
            (dx,) = own(call)
            return (np.where(call.inputs[0] == place, at_bend * call.gradients[0], dx),)

        return gradient

    return changed


def kept(weights: tuple[float, ...]) -> Callable[[Call], tuple[Any, ...]]:
    """Return a gradient of the largest of each row by weights of the elements that share it, in their order."""

    def gradient(call: Call) -> tuple[Any, ...]:
        (x,), (dy,) = call.inputs, call.gradients
        tied = x == x.max(axis=-1, keepdims=True)
        order = np.minimum(np.cumsum(tied, axis=-1) - 1, len(weights) - 1)
        return (dy[..., :1] * np.where(tied, np.array(weights)[order], 0.0),)

    return gradient


def result(name: str) -> CheckResult:
    framework = NumpyFramework()
    framework.configure(Device("cpu"), threads=1, seed=0)
    return CHECKS[name].run(Subject(framework, benchmarker_framework(), Device("cpu")))


WRONG = (
    ("max_pool", "ties/max_pool/2d", pooled(lambda tied, size: tied)),
    ("max_pool", "ties/max_pool/2d-overlap-pad", pooled(lambda tied, size: tied)),
    ("max_pool", "ties/max_pool/3d", pooled(lambda tied, size: np.zeros_like(tied))),
    ("max_pool", "ties/max_pool/1d", pooled(lambda tied, size: np.full(tied.shape, 1.0 / size))),
    ("max_pool", "ties/max_pool/2d", pooled(lambda tied, size: 1.02 * evenly(tied, size))),
    ("reduce_max", "ties/reduce_max/last", maximum(lambda tied: tied)),
    (
        "reduce_max",
        "ties/reduce_max/last",
        maximum(lambda tied: tied * (tied.sum(axis=-1, keepdims=True) == 1)),
    ),
    ("top_k", "ties/top_k/one", kept((1.0,))),
    ("top_k", "ties/top_k/one", kept((2.0, -1.0, 0.0))),
    ("relu", "ties/relu/zero", slope(-0.1)("relu")),
    ("relu", "ties/relu/zero", slope(2.0)("relu")),
    ("leaky_relu", "ties/leaky_relu/zero", slope(0.0)("leaky_relu")),
    ("abs", "ties/abs/zero", slope(2.0)("abs")),
    ("clip", "ties/clip/bounds", slope(1.5, 6.0)("clip")),
)


@pytest.mark.parametrize(("operator", "check", "gradient"), WRONG)
def test_what_is_no_subgradient_is_found(
    monkeypatch: pytest.MonkeyPatch, operator: str, check: str, gradient: Any
) -> None:
    monkeypatch.setitem(GRADIENTS, operator, gradient)
    found = result(check)
    assert (found.status, f"the gradient of {operator} " in found.detail) == ("failed", True)


RIGHT = (
    ("max_pool", "ties/max_pool/2d-overlap-pad", pooled(last), "the last of equal elements takes all"),
    ("max_pool", "ties/max_pool/2d", pooled(evenly), "equal elements share evenly"),
    ("max_pool", "ties/max_pool/3d", max_pool_gradient, "the first of equal elements takes all"),
    (
        "reduce_max",
        "ties/reduce_max/last",
        maximum(lambda tied: evenly(tied, 0)),
        "equal elements share evenly",
    ),
    ("relu", "ties/relu/zero", slope(0.5)("relu"), "the slope is 0.5 at 0"),
    ("relu", "ties/relu/zero", slope(1.0)("relu"), "the slope is 1 at 0"),
    ("leaky_relu", "ties/leaky_relu/zero", slope(1.0)("leaky_relu"), "the slope is 1 at 0"),
    ("abs", "ties/abs/zero", slope(-1.0)("abs"), "the slope is -1 at 0"),
    ("clip", "ties/clip/bounds", slope(0.0, 6.0)("clip"), "the slope is 1 at 0 and 0 at 6"),
)


@pytest.mark.parametrize(("operator", "check", "gradient", "convention"), RIGHT)
def test_every_subgradient_passes_and_its_convention_is_named(
    monkeypatch: pytest.MonkeyPatch, operator: str, check: str, gradient: Any, convention: str
) -> None:
    monkeypatch.setitem(GRADIENTS, operator, gradient)
    found = result(check)
    assert found.status == "passed", found.detail
    assert found.detail.startswith(convention)


def graph_with_ties() -> Graph:
    net = Network("ties", 2)
    x = net.relu(net.convolution("conv", net.input("x", (3, 40, 40)), 4, 3))
    x = net.max_pool(x, kernel_shape=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1))
    x = net.clip(
        net.max_pool(x, kernel_shape=(5, 5), strides=(1, 1), pads=(2, 2, 2, 2)), min=0.1, max=float("inf")
    )
    x = net.reduce_max(net.relu(x), axes=(2, 3))
    net.output(net.top_k(x, k=2))
    return net.graph()


def test_each_operator_of_a_graph_is_asked_once_with_its_own_attributes() -> None:
    cases = tie_cases(graph_with_ties())
    assert [case.operator for case in cases] == [
        "relu",
        "max_pool",
        "max_pool",
        "clip",
        "reduce_max",
        "top_k",
    ]
    for case in cases:
        found = find(case, reference.build("fp32"), "fp32")
        assert (found.fault, found.convention) == (None, found.reference)


GREEDY = '''
from dataclasses import replace

from benchmarker.plugins import numpy
from benchmarker.plugins.numpy.gradients import GRADIENTS
from benchmarker.plugins.numpy.framework import NumpyFramework


class Sharing(NumpyFramework):
    """Equal elements get the gradient by a rule of its own, which is not that of the reference beside it."""

    def build(self, *arguments, **keywords):
        program = super().build(*arguments, **keywords)
        own, gradients = GRADIENTS["max_pool"], program.gradients

        def by_the_rule(batch):
            GRADIENTS["max_pool"] = pooled(self.rule)
            try:
                return gradients(batch)
            finally:
                GRADIENTS["max_pool"] = own

        program.gradients = by_the_rule
        return program


class Greedy(Sharing):
    rule = staticmethod(lambda tied, size: tied)


class Fair(Sharing):
    rule = staticmethod(evenly)


class GreedyPlugin:
    def benchmarker_framework(self):
        return replace(numpy.benchmarker_framework(), name="greedy", implementation="greedy_framework:Greedy")


class FairPlugin:
    def benchmarker_framework(self):
        return replace(numpy.benchmarker_framework(), name="fair", implementation="greedy_framework:Fair")
'''


@pytest.mark.framework("numpy")
def test_verify_finds_it_and_tells_another_convention(
    command: Command, distribution: Callable[..., Path]
) -> None:
    source = Path(pooling_gradients.__file__).read_text() + GREEDY
    points = [f"{name.lower()} = greedy_framework:{name}Plugin" for name in ("Greedy", "Fair")]
    asked = command.with_path(distribution("greedy", {"frameworks": points}, {"greedy_framework": source}))
    options = ("--problem=pool2d", "--size=reduced", "--optimizer=sgd")
    finished = asked("verify", "--framework=greedy,fair,numpy", *options, "--json")
    assert finished.status == 1, finished.stderr
    greedy, fair, right = json.loads(finished.stdout)["verdicts"]
    assert [verdict["status"] for verdict in (greedy, fair, right)] == ["failed", "passed", "passed"]
    (tie,) = greedy["ties"]
    assert tie["fault"].startswith("the gradient of max_pool where elements are tied must have weights")
    assert fair["ties"][0]["convention"] == "equal elements share evenly"
    told = " ".join(asked("verify", "--framework=fair", *options).stdout.split())
    assert "equal elements share evenly; in the reference the" in told
