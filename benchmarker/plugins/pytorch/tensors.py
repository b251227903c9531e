"""The native tensors of a program: parameters in PyTorch's layout, and the way to and from NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node
from benchmarker.layouts import Layout, LayoutTable, gates, parameter_layouts, two_biases

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

LSTM_GATES = (0, 2, 3, 1)
"""The graph's gates i, o, f, c in PyTorch's order i, f, c, o."""


def _lstm_weights(_: Node) -> Layout:
    return gates(LSTM_GATES, 0)


def _lstm_biases(_: Node) -> Layout:
    return two_biases(LSTM_GATES)


LAYOUTS: LayoutTable = {
    ("lstm", 1): _lstm_weights,
    ("lstm", 2): _lstm_weights,
    ("lstm", 3): _lstm_biases,
}


def to_numpy(tensor: Any) -> Array:
    """Return a copy of a tensor; NumPy has no bfloat16, so half precisions come as float32."""
    tensor = tensor.detach()
    if tensor.is_floating_point() and tensor.element_size() == 2:
        tensor = tensor.float()
    return np.array(tensor.cpu().numpy(), order="C")


class Tensors:
    """The parameters of a program, each as one native tensor or several.

    Parameters
    ----------
    graph : Graph
        Whose parameters these are.
    parameters : mapping
        Their values in the graph's layout.
    device : torch.device
        Where they live.
    dtype : torch.dtype
        Type of all that are floating point.
    channels_last : bool
        Whether images and the weights of convolutions have the channels innermost in memory.
    training : bool
        Whether gradients will be asked for.
    """

    def __init__(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        device: Any,
        dtype: Any,
        channels_last: bool,
        training: bool,
    ) -> None:
        import torch

        self._device = device
        self._dtype = dtype
        self._channels_last = channels_last
        self._layouts = parameter_layouts(graph, LAYOUTS)
        self.native: dict[str, tuple[Any, ...]] = {}
        for p in graph.parameters:
            tensors = [self.put(array) for array in self._layouts[p.name].encode(parameters[p.name])]
            if p.trainable:
                tensors = [torch.nn.Parameter(tensor, requires_grad=training) for tensor in tensors]
            self.native[p.name] = tuple(tensors)
        self.trainable = [tensor for p in graph.trainable for tensor in self.native[p.name]]
        self.state = [self.native[p.name][0] for p in graph.parameters if not p.trainable]
        if device.type == "cuda":
            _join_lstm_weights(graph, self.native)

    @property
    def all(self) -> list[Any]:
        """Every native tensor, in the order in which a lowered function takes them."""
        return [tensor for tensors in self.native.values() for tensor in tensors]

    def put(self, array: Array) -> Any:
        """Copy an array to the device, in the program's type and memory format."""
        import torch

        tensor = torch.tensor(array, device=self._device)
        if tensor.is_floating_point():
            tensor = tensor.to(self._dtype)
        formats = {4: torch.channels_last, 5: torch.channels_last_3d}
        if self._channels_last and tensor.dim() in formats:
            tensor = tensor.contiguous(memory_format=formats[tensor.dim()])
        return tensor

    def decode(self, name: str, natives: Sequence[Any]) -> Array:
        """Return a parameter, or its gradient, in the graph's layout."""
        return self._layouts[name].decode([to_numpy(tensor) for tensor in natives])


def _join_lstm_weights(graph: Graph, native: Mapping[str, tuple[Any, ...]]) -> None:
    """Put the weights of each LSTM into one block of memory, else cuDNN copies them at every call."""
    import torch

    for node in graph.nodes:
        if node.operator != "lstm":
            continue
        weights = [tensor for name in node.inputs[1:] for tensor in native.get(name, ())]
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        if len(weights) != len(names):
            continue
        layer = torch.nn.LSTM(weights[0].shape[1], node.attributes["hidden_size"], device="meta")
        for name, tensor in zip(names, weights):
            setattr(layer, name, tensor)
        layer.flatten_parameters()
