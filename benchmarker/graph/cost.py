"""Cost: the meaning of each operator in floating-point operations and bytes.

``flops`` counts convolutions, matrix products and recurrent products, with multiply and add as two: the
convention of the published tables. Everything else is told apart in ``elementwise_flops``, where one
addition, product, comparison, division, root or exponential counts as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from benchmarker.errors import UsageError
from benchmarker.graph.custom import Body, registered
from benchmarker.graph.flops import ELEMENTWISE, Application, products
from benchmarker.graph.graph import Graph, apply_node
from benchmarker.graph.memory import ActivationUse, Costed, activation_peak, activations_kept
from benchmarker.graph.operators import STOPS, Operators
from benchmarker.graph.shapes import Shapes
from benchmarker.graph.types import DTYPE_BYTES, TensorType
from benchmarker.quick_dataclass import dataclass

REAL_TYPES: Mapping[str, str] = {
    "fp32": "float32",
    "tf32": "float32",
    "fp64": "float64",
    "bf16": "bfloat16",
    "fp16": "float16",
    "int8": "float32",
}
"""In what element type operators read and write real numbers in each precision.

Of a quantized graph only products take 8 bits, and which neighbours a framework fuses with them is its own affair.
"""


class Remembers(Protocol):
    """An optimizer, as far as its memory is concerned."""

    def state_elements(self, shapes: Sequence[tuple[int, ...]]) -> int:
        """Return how many values it keeps of trainable parameters of these shapes."""


@dataclass(frozen=True)
class NodeCost:
    """Cost of one node, for the whole mini-batch.

    Parameters
    ----------
    name, operator : str
        As in the graph.
    output_shapes : tuple of tuple of int
        Shape of each output.
    parameter_count : int
        Trainable values that are first used here.
    forward_flops : int
        Convolutions, matrix and recurrent products of the forward pass.
    backward_flops : int
        The same of the backward pass: one forward for the gradient of the weight, and one for that
        of the data where a trainable parameter lies behind it. 0 in inference.
    elementwise_flops : int
        The rest. A backward pass is taken as twice the forward pass here.
    bytes : int
        Operands read and results written, each once; a reshape moves nothing. A backward pass reads
        the operands and the results' gradients and writes the gradients that are needed.
    """

    name: str
    operator: str
    output_shapes: tuple[tuple[int, ...], ...]
    parameter_count: int
    forward_flops: int
    backward_flops: int
    elementwise_flops: int
    bytes: int

    @property
    def flops(self) -> int:
        """Convolutions, matrix and recurrent products of a step."""
        return self.forward_flops + self.backward_flops


@dataclass(frozen=True)
class GraphCost:
    """Cost of a step, for the whole mini-batch; the optimizer's own update is not counted.

    Parameters
    ----------
    nodes : tuple of NodeCost
        In the graph's order.
    batch_size : int
        Samples in the mini-batch.
    parameter_count : int
        Number of trainable values.
    parameter_bytes : int
        All parameters, running statistics included.
    input_bytes : int
        The mini-batch.
    gradient_bytes : int
        A gradient for every trainable value; 0 in inference.
    activation_bytes : int
        In inference the peak of the values alive at once, each given back after its last use; in
        training the values that the backward pass needs. The mini-batch is included.
    trainable_shapes : tuple of tuple of int
        Shapes of the trainable parameters.
    """

    nodes: tuple[NodeCost, ...]
    batch_size: int
    parameter_count: int
    parameter_bytes: int
    input_bytes: int
    gradient_bytes: int
    activation_bytes: int
    trainable_shapes: tuple[tuple[int, ...], ...] = ()

    @property
    def flops(self) -> int:
        """Convolutions, matrix and recurrent products of a step."""
        return sum(node.flops for node in self.nodes)

    @property
    def forward_flops(self) -> int:
        """Convolutions, matrix and recurrent products of the forward pass."""
        return sum(node.forward_flops for node in self.nodes)

    @property
    def backward_flops(self) -> int:
        """Convolutions, matrix and recurrent products of the backward pass; 0 in inference."""
        return sum(node.backward_flops for node in self.nodes)

    @property
    def elementwise_flops(self) -> int:
        """Everything else in a step."""
        return sum(node.elementwise_flops for node in self.nodes)

    @property
    def bytes(self) -> int:
        """Bytes that the operators of a step read and write, without any fusion."""
        return sum(node.bytes for node in self.nodes)

    def memory(self, optimizer: Remembers | None = None) -> dict[str, int]:
        """Return the estimated memory in bytes by what it holds, and its ``total``.

        Parameters
        ----------
        optimizer : Optimizer, optional
            Whose state is counted; None where nothing is updated.
        """
        parts = {"parameters": self.parameter_bytes, "activations": self.activation_bytes}
        if optimizer is not None or self.gradient_bytes:
            parts["gradients"] = self.gradient_bytes
        if optimizer is not None:
            kept = optimizer.state_elements(self.trainable_shapes)
            parts["optimizer_state"] = kept * self.gradient_bytes // max(self.parameter_count, 1)
        return {**parts, "total": sum(parts.values())}


@dataclass(frozen=True)
class _Tally:
    """What applications of primitives cost, forward and backward."""

    forward_flops: int = 0
    backward_flops: int = 0
    elementwise_flops: int = 0
    forward_bytes: int = 0
    backward_bytes: int = 0

    def __add__(self, other: _Tally) -> _Tally:
        return _Tally(
            self.forward_flops + other.forward_flops,
            self.backward_flops + other.backward_flops,
            self.elementwise_flops + other.elementwise_flops,
            self.forward_bytes + other.forward_bytes,
            self.backward_bytes + other.backward_bytes,
        )


class Cost(Operators):
    """Every tensor is a :class:`Costed`; what the operators cost is added up until it is taken."""

    def __init__(self, *, training: bool = False, real: str = "float32") -> None:
        super().__init__(training=training)
        self._real = real
        self._shapes = Shapes(training=training)
        self._storages = 0
        self._tally = _Tally()
        self.uses: list[ActivationUse] = []

    def tensor(
        self, type_: TensorType, *, needs_gradient: bool = False, is_parameter: bool = False
    ) -> Costed:
        """Return a tensor with values of its own."""
        self._storages += 1
        return Costed(_in(self._real, type_), self._storages, needs_gradient, is_parameter)

    def take(self) -> _Tally:
        """Return what was counted since the last call."""
        tally, self._tally = self._tally, _Tally()
        return tally

    def count(self, operator: str, inputs: Sequence[Costed | None], attributes: Mapping[str, Any]) -> Any:
        """Add the cost of one primitive and return its outputs."""
        types = tuple(i.type if i else None for i in inputs)
        result = getattr(self._shapes, operator)(*types, **attributes)
        outputs = tuple(_in(self._real, t) for t in (result if isinstance(result, tuple) else (result,)))
        needed = tuple(i is not None and i.needs_gradient for i in inputs)
        application = Application(types, outputs, needed, attributes, self.training)
        forward, backward = products(operator, application)
        moved = (0, 0) if self._is_view(operator) else _bytes_moved(operator, application)
        self._tally += _Tally(forward, backward, ELEMENTWISE[operator](application), *moved)
        tensors = self._outputs(operator, inputs, outputs, any(needed) and operator not in STOPS)
        self.uses.append(ActivationUse.of(operator, inputs, tensors, self.training))
        return tensors if isinstance(result, tuple) else tensors[0]

    def _is_view(self, operator: str) -> bool:
        return operator in ("reshape", "stop_gradient") or (operator == "dropout" and not self.training)

    def _outputs(
        self,
        operator: str,
        inputs: Sequence[Costed | None],
        outputs: Sequence[TensorType],
        needs_gradient: bool,
    ) -> tuple[Costed, ...]:
        if self._is_view(operator) and inputs[0] is not None:
            source = inputs[0]
            return (Costed(outputs[0], source.storage, needs_gradient, source.is_parameter),)
        return tuple(self.tensor(type_, needs_gradient=needs_gradient) for type_ in outputs)


def _custom(cost: Cost, *xs: Costed | None, name: str) -> Any:
    """Count a user's operator as its author does, else as its body."""
    operator = registered(name)
    if operator.flops is None and isinstance(operator.reference, Body):
        return Operators.custom(cost, *xs, name=name)
    return cost.count("custom", xs, {"name": name})


