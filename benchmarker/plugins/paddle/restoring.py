"""What a program of Paddle goes on from: tensors that are written over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.training_state import TrainingState
from benchmarker.plugins.common.layouts import Layout
from benchmarker.plugins.common.restoring import native_statistics, restored_arrays, statistics_of
from benchmarker.plugins.numpy.evaluation import RuleProgram
from benchmarker.plugins.paddle.optimizers import Update

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class RestorableProgram(RuleProgram):
    """A program whose state is in tensors."""

    _layouts: Mapping[str, Layout]
    _native: Mapping[str, tuple[Any, ...]]

    def native_state(self) -> dict[str, Array]:
        """Return statistics as Paddle keeps them, and what an optimizer keeps beside its state."""
        found = native_statistics({n: [t.numpy() for t in self._native[n]] for n in self._graph.statistics})
        for name, slots in self._updating().extra_state().items():
            found.update({f"{name}.{place}": np.array(slot.numpy()) for place, slot in enumerate(slots)})
        return found

    def restore(self, state: TrainingState) -> None:
        """Write a state over what there is, and count updates from there."""
        update = self._updating()
        self.assign(state.parameters)
        for name in self._graph.statistics:
            kept = statistics_of(state.native, name, len(self._native[name]))
            for tensor, array in zip(self._native[name], kept):
                tensor.set_value(array)
        update.resume_from(state.steps, state.numbers)
        natives = {p.name: self._native[p.name] for p in self._graph.trainable}
        for letter, slots in update.state().items():
            arrays = state.optimizer[letter]
            for slot, array in restored_arrays(
                natives, slots, arrays, lambda n, a: self._layouts[n].encode(a)
            ):
                slot.set_value(np.array(array, np.float32))
        for name, slots in update.extra_state().items():
            for place, slot in enumerate(slots):
                if f"{name}.{place}" in state.native:
                    slot.set_value(state.native[f"{name}.{place}"])

    def lost_on_restore(self) -> str | None:
        """Return the generator, of which Paddle tells the seed alone."""
        return "the generator of dropout's masks" if "dropout" in self._graph.operators else None

    def _updating(self) -> Update:
        raise NotImplementedError
