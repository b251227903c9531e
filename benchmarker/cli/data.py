"""Measure how long mini-batches of images take from storage to memory, by format, decoder and page cache."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from benchmarker.cli.run_options import names
from benchmarker.cli.terminal import notes, output_width, print_text
from benchmarker.cli.values import each_once, file_path, whole

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarker.orchestration.jobs.latency import Latency


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    latency = actions.add_parser(
        "latency", help="time mini-batches of two photographs, stored in each format"
    )
    latency.add_argument("formats", nargs="*", metavar="FORMAT", help="npy, idx, png or jpeg; default: all")
    latency.add_argument(
        "--folder",
        type=file_path,
        metavar="DIR",
        help="folder on the storage to measure; default: the cache folder",
    )
    latency.add_argument(
        "--framework",
        type=lambda text: each_once(names(text)),
        default=(),
        metavar="NAME[==VERSION],...",
        help="also time up to the tensors of these, with their own decoders; default: up to NumPy arrays",
    )
    latency.add_argument(
        "--batch-size",
        type=whole(1, 4096),
        default=32,
        metavar="N",
        help="images in a mini-batch; default: 32",
    )
    latency.add_argument(
        "--size", type=whole(1, 1024), default=224, metavar="PIXELS", help="width and height; default: 224"
    )
    latency.add_argument(
        "--repeats",
        type=whole(1, 10_000),
        default=20,
        metavar="N",
        help="mini-batches of each format; default: 20",
    )
    latency.add_argument("--json", action="store_true", help="print one JSON object per row")
    latency.add_argument("--quiet", action="store_true", help="show no progress")


def main(arguments: argparse.Namespace) -> int:
    """Measure and print."""
    from benchmarker.cache import home
    from benchmarker.orchestration.jobs.latency import measure_latency

    folder = arguments.folder
    found = []
    for row in measure_latency(
        folder,
        formats=arguments.formats,
        frameworks=arguments.framework,
        batch_size=arguments.batch_size,
        size=arguments.size,
        repeats=arguments.repeats,
        note=notes(quiet=arguments.json or arguments.quiet),
    ):
        found.append(row)
        if arguments.json:
            print(json.dumps(row.to_json()), flush=True)
    if not arguments.json:
        _print_table(found, folder or home())
    return 0


def _print_table(found: list[Latency], folder: Path) -> None:
    from benchmarker.analysis.text.layout import Column, table
    from benchmarker.analysis.text.units import duration, size

    columns = [
        Column("format", tuple(row.format for row in found), key=True),
        Column("to", tuple(row.target for row in found), key=True),
        Column("page cache", tuple(row.timed.cache for row in found), key=True),
        Column("stored", tuple(size(row.stored_bytes) for row in found), numeric=True),
        Column("median", tuple(duration(row.median_seconds) for row in found), numeric=True),
        Column("95 % interval", tuple(_interval(row) for row in found)),
        Column("decoder", tuple(row.decoder.partition(" with ")[0] for row in found)),
    ]
    first = found[0]
    print(
        f"mini-batches of {first.batch_size} images of {first.size} x {first.size} pixels from '{folder}', "
        f"{len(first.timed.seconds)} of each\n"
    )
    print_text(table(columns, output_width()))
    for reason in dict.fromkeys(row.timed.kept for row in found if row.timed.kept):
        print(f"\ncold rows are not all cold: {reason}")


def _interval(row: Latency) -> str:
    from benchmarker.analysis.text.units import duration

    interval = row.interval_seconds
    return "" if interval is None else f"{duration(interval[0])} to {duration(interval[1])}"
