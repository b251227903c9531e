"""``run`` with blueprints, as its user sees it: plans, overrides, resuming, thresholds, windows, early stops."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Command, Finished

BLUEPRINTS = sorted([*(ROOT / "blueprints").glob("*.toml"), *(ROOT / "blueprints").glob("*.py")])
SMALL = """\
framework = "numpy"
batch_size = [2, 4]
mode = ["training", "inference"]
steps = 3
warmup = 0
[problem]
name = "mnist_mlp"
hidden1 = 8
"""
LAYERS = """\
framework = "numpy"
batch_size = 2
steps = 3
warmup = 0
[[problem.layers]]
layer = "InputLayer"
shape = [6, 6, 2]
[[problem.layers]]
layer = "Residual"
layers = [{layer = "Convolution", channel = 2, kernel_size = 3}, {layer = "BatchNormalization"}]
activation = "relu"
[[problem.layers]]
layer = "Flatten"
[[problem.layers]]
layer = "FullyConnected"
size = 3
"""


def blueprint(command: Command, text: str, name: str = "bp.toml") -> str:
    (command.folder / name).write_text(text)
    return name


def plans(finished: Finished) -> list[dict[str, Any]]:
    assert finished.status == 0, finished.stderr
    return [json.loads(line) for line in finished.stdout.splitlines()]


# --- the blueprints that we ship -------------------------------------------------------------------

RUNS = {
    "architecture": 1,
    "cifar10": 56,
    "cifar10_small": 8,
    "imdb": 56,
    "imdb_small": 8,
    "mnist": 56,
    "mnist_small": 8,
    "operators": 450,
    "rysia_mnist": 4,
    "sweep": 88,
}


def test_every_blueprint_is_correct(command: Command) -> None:
    assert {path.stem for path in BLUEPRINTS} == set(RUNS)
    finished = command("blueprint", "check", *map(str, BLUEPRINTS))
    assert finished.status == 0, finished.stdout
    lines = {Path(line.partition(":")[0]).stem: line.split() for line in finished.stdout.splitlines()}
    assert {name: int(words[2]) for name, words in lines.items()} == RUNS


@pytest.mark.parametrize("path", BLUEPRINTS, ids=lambda path: path.stem)
def test_a_dry_run_prints_every_run_and_runs_none(command: Command, path: Path) -> None:
    finished = command("run", str(path), "--dry-run")
    assert finished.status == 0, finished.stderr
    assert finished.stdout.endswith(f"\n{RUNS[path.stem]} run{'s' if RUNS[path.stem] > 1 else ''}\n")
    assert len(plans(command("run", str(path), "--dry-run", "--json"))) == RUNS[path.stem]
    assert list(command.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (("--repeats=3",), (None, None, 3, 3, None)),
        ((), (None, None, 1, 1, None)),
        (("--profile=quick", "--budget=60"), ("quick", 0.05, 5, 10, 60.0)),
    ],
)
def test_a_dry_run_tells_how_well_a_number_should_be_known(
    command: Command, options: tuple[str, ...], asked: tuple[object, ...]
) -> None:
    run, *_ = plans(command("--framework=numpy", "--problem=mnist_mlp", *options, "--dry-run", "--json"))
    names = ("profile", "target_half_width", "min_processes", "max_processes", "budget_seconds")
    assert run["replication"] == dict(zip(names, asked))


@pytest.mark.parametrize(
    ("name", "epochs", "optimizer", "iterations"),
    [("mnist", 200, "sgd", 93_600), ("cifar10", 100, "adam", 39_000), ("imdb", 100, "adam", 19_500)],
)
def test_rysias_experiments_have_its_hyperparameters(
    command: Command, name: str, epochs: int, optimizer: str, iterations: int
) -> None:
    runs = plans(command("run", str(ROOT / f"blueprints/{name}.toml"), "--dry-run", "--json"))
    training = [run for run in runs if run["mode"] == "training"]
    assert len(training) == 7 * 4
    assert {run["framework"] for run in runs} == {"mxnet", "tensorflow", "pytorch", "chainer"}
    for run in training:
        assert (run["steps"], run["batch_size"], run["seed"]) == (iterations, 128, 42)
        assert (run["optimizer"]["kind"], run["optimizer"]["learning_rate"]) == (optimizer, 0.01)
        assert run["steps"] == epochs * (run["samples_per_epoch"] // 128)
    assert {run["window"] for run in runs if run["mode"] == "inference"} == {60.0}


@pytest.mark.framework("numpy")
def test_one_of_them_runs(command: Command) -> None:
    finished = command("run", str(ROOT / "blueprints/architecture.toml"), "--json")
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    assert (record["status"], record["verification"]["status"]) == ("ok", "passed")
    assert record["acceptance"]["status"] == "passed"
    assert [limit["name"] for limit in record["acceptance"]["limits"]] == [
        "min_throughput",
        "max_step_seconds",
    ]


@pytest.mark.framework("numpy")
def test_rysias_form_runs(command: Command) -> None:
    finished = command(
        str(ROOT / "blueprints/rysia_mnist.py"), "--framework=numpy", "--steps=2", "--warmup=0"
    )
    assert finished.status == 0, finished.stderr
    (path,) = (command.folder / "results/mnist").glob("*.json")
    record = json.loads(path.read_text())
    assert record["problem"]["parameter_count"] == 109_386
    assert record["metrics"]["training_seconds"] == record["timing"]["wall_seconds"]
    assert f"for {len(record['timing']['samples_seconds'])} training steps" in finished.stdout


# --- blueprints and options ------------------------------------------------------------------------


def test_a_blueprint_is_the_same_as_options(command: Command) -> None:
    file = plans(command("run", blueprint(command, SMALL), "--dry-run", "--json"))
    options = plans(
        command(
            "--framework=numpy", "--problem=mnist_mlp", "--set=hidden1=8", "--mode=training,inference",
            "--batch-size=2,4", "--steps=3", "--warmup=0", "--dry-run", "--json",
        )
    )  # fmt: skip
    assert file == options
    assert plans(command("bp.toml", "--dry-run", "--json")) == file


OVERRIDES: list[tuple[tuple[str, ...], Callable[[dict[str, Any]], Any], set[Any]]] = [
    (("--batch-size=8",), lambda run: run["batch_size"], {8}),
    (("--mode=inference",), lambda run: run["mode"], {"inference"}),
    (("--set=hidden1=5,6",), lambda run: run["problem_parameters"]["hidden1"], {5, 6}),
    (("--set=mnist_mlp.hidden1=5",), lambda run: run["problem_parameters"]["hidden1"], {5}),
    (("--problem=mnist_mlp",), lambda run: run["problem_parameters"]["hidden1"], {8}),
    (("--problem=conv2d",), lambda run: run["problem"], {"conv2d"}),
    (("--framework=pytorch",), lambda run: run["framework"], {"pytorch"}),
    (("--problem-size=8", "--epochs=3"), lambda run: (run["batch_size"], run["steps"]), {(2, 12), (4, 6)}),
    (("--window=2",), lambda run: (run["mode"], run["steps"], run["window"]),
     {("training", 3, None), ("inference", None, 2.0)}),
    (("--window=2", "--mode=inference"), lambda run: (run["steps"], run["window"]), {(None, 2.0)}),
    (("--seconds=2",), lambda run: (run["steps"], run["target_seconds"], run["minimum_samples"]), {(None, 2.0, 20)}),
    (("--min-samples=7",), lambda run: (run["steps"], run["minimum_samples"]), {(None, 7)}),
    (("--learning-rate=0.5,0.25", "--mode=training"), lambda run: run["optimizer"]["learning_rate"], {0.5, 0.25}),
    (("--optimizer=adam", "--beta2=0.5", "--mode=training"),
     lambda run: (run["optimizer"]["kind"], run["optimizer"]["beta2"]), {("adam", 0.5)}),
    (("--monitors=cpu,os",), lambda run: tuple(run["monitors"]), {("cpu", "os")}),
    (("--monitors=none",), lambda run: tuple(run["monitors"]), {()}),
    (("--no-verify",), lambda run: run["verify"], {False}),
]  # fmt: skip


@pytest.mark.parametrize(("options", "read", "expected"), OVERRIDES, ids=[" ".join(o[0]) for o in OVERRIDES])
def test_options_go_over_fields(
    command: Command, options: tuple[str, ...], read: Callable[[dict[str, Any]], Any], expected: set[Any]
) -> None:
    runs = plans(command("run", blueprint(command, SMALL), *options, "--dry-run", "--json"))
    assert {read(run) for run in runs} == expected


def test_an_amount_goes_over_a_length_and_inference_leaves_the_optimizer_out(command: Command) -> None:
    name = blueprint(
        command,
        'problem = "mnist_mlp"\nframework = "numpy"\nseconds = 5\nmin_samples = 9\n'
        'mode = ["training", "inference"]\n[optimizer]\nkind = "adam"\n',
    )

    def read(*options: str) -> set[tuple[Any, ...]]:
        members = ("steps", "window", "target_seconds", "minimum_samples")
        found = plans(command("run", name, *options, "--dry-run", "--json"))
        return {tuple(run[member] for member in members) for run in found}

    assert read() == {(None, None, 5.0, 9)}
    assert read("--steps=4") == {(4, None, 3.0, 20)}
    assert read("--window=1") == {(None, None, 5.0, 9), (None, 1.0, 3.0, 20)}
    assert read("--window=1", "--mode=inference") == {(None, 1.0, 3.0, 20)}


def test_a_named_framework_keeps_its_description(command: Command) -> None:
    name = blueprint(
        command,
        'problem = "mnist_mlp"\nverify = false\n[[framework]]\nname = "pytorch"\ncompile = [true, false]\n'
        '[[framework]]\nname = "numpy"\n[set.pytorch]\nchannels_last = false\n',
    )
    runs = plans(command("run", name, "--framework=pytorch", "--verify", "--dry-run", "--json"))
    assert [run["framework_options"]["compile"] for run in runs] == [True, False]
    assert {run["verify"] for run in runs} == {True}
    # What is set of a framework that is left out does not matter.
    runs = plans(command("run", name, "--framework=numpy", "--dry-run", "--json"))
    assert [(run["framework"], run["verify"]) for run in runs] == [("numpy", False)]


def refusal(finished: Finished) -> str:
    """Return the one sentence with which a command was refused."""
    assert (finished.status, finished.stdout) == (2, ""), finished
    assert re.fullmatch(r"benchmarker[^:\n]*: [^\n]+\n", finished.stderr), finished.stderr
    return finished.stderr


def test_what_is_wrong_is_one_sentence(command: Command) -> None:
    name = blueprint(command, SMALL.replace("steps = 3", "stesp = 3").replace("warmup = 0", "warmup = -1"))
    sentence = refusal(command("run", name))
    assert "bp.toml:4: stesp is not a field of a blueprint; did you mean 'steps'?" in sentence
    assert "and 1 more fault, which 'python -m benchmarker blueprint check bp.toml' names" in sentence
    checked = command("blueprint", "check", name)
    assert checked.status == 1
    assert [line.split(" ")[0] for line in checked.stdout.splitlines()] == ["bp.toml:4:", "bp.toml:5:"]
    (row,) = json.loads(command("blueprint", "check", name, "--json").stdout)
    assert [fault["line"] for fault in row["faults"]] == [4, 5]
    assert not (command.folder / "results").exists()


REFUSED = [
    (
        SMALL.replace("hidden1 = 8", "hidden1 = 0"),
        (),
        "bp.toml:8: problem.hidden1: problem 'mnist_mlp': 'hidden1' must",
    ),
    (
        SMALL,
        ("--batch-size=0",),
        "benchmarker run: --batch-size must be a whole number from 1 to 2147483647, got 0",
    ),
    (SMALL, ("--set=hidden1=x",), "'hidden1' must be a whole number, got 'x'"),
    (SMALL, ("--momentum=0.5",), "optimizer 'sgd' has no momentum"),
    (SMALL, ("--accept=min_speed=1",), "unknown threshold 'min_speed'"),
    (SMALL, ("--accept=min_throughput=x",), "--accept must be NAME=NUMBER, got 'min_throughput=x'"),
    ("steps = 3\n", (), "--framework and --problem or --suite required, on the command line or in "),
    ("seconds = 2\n" + SMALL, (), "bp.toml:1: seconds: give either a number of steps or a time"),
    (SMALL, ("--steps=4", "--min-samples=7"), "benchmarker: give either a number of steps or a least number"),
    (SMALL, ("--mode=inference", "--optimizer=adam"), "benchmarker: an optimizer is for training, got inf"),
]


@pytest.mark.parametrize(("text", "options", "sentence"), REFUSED, ids=[row[2][:30] for row in REFUSED])
def test_a_fault_has_the_line_of_the_blueprint_unless_an_option_makes_it(
    command: Command, text: str, options: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refusal(command("run", blueprint(command, text), *options))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "none.toml"), "the blueprint 'none.toml' cannot be read: No such file"),
        (
            ("--data=mnist", "--framework=numpy", "--problem=mnist_mlp"),
            "data set 'mnist' is read from files: give their folder",
        ),
    ],
)
def test_files_that_are_not_there_are_told(
    command: Command, arguments: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refusal(command(*arguments))


def test_each_file_is_checked_whatever_is_wrong_with_the_one_before(command: Command) -> None:
    good = blueprint(command, SMALL)
    (command.folder / "bad.toml").write_text(SMALL.replace("steps = 3", "steps = 0"))
    (command.folder / "no.toml").write_text("steps =\n")
    finished = command("blueprint", "check", "none.toml", "bad.toml", "no.toml", good)
    assert finished.status == 2
    missing, no_toml = finished.stderr.splitlines()
    assert missing == "benchmarker: the blueprint 'none.toml' cannot be read: No such file or directory"
    assert no_toml.startswith("benchmarker: no.toml:1: the blueprint is not TOML: ")
    bad, correct = finished.stdout.splitlines()
    assert bad == "bad.toml:4: steps must be a whole number from 1 to 2147483647, or a list of them, got 0"
    assert correct.startswith("bp.toml: correct, ")
    rows = json.loads(command("blueprint", "check", "none.toml", "bad.toml", good, "--json").stdout)
    assert [(row["file"], len(row["faults"])) for row in rows] == [
        ("none.toml", 1),
        ("bad.toml", 1),
        (good, 0),
    ]
    assert "none.toml" in rows[0]["faults"][0]["message"]
    assert command("blueprint", "check", "bad.toml", good).status == 1
    assert command("blueprint", "check", good, good).status == 0


def without_seconds(execution: dict[str, Any]) -> dict[str, Any]:
    """Return how a process was run, without what it took and what tells processes apart."""
    return {name: value for name, value in execution.items() if name not in ("worker_seconds", "process")}


@pytest.mark.framework("numpy")
def test_the_command_of_a_record_of_layers_repeats_it(command: Command) -> None:
    (first,) = command("run", blueprint(command, LAYERS), "--json").records
    assert any(part.startswith("--set=architecture.layers=[") for part in first["command"])
    (again,) = command(*first["command"][3:], "--json").records
    same = ("problem", "digests", "optimizer", "command", "comparable")
    assert {name: again[name] for name in same} == {name: first[name] for name in same}
    assert without_seconds(again["execution"]) == without_seconds(first["execution"])
    differ = {"framework_version"}  # the record's command pins the version that ran
    for name, value in first["specification"].items():
        assert name in differ or again["specification"][name] == value
    assert again["metrics"]["loss_first"] == first["metrics"]["loss_first"]


# --- resuming --------------------------------------------------------------------------------------


@pytest.mark.framework("numpy")
def test_resume_runs_only_what_has_no_good_record(command: Command) -> None:
    name = blueprint(command, SMALL)
    first = command("run", name, "--batch-size=2", "--json")
    assert len(first.records) == 2
    plan = command("run", name, "--resume", "--dry-run")
    assert "2 of 4 runs already have an ok record in results and are skipped" in plan.stderr
    assert plan.stdout.count("done") == 3
    assert "4 runs, 2 of them done, 2 to do" in plan.stdout
    rest = command("run", name, "--resume", "--json")
    assert [record["batch_size"] for record in rest.records] == [4, 4]
    (command.folder / "results" / "cut.json").write_text('{"schema_version": "1')
    again = command("run", name, "--resume")
    assert again.status == 0
    assert "left out: results/cut.json: " in again.stderr
    (command.folder / "results" / "cut.json").unlink()
    assert "4 of 4 runs already have an ok record" in again.stderr
    assert again.stdout.endswith("4 records in results, 4 of them from before\n")
    assert len(list((command.folder / "results").glob("*.json"))) == 4


@pytest.mark.framework("numpy")
@pytest.mark.parametrize(
    ("options", "left"),
    [
        (("--timeout=100",), 0),
        (("--anonymous",), 0),
        (("--seed=7",), 1),
        (("--steps=4",), 1),
        (("--learning-rate=0.5",), 1),
        (("--set=hidden1=9",), 1),
        (("--repeats=2",), 1),
        (("--no-verify",), 1),
        (("--env=current",), 1),
        (("--monitors=cpu",), 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_the_whole_specification_decides(command: Command, options: tuple[str, ...], left: int) -> None:
    name = blueprint(command, SMALL)
    only = ("run", name, "--batch-size=2", "--mode=training")
    assert command(*only, "--json").status == 0
    planned = plans(command(*only, *options, "--resume", "--dry-run", "--json"))
    assert sum(run["record"] is None for run in planned) == left


@pytest.mark.framework("numpy")
def test_a_failed_run_is_run_again(faulty: Command) -> None:
    options = ("--framework=faulty", "--problem=mnist_mlp", "--batch-size=2", "--steps=2", "--warmup=0")
    assert faulty(*options, "--set=fault=exception", "--json").status == 1
    assert faulty(*options, "--set=fault=exception", "--resume", "--json").records != []
    assert faulty(*options, "--json").status == 0
    assert faulty(*options, "--resume", "--json").records == []


# --- thresholds ------------------------------------------------------------------------------------


@pytest.mark.framework("numpy")
def test_a_limit_that_is_not_kept_is_named_with_its_value(command: Command) -> None:
    name = blueprint(
        command, SMALL + "[accept]\nmin_throughput = 1e12\nmax_step_seconds = 60\nmax_loss = 1e9\n"
    )
    finished = command("run", name, "--batch-size=2", "--json")
    assert finished.status == 1
    training, inference = finished.records
    assert training["status"] == inference["status"] == "ok"
    assert {limit["name"]: limit["passed"] for limit in training["acceptance"]["limits"]} == {
        "min_throughput": False,
        "max_step_seconds": True,
        "max_loss": True,
    }
    assert [limit["name"] for limit in inference["acceptance"]["limits"]] == [
        "min_throughput",
        "max_step_seconds",
    ]
    assert training["acceptance"]["status"] == "failed"
    lines = finished.stderr.splitlines()
    assert len(lines) == 2
    assert re.search(
        r"not accepted: throughput is [\d.e+]+, must be at least 1e\+12 \(min_throughput\)$", lines[0]
    )
    assert command("validate", "results").status == 0
    resumed = command("run", name, "--batch-size=2", "--resume", "--json")
    assert (resumed.status, resumed.stdout) == (1, "")
    kept = command("run", name, "--batch-size=2", "--resume", "--accept=min_throughput=1", "--json")
    assert (kept.status, kept.stderr) == (0, "")


@pytest.mark.framework("numpy")
def test_a_summary_tells_the_verdict(command: Command) -> None:
    options = (
        "--framework=numpy",
        "--problem=mnist_mlp",
        "--batch-size=2",
        "--steps=2",
        "--warmup=0",
        "--quiet",
    )
    good = command(*options, "--accept=max_memory_bytes=1e12")
    assert good.status == 0
    assert "acceptance    passed: the limit is kept" in good.stdout
    bad = command(*options, "--accept=max_memory_bytes=1", "--accept=min_throughput=1")
    assert bad.status == 1
    assert "acceptance    failed: max_memory_bytes" in bad.stdout


# --- windows and monitors --------------------------------------------------------------------------


@pytest.mark.framework("numpy")
def test_a_window_measures_to_the_true_end_of_the_last_pass(command: Command) -> None:
    options = (
        "--framework=numpy",
        "--problem=mnist_mlp",
        "--mode=inference",
        "--batch-size=64",
        "--warmup=0",
    )
    finished = command(*options, "--window=0.3", "--json")
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    timing, metrics = record["timing"], record["metrics"]
    steps = len(timing["samples_seconds"])
    assert timing["window_seconds"] == 0.3
    assert timing["wall_seconds"] >= 0.3
    assert sum(timing["samples_seconds"][:-1]) < 0.3  # all passes but the last ended within it
    assert metrics["batches_per_second"] == pytest.approx(steps / timing["wall_seconds"])
    assert metrics["training_seconds"] is None
    assert record["execution"]["steps_requested"] is None
    assert "--window=0.3" in record["command"]
    shown = command(*options, "--window=0.3").stdout
    assert re.search(r"in all +[\d,.]+ mini-batches/s over [\d.]+ ms, 0.3 s were asked for", shown)


@pytest.mark.framework("numpy")
def test_only_the_named_monitors_read(command: Command) -> None:
    options = (
        "--framework=numpy",
        "--problem=mnist_mlp",
        "--batch-size=2",
        "--steps=2",
        "--warmup=0",
        "--json",
    )
    (record,) = command(*options, "--monitors=cpu,os").records
    assert set(record["collectors"]) == set(record["platform"]) == {"cpu", "os"}
    assert "--monitors=cpu,os" in record["command"]
    (record,) = command(*options, "--monitors=none").records
    assert record["collectors"] == record["platform"] == {}


# --- early stop ------------------------------------------------------------------------------------

SMALL_MEMORY = """
from dataclasses import dataclass

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.plugins.numpy.framework import NumpyFramework


