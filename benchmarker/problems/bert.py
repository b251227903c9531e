"""BERT (Devlin et al. 2018, arXiv 1810.04805) and RoBERTa (Liu et al. 2019, arXiv 1907.11692)."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published, with_defaults
from benchmarker.graph.network import Network
from benchmarker.problems.layers import bert
from benchmarker.problems.layers.sizes import require_choice
from benchmarker.quick_dataclass import dataclass

HEADS = ("mlm", "pooler", "classification")
EPSILON, ROBERTA_EPSILON = 1e-12, 1e-5
FIRST_POSITION = 2
"""RoBERTa's rows before it belong to the padding token, in the numbering of the paper's program."""
LARGE = {"layers": 24, "width": 1024, "heads": 16, "feed_forward": 4096}
REDUCED = {
    "length": 16,
    "layers": 2,
    "width": 24,
    "heads": 3,
    "feed_forward": 48,
    "vocabulary": 50,
    "positions": 20,
}


@dataclass(frozen=True)
class BertParameters:
    """Sizes of the network.

    ``head`` is ``mlm`` (masked language model), ``pooler`` (the first token's features; in training the
    loss is their mean square) or ``classification`` into ``classes``.
    """

    head: str = "mlm"
    length: bert.Length = 128
    layers: int = 12
    width: int = 768
    heads: int = 12
    feed_forward: int = 3072
    vocabulary: int = 30522
    positions: int = 512
    classes: int = 3
    dropout: float = 0.1


@dataclass(frozen=True)
class RobertaParameters:
    """Sizes of the network, a masked language model; two of its ``positions`` are no token's."""

    length: int = 128
    layers: int = 12
    width: int = 768
    heads: int = 12
    feed_forward: int = 3072
    vocabulary: int = 50265
    positions: int = 514
    dropout: float = 0.1


def build_bert(net: Network, p: BertParameters) -> None:
    """Add the encoder and the chosen head to ``net``."""
    require_choice("head", p.head, HEADS)
    x, table = bert.encode(net, _encoder(p, epsilon=EPSILON))
    if p.head == "mlm":
        bert.masked_language_model(net, x, table, EPSILON)
    elif p.head == "pooler":
        bert.pooler(net, x)
    else:
        bert.classification(net, x, p.classes, p.dropout)


def build_roberta(net: Network, p: RobertaParameters) -> None:
    """Add the encoder, without segments, and its masked language model to ``net``."""
    sizes = _encoder(p, epsilon=ROBERTA_EPSILON, offset=FIRST_POSITION, segments=1)
    x, table = bert.encode(net, sizes)
    bert.masked_language_model(net, x, table, ROBERTA_EPSILON)


def _encoder(
    p: BertParameters | RobertaParameters, *, epsilon: float, offset: int = 0, segments: int = 2
) -> bert.Encoder:
    return bert.Encoder(
        length=p.length,
        vocabulary=p.vocabulary,
        layers=p.layers,
        width=p.width,
        heads=p.heads,
        feed_forward=p.feed_forward,
        positions=p.positions,
        offset=offset,
        segments=segments,
        dropout=p.dropout,
        epsilon=epsilon,
    )


def _bert(name: str, batch_size: int, published: tuple[Published, ...], **sizes: int) -> Problem:
    return Problem(
        name=name,
        task="language modelling",
        source="Devlin et al. 2018, arXiv 1810.04805, section 3 and appendix A.2",
        parameters=with_defaults(BertParameters, **sizes),
        build=build_bert,
        optimizer=Optimizer("adamw", learning_rate=1e-4, epsilon=1e-6, weight_decay=0.01),
        batch_size=batch_size,
        published=published,
        reduced=REDUCED,
        reduced_batch_size=4,
    )


def _roberta(
    name: str,
    batch_size: int,
    learning_rate: float,
    published: tuple[Published, ...],
    note: str = "",
    **sizes: int,
) -> Problem:
    optimizer = Optimizer("adamw", learning_rate=learning_rate, beta2=0.98, epsilon=1e-6, weight_decay=0.01)
    return Problem(
        name=name,
        task="language modelling",
        source=f"Liu et al. 2019, arXiv 1907.11692, section 5 and table 9{note}",
        parameters=with_defaults(RobertaParameters, **sizes),
        build=build_roberta,
        optimizer=optimizer,
        batch_size=batch_size,
        published=published,
        reduced=REDUCED,
        reduced_batch_size=4,
    )


BERT_BASE = _bert(
    "bert_base",
    4,
    (
        Published(109_514_298, 28_499_116_032),
        Published(109_514_298, 58_206_191_616, {"length": 256}),
        Published(109_514_298, 121_244_221_440, {"length": 512}),
        Published(109_482_240, None, {"head": "pooler"}),
        Published(109_484_547, 22_348_435_968, {"head": "classification"}),
    ),
)
BERT_LARGE = _bert(
    "bert_large",
    2,
    (
        Published(335_174_458, 87_189_618_688),
        Published(335_174_458, 177_600_462_848, {"length": 256}),
        Published(335_174_458, 368_085_827_584, {"length": 512}),
        Published(335_144_963, 78_922_127_360, {"head": "classification"}),
    ),
    **LARGE,
)
ROBERTA_BASE = _roberta(
    "roberta_base",
    4,
    6e-4,
    (
        Published(124_697_433, 32_380_747_776),
        Published(124_697_433, 65_969_455_104, {"length": 256}),
        Published(124_697_433, 136_770_748_416, {"length": 512}),
    ),
)
ROBERTA_LARGE = _roberta(
    "roberta_large",
    2,
    4e-4,
    (
        Published(355_412_057, 187_951_480_832),
        Published(355_412_057, 92_365_127_680, {"length": 128}),
        Published(355_412_057, 388_787_863_552, {"length": 512}),
    ),
    "; 256 tokens as undertherain/benchmarker",
    length=256,
    **LARGE,
)
