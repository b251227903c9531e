"""Which records a picture shows, joined to cells, and how many can be read; what is skipped is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from benchmarker.analysis.charts.labels import names, short, workload_labels
from benchmarker.analysis.charts.palette import rank_of
from benchmarker.api.problem import OPERATOR
from benchmarker.errors import UsageError, plural
from benchmarker.experiment.keys import canonical
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.cells import Cell, cells
from benchmarker.records.lookup import Record, specification_of, value_at
from benchmarker.records.precision import DISTURBED, excluded


@dataclass(frozen=True)
class Selection:
    """What a picture shows.

    Parameters
    ----------
    cells : tuple of Cell
        Each the fresh processes of one configuration, all of which ended well.
    skipped : tuple of str
        What is not shown, in words, e.g. ``"2 runs that did not end well"``.
    """

    cells: tuple[Cell, ...]
    skipped: tuple[str, ...] = ()

    @property
    def records(self) -> tuple[Record, ...]:
        return tuple(record for cell in self.cells for record in cell.records)


def gather(
    records: Sequence[Record],
    needs: str,
    has: Callable[[Record], Any] | None = None,
    without: str = "",
    *,
    timed: bool = True,
) -> Selection:
    """Return the cells of the records that ended well and have what the picture needs.

    Parameters
    ----------
    records : sequence of dict
        Any.
    needs : str
        What the picture needs, for the message, e.g. ``"runs that ended well"``.
    has : callable, optional
        Tells whether a record has it.
    without : str
        What records are called that do not have it, e.g. ``"without a breakdown"``.
    timed : bool
        Whether the picture ranks times: what keeps a number out of comparisons then keeps it out of the picture too,
        unless there are no others. Their names say so then (:func:`~benchmarker.analysis.charts.labels.names`).

    Raises
    ------
    UsageError
        If there are no such records.
    """
    well = [r for r in records if r["status"] == "ok" and value_at(r, "timing.step_seconds.median")]
    fit = [record for record in well if has is None or has(record)]
    skipped = (
        *_counted(len(records) - len(well), "that did not end well"),
        *_counted(len(well) - len(fit), without),
    )
    if not fit:
        found = f"none of {len(records)} records has that" if len(records) else "there are no records"
        raise UsageError(f"such a picture needs {needs}, and {found}")
    clean = [record for record in fit if not excluded(record)] if timed else []
    shown = clean or fit
    skipped = (*skipped, *_counted(len(fit) - len(shown), DISTURBED))
    return Selection(tuple(sorted(cells(shown), key=_order)), skipped)


def _order(cell: Cell) -> tuple[Any, ...]:
    """Return the place of a cell among others: by problem, then by framework; a campaign's order is drawn."""
    record = cell.first
    name, framework = record["problem"]["name"], record["framework"]["name"]
    threads = record["execution"]["threads"] or 0
    work = (name, str(record["mode"]), record["batch_size"] or 0)
    return (*work, rank_of(framework), framework, threads, record["started_at"])


def largest_group(
    gathered: Selection, group: Callable[[Cell], Hashable], spread: Callable[[Cell], Hashable], others: str
) -> Selection:
    """Keep the group of cells that has the most different values of something, then the most cells.

    Parameters
    ----------
    gathered : Selection
        What there is.
    group : callable
        Which group a cell belongs to.
    spread : callable
        The value that should take many values in the group, e.g. the batch size.
    others : str
        What the other groups are, after "runs", e.g. ``"of other problems"``.
    """
    groups: dict[Hashable, list[Cell]] = {}
    for cell in gathered.cells:
        groups.setdefault(group(cell), []).append(cell)
    kept = max(groups.values(), key=lambda found: (len({spread(cell) for cell in found}), len(found)))
    return _keep(gathered, kept, others)


def first_groups(gathered: Selection, group: Callable[[Cell], Hashable], most: int, others: str) -> Selection:
    """Keep the cells of so many groups: networks before operators, then those with the most cells."""
    count: dict[Hashable, int] = {}
    operators: set[Hashable] = set()
    for cell in gathered.cells:
        count[group(cell)] = count.get(group(cell), 0) + 1
        if cell.first["problem"]["task"] == OPERATOR:
            operators.add(group(cell))
    chosen = set(sorted(count, key=lambda name: (name in operators, -count[name]))[:most])
    return _keep(gathered, [cell for cell in gathered.cells if group(cell) in chosen], others)


def split(gathered: Selection, by: Callable[[Record], Hashable]) -> Selection:
    """Divide cells such that the records of each have the same value of something, e.g. the campaign."""
    parts: list[Cell] = []
    for cell in gathered.cells:
        groups: dict[Hashable, list[Record]] = {}
        for record in cell.records:
            groups.setdefault(by(record), []).append(record)
        parts += [Cell(tuple(group)) for group in groups.values()]
    return Selection(tuple(parts), gathered.skipped)


def keep(gathered: Selection, fits: Callable[[Cell], bool], others: str) -> Selection:
    """Keep the cells that fit, which may be none."""
    return _keep(gathered, [cell for cell in gathered.cells if fits(cell)], others)


