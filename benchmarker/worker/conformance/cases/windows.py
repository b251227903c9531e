"""Cases of convolution, pooling and resizing."""

from __future__ import annotations

from typing import Any

from benchmarker.worker.conformance.cases.case import Operand, OperatorCase, weights


def _conv(
    name: str,
    x: tuple[int, ...],
    filters: int,
    kernel: tuple[int, ...],
    *,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    bias: bool = True,
) -> OperatorCase:
    rank = len(kernel)
    w = (filters, x[1] // group, *kernel)
    attributes = {
        "strides": strides or (1,) * rank,
        "pads": pads or (0,) * 2 * rank,
        "dilations": dilations or (1,) * rank,
        "group": group,
    }
    return OperatorCase("conv", name, (Operand(x), *weights(w, *([(filters,)] if bias else []))), attributes)


CONVOLUTIONS = (
    _conv("1d", (2, 3, 9), 4, (3,)),
    _conv("1d-stride-asymmetric", (2, 3, 10), 4, (4,), strides=(3,), pads=(2, 1)),
    _conv("1d-dilation-groups", (2, 4, 11), 6, (3,), dilations=(2,), group=2, bias=False),
    _conv("2d", (2, 3, 7, 6), 5, (3, 3)),
    _conv("2d-1x1", (2, 6, 5, 5), 4, (1, 1), bias=False),
    _conv("2d-1x1-stride", (2, 6, 7, 7), 4, (1, 1), strides=(2, 2), bias=False),
    _conv("2d-pad-stride", (2, 3, 8, 8), 4, (3, 3), strides=(2, 2), pads=(1, 1, 1, 1)),
    _conv("2d-strides-differ", (2, 3, 8, 9), 4, (3, 2), strides=(2, 1), pads=(1, 0, 1, 0)),
    _conv("2d-asymmetric-pads", (2, 3, 6, 7), 4, (3, 3), pads=(0, 2, 1, 0)),
    _conv("2d-dilation", (2, 3, 9, 9), 4, (3, 3), dilations=(2, 3), pads=(1, 1, 1, 1)),
    _conv("2d-dilation-stride", (2, 3, 11, 11), 4, (3, 3), dilations=(2, 2), strides=(2, 2)),
    _conv("2d-groups", (2, 6, 6, 6), 4, (3, 3), group=2, pads=(1, 1, 1, 1)),
    _conv("3d-dilation", (2, 3, 7, 7, 6), 4, (3, 3, 2), dilations=(2, 2, 2), pads=(1, 1, 0, 1, 1, 0)),
    _conv("2d-groups-dilation", (2, 4, 8, 8), 6, (3, 3), group=2, dilations=(2, 2)),
    _conv("2d-depthwise", (2, 4, 6, 6), 4, (3, 3), group=4, pads=(1, 1, 1, 1)),
    _conv("2d-depthwise-multiplier", (2, 3, 7, 7), 6, (3, 3), group=3, strides=(2, 2), bias=False),
    _conv("2d-stem", (1, 3, 16, 16), 4, (7, 7), strides=(2, 2), pads=(3, 3, 3, 3), bias=False),
    _conv("3d", (1, 2, 5, 4, 6), 3, (2, 3, 3), pads=(0, 1, 1, 1, 1, 1)),
    _conv("3d-stride-groups", (1, 4, 6, 6, 6), 4, (3, 3, 3), strides=(2, 2, 2), group=2, bias=False),
)


def _pool(
    operator: str,
    name: str,
    x: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    values: str = "normal",
    **attributes: Any,
) -> OperatorCase:
    window = {"kernel_shape": kernel, "strides": strides, "pads": pads}
    return OperatorCase(operator, name, (Operand(x, values=values),), {**window, **attributes})


POOLINGS = (
    _pool("max_pool", "1d", (2, 3, 9), (2,), (2,), (0, 0)),
    _pool("max_pool", "2d-overlap-pad", (2, 3, 8, 8), (3, 3), (2, 2), (1, 1, 1, 1)),
    _pool("max_pool", "2d-asymmetric", (2, 3, 7, 6), (3, 2), (2, 1), (1, 0, 0, 1)),
    _pool("max_pool", "2d-all-negative", (2, 3, 6, 6), (3, 3), (2, 2), (1, 1, 1, 1), "negative"),
    _pool("max_pool", "2d-ceil", (2, 3, 6, 7), (3, 3), (2, 2), (0, 0, 0, 0), ceil_mode=True),
    _pool("max_pool", "2d-ceil-pad", (2, 3, 6, 8), (3, 3), (2, 2), (1, 1, 1, 1), "negative", ceil_mode=True),
    _pool("max_pool", "2d-ceil-drops-window", (1, 2, 5, 5), (1, 1), (3, 3), (0, 0, 0, 0), ceil_mode=True),
    _pool("max_pool", "3d", (1, 2, 4, 5, 6), (2, 2, 2), (2, 2, 2), (0, 0, 0, 0, 0, 0)),
    _pool("average_pool", "1d", (2, 3, 9), (3,), (2,), (0, 0)),
    _pool("average_pool", "2d", (2, 3, 6, 6), (2, 2), (2, 2), (0, 0, 0, 0)),
    _pool("average_pool", "2d-pad-not-counted", (2, 3, 7, 7), (3, 3), (2, 2), (1, 1, 1, 1)),
    _pool(
        "average_pool", "2d-pad-counted", (2, 3, 7, 7), (3, 3), (2, 2), (1, 1, 1, 1), count_include_pad=True
    ),
    _pool("average_pool", "2d-asymmetric", (2, 3, 6, 7), (3, 3), (1, 2), (0, 1, 1, 0)),
    _pool(
        "average_pool",
        "2d-asymmetric-counted",
        (2, 3, 6, 7),
        (3, 3),
        (1, 2),
        (0, 1, 1, 0),
        count_include_pad=True,
    ),
    _pool("average_pool", "3d", (1, 2, 4, 4, 5), (2, 2, 2), (2, 2, 1), (0, 0, 0, 0, 0, 0)),
    OperatorCase("global_average_pool", "1d", (Operand((2, 3, 7)),)),
    OperatorCase("global_average_pool", "2d", (Operand((2, 3, 5, 4)),)),
    OperatorCase("global_average_pool", "3d", (Operand((2, 3, 3, 4, 2)),)),
)


def _conv_transpose(
    name: str,
    x: tuple[int, ...],
    w: tuple[int, ...],
    *,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    output_padding: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    bias: bool = True,
) -> OperatorCase:
    rank = len(x) - 2
    attributes = {
        "strides": strides or (1,) * rank,
        "pads": pads or (0,) * 2 * rank,
        "output_padding": output_padding or (0,) * rank,
        "dilations": dilations or (1,) * rank,
        "group": group,
    }
    parameters = weights(w, *([(w[1] * group,)] if bias else []))
    return OperatorCase("conv_transpose", name, (Operand(x), *parameters), attributes)


TRANSPOSED_CONVOLUTIONS = (
    _conv_transpose("1d", (2, 3, 5), (3, 4, 3), strides=(2,), pads=(1, 1), output_padding=(1,)),
    _conv_transpose("2d", (2, 4, 4, 5), (4, 3, 3, 3)),
    _conv_transpose(
        "2d-stride-pad", (2, 4, 4, 4), (4, 3, 4, 4), strides=(2, 2), pads=(1, 1, 1, 1), bias=False
    ),
    _conv_transpose("2d-double", (2, 4, 3, 4), (4, 2, 2, 2), strides=(2, 2)),
    _conv_transpose(
        "2d-output-padding",
        (2, 3, 4, 4),
        (3, 2, 3, 3),
        strides=(2, 2),
        pads=(1, 1, 1, 1),
        output_padding=(1, 1),
    ),
    _conv_transpose("2d-asymmetric", (2, 3, 4, 5), (3, 2, 3, 3), strides=(2, 1), pads=(0, 1, 1, 0)),
    _conv_transpose("2d-groups", (2, 4, 4, 4), (4, 3, 3, 3), strides=(2, 2), group=2),
    _conv_transpose("2d-dilation", (2, 3, 4, 4), (3, 2, 3, 3), dilations=(2, 2), pads=(1, 1, 1, 1)),
    _conv_transpose("3d", (1, 2, 3, 3, 4), (2, 3, 2, 2, 2), strides=(2, 2, 2)),
)


def _resize(name: str, x: tuple[int, ...], sizes: tuple[int, ...], mode: str) -> OperatorCase:
    return OperatorCase("resize", name, (Operand(x),), {"sizes": sizes, "mode": mode})


RESIZINGS = (
    _resize("nearest-double", (2, 3, 4, 5), (8, 10), "nearest"),
    _resize("nearest-factors-differ", (1, 2, 3, 4), (9, 8), "nearest"),
    _resize("linear-up", (2, 3, 4, 5), (8, 10), "linear"),
    _resize("linear-uneven", (1, 2, 5, 4), (13, 9), "linear"),
    _resize("linear-down", (1, 2, 9, 8), (4, 4), "linear"),
    _resize("linear-from-1", (2, 3, 1, 1), (4, 5), "linear"),
)

WINDOW_CASES = (*CONVOLUTIONS, *TRANSPOSED_CONVOLUTIONS, *POOLINGS, *RESIZINGS)
