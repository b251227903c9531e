"""A page is made and written: runs become a table, sections and pictures, and these one HTML file, whole or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarker.analysis.charts import palette
from benchmarker.analysis.page import assets
from benchmarker.analysis.page.answer_table import Answers, answer_table
from benchmarker.analysis.page.answers import answers
from benchmarker.analysis.page.dedupe import SharedSections
from benchmarker.analysis.page.interactive.figure import Figure
from benchmarker.analysis.page.interactive.pictures import Gallery, gallery
from benchmarker.analysis.page.overview import overview
from benchmarker.analysis.page.runs import Runs, gather, packed
from benchmarker.analysis.page.table import Row, table
from benchmarker.analysis.page.trainings import Trainings, trainings
from benchmarker.errors import UsageError
from benchmarker.files import staged
from benchmarker.machine.trust import GRADES
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.schema import Record
from benchmarker.version import __version__

MAX_RUNS = 5000
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
        The kind of each picture.
    skipped : tuple of (str, str)
        Files that are not in it, and why.
    broken : tuple of str
        A sentence for each kind of picture whose plugin failed.
    """

    html: str
    runs: int
    pictures: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    broken: tuple[str, ...]


def make_page(
    records: Sequence[Record],
    *,
    title: str = "Benchmarks",
    files: Sequence[str] = (),
    skipped: Sequence[tuple[str, str]] = (),
    note: Callable[[str], None] = lambda text: None,
) -> Page:
    """Return a page about records: one HTML file that needs no network.

    Parameters
    ----------
    records : sequence of dict
        At most :data:`MAX_RUNS`; those that are not valid are left out and named. All in them is untrusted.
    title : str
        Heading of the page.
    files : sequence of str
        The file of each record, as the page shall name it.
    skipped : sequence of (str, str)
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
    if len(records) > MAX_RUNS:
        raise UsageError(
            f"a page holds at most {MAX_RUNS:,} runs, got {len(records):,}: choose some, e.g. with since=7d"
        )
    plotly = assets.plotly_script()
    found = gather(records, files, note)
    missing = (*skipped, *found.faulty)
    if not found.runs:
        raise UsageError(
            f"a page needs at least one valid record that passes the filters, got none{_first(missing)}"
        )
    shown = gallery([run.record for run in found.runs], note)
    note("comparing frameworks")
    ordered = found.newest_first()
    every = [run.record for run in ordered.runs]
    places = {run.record["id"]: (place, run.key) for place, run in reversed(list(enumerate(ordered.runs)))}
    answered = answer_table(answers(every), places)
    note("comparing trainings")
    trained = trainings([run.record for run in found.runs])
    note("writing the page")
    summary = Summary(answered, trained, shown, missing)
    html = _html(ordered, summary, title=title, plotly=plotly)
    kinds = tuple(picture.chart.kind for picture in shown.pictures)
    return Page(html, len(found.runs), kinds, missing, shown.broken)


def _first(skipped: Sequence[tuple[str, str]]) -> str:
    return f"; '{skipped[0][0]}': {skipped[0][1]}" if skipped else ""


@dataclass(frozen=True)
class Summary:
    """What a page says of all its runs together."""

    answers: Answers
    trained: Trainings
    shown: Gallery
    skipped: Sequence[tuple[str, str]]


def _html(
    found: Runs,
    summary: Summary,
    *,
    title: str,
    plotly: str,
) -> str:
    records = [run.record for run in found.runs]
    rows = table(records)
    script = assets.page_script()
    return assets.render(
        "page.html",
        title=title,
        made_at=f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC",
        version=__version__,
        overview=overview(records),
        answers=summary.answers,
        trained=summary.trained,
        table=rows,
        keys=[run.key for run in found.runs],
        choices=_choices(rows.rows),
        pictures=summary.shown.pictures,
        broken=summary.shown.broken,
        skipped=summary.skipped,
        policy=assets.content_security_policy(script, plotly),
        style=assets.template_text("page.css"),
        script=script,
        plotly=plotly,
        data=assets.json_text(_data(found, summary)),
    )


def _choices(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return what each filter of one column can choose; one with a single value is no choice, but for trust."""
    found = {
        name: sorted({one.choices[name] for one in rows} - {""}, key=_in_order) for name in rows[0].choices
    }
    found["trust"] = list(GRADES)
    return {name: values for name, values in found.items() if len(values) > 1}


def _in_order(text: str) -> tuple[int, str]:
    """Return by what choices are ordered: numbers by their size."""
    return (int(text) if text.isdecimal() and len(text) < 19 else 0, text)


def _data(found: Runs, summary: Summary) -> dict[str, Any]:
    """Return what the page's script reads."""
    shared = SharedSections()
    places = {run.record["id"]: place for place, run in reversed(list(enumerate(found.runs)))}
    runs = [
        {"key": run.key, "title": run.title, "file": run.file, "sections": shared.places(run.sections)}
        for run in found.runs
    ]
    return {
        "told": packed(shared.as_data()),
        "runs": runs,
        "whole": found.whole,
        "answers": [row.runs for group in summary.answers.groups for row in group.rows],
        "alone": [row.runs for row in summary.answers.alone],
        "figures": [
            [_placed(one, places) for one in picture.drawn.figures] for picture in summary.shown.pictures
        ],
        "pictures": [sorted({places[run] for run in picture.records}) for picture in summary.shown.pictures],
        "palette": {"light": _colours(dark=False), "dark": _colours(dark=True)},
    }


def _placed(figure: Figure, places: Mapping[str, int]) -> Figure:
    """Return a figure whose values name the runs behind them by their places in the page, where they are told."""
    traces = [
        {**trace, "runs": [sorted({places[run] for run in runs}) for runs in trace["runs"]]}
        if "runs" in trace
        else trace
        for trace in figure["data"]
    ]
    return {**figure, "data": traces}


def _colours(*, dark: bool) -> list[str]:
    """Return every colour of the palette with its variants; then they come again."""
    return [palette.colour(place, dark=dark) for place in range(palette.VARIANTS * len(palette.LIGHT))]


def check_place(path: Path, *, force: bool) -> None:
    """Say before any work that a page cannot go to a path.

    Raises
    ------
    UsageError
        If there is a folder, or without ``force`` a file, or no folder to be in.
    """
    try:
        is_folder, exists, has_folder = path.is_dir(), path.exists(), path.absolute().parent.is_dir()
    except OSError as error:
        raise _cannot_be_written(path, error) from None
    if is_folder:
        raise UsageError(f"a page is written to a file, got the folder '{path}'")
    if exists and not force:
        raise UsageError(f"a page is not written over a file, and '{path}' exists: --force replaces it")
    if not has_folder:
        raise UsageError(f"a page goes to a folder that exists, got '{path}'")


def write_page(path: Path, html: str, *, force: bool) -> int:
    """Write a page and return its bytes.

    Raises
    ------
    UsageError
        If it cannot go there; nothing is left behind.
    """
    check_place(path, force=force)
    # A title from the command line may have bytes that are no UTF-8.
    data = html.encode("utf-8", "replace")
    try:
        with staged(path, replace=True) as stream:
            stream.write(data)
    except OSError as error:
        raise _cannot_be_written(path, error) from None
    return len(data)


def _cannot_be_written(path: Path, error: OSError) -> UsageError:
    return UsageError(f"a page must go where it can be written, got '{path}' ({error.strerror})")
