"""The runs of an experiment before any of them: what they have in common, then a row for each."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence

from benchmarker.analysis.text.factors import Factor, specification_factors
from benchmarker.analysis.text.layout import Column, table
from benchmarker.errors import plural
from benchmarker.experiment.precision import Precision
from benchmarker.experiment.spec import RunSpec, specification
from benchmarker.experiment.suitability import unsupported_reasons


def plan_table(
    runs: Sequence[RunSpec],
    *,
    wanted: Precision | None = None,
    skipped: Collection[int] = (),
    width: int = 80,
) -> str:
    """Return a table with one row for each run, in their order.

    Parameters
    ----------
    runs : sequence of RunSpec
        The experiment; of a precision, the fewest that there may be.
    wanted : Precision or None
        How well each number should be known.
    skipped : collection of int
        Positions of runs that have a record already.
    width : int
        Characters a line should have at most.
    """
    every = [
        _of("framework", list(map(_framework, runs))),
        *specification_factors(list(map(specification, runs))),
    ]
    process = _of("process", [str(run.repetition + 1) for run in runs])
    columns = [Column("run", tuple(str(index + 1) for index in range(len(runs))), numeric=True, key=True)]
    columns += [Column(a.title, a.texts) for a in (*every, process) if a.varies]
    states = tuple(
        "done" if i in skipped else reason or "" for i, reason in enumerate(unsupported_reasons(runs))
    )
    if any(states):
        columns.append(Column("", states))
    common = [factor.caption for factor in every if not factor.varies and factor.caption]
    total = [_total(len(runs), len(skipped), " at least" if wanted else "")]
    if wanted is not None:
        total = [*total, *textwrap.wrap(_precision(wanted), width)]
    return "\n".join([*textwrap.wrap(", ".join(common), width), "", table(columns, width), "", *total])


def _precision(wanted: Precision) -> str:
    profile = f"profile {wanted.profile}, " if wanted.profile else ""
    return (
        f"{profile}{wanted.min_processes} to {wanted.max_processes} fresh processes each, until the number is "
        f"known to within {100 * wanted.half_width:.3g} %, for at most {wanted.budget_seconds:g} s each"
    )


def _of(title: str, texts: Sequence[str]) -> Factor:
    return Factor(title, tuple(texts), len(set(texts)) > 1, texts[0])


def _total(runs: int, skipped: int, least: str) -> str:
    total = f"{plural(runs, 'run')}{least}"
    return f"{total}, {skipped} of them done, {runs - skipped} to do" if skipped else total


def _framework(run: RunSpec) -> str:
    return f"{run.framework}=={run.framework_version}" if run.framework_version else run.framework