def _keep(gathered: Selection, kept: Sequence[Cell], others: str) -> Selection:
    dropped = len(gathered.records) - sum(len(cell.records) for cell in kept)
    return Selection(tuple(kept), (*gathered.skipped, *_counted(dropped, others)))


def _counted(count: int, what: str) -> tuple[str, ...]:
    """Return e.g. ``"3 runs of other problems"``, nothing for none."""
    return (f"{plural(count, 'run')} {what}",) if count else ()


MAX_SERIES = 12
MAX_WORKLOADS = 10
"""Problems of different modes and sizes along one axis."""
MAX_ROWS = 20
"""Of a table of problems."""
_NO_SETTINGS = frozenset(
    {
        "framework",
        "framework_version",
        "framework_options",
        "environment",
        "problem",
        "problem_parameters",
        "mode",
        "batch_size",
        "data",
        "data_dir",
        "optimizer",
        "repetition",
    }
)
"""What a picture shows beside each other; all else that was asked for are the settings of an experiment."""
Labels = Callable[[Sequence[Cell]], Sequence[str]]


def series_names(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return the names of series where each problem is a place of its own."""
    return names(cells, workload_labels(cells))


def few_series(
    gathered: Selection, labels: Labels = series_names, *, places: Sequence[str] = ()
) -> Selection:
    """Keep the settings with the most cells, as many as make no more than :data:`MAX_SERIES` series.

    Parameters
    ----------
    gathered : Selection
        What there is.
    labels : callable
        Returns the name of the series of each cell.
    places : sequence of str
        Members of a specification that the picture shows along an axis, so that they are no settings.
    """
    if len(set(labels(gathered.cells))) <= MAX_SERIES:
        return gathered
    settings = [_setting(cell, places) for cell in gathered.cells]
    kept: set[str] = set()
    for setting, _ in Counter(settings).most_common(MAX_SERIES):
        tried = [cell for cell, own in zip(gathered.cells, settings) if own in kept | {setting}]
        if not kept or len(set(labels(tried))) <= MAX_SERIES:
            kept.add(setting)
    shown = [cell for cell, own in zip(gathered.cells, settings) if own in kept]
    texts = labels(shown)
    few = _most_frequent(texts)
    chosen = {id(cell) for cell, text in zip(shown, texts) if text in few}
    return _with_example(gathered, keep(gathered, lambda cell: id(cell) in chosen, "of other settings"))


def networks(gathered: Selection) -> Selection:
    """Keep networks of one rank, where there are some: operators and several ranks say little beside them."""
    for is_one, others in ((_is_of_one_rank, "of several ranks"), (_is_network, "of operators")):
        kept = [cell for cell in gathered.cells if is_one(cell)]
        gathered = _with_example(gathered, _keep(gathered, kept, others)) if kept else gathered
    return gathered


def _is_of_one_rank(cell: Cell) -> bool:
    return value_at(cell.first, "distributed") is None


def _is_network(cell: Cell) -> bool:
    return bool(cell.first["problem"]["task"] != OPERATOR)


def limit_workloads(gathered: Selection, most: int = MAX_WORKLOADS) -> Selection:
    """Keep the problems, modes and sizes with the most cells."""
    return _with_example(
        gathered, first_groups(gathered, lambda cell: cell.work, most, "of further problems")
    )


def _setting(cell: Cell, places: Sequence[str]) -> str:
    stated = cell.specification
    return canonical([stated[name] for name in _settings(stated, places)])


def _settings(stated: Mapping[str, Any], places: Sequence[str] = ()) -> list[str]:
    return sorted(name for name in stated if name not in _NO_SETTINGS and name not in places)


def _most_frequent(labels: Sequence[str]) -> set[str]:
    count: dict[str, int] = {}
    for label in labels:
        count[label] = count.get(label, 0) + 1
    return set(sorted(count, key=lambda label: -count[label])[:MAX_SERIES])


def _with_example(before: Selection, after: Selection) -> Selection:
    """Return what is left with the filter that shows the first of what was dropped."""
    shown = {id(cell) for cell in after.cells}
    dropped = [cell for cell in before.cells if id(cell) not in shown]
    words = _filter(dropped[0], after.cells) if dropped else ""
    if not words:
        return after
    *others, last = after.skipped
    return Selection(after.cells, (*others, f"{last} (e.g. {words} shows some)"))


def _filter(cell: Cell, shown: Sequence[Cell]) -> str:
    """Return the words of a filter that selects a cell and none of those that are shown, where there are such."""
    record = cell.first
    paths = [
        "problem.name",
        "mode",
        "batch_size",
        *(f"specification.{n}" for n in _settings(specification_of(record))),
    ]
    paths += [f"problem.parameters.{name}" for name in record["problem"]["parameters"]]
    paths += ["framework.name", "framework.full"]
    left, words = list(shown), []
    for path in paths:
        value = value_at(record, path)
        others = [other for other in left if value_at(other.first, path) != value]
        if others and isinstance(value, Hashable) and value is not None:
            words.append(f"{path.removesuffix('.name')}={_word(value)}")
            left = [other for other in left if value_at(other.first, path) == value]
    return " ".join(words)


def _word(value: Hashable) -> str:
    text = str(value).lower() if isinstance(value, bool) else short(str(value))
    return f"'{text}'" if " " in text else text
