"""One self-contained page about records: tables, pictures and every run, for a browser without a network."""

from __future__ import annotations

from benchmarker.report.page.building import MOST_RUNS, Page, make_page

__all__ = ["MOST_RUNS", "Page", "make_page"]
