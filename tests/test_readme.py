"""What the README and the pages of the documentation show is true: plug-in, Python, outputs, files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Command
from tests.support.readme_samples import PAGES, samples, shown, with_samples

README = (ROOT / "README.md").read_text()
MODEL = (ROOT / "docs" / "tutorials" / "your-own-model.md").read_text()
CALLS = (ROOT / "docs" / "python.md").read_text()
SHOWN = [(page, name) for page in PAGES for name in shown(page.read_text())]


@cache
def kept_samples() -> Mapping[str, str]:
    """Return what the kept records print, made once for all tests."""
    return samples(ROOT / "results")


def code_blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}(?: title=.*?)?\n(.*?)```", page, re.DOTALL)


@pytest.mark.framework("numpy")
def test_the_plugin_runs_as_written(command: Command, distribution: Callable[..., Path]) -> None:
    (source,) = [block for block in code_blocks("python", MODEL) if "benchmarker_problem" in block]
    (metadata,) = code_blocks("toml", MODEL)
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


@pytest.mark.parametrize("page", [README, CALLS], ids=["README", "python"])
def test_its_python_runs_as_written(
    page: str,
    tmp_path: Path,
    cache_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("pandas")
    (source,) = [block for block in code_blocks("python", page) if "benchmarker.run(" in block]
    written = 'framework=["numpy", "pytorch"], problem="mnist_mlp", batch_size=[1, 64]'
    assert written in source
    small = f'framework="numpy", problem="mnist_mlp", env="current", steps=2, results={str(tmp_path)!r}'
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("BENCHMARKER_HOME", str(cache_home))
    names: dict[str, Any] = {}
    exec(source.replace(written, small), names)
    assert [record["status"] for record in names["found"]] == ["ok"]
    printed = capsys.readouterr().out
    assert "verdict" in printed
    if page == CALLS:
        (verdict,) = names["shown"].verdicts
        assert f'["{verdict}"]' in source
        assert "[1/1] numpy mnist_mlp training" in printed
        assert str(names["shown"]) in printed


def test_its_first_line_runs_the_main_job() -> None:
    first = code_blocks("sh")[0].strip()
    assert first.startswith(
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/python -m benchmarker "
    )
    assert first.endswith("--framework=pytorch --problem=resnet50")


def test_its_files_exist() -> None:
    named = re.findall(r"`((?:benchmarker|docs|tests|benchmarks|results)/[\w./]*)`", README)
    assert len(named) > 10
    for path in named:
        assert (ROOT / path).exists(), path


def test_its_picture_is_one_of_the_repository() -> None:
    """On the package index nothing lies beside the README, so pictures have a whole address."""
    (address,) = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", README)
    start, _, path = address.partition("/main/")
    assert start == "https://raw.githubusercontent.com/benchmarker-dl/benchmarker"
    assert (ROOT / path).is_file()


def test_it_takes_two_screens() -> None:
    assert len(README.splitlines()) <= 140


@pytest.mark.parametrize(("page", "name"), SHOWN, ids=lambda value: getattr(value, "stem", value))
def test_samples_are_what_the_kept_records_print(page: Path, name: str) -> None:
    """Otherwise: ``python -m tests.support.readme_samples``."""
    assert shown(page.read_text())[name] == kept_samples()[name]


def test_a_sample_that_is_of_another_record_would_be_found() -> None:
    made = kept_samples()
    assert {name for _, name in SHOWN} == set(made)
    text = "".join(f"<!-- sample {name} -->\n```text\n```\n" for name in made)
    other = with_samples(text, {**made, "summary": "another\n"})
    assert shown(other) == {**made, "summary": "another\n"}
    assert with_samples(other, made) == with_samples(text, made)


def test_its_record_says_what_was_left_out() -> None:
    text = kept_samples()["record"]
    assert text.count("…") > 10
    record = json.loads(re.sub(r",?\s*…", "", text))
    assert (record["problem"]["name"], record["mode"]) == ("resnet50", "training")
    assert len(record["timing"]["samples_seconds"]) == 4
