"""The conformance suite: run it over your own framework.

>>> results = run_checks(MyFramework(), benchmarker_framework(), device=Device("cpu"), threads=2, seed=0)

or, one test for each check, under pytest::

    @pytest.mark.parametrize("check", conformance_checks(), ids=lambda check: check.name)
    def test_conformance(check, subject):
        result = check.run(subject)
        assert result.status != "failed", result.detail

with ``subject = Subject(framework, plugin, device, seed)`` after ``framework.configure(...)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from benchmarker.api.framework import Device, Framework, FrameworkPlugin
from benchmarker.worker.conformance.backward import backward_checks
from benchmarker.worker.conformance.case_checks import run_each
from benchmarker.worker.conformance.description import description_checks, packages_imported_by
from benchmarker.worker.conformance.generation import generation_checks
from benchmarker.worker.conformance.late import late_checks
from benchmarker.worker.conformance.networks import network_checks
from benchmarker.worker.conformance.operators import operator_checks
from benchmarker.worker.conformance.optimizers import optimizer_checks
from benchmarker.worker.conformance.problems import builtin_problems, problem_checks
from benchmarker.worker.conformance.programs import program_checks
from benchmarker.worker.conformance.restoring import restoring_checks
from benchmarker.worker.conformance.result import CheckResult
from benchmarker.worker.conformance.states import state_checks
from benchmarker.worker.conformance.subject import Check, Subject
from benchmarker.worker.conformance.synchronization import synchronization_checks
from benchmarker.worker.conformance.ties import tie_checks

__all__ = [
    "Check",
    "CheckResult",
    "Subject",
    "conformance_checks",
    "packages_imported_by",
    "run_checks",
    "run_each",
]


def conformance_checks() -> tuple[Check, ...]:
    """Return every check, the quick and telling ones first."""
    return (
        *description_checks(),
        *operator_checks(),
        *tie_checks(),
        *state_checks(),
        *program_checks(),
        *late_checks(),
        *backward_checks(),
        *network_checks(),
        *optimizer_checks(),
        *restoring_checks(),
        *problem_checks(),
        *generation_checks(builtin_problems()),
        *synchronization_checks(),
    )


def fits(name: str, patterns: Sequence[str]) -> bool:
    """Tell whether a check's name fits one of some patterns, in which ``*`` stands for anything."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def run_checks(
    framework: Framework,
    plugin: FrameworkPlugin,
    *,
    device: Device,
    threads: int,
    seed: int,
    progress: Callable[[CheckResult], None] | None = None,
    options: Any = None,
    further: Sequence[Check] = (),
    only: Sequence[str] = (),
) -> list[CheckResult]:
    """Run the whole suite, or a part of it.

    Parameters
    ----------
    framework : Framework
        Made, but not yet configured.
    plugin : FrameworkPlugin
        What it says of itself.
    device : Device
        Where to run.
    threads, seed : int
        As given to :meth:`Framework.configure`.
    progress : callable, optional
        Called with each result as it comes.
    options : object, optional
        As in :class:`Subject`.
    further : sequence of Check
        Checks besides those of the suite.
    only : sequence of str
        Patterns such as ``forward/conv/*``: checks of other names are not run; without patterns all are.

    Returns
    -------
    list of CheckResult
        One for each check. The framework conforms if none is ``failed``.
    """
    framework.configure(device, threads=threads, seed=seed)
    subject = Subject(framework, plugin, device, seed, options)
    results = []
    chosen = (c for c in (*conformance_checks(), *further) if not only or fits(c.name, only))
    for result in run_each(chosen, subject):
        results.append(result)
        if progress is not None:
            progress(result)
    return results
