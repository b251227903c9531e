"""What a program of Chainer goes on from: arrays that are written over, and NumPy's generator of dropout's masks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.training_state import TrainingState
from benchmarker.plugins.chainer.composed import ComposedUpdates
from benchmarker.plugins.chainer.optimizers import Updates
from benchmarker.plugins.common.layouts import Layout
from benchmarker.plugins.common.restoring import native_statistics, restored_arrays, statistics_of
from benchmarker.plugins.numpy.evaluation import RuleProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_GENERATOR, _RATE, _BUFFER, _MASTER = "generator", "rate", "buffer", "single_precision"


class RestorableProgram(RuleProgram):
    """A program whose state is in arrays."""

    _device: Any
    _exact: type[Any]
    _layouts: Mapping[str, Layout]
    _native: Mapping[str, tuple[Any, ...]]

    def native_state(self) -> dict[str, Array]:
        """Return statistics and buffers as Chainer keeps them, and the state of NumPy's own generator."""
        update = self._updating()
        found = native_statistics(
            {n: [self._fetch(a) for a in self._native[n]] for n in self._graph.statistics}
        )
        for key, parameter in self._keys():
            copy = getattr(parameter.update_rule, "_fp32_param", None)
            if copy is not None:
                found[f"{_MASTER}.{key}"] = np.array(self._fetch(copy))
            if isinstance(update, Updates) and update.rate is not None:
                found[f"{_BUFFER}.{key}"] = np.array(self._fetch(update.state("v", parameter)))
        if isinstance(update, Updates) and update.rate is not None:
            found[_RATE] = np.array(update.rate, np.float64)
        if self._drops_on_cpu():
            state: Any = np.random.get_state()
            found[_GENERATOR] = np.array([*state[1], state[2]], np.uint32)
        return found

    def restore(self, state: TrainingState) -> None:
        """Write a state over what there is, and count updates from there."""
        update = self._updating()
        self.assign(state.parameters)
        for name in self._graph.statistics:
            kept = statistics_of(state.native, name, len(self._native[name]))
            for native, array in zip(self._native[name], kept):
                native[...] = self._device.send(np.array(array))
        if isinstance(update, ComposedUpdates):
            update.resume_from(state.steps, state.numbers)
            for _, slot, array in self._letters(state, update.state()):
                slot[...] = self._device.send(np.array(array, slot.dtype))
        else:
            self._put_native(update, state)
        if self._drops_on_cpu() and _GENERATOR in state.native:
            words = state.native[_GENERATOR]
            np.random.set_state(("MT19937", np.array(words[:-1], np.uint32), int(words[-1]), 0, 0.0))

    def lost_on_restore(self) -> str | None:
        """Return CuPy's generator, which tells nothing."""
        drops = "dropout" in self._graph.operators and self._device.xp is not np
        return "the generator of dropout's masks" if drops else None

    def _put_native(self, update: Updates, state: TrainingState) -> None:
        rate = state.native.get(_RATE)
        update.resume_from(state.steps, None if rate is None else float(rate))
        trained = [parameter for _, parameter in self._keys()]
        for letter, parameter, array in self._letters(state, dict.fromkeys(update.letters, trained)):
            update.put(letter, parameter, self._device.send(np.array(array, self._exact)))
        for key, parameter in self._keys():
            if f"{_BUFFER}.{key}" in state.native:
                update.state("v", parameter)[...] = self._device.send(state.native[f"{_BUFFER}.{key}"])
            copy = getattr(parameter.update_rule, "_fp32_param", None)
            if copy is not None and f"{_MASTER}.{key}" in state.native:
                copy.array[...] = self._device.send(state.native[f"{_MASTER}.{key}"])

    def _letters(
        self, state: TrainingState, slots: Mapping[str, list[Any]]
    ) -> Iterator[tuple[str, Any, Array]]:
        natives = {p.name: self._native[p.name] for p in self._graph.trainable}
        for letter, kept in slots.items():
            arrays = state.optimizer[letter]
            pairs = restored_arrays(natives, kept, arrays, lambda name, a: self._layouts[name].encode(a))
            yield from ((letter, slot, array) for slot, array in pairs)

    def _keys(self) -> list[tuple[str, Any]]:
        """Return Chainer's parameters in the order of the graph's, each with a name of its own."""
        return [
            (f"{p.name}.{place}", native)
            for p in self._graph.trainable
            for place, native in enumerate(self._native[p.name])
        ]

    def _drops_on_cpu(self) -> bool:
        return "dropout" in self._graph.operators and self._device.xp is np

    def _updating(self) -> Updates | ComposedUpdates:
        raise NotImplementedError

    def _fetch(self, value: Any) -> Array:
        raise NotImplementedError
