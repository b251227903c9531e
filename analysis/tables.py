"""Tables that several notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from benchmarker.analysis.comparison import Comparison
from benchmarker.analysis.comparison.recipe_rankings import recipe_rankings
from benchmarker.analysis.scaling.exchanges import exchange_of
from benchmarker.analysis.scaling.one_rank import workload_of
from benchmarker.analysis.scaling.scale import WEAK, Scaling
from benchmarker.analysis.text.factors import framework_label
from benchmarker.analysis.text.trainings import RANKING_HEADINGS, ranking_rows
from benchmarker.api.interconnect import Interconnect
from benchmarker.execution.emulated_links import parse_link
from benchmarker.records.lookup import Record


def verdicts(comparisons: Iterable[Comparison]) -> pd.DataFrame:
    """Return a row for each pair of numbers: their ratio with its 95 % interval, and what it shows.

    Parameters
    ----------
    comparisons : iterable of Comparison
        As :func:`benchmarker.analysis.comparison.compare` returns them.
    """
    rows = [row for comparison in comparisons for row in comparison.rows]
    return pd.DataFrame(
        {
            "problem": row.keys["problem"],
            "baseline": row.first.side,
            "other": row.other.side,
            "ratio": round(row.ratio, 3),
            "95 % interval": _interval(row.paired.ci95 if row.paired else None),
            "pairs": row.paired.pairs if row.paired else 0,
            "verdict": row.verdict.verdict if row.verdict else f"none: {row.why_none}",
            "smallest effect": f"{row.smallest_effect - 1:.1%}" if row.smallest_effect else "",
        }
        for row in rows
    )


def _interval(ends: tuple[float, float] | None) -> str:
    return f"[{ends[0]:.3f}, {ends[1]:.3f}]" if ends else ""


def trained(records: Sequence[Record]) -> pd.DataFrame:
    """Return a row for each framework and recipe, the first at the target first, with probabilities of no difference.

    Parameters
    ----------
    records : sequence of dict
        Of trainings by recipes.
    """
    rows = []
    for ranking in recipe_rankings(records, framework_label):
        told = ranking.comparison.rows
        probabilities = [(None, None), *((row.steps_p, row.seconds_p) for row in told)]
        rows += [(*row, *map(_probability, p)) for row, p in zip(ranking_rows(ranking), probabilities)]
    head = list(RANKING_HEADINGS)
    head[4], head[6] = "steps, 95 % interval", "seconds, 95 % interval"
    frame = pd.DataFrame(rows, columns=[*head, "p, steps", "p, seconds"])
    return frame.set_index(["recipe", "framework"])


def _probability(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


def of_ranks(records: Iterable[Record]) -> pd.DataFrame:
    """Return a row for each run of several ranks: who exchanged what, how many bytes, and the step of the slowest rank.

    Parameters
    ----------
    records : iterable of dict
        Any; what is of one rank is left out.
    """
    return pd.DataFrame(_rank_row(record) for record in records if record["distributed"])


def _rank_row(record: Record) -> dict[str, object]:
    found = record["distributed"]
    volume = found["volume"] or {}
    formula, wire = volume.get("expected_bytes"), volume.get("wire_bytes")
    return {
        "framework": record["framework"]["name"],
        "scheme": found["scheme"],
        "exchange": found["exchange"],
        "ranks": found["ranks"],
        "network": found["network"]["rate"],
        "step [ms]": 1e3 * record["timing"]["step_seconds"]["median"],
        "mean step [ms]": 1e3 * record["timing"]["step_seconds"]["mean"],
        "formula [KiB]": formula / 1024 if formula else None,
        "wire [KiB]": wire / 1024 if wire else None,
        "wire / formula": wire / formula if formula and wire else None,
    }


EMULATED_LATENCY_SECONDS = 30e-6
"""Of a link between two network namespaces of one machine."""


def predicted_steps(records: Sequence[Record]) -> pd.DataFrame:
    """Return the steps of ranks on emulated links as they were predicted from one rank, and as they were measured.

    Parameters
    ----------
    records : sequence of dict
        One of a single rank, and those of weak scaling on emulated links.
    """
    (alone,) = (record for record in records if not record["distributed"])
    scaling = Scaling(WEAK, {alone["batch_size"]: workload_of([alone])})
    rows = of_ranks(record for record in records if record["distributed"])
    links = [parse_link(rate) for rate in rows["network"]]
    rows["predicted [ms]"] = [
        1e3 * _predicted(scaling, scheme, ranks, link.bits_per_second / 8)
        for scheme, ranks, link in zip(rows["scheme"], rows["ranks"], links)
    ]
    rows["error"] = (rows["predicted [ms]"] / rows["mean step [ms]"] - 1).map("{:+.0%}".format)
    table = rows.rename(columns={"mean step [ms]": "measured [ms]"}).set_index(["scheme", "network", "ranks"])
    return table[["predicted [ms]", "measured [ms]", "error"]].sort_index()


def _predicted(scaling: Scaling, scheme: str, ranks: int, bytes_per_second: float) -> float:
    network = Interconnect("emulated", EMULATED_LATENCY_SECONDS, bytes_per_second)
    curve = scaling.curve([ranks], exchange_of(scheme), network, overlap=False)
    return curve.points[0].prediction.step_seconds
