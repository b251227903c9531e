"""What a framework's checks left out, and why: each reason once."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarker.worker.conformance.result import NO_MEANING


def skipped_lines(results: Iterable[Mapping[str, Any]], width: int) -> list[str]:
    """Return how many checks were skipped, a line for each reason, the most frequent first.

    Operators that the framework lacks are told together, each with the number of checks that need it.
    """
    details = [result["detail"] for result in results if result["status"] == "skipped"]
    if not details:
        return []
    lacking = [
        detail.removeprefix(NO_MEANING).split(", ") for detail in details if detail.startswith(NO_MEANING)
    ]
    reasons = Counter(detail for detail in details if not detail.startswith(NO_MEANING))
    rows = [(count, reason) for reason, count in reasons.items()]
    if lacking:
        rows.append((len(lacking), NO_MEANING + _by_frequency(lacking)))
    rows.sort(key=lambda row: (-row[0], row[1]))
    lines = [line for count, reason in rows for line in _wrapped(f"{count:>5}  {reason}", width)]
    return [f"{len(details)} skipped:", *lines]


def _by_frequency(lacking: Sequence[Sequence[str]]) -> str:
    counts = Counter(operator for operators in lacking for operator in operators)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{operator} ({count})" for operator, count in ordered)


def _wrapped(line: str, width: int) -> list[str]:
    return textwrap.wrap(line, width, subsequent_indent=" " * 7, break_on_hyphens=False)
