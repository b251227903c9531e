"""Fourier transforms, as products with tables of cosines and sines."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.shaping import cut, positive, reshaped
from benchmarker.graph.recorder import Value


def transformed(call: Call, x: Value, *, onesided: bool) -> Value:
    """Return the transform ``(..., bins, 2)`` of ``(..., n, parts)``: one part, or the two of complex numbers."""
    net, (size, parts) = call.net, x.shape[-2:]
    bins = size // 2 + 1 if onesided else size
    angles = 2 * np.pi * (np.arange(bins)[:, None] * np.arange(size) % size) / size
    cosines = call.table(np.cos(angles).astype(np.float32), "cosines")
    sines = call.table(-np.sin(angles).astype(np.float32), "sines")
    last = len(x.shape) - 1
    real = cut(call, x, last, 0, 1)
    first, second = net.matmul(cosines, real), net.matmul(sines, real)
    if parts == 2:
        imaginary = cut(call, x, last, 1, 2)
        first = net.sub(first, net.matmul(sines, imaginary))
        second = net.add(second, net.matmul(cosines, imaginary))
    found: Value = net.concat(first, second, axis=last)
    return found


def _fourier(call: Call) -> Result:
    x, net = call.tensor(0), call.net
    rank = len(x.shape)
    call.only("inverse", 0)
    given = -2 if call.opset >= 20 else call.attribute("axis", 1)
    (axis,) = positive((int(call.number(2, "an axis")) if call.has(2) else given,), rank)
    length = int(call.number(1, "a length")) if call.has(1) else x.shape[axis]
    x = cut(call, x, axis, 0, min(length, x.shape[axis]))
    if length > x.shape[axis]:
        more = [0] * (2 * rank)
        more[rank + axis] = length - x.shape[axis]
        x = net.pad(x, pads=tuple(more), value=0.0)
    perm = (*(n for n in range(rank - 1) if n != axis), axis, rank - 1)
    same = perm == tuple(range(rank))
    y = transformed(
        call, x if same else net.transpose(x, perm=perm), onesided=bool(call.attribute("onesided", 0))
    )
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
