"""The catalogue and the table in the documentation say what the plug-ins say."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from benchmarker import registry
from benchmarker.analysis.documentation import problems_page
from benchmarker.analysis.text.plugins import PluginRow, plugin_tables
from benchmarker.experiment import catalogue
from tests.conftest import Command

PROBLEMS = tuple(registry.names("problems", ours=True))
FRAMEWORKS = sorted(registry.names("frameworks", ours=True))
HINT = "run python -m benchmarker.analysis.documentation problems"


@pytest.fixture(scope="module")
def kept() -> dict[str, object]:
    rows = json.loads(catalogue.CATALOGUE.read_text(encoding="utf-8"))
    return {row["name"]: row for row in rows}


def test_every_problem_is_in_the_catalogue(kept: dict[str, object]) -> None:
    assert sorted(kept) == sorted(PROBLEMS), HINT


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_catalogue_is_true(kept: dict[str, object], name: str) -> None:
    assert kept[name] == asdict(catalogue.compute_facts(name)), HINT


def test_the_page_has_a_row_and_a_source_for_each_problem() -> None:
    lines = problems_page().splitlines()
    rows = [line for line in lines if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(PROBLEMS)
    sources = lines[lines.index("## Sources") :]
    assert [name for name in PROBLEMS if not any(line.startswith(f"- `{name}`: ") for line in sources)] == []
    (row,) = (row for row in rows if "`resnet50`" in row)
    assert "| 25,557,032 |" in row


@pytest.mark.parametrize("name", PROBLEMS)
def test_three_frameworks_at_least_can_run_each_problem(name: str) -> None:
    plugins = [registry.framework(framework) for framework in registry.names("frameworks", ours=True)]
    able = [cell.framework for cell in catalogue.support(name, plugins) if "inference" in cell.modes]
    assert len(able) >= 3, able


def test_list_shows_task_parameters_and_flops(command: Command) -> None:
    finished = command("list", "problems")
    (row,) = (line for line in finished.stdout.splitlines() if line.startswith("resnet50 "))
    assert row.split() == ["resnet50", "image", "classification", "25.56", "M", "8.178", "GFLOP"]


def test_the_matrix_shows_each_problem_by_framework(command: Command) -> None:
    finished = command("list", "problems", "--matrix")
    assert finished.status == 0, finished.stderr
    titles = [line.split() for line in finished.stdout.splitlines() if line.startswith("row")]
    shown = [title for line in titles for title in line if title not in ("row", "problem")]
    assert shown == FRAMEWORKS
    number = next(row.split()[0] for row in finished.stdout.splitlines() if " resnet50 " in row)
    rows = [line.split()[1:] for line in finished.stdout.splitlines() if line.split()[:1] == [number]]
    cells = [cell for row in rows for cell in row if cell != "resnet50"]
    engines = dict.fromkeys(("iree", "onnxruntime", "opencv", "openvino"), "inference")
    libraries = dict.fromkeys(("cudnn", "onednn", "openblas"), "-")
    assert dict(zip(shown, cells)) == {**dict.fromkeys(FRAMEWORKS, "both"), **engines, **libraries}


def test_the_matrix_as_json_has_a_cell_for_each_pair(command: Command) -> None:
    cells = json.loads(command("list", "--matrix", "--json").stdout)
    assert {cell["problem"] for cell in cells} == set(PROBLEMS)
    (cell,) = (c for c in cells if (c["problem"], c["framework"]) == ("mnist_mlp", "pytorch"))
    assert cell["modes"] == ["inference", "training"]


def test_a_matrix_of_collectors_is_refused(command: Command) -> None:
    finished = command("list", "collectors", "--matrix")
    assert finished.status == 2
    assert "not collectors" in finished.stderr


def test_the_list_as_json_has_task_size_and_cost(command: Command) -> None:
    rows = {row["name"]: row for row in json.loads(command("list", "problems", "--json").stdout)}
    facts = ("task", "parameter_count", "flops_per_sample", "batch_size", "trains")
    assert [rows["mnist_mlp"][name] for name in facts] == [
        "image classification",
        109_386,
        218_368,
        128,
        True,
    ]
    described = json.loads(command("show", "resnet50", "--json").stdout)
    assert all(rows["resnet50"][name] == described[name] for name in facts[:4])
    (numpy,) = (r for r in json.loads(command("list", "--json").stdout) if r["name"] == "numpy")
    assert not set(facts) & set(numpy)


def test_a_broken_problem_has_no_facts_and_says_why() -> None:
    rows = [
        PluginRow("problems", "good", "ours 1.0", True, facts=catalogue.compute_facts("mnist_mlp")),
        PluginRow("problems", "bad", "theirs 2.0", False, "is broken: no such layer"),
    ]
    assert rows[1].to_json()["parameter_count"] is None
    text = plugin_tables(rows, 80)
    assert [line.split() for line in text.splitlines()[2:4]] == [
        ["good", "ours", "1.0", "ready", "image", "classification", "109.4", "k", "218.4", "kFLOP"],
        ["bad", "theirs", "2.0", "cannot", "run", "-", "-", "-"],
    ]
    assert text.endswith("\n\nbad: is broken: no such layer")
