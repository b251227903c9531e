"""``benchmarker plot``: a file, its place on standard output, one sentence for what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarker.analysis.charts import kinds
from benchmarker.cli.main import main
from benchmarker.records.store import Store
from tests.conftest import ROOT, Command
from tests.support.records import make_failed_record, make_record


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with results of two frameworks, one of which also failed; the current one."""
    store = Store(tmp_path / "results")
    store.save(make_record())
    store.save(make_record(framework__name="mxnet", problem__name="resnet50"))
    store.save(make_failed_record(framework__name="mxnet"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_picture_is_written_and_its_place_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "frameworks"]) == 0
    assert capsys.readouterr().out == "frameworks.svg\n"
    assert (folder / "frameworks.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(("ending", "magic"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_ending_says_what_file_it_is(folder: Path, ending: str, magic: bytes) -> None:
    assert main(["plot", "latency", "--output", f"picture.{ending}"]) == 0
    assert (folder / f"picture.{ending}").read_bytes().startswith(magic)


def test_filters_choose_the_records(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "frameworks", "framework=mxnet", "status=ok", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [series["name"] for panel in shown["panels"] for series in panel["series"]] == ["mxnet"]
    assert "Left out" not in shown["caption"]
    assert not list(folder.glob("*.svg"))


def test_options_of_the_kind_are_set(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "frameworks", "--set", "metric=throughput", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["panels"][0]["y"]["unit"] == "samples/s"


def test_a_file_that_is_there_stays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "frameworks.svg").write_text("mine")
    assert main(["plot", "frameworks"]) == 2
    assert "'frameworks.svg' exists" in capsys.readouterr().err
    assert (folder / "frameworks.svg").read_text() == "mine"
    assert main(["plot", "frameworks", "--force"]) == 0
    assert (folder / "frameworks.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "plot needs a kind of picture; known: frameworks, devices"),
        (["framework"], "did you mean 'frameworks'?"),
        (["frameworks", "framwork=mxnet"], "did you mean 'framework'?"),
        (["frameworks", "--set", "metric=step,throughput"], "plot takes one value of 'metric'"),
        (["frameworks", "--set", "speed=step"], "no option 'speed'"),
        (["frameworks", "-o", "picture.gif"], "must end in one of .svg, .png, .pdf, got 'picture.gif'"),
        (["frameworks", "-o", "nowhere/picture.svg"], "folder that exists, got 'nowhere'"),
        (["frameworks", "--results", "nowhere"], "exists, got 'nowhere'"),
        (["frameworks", "framework=chainer"], "needs runs that ended well"),
        (["learning"], "needs trainings of a stated length that ended well"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["plot", *words]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.count("\n") == 1
    assert message in found.err
    assert sorted(path.name for path in folder.iterdir()) == ["results"]


def test_the_kinds_are_listed_with_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "--list"]) == 0
    text = capsys.readouterr().out
    assert [line.split()[0] for line in text.splitlines() if not line.startswith(" ")] == list(kinds())
    assert "--set metric=...: step or throughput (default: step)" in text
    assert max(map(len, text.splitlines())) <= 80
    assert main(["plot", "--list", "--json"]) == 0
    assert [kind["kind"] for kind in json.loads(capsys.readouterr().out)] == list(kinds())


def test_a_damaged_file_is_named_and_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "results" / "broken.json").write_text("{")
    assert main(["plot", "frameworks"]) == 0
    assert capsys.readouterr().err.startswith("left out: results/broken.json: is not JSON")


def test_without_matplotlib_the_data_is_still_told(folder: Path) -> None:
    program = "import sys; sys.modules['matplotlib'] = None; from benchmarker.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "plot", "frameworks", "--results", str(folder / "results")]
    drawn = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (drawn.returncode, drawn.stdout) == (1, "")
    assert (
        "a picture needs matplotlib, which is not installed: pip install 'benchmarker-dl[analysis]'"
        in drawn.stderr
    )
    told = subprocess.run([*command, "--json"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(told.stdout)["kind"] == "frameworks"


def test_help_imports_nothing_heavy(command: Command) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "benchmarker", "plot", "--help"],
        cwd=command.folder,
        env=command.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "KEY=VALUE" in done.stdout
    assert not {"matplotlib", "numpy", "pandas"} & {
        line.split("|")[-1].strip() for line in done.stderr.splitlines()
    }
