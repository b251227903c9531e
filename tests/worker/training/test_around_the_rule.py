"""Clipping, weight decay of some parameters and an average of weights in a training; and mistakes, which are caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarker.api.framework import Framework
from benchmarker.api.modifiers import Modifiers
from benchmarker.api.optimizer import Optimizer
from benchmarker.data import values
from benchmarker.plugins.numpy.program import NumpyProgram
from benchmarker.worker.loading import problem_graph
from tests.support.digits_by_hand import ByHand, train_by_hand
from tests.support.faulty_frameworks import framework_of
from tests.support.late_faults import UncorrectedAdam, with_optimizer
from tests.worker.training.test_train_job import (
    EVERY,
    JOB,
    Trained,
    counts,
)

CLIPPED = Modifiers(clip_norm=1.0)
AVERAGED = Modifiers(ema=0.98)
OF_WEIGHTS = Modifiers(decay_of="weights")


def by_hand(**around: Any) -> ByHand:
    first = values.draw_parameters(problem_graph(JOB, JOB.batch_size), JOB.seed)
    return train_by_hand(first, [0.05] * 132, seed=JOB.seed, every=EVERY, **around)


@pytest.mark.parametrize(
    ("modifiers", "decay", "around"),
    [
        (CLIPPED, 0.0, {"clip_norm": 1.0}),
        (AVERAGED, 0.0, {"ema": 0.98}),
        (OF_WEIGHTS, 0.02, {"decay": 0.02}),
        (
            Modifiers(clip_norm=1.0, ema=0.98, decay_of="*.weight"),
            0.02,
            {"clip_norm": 1.0, "ema": 0.98, "decay": 0.02},
        ),
    ],
    ids=["clipped", "averaged", "of weights", "all"],
)
def test_it_is_the_training_by_hand(
    modifiers: Modifiers, decay: float, around: dict[str, float], trained: Trained
) -> None:
    sent = trained(optimizer=replace(JOB.optimizer, weight_decay=decay, modifiers=modifiers))
    exact = by_hand(**around)
    assert sent["verification"]["status"] == sent["proof"]["status"] == "passed", sent["proof"]["reason"]
    assert sent["prepared"]["optimizer_variant"] == "composed"
    assert counts(sent) == exact.correct
    told = sent["result"]["training"]["curve"]["evaluation_loss"]
    assert told == pytest.approx(exact.losses, rel=1e-5)
    assert told != pytest.approx(by_hand().losses, rel=1e-3)


@pytest.mark.parametrize("name", ["momentum", "weight_decay"])
def test_other_constants_follow_a_schedule_too(name: str, trained: Trained) -> None:
    schedules = {name: {"kind": "cosine", "end": 0.5}, "learning_rate": {"kind": "cosine", "warmup": 20}}
    sent = trained(training={"schedules": schedules}, optimizer=replace(JOB.optimizer, weight_decay=0.02))
    assert sent["verification"]["status"] == sent["proof"]["status"] == "passed", sent["proof"]["reason"]
    assert set(sent["result"]["training"]["digests"]["constants"]) == set(schedules)
    constant = trained(
        training={"schedules": {"learning_rate": schedules["learning_rate"]}},
        optimizer=replace(JOB.optimizer, weight_decay=0.02),
        verify=False,
    )
    curves = [one["result"]["training"]["curve"]["evaluation_loss"] for one in (sent, constant)]
    assert curves[0] != pytest.approx(curves[1], rel=1e-4)


# --- mistakes ------------------------------------------------------------------------------------


def asked(modifiers: Modifiers) -> Callable[[Optimizer], Optimizer]:
    """What a program does around its rule, whatever was asked for."""
    return lambda optimizer: replace(optimizer, modifiers=modifiers)


def of_kind(kind: str) -> Callable[[Optimizer], Optimizer]:
    return lambda optimizer: replace(optimizer, kind=kind)


class TellsTrained(NumpyProgram):
    """Keeps the average, and has the trained weights evaluated all the same."""

    def evaluation_parameters(self) -> dict[str, Any]:
        return self.parameters()


class StandingAverage(NumpyProgram):
    """Has an average that stays where it was."""

    def train_step(self, batch: dict[str, Any]) -> Any:
        before = {name: array.copy() for name, array in self._state["average"].items()}
        loss = super().train_step(batch)
        for name, array in before.items():
            self._state["average"][name][...] = array
        return loss


class ClipsEachTensor(NumpyProgram):
    """Clips every gradient by its own norm."""

    def half_step(self, batch: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        loss, gradients = super().half_step(batch)
        return loss, {n: g * min(1.0, 1.0 / np.linalg.norm(g)) for n, g in gradients.items()}


ADAM = Optimizer("adam", learning_rate=0.003, weight_decay=0.02)
MOMENTUM = replace(JOB.optimizer, weight_decay=0.02)
FAULTS: dict[str, tuple[Optimizer, Callable[[], Framework]]] = {
    "decay applied to biases": (replace(MOMENTUM, modifiers=OF_WEIGHTS), with_optimizer(asked(Modifiers()))),
    "decay of biases alone": (
        replace(MOMENTUM, modifiers=OF_WEIGHTS),
        with_optimizer(asked(Modifiers(decay_of="*.bias"))),
    ),
    "decay inside the adaptive step": (replace(ADAM, kind="adamw"), with_optimizer(of_kind("adam"))),
    "decay outside the adaptive step": (ADAM, with_optimizer(of_kind("adamw"))),
    "decoupled decay made part of the gradient": (
        replace(MOMENTUM, modifiers=Modifiers(decay_kind="decoupled")),
        with_optimizer(asked(Modifiers(decay_kind="coupled"))),
    ),
    "bias correction missing": (Optimizer("adam", learning_rate=0.003), UncorrectedAdam),
    "never clipped": (replace(MOMENTUM, modifiers=CLIPPED), with_optimizer(asked(Modifiers()))),
    "clipped tensor by tensor": (replace(MOMENTUM, modifiers=CLIPPED), framework_of(ClipsEachTensor)),
    "average never evaluated": (replace(MOMENTUM, modifiers=AVERAGED), framework_of(TellsTrained)),
    "average that stands": (replace(MOMENTUM, modifiers=AVERAGED), framework_of(StandingAverage)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_mistake_fails_the_run(fault: str, trained: Trained) -> None:
    optimizer, framework = FAULTS[fault]
    sent = trained(framework, optimizer=optimizer, training={"limits": {"steps": 50}})
    found = [sent[event] for event in ("verification", "proof") if event in sent]
    assert "failed" in [one["status"] for one in found], [one["reason"] for one in found]
    if fault == "average never evaluated":
        assert "evaluated weights" in sent["proof"]["reason"]


@pytest.mark.parametrize("fault", FAULTS)
def test_without_the_mistake_it_passes(fault: str, trained: Trained) -> None:
    sent = trained(optimizer=FAULTS[fault][0], training={"limits": {"steps": 50}})
    assert sent["verification"]["status"] == sent["proof"]["status"] == "passed", sent["proof"]["reason"]
