"""The command ``compare`` as functions of Python, which users reach as ``benchmarker.compare`` and so on."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Union

from benchmarker.analysis.calls.run import OnLine, progress_reporter
from benchmarker.analysis.comparison.compare import Comparison, Row
from benchmarker.analysis.comparison.gate import Gate
from benchmarker.analysis.comparison.matching import Side
from benchmarker.analysis.comparison.request import ComparisonRequest
from benchmarker.analysis.comparison.resolution import Resolution
from benchmarker.analysis.comparison.self_comparison import SelfComparison
from benchmarker.analysis.results.collection import Results
from benchmarker.analysis.text.comparison import as_text
from benchmarker.analysis.text.comparison_sentences import (
    as_json,
    gate_sentences,
    self_comparison_json,
    self_comparison_text,
)
from benchmarker.analysis.text.html import comparison_html, self_comparison_html
from benchmarker.api.given_values import path_of, possible_paths, shown
from benchmarker.errors import UsageError
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.remote.opening import open_place
from benchmarker.records.store import DEFAULT_FOLDER

SideLike = Union[str, "os.PathLike[str]", Results]


@dataclass(frozen=True)
class ComparisonResult:
    """What a comparison has shown; printed, it is the command's table.

    Parameters
    ----------
    comparison : Comparison
        Its rows, each with ratio, interval and verdict, and its notes.
    gate : Gate or None
        What ``fail_if_slower`` says of them.
    troubles : sequence of str
        What became of each new record that is not in the results folder, and of each run that left none; each was
        a warning too.
    without_turns : str or None
        Why the processes of new pairs did not take turns, where they were to.
    """

    comparison: Comparison
    gate: Gate | None = None
    troubles: Sequence[str] = ()
    without_turns: str | None = None

    @property
    def rows(self) -> tuple[Row, ...]:
        """A row for each two cells that did the same work."""
        return self.comparison.rows

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out."""
        return self.comparison.notes

    @property
    def verdicts(self) -> list[str | None]:
        """Of each row: faster, slower, equivalent or inconclusive; None where there must be no verdict."""
        return [row.verdict.verdict if row.verdict else None for row in self.rows]

    @property
    def passed(self) -> bool:
        """Whether no row is shown to be slower than ``fail_if_slower`` allows."""
        return self.gate is None or not self.gate.slower

    def to_dict(self) -> dict[str, Any]:
        """Return the object that the command's ``--json`` prints."""
        return as_json(self.comparison, self.gate, self.without_turns)

    def __str__(self) -> str:
        return "\n".join([as_text(self.comparison), *self._gate_notes()])

    def _repr_html_(self) -> str:
        return comparison_html(self.comparison, self._gate_notes())

    def _gate_notes(self) -> list[str]:
        return list(gate_sentences(self.gate)) if self.gate else []


def compare(
    *sides: SideLike,
    run: bool | Sequence[str] = False,
    pairs: int | None = None,
    profile: str | None = None,
    margin: float | None = None,
    include_contaminated: bool = False,
    fail_if_slower: float | None = None,
    turns: bool = True,
    results: str | os.PathLike[str] = DEFAULT_FOLDER,
    progress: OnLine | None = None,
) -> ComparisonResult:
    """Say which side is faster, by how much, and whether that is shown, as the command ``compare`` does.

    Parameters
    ----------
    *sides : str, path or Results
        At least two, the first is the baseline: a record (file, name or part of its identifier), a folder, filters
        (``"framework=pytorch problem=resnet50"``), a framework's version (``"pytorch==2.12.0"``), a commit of this
        repository (``"git:v1.2"``), or records in hand.
    run : bool or sequence of str
        Whether to make the pairs first, by the newest records of the sides; for commits and versions the options of the
        command ``run`` that are to be run at each, e.g. ``["--framework=numpy", "--problem=mnist_mlp"]``.
    pairs : int or None
        How many pairs to make; None makes 20, or ten of commits, of versions or with ``turns=False``.
    profile : str or None
        ``quick``, ``standard`` or ``rigorous``, instead of ``pairs``.
    margin : float or None
        Ratios nearer to 1 are equivalent, e.g. 0.02, which None stands for.
    include_contaminated : bool
        Whether processes count that the machine disturbed.
    fail_if_slower : float or None
        The limit that :attr:`ComparisonResult.passed` holds rows against, e.g. 0.05.
    turns : bool
        Whether the two processes of a pair that is made take turns in short windows, where they can.
    results : path
        The folder of records.
    progress : callable or None
        Takes lines of text that say how far making pairs is, e.g. ``print``; None for silence.

    Raises
    ------
    UsageError
        If what was asked makes no sense, or the sides are not comparable.
    KeyboardInterrupt
        After the worker was ended and the record of its run was written.
    """
    request = ComparisonRequest(
        sides=_named(sides),
        results=open_place(results),
        run=bool(run),
        words=_words(run),
        pairs=pairs,
        profile=profile,
        margin=margin,
        include_contaminated=include_contaminated,
        fail_if_slower=fail_if_slower,
        turns=turns,
    )
    return _compared(request, progress)


