"""The conformance suite over autograd, a test for each check."""

from __future__ import annotations

import pytest
from benchmarker_autograd import benchmarker_framework
from benchmarker_autograd.framework import Autograd

from benchmarker.api import Device
from benchmarker.testing import Check, Subject, conformance_checks, packages_imported_by


@pytest.fixture(scope="module")
def subject() -> Subject:
    framework, device = Autograd(), Device("cpu")
    framework.configure(device, threads=1, seed=0)
    return Subject(framework, benchmarker_framework(), device)


@pytest.mark.parametrize("check", conformance_checks(), ids=lambda check: check.name)
def test_conformance(check: Check, subject: Subject) -> None:
    result = check.run(subject)
    if result.status == "skipped":
        pytest.skip(result.detail)
    assert result.status == "passed", result.detail


def test_the_description_imports_nothing() -> None:
    assert packages_imported_by("benchmarker_autograd") == set()
