"""Which side is faster, by how much, and whether that is shown.

Nothing here runs anything; only ``sides``, ``revisions`` and ``resolution`` read files.
"""

from __future__ import annotations

from benchmarker.analysis.comparison.compare import Comparison, Row, compare
from benchmarker.analysis.comparison.gate import Gate, gate
from benchmarker.analysis.comparison.matching import Side

__all__ = ["Comparison", "Gate", "Row", "Side", "compare", "gate"]
