"""One update of all parameters by a rule, in any meaning of the vocabulary."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Dict, Tuple

from benchmarker.api.modifiers import ALL, WEIGHTS
from benchmarker.api.update_rule import Given, ParameterPlace, UpdateRule
from benchmarker.errors import UsageError

if TYPE_CHECKING:
    from benchmarker.graph.graph import Graph
    from benchmarker.graph.operators import Operators

Tensors = Mapping[str, Any]
States = Mapping[str, Mapping[str, Any]]
"""By parameter, then by letter."""


_NORMALIZATIONS = ("batch_normalization", "layer_normalization", "group_normalization", "rms_normalization")
_BIAS_POSITIONS = {"conv": 2, "conv_transpose": 2, "gemm": 2, "rnn": 3, "lstm": 3, "gru": 3}
"""Where operators take a bias, among their inputs."""


def places(graph: Graph, decay_of: str = ALL) -> Dict[str, ParameterPlace]:
    """Return what rules may know of each trainable parameter of a graph.

    Parameters
    ----------
    graph : Graph
        Of the problem.
    decay_of : str
        Which of them decay, as :attr:`benchmarker.api.modifiers.Modifiers.decay_of` says.

    Raises
    ------
    UsageError
        If a pattern is of none of their names.
    """
    matrices = [
        p.name
        for p in graph.trainable
        if len(p.type.shape) == 2 and {node.operator for node, _ in graph.uses(p.name)} <= {"gemm", "matmul"}
    ]
    hidden, decaying = set(matrices[:-1]), _decaying(graph, decay_of)
    return {
        p.name: ParameterPlace(p.name, p.type.shape, p.name in hidden, decays=p.name in decaying)
        for p in graph.trainable
    }


def _decaying(graph: Graph, decay_of: str) -> Collection[str]:
    """Return the names of the parameters that weight decay is meant for."""
    names = [p.name for p in graph.trainable]
    if decay_of == ALL:
        return names
    if decay_of == WEIGHTS:
        return {p.name for p in graph.trainable if _is_weight(graph, p.name, len(p.type.shape))}
    found: set[str] = set()
    for pattern in decay_of.split():
        matching = [name for name in names if fnmatchcase(name, pattern)]
        if not matching:
            raise UsageError(
                f"weight decay is set for '{pattern}', but no parameter of '{graph.name}' has such a name; they have "
                f"names such as {', '.join(names[:4])}"
            )
        found.update(matching)
    return found


def _is_weight(graph: Graph, name: str, axes: int) -> bool:
    """Tell whether a parameter multiplies what comes in: it is no bias, and no scale or shift of a normalization."""
    uses = graph.uses(name)
    beside = any(
        node.operator in (*_NORMALIZATIONS, "add", "sub") or _BIAS_POSITIONS.get(node.operator) == position
        for node, position in uses
    )
    return axes >= 2 and not beside


def advanced(
    rule: UpdateRule,
    operators: Operators,
    where: Sequence[ParameterPlace],
    gradients: Tensors,
    parameters: Tensors,
    states: States,
    numbers: Tensors,
) -> Tuple[Dict[str, Any], Dict[str, Dict[str, Any]]]:
    """Return parameters, where the next gradient is taken, and states after one update.

    Parameters
    ----------
    rule : UpdateRule
        As the program was built with it.
    operators : Operators
        What the tensors are of.
    where : sequence of ParameterPlace
        The parameters.
    gradients, parameters : mapping
        Tensors by name.
    states : mapping
        Tensors by name and letter.
    numbers : mapping
        Scalars of :meth:`~benchmarker.api.update_rule.UpdateRule.numbers` for this update.
    """
    given = [
        Given(place, gradients[place.name], parameters[place.name], states[place.name], numbers)
        for place in where
    ]
    totals: Dict[str, Any] = {}
    for one in given:
        for total, part in rule.totals(operators, one).items():
            totals[total] = operators.add(totals[total], part) if total in totals else part
    moved: Dict[str, Any] = {}
    remembered: Dict[str, Dict[str, Any]] = {}
    for one in given:
        name = one.place.name
        if totals:
            one = Given(one.place, one.gradient, one.parameter, one.state, numbers, totals)
        moved[name], remembered[name] = updated(rule, operators, one)
    return moved, remembered


def updated(rule: UpdateRule, operators: Operators, given: Given) -> Tuple[Any, Dict[str, Any]]:
    """Return a parameter, where the next gradient is taken, and its state after one update."""
    parameter, state = rule.update(operators, given)
    after = Given(given.place, given.gradient, parameter, state, given.numbers, given.totals)
    return rule.prepare(operators, after), state


def kept_numbers(rules: Iterable[UpdateRule]) -> Dict[str, float]:
    """Return what is kept from update to update of the numbers of some updates, each by the rule as it was then."""
    memory: Dict[str, float] = {}
    for step, rule in enumerate(rules, 1):
        rule.numbers(step, memory)
    return memory
