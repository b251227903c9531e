"""Pictures of records: what they show is worked out apart from how they are drawn.

Each kind is a module with ``chart(records, **options)``, a pure function that returns a
:class:`~benchmarker.plots.chart.Chart`; :mod:`benchmarker.plots.matplotlib_figure` draws any of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.errors import BenchmarkerError, UsageError, did_you_mean
from benchmarker.plots.chart import Chart
from benchmarker.plots.options import Option, options_of, parsed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from benchmarker.schema import Record

KINDS: Mapping[str, str] = {
    "frameworks": "step time or throughput of frameworks side by side, by problem",
    "devices": "step time or throughput on devices side by side, by problem",
    "batch_size": "throughput and latency against the mini-batch's size",
    "threads": "speed-up against CPU threads, with the ideal line",
    "latency": "distribution of step times: violins, and the share of steps within a time",
    "samples": "every sample over time: warm-up, steady state, change points",
    "roofline": "achieved FLOP/s against arithmetic intensity, under the machine's roofs",
    "breakdown": "measured parts of a step, and predicted cost by operator",
    "learning": "loss and accuracy against steps and against time",
    "memory": "peak memory beside what the graph predicts, and energy per sample",
    "speedup": "heat map of problems by frameworks: step time over a baseline's",
    "differences": "heat map of where an operator differs from float64, by framework",
    "history": "step time over weeks, with change points",
}
"""Each kind of picture, and what it shows in a line."""


def chart(kind: str, records: Sequence[Record], **options: Any) -> Chart:
    """Return what a picture of some records shows.

    Parameters
    ----------
    kind : str
        One of :data:`KINDS`.
    records : sequence of dict
        Those that do not fit are left out, which the caption tells.
    options
        Of the kind, see :func:`kind_options`; texts become what they stand for.

    Raises
    ------
    UsageError
        On an unknown kind or option, or records that such a picture cannot be drawn of.
    """
    return _function(kind)(records, **parse_options(kind, options))


def parse_options(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a kind of picture as it takes them; texts become what they stand for.

    Raises
    ------
    UsageError
        On an unknown kind or option, or a value that it does not take.
    """
    return parsed(kind, _function(kind), options)


def kind_options(kind: str) -> tuple[Option, ...]:
    """Return the options that a kind of picture takes.

    Raises
    ------
    UsageError
        On an unknown kind.
    """
    return options_of(_function(kind))


def draw(kind: str, records: Sequence[Record], **options: Any) -> Figure:
    """Return a picture of some records; the arguments are those of :func:`chart`.

    Raises
    ------
    UsageError
        As of :func:`chart`.
    BenchmarkerError
        If matplotlib is not installed.
    """
    drawn = chart(kind, records, **options)
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise BenchmarkerError(
            "a picture needs matplotlib, which is not installed: pip install 'benchmarker[analysis]'"
        ) from None
    from benchmarker.plots.matplotlib_figure import figure

    return figure(drawn)


def _function(kind: str) -> Callable[..., Chart]:
    if kind not in KINDS:
        raise UsageError(f"a picture must be of a known kind, got '{kind}'{did_you_mean(kind, KINDS)}")
    function: Callable[..., Chart] = importlib.import_module(f"benchmarker.plots.{kind}").chart
    return function
