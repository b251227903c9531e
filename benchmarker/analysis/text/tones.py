"""How good the news of a verdict is, and its colour where a text is shown on a terminal."""

from __future__ import annotations

import re

TONES = {
    **dict.fromkeys(("ok", "passed", "clean", "reproduced"), "good"),
    **dict.fromkeys(("noisy", "inconclusive", "skipped", "interrupted", "warn", "cannot tell"), "fair"),
    **dict.fromkeys(
        ("failed", "contaminated", "crashed", "out of memory", "timeout", "not reproduced", "broken"), "bad"
    ),
}
"""Statuses, grades and verdicts; the word itself is always there too."""

_SGR = {"good": "32", "fair": "33", "bad": "1;31"}
"""What ECMA-48 calls the colours: green, yellow, bold red."""
_WORDS = "|".join(sorted(TONES, key=len, reverse=True)).replace(" ", "[ _]")
# A cell of a table, a labelled line's first word, or what follows a colon: words within a sentence stay plain.
_VERDICT = re.compile(rf"((?:^|  |: ))({_WORDS})(?=$|  |[:;,]| against )", re.MULTILINE)


def coloured(text: str) -> str:
    """Return a text for a terminal with its verdicts in colour; no column moves."""
    return _VERDICT.sub(lambda found: f"{found[1]}{_in_colour(found[2])}", text)


def _in_colour(word: str) -> str:
    return f"\x1b[{_SGR[TONES[word.replace('_', ' ')]]}m{word}\x1b[0m"
