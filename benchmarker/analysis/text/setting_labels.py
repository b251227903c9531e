"""Named settings in a few words: those that differ between rows, and none so long that it fills a table."""

from __future__ import annotations

import hashlib
import itertools
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

MAX_LENGTH = 40
"""Characters of a value that is shown whole."""

Settings = Mapping[str, Any]


def setting_texts(
    rows: Sequence[Settings], owners: Sequence[Hashable], always_shown: Sequence[Collection[str]]
) -> list[str]:
    """Return ``name=value ...`` for each row.

    Parameters
    ----------
    rows : sequence of mapping
        The settings of each row.
    owners : sequence
        Whose they are: settings of different owners are not compared.
    always_shown : sequence of collection of str
        Names that a row tells even if nothing differs.
    """
    found: dict[tuple[Hashable, str], list[str]] = defaultdict(list)
    for owner, row in zip(owners, rows):
        for name, value in row.items():
            found[owner, name].append(_text(value))
    short = {key: shortened(texts) for key, texts in found.items()}
    return [
        " ".join(
            f"{name}={short[owner, name][_text(value)]}"
            for name, value in row.items()
            if name in names or len(short[owner, name]) > 1
        )
        for owner, row, names in zip(owners, rows, always_shown)
    ]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def shortened(texts: Collection[str]) -> dict[str, str]:
    """Return a short form of each text, different if the texts are.

    Of texts that are long, e.g. the layers of a network, the place where they differ is shown, or a digest
    where that is long too.
    """
    texts = list(dict.fromkeys(texts))
    if max(map(len, texts)) <= MAX_LENGTH:
        return {text: text for text in texts}
    places = [f"...{place}..." for place in _differences(texts)]
    if len(texts) > 1 and max(map(len, places)) <= MAX_LENGTH:
        return dict(zip(texts, places))
    return {text: f"{text[:8]}...{hashlib.sha256(text.encode()).hexdigest()[:8]}" for text in texts}


def _differences(texts: Sequence[str]) -> list[str]:
    """Return each text without the members of a list or object that all begin with, or all end with."""
    start = _common(texts, "[{,")
    rest = [text[start:] for text in texts]
    end = _common([text[::-1] for text in rest], "]},")
    return [text[: len(text) - end].strip() for text in rest]


def _common(texts: Sequence[str], limits: str) -> int:
    """Return how many characters all begin with, up to a limit, so that no name is cut off its value."""
    same = itertools.takewhile(lambda characters: len(set(characters)) == 1, zip(*texts))
    common = "".join(first for first, *_ in same)
    return max(common.rfind(limit) for limit in limits) + 1
