"""Checks of operators' cases, many in one program: to compile a program for each takes most of a check's time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph
from benchmarker.graph.transformations.side_by_side import prefix_of, side_by_side
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.conformance.cases import OperatorCase
from benchmarker.worker.conformance.result import CheckResult, Measurement
from benchmarker.worker.conformance.subject import (
    Check,
    Subject,
    reference_program,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[Any]]

MAX_CASES_OF_A_PROGRAM = 16

MeasureCases = Callable[[Sequence[OperatorCase], Subject], "list[Measurement]"]
"""Measures cases in one program, and returns what it found of each."""


@dataclass(frozen=True)
class CaseMeasure:
    """What a check measures of one case, which can be measured in one program with others."""

    case: OperatorCase
    measure_cases: MeasureCases

    def __call__(self, subject: Subject) -> Measurement:
        """Measure the case in a program of its own."""
        return self.measure_cases([self.case], subject)[0]


@dataclass(frozen=True)
class CaseProgram:
    """A framework's program of several cases, and the reference's of each.

    Parameters
    ----------
    cases, graphs, references : tuple
        Of each case the arguments, the graph and the reference's program.
    prefixes : tuple of str
        What the names of each begin with in ``graph`` and ``program``; nothing where there is only one.
    graph : Graph
        All of them side by side.
    parameters : dict
        Start values of all.
    program : Program
        The framework's.
    """

    cases: tuple[OperatorCase, ...]
    graphs: tuple[Graph, ...]
    references: tuple[Program, ...]
    prefixes: tuple[str, ...]
    graph: Graph
    parameters: Arrays
    program: Program

    @classmethod
    def build(
        cls,
        cases: Sequence[OperatorCase],
        graphs: Sequence[Graph],
        subject: Subject,
        mode: str,
        precision: str = "fp32",
    ) -> CaseProgram:
        """Build it."""
        alone = len(cases) == 1
        prefixes = ("",) if alone else tuple(map(prefix_of, range(len(cases))))
        graph = graphs[0] if alone else side_by_side(graphs)
        parameters = [case.values(each, subject.seed)[0] for case, each in zip(cases, graphs)]
        given = _joined(prefixes, parameters)
        program = subject.program(graph, given, mode, precision=precision)
        references = (reference_program(each, own, mode) for each, own in zip(graphs, parameters))
        return cls(tuple(cases), tuple(graphs), tuple(references), prefixes, graph, given, program)

    def batches(self, seed: int) -> list[Arrays]:
        """Return the mini-batch of each case."""
        return [case.values(graph, seed)[1] for case, graph in zip(self.cases, self.graphs)]

    def load(self, batches: Sequence[Arrays]) -> Any:
        """Return the framework's mini-batch of those of all cases."""
        return self.program.load(_joined(self.prefixes, batches))

    def parts(self, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return what belongs to each case, by its own names."""
        return [
            {name[len(prefix) :]: value for name, value in values.items() if name.startswith(prefix)}
            for prefix in self.prefixes
        ]


def _joined(prefixes: Sequence[str], values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{prefix}{name}": value for prefix, own in zip(prefixes, values) for name, value in own.items()}


# --- running them --------------------------------------------------------------------------------


def run_each(checks: Iterable[Check], subject: Subject) -> Iterator[CheckResult]:
    """Yield the result of each check, in order; cases that follow one another share a program.

    A case that does not pass among others has a program of its own, so its result is what :meth:`Check.run` returns.
    """
    for group in _groups(checks):
        yield from _results(group, subject)


def _groups(checks: Iterable[Check]) -> Iterator[list[Check]]:
    group: list[Check] = []
    for check in checks:
        measured_by = _measured_by(check)
        full = len(group) == MAX_CASES_OF_A_PROGRAM
        if group and (full or measured_by is None or measured_by is not _measured_by(group[-1])):
            yield group
            group = []
        group.append(check)
    if group:
        yield group


def _measured_by(check: Check) -> MeasureCases | None:
    """Return what measures the case of a check, and others beside it; None if the check is of no case."""
    return check.measure.measure_cases if isinstance(check.measure, CaseMeasure) else None


def _results(group: Sequence[Check], subject: Subject) -> list[CheckResult]:
    if len(group) == 1:
        return [group[0].run(subject)]
    found = _measured(group, subject)
    if found is None:
        middle = len(group) // 2
        return [*_results(group[:middle], subject), *_results(group[middle:], subject)]
    results = (CheckResult.of(check.name, measurement) for check, measurement in zip(group, found))
    return [
        result if result.status == "passed" else check.run(subject) for check, result in zip(group, results)
    ]


def _measured(group: Sequence[Check], subject: Subject) -> list[Measurement] | None:
    """Return what a program of all cases came to, None if it cannot be had."""
    measures = [check.measure for check in group if isinstance(check.measure, CaseMeasure)]
    try:
        return measures[0].measure_cases([measure.case for measure in measures], subject)
    except Exception:
        return None  # whatever it was, a smaller program will show whose it is
