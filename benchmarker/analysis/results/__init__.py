"""Records in hand: a folder of records becomes a list, and the list a table."""

from __future__ import annotations

from benchmarker.analysis.results.collection import Results as Results
from benchmarker.analysis.results.collection import collect as collect