def _in(real: str, type_: TensorType) -> TensorType:
    """Return a type of the graph, whose real numbers are float32, as it is where they are of another type."""
    return replace(type_, dtype=real) if type_.dtype == "float32" else type_


def _bytes_moved(operator: str, a: Application) -> tuple[int, int]:
    if operator == "gather":  # only the rows that are asked for, and their gradients added to them
        rows = 2 * a.outputs[0].bytes + a.input(1).bytes
        return rows, rows + a.outputs[0].bytes
    read = sum(i.bytes for i in a.inputs if i)
    written = sum(o.bytes for o in a.outputs)
    gradients = sum(i.bytes for i, needed in zip(a.inputs, a.needed) if i and needed)
    return read + written, read + written + gradients


def _counting(operator: str) -> Callable[..., Any]:
    def call(self: Cost, *inputs: Costed | None, **attributes: Any) -> Any:
        return self.count(operator, inputs, attributes)

    call.__name__ = operator
    return call


for _name in ELEMENTWISE:
    setattr(Cost, _name, _counting(_name))
Cost.custom = _custom  # type: ignore[method-assign,assignment]


def graph_cost(graph: Graph, *, training: bool = False, precision: str = "fp32") -> GraphCost:
    """Count what a step of ``graph`` costs.

    Parameters
    ----------
    graph : Graph
        With its loss for training, or made by ``for_gradient()``; usually ``without_loss()`` for inference.
    training : bool
        Whether a step goes forward and backward.
    precision : str
        Of :data:`REAL_TYPES`: how large a real number is that an operator reads or writes. Weights that are trained
        are kept in at least float32, with their gradients (Micikevicius et al. 2018, section 3.1).

    Raises
    ------
    UsageError
        If a graph without a loss is to be trained.
    """
    if training and graph.loss is None and not graph.upstream:
        raise UsageError(f"training needs a loss, and graph '{graph.name}' has none; count it as inference")
    real = REAL_TYPES[precision]
    cost = Cost(training=training, real=real)
    kept = "float32" if training and DTYPE_BYTES[real] < DTYPE_BYTES["float32"] else real
    values: dict[str, Costed] = {i.name: cost.tensor(i.type) for i in graph.inputs}
    batch = tuple(values.values())
    for p in graph.parameters:
        values[p.name] = cost.tensor(p.type, needs_gradient=p.trainable, is_parameter=True)
    differentiated = (graph.loss,) if graph.loss else tuple(graph.upstream)
    nodes = _node_costs(graph, cost, values, _behind(graph, differentiated) if training else set())
    results = [values[name] for name in graph.outputs]
    peak = activation_peak(cost.uses, batch, results)
    return GraphCost(
        nodes=nodes,
        batch_size=graph.batch_size if graph.inputs else 1,
        parameter_count=graph.parameter_count,
        parameter_bytes=sum(_in(kept, p.type).bytes for p in graph.parameters),
        input_bytes=sum(value.type.bytes for value in batch),
        gradient_bytes=sum(_in(kept, p.type).bytes for p in graph.trainable) if training else 0,
        activation_bytes=activations_kept(cost.uses, batch) if training else peak,
        trainable_shapes=tuple(p.type.shape for p in graph.trainable),
    )


