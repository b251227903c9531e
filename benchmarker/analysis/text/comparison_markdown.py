"""A comparison as Markdown, as a change request or the summary of a job shows it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from benchmarker.analysis.comparison.compare import Comparison
from benchmarker.analysis.comparison.gate import Gate
from benchmarker.analysis.comparison.verdict import INCONCLUSIVE
from benchmarker.analysis.text.comparison import parts
from benchmarker.analysis.text.comparison_sentences import gate_sentences
from benchmarker.analysis.text.comparison_words import percent_text
from benchmarker.analysis.text.markdown import escaped, markdown_table
from benchmarker.errors import plural

TITLE = "## benchmarker compare"


def comparison_markdown(
    comparison: Comparison, passed: Gate | None, *, require_conclusive: bool = False
) -> str:
    """Return what a comparison shows: whether it passes, its table, and folded how to read it.

    Parameters
    ----------
    comparison : Comparison
        Its rows and notes.
    passed : Gate or None
        What the limit says of them; None without one.
    require_conclusive : bool
        Whether a row of which nothing can be told does not pass.
    """
    found = parts(comparison)
    sentences = [f"- {escaped(sentence)}" for sentence in gate_sentences(passed)] if passed else []
    notes = [f"- {escaped(note)}" for note in found.notes]
    blocks = [
        TITLE,
        _outcome(comparison, passed, require_conclusive=require_conclusive),
        "\n".join(sentences),
        escaped(found.heading),
        markdown_table(found.columns),
        "\n".join(["<details><summary>How to read this</summary>", "", *notes, "", "</details>"]),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _outcome(comparison: Comparison, passed: Gate | None, *, require_conclusive: bool) -> str:
    verdicts = Counter(row.verdict.verdict if row.verdict else "no verdict" for row in comparison.rows)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    every = plural(len(comparison.rows), "row")
    untold = len(passed.untold) if passed else verdicts[INCONCLUSIVE] + verdicts["no verdict"]
    slower = f"shown to be slower by more than {percent_text(passed.limit)}" if passed else ""
    if passed and passed.slower:
        return f"**Failed**: {slower}: {len(passed.slower)} of {every}."
    if untold and require_conclusive:
        return f"**Failed**: no answer for {untold} of {every}."
    if passed is None:
        return f"**Compared**: {every}: {counts}."
    unknown = f"; no answer for {untold}" if untold else ""
    return f"**Passed**: {slower}: none of {every}{unknown}."


def text_markdown(text: str, outcome: str = "") -> str:
    """Return text that is laid out for a terminal, below what came of it."""
    fence = "`" * (max([2, *map(len, re.findall("`+", text))]) + 1)
    return "\n\n".join(filter(None, [TITLE, outcome, f"{fence}text\n{text}\n{fence}\n"]))


def troubles_markdown(troubles: Sequence[str]) -> str:
    """Return which new records are not in the results folder, for which the command fails."""
    bullets = "\n".join(f"- {escaped(trouble)}" for trouble in troubles)
    return f"**Failed**: not all new records are in the results folder.\n\n{bullets}\n\n"


def refusal_markdown(sentence: str) -> str:
    """Return why there is no comparison."""
    return f"{TITLE}\n\n**Not compared**: {escaped(sentence)}\n"
