"""One ONNX operator while it is imported: its operands, its attributes, and the graph it adds to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.onnx.plain import PlainModel, PlainNode
from benchmarker.graph.onnx.reader.values import Known, NotKnown, Operand, Unsupported
from benchmarker.graph.recorder import Recorder, Value

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.graph.onnx.reader.declaring import Declared

    Array = npt.NDArray[Any]


class Call:
    """A node of the model with what its inputs stand for.

    Parameters
    ----------
    model : PlainModel
        What the node belongs to.
    node : PlainNode
        The operator.
    operands : list of Operand or None
        What its inputs stand for; None where an optional one is absent.
    declared : Declared
        The graph under construction, and the parameters declared in it.
    """

    def __init__(
        self, model: PlainModel, node: PlainNode, operands: list[Operand | None], declared: Declared
    ) -> None:
        self.model = model
        self.node = node
        self.operands = operands
        self.declared = declared
        self.net = _Under(declared, node)

    @property
    def opset(self) -> int:
        """Version of ONNX's operators."""
        return self.model.opset

    def has(self, position: int) -> bool:
        """Whether there is an input at ``position``."""
        return position < len(self.operands) and self.operands[position] is not None

    def uses(self, output: int) -> bool:
        """Whether the node names the output at that position."""
        return output < len(self.node.outputs) and bool(self.node.outputs[output])

    def operand(self, position: int) -> Known | Value:
        """Return what the input at ``position`` stands for."""
        found = self.operands[position] if position < len(self.operands) else None
        if not isinstance(found, (Known, Value)):
            raise Unsupported(f"without its input {position}")
        return found

    # --- tensors of the graph ------------------------------------------------------------------------

    def tensor(self, position: int) -> Value:
        """Return an input as a tensor of real numbers; a known array becomes a parameter or a table.

        Raises
        ------
        Unsupported
            If it holds integers or truth values.
        """
        value = self.any_tensor(position)
        if value.type.dtype != "float32":
            raise Unsupported("over truth values" if value.type.dtype == "bool" else "over integers")
        return value

    def typed(self, position: int, dtype: str) -> Value:
        """Return an input as a tensor of that type.

        Raises
        ------
        Unsupported
            If it is of another one.
        """
        value = self.any_tensor(position)
        if value.type.dtype != dtype:
            raise Unsupported(f"over {value.type.dtype}, not {dtype}")
        return value

    def is_real(self, position: int) -> bool:
        """Whether an input holds real numbers, not integers or truth values."""
        found = self.operand(position)
        return found.type.dtype == "float32" if isinstance(found, Value) else found.array.dtype.kind == "f"

    def any_tensor(self, position: int) -> Value:
        """Return an input as a tensor of real numbers, integers or truth values."""
        found = self.operand(position)
        return found if isinstance(found, Value) else self.declared.parameter(found)

    def optional(self, position: int) -> Value | None:
        """Return an input as a tensor, None if it is absent."""
        return self.tensor(position) if self.has(position) else None

    def state(self, position: int) -> Value:
        """Return a known input as state that is not trained."""
        found = self.operand(position)
        return found if isinstance(found, Value) else self.declared.parameter(found, trained=False)

    def table(self, array: Any, what: str) -> Value:
        """Return an array, or a number of NumPy's, as a table that never changes."""
        return self.declared.parameter(Known(f"{self.net.path}.{what}", np.asarray(array)))

    # --- values known beforehand ---------------------------------------------------------------------

    def known(self, position: int, what: str) -> Array:
        """Return the value of an input.

        Raises
        ------
        NotKnown
            If only a run decides it.
        """
        found = self.operand(position)
        if isinstance(found, Value):
            raise NotKnown(self.node.inputs[position], what)
        return found.array

    def integers(self, position: int, what: str) -> tuple[int, ...]:
        """Return the whole numbers of an input that is known."""
        return tuple(int(n) for n in self.known(position, what).reshape(-1))

    def number(self, position: int, what: str) -> float:
        """Return the only number of an input that is known."""
        array = self.known(position, what)
        if array.size != 1:
            raise Unsupported(f"with {array.size} numbers as {what}")
        return float(array.reshape(-1)[0])

    def scalar(self, position: int) -> float | None:
        """Return the number of a constant that has one element and is not trained, else None."""
        found = self.operand(position)
        if isinstance(found, Value) or found.array.size != 1 or found.trained:
            return None
        return float(found.array.reshape(-1)[0])

    def shape(self, position: int) -> tuple[int, ...]:
        """Return the shape of an input."""
        found = self.operand(position)
        return found.shape if isinstance(found, Value) else found.array.shape

    # --- attributes ----------------------------------------------------------------------------------

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or ``default`` where the node has none."""
        value = self.node.attributes.get(name, default)
        if isinstance(value, dict):
            if "tensor" in value:
                return self.model.array(value["tensor"])
            raise Unsupported(f"with a {value.get('unread', 'graph')}")
        return value

    def axes(self, name: str, default: Any = None) -> tuple[int, ...] | None:
        """Return an attribute of integers as a tuple, None if it is absent."""
        value = self.attribute(name, default)
        return None if value is None else tuple(value)

    def only(self, name: str, *allowed: Any) -> None:
        """Refuse an attribute that is there and has none of the ``allowed`` values, the default among them."""
        value = self.attribute(name, allowed[0])
        if value not in allowed:
            raise Unsupported(f"with {name} {value}")

    def absent(self, position: int, what: str) -> None:
        """Refuse an optional input."""
        if self.has(position):
            raise Unsupported(f"with {what}")

    def unused(self, output: int, what: str) -> None:
        """Refuse a use of an optional output."""
        if self.uses(output):
            raise Unsupported(f"with the output of its {what}")

    def keep(self, array: Any) -> Known:
        """Return an array that the node gives, known here."""
        return Known(self.node.outputs[0], np.asarray(array))


Result = Any
"""An operand, or a tuple of them; what a recorder's operators return has no other type."""
Handler = Callable[[Call], Result]


class _Under(Recorder):
    """A recorder that appends to the network under the node's name, further operators under names after it."""

    def __init__(self, declared: Declared, node: PlainNode) -> None:
        super().__init__()
        self._declared = declared
        self.path = declared.unused(node.name or next(filter(None, node.outputs), node.operator))
        self._free: str | None = self.path

    def record(
        self,
        operator: str,
        tensors: Sequence[Value | None],
        given: Mapping[str, Any],
        name: str | None = None,
    ) -> Any:
        name, self._free = self._free, None
        name = name or self._declared.unused(f"{self.path}.{operator}")
        return self._declared.network.record(operator, tensors, given, name)
