"""An update rule in TensorFlow's operations, inside the traced step, where it has no kernel for its equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.update_rule import ParameterPlace
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.composed import RuleSteps, native_place, require_whole, started
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.tensorflow.layouts import WeightLayout
from benchmarker.plugins.tensorflow.operators import TensorFlowOperators
from benchmarker.plugins.tensorflow.optimizers import UpdateRule, is_native
from benchmarker.plugins.tensorflow.tensors import Order, Tensor, graph_order
from benchmarker.training.optimizers.advance import advanced, places

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]


class ComposedRule:
    """Updates variables by the rule's own operators, as ``UpdateRule`` does by kernels.

    Rules that tell axes apart see tensors as the graph has them, all others as they stand.

    Parameters
    ----------
    tensorflow : module
        TensorFlow itself.
    optimizer : Optimizer
        Names the rule.
    where : mapping
        What the rule knows of each parameter.
    variables : mapping
        Those of each parameter.
    layouts : mapping
        How these stand.
    xla : bool
        Whether XLA compiles the step.
    """

    def __init__(
        self,
        tensorflow: Any,
        optimizer: Optimizer,
        where: Mapping[str, ParameterPlace],
        variables: Mapping[str, Sequence[Any]],
        layouts: Mapping[str, WeightLayout],
        *,
        xla: bool,
    ) -> None:
        self._tf = tensorflow
        self._known = Hyperparameters(optimizer)
        self.rule = self._known.built_rule
        self._numbers = RuleSteps(self._known)
        self._xla = xla
        for name in where:
            require_whole(self.rule, name, len(variables[name]))
        pairs = [(name, variable) for name in where for variable in variables[name]]
        # Each native variable is a parameter of its own to the rule.
        self._names = [f"{name}/{index}" for index, (name, _) in enumerate(pairs)]
        self._variables = [variable for _, variable in pairs]
        self._dtype = self._variables[0].dtype if pairs else tensorflow.float32
        self._orders = [self._order(layouts[name], variable) for name, variable in pairs]
        self._places = [
            self._place(where[name], key, variable, order)
            for key, (name, variable), order in zip(self._names, pairs, self._orders)
        ]
        self._state = [self._started(index) for index in range(len(pairs))]
        self._given = tensorflow.Variable(
            np.zeros(len(self._numbers.names)), trainable=False, dtype=self._dtype
        )

    def __call__(self, gradients: Sequence[Any]) -> None:
        """Update every variable by its gradient; inside a ``tf.function``."""
        tf = self._tf
        operators = TensorFlowOperators(tf, self._dtype, xla=self._xla, images_last=False)
        numbers = tf.unstack(tf.convert_to_tensor(self._given), num=len(self._numbers.names))
        known = {name: Tensor(number, ()) for name, number in zip(self._numbers.names, numbers)}
        moved, remembered = advanced(
            self.rule,
            operators,
            self._places,
            self._tensors([tf.convert_to_tensor(gradient) for gradient in gradients]),
            self._tensors([tf.convert_to_tensor(variable) for variable in self._variables]),
            {name: self._state_tensors(state) for name, state in zip(self._names, self._state)},
            known,
        )
        for name, variable, order, state in zip(self._names, self._variables, self._orders, self._state):
            after = operators.arrange(moved[name], order)
            variable.assign(tf.reshape(after, variable.shape), read_value=False)
            for letter, kept in state.items():
                value = operators.plain(remembered[name][letter])
                kept.assign(tf.reshape(value, kept.shape), read_value=False)

    def advance(self) -> None:
        """Bring the numbers of the next update to where the traced step reads them."""
        self._given.assign(np.array(self._numbers.next()), read_value=False)

    def set_constants(self, values: Mapping[str, float]) -> None:
        """Use other constants from the next update on; nothing is traced again."""
        self._known.take(values)

    def powers(self) -> list[float]:
        """Return nothing: all that changes from step to step is among the rule's numbers."""
        return []

    def go_on(self, steps: int, numbers: Mapping[str, float], powers: Sequence[float]) -> None:
        """Have the next update be that after ``steps``, with what the rule has kept until then."""
        self._numbers.go_on(steps, numbers)

    def state(self) -> dict[str, list[Any]]:
        """Return the state variables of all variables, in their order, by letter; None of those that lack it."""
        return {letter: [state.get(letter) for state in self._state] for letter in self.rule.state}

    def _order(self, layout: WeightLayout, variable: Any) -> Order:
        """Return how a variable stands for the rule."""
        rank = len(variable.shape)
        return layout.order if self.rule.uses_axes and len(layout.order) == rank else graph_order(rank)

    def _place(self, place: ParameterPlace, key: str, variable: Any, order: Order) -> ParameterPlace:
        seen = tuple(int(variable.shape[order.index(axis)]) for axis in range(len(order)))
        return replace(native_place(place, seen), name=key)

    def _started(self, index: int) -> dict[str, Any]:
        value = np.asarray(self._variables[index].numpy())
        value = value.transpose(np.argsort(self._orders[index])) if self._orders[index] else value
        start = started(self.rule, self._places[index], value)
        return {
            letter: self._tf.Variable(np.ascontiguousarray(array), trainable=False, dtype=self._dtype)
            for letter, array in start.items()
        }

    def _tensors(self, natives: Sequence[Any]) -> dict[str, Tensor]:
        return {
            name: Tensor(native, order) for name, native, order in zip(self._names, natives, self._orders)
        }

    def _state_tensors(self, state: Mapping[str, Any]) -> dict[str, Tensor]:
        return {
            letter: Tensor(self._tf.convert_to_tensor(kept), graph_order(len(kept.shape)))
            for letter, kept in state.items()
        }


def make_update(
    tensorflow: Any,
    optimizer: Optimizer,
    graph: Graph,
    variables: Mapping[str, Sequence[Any]],
    layouts: Mapping[str, WeightLayout],
    xla: bool,
) -> UpdateRule | ComposedRule:
    """Return the update of the trainable variables: by TensorFlow's kernels where they compute the same."""
    where = places(graph, optimizer.modifiers.decay_of)
    if is_native(optimizer):
        return UpdateRule(tensorflow, optimizer, [v for p in graph.trainable for v in variables[p.name]])
    return ComposedRule(tensorflow, optimizer, where, variables, layouts, xla=bool(xla))
