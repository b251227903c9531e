"""What the authors of plug-ins test them with: of frameworks the conformance suite.

>>> results = run_checks(MyFramework(), benchmarker_framework(), device=Device("cpu"), threads=2, seed=0)

or, one test for each check, under pytest::

    @pytest.mark.parametrize("check", conformance_checks(), ids=lambda check: check.name)
    def test_conformance(check, subject):
        result = check.run(subject)
        assert result.status != "failed", result.detail

with ``subject = Subject(framework, plugin, device, seed)`` after ``framework.configure(...)``.

A problem has :func:`problem_checks`, whose subject is :func:`reference_subject`; an optimizer :func:`follow_rule`,
whose way is compared with one computed by hand; a scheme of distributed training :func:`follow_scheme`. Collectors,
launchers, data sets and charts are tested by ``benchmarker.run``.
"""

from __future__ import annotations

from benchmarker.worker.conformance import (
    Check,
    CheckResult,
    Subject,
    conformance_checks,
    packages_imported_by,
    run_checks,
)
from benchmarker.worker.conformance.authors import (
    follow_rule,
    follow_scheme,
    problem_checks,
    reference_subject,
)

__all__ = [
    "Check",
    "CheckResult",
    "Subject",
    "conformance_checks",
    "follow_rule",
    "follow_scheme",
    "packages_imported_by",
    "problem_checks",
    "reference_subject",
    "run_checks",
]
