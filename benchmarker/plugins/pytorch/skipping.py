"""How many updates PyTorch's loss scaler left out, told from the scale and its tracker, which steps leave behind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def skipped_between(
    before: tuple[float, int], after: tuple[float, int], steps: int, interval: int
) -> int | None:
    """Return how many of some steps were skipped; None if several numbers are possible.

    A skipped step halves the scale and starts the tracker anew at 0. Any other adds 1 to the tracker, which at
    ``interval`` doubles the scale and starts it anew.

    Parameters
    ----------
    before, after : tuple of float and int
        Scale and tracker before the steps and after them.
    steps : int
        How many steps there were.
    interval : int
        Steps without a skip after which the scale grows.
    """
    if steps == 0:
        return 0
    if steps >= interval or not after[0] > 0.0:
        return None
    growth_step = interval - before[1]
    possible = [
        skips
        for growths in (0, 1)
        for skips in [growths - math.log2(after[0] / before[0])]
        if _is_possible(skips, growths, steps, growth_step, before[1], after[1])
    ]
    return int(possible[0]) if len(possible) == 1 else None


def _is_possible(skips: float, growths: int, steps: int, growth_step: int, tracker: int, left: int) -> bool:
    """Tell whether so many skips and growths, of which there is one at most, leave the tracker as it is."""
    grows = growths == 1
    if skips < 0 or skips != int(skips) or (grows and growth_step > steps):
        return False
    if skips == 0:
        return left == (steps - growth_step if grows else steps + tracker) and grows == (growth_step <= steps)
    last = steps - left
    if grows:
        return last >= growth_step + skips
    # Without a growth the first skip came before it was due; only a single one is also the last, whose step is known.
    return last >= skips and (skips > 1 or last <= growth_step)


class SkippedUpdates:
    """Counts what the scaler leaves out, for optimizers that count no updates themselves.

    Parameters
    ----------
    scaler : torch.amp.GradScaler
        Of the training step.

    Attributes
    ----------
    count : int or None
        Of the steps so far when it was asked last.
    """

    def __init__(self, scaler: Any) -> None:
        self._scaler = scaler
        self.resume_from(0, 0)

    def resume_from(self, steps: int, count: int | None) -> None:
        """Be where so many steps have been made, of which so many were skipped; None if that is not known."""
        self._steps, self.count, self._state = steps, count, self._read()

    def counted(self, steps: int) -> int | None:
        """Return how many of all steps so far were skipped; known if this is asked often enough."""
        after = self._read()
        found = skipped_between(
            self._state, after, steps - self._steps, int(self._scaler.get_growth_interval())
        )
        self.count = None if found is None or self.count is None else self.count + found
        self._steps, self._state = steps, after
        return self.count

    def may_lower(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that may lower the scale without a step."""

        def called(*arguments: Any) -> Any:
            before = self._scaler.get_scale()
            found = function(*arguments)
            scale, tracker = self._state
            self._state = (scale * self._scaler.get_scale() / before, tracker)
            return found

        return called

    def _read(self) -> tuple[float, int]:
        kept = self._scaler.state_dict()
        return float(kept["scale"]), int(kept["_growth_tracker"])
