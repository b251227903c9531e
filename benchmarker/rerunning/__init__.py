"""Running a record again, and what may be said of its number then; nothing here runs, and only ``locating`` reads."""

from __future__ import annotations

from benchmarker.rerunning.asking import experiment_of, interpreter_of, possible_here, with_interpreter
from benchmarker.rerunning.comparing import Comparison, compare
from benchmarker.rerunning.locating import with_problem_file
from benchmarker.rerunning.processes import processes_of
from benchmarker.rerunning.verdict import Verdict, judge

__all__ = [
    "Comparison",
    "Verdict",
    "compare",
    "experiment_of",
    "interpreter_of",
    "judge",
    "possible_here",
    "processes_of",
    "with_interpreter",
    "with_problem_file",
]
