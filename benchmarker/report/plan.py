"""The runs of an experiment before any of them: what they have in common, then a row for each."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence

from benchmarker.experiment import RunSpec, specification
from benchmarker.planning import refusals
from benchmarker.replication import Precision
from benchmarker.report.asked_aspects import asked_aspects
from benchmarker.report.aspects import Aspect
from benchmarker.report.layout import Column, table


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
    every = [_of("framework", list(map(_framework, runs))), *asked_aspects(list(map(specification, runs)))]
    process = _of("process", [str(run.repetition + 1) for run in runs])
    columns = [Column("run", tuple(str(index + 1) for index in range(len(runs))), numeric=True, key=True)]
    columns += [Column(a.title, a.texts) for a in (*every, process) if a.varies]
    states = tuple("done" if i in skipped else reason or "" for i, reason in enumerate(refusals(runs)))
    if any(states):
        columns.append(Column("", states))
    common = [aspect.caption for aspect in every if not aspect.varies and aspect.caption]
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


def _of(title: str, texts: Sequence[str]) -> Aspect:
    return Aspect(title, tuple(texts), len(set(texts)) > 1, texts[0])


def _total(runs: int, skipped: int, least: str) -> str:
    total = f"{runs} run{'' if runs == 1 else 's'}{least}"
    return f"{total}, {skipped} of them done, {runs - skipped} to do" if skipped else total


def _framework(run: RunSpec) -> str:
    return f"{run.framework}=={run.framework_version}" if run.framework_version else run.framework
