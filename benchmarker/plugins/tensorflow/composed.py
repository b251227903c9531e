"""An update rule in TensorFlow's operations, inside the traced step, where it has no kernel for its equations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.update_rule import ParameterPlace
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.axis_orders import Order, graph_order, inverse
from benchmarker.plugins.common.composed import AsInGraph, RuleSteps, View, views
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.tensorflow.layouts import WeightLayout
from benchmarker.plugins.tensorflow.operators import TensorFlowOperators
from benchmarker.plugins.tensorflow.optimizers import UpdateRule, is_native
from benchmarker.plugins.tensorflow.tensors import Tensor
from benchmarker.quick_dataclass import dataclass
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
        held = [tensor for name in where for tensor in variables[name]]
        self._dtype = held[0].dtype if held else tensorflow.float32
        self._parts = [
            part
            for name, place in where.items()
            for part in self._made(place, layouts[name], variables[name])
        ]

    def __call__(self, gradients: Sequence[Any], numbers: Any) -> None:
        """Update every variable by its gradient, with what :meth:`next` gave; inside a ``tf.function``."""
        tf = self._tf
        operators = TensorFlowOperators(tf, self._dtype, xla=self._xla, images_last=False)
        each = tf.unstack(numbers, num=len(self._numbers.names))
        known = {name: Tensor(number, ()) for name, number in zip(self._numbers.names, each)}
        left = iter(gradients)
        given = {
            part.place.name: part.to_rule(
                operators, [tf.convert_to_tensor(next(left)) for _ in part.variables]
            )
            for part in self._parts
        }
        moved, remembered = advanced(
            self.rule,
            operators,
            [part.place for part in self._parts],
            given,
            {part.place.name: part.to_rule(operators, part.tensors(tf)) for part in self._parts},
            {part.place.name: self._state_tensors(part.state) for part in self._parts},
            known,
        )
        for part in self._parts:
            name = part.place.name
            for variable, after in zip(part.variables, part.from_rule(operators, moved[name])):
                variable.assign(tf.reshape(after, variable.shape), read_value=False)
            for letter, kept in part.state.items():
                value = operators.plain(remembered[name][letter])
                kept.assign(tf.reshape(value, kept.shape), read_value=False)

    @property
    def given(self) -> list[Any]:
        """What :meth:`next` returns, as ``tf.TensorSpec``."""
        return [self._tf.TensorSpec((len(self._numbers.names),), self._dtype)]

    def next(self) -> tuple[Any, ...]:
        """Return the numbers that the next update takes, and count it."""
        return (self._tf.constant(np.array(self._numbers.next()), self._dtype),)

    def prepared(self, values: Mapping[str, float]) -> Optimizer:
        """Return other constants, as :meth:`use` takes them."""
        return self._known.prepared(values)

    def use(self, prepared: Optimizer) -> None:
        """Use other constants from the next update on; nothing is traced again."""
        self._known.optimizer = prepared

    def powers(self) -> list[float]:
        """Return nothing: all that changes from step to step is among the rule's numbers."""
        return []

    def resume_from(self, steps: int, numbers: Mapping[str, float], powers: Sequence[float]) -> None:
        """Have the next update be that after ``steps``, with what the rule has kept until then."""
        self._numbers.resume_from(steps, numbers)

    def state(self) -> dict[str, list[Any]]:
        """Return the state variables of all variables, in their order, by letter.

        None stands for what lacks it, and ``AsInGraph`` for what stands as the graph has a parameter.
        """
        return {
            letter: [slot for part in self._parts for slot in part.slots(letter)]
            for letter in self.rule.state
        }

    def _made(self, place: ParameterPlace, layout: WeightLayout, variables: Sequence[Any]) -> Iterator[_Part]:
        """Yield how the rule sees a parameter: with the axes of the graph if it tells them apart."""
        shapes = [tuple(int(size) for size in variable.shape) for variable in variables]
        if self.rule.uses_axes and _is_in_order(layout, place):
            found: Sequence[tuple[View, Order]] = [(View(place, (0,), layout), layout.order)]
        else:
            found = [(v, graph_order(len(shapes[0]))) for v in views(self.rule, place, shapes, layout)]
        for index, (view, order) in enumerate(found):
            own = [variables[native] for native in view.natives]
            # What the rule sees is a parameter of its own to it.
            seen = replace(view, place=replace(view.place, name=f"{place.name}/{index}"))
            yield _Part(seen, order, own, self._started(seen, order, own))

    def _started(self, view: View, order: Order, variables: Sequence[Any]) -> dict[str, Any]:
        arrays = [np.asarray(variable.numpy()) for variable in variables]
        if view.native_layout is None and order:
            arrays = [array.transpose(inverse(order)) for array in arrays]
        return {
            letter: self._tf.Variable(np.ascontiguousarray(array), trainable=False, dtype=self._dtype)
            for letter, array in view.start(self.rule, arrays).items()
        }

    def _state_tensors(self, state: Mapping[str, Any]) -> dict[str, Tensor]:
        return {
            letter: Tensor(self._tf.convert_to_tensor(kept), graph_order(len(kept.shape)))
            for letter, kept in state.items()
        }


@dataclass(frozen=True)
class _Part:
    """Variables that are updated together, with their state by letter.

    Each axis ``i`` of one that is seen as it stands, axes aside, is the rule's axis ``order[i]``.
    """

    view: View
    order: Order
    variables: Sequence[Any]
    state: Mapping[str, Any]

    @property
    def place(self) -> ParameterPlace:
        return self.view.place

    def slots(self, letter: str) -> list[Any]:
        kept = self.state.get(letter)
        if kept is not None and self.order != graph_order(len(self.order)):
            return [AsInGraph(kept)]
        return self.view.slots(kept)

    def tensors(self, tensorflow: Any) -> list[Any]:
        return [tensorflow.convert_to_tensor(variable) for variable in self.variables]

    def to_rule(self, operators: TensorFlowOperators, natives: Sequence[Any]) -> Tensor:
        """Return tensors of the variables as the rule sees them."""
        if self.view.native_layout is None:
            return Tensor(natives[0], self.order)
        tensors = [Tensor(native, graph_order(len(native.shape))) for native in natives]
        joined: Tensor = self.view.native_layout.joined(operators, tensors)
        return joined

    def from_rule(self, operators: TensorFlowOperators, seen: Tensor) -> list[Any]:
        """Return a tensor of the rule as the variables stand."""
        if self.view.native_layout is None:
            return [operators.arrange(seen, self.order)]
        return [operators.plain(tensor) for tensor in self.view.native_layout.parted(operators, seen)]


def _is_in_order(layout: WeightLayout, place: ParameterPlace) -> bool:
    """Tell whether a parameter is one variable with the axes of the graph, in some order."""
    return not layout.apart and layout.columns is None and len(layout.order) == len(place.shape)


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
