"""A framework's functions for updates that write over their arrays, held to NumPy's; its name is the argument.

Each operator is called on two arrays and on an array and a number: over a new array, each operand and another array.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarker.plugins.common.in_place import Functions
from tests.in_framework.verdicts import tell

Array = npt.NDArray[np.float32]
LEFT = np.array([[0.5, -2.0], [3.0, 0.25]], np.float32)
RIGHT = np.array([[4.0, 0.125], [-1.5, 8.0]], np.float32)
NUMBER = 0.75
BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
}
UNARY: dict[str, tuple[dict[str, float], Callable[[Array], Any]]] = {
    "affine": ({"alpha": 2.0, "beta": -1.0}, lambda x: 2 * x - 1),
    "affine of a factor": ({"alpha": 2.0, "beta": 0.0}, lambda x: 2 * x),
    "affine of a sum": ({"alpha": 1.0, "beta": 3.0}, lambda x: x + 3),
    "clip": ({"min": -1.0, "max": 1.0}, lambda x: np.clip(x, -1, 1)),
    "abs": ({}, np.abs),
    "sqrt": ({}, np.sqrt),
}


def mxnet() -> tuple[Functions, Callable[[Array], Any]]:
    from mxnet import nd

    from benchmarker.plugins.mxnet.in_place import ArrayFunctions

    return ArrayFunctions(), nd.array


def paddle() -> tuple[Functions, Callable[[Array], Any]]:
    import paddle

    from benchmarker.plugins.paddle.in_place import TensorFunctions

    return TensorFunctions(), paddle.to_tensor


def chainer() -> tuple[Functions, Callable[[Array], Any]]:
    from benchmarker.plugins.chainer.in_place import ArrayFunctions

    return ArrayFunctions(np), np.array


def fetched(array: Any) -> Any:
    return array.asnumpy() if hasattr(array, "asnumpy") else np.asarray(array)


def check_one(
    call: Callable[..., Any], given: tuple[Any, ...], expected: Any, native: Callable[[Array], Any], over: int
) -> None:
    """Call it over operand number ``over``, over another array if that is their count, over a new one if -1."""
    operands = [native(one) if isinstance(one, np.ndarray) else one for one in given]
    other = native(np.zeros_like(LEFT))
    into = None if over < 0 else [*operands, other][over]
    result = call(*operands, into=into)
    np.testing.assert_allclose(fetched(result), expected, rtol=1e-6)
    if into is not None:
        np.testing.assert_allclose(fetched(into), expected, rtol=1e-6)
    for at, (operand, before) in enumerate(zip(operands, given)):
        if at != over and isinstance(before, np.ndarray):
            np.testing.assert_array_equal(fetched(operand), before)


def checks(functions: Any, native: Callable[[Array], Any]) -> dict[str, Callable[[], None]]:
    made: dict[str, Callable[[], None]] = {}
    for name, function in BINARY.items():
        for given in ((LEFT, RIGHT), (LEFT, NUMBER), (NUMBER, RIGHT)):
            places = [at for at, one in enumerate(given) if isinstance(one, np.ndarray)]
            for over in (-1, *places, 2):
                title = f"{name} of {' and '.join(type(one).__name__ for one in given)}, over {over}"
                call, expected = getattr(functions, name), function(*given)
                made[title] = partial(check_one, call, given, expected, native, over)
    for name, (keywords, meaning) in UNARY.items():
        call = partial(getattr(functions, name.split()[0]), **keywords)
        x = np.abs(LEFT) if name == "sqrt" else LEFT
        for over in (-1, 0, 1):
            made[f"{name}, over {over}"] = partial(check_one, call, (x,), meaning(x), native, over)
    if functions.joins:
        call = partial(functions.plus_scaled, alpha=-2.0)
        for over in (-1, 0, 1):
            title = f"sum with a scaled array, over {over}"
            made[title] = partial(check_one, call, (LEFT, RIGHT, NUMBER), LEFT - 1.5 * RIGHT, native, over)
            made[f"{title}, without a number"] = partial(
                check_one, call, (LEFT, RIGHT), LEFT - 2 * RIGHT, native, over
            )
    made["copy"] = partial(check_copy, functions, native)
    return made


def check_copy(functions: Functions, native: Callable[[Array], Any]) -> None:
    value, into = native(LEFT), native(RIGHT)
    functions.copy(value, into)
    np.testing.assert_array_equal(fetched(into), LEFT)


if __name__ == "__main__":
    tell(checks(*{"mxnet": mxnet, "paddle": paddle, "chainer": chainer}[sys.argv[1]]()))
