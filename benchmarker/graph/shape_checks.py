"""Checks of tensor types that many operators share, each refusing with one sentence."""

from __future__ import annotations

from benchmarker.errors import require
from benchmarker.graph.types import TensorType


def broadcast(a: TensorType, b: TensorType) -> TensorType:
    """Return the type of an elementwise result under NumPy's broadcasting."""
    rank = max(len(a.shape), len(b.shape))
    left = (1,) * (rank - len(a.shape)) + a.shape
    right = (1,) * (rank - len(b.shape)) + b.shape
    require(
        all(m == n or 1 in (m, n) for m, n in zip(left, right)),
        f"shapes {a.shape} and {b.shape} do not broadcast",
    )
    require(a.dtype == b.dtype, f"tensors of {a.dtype} and {b.dtype} cannot be combined")
    return TensorType(tuple(n if m == 1 else m for m, n in zip(left, right)), a.dtype)


def require_shape(operator: str, wanted: tuple[int, ...], **values: TensorType) -> None:
    """Refuse the first of ``values`` that has another shape than ``wanted``, by its name."""
    for name, value in values.items():
        require(value.shape == wanted, f"{operator}: {name} must have shape {wanted}, got {value.shape}")


def require_integers(operator: str, indices: TensorType) -> None:
    """Refuse indices of another type than int64."""
    require(indices.dtype == "int64", f"{operator} needs int64 indices, got {indices.dtype}")


def require_type(operator: str, wanted: str, *values: TensorType) -> None:
    """Refuse the first of ``values`` of another element type."""
    for value in values:
        require(value.dtype == wanted, f"{operator} takes tensors of {wanted}, got {value.dtype}")
