"""The weights that are evaluated, where a program runs a rule in its framework's operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.program import Program
from benchmarker.api.update_rule import UpdateRule
from benchmarker.graph.graph import Graph
from benchmarker.plugins.numpy.equations import evaluated
from benchmarker.training.optimizers.advance import places

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class RuleProgram(Program):
    """A program that may run a rule composed of its operators.

    Attributes
    ----------
    composed_rule : UpdateRule or None
        The rule, if it does.
    averaging_rule : UpdateRule or None
        The rule, if the framework's own update does its steps and keeps an average of weights beside them.
    """

    composed_rule: UpdateRule | None = None
    averaging_rule: UpdateRule | None = None
    _graph: Graph

    def optimizer_variant(self) -> str:
        """Return which of both updates the parameters."""
        return "native" if self.composed_rule is None else "composed"

    def evaluation_parameters(self) -> dict[str, Array]:
        """Return the parameters, those that the rule evaluates in place of what is trained."""
        parameters = self.parameters()
        rule = self.composed_rule or self.averaging_rule
        if rule is None:
            return parameters
        where = tuple(places(self._graph).values())
        weights = evaluated(rule, where, parameters, self.optimizer_state())
        return {name: np.asarray(weights.get(name, array), array.dtype) for name, array in parameters.items()}
