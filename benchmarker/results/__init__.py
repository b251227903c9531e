"""Records in hand: a folder of records becomes a list, and the list a table."""

from __future__ import annotations

from benchmarker.results.collection import Results as Results
from benchmarker.results.collection import collect as collect
