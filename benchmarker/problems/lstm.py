"""One recurrent layer of LSTM cells, or several."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.framework import Optimizer
from benchmarker.graph.network import Network
from benchmarker.layers.recurrent import recurrent_benchmark
from benchmarker.problem import Problem, Published


@dataclass(frozen=True)
class Parameters:
    """Steps of the sequence, features of a step, cells of a layer; ``forward`` or ``bidirectional``."""

    length: int = 1024
    features: int = 768
    units: int = 512
    layers: int = 1
    direction: str = "forward"


def build(net: Network, p: Parameters) -> None:
    """Add the layers to ``net``; in training their loss is the mean of the squared output."""
    recurrent_benchmark(net, "lstm", p.length, p.features, p.units, p.layers, p.direction)


def benchmarker_problem() -> Problem:
    """Return the problem."""
    both = {"direction": "bidirectional"}
    return Problem(
        name="lstm",
        task="operator",
        source="ONNX LSTM; undertherain/benchmarker, kernel lstm: 1024 x 768, 512 cells",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=4,
        published=(
            Published(4 * 512 * (768 + 512 + 2), 1024 * 2 * 4 * 512 * (768 + 512)),
            Published(2 * 4 * 512 * (768 + 512 + 2), 2 * 1024 * 2 * 4 * 512 * (768 + 512), both),
        ),
        reduced={"length": 5, "features": 6, "units": 4, "layers": 2, **both},
    )
