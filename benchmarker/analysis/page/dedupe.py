"""What many runs say alike stands in the page once."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from typing import Any

from benchmarker.analysis.page.sections import Part, Section


class Shared:
    """Different items in the order in which they came.

    Attributes
    ----------
    items : list
        Any JSON.
    """

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._places: dict[Hashable, int] = {}

    def place(self, key: Hashable, item: Any) -> int:
        """Return where the item with a key stands, put there if it is new."""
        if key not in self._places:
            self._places[key] = len(self.items)
            self.items.append(item)
        return self._places[key]


class SharedSections:
    """Sections of runs: equal ones once, and of different ones each pair of label and text once.

    Two runs on one machine agree in nearly all that was read of it, yet not in how long it was up.
    """

    def __init__(self) -> None:
        self._sections, self._pairs = Shared(), Shared()

    def places(self, sections: Iterable[Section]) -> list[int]:
        """Return where some sections stand."""
        smaller = map(self._smaller, sections)
        return [self._sections.place(json.dumps(section), section) for section in smaller]

    def as_data(self) -> dict[str, list[Any]]:
        """Return ``sections``, in which a row of ``pairs`` is its place in ``pairs``."""
        return {"sections": self._sections.items, "pairs": self._pairs.items}

    def _smaller(self, section: Section) -> Section:
        return {**section, "parts": [self._part(part) for part in section["parts"]]}

    def _part(self, part: Part) -> Part:
        if part["kind"] != "pairs":
            return part
        return {**part, "rows": [self._pairs.place(tuple(row), row) for row in part["rows"]]}
