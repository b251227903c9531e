"""OpenVINO's own counters of a compiled model, mapped back to the nodes of the graph."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from benchmarker.api.profile import Call, Profile
from benchmarker.graph.onnx.writer.lowering import Lowered
from benchmarker.graph.onnx.writer.nodes import OnnxNode
from benchmarker.plugins.common.onnx.origins import Origins
from benchmarker.quick_dataclass import dataclass

_WARM_UP = 2
_PRODUCTS = ("Gemm", "MatMul")
_KINDS: Mapping[str, Sequence[str]] = {
    "Convolution": ("Conv",),
    "Deconvolution": ("ConvTranspose",),
    "FullyConnected": _PRODUCTS,
    "MatMul": _PRODUCTS,
    "MVN": ("LayerNormalization", "InstanceNormalization"),
    "RNNSeq": ("LSTM", "GRU", "RNN"),
}
"""What ONNX calls those that lose their names: what follows is folded into their weights, or they are made anew."""

_FOLDED = ("BatchNormalization", "Mul", "Add")
"""What may be folded into the weights of the kernel before it."""


@dataclass(frozen=True)
class Kernel:
    """A node of the model as OpenVINO runs it.

    Parameters
    ----------
    name, kind : str
        OpenVINO's own.
    joined : tuple of str
        Names of what was joined to make it.
    readers : tuple of str
        Names of the kernels that take its results.
    """

    name: str
    kind: str
    joined: tuple[str, ...]
    readers: tuple[str, ...] = ()


def profile(compiled: Any, lowered: Lowered, batch: Mapping[str, Any], steps: int) -> Profile:
    """Run ``steps`` steps of a model that was compiled to count how long each kernel takes."""
    request = compiled.create_infer_request()
    for name, tensor in batch.items():
        request.set_tensor(name, tensor)
    for _ in range(_WARM_UP):
        request.infer(share_outputs=True)
    before = _totals(request, _WARM_UP)
    ran = []
    first = time.perf_counter()
    for _ in range(steps):
        start = time.perf_counter()
        request.infer(share_outputs=True)
        ran.append((start - first, time.perf_counter() - start))
    after = _totals(request, _WARM_UP + steps)
    kinds = {info.node_name: info.node_type for info in request.profiling_info}
    nodes = origins_of(_kernels(compiled), lowered)
    spent = {name: max(total - before[name], 0.0) for name, total in after.items() if total}
    return laid_out([(nodes.get(name), kinds[name], seconds) for name, seconds in spent.items()], ran)


def _totals(request: Any, runs: int) -> dict[str, float]:
    """Return the seconds of each kernel over all runs: OpenVINO tells their mean, in whole microseconds."""
    return {info.node_name: info.real_time.total_seconds() * runs for info in request.profiling_info}


def _kernels(compiled: Any) -> list[Kernel]:
    """Return the kernels in the order in which they run."""
    found = []
    for op in compiled.get_runtime_model().get_ordered_ops():
        info = op.get_rt_info()
        joined = tuple(name.strip() for name in info_text(info, "originalLayersNames").split(","))
        readers = [target.get_node() for output in op.outputs() for target in output.get_target_inputs()]
        names = tuple(reader.get_friendly_name() for reader in readers)
        found.append(Kernel(op.get_friendly_name(), info_text(info, "layerType"), joined, names))
    return found


def info_text(info: Any, name: str) -> str:
    """Return what a node of the runtime model tells under a name, empty if it tells nothing."""
    return str(info[name].astype(str)) if name in info else ""


def origins_of(kernels: Sequence[Kernel], lowered: Lowered) -> dict[str, str]:
    """Return the graph's node that each kernel came from, of those for which that is known."""
    names = _Names(Origins(lowered), kernels)
    for kernel in kernels:
        names.find(kernel)
    return {name: lowered.origins[node.name] for name, node in names.found.items()}


class _Names:
    """Finds the nodes of kernels, in the order in which they run.

    One that has lost its name stands before what it was joined to, or before what uses its results, and after what
    makes its operands.
    """

    def __init__(self, origins: Origins, kernels: Sequence[Kernel]) -> None:
        self._origins = origins
        self._readers = {kernel.name: kernel.readers for kernel in kernels}
        self._makers: dict[str, list[str]] = {kernel.name: [] for kernel in kernels}
        for kernel in kernels:
            for reader in kernel.readers:
                self._makers[reader].append(kernel.name)
        self._joined = {kernel.name: self._nodes_in(kernel) for kernel in kernels}
        self.found: dict[str, OnnxNode] = {}

    def _nodes_in(self, kernel: Kernel) -> list[OnnxNode]:
        return [node for name in kernel.joined if (node := self._origins.named(name)) is not None]

    def find(self, kernel: Kernel) -> None:
        """Find the node of a kernel; those of the kernels before it were."""
        kinds = _KINDS.get(kernel.kind, ())
        own = self._joined[kernel.name]
        origin = next((node for node in own if node.kind in kinds), None)
        if origin is None and kinds:
            origin = self._lost(kernel, kinds)
        origin = origin or next(iter(own), None)
        if origin is not None:
            self.found[kernel.name] = origin
            if origin not in own:
                own.append(origin)

    def _lost(self, kernel: Kernel, kinds: Sequence[str]) -> OnnxNode | None:
        start = self._joined[kernel.name] or self._nearest(self._readers, kernel.name)
        before = {node.name for node in self._nearest(self._makers, kernel.name)}

        def wanted(node: OnnxNode) -> bool:
            return node.kind in kinds and (not before or self._operand_of(node, before) in before)

        return self._origins.back_to(start[0], wanted) if start else None

    def _operand_of(self, node: OnnxNode, known: Collection[str]) -> str | None:
        """Return which node makes the first operand, those left out that are folded into weights."""
        maker = self._origins.maker(node.inputs[0])
        while maker is not None and maker.name not in known and maker.kind in _FOLDED:
            maker = self._origins.maker(maker.inputs[0])
        return None if maker is None else maker.name

    def _nearest(self, edges: Mapping[str, Sequence[str]], name: str) -> list[OnnxNode]:
        """Return the nodes of the nearest kernels that have any, along some edges."""
        found = []
        ahead = list(edges[name])
        for one in ahead:  # grows: the nearest come first
            found += self._joined[one]
            if not self._joined[one]:
                ahead += [further for further in edges[one] if further not in ahead]
        return found


def laid_out(
    kernels: Sequence[tuple[str | None, str, float]], steps: Sequence[tuple[float, float]]
) -> Profile:
    """Return a profile in which each step has its kernels one after another.

    Parameters
    ----------
    kernels : sequence of (str or None, str, float)
        Node, kind and seconds in all steps together, in order: OpenVINO tells no more, so a step has that part of them
        which it has of the steps' time.
    steps : sequence of (float, float)
        Start and seconds of each.
    """
    whole = sum(seconds for _, seconds in steps)
    calls = []
    for number, (start, seconds) in enumerate(steps):
        for node, native, spent in kernels:
            part = spent * seconds / whole
            calls.append(Call(node, native, "forward", start, part, step=number))
            start += part
    return Profile("openvino performance counters", tuple(calls), tuple(steps))
