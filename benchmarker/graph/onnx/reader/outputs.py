"""What a model returns, as the graph's outputs."""

from __future__ import annotations

from dataclasses import replace

from benchmarker.errors import UsageError
from benchmarker.graph.names import numbered_name
from benchmarker.graph.network import Network
from benchmarker.graph.onnx.reader.declaring import Declared
from benchmarker.graph.onnx.reader.values import Known, Operand, Unsupported
from benchmarker.graph.recorder import Value


def output_value(network: Network, value: Operand) -> Value:
    """Return an output as the result of a node, which an input that is passed through and a constant are not.

    Raises
    ------
    UsageError
        If it is no tensor of numbers.
    """
    if isinstance(value, Known):
        constant = replace(value, name=numbered_name(value.name, set(network.types)))
        try:
            value = Declared(network, ()).parameter(constant, trained=False)
        except Unsupported as why:
            raise UsageError(f"'{network.name}' has a constant output {why}") from None
    if not isinstance(value, Value):
        raise UsageError(f"'{network.name}' has an output that is no tensor")
    if any(value.name in node.outputs for node in network.nodes):
        return value
    found: Value
    if value.type.dtype == "float32":
        found = network.affine(value)
    elif value.type.dtype == "int64":
        found = network.minimum(value, value)
    else:
        found = network.logical_and(value, value)
    return found
