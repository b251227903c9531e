"""The graph: a problem's function, written once in standard operators, and the walk that gives it a meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import Any

from benchmarker.errors import BenchmarkerError
from benchmarker.graph.operators import Operators
from benchmarker.graph.types import Distribution, Input, Node, Parameter, TensorType
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Graph:
    """Inputs, parameters and nodes in execution order.

    Parameters
    ----------
    name : str
        The problem's name.
    inputs : tuple of Input
        The mini-batch.
    parameters : tuple of Parameter
        In order of first use; each is drawn from the seed under its own name.
    nodes : tuple of Node
        In topological order.
    outputs : tuple of str
        Values that inference returns.
    loss : str or None
        The scalar that training minimises.
    types : mapping
        Type of every value by name (inputs, parameters, node outputs).
    upstream : mapping
        Without a loss, what goes backward instead of one: the output's name to that of the input which
        holds its gradient. Empty otherwise.
    operands : bool
        Whether the inputs are operands of one operator, whose first axis counts no samples.
    loss_over : str or None
        What the loss is a mean over where that is not samples, such as ``masked words``. Parts of a mini-batch have
        different numbers of them, so the mean of their losses is another function.
    """

    name: str
    inputs: tuple[Input, ...]
    parameters: tuple[Parameter, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    loss: str | None
    types: Mapping[str, TensorType]
    upstream: Mapping[str, str] = field(default_factory=dict)
    operands: bool = False
    loss_over: str | None = None

    @property
    def batch_size(self) -> int:
        """Number of samples in a mini-batch; operands are one sample."""
        return 1 if self.operands else self.inputs[0].type.shape[0]

    @property
    def parameter_count(self) -> int:
        """Number of trainable values."""
        return sum(p.type.elements for p in self.trainable)

    @property
    def trainable(self) -> tuple[Parameter, ...]:
        """The parameters that an optimizer updates."""
        return tuple(p for p in self.parameters if p.trainable)

    @property
    def statistics(self) -> tuple[str, ...]:
        """Names of the running statistics: the parameters that a training step moves without a gradient."""
        moved = {name for node in self.nodes for name in node.statistics}
        return tuple(p.name for p in self.parameters if p.name in moved)

    @property
    def takes_statistics(self) -> bool:
        """Whether an operator takes statistics of all samples, as batch normalization does."""
        return "batch_normalization" in self.operators

    @property
    def is_another_in_parts(self) -> bool:
        """Whether training parts of a mini-batch and taking their mean is another function than training the whole."""
        return self.takes_statistics or self.loss_over is not None

    @property
    def counted(self) -> Mapping[str, int]:
        """Inputs whose values number rows through the mini-batch, with how many rows each sample has."""
        return {i.name: i.rows for i in self.inputs if i.rows}

    @property
    def operators(self) -> frozenset[str]:
        """Names of the operators in use."""
        return frozenset(node.operator for node in self.nodes)

    def without_loss(self) -> Graph:
        """Return the graph that inference needs: no loss, and nothing that only the loss uses."""
        needed = set(self.outputs)
        nodes: list[Node] = []
        for node in reversed(self.nodes):
            if needed.intersection(node.outputs):
                nodes.append(node)
                needed.update(node.inputs)
        return replace(
            self,
            inputs=tuple(i for i in self.inputs if i.name in needed),
            parameters=tuple(p for p in self.parameters if p.name in needed),
            nodes=tuple(reversed(nodes)),
            loss=None,
            upstream={},
            loss_over=None,
        )

    def for_gradient(self) -> Graph:
        """Return the graph that goes backward: with a loss itself, without one that of an operator.

        The gradients of an operator are those of all its floating-point operands. So those become trainable
        parameters, and the mini-batch holds the gradient of each output, ``upstream.<output>``.
        """
        if self.loss is not None:
            return self
        floats = [i for i in self.inputs if i.type.dtype == "float32"]
        upstream = {name: f"upstream.{name}" for name in self.outputs}
        added = [Input(upstream[name], self.types[name]) for name in self.outputs]
        return replace(
            self,
            inputs=(*(i for i in self.inputs if i not in floats), *added),
            parameters=(*(Parameter(i.name, i.type, i.distribution) for i in floats), *self.parameters),
            types={**self.types, **{i.name: i.type for i in added}},
            upstream=upstream,
        )

    def uses(self, name: str) -> list[tuple[Node, int]]:
        """Return each node that takes value ``name``, with the position it takes it at."""
        return [
            (node, position)
            for node in self.nodes
            for position, value in enumerate(node.inputs)
            if value == name
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the graph as JSON values."""
        return {
            "name": self.name,
            "inputs": [asdict(i) for i in self.inputs],
            "parameters": [asdict(p) for p in self.parameters],
            "nodes": [asdict(n) for n in self.nodes],
            "outputs": list(self.outputs),
            "loss": self.loss,
            "types": {name: asdict(t) for name, t in self.types.items()},
            "upstream": dict(self.upstream),
            "operands": self.operands,
            "loss_over": self.loss_over,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Graph:
        """Read what :meth:`to_json` wrote (also after a trip through JSON text)."""
        return Graph(
            name=data["name"],
            inputs=tuple(
                Input(i["name"], _type(i["type"]), _distribution(i["distribution"]), i.get("rows", 0))
                for i in data["inputs"]
            ),
            parameters=tuple(
                Parameter(p["name"], _type(p["type"]), _distribution(p["initializer"]), p["trainable"])
                for p in data["parameters"]
            ),
            nodes=tuple(
                Node(
                    n["name"],
                    n["operator"],
                    tuple(n["inputs"]),
                    tuple(n["outputs"]),
                    {key: as_tuple(value) for key, value in n["attributes"].items()},
                )
                for n in data["nodes"]
            ),
            outputs=tuple(data["outputs"]),
            loss=data["loss"],
            types={name: _type(t) for name, t in data["types"].items()},
            upstream=data.get("upstream", {}),
            operands=data.get("operands", False),
            loss_over=data.get("loss_over"),
        )


def _type(data: Mapping[str, Any]) -> TensorType:
    return TensorType(tuple(data["shape"]), data["dtype"])


def _distribution(data: Mapping[str, Any]) -> Distribution:
    return Distribution(**{key: as_tuple(value) for key, value in data.items()})


def as_tuple(value: Any) -> Any:
    """Return lists as tuples, all the way down; anything else as it is."""
    return tuple(as_tuple(v) for v in value) if isinstance(value, (list, tuple)) else value


def apply_node(node: Node, operators: Operators, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Apply the meaning that ``operators`` gives to ``node`` and return its outputs as a tuple.

    Raises
    ------
    Exception
        Whatever the operator raised, with the node's name added as a note to its message.
    """
    try:
        result = getattr(operators, node.operator)(*inputs, **node.keywords)
    except BenchmarkerError:
        raise
    except Exception as error:
        raise RuntimeError(
            f"node '{node.name}' ({node.operator}, {dict(node.attributes)}): {type(error).__name__}: {error}"
        ) from error
    return result if isinstance(result, tuple) else (result,)


def walk(graph: Graph, operators: Operators, values: Mapping[str, Any]) -> dict[str, Any]:
    """Give the graph the meaning of ``operators``.

    Parameters
    ----------
    graph : Graph
        What to walk, in order.
    operators : Operators
        The meaning.
    values : mapping
        A tensor of that meaning for each input and parameter of the graph.

    Returns
    -------
    dict
        Every value by name, those given included.
    """
    known = dict(values)
    for node in graph.nodes:
        inputs = [known[name] if name else None for name in node.inputs]
        known.update(zip(node.outputs, apply_node(node, operators, inputs)))
    return known
