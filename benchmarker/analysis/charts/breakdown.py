"""Where the time of a step goes, as measured, and where operations and bytes go, as the graph predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from benchmarker.analysis.charts.caption import caption
from benchmarker.analysis.charts.labels import names, title_of, workload_labels
from benchmarker.analysis.charts.quantities import Unit, times
from benchmarker.analysis.charts.selection import few_series, first_groups, gather
from benchmarker.api.chart import Axis, Chart, Panel, Series
from benchmarker.errors import BenchmarkerError
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, value_at
from benchmarker.statistics import percentile

if TYPE_CHECKING:
    from benchmarker.graph.cost import NodeCost


_WAITING = "synchronisation"
"""Contained in the other parts."""
_MAX_OPERATORS, _MIN_SHARE = 7, 1.0
"""Operators that have a name, and the percentage that one must have somewhere."""
_UPDATE, _UNEXPLAINED, _OTHER = "update", "unexplained", "other"
_MEASURED = (
    "Measured: medians, in a separate pass with a synchronization after each part, so a step takes longer than "
    "in the other pictures."
)
_PROFILED = (
    "Operators: by the frameworks' own profilers, which slow a step down; medians over processes. Where operators ran "
    "side by side their shares exceed the step."
)
_UNKNOWN = "The problem is not known here, so nothing is predicted."
_PREDICTED = "Predicted: from the graph, elementwise operations included, bytes without fusion or caches."
_Cost = tuple["NodeCost", ...]
_Shares = Mapping[str, float]
"""Percent of a step by operator; the update of parameters and what is not explained are among them."""
_QUANTITIES: Mapping[str, Callable[[NodeCost], int]] = {
    "operations": lambda node: node.flops + node.elementwise_flops,
    "bytes moved": lambda node: node.bytes,
}


def chart(records: Sequence[Record], *, problems: int = 2) -> Chart:
    """Return the parts of a step for each framework, and the shares of operators, for each problem.

    Parameters
    ----------
    records : sequence of dict
        Any; those that did not end well are left out.
    problems : int
        How many problems at most, those with the most configurations.

    Raises
    ------
    UsageError
        If no run ended well with a breakdown, and no problem is known here.
    """
    gathered = gather(records, "runs with --breakdown, or of a problem that is known here", _has_any)
    if any(map(_has_breakdown, (record for cell in gathered.cells for record in cell.well))):
        gathered = gather(records, "runs with --breakdown", _has_breakdown, "without a breakdown")
    gathered = first_groups(
        few_series(gathered), lambda cell: cell.work, max(1, problems), "of further problems"
    )
    groups: dict[str, list[Cell]] = {}
    for cell, work in zip(gathered.cells, workload_labels(gathered.cells)):
        groups.setdefault(work, []).append(cell)
    with_parts = {name: [cell for cell in cells if _parts(cell)] for name, cells in groups.items()}
    measured = [_measured(name, cells) for name, cells in with_parts.items() if cells]
    profiled = [cell for cell in gathered.cells if _measured_shares(cell)]
    operators = _measured_operators(groups, profiled) if profiled else _predicted_operators(groups)
    return Chart(
        kind="breakdown",
        title=title_of("Parts of a step", gathered.cells),
        caption=caption(
            gathered,
            _MEASURED if measured else "No run has measured its parts; --breakdown does that.",
            _PROFILED if profiled else _PREDICTED if operators else _UNKNOWN,
        ),
        panels=tuple(panel for pair in _side_by_side(measured, operators) for panel in pair),
    )


def _measured_operators(groups: Mapping[str, Sequence[Cell]], profiled: Sequence[Cell]) -> list[Panel]:
    """Return a panel of each problem for which a profiler saw operators."""
    ranks = _measured_ranks(profiled)
    return [
        _measured_panel(name, cells, ranks)
        for name, cells in groups.items()
        if any(cell in profiled for cell in cells)
    ]


def _predicted_operators(groups: Mapping[str, Sequence[Cell]]) -> list[Panel]:
    """Return a panel of each problem that is known here."""
    costs = {name: nodes for name, cells in groups.items() if (nodes := _nodes(cells[0].first))}
    ranked = _ranked(list(costs.values()))
    return [_predicted(name, nodes, ranked) for name, nodes in costs.items()]


def _side_by_side(measured: Sequence[Panel], predicted: Sequence[Panel]) -> list[tuple[Panel, ...]]:
    """Return the panels of each problem together."""
    if len(measured) != len(predicted):
        return [(*measured, *predicted)]
    return list(zip(measured, predicted))


def _has_any(record: Record) -> bool:
    return bool(_has_breakdown(record) or _nodes(record))


def _has_breakdown(record: Record) -> bool:
    return bool(_record_parts(record) or _has_operators(record))


def _record_parts(record: Record) -> Mapping[str, Any]:
    parts: Mapping[str, Any] = value_at(record, "timing.breakdown.parts") or {}
    return {name: part for name, part in parts.items() if name != _WAITING}


def _parts(cell: Cell) -> dict[str, float]:
    """Return the seconds of each part, the median of processes."""
    found: dict[str, list[float]] = {}
    for record in cell.well:
        for name, part in _record_parts(record).items():
            found.setdefault(name, []).append(part["median_seconds"])
    return {name: percentile(sorted(values), 50) for name, values in found.items()}


def _measured(title: str, cells: Sequence[Cell]) -> Panel:
    labels = names(cells)
    parts = [_parts(cell) for cell in cells]
    unit = times([sum(found.values()) for found in parts])
    every = tuple(dict.fromkeys(name for found in parts for name in found))
    return Panel(
        Axis("framework", scale="category", categories=labels),
        Axis("time per step", unit.name, zero=True),
        f"{title}: measured",
        tuple(_part(name, colour, labels, parts, unit) for colour, name in enumerate(every)),
    )


def _part(
    name: str, colour: int, labels: tuple[str, ...], parts: Sequence[Mapping[str, float]], unit: Unit
) -> Series:
    values = tuple(unit(found.get(name)) for found in parts)
    texts = tuple(f"{name}: {unit.text(found[name])}" if name in found else "" for found in parts)
    return Series(name, "stacked", labels, values, texts=texts, colour=colour)


def _nodes(record: Record) -> _Cost:
    """Return the cost of each node of the record's graph; nothing for a problem that is not known here."""
    problem = record["problem"]
    return _known_nodes(
        problem["name"],
        tuple(sorted(problem["parameters"].items())),
        record["batch_size"],
        record["mode"] == "training",
    )


