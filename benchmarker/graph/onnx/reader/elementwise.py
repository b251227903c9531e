"""Operators on single elements; those that ONNX defines as functions of others come as these functions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.values import Known, Unsupported
from benchmarker.graph.recorder import Recorder, Value

MIN_FLOAT32, MAX_FLOAT32 = float(np.finfo(np.float32).min), float(np.finfo(np.float32).max)
"""What ``Clip`` takes where it is given no bound."""
_TYPES = {
    **dict.fromkeys((1, 10, 11, 16), "float32"),
    **dict.fromkeys((2, 3, 4, 5, 6, 7, 12, 13), "int64"),
    9: "bool",
}
"""Types of the graph by what ``Cast`` names; its integers have 64 bits, and those of fewer do not overflow here."""
_KINDS = {"f": "float32", "i": "int64", "u": "int64", "b": "bool"}


def _same(operator: str, call: Call) -> Result:
    found: Value = getattr(call.net, operator)(call.tensor(0))
    return found


def _of_numbers(operator: str, call: Call) -> Result:
    """Return an operator that takes integers too."""
    found: Value = getattr(call.net, operator)(_number(call, 0))
    return found


def _number(call: Call, position: int) -> Value:
    x = call.any_tensor(position)
    if x.type.dtype == "bool":
        raise Unsupported("over truth values")
    return x


def _whole(operator: str, call: Call) -> Result:
    """Return an operator to whole numbers, which leaves integers as they are."""
    found: Value = getattr(call.net, operator)(call.tensor(0)) if call.is_real(0) else call.any_tensor(0)
    return found


def _mod(call: Call) -> Result:
    net = call.net
    if not call.is_real(0):
        a, b = call.typed(0, "int64"), call.typed(1, "int64")
        return net.sub(a, net.mul(b, net.integer_div(a, b))) if call.attribute("fmod", 0) else net.mod(a, b)
    given = call.operand(1)
    if isinstance(given, Known) and (not np.isfinite(given.array).all() or not np.all(given.array)):
        raise Unsupported("by what is not finite, or 0")
    a, b = call.tensor(0), call.tensor(1)
    quotient = net.div(a, b)
    cut = net.floor(quotient)
    if call.attribute("fmod", 0):
        nothing = call.table(np.zeros((), np.float32), "zero")
        cut = net.where(net.less(quotient, nothing), net.ceil(quotient), cut)
    return net.sub(a, net.mul(b, cut))


def _arithmetic(operator: str, call: Call) -> Result:
    """Return a sum, difference, product or quotient; a constant number becomes part of an affine map."""
    if not call.is_real(0):
        native = "integer_div" if operator == "div" else operator
        whole: Value = getattr(call.net, native)(call.typed(0, "int64"), call.typed(1, "int64"))
        return whole
    left, right = call.scalar(0), call.scalar(1)
    if right is not None and len(call.shape(1)) <= len(call.shape(0)):
        alpha, beta = {
            "add": (1.0, right),
            "sub": (1.0, -right),
            "mul": (right, 0.0),
            "div": (1.0 / right if right else math.inf, 0.0),
        }[operator]
        if math.isfinite(alpha) and math.isfinite(beta):
            return call.net.affine(call.tensor(0), alpha=alpha, beta=beta)
    if left is not None and operator != "div" and len(call.shape(0)) <= len(call.shape(1)):
        alpha, beta = {"add": (1.0, left), "sub": (-1.0, left), "mul": (left, 0.0)}[operator]
        if math.isfinite(left):
            return call.net.affine(call.tensor(1), alpha=alpha, beta=beta)
    found: Value = getattr(call.net, operator)(call.tensor(0), call.tensor(1))
    return found


def _sum(call: Call) -> Result:
    total = call.tensor(0)
    for position in range(1, len(call.operands)):
        total = call.net.add(total, call.tensor(position))
    return total


def _mean(call: Call) -> Result:
    count = len(call.operands)
    return call.net.affine(_sum(call), alpha=1.0 / count) if count > 1 else call.tensor(0)


def _power(call: Call) -> Result:
    x, exponent = call.any_tensor(0), call.scalar(1)
    if x.type.dtype != "float32" and exponent not in (1.0, 2.0, 3.0):
        return _whole_power(call, x)
    if exponent is None or len(call.shape(1)) > len(x.shape):
        power = call.any_tensor(1)
        return call.net.pow(x, power if power.type.dtype == "float32" else call.net.cast(power))
    if exponent == 1.0:
        return x
    if exponent == 2.0:
        return call.net.mul(x, x)
    if exponent == 3.0:
        return call.net.mul(x, call.net.mul(x, x))
    if exponent == 0.5:
        return call.net.sqrt(x)
    if exponent in (-1.0, -0.5):
        return call.net.reciprocal(x if exponent == -1.0 else call.net.sqrt(x))
    return call.net.pow(x, call.table(np.full(1, exponent, np.float32), "exponent"))


def _whole_power(call: Call, x: Value) -> Value:
    """Return powers of integers: by real numbers, which are whole again, and exact up to 2^24 in float32."""
    net = call.net
    power = call.any_tensor(1)
    found = net.pow(cast(net, x, "float32"), cast(net, power, "float32"))
    return cast(net, net.round(found) if power.type.dtype == "int64" else found, "int64")


def _clip(call: Call) -> Result:
    given = [call.operand(place) for place in (1, 2) if call.opset >= 11 and call.has(place)]
    if not call.is_real(0) or any(isinstance(bound, Value) for bound in given):
        return _clipped(call)
    if call.opset < 11:
        low, high = call.attribute("min", MIN_FLOAT32), call.attribute("max", MAX_FLOAT32)
    else:
        low = call.number(1, "bounds") if call.has(1) else MIN_FLOAT32
        high = call.number(2, "bounds") if call.has(2) else MAX_FLOAT32
    # Where the bounds cross, ONNX returns the upper one.
    return call.net.clip(call.tensor(0), min=min(low, high), max=high)


def _clipped(call: Call) -> Result:
    """Return a tensor between bounds that are tensors themselves, or integers."""
    found = call.any_tensor(0)
    if call.has(1):
        found = call.net.maximum(found, call.typed(1, found.type.dtype))
    return call.net.minimum(found, call.typed(2, found.type.dtype)) if call.has(2) else found


def _bounded(upper: bool, call: Call) -> Result:
    """Return ``Min`` or ``Max``; of a tensor and constant numbers as its bounds."""
    numbers = [call.scalar(position) for position in range(len(call.operands))]
    tensors = [position for position, number in enumerate(numbers) if number is None]
    if len(numbers) == 1:
        return call.any_tensor(0)
    beside = len(tensors) != 1 or any(
        len(call.shape(p)) > len(call.shape(tensors[0])) for p in range(len(numbers))
    )
    if beside or not call.is_real(0):
        found = call.any_tensor(0)
        for position in range(1, len(numbers)):
            other = call.typed(position, found.type.dtype)
            found = call.net.minimum(found, other) if upper else call.net.maximum(found, other)
        return found
    bounds = [number for number in numbers if number is not None]
    if upper:
        return call.net.clip(call.tensor(tensors[0]), min=MIN_FLOAT32, max=min(bounds))
    return call.net.clip(call.tensor(tensors[0]), min=max(bounds), max=MAX_FLOAT32)


def _cast(call: Call) -> Result:
    """Return a tensor in another type; other precisions of real numbers are the run's to choose."""
    to = call.attribute("to")
    if to not in _TYPES:
        raise Unsupported(f"to the type {to}")
    return cast(call.net, call.any_tensor(0), _TYPES[to])


