"""A graph whose products take 8 bits: each operand is quantized and dequantized before it, with stated scales.

Weights have 255 symmetric steps for each output channel, other operands 256 steps with a zero point for the whole
tensor, and a bias has the steps of the products that it is added to, in 32 bits (Jacob et al. 2017, arXiv 1712.05877,
sections 2.1 and 2.4). Engines that know the pattern compute in integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarker.graph.graph import Graph
from benchmarker.graph.names import free_name
from benchmarker.graph.types import Node
from benchmarker.quick_dataclass import dataclass

OPERATOR = "quantize_dequantize"
WEIGHT_STEPS = 127
"""From zero to the largest weight of a channel."""
STEPS = 255
"""From the least element of any other operand to the largest."""
FRACTION_BITS = 12
"""Of a scale, so that it is the same number wherever ranges were measured: the last bits of sums differ."""


@dataclass(frozen=True)
class Operand:
    """What a product takes.

    Parameters
    ----------
    value : str
        Its name.
    axis : int or None
        Of a weight, the axis of its output channels; None of anything else.
    """

    value: str
    axis: int | None


@dataclass(frozen=True)
class Scale:
    """How an operand is held: ``scale`` a step (one for each channel), and the step that is zero."""

    scale: tuple[float, ...]
    zero_point: int = 0


def quantized_operands(graph: Graph) -> dict[str, tuple[Operand, ...]]:
    """Return, by the name of each convolution and matrix product, its two factors."""
    weights = {p.name for p in graph.parameters}
    return {
        node.name: tuple(
            Operand(name, _channel_axis(graph, node, place) if name in weights else None)
            for place, name in enumerate(node.inputs[:2])
        )
        for node in graph.nodes
        if node.operator in ("conv", "gemm", "matmul") and graph.types[node.inputs[0]].dtype == "float32"
    }


def quantized_results(graph: Graph) -> tuple[Operand, ...]:
    """Return what of convolutions and layers is quantized, too: the result, or that of a rectifier that alone reads it.

    Engines have convolutions whose results are integers, and no others; a layer may end a graph in real numbers.
    """
    found = []
    for node in graph.nodes:
        if node.operator != "conv" and not _is_inner_layer(graph, node):
            continue
        value = node.outputs[0]
        readers = graph.uses(value)
        if len(readers) == 1 and readers[0][0].operator == "relu" and value not in graph.outputs:
            value = readers[0][0].outputs[0]
        found.append(Operand(value, None))
    return tuple(dict.fromkeys(found))


def _is_inner_layer(graph: Graph, node: Node) -> bool:
    known = {p.name for p in graph.parameters}
    return (
        node.operator == "gemm" and node.outputs[0] not in graph.outputs and known.issuperset(node.inputs[1:])
    )


def all_operands(graph: Graph) -> tuple[Operand, ...]:
    """Return everything that has a scale."""
    factors = (operand for pair in quantized_operands(graph).values() for operand in pair)
    return tuple(dict.fromkeys((*factors, *quantized_results(graph))))


def _channel_axis(graph: Graph, node: Node, place: int) -> int | None:
    rank = len(graph.types[node.inputs[place]].shape)
    if node.operator == "conv":
        return 0
    if place == 0 or rank != 2:
        return None  # no channels of the result
    return 0 if node.attributes.get("trans_b") else 1


def symmetric(largest: Iterable[float]) -> Scale:
    """Return the scales of channels whose largest elements are these."""
    return Scale(tuple(_coarse(max(most, _MIN_RANGE) / WEIGHT_STEPS) for most in largest))


def affine(low: float, high: float) -> Scale:
    """Return the scale of elements in a range, which zero is always part of and exactly a step of."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = _coarse(max(high - low, _MIN_RANGE) / STEPS)
    return Scale((scale,), round(-low / scale))


_MIN_RANGE = 1e-20
"""A range that is zero has to have steps, too."""


