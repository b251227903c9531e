"""What a model returns, as the graph's outputs."""

from __future__ import annotations

from benchmarker.errors import UsageError
from benchmarker.graph.network import Network
from benchmarker.graph.onnx.reader.values import Operand
from benchmarker.graph.recorder import Value


def output_value(network: Network, value: Operand) -> Value:
    """Return an output as the result of a node, which an input that is passed through is not.

    Raises
    ------
    UsageError
        If it is a constant, or integers that are passed through.
    """
    if not isinstance(value, Value):
        raise UsageError(f"'{network.name}' has an output that depends on no input")
    if any(value.name in node.outputs for node in network.nodes):
        return value
    if value.type.dtype != "float32":
        raise UsageError(f"'{network.name}' passes the integers '{value.name}' through as an output")
    found: Value = network.affine(value)
    return found
