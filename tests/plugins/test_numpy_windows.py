"""Convolution, pooling and resizing of the reference, against their definitions element by element."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarker.graph.shapes import Shapes
from benchmarker.graph.types import TensorType
from benchmarker.graph.windows import MaxPooling, TransposedWindow
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.worker.conformance.cases import OPERATOR_CASES, OperatorCase
from tests.support.numpy_programs import build, cases, results

Array = npt.NDArray[Any]


def padded_element(x: Array, n: int, c: int, position: tuple[int, ...], outside: float) -> float:
    inside = all(0 <= p < size for p, size in zip(position, x.shape[2:]))
    return float(x[(n, c, *position)]) if inside else outside


def window(
    out: tuple[int, ...], kernel: tuple[int, ...], attributes: dict[str, Any]
) -> list[tuple[int, ...]]:
    """Return the positions in the unpadded input that the window of output position ``out`` sees."""
    dilations = attributes.get("dilations", (1,) * len(kernel))
    return [
        tuple(
            o * s + k * d - p
            for o, s, k, d, p in zip(out, attributes["strides"], at, dilations, attributes["pads"])
        )
        for at in itertools.product(*map(range, kernel))
    ]


def conv_by_definition(
    x: Array, w: Array, b: Array | None, shape: tuple[int, ...], a: dict[str, Any]
) -> Array:
    y = np.zeros(shape)
    for n, m, *out in np.ndindex(*shape):
        first = m // (w.shape[0] // a["group"]) * w.shape[1]
        positions = window(tuple(out), w.shape[2:], a)
        for c in range(w.shape[1]):
            seen = [padded_element(x, n, first + c, position, 0.0) for position in positions]
            y[(n, m, *out)] += np.dot(seen, w[m, c].reshape(-1))
        y[(n, m, *out)] += 0.0 if b is None else b[m]
    return y


def conv_transpose_by_definition(
    x: Array, w: Array, b: Array | None, shape: tuple[int, ...], a: dict[str, Any]
) -> Array:
    """Let every input element add the filters of its channel where they fall."""
    y = np.zeros(shape)
    per_group = x.shape[1] // a["group"]
    for n, c, *at in np.ndindex(*x.shape):
        for m, *tap in np.ndindex(*w.shape[1:]):
            place = [
                i * s + k * d - p for i, s, k, d, p in zip(at, a["strides"], tap, a["dilations"], a["pads"])
            ]
            if all(0 <= p < size for p, size in zip(place, shape[2:])):
                y[(n, c // per_group * w.shape[1] + m, *place)] += x[(n, c, *at)] * w[(c, m, *tap)]
    return y if b is None else y + b.reshape(-1, *(1,) * (x.ndim - 2))


def pool_by_definition(operator: str, x: Array, shape: tuple[int, ...], a: dict[str, Any]) -> Array:
    y = np.zeros(shape)
    for n, c, *out in np.ndindex(*shape):
        positions = window(tuple(out), a["kernel_shape"], a)
        inside = [p for p in positions if all(0 <= i < size for i, size in zip(p, x.shape[2:]))]
        seen = [float(x[(n, c, *p)]) for p in inside]
        count = len(positions) if a.get("count_include_pad") else len(inside)
        y[(n, c, *out)] = max(seen) if operator == "max_pool" else sum(seen) / count
    return y


@cases("conv", "conv_transpose")
def test_convolution_is_its_definition(case: OperatorCase) -> None:
    values, (found,) = results(case)
    by_definition = conv_by_definition if case.operator == "conv" else conv_transpose_by_definition
    expected = by_definition(values["x"], values["w"], values.get("b"), found.shape, dict(case.attributes))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_output_padding_beyond_the_stride_is_only_the_bias_where_no_filter_reaches() -> None:
    x, w, b = np.ones((1, 1, 2)), np.array([[[1.0, 2.0]]]), np.array([0.5])
    window = TransposedWindow(strides=(1,), pads=(1, 0), output_padding=(2,), dilations=(3,))
    found = NumpyOperators().conv_transpose(x, w, b, window=window)
    assert found.ravel().tolist() == [1.5, 0.5, 2.5, 2.5, 0.5, 0.5]


@cases("max_pool", "average_pool")
def test_pooling_is_its_definition(case: OperatorCase) -> None:
    values, (found,) = results(case)
    expected = pool_by_definition(case.operator, values["x"], found.shape, dict(case.attributes))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@cases("global_average_pool")
def test_a_global_pooling_leaves_the_mean(case: OperatorCase) -> None:
    values, (found,) = results(case)
    for n, c in np.ndindex(*found.shape[:2]):
        expected = math.fsum(values["x"][n, c].ravel()) / values["x"][n, c].size
        assert found[n, c].ravel() == pytest.approx([expected], rel=1e-13)


def between(values: Array, place: float) -> float:
    """Return the value at a fractional place of a row, its ends repeated outside."""
    below = math.floor(place)
    left, right = (float(values[min(max(i, 0), len(values) - 1)]) for i in (below, below + 1))
    return left + (place - below) * (right - left)


def resized(x: Array, sizes: tuple[int, ...], mode: str) -> Array:
    y = np.zeros(sizes)
    scales = [old / new for old, new in zip(x.shape, sizes)]
    for i, j in np.ndindex(*sizes):
        if mode == "nearest":
            y[i, j] = x[math.floor(i * scales[0]), math.floor(j * scales[1])]
            continue
        places = [(at + 0.5) * scale - 0.5 for at, scale in zip((i, j), scales)]
        columns = np.array([between(row, places[1]) for row in x])
        y[i, j] = between(columns, places[0])
    return y


@cases("resize")
def test_resizing_is_its_definition(case: OperatorCase) -> None:
    values, (found,) = results(case)
    sizes, mode = case.attributes["sizes"], case.attributes["mode"]
    for n, c in np.ndindex(*found.shape[:2]):
        np.testing.assert_allclose(
            found[n, c], resized(values["x"][n, c], sizes, mode), rtol=1e-12, atol=1e-14
        )


@pytest.mark.parametrize("path", ["conv/2d-pad-stride", "conv/2d-groups", "conv_transpose/2d-groups"])
def test_a_convolution_does_not_depend_on_how_many_samples_are_unfolded_at_once(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(c for c in OPERATOR_CASES if c.path == path)
    graph = case.graph(training=True)
    parameters, batch = case.values(graph, seed=1)
    whole = build(graph, parameters).gradients(batch)[1]
    monkeypatch.setattr("benchmarker.plugins.numpy.convolution._CHUNK", 1)
    single = build(graph, parameters).gradients(batch)[1]
    for name in whole:
        np.testing.assert_allclose(single[name], whole[name], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("ceil_mode", [False, True])
def test_pooling_has_as_many_windows_as_the_shapes_say(ceil_mode: bool) -> None:
    checked = 0
    for size, kernel, stride, begin, end in itertools.product(
        range(1, 8), (1, 2, 3), (1, 2, 3), (0, 1, 2), (0, 1, 2)
    ):
        if size + begin + end < kernel:
            continue
        window = MaxPooling((kernel,), (stride,), (begin, end), ceil_mode)
        expected = Shapes().max_pool(TensorType((1, 1, size)), window=window).shape
        found = NumpyOperators().max_pool(-np.arange(1.0, size + 1).reshape(1, 1, size), window=window)
        assert found.shape == expected, (size, window)
        checked += 1
    assert checked > 500


def test_a_transposed_convolution_is_as_large_as_the_shapes_say() -> None:
    checked = 0
    for size, kernel, stride, dilation, begin, end, extra in itertools.product(
        (1, 2, 5), (1, 2, 3), (1, 2, 3), (1, 2), (0, 1), (0, 2), (0, 1, 2)
    ):
        whole = stride * (size - 1) + (kernel - 1) * dilation + 1
        if extra >= max(stride, dilation) or whole + extra <= begin + end:
            continue
        window = TransposedWindow((stride,), (begin, end), (extra,), (dilation,))
        x, w = np.arange(1.0, size + 1).reshape(1, 1, size), np.arange(1.0, kernel + 1).reshape(1, 1, kernel)
        shape = Shapes().conv_transpose(TensorType(x.shape), TensorType(w.shape), window=window).shape
        found = NumpyOperators().conv_transpose(x, w, window=window)
        expected = conv_transpose_by_definition(x, w, None, shape, asdict(window))
        np.testing.assert_allclose(found, expected, err_msg=str((size, kernel, window)))
        checked += 1
    assert checked > 200
