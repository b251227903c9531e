"""Which initializers of a single number are weights.

An exporter keeps constants beside the weights: a bias of one output feature and an epsilon look alike. What
tells them apart is where they are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchmarker.graph.onnx.plain import PlainNode

_WEIGHTS: Mapping[str, tuple[int, ...]] = {
    "BatchNormalization": (1, 2),
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "GRU": (1, 2, 3),
    "Gemm": (0, 1, 2),
    "GroupNormalization": (1, 2),
    "InstanceNormalization": (1, 2),
    "LSTM": (1, 2, 3),
    "LayerNormalization": (1, 2),
    "MatMul": (0, 1),
    "PRelu": (1,),
    "RMSNormalization": (1,),
    "RNN": (1, 2, 3),
}
"""The inputs of ONNX operators that hold weights, whatever their size."""
_PRODUCTS = ("Conv", "ConvTranspose", "MatMul")


def named_as_weights(nodes: Iterable[PlainNode]) -> frozenset[str]:
    """Return the names of all that nodes use as weights; what is added to a product is its bias."""
    found: set[str] = set()
    products: set[str] = set()
    for node in nodes:
        if node.operator in _PRODUCTS:
            products.update(node.outputs)
        if node.operator == "Add" and products.intersection(node.inputs):
            found.update(node.inputs)
        places = _WEIGHTS.get(node.operator, ())
        found.update(name for place, name in enumerate(node.inputs) if place in places)
    return frozenset(found)
