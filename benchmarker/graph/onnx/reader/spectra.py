"""Fourier transforms, as products with tables of cosines and sines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.shaping import cut, positive, reshaped
from benchmarker.graph.recorder import Value

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def transformed(call: Call, x: Value, *, onesided: bool) -> Value:
    """Return the transform ``(..., bins, 2)`` of ``(..., n, parts)``: one part, or the two of complex numbers."""
    size = x.shape[-2]
    bins = size // 2 + 1 if onesided else size
    return _turned(call, x, np.arange(bins)[:, None] * np.arange(size), size, -1, 1.0)


def _turned(call: Call, x: Value, places: Array, size: int, sign: int, weights: Array | float) -> Value:
    """Return sums ``(..., rows, 2)`` of ``(..., n, parts)``, each turned by so many ``size``-ths of a circle."""
    net, parts, last = call.net, x.shape[-1], len(x.shape) - 1
    angles = 2 * np.pi * (places % size) / size
    cosines = call.table((weights * np.cos(angles)).astype(np.float32), "cosines")
    sines = call.table((sign * weights * np.sin(angles)).astype(np.float32), "sines")
    real = cut(call, x, last, 0, 1)
    first, second = net.matmul(cosines, real), net.matmul(sines, real)
    if parts == 2:
        imaginary = cut(call, x, last, 1, 2)
        first = net.sub(first, net.matmul(sines, imaginary))
        second = net.add(second, net.matmul(cosines, imaginary))
    found: Value = net.concat(first, second, axis=last)
    return found


def _back(call: Call, x: Value, *, size: int, onesided: bool) -> Value:
    """Return the inverse transform of ``size`` points; of a spectrum's first half the real part alone."""
    count = x.shape[-2]
    weights = np.full(count, 1.0 / size)
    if onesided:
        # All but the first frequency, and the middle one of an even number, stand for their mirror image too.
        weights[1 : (size + 1) // 2] *= 2.0
    places = np.arange(size)[:, None] * np.arange(count)
    y = _turned(call, x, places, size, 1, weights)
    return cut(call, y, len(y.shape) - 1, 0, 1) if onesided else y


def _fourier(call: Call) -> Result:
    x, net = call.tensor(0), call.net
    rank = len(x.shape)
    inverse, onesided = bool(call.attribute("inverse", 0)), bool(call.attribute("onesided", 0))
    given = -2 if call.opset >= 20 else call.attribute("axis", 1)
    (axis,) = positive((int(call.number(2, "an axis")) if call.has(2) else given,), rank)
    halved = inverse and onesided
    usual = 2 * (x.shape[axis] - 1) if halved else x.shape[axis]
    length = int(call.number(1, "a length")) if call.has(1) else usual
    needed = length // 2 + 1 if halved else length
    x = cut(call, x, axis, 0, min(needed, x.shape[axis]))
    if needed > x.shape[axis]:
        more = [0] * (2 * rank)
        more[rank + axis] = needed - x.shape[axis]
        x = net.pad(x, pads=tuple(more), value=0.0)
    perm = (*(n for n in range(rank - 1) if n != axis), axis, rank - 1)
    same = perm == tuple(range(rank))
    x = x if same else net.transpose(x, perm=perm)
    y = _back(call, x, size=length, onesided=onesided) if inverse else transformed(call, x, onesided=onesided)
    return y if same else net.transpose(y, perm=tuple(int(n) for n in np.argsort(perm)))


def _short_time(call: Call) -> Result:
    """Return the spectra ``(N, frames, bins, 2)`` of parts of signals ``(N, samples, parts)``."""
    x, net = call.tensor(0), call.net
    x = reshaped(call, x, (*x.shape, 1)) if len(x.shape) == 2 else x
    step = int(call.number(1, "a step"))
    window = call.tensor(2) if call.has(2) else None
    length = int(call.number(3, "a length")) if call.has(3) else window.shape[0] if window else x.shape[1]
    starts = np.arange(0, x.shape[1] - length + 1, step)
    places = call.table(starts[:, None] + np.arange(length), "places")
    frames = net.gather(x, places, axis=1)
    frames = frames if window is None else net.mul(frames, reshaped(call, window, (length, 1)))
    return transformed(call, frames, onesided=bool(call.attribute("onesided", 1)))


HANDLERS: Mapping[str, Handler] = {"DFT": _fourier, "STFT": _short_time}
"""How each ONNX operator is written in ours."""
