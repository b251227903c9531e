"""Distributions of somebody else: one adds a plug-in of most kinds, another one is full of faults."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.conftest import DISTRIBUTIONS, ROOT
from tests.support.installing import make_fresh, run_module

pytestmark = pytest.mark.framework


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build three distributions, install the wheels into a fresh environment, and return its Python."""
    sources = (ROOT, DISTRIBUTIONS / "example", DISTRIBUTIONS / "broken")
    return make_fresh(tmp_path_factory.mktemp("fresh"), sources)


def run(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_module(python, folder, "benchmarker", *arguments)


def test_the_wheel_holds_the_package_only(fresh: Path) -> None:
    (wheel,) = fresh.parent.parent.parent.joinpath("wheels").glob("benchmarker_dl-0*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "benchmarker/records/schema/record-1.json" in names
    assert "benchmarker/py.typed" in names
    assert not [name for name in names if not name.startswith(("benchmarker/", "benchmarker_dl-"))]


def test_it_is_listed_with_its_origin(fresh: Path, tmp_path: Path) -> None:
    rows = json.loads(run(fresh, tmp_path, "list", "--json").stdout)
    found = {(row["kind"], row["name"]): row for row in rows}
    for key in (
        ("frameworks", "tiny"),
        ("problems", "two_layers"),
        ("collectors", "uptime"),
        ("charts", "wall_time"),
        ("datasets", "corners"),
        ("recipes", "to_the_corners"),
        ("problem_schemes", "layers"),
        ("schemes", "one_peer"),
    ):
        assert found[key]["origin"] == "benchmarker-example 0.3"
        assert found[key]["usable"]
    assert found["frameworks", "numpy"]["origin"].startswith("benchmarker-dl ")


def test_its_framework_problem_and_collector_run(fresh: Path, tmp_path: Path) -> None:
    finished = run(
        fresh,
        tmp_path,
        "--framework=tiny,numpy",
        "--problem=two_layers,mnist_mlp",
        "--mode=inference",
        "--steps=5",
        "--warmup=1",
        "--json",
    )
    assert finished.returncode == 0, finished.stderr
    records = [json.loads(line) for line in finished.stdout.splitlines()]
    assert [(r["framework"]["name"], r["problem"]["name"]) for r in records] == [
        ("tiny", "two_layers"),
        ("numpy", "two_layers"),
        ("tiny", "mnist_mlp"),
        ("numpy", "mnist_mlp"),
    ]
    for record in records:
        assert record["status"] == "ok"
        assert record["verification"]["status"] == "passed"
        assert record["platform"]["uptime"]["after_seconds"] >= record["platform"]["uptime"]["before_seconds"]
    assert records[0]["digests"] == records[1]["digests"]
    assert run(fresh, tmp_path, "validate").returncode == 0


def test_its_data_set_trains_and_its_chart_shows_the_run(fresh: Path, tmp_path: Path) -> None:
    trained = run(
        fresh,
        tmp_path,
        "--framework=numpy",
        "--problem=two_layers",
        "--data=corners",
        "--batch-size=40",
        "--epochs=2",
        "--json",
    )
    assert trained.returncode == 0, trained.stderr
    assert json.loads(trained.stdout)["inputs"]["data"]["name"] == "corners"
    drawn = run(fresh, tmp_path, "plot", "wall_time", "--json")
    assert drawn.returncode == 0, drawn.stderr
    (panel,) = json.loads(drawn.stdout)["panels"]
    assert panel["series"][0]["x"] == ["numpy two_layers"]
    assert panel["series"][0]["y"][0] > 0
    assert run(fresh, tmp_path, "plot", "wall_time", "--set", "depth=1", "--json").returncode == 2
    listed = run(fresh, tmp_path, "plot", "--list").stdout
    assert listed.rfind("wall_time") > listed.rfind("history  ")


def test_its_recipe_trains_its_problem_on_its_data_set(fresh: Path, tmp_path: Path) -> None:
    command = ("train", "to_the_corners", "--framework=numpy", "--env=current", "--threads=1")
    trained = run(fresh, tmp_path, *command, "--json")
    assert trained.returncode == 0, trained.stderr
    record = json.loads(trained.stdout)
    assert (record["status"], record["verification"]["status"]) == ("ok", "passed")
    assert (record["problem"]["name"], record["inputs"]["data"]["name"]) == ("two_layers", "corners")
    assert record["training"]["recipe"]["name"] == "to_the_corners"
    assert record["command"][3:5] == ["train", "to_the_corners"]
    assert record["training"]["outcome"] == "target"
    refused = run(fresh, tmp_path, *command, "--batch-size=8")
    assert refused.returncode == 2
    assert refused.stderr.startswith(
        "benchmarker: recipe 'to_the_corners' fixes its batch size, and leaves nothing"
    )


def test_its_scheme_makes_a_problem_of_a_file(fresh: Path, tmp_path: Path) -> None:
    (tmp_path / "widths.txt").write_text("12\n3\n")
    arguments = ("--framework=tiny", "--mode=inference", "--steps=5", "--json")
    finished = run(fresh, tmp_path, "--problem=layers:widths.txt", *arguments)
    assert finished.returncode == 0, finished.stderr
    record = json.loads(finished.stdout)
    assert record["problem"]["name"] == "layers:widths.txt"
    assert record["problem"]["parameter_count"] == 8 * 12 + 12 + 12 * 3 + 3
    assert record["specification"]["problem_digest"].startswith("sha256:")
    assert record["verification"]["status"] == "passed"
    refused = run(fresh, tmp_path, "--problem=layer:widths.txt", *arguments)
    assert (refused.returncode, refused.stderr) == (
        2,
        "benchmarker: unknown problem scheme 'layer'; did you mean 'layers'?\n",
    )


def test_what_it_lacks_is_refused_clearly(fresh: Path, tmp_path: Path) -> None:
    finished = run(fresh, tmp_path, "--framework=tiny", "--problem=two_layers", "--mode=training")
    assert finished.returncode == 2
    assert finished.stderr == "benchmarker: framework 'tiny' cannot do training, only inference\n"
    finished = run(
        fresh, tmp_path, "--framework=tiny", "--problem=conv2d", "--mode=inference", "--no-verify", "--json"
    )
    assert finished.returncode == 1
    message = json.loads(finished.stdout)["error"]["message"]
    assert message == "framework 'tiny' has no conv (nodes conv): problem 'conv2d' cannot run on it"


def test_its_author_can_check_it(fresh: Path, tmp_path: Path) -> None:
    finished = run(fresh, tmp_path, "check", "tiny", "--json")
    report = json.loads(finished.stdout)
    assert finished.returncode == 0, [r for r in report["results"] if r["status"] == "failed"]
    assert any(r["status"] == "passed" and "gemm" in r["name"] for r in report["results"])
    assert any(r["status"] == "skipped" and "conv" in r["name"] for r in report["results"])
    statuses = {r["name"]: (r["status"], r["detail"]) for r in report["results"]}
    assert statuses["problem/two_layers/inference"][0] == "passed"
    assert statuses["problem/no_loss/inference"][0] == "passed"
    assert statuses["problem/leaves/inference"] == (
        "skipped",
        "the problem is broken: SystemExit: this machine does not suit",
    )
    assert statuses["problem/raises/inference"][0] == "skipped"


def test_what_is_skipped_is_told_once_for_each_reason(fresh: Path, tmp_path: Path) -> None:
    printed = run(fresh, tmp_path, "check", "tiny").stdout.splitlines()
    assert not [line for line in printed if line.startswith("skipped ")]
    assert printed[-1].startswith("tiny ")
    skipped = int(printed[-1].split(", ")[-1].split()[0])
    start = printed.index(f"{skipped} skipped:")
    reasons = [line for line in printed[start + 1 : -1] if not line.startswith(" " * 7)]
    assert sum(int(line.split()[0]) for line in reasons) == skipped
    assert any(line.endswith("the plugin does not declare the mode 'training'") for line in reasons)
    assert any("no native meaning of " in line and "conv (" in line for line in reasons)


# --- beside plugins that are broken ----------------------------------------------------------------

FAULTS = {
    "raises": "problem 'raises' failed in build(): KeyError: 'the first line\\nand a second one'",
    "adds_nothing": "problem 'adds_nothing' is built without an input",
    "impossible": "every size of 'features' must be at least 1, got (0,)",
    "no_defaults": "problem 'no_defaults' (benchmarker_broken.problems:NoDefaults, from benchmarker-broken 0.1) "
    "has no defaults for its parameters: TypeError: ",
    "leaves": "problem 'leaves' (benchmarker_broken.leaves, from benchmarker-broken 0.1) failed to import: "
    "SystemExit: this machine does not suit",
}
"""What is said of each, whichever command meets it."""


def test_a_broken_plugin_is_listed_with_its_fault_beside_the_others(fresh: Path, tmp_path: Path) -> None:
    finished = run(fresh, tmp_path, "list", "problems", "--json")
    assert (finished.returncode, finished.stderr) == (0, "")
    rows = {row["name"]: row for row in json.loads(finished.stdout)}
    for name, fault in FAULTS.items():
        assert not rows[name]["usable"]
        assert rows[name]["note"].startswith(fault)
        assert "\n" not in rows[name]["note"]
    assert all(rows[name]["usable"] for name in ("two_layers", "resnet50", "no_loss"))


def test_the_matrix_leaves_out_what_is_broken_and_says_why(fresh: Path, tmp_path: Path) -> None:
    finished = run(fresh, tmp_path, "list", "--matrix", "--json")
    assert finished.returncode == 0
    cells = {(cell["problem"], cell["framework"]): cell for cell in json.loads(finished.stdout)}
    assert cells["two_layers", "tiny"]["modes"] == ["inference"]
    assert cells["no_loss", "numpy"]["modes"] == ["inference"]
    assert cells["mnist_mlp", "numpy"]["modes"] == ["inference", "training"]
    assert {problem for problem, _ in cells} & FAULTS.keys() == set()
    assert "hollow" not in {framework for _, framework in cells}
    told = finished.stderr.splitlines()
    assert len(told) == len(FAULTS) + 1
    for fault in (
        *FAULTS.values(),
        "framework 'hollow': its implementation 'benchmarker_broken.absent:Absent'",
    ):
        assert any(fault in line for line in told)


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize(
    "command",
    [
        ("show", "{}"),
        ("--framework=numpy", "--problem=mnist_mlp,{}"),
        ("verify", "--framework=numpy", "--problem={}"),
    ],
    ids=["show", "run", "verify"],
)
def test_what_asks_for_a_broken_problem_is_refused_in_one_sentence(
    fresh: Path, tmp_path: Path, name: str, command: tuple[str, ...]
) -> None:
    finished = run(fresh, tmp_path, *(part.format(name) for part in command))
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith(f"benchmarker: {FAULTS[name]}")
    assert finished.stderr.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_the_log_of_a_run_has_the_traceback_of_its_problem(fresh: Path, tmp_path: Path) -> None:
    finished = run(
        fresh, tmp_path, "--framework=numpy", "--problem=raises_in_the_worker", "--mode=inference",
        "--no-verify", "--json",
    )  # fmt: skip
    assert finished.returncode == 1
    (record,) = map(json.loads, finished.stdout.splitlines())
    assert (
        record["error"]["message"] == "problem 'raises_in_the_worker' failed in build(): KeyError: 'pluggy'"
    )
    log = (tmp_path / "results" / record["log"]).read_text()
    assert '_ = sys.modules["pluggy"]' in log


@pytest.mark.parametrize("problems", ["no_loss", "mnist_mlp,no_loss"])
def test_training_without_a_loss_is_refused_before_anything_starts(
    fresh: Path, tmp_path: Path, problems: str
) -> None:
    finished = run(fresh, tmp_path, "--framework=numpy", f"--problem={problems}", "--mode=training,inference")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr == (
        "benchmarker: problem 'no_loss' has no loss to train with; choose the mode inference alone\n"
    )
    assert not (tmp_path / "results").exists()


def test_a_problem_without_a_loss_is_shown_and_runs_as_inference(fresh: Path, tmp_path: Path) -> None:
    shown = json.loads(run(fresh, tmp_path, "show", "no_loss", "--json").stdout)
    assert (shown["mode"], shown["parameter_count"]) == ("inference", 4 * 2 + 2)
    finished = run(
        fresh, tmp_path, "--framework=numpy", "--problem=no_loss", "--mode=inference", "--steps=2", "--json"
    )
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["verification"]["status"] == "passed"


def test_a_blueprint_that_trains_without_a_loss_is_told_with_its_line(fresh: Path, tmp_path: Path) -> None:
    blueprint = tmp_path / "bp.toml"
    blueprint.write_text('problem = "no_loss"\nframework = "numpy"\nmode = ["inference", "training"]\n')
    told = "problem 'no_loss' has no loss to train with; choose the mode inference alone\n"
    assert run(fresh, tmp_path, "blueprint", "check", "bp.toml").stdout == f"bp.toml:3: mode: {told}"
    blueprint.write_text('problem = "no_loss"\nframework = "numpy"\n')
    assert run(fresh, tmp_path, "blueprint", "check", "bp.toml").stdout == f"bp.toml: {told}"
    blueprint.write_text('problem = "no_loss"\nframework = "numpy"\nmode = "trian"\n')
    checked = run(fresh, tmp_path, "blueprint", "check", "bp.toml").stdout
    assert "did you mean 'training'?" in checked
    assert "no loss" not in checked
