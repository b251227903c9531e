"""The operator vocabulary: one class, one method per operator, ONNX names and semantics.

A subclass gives every operator a meaning: shapes, cost, the NumPy reference, or a framework's native
program. A *primitive* must be written by each subclass; a *composite* has a body in terms of other
operators and so works everywhere at once, though a subclass may still write it natively. The operators
themselves are in ``vocabulary/``, one group per file.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Callable

from benchmarker.graph.attributes import RECORDS
from benchmarker.graph.vocabulary.base import Tensor, composite, primitive
from benchmarker.graph.vocabulary.composites import Composites
from benchmarker.quick_dataclass import dataclass

__all__ = [
    "OPERATORS",
    "REQUIRED",
    "STOPS",
    "OperatorInfo",
    "Operators",
    "Tensor",
    "composite",
    "native_operators",
    "primitive",
]


class Operators(Composites):
    """The vocabulary. Tensors are ``N C spatial...``; attributes are keyword-only.

    Parameters
    ----------
    training : bool
        Whether operators that differ between training and inference (batch normalization, dropout)
        behave as in training.
    """


@dataclass(frozen=True)
class OperatorInfo:
    """What is known of an operator without any meaning: its kind, tensor arguments and attributes."""

    name: str
    kind: str
    tensors: tuple[str, ...]
    attributes: Mapping[str, Any]
    """Attribute name to default, :data:`REQUIRED` where there is none; of a record each of its fields."""
    variadic: bool = False
    """Whether it takes any number of tensors."""
    stops_gradient: bool = False
    """Whether nothing flows back through it."""

    def argument_names(self, count: int) -> tuple[str, ...]:
        """Return a name for each of ``count`` tensor arguments."""
        if self.variadic:
            return tuple(f"{self.tensors[0]}{i}" for i in range(count))
        return self.tensors[:count]


REQUIRED = inspect.Parameter.empty


def _describe(name: str, method: Callable[..., Any]) -> OperatorInfo:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    tensors = tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)
    attributes = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    if name in RECORDS:
        record = fields(RECORDS[name][1])
        attributes = {f.name: REQUIRED if f.default is MISSING else f.default for f in record}
    kind: str = method.operator_kind  # type: ignore[attr-defined]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return OperatorInfo(name, kind, tensors, attributes, variadic, hasattr(method, "stops_gradient"))


OPERATORS: Mapping[str, OperatorInfo] = {
    name: _describe(name, method)
    for name, method in inspect.getmembers(Operators, inspect.isfunction)
    if hasattr(method, "operator_kind")
}
"""Every operator of the vocabulary, by name."""


STOPS = frozenset(name for name, info in OPERATORS.items() if info.stops_gradient)
"""Operators through which nothing flows back."""


def native_operators(meaning: type[Operators]) -> frozenset[str]:
    """Return the operators that ``meaning`` writes itself. Imports and runs nothing."""
    return frozenset(name for name in OPERATORS if getattr(meaning, name) is not getattr(Operators, name))
