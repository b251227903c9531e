"""Pooling: the vocabulary's own, and what it lacks as the combination of shifted views of a padded image."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.elementwise import MIN_FLOAT32, cast
from benchmarker.graph.onnx.reader.shaping import reshaped
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.onnx.reader.windows import pads_of, spatial
from benchmarker.graph.recorder import Value
from benchmarker.graph.windows import Shape, halves
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MAX_VIEWS = 512
"""Of a window that is unrolled element by element."""


@dataclass(frozen=True)
class Windows:
    """Windows over the spatial axes of an image.

    Parameters
    ----------
    sizes, kernel, strides, dilations : tuple of int
        Of the spatial axes.
    pads : tuple of int
        The begins of all axes, then the ends.
    ceil : bool
        Whether a last window may end outside, as long as it begins inside.
    """

    sizes: Shape
    kernel: Shape
    strides: Shape
    dilations: Shape
    pads: Shape
    ceil: bool

    @property
    def outputs(self) -> Shape:
        """How many windows there are along each axis."""
        rank, found = len(self.sizes), []
        for axis, size in enumerate(self.sizes):
            begin, end, stride = self.pads[axis], self.pads[rank + axis], self.strides[axis]
            free = size + begin + end - ((self.kernel[axis] - 1) * self.dilations[axis] + 1)
            count = (-(-free // stride) if self.ceil else free // stride) + 1
            if self.ceil and (count - 1) * stride >= size + begin:
                count -= 1
            found.append(count)
        return tuple(found)

    @property
    def ends_outside(self) -> bool:
        """Whether a window ends outside of the padding."""
        return (
            Windows(self.sizes, self.kernel, self.strides, self.dilations, self.pads, False).outputs
            != self.outputs
        )

    def reach(self) -> list[tuple[int, int]]:
        """Return how much of each axis must be padded so that all windows lie inside."""
        found = []
        for axis, count in enumerate(self.outputs):
            last = (count - 1) * self.strides[axis] + (self.kernel[axis] - 1) * self.dilations[axis] + 1
            begin = self.pads[axis]
            found.append((begin, max(0, last - self.sizes[axis] - begin)))
        return found

    def counted(self, with_pads: bool) -> Array:
        """Return how many elements of each window count: those of the image, those of the padding too if asked."""
        rank = len(self.sizes)
        whole = np.ones((), np.float32)
        for axis, count in enumerate(self.outputs):
            starts = np.arange(count) * self.strides[axis] - self.pads[axis]
            at = starts[:, None] + np.arange(self.kernel[axis]) * self.dilations[axis]
            low = -self.pads[axis] if with_pads else 0
            high = self.sizes[axis] + (self.pads[rank + axis] if with_pads else 0)
            whole = whole[..., None] * ((at >= low) & (at < high)).sum(1).astype(np.float32)
        return whole


def windows_of(call: Call, x: Value) -> Windows:
    """Return the windows of a node over ``x``."""
    rank = len(x.shape) - 2
    kernel, strides = tuple(call.attribute("kernel_shape")), spatial(call, "strides", rank)
    dilations = spatial(call, "dilations", rank)
    pads = pads_of(call, x, kernel, strides, dilations)
    return Windows(x.shape[2:], kernel, strides, dilations, pads, bool(call.attribute("ceil_mode", 0)))


def _views(call: Call, x: Value, windows: Windows, filling: float) -> list[Value]:
    """Return for each element of the window what lies there, in all windows."""
    if math.prod(windows.kernel) > MAX_VIEWS:
        raise Unsupported(f"with windows of {math.prod(windows.kernel)} elements that would be unrolled")
    reach = windows.reach()
    begins, ends = (tuple(pair[side] for pair in reach) for side in (0, 1))
    if any((*begins, *ends)):
        x = call.net.pad(x, pads=(0, 0, *begins, 0, 0, *ends), value=filling)
    axes = tuple(range(2, len(x.shape)))
    found = []
    for offset in product(*map(range, windows.kernel)):
        starts = tuple(o * d for o, d in zip(offset, windows.dilations))
        stops = tuple(a + (n - 1) * s + 1 for a, n, s in zip(starts, windows.outputs, windows.strides))
        steps = windows.strides if set(windows.strides) != {1} else ()
        if not steps and stops == x.shape[2:] and not any(starts):
            found.append(x)
        else:
            found.append(call.net.slice(x, axes=axes, starts=starts, ends=stops, steps=steps))
    return found


def _together(function: Callable[[Value, Value], Value], views: list[Value]) -> Value:
    while len(views) > 1:
        pairs = [function(a, b) for a, b in zip(views[::2], views[1::2])]
        views = [*pairs, *views[2 * len(pairs) :]]
    return views[0]


def _max_pool(call: Call) -> Result:
    whole = not call.is_real(0)
    x = cast(call.net, call.any_tensor(0), "float32")
    windows = windows_of(call, x)
    if call.uses(1):
        return _with_places(call, x, windows)
    if set(windows.dilations) == {1}:
        y = call.net.max_pool(
            x,
            kernel_shape=windows.kernel,
            strides=windows.strides,
            pads=windows.pads,
            ceil_mode=windows.ceil,
        )
    else:
        y = _together(call.net.maximum, _views(call, x, windows, MIN_FLOAT32))
    return cast(call.net, y, "int64") if whole else y


def _with_places(call: Call, x: Value, windows: Windows) -> tuple[Value, Value]:
    """Return the maxima and where they are in the flat image, the first of equals."""
    if call.attribute("storage_order", 0):
        raise Unsupported("with places in the order of columns")
    net, count = call.net, math.prod(windows.outputs)
    views = [reshaped(call, view, (*x.shape[:2], count, 1)) for view in _views(call, x, windows, MIN_FLOAT32)]
    joined = views[0] if len(views) == 1 else net.concat(*views, axis=3)
    inside = net.arg_max(joined, axis=3)
    grid = np.zeros((count, len(views)), np.int64)
    for place, offset in enumerate(product(*map(range, windows.kernel))):
        flat = np.zeros((), np.int64)
        for axis, o in enumerate(offset):
            at = np.arange(windows.outputs[axis]) * windows.strides[axis] - windows.pads[axis]
            at = np.clip(at + o * windows.dilations[axis], 0, windows.sizes[axis] - 1)
            flat = flat[..., None] * windows.sizes[axis] + at
        grid[:, place] = flat.reshape(-1)
    rows = call.table((np.arange(count) * len(views)), "windows")
    spread = net.gather(call.table(grid.reshape(-1), "places"), net.add(inside, rows), axis=0)
    image = np.arange(math.prod(x.shape[:2])).reshape(*x.shape[:2], 1) * math.prod(x.shape[2:])
    shape = (*x.shape[:2], *windows.outputs)
    places = reshaped(call, net.add(spread, call.table(image, "images")), shape)
    return reshaped(call, net.reduce_max(joined, axes=(3,)), shape), places


def _max_unpool(call: Call) -> Result:
    """Return an image with maxima at the places where they were found, and 0 elsewhere."""
    x, net = call.tensor(0), call.net
    kernel, rank = tuple(call.attribute("kernel_shape")), len(x.shape) - 2
    strides, pads = spatial(call, "strides", rank), spatial(call, "pads", 2 * rank, 0)
    begins, ends = halves(pads)
    sizes = tuple(
        (n - 1) * s - b - e + k for n, s, b, e, k in zip(x.shape[2:], strides, begins, ends, kernel)
    )
    count, inferred = math.prod(x.shape), (*x.shape[:2], *sizes)
    nothing = call.table(np.zeros(math.prod(inferred), np.float32), "nothing")
    places = reshaped(call, call.typed(1, "int64"), (count, 1))
    found = net.scatter_nd(nothing, places, reshaped(call, x, (count,)))
    image: Value = reshaped(call, found, inferred)
    shape = call.integers(2, "a shape") if call.has(2) else inferred
    if shape == inferred:
        return image
    more = tuple(wanted - size for wanted, size in zip(shape, inferred))
    return net.pad(image, pads=(*(0,) * len(shape), *more), value=0.0)


def _average_pool(call: Call) -> Result:
    x, net = call.tensor(0), call.net
    windows, counted = windows_of(call, x), bool(call.attribute("count_include_pad", 0))
    if set(windows.dilations) == {1} and not windows.ends_outside:
        return net.average_pool(
            x,
            kernel_shape=windows.kernel,
            strides=windows.strides,
            pads=windows.pads,
            count_include_pad=counted,
        )
    return net.mul(_sums(call, x, windows), call.table(1.0 / windows.counted(counted), "shares"))


def _sums(call: Call, x: Value, windows: Windows) -> Value:
    """Return the sum of each window, where the padding is 0: from the mean, or of views where elements lie apart."""
    net = call.net
    if set(windows.dilations) != {1}:
        return _together(net.add, _views(call, x, windows, 0.0))
    pads = windows.pads
    if windows.ends_outside:
        begins, ends = zip(*windows.reach())
        x, pads = net.pad(x, pads=(0, 0, *begins, 0, 0, *ends), value=0.0), (0,) * len(pads)
    mean = net.average_pool(
        x, kernel_shape=windows.kernel, strides=windows.strides, pads=pads, count_include_pad=True
    )
    found: Value = net.affine(mean, alpha=float(math.prod(windows.kernel)))
    return found


def _lp_pool(call: Call) -> Result:
    """Return the p-norm of each window: from the mean of powers."""
    x, net, p = call.tensor(0), call.net, call.attribute("p", 2)
    windows, size = windows_of(call, x), net.abs(x)
    power = size
    for _ in range(int(p) - 1):
        power = net.mul(power, size)
    return _root(call, _sums(call, power, windows), int(p))


def _root(call: Call, x: Value, p: int) -> Value:
    if p == 1:
        return x
    found: Value = call.net.sqrt(x) if p == 2 else call.net.pow(x, call.table(np.full(1, 1 / p), "root"))
    return found


def _global_average_pool(call: Call) -> Result:
    return call.net.global_average_pool(call.tensor(0))


def _global_max_pool(call: Call) -> Result:
    x = call.tensor(0)
    return call.net.reduce_max(x, axes=tuple(range(2, len(x.shape))), keepdims=True)


HANDLERS: Mapping[str, Handler] = {
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global_average_pool,
    "GlobalMaxPool": _global_max_pool,
    "LpPool": _lp_pool,
    "MaxPool": _max_pool,
    "MaxUnpool": _max_unpool,
}
"""How each ONNX operator is written in ours."""
