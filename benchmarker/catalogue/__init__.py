"""What problems there are: task, size and cost of each, and which framework can run it.

``python -m benchmarker.catalogue`` writes what is kept of it, and ``docs/problems.md``, anew.
"""

from __future__ import annotations

from benchmarker.catalogue.facts import CATALOGUE, ProblemFacts, compute_facts, problem_facts
from benchmarker.catalogue.names import names
from benchmarker.catalogue.support import Support, framework_class, support

__all__ = [
    "CATALOGUE",
    "ProblemFacts",
    "Support",
    "compute_facts",
    "framework_class",
    "names",
    "problem_facts",
    "support",
]