def _compared(request: ComparisonRequest, progress: OnLine | None) -> ComparisonResult:
    with possible_paths():
        if not request.run:
            return ComparisonResult(*request.compared(request.found_sides()))
        made = request.made_sides(progress_reporter(progress))
    _warn(made.troubles)
    if made.interrupted:
        raise _interrupted(request)
    return ComparisonResult(*request.compared(made.sides), made.troubles, made.without_turns)


def _warn(troubles: Sequence[str]) -> None:
    for trouble in troubles:
        warnings.warn(trouble, stacklevel=4)  # of who has called the function that is public


def _interrupted(request: ComparisonRequest) -> KeyboardInterrupt:
    return KeyboardInterrupt(f"the pairs that were made are in '{request.results}'")


def _words(run: bool | Sequence[str]) -> tuple[str, ...]:
    if isinstance(run, bool):
        return ()
    if not isinstance(run, (list, tuple)) or not all(isinstance(word, str) for word in run):
        raise UsageError(f"run must be True, False or a list of options, each a text, got {shown(run)}")
    return tuple(run)


def _named(sides: Sequence[SideLike]) -> list[str | Side]:
    return [_side(side, place) for place, side in enumerate(sides, 1)]


def _side(side: Any, place: int) -> str | Side:
    if isinstance(side, Results):
        return Side(f"side {place}", _different(side))
    if isinstance(side, (str, os.PathLike)):
        return os.fspath(side)
    raise UsageError(
        f"a side of a comparison must be a text, a path or results, got {type(side).__name__} as side {place}"
    )


def _different(records: Results) -> tuple[Mapping[str, Any], ...]:
    """Return each record once: copies in several folders are one."""
    return tuple({record["id"]: record for record in records}.values())


@dataclass(frozen=True)
class SelfComparisonResult:
    """What a record compared with itself shows of this machine; printed, it is the command's sentence.

    Parameters
    ----------
    comparison : SelfComparison
        The resolution with the pairs that it was worked out from.
    """

    comparison: SelfComparison

    @property
    def resolution(self) -> Resolution | None:
        """How well this machine tells a ratio from 1; None if too few pairs count."""
        return self.comparison.resolution

    @property
    def kept(self) -> bool:
        """Whether the resolution bounds the margins of comparisons on this machine from now on."""
        return self.comparison.kept

    @property
    def troubles(self) -> Sequence[str]:
        """What became of each new record that is not in the results folder, and of each run that left none."""
        return self.comparison.troubles

    def to_dict(self) -> dict[str, Any]:
        """Return the object that the command's ``--json`` prints."""
        return self_comparison_json(self.comparison)

    def __str__(self) -> str:
        return self_comparison_text(self.comparison)

    def _repr_html_(self) -> str:
        return self_comparison_html(self.comparison)


def compare_with_itself(
    record: str | os.PathLike[str],
    *,
    pairs: int | None = None,
    margin: float | None = None,
    include_contaminated: bool = False,
    results: str | os.PathLike[str] = DEFAULT_FOLDER,
    progress: OnLine | None = None,
) -> SelfComparisonResult:
    """Run a record anew against itself, as ``compare --aa`` does, and keep what this machine can resolve.

    Parameters
    ----------
    record : str or path
        A record (file, name or part of its identifier), ``"last"``, a folder or filters, whose newest record counts.
    pairs : int or None
        How many pairs of processes to run; None runs 20.
    margin : float or None
        Ratios nearer to 1 are equivalent, e.g. 0.02, which None stands for.
    include_contaminated : bool
        Whether processes count that the machine disturbed; the resolution is not kept then.
    results : path
        The folder of records, which takes the new ones too.
    progress : callable or None
        Takes lines of text that say how far it is, e.g. ``print``; None for silence.

    Raises
    ------
    UsageError
        If what was asked makes no sense, or the record cannot be run here.
    KeyboardInterrupt
        After the worker was ended and the record of its run was written.
    """
    request = ComparisonRequest(
        results=open_place(results),
        self_comparison=str(path_of("record", record) or ""),
        pairs=pairs,
        margin=margin,
        include_contaminated=include_contaminated,
    )
    return _compared_with_itself(request, progress)


def _compared_with_itself(request: ComparisonRequest, progress: OnLine | None) -> SelfComparisonResult:
    with possible_paths():
        found = request.compared_with_itself(progress_reporter(progress))
    _warn(found.troubles)
    if found.interrupted:
        raise _interrupted(request)
    return SelfComparisonResult(found)
