"""Which pictures a page has, and each with its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarker.analysis.charts import chart, kinds
from benchmarker.analysis.page.chart_table import Numbers, numbers
from benchmarker.analysis.page.interactive.figure import Drawn, draw
from benchmarker.api.chart import Chart, Panel
from benchmarker.errors import PluginError, UsageError
from benchmarker.records.schema import Record

_ALONG = ("devices", "batch_size", "threads")
"""Kinds that show how something changes from place to place, so that one place shows nothing."""
_MAX_SERIES = 60


@dataclass(frozen=True)
class Picture:
    """What a picture shows, how the browser draws it, and its numbers as text."""

    chart: Chart
    drawn: Drawn
    numbers: Numbers


@dataclass(frozen=True)
class Gallery:
    """The pictures of a page.

    Parameters
    ----------
    pictures : tuple of Picture
        Those that the records allow and that show something, in the order of their kinds.
    broken : tuple of str
        A sentence for each kind whose plugin failed.
    """

    pictures: tuple[Picture, ...]
    broken: tuple[str, ...]


def gallery(records: Sequence[Record], note: Callable[[str], None]) -> Gallery:
    """Return the pictures of some records; ``note`` is told which is being drawn."""
    pictures, broken = [], []
    for kind in kinds():
        note(f"drawing {kind}")
        try:
            shown = chart(kind, records)
        except PluginError as error:
            broken.append(str(error))
        except UsageError:
            continue  # these records do not allow it
        else:
            if is_worth_drawing(shown):
                pictures.append(Picture(shown, draw(shown), numbers(shown)))
    return Gallery(tuple(pictures), tuple(broken))


def is_worth_drawing(shown: Chart) -> bool:
    """Tell whether a chart has something to compare, and no more than can be told apart."""
    if not shown.panels or max(len(panel.series) for panel in shown.panels) > _MAX_SERIES:
        return False
    heats = [panel.heat for panel in shown.panels if panel.heat is not None]
    if heats:
        return max(len(heat.columns) for heat in heats) > 1
    return shown.kind not in _ALONG or max(map(_measured_places, shown.panels)) > 1


def _measured_places(panel: Panel) -> int:
    return len({place for series in panel.series if not series.dashed for place in series.x})
