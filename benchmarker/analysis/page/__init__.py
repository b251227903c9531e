"""One self-contained page about records: tables, pictures and every run, for a browser without a network."""

from __future__ import annotations

from benchmarker.analysis.page.build import MAX_RUNS, Page, make_page

__all__ = ["MAX_RUNS", "Page", "make_page"]
