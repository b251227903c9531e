"""What a program of TensorFlow goes on from: values that its variables are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.training_state import TrainingState
from benchmarker.plugins.common.restoring import native_statistics, restored_arrays, statistics_of
from benchmarker.plugins.numpy.evaluation import RuleProgram
from benchmarker.plugins.tensorflow.composed import ComposedRule
from benchmarker.plugins.tensorflow.layouts import WeightLayout
from benchmarker.plugins.tensorflow.optimizers import UpdateRule

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]

_GENERATOR, _POWERS = "generator", "powers"


class RestorableProgram(RuleProgram):
    """A program whose state is in variables."""

    _tf: Any
    _generator: Any
    _layouts: Mapping[str, WeightLayout]
    _variables: Mapping[str, tuple[Any, ...]]

    def native_state(self) -> dict[str, Array]:
        statistics = {name: [v.numpy() for v in self._variables[name]] for name in self._graph.statistics}
        generator = {} if self._generator is None else {_GENERATOR: self._generator.state.numpy()}
        return {**native_statistics(statistics), **generator, _POWERS: np.array(self._updating().powers())}

    def restore(self, state: TrainingState) -> None:
        update = self._updating()
        self.assign(state.parameters)
        for name in self._graph.statistics:
            kept = statistics_of(state.native, name, len(self._variables[name]))
            for variable, array in zip(self._variables[name], kept):
                variable.assign(array)
        natives = {p.name: self._variables[p.name] for p in self._graph.trainable}
        for letter, slots in update.state().items():
            arrays = state.optimizer[letter]
            for slot, array in restored_arrays(
                natives, slots, arrays, lambda n, a: self._layouts[n].encode(a)
            ):
                slot.assign(self._tf.cast(array, slot.dtype))
        powers = [float(power) for power in np.asarray(state.native.get(_POWERS, ()))]
        update.resume_from(state.steps, state.numbers, powers)
        if self._generator is not None and _GENERATOR in state.native:
            self._generator.reset(state.native[_GENERATOR])

    def _updating(self) -> UpdateRule | ComposedRule:
        raise NotImplementedError
