"""Steps of a program beyond those that were timed, counted: an optimizer's equations ask for their number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.job import RunJob
from benchmarker.worker.measurement.lateness import Collected
from benchmarker.worker.verification.budget import Budget
from benchmarker.worker.verification.findings import impossible_kinds
from benchmarker.worker.verification.tolerances import Expected, Tolerance

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.worker.program import Prepared

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ProofSubject:
    """What is looked at after the timed part, and what it is held to.

    Parameters
    ----------
    job, prepared
        The run.
    steps : FurtherSteps
        Of its program.
    expected : sequence of Expected
        What the reference has of the first mini-batch.
    limits : mapping
        What each of these may be off by.
    budget : Budget
        What the proof may cost.
    """

    job: RunJob
    prepared: Prepared
    steps: FurtherSteps
    expected: Sequence[Expected]
    limits: Mapping[str, Tolerance]
    budget: Budget

    @property
    def impossible(self) -> dict[str, str | None]:
        """Kinds of tensors, with why rounding alone moves those too far to judge; None where it does not."""
        return impossible_kinds(self.expected, self.job.precision)


class FurtherSteps:
    """Makes steps in the mode of a program.

    Parameters
    ----------
    program : Program
        Whose steps they are.
    mode : {"inference", "training", "gradient", "generation"}
        Its mode.
    taken : int
        Steps that it has made.

    Attributes
    ----------
    taken : int
        With those that were made here.
    """

    def __init__(self, program: Program, mode: str, taken: int) -> None:
        self.program = program
        self.taken = taken
        self._mode = mode
        methods = {"training": program.train_step, "gradient": program.gradient_step}
        self._step = methods.get(mode, program.infer)

    @property
    def updates(self) -> int:
        """How many of the steps have made an update."""
        return updates_made(self.program, self.taken)

    def load(self, batch: Mapping[str, Array]) -> Any:
        return self.program.load(batch)

    def step(self, batch: Any) -> Any:
        """Make a step of a loaded mini-batch; return its output, possibly before it is ready."""
        self.taken += 1
        return self._step(batch)

    def values(self, batch: Any) -> tuple[Array, ...]:
        """Make a step and return what it computed forward, as NumPy arrays."""
        output = self.step(batch)
        self.program.synchronize(output)
        return self.fetch(output)

    def fetch(self, output: Any) -> tuple[Array, ...]:
        """Return what a step computed forward, as NumPy arrays."""
        return self.program.fetch(output[0] if self._mode == "gradient" else output)

    def gradients(self, output: Any) -> dict[str, Array] | None:
        """Return the gradients that a step returned; None if it returns none or they are not exposed."""
        return step_gradients(self.program, self._mode, output)

    def collect(self, output: Any) -> Collected:
        """Bring home what a step did: of training the weights, since a loss may be there long before its update."""
        return self.program.parameters() if self._mode == "training" else self.returned(output)

    def returned(self, output: Any) -> list[Array]:
        """Return all that a step returned, as NumPy arrays."""
        return [*self.fetch(output), *(self.gradients(output) or {}).values()]


def updates_made(program: Program, taken: int) -> int:
    """Return how many of so many steps have made an update: a loss scaler skips some, which equations do not count."""
    return taken - (program.skipped_updates(taken) or 0)


def step_gradients(program: Program, mode: str, output: Any) -> dict[str, Array] | None:
    """Return the gradients that a step returned, as NumPy arrays; None if it has none or they are not exposed."""
    if mode != "gradient":
        return None
    try:
        return program.fetch_gradients(output[1])
    except UnsupportedError:
        return None


def require_gradients(names: Iterable[str], found: Mapping[str, Any]) -> None:
    """Raise ``RuntimeError`` unless a framework returned a gradient for each of these."""
    missing = [name for name in names if name not in found]
    if missing:
        raise RuntimeError(f"the framework returned no gradient for {', '.join(missing)}")
