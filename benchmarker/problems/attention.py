"""One layer of multi-head self-attention."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.initializers import inverse_sqrt_uniform
from benchmarker.graph.network import Network
from benchmarker.problems.layers.attention import Transformer, packed_self_attention, to_rows, to_samples
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Length of the sequence, its features, heads, and whether positions see only those before them."""

    length: int = 512
    width: int = 512
    heads: int = 8
    causal: bool = False


def build(net: Network, p: Parameters) -> None:
    """Add the layer to ``net``; in training its loss is the mean of the squared output."""
    x = net.input("sequence", (p.length, p.width))
    layer = Transformer(p.heads, p.width, "relu", start=inverse_sqrt_uniform(p.width))
    y = packed_self_attention(net, "attention", to_rows(net, x), layer, is_causal=p.causal)
    net.output(to_samples(net, y))
    net.loss(net.reduce_mean(net.mul(y, y)))


def benchmarker_problem() -> Problem:
    return Problem(
        name="attention",
        task="operator",
        source="Vaswani et al. 2017, arXiv 1706.03762, section 3.2, width and heads of the base model",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=4,
        published=(
            Published(4 * 512**2 + 4 * 512, 8 * 512**3 + 4 * 512**3),
            Published(
                4 * 768**2 + 4 * 768, 8 * 128 * 768**2 + 4 * 128**2 * 768, {"length": 128, "width": 768}
            ),
        ),
        reduced={"length": 6, "width": 12, "heads": 3},
    )