def _node_costs(
    graph: Graph, cost: Cost, values: dict[str, Costed], behind_loss: set[str]
) -> tuple[NodeCost, ...]:
    nodes = []
    waiting = {p.name: p.type.elements for p in graph.trainable}
    for node in graph.nodes:
        inputs = [values[name] if name else None for name in node.inputs]
        outputs = apply_node(node, cost, inputs)
        values.update(zip(node.outputs, outputs))
        tally = cost.take()
        # Backwards go only through what leads from a trainable parameter to the loss.
        returns = bool(behind_loss.intersection(node.outputs)) and any(i and i.needs_gradient for i in inputs)
        nodes.append(
            NodeCost(
                name=node.name,
                operator=node.operator,
                output_shapes=tuple(output.type.shape for output in outputs),
                parameter_count=sum(waiting.pop(name, 0) for name in node.inputs),
                forward_flops=tally.forward_flops,
                backward_flops=tally.backward_flops if returns else 0,
                elementwise_flops=tally.elementwise_flops * (3 if returns else 1),
                bytes=tally.forward_bytes + (tally.backward_bytes if returns else 0),
            )
        )
    return tuple(nodes)


def _behind(graph: Graph, values: tuple[str, ...]) -> set[str]:
    """Return the values to which a gradient of ``values`` can flow back, themselves included."""
    needed = set(values)
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs) and node.operator not in STOPS:
            needed.update(node.inputs)
    return needed
