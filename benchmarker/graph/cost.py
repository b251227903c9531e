"""Cost: the meaning of each operator in floating-point operations and bytes.

``flops`` counts convolutions, matrix products and recurrent products, with multiply and add as two: the
convention of the published tables. Everything else is told apart in ``elementwise_flops``, where one
addition, product, comparison, division, root or exponential counts as one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarker.graph.graph import Graph, apply_node
from benchmarker.graph.memory import ActivationUse, activation_peak, activations_kept
from benchmarker.graph.operators import Operators
from benchmarker.graph.shapes import Shapes
from benchmarker.graph.types import TensorType


@dataclass(frozen=True)
class NodeCost:
    """Cost of one node, for the whole mini-batch.

    Parameters
    ----------
    name, operator : str
        As in the graph.
    flops : int
        Convolutions, matrix and recurrent products, forward.
    elementwise_flops : int
        The rest, forward.
    backward_flops : int
        Convolutions, matrix and recurrent products of the backward pass: one forward each for the
        gradients of the weight, and of the data where a parameter lies behind it. 0 without a loss.
    bytes_read, bytes_written : int
        Operands and results, each once; a reshape moves nothing.
    """

    name: str
    operator: str
    flops: int
    elementwise_flops: int
    backward_flops: int
    bytes_read: int
    bytes_written: int


@dataclass(frozen=True)
class GraphCost:
    """Cost of a graph, for the whole mini-batch.

    Parameters
    ----------
    nodes : tuple of NodeCost
        In the graph's order.
    batch_size : int
        Samples in the mini-batch.
    parameter_bytes : int
        All parameters, running statistics included.
    gradient_bytes : int
        A gradient for every trainable parameter.
    inference_activation_bytes : int
        Peak of the values alive at once, each given back after its last use; inputs included.
    training_activation_bytes : int
        Inputs and values that the backward pass needs, all kept at once; 0 without a loss.
    """

    nodes: tuple[NodeCost, ...]
    batch_size: int
    parameter_bytes: int
    gradient_bytes: int
    inference_activation_bytes: int
    training_activation_bytes: int

    @property
    def flops(self) -> int:
        """Convolutions, matrix and recurrent products, forward."""
        return sum(node.flops for node in self.nodes)

    @property
    def elementwise_flops(self) -> int:
        """Everything else, forward."""
        return sum(node.elementwise_flops for node in self.nodes)

    @property
    def backward_flops(self) -> int:
        """Convolutions, matrix and recurrent products of the backward pass."""
        return sum(node.backward_flops for node in self.nodes)

    @property
    def training_flops(self) -> int:
        """Forward and backward."""
        return self.flops + self.backward_flops

    @property
    def flops_per_sample(self) -> int:
        """Forward, one sample."""
        return self.flops // self.batch_size

    @property
    def training_flops_per_sample(self) -> int:
        """Forward and backward, one sample."""
        return self.training_flops // self.batch_size

    @property
    def bytes(self) -> int:
        """Read and written, forward."""
        return sum(node.bytes_read + node.bytes_written for node in self.nodes)

    def optimizer_state_bytes(self, kind: str) -> int:
        """Return the size of the state of an optimizer: momentum keeps one value a parameter, Adam two.

        Raises
        ------
        KeyError
            If ``kind`` is none of the optimizers.
        """
        return self.gradient_bytes * {"sgd": 0, "momentum": 1, "adam": 2}[kind]

    def training_bytes(self, kind: str) -> int:
        """Return parameters, gradients, optimizer state and activations of training together."""
        state = self.optimizer_state_bytes(kind)
        return self.parameter_bytes + self.gradient_bytes + state + self.training_activation_bytes

    @property
    def inference_bytes(self) -> int:
        """Parameters and activations of inference together."""
        return self.parameter_bytes + self.inference_activation_bytes


@dataclass(frozen=True)
class Costed:
    """A tensor of this meaning.

    Parameters
    ----------
    type : TensorType
        Shape and element type.
    storage : int
        Where its values are; a reshape shares its operand's.
    needs_gradient : bool
        Whether a trainable parameter lies behind it.
    is_parameter : bool
        Whether it belongs to the model and not to the mini-batch.
    """

    type: TensorType
    storage: int
    needs_gradient: bool = False
    is_parameter: bool = False


@dataclass(frozen=True)
class _Application:
    """One operator on types, as the counting functions see it."""

    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    needed: tuple[bool, ...]
    attributes: Mapping[str, Any]
    training: bool

    @property
    def out(self) -> int:
        """Number of elements of the first output."""
        return self.outputs[0].elements

    def input(self, position: int) -> TensorType:
        """Return the type of an input that must be there."""
        found = self.inputs[position]
        assert found is not None
        return found

    def has(self, position: int) -> bool:
        """Whether the optional input at ``position`` is there."""
        return position < len(self.inputs) and self.inputs[position] is not None


def _conv_products(a: _Application) -> tuple[int, int]:
    w = a.input(1).shape
    forward = 2 * a.out * math.prod(w[1:])
    return forward, forward * sum(a.needed[:2])


def _gemm_products(a: _Application) -> tuple[int, int]:
    rows, columns = a.outputs[0].shape
    forward = 2 * rows * columns * (a.input(0).elements // rows)
    return forward, forward * sum(a.needed[:2])


def _lstm_products(a: _Application) -> tuple[int, int]:
    steps, batch, features = a.input(0).shape
    hidden = a.attributes["hidden_size"]
    from_input = 2 * steps * batch * 4 * hidden * features
    recurrent = 2 * steps * batch * 4 * hidden * hidden
    # The state's own gradient goes back through the recurrent product whenever anything's does.
    backward = from_input * sum(a.needed[:2]) + recurrent * (a.needed[2] + any(a.needed))
    return from_input + recurrent, backward


_PRODUCTS: Mapping[str, Callable[[_Application], tuple[int, int]]] = {
    "conv": _conv_products,
    "gemm": _gemm_products,
    "lstm": _lstm_products,
}
"""Operators with matrix products: forward and backward operations."""


def _gemm_rest(a: _Application) -> int:
    scaled = a.attributes.get("alpha", 1.0) != 1.0
    added = (1 + (a.attributes.get("beta", 1.0) != 1.0)) if a.has(2) else 0
    return a.out * (scaled + added)


def _lstm_rest(a: _Application) -> int:
    # A cell and step: 8 additions before the gates, 3 sigmoids of 3, 2 tanh, 3 products, 1 addition.
    steps, batch, _ = a.input(0).shape
    return 23 * steps * batch * int(a.attributes["hidden_size"])


def _window(a: _Application) -> int:
    return math.prod(a.attributes["kernel_shape"])


_ELEMENTWISE: Mapping[str, Callable[[_Application], int]] = {
    "conv": lambda a: a.out if a.has(2) else 0,
    "gemm": _gemm_rest,
    "lstm": _lstm_rest,
    "max_pool": lambda a: a.out * (_window(a) - 1),
    "average_pool": lambda a: a.out * _window(a),
    "global_average_pool": lambda a: a.input(0).elements,
    # In inference scale and shift, folded; in training two sums, the centring and the square more.
    "batch_normalization": lambda a: a.out * (6 if a.training else 2),
    "relu": lambda a: a.out,
    "sigmoid": lambda a: 3 * a.out,
    "tanh": lambda a: a.out,
    "add": lambda a: a.out,
    "mul": lambda a: a.out,
    "dropout": lambda a: 2 * a.out if a.training else 0,
    # Maximum, subtraction, exponential, sum, division.
    "softmax": lambda a: 5 * a.out,
    "softmax_cross_entropy_loss": lambda a: 5 * a.input(0).elements,
    "reduce_mean": lambda a: a.input(0).elements,
    "reshape": lambda a: 0,
    "transpose": lambda a: 0,
}
"""Every primitive: operations that are not matrix products, forward."""


class Cost(Operators):
    """Every tensor is a :class:`Costed`; what the operators cost is added up until it is taken."""

    def __init__(self, *, training: bool = False) -> None:
        super().__init__(training=training)
        self._shapes = Shapes(training=training)
        self._storages = 0
        self._totals = [0] * 5
        self.uses: list[ActivationUse] = []

    def tensor(
        self, type_: TensorType, *, needs_gradient: bool = False, is_parameter: bool = False
    ) -> Costed:
        """Return a tensor with values of its own."""
        self._storages += 1
        return Costed(type_, self._storages, needs_gradient, is_parameter)

    def take(self) -> tuple[int, ...]:
        """Return flops, elementwise flops, backward flops, bytes read and written since the last call."""
        totals, self._totals = tuple(self._totals), [0] * 5
        return totals

    def count(self, operator: str, inputs: Sequence[Costed | None], attributes: Mapping[str, Any]) -> Any:
        """Add the cost of one primitive and return its outputs."""
        types = tuple(i.type if i else None for i in inputs)
        result = getattr(self._shapes, operator)(*types, **attributes)
        outputs = result if isinstance(result, tuple) else (result,)
        needed = tuple(i is not None and i.needs_gradient for i in inputs)
        application = _Application(types, outputs, needed, attributes, self.training)
        products, backward = _PRODUCTS.get(operator, lambda _: (0, 0))(application)
        moved = self._moved(operator, inputs, outputs)
        counted = (products, _ELEMENTWISE[operator](application), backward, *moved)
        self._totals = [a + b for a, b in zip(self._totals, counted)]
        tensors = self._outputs(operator, inputs, outputs, any(needed))
        self.uses.append(ActivationUse.of(operator, inputs, tensors, self.training))
        return tensors if isinstance(result, tuple) else tensors[0]

    def _is_view(self, operator: str) -> bool:
        return operator == "reshape" or (operator == "dropout" and not self.training)

    def _moved(
        self, operator: str, inputs: Sequence[Costed | None], outputs: Sequence[TensorType]
    ) -> tuple[int, int]:
        if self._is_view(operator):
            return 0, 0
        return sum(i.type.bytes for i in inputs if i), sum(o.bytes for o in outputs)

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


def _counting(operator: str) -> Callable[..., Any]:
    def call(self: Cost, *inputs: Costed | None, **attributes: Any) -> Any:
        return self.count(operator, inputs, attributes)

    call.__name__ = operator
    return call


for _name in _ELEMENTWISE:
    setattr(Cost, _name, _counting(_name))


def graph_cost(graph: Graph) -> GraphCost:
    """Count what ``graph`` costs: as training if it has a loss, as inference (``without_loss()``) if not."""
    training = graph.loss is not None
    cost = Cost(training=training)
    values: dict[str, Costed] = {i.name: cost.tensor(i.type) for i in graph.inputs}
    batch = tuple(values.values())
    for p in graph.parameters:
        values[p.name] = cost.tensor(p.type, needs_gradient=p.trainable, is_parameter=True)
    behind_loss = _behind(graph, graph.loss)
    nodes = []
    for node in graph.nodes:
        inputs = [values[name] if name else None for name in node.inputs]
        values.update(zip(node.outputs, apply_node(node, cost, inputs)))
        flops, elementwise, backward, read, written = cost.take()
        backward = backward if behind_loss.intersection(node.outputs) else 0
        nodes.append(NodeCost(node.name, node.operator, flops, elementwise, backward, read, written))
    results = [values[name] for name in graph.outputs]
    return GraphCost(
        nodes=tuple(nodes),
        batch_size=graph.batch_size,
        parameter_bytes=sum(p.type.bytes for p in graph.parameters),
        gradient_bytes=sum(p.type.bytes for p in graph.trainable),
        inference_activation_bytes=activation_peak(cost.uses, batch, results),
        training_activation_bytes=activations_kept(cost.uses, batch) if training else 0,
    )


def _behind(graph: Graph, value: str | None) -> set[str]:
    """Return the values that ``value`` depends on, itself included."""
    needed = {value} if value else set()
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs):
            needed.update(node.inputs)
    return needed
