"""Parts of the conformance suite, by the command."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Command


@pytest.mark.framework("numpy")
def test_only_checks_of_the_names_that_are_asked_for_are_run(command: Command) -> None:
    finished = command("check", "numpy", "--env=current", "--only=forward/gemm/*,generation/llama", "--json")
    assert finished.status == 0, finished.stderr
    names = {result["name"] for result in json.loads(finished.stdout)["results"]}
    assert {name.rpartition("/")[0] for name in names} == {"forward/gemm", "generation"}
    assert "forward/gemm/plain" in names
    assert "generation/gpt2" not in names
