"""The conformance suite over an engine that only infers, by the command."""

from __future__ import annotations

import json

from tests.conftest import Command

REASONS = ("the plugin does not declare", "the framework takes the values")
"""Why a check may be left out for any of them."""


def passed_checks(
    command: Command, framework: str, *reasons: str, only: str = "*", timeout: float = 600
) -> set[str]:
    """Return the names of the checks that passed, after no other failed or was left out for another reason."""
    finished = command("check", framework, f"--only={only}", "--threads=1", "--json", timeout=timeout)
    report = json.loads(finished.stdout)
    assert [result for result in report["results"] if result["status"] == "failed"] == []
    assert finished.status == 0
    skipped = {result["detail"] for result in report["results"] if result["status"] == "skipped"}
    assert all(reason.startswith((*REASONS, *reasons)) for reason in skipped)
    return {result["name"] for result in report["results"] if result["status"] == "passed"}
