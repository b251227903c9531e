"""What a program of MXNet goes on from: arrays that are written over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.training_state import TrainingState
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.mxnet.composed import ComposedUpdates
from benchmarker.plugins.mxnet.lowering import Settings
from benchmarker.plugins.mxnet.optimizers import Updates
from benchmarker.plugins.mxnet.parameters import Slot
from benchmarker.plugins.numpy.evaluation import RuleProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_SEED, _RATE, _BUFFER = "seed", "rate", "buffer"
_SEEDS = 2**31 - 1


class RestorableProgram(RuleProgram):
    """A program whose state is in arrays."""

    _mx: Any
    _settings: Settings
    _hyperparameters: Hyperparameters
    _slots: tuple[Slot, ...]

    def native_state(self) -> dict[str, Array]:
        """Return buffers as MXNet keeps them, and a new seed of its generators, whose state nothing tells."""
        updates, found = self._updating(), {}
        if isinstance(updates, Updates):
            for letter, (arrays, _) in updates.state().items():
                for place, array in enumerate(arrays):
                    found[f"{_BUFFER}.{letter}.{place}"] = array.asnumpy()
            if updates.folded is not None:
                found[_RATE] = np.array(updates.folded.rate, np.float64)
        if "dropout" in self._graph.operators:
            found[_SEED] = self._mx.nd.random.randint(0, _SEEDS, shape=(1,)).asnumpy().astype(np.int64)
            self._set_seed(found[_SEED])
        return found

    def restore(self, state: TrainingState) -> None:
        updates = self._updating()
        self.assign(state.parameters)
        if isinstance(updates, ComposedUpdates):
            updates.resume_from(state.steps, state.numbers)
            updates.put(state.optimizer)
        else:
            self._put_native(updates, state)
        if _SEED in state.native:
            self._set_seed(state.native[_SEED])
        self._mx.nd.waitall()

    def _put_native(self, updates: Updates, state: TrainingState) -> None:
        rate = state.native.get(_RATE)
        updates.resume_from(
            self._hyperparameters.optimizer, state.steps, None if rate is None else float(rate)
        )
        for letter, (kept, factor) in updates.state().items():
            buffers = [f"{_BUFFER}.{letter}.{place}" for place in range(len(kept))]
            if all(name in state.native for name in buffers):
                for array, name in zip(kept, buffers):
                    array[:] = state.native[name]
            else:
                self._put(kept, factor, state.optimizer[letter])

    def _put(self, kept: Sequence[Any], factor: float, arrays: Mapping[str, Array]) -> None:
        """Write a letter of the state, as it is told, over what is kept instead, which times a factor is it."""
        for slot, array in zip((slot for slot in self._slots if slot.trainable), kept):
            array[:] = (slot.encode(arrays).astype(np.float64) / factor).astype(np.float32)

    def _set_seed(self, seed: Array) -> None:
        self._mx.nd.waitall()
        self._mx.random.seed(int(seed[0]))

    def _updating(self) -> Updates | ComposedUpdates:
        raise NotImplementedError
