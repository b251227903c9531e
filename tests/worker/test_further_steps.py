"""How many of a program's steps were updates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchmarker.worker.verification.further_steps import updates_made


@pytest.mark.parametrize(("skipped", "updates"), [(None, 10), (0, 10), (3, 7)])
def test_steps_that_a_loss_scaler_skipped_are_no_updates(skipped: int | None, updates: int) -> None:
    program: Any = SimpleNamespace(skipped_updates=lambda steps: skipped)
    assert updates_made(program, 10) == updates
