"""Running a record again, and what may be said of its number then; nothing here runs, and only ``locating`` reads."""

from __future__ import annotations

from benchmarker.analysis.reproduction.compare import Comparison, compare
from benchmarker.analysis.reproduction.processes import processes_of, sibling_processes, valid_record
from benchmarker.analysis.reproduction.verdict import Verdict, judge
from benchmarker.orchestration.rerun import (
    experiment_from_record,
    fit_to_machine,
    interpreter_of,
    with_interpreter,
    with_problem_file,
)

__all__ = [
    "Comparison",
    "Verdict",
    "compare",
    "experiment_from_record",
    "fit_to_machine",
    "interpreter_of",
    "judge",
    "processes_of",
    "sibling_processes",
    "valid_record",
    "with_interpreter",
    "with_problem_file",
]
