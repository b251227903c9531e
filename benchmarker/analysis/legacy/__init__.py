"""Results of the earlier benchmarker (Drozd & Matsuoka), read into records: its files hold one number per run."""

from __future__ import annotations

from benchmarker.analysis.legacy.importing import Imported as Imported
from benchmarker.analysis.legacy.importing import import_results as import_results
