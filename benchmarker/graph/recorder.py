"""Recording a graph: every operator that is called becomes a node."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarker.errors import UsageError
from benchmarker.graph.attributes import flat
from benchmarker.graph.graph import apply_node, as_tuple
from benchmarker.graph.operators import OPERATORS, REQUIRED, Operators
from benchmarker.graph.shapes import Shapes
from benchmarker.graph.types import Node, TensorType
from benchmarker.quick_dataclass import dataclass

MAX_NODES = 10_000
"""Several times as many as the deepest networks have; without a bound a mistyped number would build for hours."""
MAX_ELEMENTS = 2**36
"""Of one tensor, 256 GiB as float32: more than the machines that this is for."""


@dataclass(frozen=True)
class Value:
    """A named tensor of the graph under construction."""

    name: str
    type: TensorType

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape, mini-batch included."""
        return self.type.shape


class Recorder(Operators):
    """Operators that append a node for each call; the methods are generated from the vocabulary.

    What is a record elsewhere is given here by its fields: ``net.conv(x, w, strides=(1, 1), ...)``.
    """

    conv: Callable[..., Value]
    conv_transpose: Callable[..., Value]
    max_pool: Callable[..., Value]
    average_pool: Callable[..., Value]
    rnn: Callable[..., tuple[Value, Value]]
    lstm: Callable[..., tuple[Value, Value, Value]]
    gru: Callable[..., tuple[Value, Value]]
    gemm: Callable[..., Value]
    slice: Callable[..., Value]

    def __init__(self) -> None:
        super().__init__(training=True)
        self.nodes: list[Node] = []
        self.types: dict[str, TensorType] = {}
        self._shapes = Shapes(training=True)
        self._calls: dict[str, int] = {}
        self._named: set[str] = set()

    def named(self, name: str) -> Recorder:
        """Return the same network, whose next node has this name: ``net.named("fc").gemm(...)``."""
        return _Named(self, name)

    def record(
        self,
        operator: str,
        tensors: Sequence[Value | None],
        given: Mapping[str, Any],
        name: str | None = None,
    ) -> Any:
        """Append a node and return its outputs as values.

        Parameters
        ----------
        operator : str
            Its name.
        tensors : sequence of Value or None
            Its operands, in their order.
        given : mapping
            Attributes by name, all that have no default.
        name : str, optional
            Of the node; by default the operator's with a number.
        """
        while tensors and tensors[-1] is None:
            tensors = tensors[:-1]
        attributes = {
            attribute: as_tuple(given.get(attribute, default))
            for attribute, default in OPERATORS[operator].attributes.items()
        }
        if len(self.nodes) == MAX_NODES:
            raise UsageError(f"the network has more than {MAX_NODES} operators; take fewer layers")
        name = self._unused(name or self._numbered(operator))
        node = Node(name, operator, tuple([t.name if t else "" for t in tensors]), (), attributes)
        types = apply_node(node, self._shapes, [t.type if t else None for t in tensors])
        outputs = (name,) if len(types) == 1 else tuple(f"{name}:{i}" for i in range(len(types)))
        self.nodes.append(Node(name, operator, node.inputs, outputs, attributes))
        values = tuple(map(self._kept, outputs, types))
        return values if len(values) > 1 else values[0]

    def _kept(self, name: str, type_: TensorType) -> Value:
        if type_.elements > MAX_ELEMENTS:
            raise UsageError(
                f"'{name}' would have the shape {type_.shape}, and a tensor may have at most {MAX_ELEMENTS} "
                "elements; take smaller sizes"
            )
        self.types[name] = type_
        return Value(name, type_)

    def _numbered(self, operator: str) -> str:
        self._calls[operator] = self._calls.get(operator, 0) + 1
        return f"{operator}_{self._calls[operator]}"

    def _unused(self, name: str) -> str:
        if name in self.types or name in self._named:
            raise UsageError(f"the graph has two values named '{name}'")
        self._named.add(name)
        return name


class _Named(Recorder):
    """A recorder that appends to another one, under a given name."""

    def __init__(self, recorder: Recorder, name: str) -> None:
        Operators.__init__(self, training=True)
        self._recorder = recorder
        self._name = name

    def record(
        self,
        operator: str,
        tensors: Sequence[Value | None],
        given: Mapping[str, Any],
        name: str | None = None,
    ) -> Any:
        return self._recorder.record(operator, tensors, given, name or self._name)


def _recording(operator: str, declared: Callable[..., Any]) -> Callable[..., Any]:
    info = OPERATORS[operator]
    parameters = [p for p in inspect.signature(declared).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    named = [
        inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=d) for n, d in info.attributes.items()
    ]
    signature = inspect.Signature([*parameters, *named])
    known, required = info.attributes.keys(), {n for n, d in info.attributes.items() if d is REQUIRED}
    least, most = sum(p.default is p.empty for p in parameters[1:]), len(info.tensors)

    def call(self: Recorder, *tensors: Any, **attributes: Any) -> Any:
        given = flat(operator, attributes)
        if (info.variadic or least <= len(tensors) <= most) and required <= given.keys() <= known:
            return self.record(operator, tensors, given)
        # A tensor is given by its name, or something is wrong, which the signature tells.
        bound = signature.bind(self, *tensors, **given).arguments
        ordered = bound.get(info.tensors[0], ()) if info.variadic else [bound.get(n) for n in info.tensors]
        return self.record(operator, ordered, {n: bound[n] for n in known if n in bound})

    call.__name__ = operator
    call.__doc__ = declared.__doc__
    return call


for _name in OPERATORS:
    setattr(Recorder, _name, _recording(_name, getattr(Operators, _name)))
