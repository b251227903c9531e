"""An update rule as symbols, where MXNet has no update operator that computes the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.update_rule import ParameterPlace, UpdateRule
from benchmarker.plugins.common.composed import (
    ComposedState,
    RuleSteps,
    View,
    has_uniform_state,
    native_place,
    state_arrays,
    views,
)
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.in_place import Scratch, in_place_update
from benchmarker.plugins.common.layouts import Layout, plain
from benchmarker.plugins.common.restoring import restored_arrays
from benchmarker.plugins.mxnet.fusion import fusion
from benchmarker.plugins.mxnet.in_place import ArrayFunctions
from benchmarker.plugins.mxnet.lowering import Lowering, Settings
from benchmarker.plugins.mxnet.parameters import Slot
from benchmarker.training.optimizers.update_graph import UpdateGraph

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class ComposedUpdates(ComposedState):
    """Updates weights by a rule: by calls on their arrays, or by one executor for each, where elements meet.

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
        self._rule = rule = known.built_rule
        self._numbers = RuleSteps(known)
        self._given = mxnet.nd.zeros((len(self._numbers.names),), ctx=context)
        self._totals: dict[str, Any] = {}
        self._parts = []
        self._natives: dict[str, list[Any]] = {}
        self._layouts: dict[str, Layout] = {}
        self._together: dict[str, Slot] = {}
        for slot in slots:
            for place, layout, weights, found in self._seen(slot, where, arrays, gradients):
                self._natives[place.name], self._layouts[place.name] = weights, layout
                for view in views(rule, place, [weight.shape for weight in weights], layout):
                    own, gone = ([tensors[i] for i in view.natives] for tensors in (weights, found))
                    self._parts.append(_Part(rule, view, own, gone, context))
        graphs = [part.view.totals(rule) for part in self._parts]
        self._added = [self._executor(graph, part) for graph, part in zip(graphs, self._parts) if graph]
        if self._added and graphs[0] is not None:
            self._totals = {name: mxnet.nd.zeros((1,), ctx=context) for name in graphs[0].results}
        functions, names, scratch = ArrayFunctions(), self._numbers.names, Scratch()
        self._in_place = [in_place_update(part.update, names, functions, scratch) for part in self._parts]
        self._executors = [
            None if update else self._executor(part.update, part)
            for update, part in zip(self._in_place, self._parts)
        ]
        self._takes_arrays = bool(self._added) or None in self._in_place

    def _seen(
        self,
        slot: Slot,
        where: Mapping[str, ParameterPlace],
        arrays: Mapping[str, Any],
        gradients: Mapping[str, Any],
    ) -> Iterator[tuple[ParameterPlace, Layout, list[Any], list[Any]]]:
        """Yield place, layout, weights and gradients of a slot's members, or of all of them as if they were one."""
        weights, found = arrays[slot.name], gradients[slot.name]
        own = [where[member.name] for member in slot.members]
        if len(own) > 1 and self._takes_together(own):
            self._together[slot.name] = slot
            place = replace(native_place(own[0], slot.shape), name=slot.name)
            yield place, plain(), [weights], [found]
            return
        apart = slot.natives(weights), slot.natives(found)
        for place, layout in zip(own, slot.layouts):
            yield place, layout, apart[0][place.name], apart[1][place.name]

    def _takes_together(self, members: Sequence[ParameterPlace]) -> bool:
        """Tell whether it is all the same to the rule that parameters lie in one array, which takes one executor."""
        rule, decays = self._rule, {member.decays for member in members}
        alike = all(has_uniform_state(rule, member) for member in members)
        return rule.is_separable and not rule.uses_axes and alike and len(decays) == 1

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
        numbers = self._numbers.next()
        if self._takes_arrays:
            self._given[:] = np.array(numbers, np.float32)
        for place, executor in enumerate(self._added):
            for total, found in zip(self._totals.values(), executor.forward(is_train=False)):
                total[:] = found if place == 0 else total + found
        # Backward reaches the last layer's gradients first.
        for part, update, executor in reversed([*zip(self._parts, self._in_place, self._executors)]):
            if update is not None:
                update(numbers, part.given)
            else:
                part.take(executor.forward(is_train=False))

    def state_by_parameter(self) -> dict[str, dict[str, Array]]:
        """Return the state by letter and parameter."""
        return {letter: self._by_parameter(slots) for letter, slots in self.state().items()}

    def put(self, optimizer_state: Mapping[str, Mapping[str, Array]]) -> None:
        """Write a state over what there is."""
        for letter, slots in self.state().items():
            arrays = dict(optimizer_state[letter])
            for name, slot in self._together.items():
                if arrays.keys() >= {member.name for member in slot.members}:
                    arrays[name] = slot.encode(arrays)
            for kept, array in restored_arrays(self._natives, slots, arrays, self._encoded):
                kept[:] = np.asarray(array, np.float32)

    def _by_parameter(self, slots: Sequence[Any]) -> dict[str, Array]:
        found = state_arrays(self._natives, slots, self._decoded, lambda kept: kept.asnumpy())
        for name, slot in self._together.items():
            if name in found:
                found.update(slot.decode(found.pop(name)))
        return found

    def _decoded(self, name: str, tensors: Sequence[Any]) -> Array:
        return self._layouts[name].decode([tensor.asnumpy() for tensor in tensors])

    def _encoded(self, name: str, array: Array) -> Sequence[Array]:
        return self._layouts[name].encode(array)


class _Part:
    """Weights that are updated together, with their state."""

    def __init__(
        self, rule: UpdateRule, view: View, weights: Sequence[Any], gradients: Sequence[Any], context: Any
    ) -> None:
        import mxnet

        self.view = view
        self.update = view.update(rule)
        start = view.start(rule, [weight.asnumpy() for weight in weights])
        self.state = {
            letter: mxnet.nd.array(start[letter].reshape(start[letter].shape or (1,)), ctx=context)
            for letter in self.update.state
        }
        named = dict(zip(self.update.parameters, weights))
        self._held = {**named, **self.state}
        states = {f"state.{letter}": array for letter, array in self.state.items()}
        self.arrays = {**dict(zip(self.update.gradients, gradients)), **named, **states}
        self.given = tuple(self.arrays.values())

    def take(self, results: Sequence[Any]) -> None:
        """Queue the writing of what an update has given over what there was."""
        for name, value in zip(self.update.results, results):
            value.copyto(self._held[name])
