"""Predict step times on more ranks than there are here, from one-rank records, a scheme and a network."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from benchmarker.analysis.scaling.exchanges import exchange_of, known_exchanges
from benchmarker.api.given_values import shown, whole_number
from benchmarker.api.interconnect import Interconnect
from benchmarker.cli.records import add_results, tell_skipped
from benchmarker.cli.terminal import output_width, print_json
from benchmarker.cli.values import each_once, file_path
from benchmarker.distributed.exchanges import Exchange
from benchmarker.distributed.networks import PRESETS, network_of
from benchmarker.errors import UsageError

if TYPE_CHECKING:
    from benchmarker.analysis.scaling.scale import Curve, Scaling

MAX_RANKS = 1 << 20
USUAL_RANKS = "1..1024"

_Value = TypeVar("_Value")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``scale``."""
    parser.add_argument(
        "records",
        nargs="+",
        metavar="RECORD",
        help="a record of training on one rank: its file or, in the folder of --results, its name, the beginning or "
        "end of its id, or last; for strong scaling, several with different batch sizes",
    )
    parser.add_argument(
        "--ranks",
        type=_ranks,
        default=_ranks(USUAL_RANKS),
        metavar="N,...",
        help=f"numbers of ranks, or FIRST..LAST for powers of two from the first; default: {USUAL_RANKS}",
    )
    parser.add_argument(
        "--scheme",
        type=_each(exchange_of),
        default=(exchange_of("all-reduce"),),
        metavar="NAME,...",
        help=f"{', '.join(known_exchanges())}; default: all-reduce",
    )
    parser.add_argument(
        "--network",
        type=_each(network_of),
        default=(network_of("100gbe"),),
        metavar="NAME,...",
        help=f"{', '.join(PRESETS)}, or a rate and a latency as in 10gbit/20us; default: 100gbe",
    )
    parser.add_argument(
        "--scaling",
        choices=("weak", "strong"),
        default="weak",
        help="weak: each rank has the mini-batch of the record; strong: all ranks share it; default: weak",
    )
    parser.add_argument(
        "--no-overlap", action="store_true", help="send only after the last gradient is computed"
    )
    add_results(parser)
    parser.add_argument("--json", action="store_true", help="print the predictions as JSON")
    parser.add_argument(
        "-o",
        "--output",
        type=file_path,
        metavar="FILE",
        help="draw the predictions into a .svg, .png or .pdf file",
    )
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def _ranks(text: str) -> tuple[int, ...]:
    first, dots, last = text.partition("..")
    found = [_rank(part, text) for part in ([first, last] if dots else text.split(","))]
    if not dots:
        return each_once(tuple(found))
    if found[0] > found[1]:
        raise argparse.ArgumentTypeError(f"must count up from the first to the last, got {shown(text)}")
    counts = [found[0]]
    while counts[-1] * 2 <= found[1]:
        counts.append(counts[-1] * 2)
    return tuple(counts)


def _rank(part: str, text: str) -> int:
    try:
        number = whole_number(part)
    except ValueError:
        number = 0
    if not 1 <= number <= MAX_RANKS:
        raise argparse.ArgumentTypeError(
            f"must be whole numbers from 1 to {MAX_RANKS:,}, or two of them as in {USUAL_RANKS}, got {shown(text)}"
        )
    return number


def _each(read: Callable[[str], _Value]) -> Callable[[str], tuple[_Value, ...]]:
    def values(text: str) -> tuple[_Value, ...]:
        try:
            return tuple(map(read, each_once(tuple(text.split(",")))))
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return values


def main(arguments: argparse.Namespace) -> int:
    """Print the predictions, and draw them where that was asked for."""
    from benchmarker.analysis.charts.saving import check_target
    from benchmarker.analysis.text.scaling import scaling_json, scaling_text

    if arguments.output:
        check_target(arguments.output, force=arguments.force)
    title, scaling = _scaling(arguments)
    curves = _curves(scaling, arguments)
    if arguments.json:
        print_json(scaling_json(title, scaling, curves))
    else:
        overlap = not arguments.no_overlap
        print(scaling_text(title, scaling, curves, overlap=overlap, width=output_width()))
    if arguments.output:
        _draw(title, scaling, curves, arguments)
    return 0


def _curves(scaling: Scaling, arguments: argparse.Namespace) -> list[Curve]:
    pairs: list[tuple[Exchange, Interconnect]] = [(x, n) for x in arguments.scheme for n in arguments.network]
    return [
        scaling.curve(sorted(arguments.ranks), exchange, network, overlap=not arguments.no_overlap)
        for exchange, network in pairs
    ]


def _scaling(arguments: argparse.Namespace) -> tuple[str, Scaling]:
    from benchmarker.analysis.results.selection import find_record
    from benchmarker.analysis.scaling.one_rank import scaling_of

    paths = [find_record(name, arguments.results, on_damaged=tell_skipped) for name in arguments.records]
    return scaling_of(paths, arguments.scaling)


def _draw(title: str, scaling: Scaling, curves: list[Curve], arguments: argparse.Namespace) -> None:
    from benchmarker.analysis import charts
    from benchmarker.analysis.charts.saving import save
    from benchmarker.analysis.charts.scaling import chart

    save(charts.picture(chart(title, scaling, curves)), arguments.output, force=arguments.force)
    if not arguments.json:
        print(arguments.output)
