"""Predicted steps of several ranks, for the terminal and as JSON values."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from benchmarker.analysis.scaling.scale import STRONG, Curve, Scaling
from benchmarker.analysis.text.layout import Column, numeric_column, table
from benchmarker.analysis.text.units import duration, significant, size

_INDENT = "  "


def scaling_text(title: str, scaling: Scaling, curves: Sequence[Curve], *, overlap: bool, width: int) -> str:
    """Return a table for each scheme and network, and what the predictions rest on.

    Parameters
    ----------
    title : str
        What was measured.
    scaling : Scaling
        From which records.
    curves : sequence of Curve
        At least one.
    overlap : bool
        Whether gradients may be sent while others are computed.
    width : int
        Characters a line should have at most.
    """
    batch = "of all ranks" if scaling.kind == STRONG else "of each rank"
    heading = (
        f"Predicted, not measured: {title}, {scaling.kind} scaling, mini-batch {batch} {scaling.batch_size}"
    )
    parts = [textwrap.fill(heading, width)]
    for curve in curves:
        named = f"{curve.exchange.name} ({curve.exchange.algorithm}) over {_network(curve)}"
        parts += [textwrap.fill(named, width, subsequent_indent=_INDENT) + "\n" + _table(curve, width)]
    notes = [
        textwrap.fill(note, width, subsequent_indent=_INDENT) for note in _notes(scaling, curves, overlap)
    ]
    return "\n\n".join([*parts, "\n".join(notes)])


def _network(curve: Curve) -> str:
    network = curve.network
    known = f"; {network.source}" if network.source else ""
    latency, rate = duration(network.latency_seconds, 3), significant(network.bytes_per_second / 1e9, 3)
    return f"{network.name} ({network.topology}, {latency}, {rate} GB/s{known})"


def _table(curve: Curve, width: int) -> str:
    found = [point.prediction for point in curve.points]
    columns = [
        Column("ranks", tuple(f"{one.ranks:,}" for one in found), numeric=True, key=True),
        numeric_column("step", [duration(one.step_seconds) for one in found]),
        numeric_column(
            "95 % of steps", [f"{duration(one.low, 3)} to {duration(one.high, 3)}" for one in found]
        ),
        numeric_column("computing", [duration(one.compute_seconds) for one in found]),
        numeric_column("sending", [duration(one.sending_seconds) for one in found]),
        numeric_column("not hidden", [duration(one.exposed_seconds) for one in found]),
        numeric_column("sent by each", [size(one.bytes_per_rank) for one in found]),
        numeric_column("samples/s", [significant(point.samples_per_second) for point in curve.points]),
        numeric_column("efficiency", [f"{point.efficiency:.1%}" for point in curve.points]),
    ]
    return table(columns, width)


def _notes(scaling: Scaling, curves: Sequence[Curve], overlap: bool) -> Iterator[str]:
    times = scaling.workloads[scaling.batch_size].times
    steps = len(times.seconds)
    yield (
        f"Computing: the mean of the slowest rank, each rank's step being drawn from {times.described} "
        "independently of the others."
    )
    if scaling.is_disturbed:
        yield "Disturbed: a record is contaminated; neither its steps nor what is predicted of them can be believed."
    if times.steps_each > 1:
        yield ("Means of several steps do not show single slow ones; a record with --sampling=latency does.")
    if any(curve.exchange.overlaps and overlap for curve in curves):
        yield "Not hidden: what is sent after the last gradient is there; others are sent in buckets before."
    if any(not point.prediction.is_known for curve in curves for point in curve.points):
        yield (
            f"Of more ranks than {steps} the slowest is likely slower than any step that was measured: their times "
            "are lower bounds."
        )
    yield "No contention, no failures, and no slower network than stated are in these numbers."


def scaling_json(title: str, scaling: Scaling, curves: Sequence[Curve]) -> dict[str, Any]:
    """Return the predictions as JSON values, in seconds and bytes."""
    return {
        "predicted": True,
        "of": title,
        "scaling": scaling.kind,
        "batch_size": scaling.batch_size,
        "disturbed": scaling.is_disturbed,
        "curves": [
            {
                "scheme": curve.exchange.name,
                "algorithm": curve.exchange.algorithm,
                "network": asdict(curve.network),
                "points": [
                    {
                        **asdict(point.prediction),
                        "samples_per_second": point.samples_per_second,
                        "speedup": point.speedup,
                        "efficiency": point.efficiency,
                    }
                    for point in curve.points
                ],
            }
            for curve in curves
        ],
    }
