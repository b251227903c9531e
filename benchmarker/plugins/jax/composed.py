"""An update rule in JAX's operations, inside the compiled step, where none is written for its equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.update_rule import ParameterPlace, UpdateRule
from benchmarker.plugins.common.composed import started
from benchmarker.plugins.jax.operators import JaxOperators
from benchmarker.plugins.jax.tensors import PLAIN, Form, Tensor
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.advance import advanced
from benchmarker.training.optimizers.update_graph import number_names, state_shapes

if TYPE_CHECKING:
    import numpy.typing as npt

Arrays = Mapping[str, Any]
Slots = Mapping[str, "tuple[Any, ...]"]


@dataclass(frozen=True)
class ComposedUpdate:
    """An update of all parameters as a pure function.

    Rules that tell axes apart see arrays as the graph has them, all others as they stand.

    Parameters
    ----------
    rule : UpdateRule
        With the constants that the program was built with.
    places : mapping
        What it knows of each parameter.
    forms : mapping
        How they stand.
    exact : str
        Their element type.
    """

    rule: UpdateRule
    places: Mapping[str, ParameterPlace]
    forms: Mapping[str, Form]
    exact: str

    def start(self, trained: Mapping[str, npt.NDArray[Any]]) -> dict[str, tuple[Any, ...]]:
        """Return the state before the first update of parameters as they stand."""
        found = {}
        for name, array in trained.items():
            seen = np.asarray(self._to_rule(name, array), self.exact)
            place = self._place(name, seen.shape)
            state = started(self.rule, place, seen)
            found[name] = tuple(state[letter] for letter in state_shapes(self.rule, place))
        return found

    def letters(self, name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
        """Return the letters of a parameter's state, in the order of its slots."""
        return tuple(state_shapes(self.rule, self._place(name, shape)))

    def updated(self, numbers: Any, trained: Arrays, gradients: Arrays, slots: Slots) -> tuple[Arrays, Slots]:
        """Return parameters and state after one update; ``numbers`` are those of the rule as one array."""
        operators = JaxOperators(self.exact, self.exact, channels_last=False)
        known = {name: Tensor(numbers[i]) for i, name in enumerate(number_names(self.rule))}
        seen = {name: Tensor(self._to_rule(name, array)) for name, array in trained.items()}
        where = [self._place(name, tensor.value.shape) for name, tensor in seen.items()]
        states = {
            place.name: dict(zip(state_shapes(self.rule, place), map(Tensor, slots[place.name])))
            for place in where
        }
        given = {name: Tensor(self._to_rule(name, gradients[name])) for name in seen}
        moved, remembered = advanced(self.rule, operators, where, given, seen, states, known)
        after = {name: self._from_rule(name, operators.plain(tensor)) for name, tensor in moved.items()}
        kept = {
            place.name: tuple(
                operators.plain(remembered[place.name][letter]).reshape(shape)
                for letter, shape in state_shapes(self.rule, place).items()
            )
            for place in where
        }
        return after, kept

    def is_in_graph_layout(self, name: str) -> bool:
        """Tell whether the state of a parameter is in the graph's layout."""
        return self.rule.uses_axes or self.forms[name] == PLAIN

    def _place(self, name: str, shape: tuple[int, ...]) -> ParameterPlace:
        return replace(self.places[name], shape=tuple(shape))

    def _to_rule(self, name: str, array: Any) -> Any:
        return self.forms[name].decode(array) if self.rule.uses_axes else array

    def _from_rule(self, name: str, array: Any) -> Any:
        return self.forms[name].encode(array) if self.rule.uses_axes else array
