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

from collections.abc import Callable

from benchmarker.framework import Device, Framework, FrameworkPlugin
from benchmarker.testing.backward import backward_checks
from benchmarker.testing.description import description_checks, packages_imported_by
from benchmarker.testing.networks import network_checks
from benchmarker.testing.operators import operator_checks
from benchmarker.testing.optimizers import optimizer_checks
from benchmarker.testing.problems import problem_checks
from benchmarker.testing.programs import program_checks
from benchmarker.testing.result import CheckResult
from benchmarker.testing.states import state_checks
from benchmarker.testing.subject import Check, Subject
from benchmarker.testing.synchronization import synchronization_checks

__all__ = ["Check", "CheckResult", "Subject", "conformance_checks", "packages_imported_by", "run_checks"]


def conformance_checks() -> tuple[Check, ...]:
    """Return every check, the quick and telling ones first."""
    return (
        *description_checks(),
        *operator_checks(),
        *state_checks(),
        *program_checks(),
        *backward_checks(),
        *network_checks(),
        *optimizer_checks(),
        *problem_checks(),
        *synchronization_checks(),
    )


def run_checks(
    framework: Framework,
    plugin: FrameworkPlugin,
    *,
    device: Device,
    threads: int,
    seed: int,
    progress: Callable[[CheckResult], None] | None = None,
) -> list[CheckResult]:
    """Run the whole suite.

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

    Returns
    -------
    list of CheckResult
        One for each check. The framework conforms if none is ``failed``.
    """
    framework.configure(device, threads=threads, seed=seed)
    subject = Subject(framework, plugin, device, seed)
    results = []
    for check in conformance_checks():
        result = check.run(subject)
        results.append(result)
        if progress is not None:
            progress(result)
    return results
