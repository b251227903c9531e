"""One recurrent layer of LSTM or GRU cells, or several."""

from __future__ import annotations

from functools import partial

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.problems.layers.recurrent import joined_directions, sequence
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Steps of the sequence, features of a step, cells of a layer; ``forward`` or ``bidirectional``."""

    length: int = 1024
    features: int = 768
    units: int = 512
    layers: int = 1
    direction: str = "forward"


def build(net: Network, p: Parameters, cell: str) -> None:
    """Add the layers, which return all their states; in training their loss is the mean of the squared output."""
    x = net.input("sequence", (p.length, p.features))
    x = net.transpose(x, perm=(1, 0, 2))
    for layer in range(1, p.layers + 1):
        y = sequence(net, f"{cell}{layer}", x, p.units, cell=cell, direction=p.direction)
        x = joined_directions(net, y)
    x = net.transpose(x, perm=(1, 0, 2))
    net.output(x)
    net.loss(net.reduce_mean(net.mul(x, x)))


def _member(cell: str, gates: int) -> Problem:
    """Return the problem of one kind of cell, whose weights are counted by its gates."""
    weights, products = gates * 512 * (768 + 512 + 2), 1024 * 2 * gates * 512 * (768 + 512)
    both = {"direction": "bidirectional"}
    return Problem(
        name=cell,
        task="operator",
        source=f"ONNX {cell.upper()}; undertherain/benchmarker, kernel {cell}: 1024 x 768, 512 cells",
        parameters=Parameters,
        build=partial(build, cell=cell),
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=4,
        published=(Published(weights, products), Published(2 * weights, 2 * products, both)),
        reduced={"length": 5, "features": 6, "units": 4, "layers": 2, **both},
    )


GRU = _member("gru", gates=3)
LSTM = _member("lstm", gates=4)