def _known_nodes(name: str, parameters: tuple[tuple[str, Any], ...], batch: int, training: bool) -> _Cost:
    try:
        return _counted(name, parameters, batch, training)
    except (BenchmarkerError, TypeError):
        return ()


@lru_cache(maxsize=64)
def _counted(name: str, parameters: tuple[tuple[str, Any], ...], batch: int, training: bool) -> _Cost:
    from benchmarker import registry
    from benchmarker.graph.cost import graph_cost

    graph = registry.installed_problem(name).graph(batch, **dict(parameters))
    return graph_cost(graph if training else graph.without_loss(), training=training).nodes


def _predicted(title: str, nodes: _Cost, ranked: Sequence[str]) -> Panel:
    """Return the shares of operators; each has the colour of its rank."""
    shares = {name: _predicted_shares(nodes, quantity) for name, quantity in _QUANTITIES.items()}
    for found in shares.values():
        found[_OTHER] = sum(share for operator, share in found.items() if operator not in ranked)
    return _shares_panel(f"{title}: predicted, by operator", "predicted", shares, (*ranked, _OTHER))


def _ranked(problems: Sequence[_Cost]) -> list[str]:
    """Return the operators with the largest shares in any of the problems."""
    return _largest(
        _predicted_shares(nodes, quantity) for nodes in problems for quantity in _QUANTITIES.values()
    )


