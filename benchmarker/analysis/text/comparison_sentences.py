"""A comparison as JSON and as sentences: the ratio with its interval before the verdict, and never without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from benchmarker.analysis.comparison.compare import Comparison, Row
from benchmarker.analysis.comparison.gate import Gate
from benchmarker.analysis.comparison.self_comparison import SelfComparison
from benchmarker.analysis.comparison.verdict import EQUIVALENT, INCONCLUSIVE
from benchmarker.analysis.text.comparison_words import (
    conditions,
    distinguishing_keys,
    interval_text,
    label,
    percent_text,
    ratio_text,
    skipped_text,
    title_of,
    value_text,
)
from benchmarker.analysis.text.layout import joined
from benchmarker.errors import plural
from benchmarker.statistics import CONFIDENCE

INTERRUPTED = "interrupted before all pairs were made"


def as_json(
    comparison: Comparison, passed: Gate | None, without_turns: str | None = None, error: str | None = None
) -> dict[str, Any]:
    """Return a comparison as JSON values.

    Parameters
    ----------
    comparison : Comparison
        Its rows and notes.
    passed : Gate or None
        What the limit says of them.
    without_turns : str or None
        Why the processes of new pairs did not take turns, where they were to.
    error : str or None
        Why there are fewer rows than were asked for.
    """
    return {
        "confidence": CONFIDENCE,
        "correction": "Holm",
        "rows": [_row(row) for row in comparison.rows],
        "notes": list(comparison.notes),
        "gate": None if passed is None else _gate(comparison, passed),
        "without_turns": without_turns,
        "error": error,
    }


def refusal_json(reason: str, *, with_itself: bool) -> dict[str, Any]:
    """Return what ``--json`` prints where nothing could be compared."""
    if with_itself:
        return {"resolution": None, "kept": False, "sentence": reason, "error": reason}
    return as_json(Comparison((), ()), None, error=reason)


def _row(row: Row) -> dict[str, Any]:
    values = asdict(row)
    # Readers of the JSON know these by names of their own.
    values["left_out"] = values.pop("skipped")
    for side in ("first", "other"):
        values[side]["aspects"] = values[side].pop("factors")
    verdict = values.pop("verdict") or {"verdict": None, "p": None, "p_adjusted": None}
    return {"sentence": sentence(row), **verdict, **values}


def _gate(comparison: Comparison, passed: Gate) -> dict[str, Any]:
    def places(rows: Sequence[Row]) -> list[int]:
        return [i for i, row in enumerate(comparison.rows) if any(row is one for one in rows)]

    return {"limit": passed.limit, "slower": places(passed.slower), "untold": places(passed.untold)}


def self_comparison_json(found: SelfComparison) -> dict[str, Any]:
    return {
        "resolution": None if found.resolution is None else asdict(found.resolution),
        "kept": found.kept,
        "left_out": dict(found.pairing.skipped),
        "without_turns": found.without_turns,
        "sentence": self_comparison_text(found),
        "error": INTERRUPTED if found.interrupted else None,
    }


def sentence(row: Row) -> str:
    """Return what a row says: the two sides, the ratio with its interval, and the verdict or why there is none."""
    verdict = row.verdict.verdict if row.verdict else None
    words = {None: "against", EQUIVALENT: "is equivalent to", INCONCLUSIVE: "against"}
    relation = words.get(verdict, f"is {verdict} than")
    end = f"no verdict: {row.why_none}" if row.why_none else ""
    if verdict == INCONCLUSIVE:
        end = INCONCLUSIVE
    parts = [f"ratio {ratio_text(row.ratio)}", _known(row), end]
    return f"{label(row.other, row.first)} {relation} {label(row.first, row.other)}: {joined(parts)}"


def _known(row: Row) -> str:
    if row.paired is None:
        return f"{plural(row.other.processes, 'process')} against {row.first.processes}"
    return f"95 % interval {interval_text(row)} of {row.paired.pairs} pairs"


def gate_sentences(passed: Gate) -> Iterator[str]:
    """Yield what is to be said of rows that are too slow, or of which that cannot be told."""
    works = _works([*passed.slower, *passed.untold])
    phrases = ["slower by more than"] * len(passed.slower)
    phrases += ["cannot tell whether it is slower by more than"] * len(passed.untold)
    for row, work, how in zip((*passed.slower, *passed.untold), works, phrases):
        yield f"{how} {percent_text(_bound(row, passed))}: {work}: {sentence(row)}"


def _bound(row: Row, passed: Gate) -> float:
    return max(passed.limit, row.margin.value)


def self_comparison_text(found: SelfComparison) -> str:
    """Return what an A/A comparison says, and whether it bounds the margin from now on."""
    resolution, pairing = found.resolution, found.pairing
    out = skipped_text(pairing.skipped)
    if resolution is None:
        return (
            f"nothing can be said about what this machine resolves: {plural(len(pairing.pairs), 'pair')}, of which "
            f"{len(pairing.counting)} count{f' ({out})' if out else ''}"
        )
    verdict, width = resolution.verdict, resolution.half_width
    alarm = "" if verdict in (EQUIVALENT, INCONCLUSIVE) else f"; a false alarm: {verdict}"
    bound = f"margins on this machine are at least {percent_text(2 * width)} now"
    end = bound if found.kept else "not kept, since disturbed processes were counted"
    return (
        f"{resolution.problem} on {resolution.framework} against itself, "
        f"{joined([plural(resolution.pairs, 'pair'), out])}: the ratio is known to within "
        f"{percent_text(width)}{alarm}; {end}"
    )


def _works(rows: Sequence[Row]) -> list[str]:
    """Return the work of each row, with what tells it from the other rows' work."""
    flat = conditions(rows) if rows else []
    telling = [name for name in distinguishing_keys(flat) if name not in ("problem", "mode", "batch_size")]
    return [
        joined(
            [
                f"{keys['problem']} {keys['mode']}, batch {keys['batch_size']}",
                *(f"{title_of(name)} {value_text(keys.get(name))}" for name in telling),
            ]
        )
        for keys in flat
    ]
