"""The update of a parameter as a graph, for frameworks that make graphs native."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Dict, List, Optional, Tuple

from benchmarker.api.update_rule import Given, ParameterPlace, Shape, UpdateRule
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.advance import updated
from benchmarker.training.optimizers.native_layout import NativeLayout

GRADIENT, PARAMETER = "gradient", "parameter"


@dataclass(frozen=True)
class UpdateGraph:
    """A graph that takes tensors of one parameter and scalars, and gives what they become.

    Parameters
    ----------
    graph : Graph
        Its inputs are, in this order, the gradient, the parameter, its state, and scalars of shape ``()``: those of
        :meth:`~benchmarker.api.update_rule.UpdateRule.numbers`, then the totals'.
    gradients, parameters : tuple of str
        Names of the tensors that the gradient and the parameter come in, one each if they are whole.
    state : tuple of str
        Letters of the state.
    results : tuple of str
        Names of what the outputs are: the parameter's tensors and the state, or the totals.
    """

    graph: Graph
    gradients: Tuple[str, ...]
    parameters: Tuple[str, ...]
    state: Tuple[str, ...]
    results: Tuple[str, ...]


class _Recording:
    """A network with the inputs of an update."""

    def __init__(
        self,
        rule: UpdateRule,
        place: ParameterPlace,
        native_layout: Optional[NativeLayout],
        totals: Iterable[str] = (),
    ) -> None:
        self.network = Network(f"{rule.name}_update", 1)
        self._native_layout = native_layout
        gradients, parameters = self._tensors(GRADIENT, place.shape), self._tensors(PARAMETER, place.shape)
        self._gradients, self._parameters = tuple(gradients), tuple(parameters)
        shapes = rule.state_shapes(place)
        state = {letter: self.network.operand(f"state.{letter}", shapes[letter]) for letter in shapes}
        numbers = {name: self._scalar(f"number.{name}") for name in number_names(rule)}
        added_up = {name: self._scalar(f"total.{name}") for name in totals}
        gradient, parameter = self._joined(gradients), self._joined(parameters)
        self.given = Given(place, gradient, parameter, state, numbers, added_up)

    def _tensors(self, name: str, shape: Shape) -> Dict[str, Value]:
        if self._native_layout is None:
            return {name: self.network.operand(name, shape)}
        return {
            f"{name}.{number}": self.network.operand(f"{name}.{number}", own)
            for number, own in enumerate(self._native_layout.shapes)
        }

    def _joined(self, tensors: Mapping[str, Value]) -> Value:
        natives: List[Any] = list(tensors.values())
        joined: Value = (
            natives[0] if self._native_layout is None else self._native_layout.joined(self.network, natives)
        )
        return joined

    def _scalar(self, name: str) -> Value:
        return self.network.operand(name, ())

    def parted(self, parameter: Value) -> Dict[str, Value]:
        """Return the tensors that a parameter goes into."""
        values = (
            [parameter]
            if self._native_layout is None
            else self._native_layout.parted(self.network, parameter)
        )
        return dict(zip(self._parameters, values))

    def finished(self, results: Mapping[str, Value]) -> UpdateGraph:
        """Return the graph of results."""
        for value in results.values():
            self.network.output(value)
        return UpdateGraph(
            self.network.graph(),
            self._gradients,
            self._parameters,
            tuple(self.given.state),
            tuple(results),
        )


def number_names(rule: UpdateRule) -> Tuple[str, ...]:
    """Return the names of the numbers that change from step to step."""
    return tuple(rule.numbers(1, {}))


def totals_graph(
    rule: UpdateRule, place: ParameterPlace, native_layout: Optional[NativeLayout] = None
) -> UpdateGraph | None:
    """Return the graph of what a parameter adds to the totals; None of a rule that has none."""
    recording = _Recording(rule, place, native_layout)
    network: Any = recording.network
    totals = rule.totals(network, recording.given)
    return recording.finished(totals) if totals else None


def update_graph(
    rule: UpdateRule, place: ParameterPlace, native_layout: Optional[NativeLayout] = None
) -> UpdateGraph:
    """Return the graph of a parameter's update; the parameter is where the next gradient is taken.

    Parameters
    ----------
    rule : UpdateRule
        The rule.
    place : ParameterPlace
        What it knows of the parameter.
    native_layout : NativeLayout, optional
        How the parameter stands in the tensors that the graph takes and gives; by default it is one of them.
    """
    totals = totals_graph(rule, place, native_layout)
    recording = _Recording(rule, place, native_layout, totals.results if totals else ())
    network: Any = recording.network
    parameter, state = updated(rule, network, recording.given)
    return recording.finished({**recording.parted(parameter), **state})


def state_shapes(rule: UpdateRule, place: ParameterPlace) -> Dict[str, Shape]:
    """Return the shapes of a parameter's state by letter, in the order of the rule's."""
    shapes = rule.state_shapes(place)
    return {letter: shapes[letter] for letter in rule.state if letter in shapes}
