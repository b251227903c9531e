"""DeepBench's recurrent layer."""

from __future__ import annotations

from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.problems.layers.sizes import require_choice
from benchmarker.quick_dataclass import dataclass

TYPES = ("vanilla", "lstm", "gru")


@dataclass(frozen=True)
class Parameters:
    """Kind of cell (``vanilla``, ``lstm`` or ``gru``), cells, sequences side by side, and their length."""

    type: str = "lstm"
    hidden: int = 512
    batch: int = 16
    time_steps: int = 25


def build(net: Network, p: Parameters) -> None:
    """Add one layer in one direction to ``net``, which takes as many features as it has cells.

    The vanilla cell is a rectifier. The product with the input is a part of the layer in every framework,
    so it is measured too; DeepBench's own programs leave it out. Gated units end in a tangent, as in
    DeepBench's program for cuDNN; its description has a rectifier there.
    """
    require_choice("type", p.type, TYPES)
    x = net.operand("sequence", (p.time_steps, p.batch, p.hidden))
    if p.type == "vanilla":
        y = net.rnn_layer("rnn", x, p.hidden, activation="relu")[0]
    elif p.type == "lstm":
        y = net.lstm_layer("lstm", x, p.hidden)[0]
    else:
        y = net.gru_layer("gru", x, p.hidden)[0]
    net.output(y)


def _published(gates: int, **values: str) -> Published:
    """Return the counts of the default sizes: two products of square matrices per gate, and two biases."""
    flops = 2 * 25 * 16 * gates * 512 * (512 + 512)
    return Published(gates * 512 * (512 + 512 + 2), flops, values)


def benchmarker_problem() -> Problem:
    return Problem(
        name="deepbench_rnn",
        task="operator",
        source=(
            "DeepBench (Narang & Diamos 2016, github.com/baidu-research/DeepBench), recurrent layer; here with "
            "the product of the input"
        ),
        parameters=Parameters,
        build=build,
        batch_size=1,
        published=(_published(4), _published(1, type="vanilla"), _published(3, type="gru")),
        reduced={"hidden": 4, "batch": 3, "time_steps": 5},
        reduced_batch_size=1,
    )