@dataclass(frozen=True)
class Options:
    most: int = 4


def benchmarker_framework():
    return FrameworkPlugin("small_memory", "numpy", ("numpy",), "small_memory:SmallMemory", options=Options)


class SmallMemory(NumpyFramework):
    def build(self, graph, parameters, *, mode, device, precision, optimizer, options):
        if graph.batch_size > options.most:
            raise MemoryError("no room")
        return super().build(
            graph, parameters, mode=mode, device=device, precision=precision, optimizer=optimizer,
            options=super_options(),
        )


def super_options():
    from benchmarker.api.framework import NoOptions

    return NoOptions()
"""


@pytest.mark.framework("numpy")
def test_larger_batches_are_left_out_after_the_first_out_of_memory(
    command: Command, distribution: Callable[..., Path]
) -> None:
    folder = distribution(
        "small-memory", {"frameworks": ["small_memory = small_memory"]}, {"small_memory": SMALL_MEMORY}
    )
    command = command.with_path(folder)
    name = blueprint(
        command,
        'problem = "mnist_mlp"\nframework = ["numpy", {name = "small_memory", most = [2, 4]}]\n'
        "batch_size = [2, 4, 8, 16]\nsteps = 2\nwarmup = 0\nearly_stop = true\nrepeats = 2\n",
    )
    finished = command("run", name, "--repeats=1")
    assert finished.status == 1
    records = [json.loads(path.read_text()) for path in (command.folder / "results").glob("*.json")]
    records.sort(key=lambda record: record["started_at"])
    cells = [
        (r["framework"]["name"], r["framework"]["options"].get("most"), r["batch_size"], r["status"])
        for r in records
    ]
    assert sorted(cell for cell in cells if cell[0] != "numpy") == [
        ("small_memory", 2, 2, "ok"),
        ("small_memory", 2, 4, "out_of_memory"),
        ("small_memory", 4, 2, "ok"),
        ("small_memory", 4, 4, "ok"),
        ("small_memory", 4, 8, "out_of_memory"),
    ]
    assert [cell[2] for cell in cells if cell[0] == "numpy"] == [2, 4, 8, 16]
    skipped = [line for line in finished.stderr.splitlines() if "skipped" in line]
    assert skipped == [
        "small_memory mnist_mlp training, batch 8, fp32: skipped, batch 4 ran out of memory",
        "small_memory mnist_mlp training, batch 16, fp32: skipped, batch 4 ran out of memory",
        "small_memory mnist_mlp training, batch 16, fp32: skipped, batch 8 ran out of memory",
    ]
    quiet = command("run", name, "--framework=small_memory", "--batch-size=8,16", "--repeats=2", "--json")
    assert [record["batch_size"] for record in quiet.records] == [8, 8, 8, 8][: len(quiet.records)]
    # Once for each of the two: what was left out in a round is not tried in the next.
    assert quiet.stderr.count("skipped, batch 8 ran out of memory") == 2
    every = command("run", name, "--no-early-stop", "--framework=small_memory", "--repeats=1", "--json")
    assert len(every.records) == 8
