"""Deep Speech 2: convolutions over a spectrogram, bidirectional recurrent layers, CTC."""

from __future__ import annotations

import math
from typing import Annotated

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.api.rules import MAX_COUNT, Whole
from benchmarker.errors import UsageError
from benchmarker.graph.initializers import ZEROS, he_normal
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.recurrent import sequence, summed_directions
from benchmarker.quick_dataclass import dataclass

CONVOLUTIONS = (((41, 11), (2, 2), (20, 5)), ((21, 11), (2, 1), (10, 5)))
"""Kernel, stride and padding over frequency and time."""
MAX_ACTIVATION = 20.0
"""Where the rectifier is clipped (Amodei et al. 2015, section 3.1)."""

LSTM_1024 = {"cell": "lstm", "units": 1024}
"""The default of SeanNaren/deepspeech.pytorch."""
MLPERF = {"layers": 3, "units": 2560, "padded": False, "normalized": False}
"""The candidate for MLPerf Training that was never adopted."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network.

    The default is the smallest of the three forms that are in use, 7 s of speech in frames of 10 ms.
    ``cell`` is ``gru`` or ``lstm``; ``padded`` pads the convolutions; ``normalized`` normalizes before
    each recurrent layer but the first. ``transcript`` is the characters of a label, of which class 0 is
    none: it is the blank.
    """

    bins: int = 161
    frames: int = 700
    filters: int = 32
    cell: str = "gru"
    layers: int = 5
    units: int = 800
    padded: bool = True
    normalized: bool = True
    classes: Annotated[int, Whole(2, MAX_COUNT)] = 29
    transcript: int = 100


def sequence_norm(net: Network, name: str, x: Value) -> Value:
    """Batch normalization over samples and steps of ``(T, N, features)`` (section 3.2)."""
    rows = net.batch_norm(name, net.reshape(x, shape=(-1, x.shape[-1])))
    result: Value = net.reshape(rows, shape=x.shape)
    return result


def convolution(
    net: Network,
    name: str,
    x: Value,
    filters: int,
    kernel: tuple[int, int],
    strides: tuple[int, int],
    pad: tuple[int, int],
) -> Value:
    """Convolution whose bias starts at 0: the normalization after it leaves it no gradient to move by."""
    shape = (filters, x.shape[1], *kernel)
    w = net.parameter(f"{name}.weight", shape, he_normal(filters * math.prod(kernel)))
    b = net.parameter(f"{name}.bias", (filters,), ZEROS)
    result: Value = net.named(name).conv(x, w, b, strides=strides, pads=pad * 2, dilations=(1, 1))
    return result


def convolutions(net: Network, x: Value, p: Parameters) -> Value:
    """Return the features ``(T, N, filters * frequencies)``."""
    for i, (kernel, stride, pad) in enumerate(CONVOLUTIONS, start=1):
        x = convolution(net, f"conv{i}", x, p.filters, kernel, stride, pad if p.padded else (0, 0))
        x = net.clip(net.batch_norm(f"conv{i}.norm", x), min=0.0, max=MAX_ACTIVATION)
    batch, filters, frequencies, steps = x.shape
    x = net.transpose(x, perm=(3, 0, 1, 2))
    result: Value = net.reshape(x, shape=(steps, batch, filters * frequencies))
    return result


def require_room(transcript: int, steps: int) -> None:
    """Raise unless every transcript fits, however many of its characters are repeated.

    Raises
    ------
    UsageError
        With the steps that there are.
    """
    if 2 * transcript - 1 > steps:
        raise UsageError(
            f"a 'transcript' of {transcript} characters may need {2 * transcript - 1} steps, and the "
            f"convolutions leave {steps}; take more frames or a shorter transcript"
        )


def build(net: Network, p: Parameters) -> None:
    x = net.input("spectrogram", (1, p.bins, p.frames))
    characters = Distribution("integers", p.classes, low=1)
    label = net.input("label", (p.transcript,), "int64", characters)
    x = convolutions(net, x, p)
    require_room(p.transcript, x.shape[0])
    for i in range(1, p.layers + 1):
        if i > 1 and p.normalized:
            x = sequence_norm(net, f"{p.cell}{i}.norm", x)
        y = sequence(net, f"{p.cell}{i}", x, p.units, cell=p.cell, direction="bidirectional")
        x = summed_directions(net, y)
    x = net.dense("classifier", sequence_norm(net, "norm", x), p.classes, bias=False)
    net.output(net.transpose(x, perm=(1, 0, 2)))
    net.loss(net.ctc_loss(x, label))


def benchmarker_problem() -> Problem:
    return Problem(
        name="deepspeech2",
        task="speech recognition",
        source="Amodei et al. 2015, arXiv 1512.02595, section 3; sizes: 5 x 800 as NVIDIA OpenSeq2Seq and "
        "SeanNaren/deepspeech.pytorch, whose other default and MLPerf's are values of the parameters",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("nesterov", learning_rate=3e-4, momentum=0.99),
        batch_size=4,
        published=(
            Published(41_187_968, 36_223_667_200),
            Published(86_618_400, 67_999_657_600, LSTM_1024),
            Published(207_352_608, 142_628_404_160, MLPERF),
        ),
        reduced={
            "bins": 11,
            "frames": 24,
            "filters": 2,
            "layers": 2,
            "units": 6,
            "classes": 7,
            "transcript": 4,
        },
    )
