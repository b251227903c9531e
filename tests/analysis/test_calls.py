"""The commands as functions of Python: real runs with NumPy, comparisons of kept records, and the same sentences."""

from __future__ import annotations

import argparse
import html
import inspect
import json
import signal
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import benchmarker
from benchmarker.analysis.results.collection import Results
from benchmarker.cli.run_options import add_arguments
from benchmarker.errors import UsageError
from benchmarker.experiment.keywords import KEYWORDS
from benchmarker.records.store import Store
from tests.conftest import ROOT, Command
from tests.support.campaign_records import WOBBLE, processes
from tests.support.records import make_record
from tests.support.small_disks import small_disk

SMALL: dict[str, Any] = {
    "framework": "numpy",
    "problem": "mnist_mlp",
    "mode": "inference",
    "env": "current",
    "steps": 3,
    "warmup": 1,
    "set": {"hidden1": 16, "hidden2": 8},
}
ONLY_PRINTING = {"json", "quiet", "help"}
"""Options of the command that say how it prints."""
OF_SUBMISSIONS = {"part"}
"""What the jobs of a submission add to the command."""


pytestmark = pytest.mark.usefixtures("warm_workers")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHMARKER_HOME", str(cache_home))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


class _Table(HTMLParser):
    """Takes HTML apart, and fails where tags do not close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


# --- the package -----------------------------------------------------------------------------------


def test_the_package_tells_its_names_and_imports_nothing_heavy() -> None:
    code = (
        "import sys, benchmarker; "
        "assert {'run', 'compare', 'load_results', 'blueprint'} <= set(dir(benchmarker)); "
        "found = {name.partition('.')[0] for name in sys.modules}; "
        "print(sorted(found & {'numpy', 'pandas', 'msgspec', 'pluggy', 'argparse', 'pyarrow'}), "
        "[name for name in sys.modules if name.startswith('benchmarker.')])"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "[] ['benchmarker.version']"


def test_all_names_of_the_package_are_there() -> None:
    names: dict[str, Any] = {}
    exec("from benchmarker import *", names)  # as a user does
    assert set(benchmarker.__all__) <= set(names)
    with pytest.raises(AttributeError, match="no attribute 'rum'"):
        _ = benchmarker.rum


def test_a_blueprint_in_python_imports_its_layers_as_ever() -> None:
    from benchmarker import blueprint as bp

    assert bp.model(bp.InputLayer((4,)), bp.FullyConnected(2))


# --- run -------------------------------------------------------------------------------------------


def test_every_option_of_the_command_is_a_keyword_and_the_other_way_round() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = {action.dest for action in parser._actions} - ONLY_PRINTING - OF_SUBMISSIONS
    keywords = set(inspect.signature(benchmarker.run).parameters)
    assert keywords - options == {"progress", "training"}  # recipes have a command of their own
    assert options - keywords == set()


def test_the_help_tells_each_option() -> None:
    text = inspect.getdoc(benchmarker.run)
    assert text is not None
    for name, what in KEYWORDS.items():
        assert f"\n    {name}: {what.split(' ')[0]}" in text


def test_a_run_is_what_the_command_makes_of_the_same_options(tmp_path: Path, command: Command) -> None:
    lines: list[str] = []
    found = benchmarker.run(**SMALL, batch_size=[2, 3], results=tmp_path / "results", progress=lines.append)
    assert [record["batch_size"] for record in found] == [2, 3]
    assert [path.parent for path in found.paths] == [tmp_path / "results"] * 2
    assert len(found.ok) == 2
    assert len(found.failed) == 0
    assert found.skipped == []
    assert found.values("problem.parameters.hidden1") == [16, 16]
    assert "[2/2] numpy mnist_mlp inference, batch 3, fp32" in lines[-1]
    assert ": ok (" in lines[-1]
    words = [*("--framework=numpy", "--problem=mnist_mlp", "--mode=inference", "--env=current", "--steps=3")]
    words += ["--warmup=1", "--set", "hidden1=16", "--set", "hidden2=8", "--batch-size=2,3", "--json"]
    asked = command(*words, "--dry-run")
    told = [json.loads(line) for line in asked.stdout.splitlines()]
    assert found.plan == told
    by_command = command(*words, "--resume", f"--results={tmp_path / 'results'}")
    assert (by_command.status, by_command.stdout) == (0, ""), by_command.stderr
    again = benchmarker.run(**SMALL, batch_size=[2, 3], results=tmp_path / "results", resume=True)
    assert [record["id"] for record in again] == [record["id"] for record in found]


def test_a_result_is_a_table(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    found = benchmarker.run(**SMALL, batch_size=2)
    frame = found.to_frame()
    assert frame["framework.name"].tolist() == ["numpy"]
    table = _Table(found._repr_html_())
    assert any("mnist_mlp inference" in cell for cell in table.cells)
    assert [path.parent.resolve() for path in found.paths] == [tmp_path / "results"]


def test_planning_runs_nothing(tmp_path: Path) -> None:
    found = benchmarker.run(framework="numpy", problem="mnist_mlp", learning_rate=[0.1, 0.2], dry_run=True)
    assert [run["optimizer"]["learning_rate"] for run in found.plan] == [0.1, 0.2]
    assert (len(found), repr(found)) == (0, "<2 runs planned, none made>")
    assert list(tmp_path.iterdir()) == []


def test_options_go_over_a_blueprint(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text('problem = "mnist_mlp"\nframework = ["numpy", "pytorch"]\nbatch_size = 4\nseed = 7\n')
    found = benchmarker.run(file, framework="numpy", batch_size=8, dry_run=True)
    told = [(run["framework"], run["batch_size"], run["seed"]) for run in found.plan]
    assert told == [("numpy", 8, 7)]
    file.write_text('problem = "mnist_mlp"\nframework = "numpy"\nmode = "inference"\nepochs = 2\n')
    with pytest.raises(UsageError, match=r"two\.toml:4"):
        benchmarker.run(file, dry_run=True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"batchsize": 1}, "an experiment has no option 'batchsize'; did you mean 'batch_size'?"),
        ({"batch_size": 0}, "batch_size must be a whole number from 1 to"),
        ({"mode": "train"}, "mode must be .* got 'train'; did you mean 'training'?"),
        ({"learning_rate": "fast"}, "learning_rate must be a number, or a list of them, got 'fast'"),
        ({"learning_rate": []}, "learning_rate must be a number, or a list of them, got "),
        ({"problem": "mnist_ml"}, "unknown problem 'mnist_ml'; did you mean 'mnist_mlp'?"),
        ({"framework": None}, "--framework required"),
        ({"sample": 3}, "sample"),
        ({"set": 3}, "set must be"),
        ({"accept": {"min_thruput": 3}}, "min_thruput"),
        ({"learning_rate": 10**400}, "learning_rate must be a finite number, got 1000"),
        ({"blueprint": 3}, "blueprint must be a path, got 3"),
        ({"recipe": ["digits_mlp"]}, "recipe must be a path, got"),
        ({"results": "a\0b"}, "results must be a path, got"),
        ({"env": "x" * 9999}, "no path can be as long as 'xxx"),
        ({"results": "/dev/null/no"}, "results must go to a folder that can be written"),
    ],
)
def test_what_makes_no_sense_is_one_sentence_and_runs_nothing(
    tmp_path: Path, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence) as caught:
        benchmarker.run(**{**SMALL, **options})
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_fails_is_a_record_and_a_limit_is_told() -> None:
    found = benchmarker.run(
        **{**SMALL, "batch_size": 2, "precision": ["fp32", "tf32"]}, accept={"min_throughput": 1e12}
    )
    assert (len(found), len(found.ok), len(found.failed)) == (2, 1, 1)
    assert len(found.not_accepted) == 1
    assert "min_throughput" in found.not_accepted[0]
    assert any(found.failed[0]["error"]["message"] in cell for cell in _Table(found._repr_html_()).cells)


INTERRUPTED = """
import benchmarker, os, threading
lines = []
def told(line):
    print(line, flush=True)
