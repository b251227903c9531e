"""How the first steps of a rank are made, those that are followed beside their definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

from benchmarker.worker.program import Prepared
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    from benchmarker.worker.training.session import Session


class FirstSteps:
    """Those of a run with timed steps.

    Parameters
    ----------
    prepared : Prepared
        The rank's program.
    stages : Stages
        Of the worker.
    """

    def __init__(self, prepared: Prepared, stages: Stages) -> None:
        self._prepared, self._stages = prepared, stages

    def constants(self, number: int) -> Mapping[str, float]:
        """Return those of the optimizer that a schedule sets for a step, counted from 0."""
        return {}

    def first(self) -> Any:
        """Make the first step, timed by itself, and return what it returned."""
        with self._stages.stage("compile"):
            output = self._prepared.step(self._prepared.feed())
            self._prepared.program.synchronize(output)
        return output

    def further(self) -> Any:
        """Make another step."""
        return self._prepared.step(self._prepared.feed())


class TrainingSteps(FirstSteps):
    """Those of a training by a recipe, which are its own first steps.

    Parameters
    ----------
    prepared, stages
        As above.
    session : Session
        The training.

    Attributes
    ----------
    loss_first : float or None
        Of the first step, of all ranks' rows.
    """

    def __init__(self, prepared: Prepared, stages: Stages, session: Session) -> None:
        super().__init__(prepared, stages)
        self._session = session
        self.loss_first: Optional[float] = None

    def constants(self, number: int) -> Mapping[str, float]:
        return self._session.rates.at(number)

    def first(self) -> Any:
        output, loop = super().first(), self._session.loop
        loop.count_first_step(output, int(self._stages.seconds["compile"] * 1e9))
        self.loss_first = loop.loss
        return output

    def further(self) -> Any:
        self._session.loop.make_step()
        return self._session.loop.output