def _coarse(scale: float) -> float:
    """Round a scale up to a few bits."""
    fraction, exponent = math.frexp(scale)
    return math.ldexp(math.ceil(fraction * 2**FRACTION_BITS), exponent - FRACTION_BITS)


def quantize(graph: Graph, scales: Mapping[Operand, Scale]) -> Graph:
    """Return the graph with operands of products, and results of convolutions, quantized and dequantized.

    An output that is such a result has another name then.

    Parameters
    ----------
    graph : Graph
        Without a loss.
    scales : mapping
        Of each of :func:`all_operands`.
    """
    walked = _Quantized(graph, scales)
    for node in graph.nodes:
        walked.add(node)
    types = {**graph.types, **{name: graph.types[value] for name, value in walked.made.items()}}
    outputs = tuple(walked.renamed.get(name, name) for name in graph.outputs)
    return replace(graph, nodes=tuple(walked.nodes), types=types, outputs=outputs)


class _Quantized:
    """The nodes of a graph and those that quantize between them, which is named after what it quantizes."""

    def __init__(self, graph: Graph, scales: Mapping[Operand, Scale]) -> None:
        self._graph = graph
        self._scales = scales
        self._products = quantized_operands(graph)
        self._results = {operand.value: operand for operand in quantized_results(graph)}
        self.nodes: list[Node] = []
        self.names: dict[Operand, str] = {}
        self.renamed: dict[str, str] = {}
        self._biases: dict[str, str] = {}

    @property
    def made(self) -> dict[str, str]:
        """Each value that quantizes, to what it is of."""
        return {**{name: operand.value for operand, name in self.names.items()}, **self._biases}

    def add(self, node: Node) -> None:
        """Add a node, with what quantizes its operands before it and its result after it."""
        factors = self._products.get(node.name, ())
        held = tuple(map(self._quantized, factors))
        held = (*held, *self._bias(node, factors))
        rest = tuple(self.renamed.get(name, name) for name in node.inputs[len(held) :])
        self.nodes.append(replace(node, inputs=(*held, *rest)))
        for value in node.outputs:
            if value in self._results:
                self.renamed[value] = self._quantized(self._results[value])

    def _bias(self, node: Node, factors: Sequence[Operand]) -> tuple[str, ...]:
        """Return the bias of a product in its own steps, if that is a parameter with a number per channel."""
        if len(node.inputs) < 3 or not factors or factors[1].axis is None:
            return ()
        (step,), steps = self._scales[factors[0]].scale, self._scales[factors[1]].scale
        bias = node.inputs[2]
        exact = node.attributes.get("alpha", 1.0) == node.attributes.get("beta", 1.0) == 1.0
        known = bias in {p.name for p in self._graph.parameters}
        if not exact or not known or self._graph.types[bias].shape != (len(steps),):
            return ()
        name = self._unused(f"{bias}.int32")
        scale = tuple(step * each for each in steps)
        attributes = {"scale": scale, "zero_point": 0, "axis": 0, "signed": True, "bits": 32}
        self._biases[name] = bias
        self.nodes.append(Node(name, OPERATOR, (bias,), (name,), attributes))
        return (name,)

    def _unused(self, name: str) -> str:
        return free_name(name, {*self._graph.types, *self.names.values(), *self._biases})

    def _quantized(self, operand: Operand) -> str:
        if operand not in self.names:
            name = self._unused(f"{operand.value}.int8")
            self.names[operand] = name
            self.nodes.append(_node(name, operand, self._scales[operand]))
        return self.names[operand]


def _node(name: str, operand: Operand, scale: Scale) -> Node:
    attributes: dict[str, Any] = {
        "scale": scale.scale,
        "zero_point": scale.zero_point,
        "axis": operand.axis,
        "signed": operand.axis is not None,
        "bits": 8,
    }
    return Node(name, OPERATOR, (operand.value,), (name,), attributes)
