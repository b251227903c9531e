"""The graph as MXNet symbols: one for its outputs, one for its loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph, apply_node
from benchmarker.graph.operators import OPERATORS
from benchmarker.graph.types import Input, Node, TensorType
from benchmarker.plugins.common.layouts import sparse_operands
from benchmarker.plugins.mxnet.operators import MxnetOperators
from benchmarker.plugins.mxnet.parameters import Slot, slots
from benchmarker.plugins.mxnet.profiler import naming
from benchmarker.plugins.mxnet.shared_statistics import own_statistics, shared_statistics
from benchmarker.plugins.mxnet.symbol_operators import native_shape
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Settings:
    """How symbols become executors.

    Parameters
    ----------
    context : object
        MXNet's device.
    training : bool
        Whether a loss or outputs are differentiated.
    half : bool
        Whether to compute in float16.
    fusion : bool
        Whether inference uses the subgraph backend.
    """

    context: Any
    training: bool
    half: bool
    fusion: bool


class Lowering:
    """Which variables stand for the graph's inputs and parameters, and the symbols made of them.

    Parameters
    ----------
    graph : Graph
        What to make native.
    settings : Settings
        How.
    """

    def __init__(self, graph: Graph, settings: Settings) -> None:
        import mxnet

        self._mx: Any = mxnet.sym
        self._graph = graph
        self._settings = settings
        self.slots = slots(graph)
        self.shared = shared_statistics(graph) if settings.training else ()
        self.own = own_statistics(self.shared)
        """Name of its own copy by node and shared statistic."""
        self.constants: dict[str, Array] = {}
        """Arrays that the symbols made so far take besides inputs and parameters."""
        self._exact = _float32_parameters(graph)
        # Backward, MXNet falls back to a dense product.
        self.sparse = frozenset() if settings.training or settings.half else sparse_operands(graph)
        """The parameters that are sparse matrices."""
        # Weights that an update moves stay float32; an operator's operands come as it computes.
        self._casts = settings.half and settings.training and not graph.upstream
        self._fuses = settings.fusion and not settings.training

    def stored(self, slot: Slot) -> str:
        """Return the element type of a parameter's array."""
        if slot.members[0].type.dtype == "int64":
            return "int32"
        half = self._settings.half and not self._casts
        return "float16" if half and slot.name not in self._exact else "float32"

    def fed(self, tensor: Input) -> str:
        """Return the element type of an input's array."""
        if tensor.type.dtype == "int64":
            return "int32"  # exact, and enough: MXNet's arrays have fewer than 2^31 elements
        return "float16" if self._settings.half else "float32"

    def copies(self, statistic: str) -> tuple[str, ...]:
        """Return the names of the nodes' own copies of a running statistic."""
        return tuple(name for (_, shared), name in self.own.items() if shared == statistic)

    def outputs(self, *, dropout: bool = False) -> Any:
        """Return one symbol for all of the graph's outputs."""
        values = self._symbols(dropout=dropout)
        return self._mx.Group([values[name] for name in self._graph.outputs])

    def loss(self, *, dropout: bool) -> Any:
        """Return the symbol of the loss.

        Raises
        ------
        UnsupportedError
            If the graph has none.
        """
        if self._graph.loss is None:
            raise UnsupportedError(f"problem '{self._graph.name}' has no loss, so it cannot be trained")
        return self._mx.make_loss(self._symbols(dropout=dropout)[self._graph.loss])

    def differentiated(self, *, dropout: bool) -> Any:
        """Return the symbol that goes backward: the loss, or all outputs where there is none."""
        if self._graph.upstream:
            return self.outputs(dropout=dropout)
        return self.loss(dropout=dropout)

    def _symbols(self, *, dropout: bool) -> dict[str, Any]:
        """Return a symbol for each value of the graph."""
        settings = self._settings
        meaning = MxnetOperators(training=settings.training, dropout=dropout, half=settings.half)
        values = {name: meaning.know(symbol, type_) for name, type_, symbol in self._variables()}
        for index, node in enumerate(self._graph.nodes):
            names = [self.own.get((node.name, name), name) for name in node.inputs]
            with naming(index):
                symbols = apply_node(node, meaning, [values[name] if name else None for name in names])
            for name, symbol in zip(node.outputs, symbols):
                apart = node.operator in _FUSED and self._fuses and _used_twice(self._graph, name)
                symbol = self._mx.BlockGrad(symbol) if apart else symbol
                values[name] = meaning.know(symbol, self._graph.types[name])
        self.constants.update(meaning.constants)
        return values

    def _variables(self) -> Iterator[tuple[str, TensorType, Any]]:
        """Yield for each input, parameter and own statistic its name, type and variable."""
        variable = self._mx.var
        for given in self._graph.inputs:
            yield (
                given.name,
                given.type,
                variable(given.name, shape=native_shape(given.type), dtype=self.fed(given)),
            )
        for slot in self.slots:
            kind = {"stype": "csr"} if slot.name in self.sparse else {}
            symbol = variable(slot.name, shape=slot.shape, dtype=self.stored(slot), **kind)
            if self._casts and slot.name not in self._exact and self.stored(slot) == "float32":
                symbol = self._mx.cast(symbol, dtype="float16")
            for member in slot.members:
                yield member.name, member.type, symbol
        for (_, statistic), name in self.own.items():
            type_ = self._graph.types[statistic]
            yield name, type_, variable(name, shape=type_.shape, dtype="float32")


def _float32_parameters(graph: Graph) -> frozenset[str]:
    """Return the parameters that stay float32 in half precision: those of normalizations."""
    return frozenset(
        name for node in graph.nodes if node.operator == "batch_normalization" for name in node.inputs[1:]
    )


_FUSED = ("conv", "gemm", "matmul")
"""Operators that the subgraph backend joins with what follows them.

It does so also where something else uses their result, which then takes the joined operator's instead: a
wrong value, or an error. So a result that is used more than once is set apart by an operator that does
nothing in inference (one that is called identity is taken out before).
"""


def _used_twice(graph: Graph, name: str) -> bool:
    """Whether a value may be used more than once: by several nodes, by a composite, or as an output too."""
    uses = [node for node, _ in graph.uses(name)]
    return len(uses) + graph.outputs.count(name) > 1 or any(_composed(node) for node in uses)


def _composed(node: Node) -> bool:
    """Whether a node is several symbols here; ``gelu`` and what else is only sometimes native counts as such."""
    return OPERATORS[node.operator].kind == "composite" and node.attributes.get("approximate") != "none"