try:
    benchmarker.run(framework="numpy", problem="mnist_mlp", mode="inference", env="current", seconds=60, progress=told)
except KeyboardInterrupt as error:
    print("interrupted:", error, flush=True)
"""


def test_an_interrupt_ends_the_worker_and_leaves_its_record(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if "measuring" in line:
                break
        child.send_signal(signal.SIGINT)
        rest = child.stdout.read()
        assert child.wait(60) == 0
    assert "interrupted: 1 records are in 'results'" in rest
    (record,) = benchmarker.load_results(tmp_path / "results")
    assert record["status"] == "interrupted"


def test_a_run_from_a_thread_is_a_run() -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(benchmarker.run(**SMALL, batch_size=2)))
    thread.start()
    thread.join(120)
    assert [len(one.ok) for one in found] == [1]


# --- compare ---------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of a campaign of two frameworks, the second of which takes 10 % longer."""
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))  # without an A/A comparison
    store = Store(tmp_path / "results")
    steady = tuple(reversed(WOBBLE))
    other = processes(0.055, wobble=steady, framework__name="mxnet", environment__python="3.9.18")
    for record in (*processes(), *other):
        store.save(record)
    return store.folder


def test_a_comparison_is_that_of_the_command(folder: Path, command: Command, tmp_path: Path) -> None:
    found = benchmarker.compare("framework=pytorch", "framework=mxnet", fail_if_slower=0.05)
    assert found.verdicts == ["slower"]
    assert (found.rows[0].paired is not None, found.passed) == (True, False)
    same = Command(command.folder, {**command.environment, "BENCHMARKER_HOME": str(tmp_path / "home")})
    told = same("compare", "framework=pytorch", "framework=mxnet", "--fail-if-slower=5%", "--json")
    assert told.status == 1
    assert json.loads(told.stdout) == json.loads(json.dumps(found.to_dict()))
    shown = same("compare", "framework=pytorch", "framework=mxnet")
    assert str(found).startswith(shown.stdout.rstrip("\n"))


