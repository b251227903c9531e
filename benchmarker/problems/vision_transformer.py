"""The vision transformer (Dosovitskiy et al. 2020, arXiv 2010.11929, section 3.1), and how DeiT trains it."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published, with_defaults
from benchmarker.graph.initializers import ZEROS
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.attention import Transformer, dropout, pre_norm_layer, to_rows, to_samples
from benchmarker.problems.layers.sizes import quotient
from benchmarker.quick_dataclass import dataclass

EPSILON = 1e-6
START = Distribution("normal", 0.02)
"""Start of weights (Touvron et al. 2020, program). The classifier starts so, too: at 0, as in the paper, it
would leave no other weight a gradient."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network; ``dropout`` is the ratio after embedding and fully connected layers."""

    classes: int = 1000
    image_size: int = 224
    channels: int = 3
    patch: int = 16
    layers: int = 12
    width: int = 768
    heads: int = 12
    feed_forward: int = 3072
    dropout: float = 0.1


REDUCED = {
    "classes": 7,
    "image_size": 12,
    "patch": 4,
    "layers": 2,
    "width": 24,
    "heads": 3,
    "feed_forward": 48,
}


def build(net: Network, p: Parameters) -> None:
    patches = quotient("image_size", p.image_size, "patch", p.patch) ** 2
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.labels("label", p.classes)
    x = net.convolution("embedding.patch", x, p.width, p.patch, stride=p.patch)
    x = net.transpose(net.reshape(x, shape=(0, p.width, patches)), perm=(0, 2, 1))
    token = net.parameter("embedding.class", (1, 1, p.width), ZEROS)
    x = net.concat(net.expand(token, shape=(net.batch_size, 1, p.width)), x, axis=1)
    position = net.parameter("embedding.position", (patches + 1, p.width), START)
    x = dropout(net, to_rows(net, net.add(x, position)), p.dropout)
    layer = Transformer(
        heads=p.heads,
        feed_forward=p.feed_forward,
        activation="gelu",
        start=START,
        dropout=p.dropout,
        inner_dropout=p.dropout,
        epsilon=EPSILON,
    )
    for i in range(1, p.layers + 1):
        x = pre_norm_layer(net, f"layer{i}", x, layer)
    x = to_samples(net, net.layer_norm("norm", x, epsilon=EPSILON))
    x = net.reshape(net.slice(x, axes=(1,), starts=(0,), ends=(1,)), shape=(0, -1))
    x = net.dense("classifier", x, p.classes, start=START)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def _base_16(name: str, source: str, optimizer: Optimizer, dropout: float) -> Problem:
    """Return a problem of the base size with patches of 16 x 16: two papers train the same network."""
    return Problem(
        name=name,
        task="image classification",
        source=source,
        parameters=with_defaults(Parameters, dropout=dropout),
        build=build,
        optimizer=optimizer,
        batch_size=4,
        published=(Published(86_567_656, 35_127_656_448),),
        reduced=REDUCED,
    )


VIT_BASE_16 = _base_16(
    "vit_base_16",
    "Dosovitskiy et al. 2020, arXiv 2010.11929, table 1; dropout, learning rate and weight decay as on "
    "ImageNet (table 3), with the decoupled decay, AdamW, that Touvron et al. 2020, table 9, give for it",
    Optimizer("adamw", learning_rate=3e-3, weight_decay=0.3),
    dropout=0.1,
)
DEIT_BASE_16 = _base_16(
    "deit_base_16",
    "Touvron et al. 2020, arXiv 2012.12877, table 1 and table 9, without distillation",
    Optimizer("adamw", learning_rate=5e-4, weight_decay=0.05),
    dropout=0.0,
)
