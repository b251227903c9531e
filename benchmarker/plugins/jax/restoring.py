"""What a program of JAX goes on from: arrays that take the place of those that its last step left."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import state_names
from benchmarker.api.training_state import TrainingState
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.composed import RuleSteps
from benchmarker.plugins.jax.optimizers import OptimizerState
from benchmarker.plugins.jax.steps import Precision, State, Steps
from benchmarker.plugins.jax.tensors import PLAIN, Form
from benchmarker.plugins.numpy.evaluation import RuleProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]

_KEY = "key"


class RestorableProgram(RuleProgram):
    """A program whose state is a tree of arrays."""

    _jax: Any
    _place: Any
    _forms: dict[str, Form]
    _types: Precision
    _steps: Steps
    _state: State
    _numbers: RuleSteps | None

    def native_state(self) -> dict[str, Array]:
        key = self._state.moved.key
        return {} if key is None else {_KEY: np.array(self._jax.random.key_data(key))}

    def restore(self, state: TrainingState) -> None:
        if self._state.optimizer is None:
            raise UnsupportedError("a program that was not built for training has no optimizer")
        self.assign(state.parameters)
        if self._numbers is not None:
            self._numbers.resume_from(state.steps, state.numbers)
        slots = {name: self._slots(name, state.optimizer) for name in self._state.optimizer.slots}
        with self._settings():
            step = self._state.optimizer.step
            if step is not None:
                step = self._placed(np.array(state.steps, step.dtype))
            self._state = self._state._replace(optimizer=OptimizerState(slots, step))
            if _KEY in state.native and self._state.moved.key is not None:
                key = self._jax.random.wrap_key_data(np.array(state.native[_KEY]))
                moved = self._state.moved._replace(key=self._placed(key))
                self._state = self._state._replace(moved=moved)

    def _slots(self, name: str, optimizer_state: Mapping[str, Mapping[str, Array]]) -> tuple[Any, ...]:
        """Return the state of a parameter as the steps take it."""
        kept = self._state.optimizer.slots[name]
        return tuple(
            self._slot(name, optimizer_state[letter][name], slot)
            for letter, slot in zip(self._letters(name), kept)
        )

    def _slot(self, name: str, array: Array, like: Any) -> Any:
        composed, own = self._steps.composed, tuple(self._state.trained[name].shape)
        stands = tuple(like.shape) != own or (composed is not None and composed.is_in_graph_layout(name))
        if stands:
            return self._put(np.reshape(array, tuple(like.shape)), PLAIN, self._types.exact)
        return self._put(array, self._forms[name], self._types.exact)

    def _letters(self, name: str) -> tuple[str, ...]:
        composed = self._steps.composed
        if composed is None:
            return state_names(self._steps.optimizer.kind)
        shapes = {p.name: p.type.shape for p in self._graph.trainable}
        own = tuple(self._state.trained[name].shape)
        return composed.letters(name, shapes[name] if composed.rule.uses_axes else own)

    def _placed(self, tree: Any) -> Any:
        raise NotImplementedError

    def _put(self, array: Array, form: Form, dtype: str) -> Any:
        raise NotImplementedError

    def _settings(self) -> AbstractContextManager[None]:
        raise NotImplementedError
