"""An update rule in tinygrad's operations, inside the recorded step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.training_state import TrainingState
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.composed import RuleSteps, started
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.tinygrad.operators import TinygradOperators
from benchmarker.plugins.tinygrad.tensors import host, loaded
from benchmarker.training.optimizers.advance import advanced, places


class ComposedUpdate:
    """What moves parameters along their gradients by a rule.

    Parameters
    ----------
    optimizer : Optimizer
        The equations.
    graph : Graph
        Whose parameters.
    trained : mapping
        Their tensors.

    Attributes
    ----------
    rule : UpdateRule
        As it was when the program was built.
    state : dict
        Tensors by parameter and letter.
    share : tinygrad.Tensor
        What the sum of several gradients is multiplied by.
    """

    def __init__(self, optimizer: Optimizer, graph: Graph, trained: Mapping[str, Any]) -> None:
        self._known = Hyperparameters(optimizer)
        self.rule = self._known.built_rule
        self._steps = RuleSteps(self._known)
        self._trained = trained
        self._places = places(graph, optimizer.modifiers.decay_of)
        self.state = {
            name: {
                letter: loaded(array)
                for letter, array in started(self.rule, self._places[name], host(tensor)).items()
            }
            for name, tensor in trained.items()
        }
        self._numbers = loaded(np.zeros(len(self._steps.names) + 1, np.float32))
        self.share = self._numbers[-1]

    def begin(self, gradients: int = 1) -> None:
        """Put the numbers of the next update, by the mean of some gradients, where the recorded step reads them."""
        host(self._numbers)[...] = (*self._steps.next(), 1.0 / gradients)

    def moved(self, gradients: Sequence[Any]) -> list[Any]:
        """Return parameters and state, to be written over by what they become."""
        numbers = {name: self._numbers[i] for i, name in enumerate(self._steps.names)}
        parameters, state = advanced(
            self.rule,
            TinygradOperators(),
            tuple(self._places.values()),
            dict(zip(self._trained, gradients)),
            self._trained,
            self.state,
            numbers,
        )
        found = [tensor.assign(parameters[name]) for name, tensor in self._trained.items()]
        for name, kept in self.state.items():
            found += [tensor.assign(state[name][letter]) for letter, tensor in kept.items()]
        return found

    def set_constants(self, values: Mapping[str, float]) -> None:
        """Use other constants from the next update on."""
        self._known.take(values)

    def resume_from(self, state: TrainingState) -> None:
        """Have the next update be that after a state's."""
        self._steps.resume_from(state.steps, state.numbers)
        for name, kept in self.state.items():
            for letter, tensor in kept.items():
                host(tensor)[...] = np.reshape(state.optimizer[letter][name], tensor.shape)
