"""What every group of operators starts from."""

from __future__ import annotations

from typing import Any, Callable, TypeVar

from benchmarker.errors import UnsupportedError

Tensor = Any
"""A subclass's own idea of a tensor: a shape, an array, a symbol, a traced value."""

_Method = TypeVar("_Method", bound=Callable[..., Any])


def primitive(method: _Method) -> _Method:
    """Mark an operator that every subclass must write."""
    method.operator_kind = "primitive"  # type: ignore[attr-defined]
    return method


def composite(method: _Method) -> _Method:
    """Mark an operator whose body in terms of other operators works in every subclass."""
    method.operator_kind = "composite"  # type: ignore[attr-defined]
    return method


def stopping(method: _Method) -> _Method:
    """Mark an operator through which nothing flows back, whatever it is of."""
    method.stops_gradient = True  # type: ignore[attr-defined]
    return method


class Vocabulary:
    """A group of operators. Tensors are ``N C spatial...``; attributes are keyword-only.

    Parameters
    ----------
    training : bool
        Whether operators that differ between training and inference (batch normalization, dropout)
        behave as in training.
    """

    def __init__(self, *, training: bool = False) -> None:
        self.training = training

    def _unsupported(self, operator: str) -> Tensor:
        raise UnsupportedError(f"{type(self).__name__} does not implement operator '{operator}'")