def _cast_like(call: Call) -> Result:
    like = call.operand(1)
    kind = like.type.dtype if isinstance(like, Value) else _KINDS.get(like.array.dtype.kind, "")
    if not kind:
        raise Unsupported("to a type without numbers")
    return cast(call.net, call.any_tensor(0), kind)


def cast(net: Recorder, x: Value, to: str) -> Value:
    """Return ``x`` as another type of the graph, itself if it has it."""
    if x.type.dtype == to:
        return x
    found: Value = net.cast(x, to=to)
    return found


def _identity(call: Call) -> Result:
    return call.operand(0)


def _leaky_relu(call: Call) -> Result:
    return call.net.leaky_relu(call.tensor(0), alpha=call.attribute("alpha", 0.01))


def _prelu(call: Call) -> Result:
    slope = call.scalar(1)
    if slope is not None:
        return call.net.leaky_relu(call.tensor(0), alpha=slope)
    x = call.tensor(0)
    below = call.net.relu(call.net.affine(x, alpha=-1.0))
    return call.net.sub(call.net.relu(x), call.net.mul(call.tensor(1), below))


def _exponential_unit(call: Call, *, alpha: float, gamma: float = 1.0, scale: float = 1.0) -> Result:
    """Return ``gamma * (max(x, 0) + alpha * (exp(min(x, 0) / scale) - 1))``."""
    net, x = call.net, call.tensor(0)
    below = net.relu(net.affine(x, alpha=-1.0))
    curved = net.affine(net.exp(net.affine(below, alpha=-1.0 / scale)), alpha=alpha, beta=-alpha)
    total = net.add(net.relu(x), curved)
    return total if gamma == 1.0 else net.affine(total, alpha=gamma)