def test_records_in_hand_are_sides(folder: Path) -> None:
    results = benchmarker.load_results(folder)
    found = benchmarker.compare(results.filter(framework="pytorch"), results.filter(framework="mxnet"))
    assert found.verdicts == ["slower"]
    assert found.passed
    assert found.rows[0].ratio == pytest.approx(1.1, rel=0.02)
    table = _Table(found._repr_html_())
    assert "slower" in table.cells
    assert "ratio" in table.cells
    with pytest.raises(UsageError, match="must have no record in common"):
        benchmarker.compare(results, results.filter(framework="mxnet"))


@pytest.mark.parametrize(
    ("sides", "options", "sentence"),
    [
        ((), {}, "a comparison must have at least two sides, got 0"),
        (("framework=pytorch",) * 2, {}, "the sides of a comparison must differ"),
        (("framework=pytorch", 3), {}, "a side of a comparison must be a text, a path or results, got int"),
        (("framework=pytorch", "framework=jax"), {}, "there are none for 'framework=jax'"),
        (("framework=pytorch", "framework=mxnet"), {"margin": 2.0}, "a share must be between 0% and 100%"),
        (("framework=pytorch", "framework=mxnet"), {"pairs": 5}, "must come with --run"),
        (
            ("framework=pytorch", "framework=mxnet"),
            {"pairs": 1, "run": True},
            "--pairs must be from 3 to 5000",
        ),
        (("git:no-such", "git:HEAD"), {"run": ["--framework=numpy"]}, "git"),
    ],
)
def test_a_comparison_that_makes_no_sense_is_one_sentence(
    folder: Path, sides: tuple[Any, ...], options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence) as caught:
        benchmarker.compare(*sides, **options)
    assert "\n" not in str(caught.value)


def test_pairs_are_made_of_records(tmp_path: Path) -> None:
    made = benchmarker.run(**SMALL, batch_size=2, results=tmp_path / "a")
    other = benchmarker.run(**SMALL, batch_size=2, start="fork", results=tmp_path / "b")
    found = benchmarker.compare(made.ok, other.ok, run=True, pairs=3, results=tmp_path / "pairs")
    assert found.rows[0].paired is not None or found.rows[0].why_none is not None
    assert len(benchmarker.load_results(tmp_path / "pairs")) == 6


def test_new_records_that_are_kept_elsewhere_are_warnings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmarker.run(**SMALL, batch_size=2, results=tmp_path / "sources")
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    (record,) = (tmp_path / "sources").glob("*.json")
    with (
        small_disk(tmp_path / "results", "8k") as full,
        pytest.warns(UserWarning, match="No space left on device; it is kept as") as told,
    ):
        found = benchmarker.compare_with_itself(record, pairs=3, include_contaminated=True, results=full)
    assert found.resolution is not None
    assert found.resolution.pairs == 3
    assert [str(warning.message) for warning in told] == list(found.troubles)
    assert {warning.filename for warning in told} == {__file__}
    assert len(benchmarker.load_results(tmp_path / "home" / "rescued")) == 6


def test_a_record_compared_with_itself_is_what_the_command_prints(tmp_path: Path) -> None:
    benchmarker.run(**SMALL, batch_size=2, results=tmp_path)
    found = benchmarker.compare_with_itself("last", pairs=3, include_contaminated=True, results=tmp_path)
    assert found.resolution is not None
    assert found.resolution.pairs == 3
    assert not found.kept
    told = found.to_dict()
    assert told["sentence"] == str(found)
    assert html.unescape(found._repr_html_()) == f"<div>{found}</div>"
    assert (told["resolution"]["half_width"], told["kept"]) == (found.resolution.half_width, False)
    assert len(benchmarker.load_results(tmp_path)) == 7
    with pytest.raises(UsageError, match="must be from 3 to 5000, got 2"):
        benchmarker.compare_with_itself("last", pairs=2, results=tmp_path)


# --- notebooks -------------------------------------------------------------------------------------


def test_records_are_shown_escaped_and_in_part(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    nasty = "<script>alert(1)</script>"
    for number in range(23):
        store.save(make_record([0.1] * 20, id=f"{number:032x}", problem__name=nasty))
    results = benchmarker.load_results(tmp_path / "results")
    table = _Table(results._repr_html_())
    assert "script" not in table.seen
    assert nasty in "".join(table.cells)
    assert table.seen.count("tr") == 21
    assert "3 more are not shown." in table.cells
    empty = _Table(results.filter(framework="jax")._repr_html_())
    assert empty.seen.count("tr") == 1
    assert isinstance(results[:2], Results)


def test_a_recipe_is_named_as_in_the_command() -> None:
    found = benchmarker.run(recipe="digits_mlp", framework="numpy", seed=[0, 1], dry_run=True)
    assert [line["training"]["name"] for line in found.plan] == ["digits_mlp", "digits_mlp"]
    with pytest.raises(UsageError, match="give either a blueprint or the recipe 'digits_mlp'"):
        benchmarker.run("some.toml", recipe="digits_mlp")
