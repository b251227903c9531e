"""An update rule in Keras' functions, as an optimizer of Keras that does not come with it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.update_rule import ParameterPlace, UpdateRule
from benchmarker.graph.transformations.expand_composites import expand_composites
from benchmarker.plugins.common.axis_orders import Order, inverse
from benchmarker.plugins.common.composed import RuleSteps, View, axes_of, started, views
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.layouts import Layout
from benchmarker.plugins.common.straight_line import straight_line
from benchmarker.plugins.keras.binding import Binding
from benchmarker.plugins.keras.binding_site import Setting
from benchmarker.plugins.keras.layouts import Native
from benchmarker.plugins.keras.operators import BINDERS
from benchmarker.plugins.keras.optimizers import dense
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.native_layout import NativeLayout
from benchmarker.training.optimizers.update_graph import UpdateGraph, totals_graph, update_graph

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Part:
    """How a rule sees a trainable variable.

    Parameters
    ----------
    place : ParameterPlace
        What it knows of it.
    order : tuple of int or None
        Axis ``i`` of the variable is the rule's axis ``order[i]``; None where both stand alike.
    view : View or None
        What makes of the variable what the rule sees, where it is more than a permutation of axes.
    """

    place: ParameterPlace
    order: Order | None
    view: View | None = None

    @property
    def native_layout(self) -> NativeLayout | None:
        """How the parameter stands in the variable, if the order of axes does not say it."""
        return None if self.view is None else self.view.native_layout

    def start(self, rule: UpdateRule, variable: Any) -> Mapping[str, Array]:
        """Return the state before the first update of the variable."""
        from keras import ops

        array = np.array(ops.convert_to_numpy(self.to_rule(variable)))
        return started(rule, self.place, array) if self.view is None else self.view.start(rule, [array])

    def to_rule(self, native: Any) -> Any:
        """Return a tensor of the variable as the rule sees it."""
        from keras import ops

        tensor = ops.convert_to_tensor(native)
        return tensor if self.order is None else ops.transpose(tensor, inverse(self.order))

    def from_rule(self, tensor: Any) -> Any:
        """Return a tensor of the rule as the variable stands."""
        from keras import ops

        return tensor if self.order is None else ops.transpose(tensor, self.order)


def parts(
    known: Hyperparameters, where: Mapping[str, ParameterPlace], layouts: Mapping[str, Layout]
) -> list[Part]:
    """Return how a rule sees each parameter; with the axes of the graph if it tells them apart.

    Raises
    ------
    UnsupportedError
        If these cannot be had.
    """
    found = []
    for name, place in where.items():
        order = axes_of(layouts[name], place.shape)
        native = layouts[name].encode(np.empty(place.shape, np.float32))[0].shape
        if known.built_rule.uses_axes and order is not None:
            found.append(Part(place, None if order == tuple(range(len(order))) else order))
        else:
            (view,) = views(known.built_rule, place, [native], layouts[name])
            found.append(Part(view.place, None, view))
    return found


def composed_optimizer(known: Hyperparameters, seen: list[Part], setting: Setting) -> Any:
    """Return an optimizer of Keras that computes a rule.

    Parameters
    ----------
    known : Hyperparameters
        The rule, whose constants may change between updates.
    seen : list of Part
        How it sees the trainable variables, in their order.
    setting : Setting
        Of the model.
    """
    return _class()(known, seen, setting)


class _Composed:
    """A rule's own operators, beside the class of Keras' optimizers.

    Attributes
    ----------
    numbers : keras.Variable
        Those of the next update, which :attr:`steps` gives.
    steps : RuleSteps
        Gives the numbers of each update.
    states : list of dict
        State variables of each trainable variable by letter.
    """

    rule: UpdateRule
    steps: RuleSteps
    numbers: Any
    states: list[dict[str, Any]]
    assign: Callable[..., None]
    add_variable: Callable[..., Any]
    _get_variable_index: Callable[[Any], int]
    _seen: list[Part]
    _setting: Setting
    _updates: list[UpdateGraph]
    _lines: list[Native]
    _total_lines: list[Native]

    def _prepare(self, variables: Sequence[Any]) -> None:
        """Make the state of variables, and the straight lines of their updates."""
        self.numbers = self.add_variable((len(self.steps.names),), "zeros", name="numbers")
        self.states = []
        self._updates = [update_graph(self.rule, part.place, part.native_layout) for part in self._seen]
        self._lines = [self._line(update) for update in self._updates]
        totals = [totals_graph(self.rule, part.place, part.native_layout) for part in self._seen]
        self._total_lines = [self._line(graph) for graph in totals if graph]
        for variable, part, update in zip(variables, self._seen, self._updates):
            start = part.start(self.rule, variable)
            self.states.append({letter: self._kept(letter, start[letter]) for letter in update.state})

    def _kept(self, letter: str, array: Any) -> Any:
        from keras import ops

        variable = self.add_variable(array.shape, "zeros", name=letter)
        variable.assign(ops.convert_to_tensor(np.array(array), variable.dtype))
        return variable

    def _line(self, made: UpdateGraph) -> Native:
        graph = expand_composites(made.graph, BINDERS)
        binding = Binding(graph, self._setting).bind(self._setting)
        return straight_line(graph, binding, outputs=graph.outputs)

    def _backend_update_step(self, gradients: Any, variables: Any, learning_rate: Any) -> None:
        from keras import ops

        numbers = ops.convert_to_tensor(self.numbers)
        scalars = [numbers[index] for index in range(len(self.steps.names))]
        places = [self._get_variable_index(variable) for variable in variables]
        given = [
            self._given(place, gradient, variable)
            for place, gradient, variable in zip(places, self._added_up(gradients, variables), variables)
        ]
        totals: list[Any] = []
        for line, tensors in zip(self._total_lines, given):
            found = line(*tensors, *scalars)
            totals = [ops.add(a, b) for a, b in zip(totals, found)] if totals else list(found)
        for place, tensors, variable in zip(places, given, variables):
            self._take(place, variable, self._lines[place](*tensors, *scalars, *totals))

    def _added_up(self, gradients: Any, variables: Any) -> Any:
        """Return the sums over all replicas, which over TensorFlow is left to the optimizer."""
        add_up = getattr(self, "_all_reduce_sum_gradients", None)
        return [total for total, _ in add_up(zip(gradients, variables))] if add_up else gradients

    def _given(self, place: int, gradient: Any, variable: Any) -> list[Any]:
        """Return what a line takes first: gradient, parameter, state."""
        from keras import ops

        part = self._seen[place]
        whole = ops.cast(dense(gradient), variable.dtype)
        states = [ops.convert_to_tensor(kept) for kept in self.states[place].values()]
        return [part.to_rule(whole), part.to_rule(variable), *states]

    def _take(self, place: int, variable: Any, results: Sequence[Any]) -> None:
        """Assign what an update has given."""
        from keras import ops

        for name, value in zip(self._updates[place].results, results):
            stands = name in self._updates[place].parameters
            kept = variable if stands else self.states[place][name]
            native = self._seen[place].from_rule(value) if stands else value
            self.assign(kept, ops.reshape(native, kept.shape))


@functools.cache
def _class() -> Any:
    """Return the class, made once because it needs Keras."""
    import keras

    class Composed(_Composed, keras.optimizers.Optimizer):  # type: ignore[misc]
        """An optimizer of Keras."""

        def __init__(self, known: Hyperparameters, seen: list[Part], setting: Setting) -> None:
            super().__init__(known.optimizer.learning_rate)
            self.steps = RuleSteps(known)
            self.rule = known.built_rule
            self._seen = seen
            self._setting = setting

        def build(self, variables: Any) -> None:
            if self.built:
                return
            super().build(variables)
            self._prepare(variables)

    return Composed
