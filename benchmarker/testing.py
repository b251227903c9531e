"""The public face of the conformance suite, for the authors of framework plug-ins.

>>> results = run_checks(MyFramework(), benchmarker_framework(), device=Device("cpu"), threads=2, seed=0)

or, one test for each check, under pytest::

    @pytest.mark.parametrize("check", conformance_checks(), ids=lambda check: check.name)
    def test_conformance(check, subject):
        result = check.run(subject)
        assert result.status != "failed", result.detail

with ``subject = Subject(framework, plugin, device, seed)`` after ``framework.configure(...)``.
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

__all__ = ["Check", "CheckResult", "Subject", "conformance_checks", "packages_imported_by", "run_checks"]
