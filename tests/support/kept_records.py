"""The records that the repository keeps, read once for all tests of a process that show them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from benchmarker import load_results
from benchmarker.analysis.charts import chart
from benchmarker.api.chart import Chart
from tests.conftest import ROOT

GROUP = "kept records"
"""The group of tests that share them."""


class Kept:
    """All of them, and what charts show of them; nobody changes them."""

    def __init__(self) -> None:
        self.results = load_results(ROOT / "results")
        self._charts: dict[str, Chart] = {}

    @cached_property
    def records(self) -> Sequence[Any]:
        return list(self.results)

    def those(self, **filters: Any) -> list[Any]:
        """Return those that :func:`benchmarker.load_results` would return with such filters."""
        wanted = set(self.results.filter(**filters).paths)
        return [record for path, record in zip(self.results.paths, self.records) if path in wanted]

    def chart(self, kind: str) -> Chart:
        """Return what a kind of picture shows of all."""
        if kind not in self._charts:
            self._charts[kind] = chart(kind, self.records)
        return self._charts[kind]
