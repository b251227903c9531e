"""Pictures of records: what they show is worked out apart from how they are drawn.

Each kind is a plugin (:class:`~benchmarker.api.chart_kind.ChartKind`) with a pure function of records that returns a
:class:`~benchmarker.api.chart.Chart`; :mod:`benchmarker.analysis.charts.drawing.figure` draws any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker import registry
from benchmarker.analysis.chart_kinds import IN_ORDER
from benchmarker.analysis.charts.options import Option, options_of, parsed
from benchmarker.api.chart import Chart
from benchmarker.errors import BenchmarkerError, missing_package

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from benchmarker.records.schema import Record


def kinds() -> tuple[str, ...]:
    """Return the names of all kinds of pictures: ours in their order, then those of other distributions."""
    installed = registry.names("charts")
    ours = [kind.name for kind in IN_ORDER if kind.name in installed]
    return (*ours, *(name for name in installed if name not in ours))


def chart(kind: str, records: Sequence[Record], **options: Any) -> Chart:
    """Return what a picture of some records shows.

    Parameters
    ----------
    kind : str
        One of :func:`kinds`.
    records : sequence of dict
        Those that do not fit are left out, which the caption tells.
    options
        Of the kind, see :func:`kind_options`; texts become what they stand for.

    Raises
    ------
    UsageError
        On an unknown kind or option, or records that such a picture cannot be drawn of.
    """
    function = registry.guarded(registry.find("charts", kind), _function(kind), Chart)
    shown: Chart = function(records, **parse_options(kind, options))
    return shown


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
    return picture(chart(kind, records, **options))


def picture(shown: Chart) -> Figure:
    """Return what a chart shows as a picture.

    Raises
    ------
    BenchmarkerError
        If matplotlib is not installed.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise BenchmarkerError(missing_package("a picture", "matplotlib", "analysis")) from None
    from benchmarker.analysis.charts.drawing.figure import figure

    return figure(shown)


def _function(kind: str) -> Callable[..., Chart]:
    function: Callable[..., Chart] = registry.implementation(
        registry.find("charts", kind), registry.chart(kind).implementation
    )
    return function
