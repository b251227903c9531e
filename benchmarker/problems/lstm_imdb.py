"""A one-layer LSTM that classifies the sentiment of IMDB reviews given as word vectors."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.problems.layers.recurrent import last_state
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Words of a review, size of a word vector, LSTM cells, classes."""

    words: int = 250
    features: int = 50
    units: int = 128
    classes: int = 2


def build(net: Network, p: Parameters) -> None:
    x = net.input("review", (p.words, p.features))
    label = net.labels("label", p.classes)
    x = net.dense("classifier", last_state(net, "lstm", x, p.units), p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    return Problem(
        name="lstm_imdb",
        task="sentiment classification",
        source="Deuschle et al., Rysia, table 4: 250 x 50 input, LSTM 128, Adam 0.01, batch 128",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adam", learning_rate=0.01),
        batch_size=128,
        published=(Published(92_418, 250 * 8 * 128 * (50 + 128) + 2 * 128 * 2),),
        reduced={"words": 7, "features": 5, "units": 6},
        reduced_batch_size=4,
    )
