"""An array that answers as CuPy's does, over one of NumPy: what CuPy has not, or refuses, it refuses too.

CuPy's own rules that are kept here: a function of NumPy's is answered by that of CuPy with its name, if there is one
and it has the parameters; an array of NumPy is no operand; nothing becomes an array of NumPy but by ``get``; a
reduction's result, and an element, is an array and no scalar.
"""

from __future__ import annotations

import functools
import json
import numbers
import operator
from pathlib import Path
from typing import Any

import numpy as np

_REAL = json.loads((Path(__file__).resolve().parent / "signatures.json").read_text())
"""What cupy-cuda13x 14.2.0 has: functions of ``cupy`` and methods of ``cupy.ndarray``, with parameters."""
FUNCTIONS, METHODS = _REAL["functions"], _REAL["methods"]


@functools.cache
def _accepting(parameters: Any) -> Any:
    """Return a function of these parameters, which does nothing."""
    return eval(f"lambda {parameters}: None")


def check(parameters: Any, arguments: Any, keywords: Any) -> Any:
    """Refuse a call that the real one would refuse."""
    if parameters is not None:
        _accepting(parameters)(*arguments, **keywords)


def _taken(value: Any) -> Any:
    """Return what NumPy computes with; refuse what CuPy would."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, (list, tuple)):
        return type(value)(_taken(item) for item in value)
    return value


def given(value: Any) -> Any:
    """Return NumPy's result as CuPy gives it."""
    if isinstance(value, (np.ndarray, np.generic)):
        return ndarray(np.asarray(value))
    if isinstance(value, (list, tuple)):
        return type(value)(given(item) for item in value)
    return value


def function(name: Any) -> Any:
    """Return the function of CuPy of that name, which computes as NumPy's does."""
    if name not in FUNCTIONS:
        raise AttributeError(f"module 'cupy' has no attribute '{name}'")
    native = getattr(np, name)

    @functools.wraps(native)
    def call(*arguments: Any, **keywords: Any) -> Any:
        if name == "concatenate" and not all(isinstance(item, ndarray) for item in arguments[0]):
            raise TypeError("Only cupy arrays can be concatenated")
        check(FUNCTIONS[name], arguments, keywords)
        out = keywords.pop("out", None)
        found = native(*map(_taken, arguments), **{key: _taken(value) for key, value in keywords.items()})
        if out is None:
            return given(found)
        out._host[...] = found
        return out

    return call


class ndarray:  # noqa: N801 - CuPy's name
    """See the module."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, host: Any) -> None:
        self._host = host

    def __getattr__(self, name: Any) -> Any:
        if name.startswith("__") or name not in METHODS:
            raise AttributeError(f"'cupy.ndarray' object has no attribute '{name}'")
        found = getattr(self._host, name)
        if not callable(found):
            return given(found) if isinstance(found, np.ndarray) else found

        def call(*arguments: Any, **keywords: Any) -> Any:
            check(METHODS[name], arguments, keywords)
            return given(
                found(*map(_taken, arguments), **{key: _taken(value) for key, value in keywords.items()})
            )

        return call

    def get(self, order: Any = "C") -> Any:
        return np.array(self._host, order=order)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **keywords: Any) -> Any:
        if method != "__call__" or ufunc.__name__ not in FUNCTIONS:
            return NotImplemented
        if "out" in keywords:
            (keywords["out"],) = keywords["out"]
        for operand in inputs:
            if not isinstance(operand, (ndarray, np.ndarray, np.generic, numbers.Number)):
                return NotImplemented
        return function(ufunc.__name__)(*inputs, **keywords)

    def __array_function__(self, func: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        if func.__name__ not in FUNCTIONS:
            return NotImplemented
        if any(kind not in (ndarray, np.ndarray) for kind in types):
            return NotImplemented
        if func.__name__ in {"asarray", "array"}:
            return asarray(*arguments, **keywords)
        return function(func.__name__)(*arguments, **keywords)

    def __getitem__(self, index: Any) -> Any:
        return given(self._host[_index(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._host[_index(index)] = _taken(value)

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))

    def __float__(self) -> float:
        return float(self._host)

    def __int__(self) -> int:
        return int(self._host)

    def __bool__(self) -> bool:
        return bool(self._host)


def _index(index: Any) -> Any:
    """Return an index as NumPy takes it; CuPy takes arrays of its own alone."""
    return tuple(map(_taken, index)) if isinstance(index, tuple) else _taken(index)


def _binary(name: Any) -> Any:
    calculate = getattr(operator, name)

    def forward(self: ndarray, other: Any) -> Any:
        return given(calculate(self._host, _taken(other)))

    def backward(self: ndarray, other: Any) -> Any:
        return given(calculate(_taken(other), self._host))

    def in_place(self: ndarray, other: Any) -> ndarray:
        self._host[...] = calculate(self._host, _taken(other))
        return self

    return forward, backward, in_place


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor"):
    _plain = _name.rstrip("_")
    for _prefix, _method in zip(("", "r", "i"), _binary(_name)):
        setattr(ndarray, f"__{_prefix}{_plain}__", _method)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(ndarray, f"__{_name}__", _binary(_name)[0])
for _name in ("neg", "pos", "invert", "abs"):
    setattr(
        ndarray, f"__{_name}__", lambda self, calculate=getattr(operator, _name): given(calculate(self._host))
    )


def asarray(value: Any, dtype: Any = None, order: Any = None) -> Any:
    """Copy to the device what is not there."""
    host = value._host if isinstance(value, ndarray) else np.array(value)
    return ndarray(np.asarray(host, dtype))


def asnumpy(value: Any, order: Any = "C") -> Any:
    return value.get(order) if isinstance(value, ndarray) else np.asarray(value, order=order)
