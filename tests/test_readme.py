"""What the README shows is true: its plugin runs, its commands and files exist."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarker.cli.main import COMMANDS
from tests.conftest import ROOT, Command
from tests.readme_samples import samples, shown, with_samples

README = (ROOT / "README.md").read_text()


def code_blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_its_plugin_runs_as_written(command: Command, distribution: Callable[..., Path]) -> None:
    (source,) = [block for block in code_blocks("python") if "benchmarker_problem" in block]
    (metadata,) = code_blocks("toml")
    assert '[project.entry-points."benchmarker.problems"]' in metadata
    entry = 'my_problem = "my_problem"'
    assert entry in metadata
    folder = distribution("my-problem", {"problems": [entry.replace('"', "")]}, {"my_problem": source})
    finished = command.with_path(folder)(
        "--framework=numpy", "--problem=my_problem", "--steps=2", "--warmup=1", "--json"
    )
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    assert record["verification"]["status"] == "passed"
    assert len([line for line in source.splitlines() if line.strip()]) <= 30


def test_its_first_line_runs_the_main_job() -> None:
    first = code_blocks("sh")[0].strip()
    assert first.startswith(
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/python -m benchmarker "
    )
    assert first.endswith("--framework=pytorch --problem=resnet50")


def test_its_commands_and_files_exist() -> None:
    assert set(re.findall(r"^\| `benchmarker (\w+)", README, re.MULTILINE)) == set(COMMANDS)
    for path in re.findall(r"`((?:benchmarker|docs|tests|benchmarks|results)/[\w./]*)`", README):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("name", ["summary", "table", "record"])
def test_its_samples_are_what_the_kept_records_print(name: str) -> None:
    """Otherwise: ``python -m tests.readme_samples``."""
    assert shown(README)[name] == samples(ROOT / "results")[name]


def test_a_sample_that_is_of_another_record_would_be_found() -> None:
    made = samples(ROOT / "results")
    assert sorted(shown(README)) == sorted(made)
    other = with_samples(README, {**made, "summary": "another\n"})
    assert shown(other) == {**made, "summary": "another\n"}
    assert with_samples(other, made) == with_samples(README, made)


def test_its_record_says_what_was_left_out() -> None:
    text = samples(ROOT / "results")["record"]
    assert text.count("…") > 10
    record = json.loads(re.sub(r",?\s*…", "", text))
    assert (record["problem"]["name"], record["mode"]) == ("resnet50", "training")
    assert len(record["timing"]["samples_seconds"]) == 4