def _elu(call: Call) -> Result:
    return _exponential_unit(call, alpha=call.attribute("alpha", 1.0))


def _celu(call: Call) -> Result:
    alpha = call.attribute("alpha", 1.0)
    return _exponential_unit(call, alpha=alpha, scale=alpha)


def _selu(call: Call) -> Result:
    return _exponential_unit(
        call,
        alpha=call.attribute("alpha", 1.67326319217681884765625),
        gamma=call.attribute("gamma", 1.05070102214813232421875),
    )


def _hard_sigmoid(call: Call) -> Result:
    alpha, beta = call.attribute("alpha", 0.2), call.attribute("beta", 0.5)
    return call.net.clip(call.net.affine(call.tensor(0), alpha=alpha, beta=beta), min=0.0, max=1.0)


def _hard_swish(call: Call) -> Result:
    x = call.tensor(0)
    gate = call.net.clip(call.net.affine(x, alpha=1.0 / 6.0, beta=0.5), min=0.0, max=1.0)
    return call.net.mul(x, gate)


def _softsign(call: Call) -> Result:
    x = call.tensor(0)
    return call.net.div(x, call.net.affine(call.net.abs(x), beta=1.0))


def _swish(call: Call) -> Result:
    x, alpha = call.tensor(0), call.attribute("alpha", 1.0)
    if alpha == 1.0:
        return call.net.silu(x)
    return call.net.mul(x, call.net.sigmoid(call.net.affine(x, alpha=alpha)))


def _mish(call: Call) -> Result:
    x = call.tensor(0)
    return call.net.mul(x, call.net.tanh(call.net.softplus(x)))


def _gelu(call: Call) -> Result:
    return call.net.gelu(call.tensor(0), approximate=call.attribute("approximate", "none"))


def _negative(call: Call) -> Result:
    return negated(call, _number(call, 0))


def negated(call: Call, x: Value) -> Value:
    """Return ``-x``."""
    if x.type.dtype == "float32":
        real: Value = call.net.affine(x, alpha=-1.0)
        return real
    whole: Value = call.net.mul(x, call.table(np.full((), -1, np.int64), "minus_one"))
    return whole


_UNARY = {
    "Cos": "cos",
    "Erf": "erf",
    "Exp": "exp",
    "Log": "log",
    "Relu": "relu",
    "Reciprocal": "reciprocal",
    "Sigmoid": "sigmoid",
    "Sin": "sin",
    "Softplus": "softplus",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}
HANDLERS: Mapping[str, Handler] = {
    **{name: partial(_same, operator) for name, operator in _UNARY.items()},
    **{name: partial(_arithmetic, name.lower()) for name in ("Add", "Sub", "Mul", "Div")},
    **{name: partial(_of_numbers, name.lower()) for name in ("Abs", "Sign")},
    **{name: partial(_whole, name.lower()) for name in ("Ceil", "Floor", "Round")},
    "Cast": _cast,
    "CastLike": _cast_like,
    "Celu": _celu,
    "Clip": _clip,
    "Elu": _elu,
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "Identity": _identity,
    "LeakyRelu": _leaky_relu,
    "Max": partial(_bounded, False),
    "Mean": _mean,
    "Min": partial(_bounded, True),
    "Mish": _mish,
    "Mod": _mod,
    "Neg": _negative,
    "PRelu": _prelu,
    "Pow": _power,
    "Selu": _selu,
    "Softsign": _softsign,
    "Sum": _sum,
    "Swish": _swish,
}
"""How each ONNX operator is written in ours."""
