"""What a program of Keras goes on from: values that the variables of model and optimizer are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.training_state import TrainingState
from benchmarker.api.update_rule import ParameterPlace, Shape
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.keras.binding import Binding
from benchmarker.plugins.keras.steps import Steps
from benchmarker.plugins.numpy.evaluation import RuleProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_SEED = "seed"


class RestorableProgram(RuleProgram):
    """A program whose state is in Keras' variables, once its steps are settled."""

    _binding: Binding
    _composed: Any
    _hyperparameters: Hyperparameters
    _mode: str
    _model: Any
    _steps: Steps

    def native_state(self) -> dict[str, Array]:
        self._steps.settle()
        return {_SEED: self._array(self._model.seed_generator.state), **self._steps.generator()}

    def restore(self, state: TrainingState) -> None:
        if self._mode != "training":
            raise UnsupportedError("a program that was not built for training has no optimizer")
        self.assign(state.parameters)
        optimizer = self._model.optimizer
        optimizer.iterations.assign(state.steps)
        if self._composed is None:
            for letter, variables in self._native_slots().items():
                self._put_native(letter, variables, state.optimizer[letter])
        else:
            self._composed.steps.resume_from(state.steps, state.numbers)
            self._put_composed(state.optimizer)
        if _SEED in state.native:
            kept = self._model.seed_generator.state
            kept.assign(np.array(state.native[_SEED], kept.dtype))
        self._steps.set_generator(state.native)

    def _put_native(self, letter: str, variables: Sequence[Any], arrays: Mapping[str, Array]) -> None:
        for name, kept, shape in self._kept_by_parameter(letter, variables):
            array = arrays[name]
            native = self._encoded(name, array) if shape is None else np.reshape(array, tuple(kept.shape))
            kept.assign(self._loaded(native))

    def _kept_by_parameter(
        self, letter: str, variables: Sequence[Any]
    ) -> Iterator[tuple[str, Any, Shape | None]]:
        """Yield each parameter that has a letter of the state, what keeps it, and its shape if not as the weights."""
        places = {id(variable): place for place, variable in enumerate(self._model.trainable_variables)}
        rule = self._hyperparameters.built_rule
        for p in self._graph.trainable:
            weight = self._model.weights_by_name[p.name]
            kept = variables[places[id(weight)]]
            if kept is None:
                continue
            shapes = rule.state_shapes(ParameterPlace(p.name, p.type.shape))
            yield p.name, kept, None if tuple(kept.shape) == tuple(weight.shape) else shapes[letter]

    def _native_slots(self) -> dict[str, Sequence[Any]]:
        raise NotImplementedError

    def _put_composed(self, optimizer_state: Mapping[str, Mapping[str, Array]]) -> None:
        pairs = zip(self._graph.trainable, self._composed.states, self._model.trainable_variables)
        for p, state, variable in pairs:
            for letter, kept in state.items():
                array = optimizer_state[letter][p.name]
                alike = tuple(kept.shape) == tuple(variable.shape) and not self._composed.rule.uses_axes
                native = self._encoded(p.name, array) if alike else np.reshape(array, tuple(kept.shape))
                kept.assign(self._loaded(native))

    def _encoded(self, name: str, array: Array) -> Array:
        (native,) = self._binding.layouts[name].encode(array)
        return native

    def _loaded(self, array: Array) -> Any:
        raise NotImplementedError

    def _array(self, tensor: Any) -> Array:
        raise NotImplementedError
