"""Normalization, softmax, and dropout."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.shaping import positive, reshaped
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value


def _batch_normalization(call: Call) -> Result:
    call.only("spatial", 1)
    if call.attribute("training_mode", 0):
        return _by_its_own(call)
    return call.net.batch_normalization(
        call.tensor(0),
        call.tensor(1),
        call.tensor(2),
        call.state(3),
        call.state(4),
        epsilon=call.attribute("epsilon", 1e-5),
        momentum=call.attribute("momentum", 0.9),
    )


def _by_its_own(call: Call) -> Result:
    """Return a batch normalized by its own mean and variance, and these mixed into the running ones."""
    net, x = call.net, call.tensor(0)
    wide = (x.shape[1], *(1,) * (len(x.shape) - 2))
    axes = (0, *range(2, len(x.shape)))
    mean = net.reduce_mean(x, axes=axes, keepdims=True)
    centred = net.sub(x, mean)
    variance = net.reduce_mean(net.mul(centred, centred), axes=axes, keepdims=True)
    whole = net.div(centred, net.sqrt(net.affine(variance, beta=call.attribute("epsilon", 1e-5))))
    scale, shift = (reshaped(call, call.tensor(position), wide) for position in (1, 2))
    found: list[Value] = [net.add(net.mul(whole, scale), shift)]
    old = call.attribute("momentum", 0.9)
    for place, new in ((1, mean), (2, variance)):
        if call.uses(place):
            before = net.affine(call.state(2 + place), alpha=old)
            found.append(net.add(before, net.affine(reshaped(call, new, before.shape), alpha=1.0 - old)))
    return tuple(found)


def _shift(call: Call, position: int, shape: tuple[int, ...]) -> Value:
    return call.tensor(position) if call.has(position) else call.table(np.zeros(shape), "zeros")


def _layer_normalization(call: Call) -> Result:
    x = call.tensor(0)
    (axis,) = positive((call.attribute("axis", -1),), len(x.shape))
    features = x.shape[axis:]
    if call.shape(1) != features:
        raise Unsupported(f"with a scale of {call.shape(1)} for features {features}")
    epsilon = call.attribute("epsilon", 1e-5)
    shift = _shift(call, 2, features)
    y = call.net.layer_normalization(x, call.tensor(1), shift, axis=axis, epsilon=epsilon)
    return (y, *_statistics(call, x, axis, epsilon)) if call.uses(1) or call.uses(2) else y


def _statistics(call: Call, x: Value, axis: int, epsilon: float) -> tuple[Value, Value]:
    """Return the mean and the inverse of the standard deviation that a normalization divides by."""
    net, axes = call.net, tuple(range(axis, len(x.shape)))
    mean = net.reduce_mean(x, axes=axes, keepdims=True)
    centred = net.sub(x, mean)
    variance = net.reduce_mean(net.mul(centred, centred), axes=axes, keepdims=True)
    one = call.table(np.ones(1, np.float32), "one")
    return mean, net.div(one, net.sqrt(net.affine(variance, beta=epsilon)))


def _rms_normalization(call: Call) -> Result:
    x = call.tensor(0)
    (axis,) = positive((call.attribute("axis", -1),), len(x.shape))
    features = x.shape[axis:]
    if call.shape(1) != features:
        raise Unsupported(f"with a scale of {call.shape(1)} for features {features}")
    # Over several axes it is that of all their elements in a row.
    count = int(np.prod(features))
    rows, scale = reshaped(call, x, (*x.shape[:axis], count)), reshaped(call, call.tensor(1), (count,))
    y = call.net.rms_normalization(rows, scale, epsilon=call.attribute("epsilon", 1e-5))
    return reshaped(call, y, x.shape)


def _instance_normalization(call: Call) -> Result:
    return _groups(call, call.shape(0)[1])


def _group_normalization(call: Call) -> Result:
    return _groups(call, call.attribute("num_groups"))


def _groups(call: Call, groups: int) -> Result:
    x, epsilon = call.tensor(0), call.attribute("epsilon", 1e-5)
    scale, shift = call.tensor(1), call.tensor(2)
    if scale.shape != (x.shape[1],):
        # Before opset 21 there is one of each for a group.
        each = call.table(np.arange(x.shape[1]) * groups // x.shape[1], "groups")
        scale, shift = call.net.gather(scale, each), call.net.gather(shift, each)
    return call.net.group_normalization(x, scale, shift, num_groups=groups, epsilon=epsilon)


def _softmax(operator: str, call: Call) -> Result:
    """Return a softmax; before opset 13 it goes over all axes from the given one on."""
    x = call.tensor(0)
    rank = len(x.shape)
    (axis,) = positive((call.attribute("axis", -1 if call.opset >= 13 else 1),), rank)
    apply = getattr(call.net, operator)
    if call.opset >= 13 or axis == rank - 1:
        found: Value = apply(x, axis=axis)
        return found
    rows = int(np.prod(x.shape[:axis]))
    return reshaped(call, apply(reshaped(call, x, (rows, x.type.elements // rows)), axis=1), x.shape)


def _dropout(call: Call) -> Result:
    call.unused(1, "mask")
    ratio = call.number(1, "a ratio") if call.has(1) else call.attribute("ratio", 0.5)
    if ratio and call.has(2) and bool(call.number(2, "a mode")):
        raise Unsupported("that is on in inference too")
    return call.net.dropout(call.tensor(0), ratio=ratio) if ratio else call.tensor(0)


HANDLERS: Mapping[str, Handler] = {
    "BatchNormalization": _batch_normalization,
    "Dropout": _dropout,
    "GroupNormalization": _group_normalization,
    "InstanceNormalization": _instance_normalization,
    "LayerNormalization": _layer_normalization,
    "LogSoftmax": partial(_softmax, "log_softmax"),
    "RMSNormalization": _rms_normalization,
    "Softmax": partial(_softmax, "softmax"),
}
"""How each ONNX operator is written in ours."""
