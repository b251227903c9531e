"""Which side is faster, by how much, and whether that is shown.

Nothing here runs anything; only ``sides``, ``revisions`` and ``resolution`` read files.
"""

from __future__ import annotations

from benchmarker.comparison.cells import Side
from benchmarker.comparison.comparing import compare
from benchmarker.comparison.gate import Gate, gate
from benchmarker.comparison.rows import Comparison, Row

__all__ = ["Comparison", "Gate", "Row", "Side", "compare", "gate"]
