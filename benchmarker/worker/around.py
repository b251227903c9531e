"""A program around another one, which does all that is not done otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.program import Program

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.api.native_scheme import ServerAgain
    from benchmarker.api.profile import Profile
    from benchmarker.api.training_state import TrainingState

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]


class Around(Program):
    """Passes every call on.

    Parameters
    ----------
    program : Program
        The one inside.
    """

    def __init__(self, program: Program) -> None:
        self._program = program

    def load(self, batch: Mapping[str, Array]) -> Any:
        return self._program.load(batch)

    def infer(self, batch: Any) -> Any:
        return self._program.infer(batch)

    def train_step(self, batch: Any) -> Any:
        return self._program.train_step(batch)

    def train_parts(self, batch: Any) -> Iterator[tuple[str, Any]]:
        return self._program.train_parts(batch)

    def gradient_step(self, batch: Any) -> tuple[Any, Any]:
        return self._program.gradient_step(batch)

    def train_micro(self, batches: Sequence[Any]) -> Any:
        return self._program.train_micro(batches)

    def profile(self, batch: Any, steps: int) -> Profile:
        return self._program.profile(batch, steps)

    def gradients(self, batch: Any) -> tuple[float, Arrays]:
        return self._program.gradients(batch)

    def fetch_gradients(self, gradients: Any) -> Arrays:
        return self._program.fetch_gradients(gradients)

    def exchanged(self) -> dict[str, int] | None:
        return self._program.exchanged()

    def server_again(self) -> ServerAgain:
        return self._program.server_again()

    def parameters(self) -> Arrays:
        return self._program.parameters()

    def set_hyperparameters(self, values: Mapping[str, float]) -> None:
        self._program.set_hyperparameters(values)

    def prepare_hyperparameters(self, values: Mapping[str, float]) -> Any:
        return self._program.prepare_hyperparameters(values)

    def use_hyperparameters(self, prepared: Any) -> None:
        self._program.use_hyperparameters(prepared)

    def optimizer_variant(self) -> str:
        return self._program.optimizer_variant()

    def evaluation_parameters(self) -> Arrays:
        return self._program.evaluation_parameters()

    def optimizer_state(self) -> dict[str, Arrays]:
        return self._program.optimizer_state()

    def native_state(self) -> Arrays:
        return self._program.native_state()

    def restore(self, state: TrainingState) -> None:
        self._program.restore(state)

    def lost_on_restore(self) -> str | None:
        return self._program.lost_on_restore()

    def skipped_updates(self, steps: int) -> int | None:
        return self._program.skipped_updates(steps)

    def note_updates(self, steps: int) -> None:
        self._program.note_updates(steps)

    def assign(self, values: Mapping[str, Array]) -> None:
        self._program.assign(values)

    def fetch(self, output: Any) -> tuple[Array, ...]:
        return self._program.fetch(output)

    def synchronize(self, output: Any) -> None:
        self._program.synchronize(output)

    def memory(self) -> dict[str, int]:
        return self._program.memory()

    def reset_memory(self) -> None:
        self._program.reset_memory()

    def device_event(self) -> Any:
        return self._program.device_event()

    def device_seconds(self, first: Any, last: Any) -> float:
        return self._program.device_seconds(first, last)

    def compilations(self) -> int | None:
        return self._program.compilations()
