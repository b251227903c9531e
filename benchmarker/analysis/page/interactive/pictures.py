"""Which pictures a page has, and each with its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarker import registry
from benchmarker.analysis.charts import chart, kinds
from benchmarker.analysis.page.chart_table import Numbers, numbers
from benchmarker.analysis.page.interactive.figure import Drawn, draw
from benchmarker.api.chart import Chart, Panel
from benchmarker.errors import PluginError, UsageError
from benchmarker.experiment.keys import canonical
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import value_at
from benchmarker.records.schema import Record

_ALONG = ("devices", "batch_size", "threads")
"""Kinds that show how something changes from place to place, so that one place shows nothing."""
_MAX_SERIES = 60
_MAX_EACH = 20
"""Pictures of one kind."""


@dataclass(frozen=True)
class Picture:
    """What a picture shows, how the browser draws it, and its numbers as text.

    Parameters
    ----------
    key : str
        Its name in links.
    chart : Chart
        What it shows.
    drawn : Drawn
        How the browser draws it.
    numbers : Numbers
        The same as text.
    records : tuple of str
        Identifiers of the records that it was made of.
    """

    key: str
    chart: Chart
    drawn: Drawn
    numbers: Numbers
    records: tuple[str, ...]


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
    pictures: list[Picture] = []
    broken: list[str] = []
    for kind in kinds():
        note(f"drawing {kind}")
        try:
            for some in _of_each(records, registry.chart(kind).each):
                pictures += _pictures(kind, some, sum(one.chart.kind == kind for one in pictures))
        except PluginError as error:
            broken.append(str(error))
    return Gallery(tuple(pictures), tuple(broken))


def _of_each(records: Sequence[Record], members: Sequence[str]) -> list[list[Record]]:
    """Return the records of each picture of a kind: all of them, or those with the same values of some members."""
    if not members:
        return [list(records)]
    found: dict[str, list[Record]] = {}
    for record in records:
        values = [value_at(record, member) for member in members]
        if None not in values:
            found.setdefault(canonical(values), []).append(record)
    return list(found.values())[:_MAX_EACH]


def _pictures(kind: str, records: Sequence[Record], before: int) -> list[Picture]:
    """Return the picture of some records after so many, or none if they do not allow it or it shows nothing."""
    try:
        shown = chart(kind, records)
    except PluginError:
        raise
    except UsageError:
        return []  # these records do not allow it
    if not is_worth_drawing(shown):
        return []
    key = f"{kind}-{before + 1}" if before else kind
    of = tuple(str(record["id"]) for record in records)
    return [Picture(key, shown, draw(shown), numbers(shown), of)]


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
