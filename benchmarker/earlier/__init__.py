"""Results of the earlier benchmarker (Drozd & Matsuoka), read into records: its files hold one number a run."""

from __future__ import annotations

from benchmarker.earlier.importing import Imported as Imported
from benchmarker.earlier.importing import import_results as import_results
