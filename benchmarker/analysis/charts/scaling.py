"""Predicted steps of several ranks: speed-up beside the ideal, and what a step is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarker.analysis.scaling.scale import Curve, Point, Scaling
from benchmarker.analysis.text.units import time_unit
from benchmarker.api.chart import Axis, Chart, Panel, Series

_IDEAL_COLOUR = 7
"""Black, which no framework has."""
MAX_CURVES = 7


def chart(title: str, scaling: Scaling, curves: Sequence[Curve]) -> Chart:
    """Return efficiency and step time against ranks, of each scheme and network.

    Parameters
    ----------
    title : str
        What was measured.
    scaling : Scaling
        From which records.
    curves : sequence of Curve
        At least one; the first :data:`MAX_CURVES` are drawn.
    """
    shown = curves[:MAX_CURVES]
    times = scaling.workloads[scaling.batch_size].times
    left_out = f" {len(curves) - len(shown)} more are not drawn." if len(curves) > len(shown) else ""
    return Chart(
        kind="scaling",
        title=f"Predicted: {title}, {scaling.kind} scaling",
        caption=f"Predicted from {times.described} of one rank, not measured. Bands: 95 % of steps.{left_out}",
        panels=(_efficiency(shown), _steps(shown)),
    )


def _ranks(curve: Curve) -> tuple[int, ...]:
    return tuple(point.prediction.ranks for point in curve.points)


def _name(curve: Curve) -> str:
    return f"{curve.exchange.name}, {curve.network.name}"


def _axis() -> Axis:
    return Axis("ranks", "", scale="log2")


def _efficiency(curves: Sequence[Curve]) -> Panel:
    lines = _lines(curves, _percent)
    ranks = _ranks(curves[0])
    ideal = Series("ideal", "line", ranks, (100.0,) * len(ranks), colour=_IDEAL_COLOUR, dashed=True)
    return Panel(_axis(), Axis("efficiency", "%", zero=True), "Efficiency", (*lines, ideal))


def _percent(point: Point, seconds: float) -> float:
    """Return the efficiency of steps of so many seconds."""
    return 100 * point.efficiency * point.prediction.step_seconds / seconds


def _steps(curves: Sequence[Curve]) -> Panel:
    found = [point.prediction for curve in curves for point in curve.points]
    factor, unit = time_unit(one.step_seconds for one in found) or (1.0, "s")
    lines = _lines(curves, lambda point, seconds: seconds / factor)
    return Panel(_axis(), Axis("step", unit, scale="log"), "Step", lines)


def _lines(curves: Sequence[Curve], value: Callable[[Point, float], float]) -> tuple[Series, ...]:
    """Return a line for each curve, of what a step of so many seconds at a point is worth."""
    return tuple(_line(index, curve, value) for index, curve in enumerate(curves))


def _line(index: int, curve: Curve, value: Callable[[Point, float], float]) -> Series:
    ends = [sorted((value(p, p.prediction.low), value(p, p.prediction.high))) for p in curve.points]
    return Series(
        _name(curve),
        "line",
        _ranks(curve),
        tuple(value(point, point.prediction.step_seconds) for point in curve.points),
        low=tuple(low for low, _ in ends),
        high=tuple(high for _, high in ends),
        colour=index,
        band=True,
    )
