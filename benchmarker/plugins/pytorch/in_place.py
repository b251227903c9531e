"""Writing results over operands that nobody reads any more, as authors of PyTorch models do by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarker.graph.operators import Tensor
from benchmarker.plugins.pytorch.tracing import shape_of


def write_in_place(traced: Any, *, mixed: bool) -> None:
    """Let rectifiers and addition overwrite their operand where nothing else can see it.

    That is so when the operand has no other reader and comes fresh from an operator whose backward
    pass does not read its own result; a rectifier's reads its result and not its operand. Authors of
    PyTorch models do the same by hand (``ReLU(inplace=True)``, ``out += identity``); it saves memory
    traffic.

    Parameters
    ----------
    traced : torch.fx.Graph
        Changed in place; its nodes know their shapes as far as the graph does.
    mixed : bool
        Whether operands may differ in type, because autocast runs some operators in another one.
    """
    import torch

    fresh = _fresh_results()
    functional = torch.nn.functional

    def writable(node: Any) -> bool:
        return isinstance(node, torch.fx.Node) and node.target in fresh and len(node.users) == 1

    for node in traced.nodes:
        if node.target is torch.relu and writable(node.args[0]):
            node.target = torch.relu_
        elif node.target in (functional.leaky_relu, functional.hardtanh) and writable(node.args[0]):
            node.kwargs = {**node.kwargs, "inplace": True}
        elif node.target is torch.add:
            _add_in_place(node, writable, mixed)


def _fresh_results() -> frozenset[Any]:
    """Return the operators that make a new tensor and do not keep it for their backward pass."""
    import torch

    return frozenset(
        {
            torch.conv1d,
            torch.conv2d,
            torch.conv3d,
            torch.conv_transpose1d,
            torch.conv_transpose2d,
            torch.conv_transpose3d,
            torch.batch_norm,
            torch.layer_norm,
            torch.group_norm,
            torch.nn.functional.linear,
            torch.addmm,
            torch.mm,
            torch.matmul,
            torch.add,
            torch.sub,
            add_onto,
            "add_",
        }
    )


def add_onto(target: Tensor, other: Tensor) -> Tensor:
    """Add to ``target``, which may be overwritten, unless the sum is of another type."""
    return target.add_(other) if target.dtype == other.dtype else target + other


def _add_in_place(node: Any, writable: Callable[[Any], bool], mixed: bool) -> None:
    left, right = node.args
    shape = shape_of(node)
    if left is right or shape is None:
        return
    for target, other in ((left, right), (right, left)):
        # An operand that is broadcast is too small to hold the sum.
        if not writable(target) or shape_of(target) != shape:
            continue
        node.args = (target, other)
        if mixed and not isinstance(other, float):
            node.target = add_onto
        else:
            node.op, node.target = "call_method", "add_"
        return
