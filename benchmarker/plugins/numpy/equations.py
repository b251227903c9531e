"""An update rule's equations on arrays of NumPy, from its one text: in float64 what every framework is held to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.update_rule import ParameterPlace, UpdateRule
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.training.optimizers.advance import advanced, kept_numbers

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

Arrays = Mapping[str, "Array"]
State = Mapping[str, Mapping[str, "Array"]]
"""An array of each parameter that has it, by the letter of the equations and the parameter's name."""


def start_state(rule: UpdateRule, where: Sequence[ParameterPlace], parameters: Arrays) -> State:
    """Return the state before the first update."""
    started = {place.name: rule.start(place, parameters[place.name]) for place in where}
    return {
        letter: {name: state[letter] for name, state in started.items() if letter in state}
        for letter in rule.state
    }


def places_of(parameters: Arrays) -> list[ParameterPlace]:
    """Return what a rule knows of parameters of which nothing but their arrays is told."""
    return [ParameterPlace(name, array.shape) for name, array in parameters.items()]


def _state_of(state: State, parameter: str) -> Arrays:
    """Return a parameter's own state by letter."""
    return {letter: arrays[parameter] for letter, arrays in state.items() if parameter in arrays}


class Equations:
    """Moves parameters, in place, by the gradients that it is called with.

    Parameters
    ----------
    optimizer : Optimizer or Hyperparameters
        The rule, whose constants may change between updates.
    parameters : mapping
        What it moves, by name, all in one floating type.
    state : mapping, optional
        What it remembers, changed in place; by default that of the start.
    where : sequence of ParameterPlace, optional
        What the rule knows of the parameters; by default their shapes.
    steps : int
        How many updates led to ``state``.
    numbers : mapping, optional
        What the rule has kept of these updates; by default what it would have with these constants.
    """

    def __init__(
        self,
        optimizer: Optimizer | Hyperparameters,
        parameters: Arrays,
        state: State | None = None,
        *,
        where: Sequence[ParameterPlace] | None = None,
        steps: int = 0,
        numbers: Mapping[str, float] | None = None,
    ) -> None:
        self._known = Hyperparameters(optimizer) if isinstance(optimizer, Optimizer) else optimizer
        self._rule = self._known.built_rule
        self._parameters = parameters
        self._where = places_of(parameters) if where is None else where
        self.state = start_state(self._rule, self._where, parameters) if state is None else state
        self._states = {place.name: _state_of(self.state, place.name) for place in self._where}
        self._dtype = next((array.dtype for array in parameters.values()), np.dtype(np.float64))
        self._operators = NumpyOperators(dtype=self._dtype.type)
        self._steps = steps
        kept = kept_numbers(repeat(self._known.rule, steps)) if numbers is None else numbers
        self._memory = dict(kept)

    def __call__(self, gradients: Arrays) -> None:
        """Make one update."""
        self._steps += 1
        found = self._known.rule.numbers(self._steps, self._memory)
        numbers = {name: self._dtype.type(value) for name, value in found.items()}
        moved, remembered = advanced(
            self._rule, self._operators, self._where, gradients, self._parameters, self._states, numbers
        )
        for name, array in moved.items():
            self._parameters[name][...] = array
        for name, letters in remembered.items():
            for letter, array in letters.items():
                self._states[name][letter][...] = array

    def resume_from(self, steps: int, numbers: Mapping[str, float]) -> None:
        """Have the next update be that after ``steps``, with what the rule has kept until then."""
        self._steps, self._memory = steps, dict(numbers)

    def evaluated(self) -> dict[str, Array]:
        """Return the weights that are evaluated."""
        return evaluated(self._rule, self._where, self._parameters, self.state)


def evaluated(
    rule: UpdateRule, where: Sequence[ParameterPlace], parameters: Arrays, state: State
) -> dict[str, Array]:
    """Return the weights that are evaluated, of parameters as a program holds them and their state."""
    operators = NumpyOperators(dtype=np.float64)
    return {
        place.name: np.array(
            rule.evaluation(
                operators,
                parameters[place.name],
                _state_of(state, place.name),
            )
        )
        for place in where
    }
