"""Optimizers as plug-ins: benchmarker's own by their entry points, a package's, and a file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarker import registry
from benchmarker.api import optimizer
from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import PluginError, UsageError
from benchmarker.training.optimizers import BUILT_IN
from tests.conftest import ROOT, Command, write_distribution

MINE = ROOT / "examples" / "optimizers" / "my_rule.py"
MLP = ("--framework=numpy", "--problem=mnist_mlp", "--batch-size=4", "--steps=3", "--warmup=1", "--json")
PACKAGE = """
from dataclasses import dataclass

from benchmarker.api import Real, UpdateRule, constant


@dataclass(frozen=True)
class Halved(UpdateRule):
    share: float = constant(0.5, Real(above=0.0))

    name = "halved"
    source = "a test"

    def update(self, operators, given):
        step = operators.affine(operators.mul(given.numbers["learning_rate"], given.gradient), alpha=self.share)
        return operators.sub(given.parameter, step), {}
"""


@pytest.fixture(autouse=True)
def nothing_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is loaded here is not known to other tests."""
    monkeypatch.setattr(optimizer, "_ADDED", {})
    monkeypatch.setattr(registry, "_RULE_VALUES", {})


def test_those_of_workers_are_those_of_entry_points() -> None:
    assert set(registry.names("optimizers", ours=True)) == set(BUILT_IN)
    for kind, rule in BUILT_IN.items():
        assert registry.update_rule(kind) == rule
        assert registry.rule_value(kind) is None


def test_one_that_is_unknown_is_told_with_near_names(command: Command) -> None:
    finished = command("run", *MLP, "--optimizer=addam")
    assert finished.status == 2
    assert finished.stderr.strip().endswith("unknown optimizer 'addam'; did you mean 'adam'?")


@pytest.mark.framework("numpy")
def test_a_file_is_trained_with_and_recorded_by_its_content(command: Command) -> None:
    shutil.copy(MINE, command.folder / "mine.py")
    (record,) = command("run", *MLP, "--optimizer=mine.py", "--learning-rate=0.002").records
    assert record["status"] == "ok", record["error"]
    assert record["verification"]["status"] == "passed"
    chosen = record["optimizer"]
    assert (chosen["kind"], chosen["learning_rate"], chosen["variant"]) == ("mine.py", 0.002, "composed")
    assert chosen["further"] == {"power": 0.5}
    assert chosen["digest"] == record["comparable"]["keys"]["optimizer"]["digest"]
    assert "--optimizer=mine.py" in record["command"]


@pytest.mark.framework("numpy")
def test_a_package_has_its_own(command: Command, tmp_path: Path) -> None:
    folder = write_distribution(
        tmp_path / "site", "halved", {"optimizers": ["halved = halved:Halved"]}, {"halved": PACKAGE}
    )
    with_it = command.with_path(folder)
    (tmp_path / "b.toml").write_text(
        'problem = "mnist_mlp"\nframework = "numpy"\nbatch_size = 4\nsteps = 3\n'
        'optimizer = {kind = "halved", share = [0.25, 1]}\n'
    )
    finished = with_it("run", "b.toml", "--json")
    assert finished.status == 0, finished.stderr
    assert [r["optimizer"]["further"] for r in finished.records] == [{"share": 0.25}, {"share": 1.0}]
    assert {r["verification"]["status"] for r in finished.records} == {"passed"}
    assert "halved" in with_it("list", "optimizers").stdout


def test_a_file_that_is_not_there_or_holds_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"must be a file that is there, got 'nowhere\.py'"):
        registry.update_rule(str(tmp_path / "nowhere.py"))
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(
        PluginError, match=r"optimizer 'empty\.py' .* defines no function 'benchmarker_optimizer'$"
    ):
        registry.update_rule(str(tmp_path / "empty.py"))
    (tmp_path / "other.py").write_text("def benchmarker_optimizer():\n    return 3\n")
    with pytest.raises(PluginError, match=r"returned int from benchmarker_optimizer\(\), not UpdateRule$"):
        registry.update_rule(str(tmp_path / "other.py"))


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "import os; os._exit(3)"])
def test_a_file_can_neither_end_a_command_nor_print_into_it(code: str, command: Command) -> None:
    file = command.folder / "ends.py"
    file.write_text(f"def benchmarker_optimizer():\n    print('noise')\n    {code}\n")
    finished = command("run", "--framework=numpy", "--problem=mnist_mlp", "--optimizer=ends.py", "--json")
    assert finished.status == 2
    assert "ends.py" in finished.stderr
    assert "noise" not in finished.stdout


def test_a_file_keeps_its_constants_and_takes_others() -> None:
    rule = registry.update_rule(str(MINE))
    chosen = Optimizer.default("my_rule.py").with_constants({"power": 1.0, "learning_rate": 0.5})
    assert rule.name == chosen.kind
    assert chosen.digest == rule.digest
    assert (chosen.rule.learning_rate, chosen.rule.power) == (0.5, 1.0)  # type: ignore[attr-defined]


@pytest.mark.framework("pytorch")
def test_a_rule_of_whole_parameters_updates_one_that_is_kept_in_parts(command: Command) -> None:
    what = ("--problem=lstm_char", "--optimizer=lars,adafactor", "--batch-size=2", "--steps=2", "--warmup=1")
    finished = command("run", "--framework=pytorch", *what, "--json")
    assert finished.status == 0, finished.stderr
    for record in finished.records:
        assert record["optimizer"]["variant"] == "composed"
        assert record["verification"]["status"] == "passed"
        proof = record["verification"]["after_timing"]
        assert proof["status"] == "passed"
        (followed,) = (check for check in proof["checks"] if check["name"] == "further steps")
        assert "own weights, state and gradients" in followed["detail"]
