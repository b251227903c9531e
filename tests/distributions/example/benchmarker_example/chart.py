"""A chart of how long whole runs took."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from benchmarker.api import Axis, Chart, ChartKind, Panel, Series, UsageError

WALL_TIME = ChartKind(
    "wall_time", "how long whole runs took, from start to end", "benchmarker_example.chart:chart"
)


def chart(records: Any, *, limit: int = 10) -> Chart:
    ended = [record for record in records if record["status"] == "ok"][:limit]
    if not ended:
        raise UsageError("a chart of wall time needs a run that ended well, got none")
    names = tuple(f"{record['framework']['name']} {record['problem']['name']}" for record in ended)
    bars = Series("runs", "bars", names, tuple(seconds(record) for record in ended))
    panel = Panel(
        Axis("run", scale="category", categories=names), Axis("wall time", "s", zero=True), series=(bars,)
    )
    return Chart("wall_time", "Wall time", f"{len(ended)} runs", (panel,))


def seconds(record: Any) -> float:
    moments = (datetime.fromisoformat(record[name].rstrip("Z")) for name in ("started_at", "ended_at"))
    started, ended = moments
    return (ended - started).total_seconds()