def _predicted_shares(nodes: _Cost, quantity: Callable[[NodeCost], int]) -> dict[str, float]:
    """Return percent of the whole by operator."""
    total = sum(map(quantity, nodes)) or 1
    found: dict[str, float] = {}
    for node in nodes:
        found[node.operator] = found.get(node.operator, 0.0) + 100.0 * quantity(node) / total
    return found


def _largest(shares: Iterable[_Shares]) -> list[str]:
    """Return the operators with the largest shares in any of these."""
    largest: dict[str, float] = {}
    for found in shares:
        for operator, share in found.items():
            largest[operator] = max(share, largest.get(operator, 0.0))
    operators = [name for name, share in largest.items() if share >= _MIN_SHARE and name != _UNEXPLAINED]
    return sorted(operators, key=lambda operator: -largest[operator])[:_MAX_OPERATORS]


def _shares_panel(title: str, of: str, shares: Mapping[str, _Shares], operators: Sequence[str]) -> Panel:
    """Return a bar for each of ``shares``, in percent of a step; each operator has the colour of its place."""
    series = tuple(
        Series(
            operator,
            "stacked",
            tuple(shares),
            tuple(found.get(operator, 0.0) for found in shares.values()),
            texts=tuple(f"{operator}: {found.get(operator, 0.0):.1f} %" for found in shares.values()),
            colour=colour,
        )
        for colour, operator in enumerate(operators)
        if any(found.get(operator) for found in shares.values())
    )
    return Panel(
        Axis(of, scale="category", categories=tuple(shares)),
        Axis("share of a step", "%", zero=True),
        title,
        series,
    )


# --- measured by profilers ------------------------------------------------------------------------


def _has_operators(record: Record) -> bool:
    """Whether a record has operators that were measured."""
    return bool(value_at(record, "profile.nodes"))


def _measured_shares(cell: Cell) -> _Shares:
    """Return the shares of a cell, the median of processes; nothing where no process has any."""
    found: dict[str, list[float]] = {}
    measured = [_profile_shares(record) for record in cell.well if _has_operators(record)]
    for name in dict.fromkeys(name for each in measured for name in each):
        found[name] = sorted(each.get(name, 0.0) for each in measured)
    return {name: percentile(values, 50) for name, values in found.items()}


def _profile_shares(record: Record) -> dict[str, float]:
    profile = record["profile"]
    found: dict[str, float] = {}
    for node in profile["nodes"]:
        found[node["operator"]] = found.get(node["operator"], 0.0) + 100.0 * node["share"]
    if profile["update_seconds"] is not None:
        found[_UPDATE] = 100.0 * profile["update_seconds"] / profile["step_seconds"]
    found[_UNEXPLAINED] = 100.0 * profile["unexplained_share"]
    return found


def _measured_ranks(cells: Sequence[Cell]) -> list[str]:
    """Return the operators with the largest shares in any of the cells."""
    return _largest(map(_measured_shares, cells))


def _measured_panel(title: str, cells: Sequence[Cell], ranks: Sequence[str]) -> Panel:
    """Return the shares of each framework; an operator has the colour of its rank."""
    measured = [cell for cell in cells if _measured_shares(cell)]
    each = {label: _gathered(_measured_shares(cell), ranks) for label, cell in zip(names(measured), measured)}
    operators = (*ranks, _OTHER, _UNEXPLAINED)
    return _shares_panel(f"{title}: measured, by operator", "framework", each, operators)


def _gathered(found: _Shares, ranks: Sequence[str]) -> _Shares:
    kept = {name: share for name, share in found.items() if name in (*ranks, _UNEXPLAINED)}
    rest = sum(share for name, share in found.items() if name not in kept)
    return {**kept, _OTHER: rest}
