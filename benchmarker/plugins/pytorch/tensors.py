"""The native tensors of a program: parameters in PyTorch's layout, and the way to and from NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.attributes import Recurrent
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.layouts import parameter_layouts, with_unbiased_variances
from benchmarker.plugins.pytorch.recurrent import LAYOUTS, flat_weights

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def to_numpy(tensor: Any) -> Array:
    """Return a copy of a tensor; NumPy has no bfloat16, so half precisions come as float32."""
    tensor = tensor.detach()
    if tensor.is_sparse_csr:
        tensor = tensor.to_dense()
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
    sparse : bool
        Whether constant matrices that only ``sparse_matmul`` takes are kept as their elements that are not 0.
    training : bool
        Whether gradients will be asked for.

    Attributes
    ----------
    layouts : dict
        How each of them stands in its native tensors.
    """

    def __init__(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        device: Any,
        dtype: Any,
        channels_last: bool,
        sparse: bool,
        training: bool,
    ) -> None:
        import torch

        self._device = device
        self.dtype = dtype
        self._channels_last = _images(graph) if channels_last else frozenset()
        self._sparse = (
            _sparse_matrices(graph) if sparse and _multiplies_sparse(device, dtype) else frozenset()
        )
        self.layouts = parameter_layouts(graph, LAYOUTS)
        if training:
            self.layouts = with_unbiased_variances(self.layouts, graph)
        self.native: dict[str, tuple[Any, ...]] = {}
        for p in graph.parameters:
            arrays = self.layouts[p.name].encode(parameters[p.name])
            tensors = [self.put(p.name, array) for array in arrays]
            if p.trainable:
                tensors = [torch.nn.Parameter(tensor, requires_grad=training) for tensor in tensors]
            self.native[p.name] = tuple(tensors)
        self.trainable = [tensor for p in graph.trainable for tensor in self.native[p.name]]
        self.state = [t for p in graph.parameters if not p.trainable for t in self.native[p.name]]
        if device.type == "cuda":
            _join_recurrent_weights(graph, self.native)

    @property
    def all(self) -> list[Any]:
        """Every native tensor, in the order in which a lowered function takes them."""
        return [tensor for tensors in self.native.values() for tensor in tensors]

    def put(self, name: str, array: Array) -> Any:
        """Copy an array to the device, in the program's type and the memory format of what it is for.

        Parameters
        ----------
        name : str
            Of a parameter or an input.
        array : ndarray
            Its values, or one of the arrays that its layout makes of them.
        """
        import torch

        tensor = _copied(array) if self._device.type == "cpu" else torch.tensor(array, device=self._device)
        if tensor.is_floating_point():
            tensor = tensor.to(self.dtype)
        formats = {4: torch.channels_last, 5: torch.channels_last_3d}
        if name in self._channels_last and tensor.dim() in formats:
            tensor = tensor.contiguous(memory_format=formats[tensor.dim()])
        return tensor.to_sparse_csr() if name in self._sparse else tensor

    def assign(self, name: str, value: Array) -> None:
        """Overwrite a parameter, given in the graph's layout."""
        import torch

        with torch.no_grad():
            for tensor, array in zip(self.native[name], self.layouts[name].encode(value)):
                tensor.copy_(self.put(name, array))

    def encode(self, name: str, value: Array) -> Sequence[Array]:
        """Return the native arrays of a parameter, or of what has its shape, in the graph's layout."""
        return self.layouts[name].encode(value)

    def decode(self, name: str, natives: Sequence[Any]) -> Array:
        """Return a parameter, or its gradient, in the graph's layout."""
        return self.layouts[name].decode([to_numpy(tensor) for tensor in natives])


def _copied(array: Array) -> Any:
    """Return a copy of an array as a tensor in the memory of the processor.

    NumPy copies: PyTorch would share each copy among its threads, and on a machine that is busy otherwise
    it would last until the last of them had its turn, milliseconds instead of microseconds.
    """
    import torch

    tensor = torch.empty(array.shape, dtype=torch.from_numpy(np.empty(0, array.dtype)).dtype)
    np.copyto(tensor.numpy(), array)
    return tensor


def _images(graph: Graph) -> frozenset[str]:
    """Return the weights and operands of convolutions, and inputs that have as many axes: images and volumes."""
    convolutions = [node for node in graph.nodes if node.operator in ("conv", "conv_transpose")]
    weights = {node.inputs[1] for node in convolutions}
    operands = {node.inputs[0] for node in convolutions}.intersection(p.name for p in graph.parameters)
    ranks = {len(graph.types[name].shape) for name in weights}
    return frozenset(weights | operands | {i.name for i in graph.inputs if len(i.type.shape) in ranks})


def _sparse_matrices(graph: Graph) -> frozenset[str]:
    """Return the constants that are the left operand of sparse products, and nothing else."""
    constants = [p.name for p in graph.parameters if not p.trainable]
    uses = {name: {(node.operator, place) for node, place in graph.uses(name)} for name in constants}
    return frozenset(name for name, found in uses.items() if found == {("sparse_matmul", 0)})


def _multiplies_sparse(device: Any, dtype: Any) -> bool:
    """Tell whether PyTorch has a sparse product; on a processor (MKL's) not in half precision."""
    return bool(device.type != "cpu" or dtype.itemsize >= 4)


def _join_recurrent_weights(graph: Graph, native: Mapping[str, tuple[Any, ...]]) -> None:
    """Put the weights of each recurrent layer into one block of memory, else cuDNN copies them at every call."""
    import torch

    kinds = {"rnn": torch.nn.RNN, "lstm": torch.nn.LSTM, "gru": torch.nn.GRU}
    trainable = {p.name for p in graph.trainable}
    for node in graph.nodes:
        if node.operator not in kinds or not trainable.issuperset(node.inputs[1:]):
            continue
        weights = flat_weights(*(native[name] for name in node.inputs[1:]))
        given: Recurrent = node.keywords["layer"]
        features = weights[0].shape[1]
        layer = kinds[node.operator](
            features, given.hidden_size, bidirectional=given.is_bidirectional, device="meta"
        )
        for name, tensor in zip(layer.state_dict(), weights):
            setattr(layer, name, tensor)
        layer.flatten_parameters()
