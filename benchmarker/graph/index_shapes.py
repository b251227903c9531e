"""Shapes and types of comparisons, logic, and operators that give or take indices."""

from __future__ import annotations

from benchmarker.errors import require
from benchmarker.graph.shape_checks import broadcast, require_integers, require_type
from benchmarker.graph.types import TensorType
from benchmarker.graph.window_shapes import WindowShapes

CAST_TYPES = ("float32", "int64", "bool")
"""What a tensor can be cast to."""


class IndexShapes(WindowShapes):
    """Every tensor is its :class:`TensorType`; operators over truth values and indices."""

    def _compared(self, a: TensorType, b: TensorType) -> TensorType:
        return TensorType(broadcast(a, b).shape, "bool")

    def equal(self, a: TensorType, b: TensorType) -> TensorType:
        return self._compared(a, b)

    def less(self, a: TensorType, b: TensorType) -> TensorType:
        return self._compared(a, b)

    def less_or_equal(self, a: TensorType, b: TensorType) -> TensorType:
        return self._compared(a, b)

    def _logical(self, a: TensorType, b: TensorType) -> TensorType:
        require_type("logic", "bool", a, b)
        return broadcast(a, b)

    def logical_and(self, a: TensorType, b: TensorType) -> TensorType:
        return self._logical(a, b)

    def logical_or(self, a: TensorType, b: TensorType) -> TensorType:
        return self._logical(a, b)

    def logical_xor(self, a: TensorType, b: TensorType) -> TensorType:
        return self._logical(a, b)

    def logical_not(self, x: TensorType) -> TensorType:
        require_type("logical_not", "bool", x)
        return x

    def is_nan(self, x: TensorType) -> TensorType:
        require_type("is_nan", "float32", x)
        return TensorType(x.shape, "bool")

    def is_inf(self, x: TensorType) -> TensorType:
        require_type("is_inf", "float32", x)
        return TensorType(x.shape, "bool")

    def where(self, condition: TensorType, a: TensorType, b: TensorType) -> TensorType:
        require_type("where", "bool", condition)
        chosen = broadcast(a, b)
        return broadcast(chosen, TensorType(condition.shape, chosen.dtype))

    def integer_div(self, a: TensorType, b: TensorType) -> TensorType:
        require_type("integer_div", "int64", a, b)
        return broadcast(a, b)

    def mod(self, a: TensorType, b: TensorType) -> TensorType:
        require_type("mod", "int64", a, b)
        return broadcast(a, b)

    def cast(self, x: TensorType, *, to: str = "float32") -> TensorType:
        require(
            to in CAST_TYPES and to != x.dtype,
            f"cast: the type must be one of {', '.join(CAST_TYPES)}, other than {x.dtype}, got '{to}'",
        )
        return TensorType(x.shape, to)

    def top_k(self, x: TensorType, *, k: int) -> TensorType:
        require(
            len(x.shape) >= 1 and 1 <= k <= x.shape[-1],
            f"top_k: k must be between 1 and the size of the last axis of {x.shape}, got {k}",
        )
        return TensorType((*x.shape[:-1], k), x.dtype)

    def top_k_indices(self, x: TensorType, *, k: int) -> TensorType:
        return TensorType(self.top_k(x, k=k).shape, "int64")

    def arg_max(self, x: TensorType, *, axis: int = 0, keepdims: bool = False) -> TensorType:
        place = self._axis("arg_max", x, axis)
        kept = (1,) if keepdims else ()
        return TensorType((*x.shape[:place], *kept, *x.shape[place + 1 :]), "int64")

    def cum_sum(
        self, x: TensorType, *, axis: int, exclusive: bool = False, reverse: bool = False
    ) -> TensorType:
        self._axis("cum_sum", x, axis)
        require(x.dtype != "bool", "cum_sum takes numbers, got bool")
        return x

    def scatter_nd(self, x: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
        require_integers("scatter_nd", indices)
        require_type("scatter_nd", x.dtype, updates)
        depth = indices.shape[-1] if indices.shape else 0
        require(
            1 <= depth <= len(x.shape) and updates.shape == (*indices.shape[:-1], *x.shape[depth:]),
            f"scatter_nd of {x.shape} at {indices.shape}: updates of {updates.shape} do not fit",
        )
        return x

    def _axis(self, operator: str, x: TensorType, axis: int) -> int:
        rank = len(x.shape)
        require(-rank <= axis < rank, f"{operator}: axis {axis} is not an axis of {x.shape}")
        return axis % rank
