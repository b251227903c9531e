"""A network that is described layer by layer, as blueprints do."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.problems.layers.declared import (
    BatchNormalization,
    Convolution,
    Dropout,
    Flatten,
    FullyConnected,
    InputLayer,
    Pooling,
    Residual,
    layers_from_text,
    layers_to_text,
)
from benchmarker.problems.layers.sequential import add_layers, add_loss
from benchmarker.quick_dataclass import dataclass

PERCEPTRON = layers_to_text(
    [
        InputLayer((784,)),
        FullyConnected(128, "relu"),
        FullyConnected(64, "relu"),
        FullyConnected(10),
    ]
)
SMALL_CONVOLUTIONAL = layers_to_text(
    [
        InputLayer((6, 7, 3)),
        Convolution(4, 3, "relu"),
        Residual(Convolution(4, 3, bias=False), BatchNormalization(), activation="relu"),
        Pooling(2),
        Flatten(),
        Dropout(0.25),
        FullyConnected(5, "tanh"),
        FullyConnected(3),
    ]
)


@dataclass(frozen=True)
class Parameters:
    """The layers as JSON, the loss, and whether inference ends with a softmax."""

    layers: str = PERCEPTRON
    loss: str = "cross_entropy"
    softmax: bool = False


def build(net: Network, p: Parameters) -> None:
    """Add the layers to ``net``."""
    x = add_layers(net, layers_from_text(p.layers))[-1]
    net.output(net.softmax(x, axis=1 if len(x.shape) == 4 else -1) if p.softmax else x)
    add_loss(net, x, p.loss)


def benchmarker_problem() -> Problem:
    return Problem(
        name="architecture",
        task="as described",
        source="Deuschle et al., Rysia, blueprints; by default its perceptron for MNIST, table 4",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=128,
        published=(Published(109_386, 218_368),),
        reduced={"layers": SMALL_CONVOLUTIONAL, "softmax": True},
        reduced_batch_size=3,
    )
