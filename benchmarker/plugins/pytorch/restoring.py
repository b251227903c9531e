"""What PyTorch goes on from: its optimizers' state put back, and what of it only PyTorch understands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.training_state import TrainingState
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.restoring import native_statistics, restored_arrays, statistics_of
from benchmarker.plugins.pytorch.composed import ComposedOptimizer
from benchmarker.plugins.pytorch.modifiers import averages_of
from benchmarker.plugins.pytorch.skipping import SkippedUpdates
from benchmarker.plugins.pytorch.tensors import Tensors, to_numpy
from benchmarker.plugins.pytorch.training import LETTERS, state_of
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.modified import AVERAGE

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_GENERATOR, _SCALE, _UPDATES, _SKIPPED = "generator", "loss_scale", "updates", "skipped"
COUNTING = ("adam", "adamw", "rmsprop", "adagrad", "adafactor")
"""Optimizers whose state has the number of updates."""


@dataclass(frozen=True)
class Restoring:
    """Tells and puts back what a program's steps hand on.

    Parameters
    ----------
    graph : Graph
        Of the program.
    tensors : Tensors
        Its parameters.
    device : Device
        Where they are.
    optimizer : Optimizer
        The equations.
    native : torch.optim.Optimizer or ComposedOptimizer
        What updates.
    scaler : torch.amp.GradScaler or None
        What scales the loss.
    skips : SkippedUpdates or None
        Counts what it leaves out, for optimizers that do not count their updates.
    """

    graph: Graph
    tensors: Tensors
    device: Device
    optimizer: Optimizer
    native: Any
    scaler: Any
    skips: SkippedUpdates | None = None

    def native_state(self) -> dict[str, Array]:
        """Return the native state: statistics as they are kept, generator, loss scale, and updates that were made."""
        found = native_statistics({name: [to_numpy(t) for t in kept] for name, kept in self._statistics()})
        if "dropout" in self.graph.operators:
            found[_GENERATOR] = self._generator_state().cpu().numpy().copy()
        if self.scaler is not None:
            kept = self.scaler.state_dict()
            found[_SCALE] = np.array([kept["scale"], kept["_growth_tracker"]], np.float64)
            found[_UPDATES] = np.array(self._updates(), np.int64)
        if self.skips is not None and self.skips.count is not None:
            found[_SKIPPED] = np.array(self.skips.count, np.int64)
        return found

    def put(self, state: TrainingState) -> None:
        """Go on from a state."""
        for name, value in state.parameters.items():
            self.tensors.assign(name, value)
        for name, natives in self._statistics():
            for tensor, array in zip(natives, statistics_of(state.native, name, len(natives))):
                _copy(tensor, array)
        if isinstance(self.native, ComposedOptimizer):
            self._put_composed(self.native, state)
        else:
            self._put_native(state)
        self._restore_extra(state.native)
        if self.skips is not None:
            # Another framework's steps, which are told without a native state, skipped none.
            unknown = _SCALE in state.native and _SKIPPED not in state.native
            self.skips.resume_from(state.steps, None if unknown else int(state.native.get(_SKIPPED, 0)))

    def skipped(self, steps: int) -> int | None:
        """Return how many steps made no update; None where nothing is scaled, or if the scale does not tell."""
        if self.skips is not None:
            return self.skips.counted(steps)
        return None if self.scaler is None else steps - self._updates()

    def note(self, steps: int) -> None:
        """Take down how many of so many steps made no update, where the optimizer does not count them."""
        if self.skips is not None:
            self.skips.counted(steps)

    def _statistics(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        return ((name, self.tensors.native[name]) for name in self.graph.statistics)

    def _letters(
        self, state: TrainingState, slots: Mapping[str, list[Any]]
    ) -> Iterator[tuple[str, Any, Array]]:
        natives = {p.name: self.tensors.native[p.name] for p in self.graph.trainable}
        for letter, kept in slots.items():
            pairs = restored_arrays(natives, kept, state.optimizer[letter], self.tensors.encode)
            yield from ((letter, slot, array) for slot, array in pairs)

    def _put_composed(self, composed: ComposedOptimizer, state: TrainingState) -> None:
        composed.resume_from(state.steps, state.numbers)
        for _, slot, array in self._letters(state, composed.state()):
            _copy(slot, array)

    def _put_native(self, state: TrainingState) -> None:
        """Have PyTorch load the state, which an optimizer makes in its first step only."""
        import torch

        names, trainable = LETTERS[self.optimizer.kind], self.tensors.trainable
        grouped = (tensor for group in self.native.param_groups for tensor in group["params"])
        places = {id(tensor): place for place, tensor in enumerate(grouped)}
        made: dict[int, dict[str, Any]] = {}
        found = state_of(self.optimizer, self.native, trainable)
        slots = {letter: found[letter] for letter in names}
        owners = {id(slot): tensor for kept in slots.values() for slot, tensor in zip(kept, trainable)}
        for letter, slot, array in self._letters(state, slots):
            kept = torch.empty_like(slot.detach())
            _copy(kept, array)
            made.setdefault(places[id(owners[id(slot)])], {})[names[letter]] = kept
        if self.optimizer.kind in COUNTING:
            updates = int(state.native.get(_UPDATES, state.steps))
            for kept in made.values():
                kept["step"] = torch.tensor(float(updates))
        groups = self.native.state_dict()["param_groups"]
        self.native.load_state_dict({"state": made, "param_groups": groups})
        if self.optimizer.modifiers.ema:
            for _, average, array in self._letters(state, {AVERAGE: averages_of(self.native)}):
                _copy(average, array)

    def _restore_extra(self, native: Mapping[str, Array]) -> None:
        import torch

        if _GENERATOR in native:
            words = torch.from_numpy(np.array(native[_GENERATOR], np.uint8))
            if self.device.type == "cuda":
                torch.cuda.set_rng_state(words, self.device.index)
            else:
                torch.set_rng_state(words)
        if self.scaler is not None and _SCALE in native:
            scale, tracker = (float(value) for value in native[_SCALE])
            kept = self.scaler.state_dict()
            self.scaler.load_state_dict({**kept, "scale": scale, "_growth_tracker": int(tracker)})

    def _generator_state(self) -> Any:
        import torch

        if self.device.type == "cuda":
            return torch.cuda.get_rng_state(self.device.index)
        return torch.get_rng_state()

    def _updates(self) -> int:
        """Return how many updates were made: those that were skipped for a loss scale are none."""
        counts = [int(kept["step"]) for kept in self.native.state.values() if "step" in kept]
        return max(counts, default=0)


def _copy(tensor: Any, array: Array) -> None:
    import torch

    with torch.no_grad():
        tensor.copy_(torch.from_numpy(np.array(array, order="C")).reshape(tensor.shape))
