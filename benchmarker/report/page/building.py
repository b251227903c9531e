"""A page is made: runs become a table, sections and pictures, and these one HTML text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from benchmarker import __version__
from benchmarker.errors import UsageError
from benchmarker.plots import palette
from benchmarker.report.page import embedding
from benchmarker.report.page.overview import overview
from benchmarker.report.page.picturing import Picture, pictures
from benchmarker.report.page.rows import GRADES, Row, table
from benchmarker.report.page.runs import Runs, gather
from benchmarker.report.page.sharing import SharedSections
from benchmarker.schema import Record

MOST_RUNS = 5000
"""More rows than anybody reads, and about what a browser still sorts at once."""


@dataclass(frozen=True)
class Page:
    """A page and what it holds.

    Parameters
    ----------
    html : str
        All of it.
    runs : int
        Number of runs.
    pictures : tuple of str
        Kinds of picture.
    left_out : tuple of (str, str)
        Files that are not in it, and why.
    """

    html: str
    runs: int
    pictures: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


def make_page(
    records: Sequence[Record],
    *,
    title: str = "Benchmarks",
    files: Sequence[str] = (),
    left_out: Sequence[tuple[str, str]] = (),
    note: Callable[[str], None] = lambda text: None,
) -> Page:
    """Return a page about records: one HTML file that needs no network.

    Parameters
    ----------
    records : sequence of dict
        At most :data:`MOST_RUNS`; those that are not valid are left out and named. All in them is untrusted.
    title : str
        Heading of the page.
    files : sequence of str
        The file of each record, as the page shall name it.
    left_out : sequence of (str, str)
        Files that could not be read, and why.
    note : callable
        Is told what is being done.

    Raises
    ------
    UsageError
        If there is no valid record, or there are too many.
    BenchmarkerError
        If a library that this needs is not installed.
    """
    if len(records) > MOST_RUNS:
        raise UsageError(
            f"a page holds at most {MOST_RUNS:,} runs, got {len(records):,}: choose some, e.g. with since=7d"
        )
    plotly = embedding.plotly_script()
    found = gather(records, files, note)
    missing = (*left_out, *found.faulty)
    if not found.runs:
        raise UsageError(
            f"a page needs at least one valid record that passes the filters, got none{_first(missing)}"
        )
    shown = tuple(pictures([run.record for run in found.runs], note))
    note("writing the page")
    html = _html(found.newest_first(), shown, title=title, left_out=missing, plotly=plotly)
    return Page(html, len(found.runs), tuple(picture.chart.kind for picture in shown), missing)


def _first(left_out: Sequence[tuple[str, str]]) -> str:
    return f"; '{left_out[0][0]}': {left_out[0][1]}" if left_out else ""


def _html(
    found: Runs,
    shown: Sequence[Picture],
    *,
    title: str,
    left_out: Sequence[tuple[str, str]],
    plotly: str,
) -> str:
    records = [run.record for run in found.runs]
    rows = table(records)
    script = embedding.page_script()
    return embedding.render(
        "page.html",
        title=title,
        made_at=f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC",
        version=__version__,
        overview=overview(records),
        table=rows,
        keys=[run.key for run in found.runs],
        choices=_choices(rows.rows),
        pictures=shown,
        left_out=left_out,
        policy=embedding.content_security_policy(script, plotly),
        style=embedding.template_text("page.css"),
        script=script,
        plotly=plotly,
        data=embedding.json_text(_data(found, shown)),
    )


def _choices(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return what each filter of one column can choose; one with a single value is no choice, but for trust."""
    found = {name: sorted({one.choices[name] for one in rows} - {""}) for name in rows[0].choices}
    return {name: values for name, values in found.items() if len(values) > 1} | {"trust": list(GRADES)}


def _data(found: Runs, shown: Sequence[Picture]) -> dict[str, Any]:
    """Return what the page's script reads."""
    shared = SharedSections()
    runs = [
        {"key": run.key, "title": run.title, "file": run.file, "sections": shared.places(run.sections)}
        for run in found.runs
    ]
    return {
        **shared.as_data(),
        "runs": runs,
        "whole": found.whole,
        "figures": [picture.drawn.figures for picture in shown],
        "palette": {"light": _colours(dark=False), "dark": _colours(dark=True)},
    }


def _colours(*, dark: bool) -> list[str]:
    """Return every colour of the palette with its variants; then they come again."""
    return [palette.colour(place, dark=dark) for place in range(palette.VARIANTS * len(palette.LIGHT))]
