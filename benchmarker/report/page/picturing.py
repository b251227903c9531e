"""Which pictures a page has, and each with its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarker.errors import UsageError
from benchmarker.plots import KINDS, chart
from benchmarker.plots.chart import Chart, Panel
from benchmarker.report.page.numbers import Numbers, numbers
from benchmarker.report.page.plotly_figure import Drawn, draw
from benchmarker.schema import Record

_ALONG = ("devices", "batch_size", "threads")
"""Kinds that show how something changes from place to place, so that one place shows nothing."""
_MOST_SERIES = 60


@dataclass(frozen=True)
class Picture:
    """What a picture shows, how the browser draws it, and its numbers as text."""

    chart: Chart
    drawn: Drawn
    numbers: Numbers


def pictures(records: Sequence[Record], note: Callable[[str], None]) -> Iterator[Picture]:
    """Yield the pictures that these records allow and that show something, in the order of their kinds."""
    for kind in KINDS:
        note(f"drawing {kind}")
        try:
            shown = chart(kind, records)
        except UsageError:
            continue
        if is_worth_drawing(shown):
            yield Picture(shown, draw(shown), numbers(shown))


def is_worth_drawing(shown: Chart) -> bool:
    """Tell whether a chart has something to compare, and no more than can be told apart."""
    if not shown.panels or max(len(panel.series) for panel in shown.panels) > _MOST_SERIES:
        return False
    heats = [panel.heat for panel in shown.panels if panel.heat is not None]
    if heats:
        return max(len(heat.columns) for heat in heats) > 1
    return shown.kind not in _ALONG or max(map(_measured_places, shown.panels)) > 1


def _measured_places(panel: Panel) -> int:
    return len({place for series in panel.series if not series.dashed for place in series.x})
