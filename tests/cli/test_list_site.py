"""``list-site`` as a person calls it, and the verdict that ``rerun`` keeps for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarker.analysis.list_site.reruns import verdict_file
from benchmarker.cli.main import main
from benchmarker.records.store import record_files
from tests.conftest import ROOT, Command
from tests.support.list_entries import CONTEST, contest_text, contests, processes, submit, write
from tests.support.records import make_failed_record
from tests.support.timed_frameworks import with_clockwork


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of records in the working directory, with an entry that counts and one that does not."""
    monkeypatch.chdir(tmp_path)
    contests(tmp_path / "contests")
    submit(tmp_path / "results", 0.01)
    submit(tmp_path / "results", 0.02, day=5, count=4, framework__name="mxnet")
    return tmp_path


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Return status, output and errors of the command."""
    try:
        status = main(["list-site", *arguments])
    except SystemExit as ended:
        status = int(ended.code or 0)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def file_of(place: Path, framework: str) -> str:
    return str(
        sorted((place / "results").glob(f"{framework}*.rerun"))[0].with_suffix(".json").relative_to(place)
    )


def test_a_site_is_built_and_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert called(capsys, "build", "results", "-o", "site") == (
        0,
        f"site: 1 contest, entries: 1 that count, 1 that do not, 0 in no contest; {_size(place / 'site')}\n",
        "",
    )
    status, out, _ = called(capsys, "build", "results", "-o", "site", "--force", "--json")
    told = json.loads(out)
    assert (status, told["site"], told["counting"], told["records"]) == (0, "site", 1, 18)


def _size(folder: Path) -> str:
    from benchmarker.analysis.text.units import size

    return size(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()))


def test_a_contributor_is_told_a_reason_a_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = file_of(place, "pytorch"), file_of(place, "mxnet")
    assert called(capsys, "check", good) == (0, "entries: 1, all would count\n", "")
    status, out, err = called(capsys, "check", good, bad)
    assert (status, err) == (1, "")
    assert out.splitlines() == [
        f"{bad}: at least 5 processes must have succeeded, but only 4 did",
        "entries: 2, 1 would not count",
    ]
    status, out, _ = called(capsys, "check", good, "--json")
    assert (status, json.loads(out)) == (0, [{"record": good, "reasons": []}])


def test_processes_of_one_entry_are_told_once(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = called(capsys, "check", *sorted(map(str, (place / "results").glob("mxnet*.json"))))
    assert status == 1
    assert out.count("but only 4 did") == 1
    assert out.splitlines()[-1] == "entries: 1, 1 would not count"


def test_a_record_of_a_rerun_stands_for_what_was_run_again(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = json.loads(verdict_file(place / file_of(place, "mxnet")).read_text(encoding="utf-8"))
    again = [str(next((place / "results").glob(f"*{name[:12]}.json"))) for name in verdict["new_records"]]
    status, out, _ = called(capsys, "check", *again)
    assert (status, out.splitlines()[-1]) == (1, "entries: 1, 1 would not count")
    verdict_file(place / file_of(place, "mxnet")).unlink()
    assert called(capsys, "check", again[0])[1].count("it is not shown to be reproducible") == 1
    (path,) = write(place / "elsewhere", [make_failed_record("interrupted")])
    assert called(capsys, "check", str(path))[1].startswith(f"{path}: its run was interrupted")


def test_a_record_outside_of_the_folder_is_judged_by_what_lies_beside_it(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = submit(place / "elsewhere", 0.01)
    assert called(capsys, "check", str(paths[0]))[0] == 0
    verdict_file(paths[0]).unlink()
    status, out, _ = called(capsys, "check", str(paths[0]))
    assert status == 1
    assert "it is not shown to be reproducible: there is no '" in out


def test_what_a_record_says_does_not_break_the_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = make_failed_record()
    record["error"]["message"] = "\x1b]0;owned\x07\x1b[31m\r\u2028of a worker\nand more"
    (path,) = write(place / "hostile", [record])
    status, out, _ = called(capsys, "check", str(path))
    assert status == 1
    assert "ended as 'crashed': \\x1b]0;owned\\x07\\x1b[31m\\r\\u2028of a worker\n" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["build", "results"], "benchmarker list-site build: --output is required"),
        (["build", "nowhere", "-o", "site"], "a folder that exists, got 'nowhere'"),
        (["build", "results", "-o", "contests"], "holds other files"),
        (["build", "results", "-o", "no/site"], "the folder above a site must exist, got 'no/site'"),
        (
            ["build", "results", "-o", "site", "--contests=results"],
            "1 to 500 contests, but the folder 'results' has 0",
        ),
        (["build", "results", "-o", "site", "--contests=nowhere"], "'nowhere' is not a folder (--contests)"),
        (["check", "nowhere.json"], "'nowhere.json'"),
        (["check", "contests/example.toml"], "is not among the records of its folder"),
        (["check", "contests"], "is a folder"),
        (["check"], "RECORD"),
        ([], "ACTION"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(
    place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    status, out, err = called(capsys, *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert told in err
    assert not (place / "site").exists()


def test_a_contest_that_is_not_right_is_refused_before_anything(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "contests" / "other.toml").write_text(CONTEST)
    status, _, err = called(capsys, "build", "results", "-o", "site")
    assert status == 2
    assert "the contest 'contests/other.toml' must fix a problem or a recipe" in err


def test_the_kept_example_makes_a_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = ROOT / "contests"
    status, _, err = called(
        capsys, "build", str(kept / "records"), f"--contests={kept}", "-o", str(tmp_path / "site")
    )
    assert (status, err) == (0, "")
    told = json.loads((tmp_path / "site" / "list.json").read_text(encoding="utf-8"))["contests"]
    found = {one["contest"]: (len(one["entries"]), len(one["not_counted"])) for one in told}
    assert found == {"digits_mlp": (2, 0), "mnist_mlp_training": (2, 0)}


@pytest.mark.framework("numpy")
def test_rerun_keeps_its_verdict_beside_the_record_once(command: Command, tmp_path: Path) -> None:
    timed = with_clockwork(command, tmp_path / "modules")
    asked = (
        "--framework=clockwork",
        "--problem=mnist_mlp",
        "--mode=inference",
        "--set=clockwork.asleep=true",
    )
    made = timed(
        *asked, "--batch-size=4", "--steps=12", "--warmup=1", "--set=clockwork.wait_ms=20", "--repeats=5",
        "--price-per-hour=0.5", "--quiet",
    )  # fmt: skip
    assert made.status == 0, made.stderr
    paths = record_files(command.folder / "results")
    record = json.loads(paths[0].read_text(encoding="utf-8"))
    contests(command.folder / "contests", clockwork=contest_text([record]))

    again = timed("rerun", str(paths[0]), "--keep-verdict", "--json")
    (told,) = again.records
    kept = json.loads(verdict_file(paths[0]).read_text(encoding="utf-8"))
    assert (kept["verdict"], kept["sentence"]) == (told["verdict"], told["sentence"])
    assert kept["processes"] == [json.loads(path.read_text(encoding="utf-8"))["id"] for path in paths]
    assert len(kept["new_records"]) == 5
    assert str(command.folder) not in verdict_file(paths[0]).read_text(encoding="utf-8")

    checked = timed("list-site", "check", str(paths[1]), "--json")
    ((entry,),) = (json.loads(checked.stdout),)
    # How calm this machine is, and so how sure the ratio, is not ours to say; all else is.
    others = [reason for reason in entry["reasons"] if "must be undisturbed" not in reason]
    assert len(others) == (kept["verdict"] != "reproduced"), entry
    assert all(kept["sentence"] in reason for reason in others)

    refused = timed("rerun", str(paths[0]), "--keep-verdict", "--results=more")
    assert refused.status == 2
    assert "already exists: move it away" in refused.stderr
    assert not (command.folder / "more").exists()


def test_a_contest_is_written_from_a_record_of_its_work() -> None:
    text = contest_text(processes(0.01))
    assert 'problem = "mnist_mlp"' in text
    assert "threads" not in text
