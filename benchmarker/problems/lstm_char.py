"""A one-layer LSTM that predicts the next character of a text."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.recurrent import last_state
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Characters that are seen, distinct characters, LSTM cells."""

    length: int = 40
    characters: int = 57
    units: int = 128


def build(net: Network, p: Parameters) -> None:
    x = net.input("text", (p.length, p.characters), distribution=Distribution("one_hot"))
    label = net.labels("label", p.characters)
    x = net.dense("classifier", last_state(net, "lstm", x, p.units), p.characters)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    return Problem(
        name="lstm_char",
        task="language modelling",
        source="keras-io, generative/lstm_character_level_text_generation: LSTM 128, RMSProp 0.01, batch 128; "
        "102,585 values there, with one bias vector for the LSTM's two here",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("rmsprop", learning_rate=0.01, decay=0.9, epsilon=1e-7),
        batch_size=128,
        published=(Published(102_585 + 4 * 128, 7_592_192),),
        reduced={"length": 6, "characters": 7, "units": 5},
        reduced_batch_size=4,
    )
