"""The losses of a training as it goes on."""

from __future__ import annotations

from typing import Any

from benchmarker.records.schema import validate
from benchmarker.worker.measurement.loss_curve import LossCurve
from tests.support.records import make_record


def test_losses_are_noted_with_steps_and_seconds_since_the_start() -> None:
    now = iter([100.0, 100.5, 102.0])
    curve = LossCurve(lambda output: output, clock=lambda: next(now))
    curve.note(3, 2.25)
    curve.note(9, None)
    assert curve.to_json() == {"steps": [3, 9], "seconds": [0.5, 2.0], "losses": [2.25, None]}


def test_the_last_loss_is_noted_once() -> None:
    now = iter([0.0, 1.0, 2.0])
    curve = LossCurve(lambda output: output, clock=lambda: next(now))
    curve.note(3, 2.25)
    curve.note(3, 7.0)
    assert curve.to_json()["losses"] == [2.25]


def test_a_record_tells_of_a_curve_that_does_not_fit_together() -> None:
    def faults(**learning: Any) -> list[str]:
        record = make_record(
            learning={"steps": [1, 2], "seconds": [0.1, 0.2], "losses": [3.0, None], **learning}
        )
        return [fault.path for fault in validate(record)]

    assert faults() == []
    assert faults(losses=[3.0]) == ["$.learning"]
    assert faults(seconds=[0.2, 0.1]) == ["$.learning.seconds"]
    assert faults(steps=[2, 1]) == ["$.learning.steps"]
