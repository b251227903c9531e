"""The walk over a model's nodes: each is computed, or written in our operators, or told as unsupported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import UsageError
from benchmarker.graph.network import Network
from benchmarker.graph.onnx.plain import PlainGraph, PlainModel, PlainNode
from benchmarker.graph.onnx.reader import (
    attention,
    einsum,
    elementwise,
    estimators,
    functions,
    indexing,
    integers,
    logic,
    losses,
    normalization,
    padding,
    pooling,
    products,
    quantized,
    recurrent,
    reductions,
    sampling,
    scattering,
    sequences,
    shaping,
    spectra,
    trees,
    windows,
)
from benchmarker.graph.onnx.reader.call import Call, Handler
from benchmarker.graph.onnx.reader.control import CONTROL, Inside
from benchmarker.graph.onnx.reader.declaring import Declared
from benchmarker.graph.onnx.reader.folding import FOLDS, fold
from benchmarker.graph.onnx.reader.values import (
    MISSING,
    Known,
    Listed,
    Missing,
    NotKnown,
    Operand,
    Unsupported,
    hint_for,
)
from benchmarker.graph.onnx.reader.weights import named_as_weights
from benchmarker.graph.recorder import Value
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_GROUPS = (
    attention,
    einsum,
    elementwise,
    estimators,
    functions,
    indexing,
    integers,
    logic,
    losses,
    normalization,
    padding,
    pooling,
    products,
    quantized,
    recurrent,
    reductions,
    sampling,
    scattering,
    sequences,
    shaping,
    spectra,
    trees,
    windows,
)
HANDLERS: Mapping[str, Handler] = {name: h for group in _GROUPS for name, h in group.HANDLERS.items()}
"""The ONNX operators that are claimed, and how each is written in ours."""
OLDEST_OPSET = 7
_NAMED_NODES = 3


@dataclass(frozen=True)
class Fault:
    """A node without a meaning here: what it is, and why."""

    what: str
    node: str
    unknown: str | None = None
    """The value that would have to be known, if that is all."""


class UnsupportedModelError(UsageError):
    """A model uses what has no meaning here; the message names all of it.

    Parameters
    ----------
    name : str
        The model.
    faults : tuple of Fault
        One for each node.
    passed_over : int
        Operators whose operands are not known because of the faults, so that how they are used was not looked at.
    """

    def __init__(self, name: str, faults: tuple[Fault, ...], passed_over: int) -> None:
        rest = f"; {passed_over} more, which use what these return, were not checked" if passed_over else ""
        super().__init__(f"'{name}' uses what is not supported here: {_summary(faults)}{rest}")
        self.faults = faults


def _summary(faults: tuple[Fault, ...]) -> str:
    nodes: dict[str, list[str]] = {}
    for found in faults:
        nodes.setdefault(found.what, []).append(found.node)
    rows = []
    for what, names in nodes.items():
        more = ", ..." if len(names) > _NAMED_NODES else ""
        count = f"{len(names)} times: " if len(names) > 1 else ""
        rows.append(f"{what} ({count}{', '.join(names[:_NAMED_NODES])}{more})")
    return "; ".join(rows)


class Importer:
    """Writes a model into a network.

    Parameters
    ----------
    model : PlainModel
        The model.
    network : Network
        Under construction; its inputs are declared already.
    inputs : mapping
        What each input of the model stands for: a value of the network, or a known array.
    """

    def __init__(self, model: PlainModel, network: Network, inputs: Mapping[str, Operand | Array]) -> None:
        self._model = model
        self._declared = Declared(network, {*model.initializers, *inputs})
        self._values: dict[str, Operand] = {}
        self._faults: list[Fault] = []
        self._passed_over = 0
        self._inside = Inside(self._run_inside, self._stacked, self._row)
        for name, value in inputs.items():
            if isinstance(value, (Value, Known, Missing, Listed)):
                self._values[name] = value
            else:
                self._values[name] = Known(name, np.asarray(value))
        self._initialize(model)

    def _initialize(self, graph: PlainModel | PlainGraph) -> None:
        weights = named_as_weights(graph.nodes)
        for name, file in graph.initializers.items():
            array = self._model.array(file)
            alone = array.size == 1 and not (array.ndim and name in weights)
            trained = array.dtype.kind == "f" and not alone
            self._values[name] = Known(name, array, self._model.path(file), trained)

    def run(self) -> dict[str, Operand]:
        """Import every node and return what each name stands for.

        Raises
        ------
        UnsupportedModelError
            With all that has no meaning here.
        """
        if self._model.opset < OLDEST_OPSET:
            raise UsageError(
                f"'{self._declared.network.name}' must use operators of opset {OLDEST_OPSET} or newer, got "
                f"{self._model.opset}; convert it with onnx.version_converter"
            )
        for node in self._model.nodes:
            self._import(node)
        if self._faults:
            raise UnsupportedModelError(self._declared.network.name, tuple(self._faults), self._passed_over)
        return self._values

    def _import(self, node: PlainNode) -> None:
        operands = [self._values.get(name, MISSING) if name else None for name in node.inputs]
        missing = any(isinstance(operand, Missing) for operand in operands)
        results: tuple[Operand | None, ...] = ()
        unclaimed = node.operator not in HANDLERS and node.operator not in CONTROL
        if unclaimed and (missing or node.operator not in FOLDS):
            self._fault(node, "")
        elif missing:
            self._passed_over += 1
        else:
            results = self._results(node, operands)
        for place, name in enumerate(node.outputs):
            if name:
                found = results[place] if place < len(results) else None
                self._values[name] = MISSING if found is None else found

    def _results(self, node: PlainNode, operands: list[Operand | None]) -> tuple[Operand | None, ...]:
        try:
            if node.operator in CONTROL:
                return tuple(CONTROL[node.operator](node, operands, self._inside))
            call = Call(self._model, node, operands, self._declared)
            if self._folds(node, operands):
                arrays = [_array(operand) for operand in operands if operand is not None]
                return tuple(self._known(node, i, array) for i, array in enumerate(fold(call, arrays)))
            if node.operator not in HANDLERS:
                unknown = [n for n, operand in zip(node.inputs, operands) if isinstance(operand, Value)]
                self._fault(node, "", unknown[0] if unknown else None)
                return ()
            found = HANDLERS[node.operator](call)
            return found if isinstance(found, tuple) else (found,)
        except NotKnown as fault:
            self._fault(node, f" {fault}", fault.name)
        except Unsupported as fault:
            self._fault(node, f" {fault}")
        except UsageError as fault:
            self._fault(node, f": {fault}")
        return ()

    def _run_inside(self, graph: PlainGraph, inputs: Mapping[str, Operand]) -> list[Operand]:
        """Import the nodes of a graph inside a node, and return what its outputs stand for."""
        self._values.update(inputs)
        self._initialize(graph)
        for node in graph.nodes:
            self._import(node)
        return [self._values.get(tensor.name, MISSING) for tensor in graph.outputs]

    def _stacked(self, rows: Sequence[Operand], axis: int) -> Operand:
        """Return what all trips of a loop returned, joined along a new axis."""
        known = [row for row in rows if isinstance(row, Known)]
        if len(known) == len(rows):
            return Known(self._declared.unused("scanned"), np.stack([row.array for row in known], axis))
        net, values = self._declared.network, []
        for row in rows:
            if isinstance(row, (Missing, Listed)):
                return MISSING
            values.append(row if isinstance(row, Value) else self._declared.parameter(row))
        place = axis % (len(values[0].shape) + 1)
        apart = [
            net.reshape(value, shape=(*value.shape[:place], 1, *value.shape[place:])) for value in values
        ]
        joined: Value = apart[0] if len(apart) == 1 else net.concat(*apart, axis=place)
        return joined

    def _row(self, operand: Operand, axis: int, place: int) -> Operand:
        """Return one element of an axis, without that axis."""
        if isinstance(operand, Known):
            return Known(self._declared.unused(f"{operand.name}.row"), np.take(operand.array, place, axis))
        if not isinstance(operand, Value):
            return MISSING
        net, shape = self._declared.network, operand.shape
        along = axis % len(shape)
        cut = net.slice(operand, axes=(along,), starts=(place,), ends=(place + 1,))
        found: Value = net.reshape(cut, shape=(*shape[:along], *shape[along + 1 :]))
        return found

    def _folds(self, node: PlainNode, operands: list[Operand | None]) -> bool:
        if node.operator not in FOLDS or node.operator == "Identity":
            return False
        decisive = operands[:1] if node.operator == "CastLike" else operands
        return all(operand is None or isinstance(operand, Known) for operand in decisive) and not any(
            isinstance(operand, Known) and operand.is_weight for operand in decisive
        )

    def _known(self, node: PlainNode, place: int, array: Array) -> Known:
        value = node.attributes.get("value")
        file = value.get("tensor") if node.operator == "Constant" and isinstance(value, dict) else None
        return Known(node.outputs[place], array, self._model.path(file) if file else None)

    def _fault(self, node: PlainNode, why: str, unknown: str | None = None) -> None:
        name = node.name or next(filter(None, node.outputs), "without a name")
        hint = hint_for(node.operator, why)
        why = f"{why} ({hint})" if hint else why
        self._faults.append(Fault(f"{node.operator}{why}", name, unknown))


def _array(operand: Operand) -> Array:
    """Return a known array; of a value of the graph nothing but its type."""
    if isinstance(operand, Known):
        return operand.array
    return np.zeros(0, operand.type.dtype if isinstance(operand, Value) else np.float32)
