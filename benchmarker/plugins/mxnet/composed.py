"""An update rule as symbols, where MXNet has no update operator that computes the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.update_rule import ParameterPlace, UpdateRule
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.composed import ComposedState, RuleSteps, native_place, require_whole, started
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.mxnet.fusion import fusion
from benchmarker.plugins.mxnet.lowering import Lowering, Settings
from benchmarker.plugins.mxnet.parameters import Slot
from benchmarker.training.optimizers.update_graph import (
    GRADIENT,
    PARAMETER,
    UpdateGraph,
    totals_graph,
    update_graph,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class ComposedUpdates(ComposedState):
    """Updates weights by a rule: one executor for each, on arrays that are made once.

    Parameters
    ----------
    known : Hyperparameters
        The rule, whose constants may change between updates.
    where : mapping
        What it knows of each parameter of the graph.
    slots : sequence of Slot
        Those that are updated.
    arrays, gradients : mapping
        MXNet's arrays of each slot.
    context : object
        MXNet's device.
    """

    def __init__(
        self,
        known: Hyperparameters,
        where: Mapping[str, ParameterPlace],
        slots: Sequence[Slot],
        arrays: Mapping[str, Any],
        gradients: Mapping[str, Any],
        context: Any,
    ) -> None:
        import mxnet

        self._mx: Any = mxnet
        self._context = context
        self._rule = known.built_rule
        self._numbers = RuleSteps(known)
        self._given = mxnet.nd.zeros((len(self._numbers.names),), ctx=context)
        self._totals: dict[str, Any] = {}
        self._parts = []
        for slot in slots:
            require_whole(self._rule, slot.members[0].name, len(slot.members))
            if len({where[member.name].decays for member in slot.members}) > 1:
                raise UnsupportedError(
                    f"MXNet keeps {', '.join(member.name for member in slot.members)} in one tensor, of which some are "
                    "to decay and others not; have weight decay of all or none of them"
                )
            place = native_place(where[slot.members[0].name], slot.shape)
            self._parts.append(_Part(self._rule, place, arrays[slot.name], gradients[slot.name], context))
        graphs = [totals_graph(self._rule, part.place) for part in self._parts]
        self._added = [self._executor(graph, part) for graph, part in zip(graphs, self._parts) if graph]
        if self._added and graphs[0] is not None:
            self._totals = {name: mxnet.nd.zeros((1,), ctx=context) for name in graphs[0].results}
        self._executors = [self._executor(part.update, part) for part in self._parts]

    def _executor(self, made: UpdateGraph, part: _Part) -> Any:
        lowering = Lowering(made.graph, Settings(self._context, False, False, False))
        symbol = lowering.outputs()
        given = dict(part.arrays)
        for index, name in enumerate(self._numbers.names):
            given[f"number.{name}"] = self._given[index : index + 1]
        given.update({f"total.{name}": array for name, array in self._totals.items()})
        for name, value in lowering.constants.items():
            given[name] = self._mx.nd.array(value, ctx=self._context, dtype=value.dtype.name)
        with fusion(enabled=False):
            return symbol.bind(
                self._context, {name: given[name] for name in symbol.list_arguments()}, grad_req="null"
            )

    def update(self) -> None:
        """Queue the update of every parameter."""
        self._given[:] = np.array(self._numbers.next(), np.float32)
        for place, executor in enumerate(self._added):
            for total, found in zip(self._totals.values(), executor.forward(is_train=False)):
                total[:] = found if place == 0 else total + found
        for executor, part in zip(self._executors, self._parts):
            part.take(executor.forward(is_train=False))


class _Part:
    """A weight with its state."""

    def __init__(
        self, rule: UpdateRule, place: ParameterPlace, weight: Any, gradient: Any, context: Any
    ) -> None:
        import mxnet

        self.place = place
        self.weight = weight
        self.update = update_graph(rule, place)
        start = started(rule, place, weight.asnumpy())
        self.state = {
            letter: mxnet.nd.array(start[letter].reshape(start[letter].shape or (1,)), ctx=context)
            for letter in self.update.state
        }
        states = {f"state.{letter}": array for letter, array in self.state.items()}
        self.arrays = {GRADIENT: gradient, PARAMETER: weight, **states}

    def take(self, results: Sequence[Any]) -> None:
        """Queue the writing of what an update has given over what there was."""
        for name, value in zip(self.update.results, results):
            value.copyto(self.weight if name == PARAMETER else self.state[name])
