"""What all operators of Paddle share: they are its own functions, called on its tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from benchmarker.errors import UnsupportedError
from benchmarker.graph.operators import OPERATORS, Operators, Tensor
from benchmarker.graph.types import Node
from benchmarker.graph.windows import Pairs

Native = Callable[..., Any]


def flat(pairs: Pairs) -> list[int]:
    """Return pads as Paddle's windows take them, which is first axis first, begin before end."""
    return [size for pair in pairs for size in pair]


class PaddleFunctions(Operators):
    """Every tensor is a ``paddle.Tensor``, or a value that ``to_static`` traces.

    Parameters
    ----------
    training : bool
        Whether batch normalization uses the mini-batch and dropout drops.
    dropout : bool
        Whether dropout drops at all; off to compare gradients with other frameworks.
    """

    same: ClassVar[Mapping[str, str]] = {}
    """Operators that are a function of Paddle as it stands, without attributes: module and name of it."""

    def __init__(self, *, training: bool = False, dropout: bool = True) -> None:
        super().__init__(training=training)
        import paddle

        self._paddle: Any = paddle
        self._functional: Any = paddle.nn.functional
        self._drops = training and dropout

    def bind(self, node: Node) -> Native:
        """Return what a node calls: Paddle's own function where there is nothing to add."""
        if node.operator in self.same:
            return self.function(self.same[node.operator])
        method: Native = getattr(self, node.operator)
        return functools.partial(method, **node.keywords) if node.keywords else method

    def function(self, name: str) -> Native:
        """Return a function of Paddle by its name, which begins with a dot if it is a functional one."""
        module = self._functional if name.startswith(".") else self._paddle
        found: Native = getattr(module, name.lstrip("."))
        return found

    def _by_rank(self, name: str, rank: int) -> Native:
        if not 1 <= rank <= 3:
            raise UnsupportedError(f"Paddle's {name} takes 1, 2 or 3 spatial axes, not {rank}")
        function: Native = getattr(self._functional, name.format(rank))
        return function


def with_same(meaning: type[PaddleFunctions]) -> type[PaddleFunctions]:
    """Give a class a method for each operator that is one of Paddle's functions as it stands."""
    for operator, name in meaning.same.items():
        setattr(meaning, operator, _method(operator, name))
    return meaning


def _method(operator: str, name: str) -> Native:
    def call(self: PaddleFunctions, *xs: Tensor) -> Tensor:
        return self.function(name)(*xs)

    assert not OPERATORS[operator].attributes
    call.__name__ = operator
    return call
