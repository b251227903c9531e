"""The command ``compare``: its table, its JSON, its exit statuses and what it refuses."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.comparison.resolution import keep
from benchmarker.records.rescue import FOLDER
from benchmarker.records.store import Store, read_record
from tests.analysis.comparison.test_comparison import kept
from tests.conftest import Command
from tests.support.campaign_records import WOBBLE, processes
from tests.support.records import PRESSURE
from tests.support.small_disks import small_disk

BASE, SLOW, SAME = "framework=pytorch", "framework=mxnet", "framework=chainer"
DISTURBED: dict[str, Any] = {
    "trust__grade": "contaminated",
    "trust__reasons": [{**PRESSURE, "severity": "contaminated"}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Results of a campaign of three frameworks: the second takes 10 % longer than the first, the third as long."""
    store = Store(tmp_path / "results")
    steady = tuple(reversed(WOBBLE))
    for records in (
        processes(),
        processes(0.055, wobble=steady, framework__name="mxnet", environment__python="3.9.18"),
        processes(0.0501, wobble=steady, framework__name="chainer"),
    ):
        for record in records:
            store.save(record)
    return store.folder


@pytest.fixture
def compare(command: Command, tmp_path: Path, folder: Path) -> Command:
    """The command with a cache that holds no A/A comparison."""
    home = str(tmp_path / "home")
    return Command(command.folder, {**command.environment, "BENCHMARKER_HOME": home})


def rows(found: str) -> list[dict[str, Any]]:
    answer = json.loads(found)
    assert len(found.splitlines()) == 1
    return list(answer["rows"])


def test_the_table_has_ratio_interval_pairs_and_verdict(compare: Command) -> None:
    found = compare("compare", BASE, SLOW, SAME)
    assert found.status == 0, found.stderr
    assert found.stderr == ""
    assert all(len(line) <= 80 for line in found.stdout.splitlines())
    table = found.stdout.splitlines()
    slow = next(line for line in table if "slower" in line and "mxnet" in line)
    assert "1.10" in slow
    assert "10 pairs each" in " ".join(found.stdout.split())
    assert any("equivalent" in line and "chainer" in line for line in table)
    assert "Holm's correction over 2 rows" in " ".join(found.stdout.split())
    assert "baseline pytorch 2.13.0, 10 pairs each" in " ".join(found.stdout.split())


def test_rows_are_told_apart_where_both_sides_have_the_same_frameworks(
    compare: Command, folder: Path
) -> None:
    """As with two folders, or two commits: the frameworks are no difference between the sides, but one of rows."""
    later: dict[str, Any] = {"campaign": "d" * 32, "day": 2}
    mxnet: dict[str, Any] = {"framework__name": "mxnet", "environment__python": "3.9.18"}
    for records in (processes(0.06, **later), processes(0.08, **mxnet, **later)):
        for record in records:
            Store(folder / "later").save(record)
    found = compare("compare", "until=2026-03-01 framework=pytorch,mxnet", "since=2026-03-02")
    assert found.status == 0, found.stderr
    lines = found.stdout.splitlines()
    assert any("pytorch" in line and "1.200" in line for line in lines)
    assert any("mxnet" in line and "1.455" in line for line in lines)


def test_a_row_tells_how_its_work_differs_from_that_of_its_neighbours(compare: Command, folder: Path) -> None:
    for name, seconds in (("pytorch", 0.05), ("mxnet", 0.06)):
        for record in processes(seconds, framework__name=name):
            record["specification"]["steps"] = 600
            Store(folder).save(record)
    found = compare("compare", BASE, SLOW, "--fail-if-slower=5%")
    assert found.status == 1, found.stderr
    heading = next(line for line in found.stdout.splitlines() if "ratio" in line)
    assert heading.split()[:2] == ["row", "steps"]
    ratios = {
        line.split()[1]: line.split()[4] for line in found.stdout.splitlines() if line[:4].strip().isdigit()
    }
    assert ratios["600"] == "1.200"
    assert set(ratios) == {"none", "600"}
    assert "batch 4, steps 600: mxnet" in found.stderr


def test_what_is_said_of_all_rows_holds_for_all(compare: Command, folder: Path) -> None:
    """Where the problem tells rows apart already, their batch sizes and threads may differ still."""
    for name in ("pytorch", "mxnet"):
        for record in processes(
            framework__name=name, problem__name="mlp", batch_size=9, execution__threads=3
        ):
            Store(folder).save(record)
    lines = compare("compare", BASE, SLOW).stdout.splitlines()
    assert "batch" not in lines[0]
    assert "thread" not in lines[0]
    heading = next(line for line in lines if "problem" in line)
    assert "batch size" in heading
    assert "threads" in heading


def test_many_rows_without_a_verdict_are_one_line_below_those_with_one(
    compare: Command, folder: Path
) -> None:
    for place in range(21):
        few = WOBBLE[: 2 if place < 8 else 3]
        for name in ("pytorch", "mxnet"):
            changes: dict[str, Any] = {"framework__name": name, "batch_size": 8 + place}
            for record in processes(wobble=few, **changes, **({} if place < 8 else DISTURBED)):
                Store(folder).save(record)
    found = compare("compare", BASE, SLOW)
    said = " ".join(found.stdout.split())
    told = "21 rows without a verdict are not shown: 13 disturbed, 8 with fewer than 3 pairs; --json has them all."
    assert told in said
    assert "batch 4" in said
    assert "other mxnet 2.13.0, 10 pairs" in said
    assert len(rows(compare("compare", BASE, SLOW, "--json").stdout)) == 22
    alone = compare("compare", f"{BASE} batch_size=8..28", f"{SLOW} batch_size=8..28").stdout
    assert "not shown" not in alone
    assert any(line.startswith(" 21 ") for line in alone.splitlines())


def test_json_is_one_object_and_nothing_else(compare: Command) -> None:
    found = compare("compare", BASE, SLOW, SAME, "--json")
    assert found.stderr == ""
    slow, same = rows(found.stdout)
    assert (slow["verdict"], same["verdict"]) == ("slower", "equivalent")
    assert slow["ratio"] == pytest.approx(1.1, rel=0.01)
    low, high = slow["paired"]["ci95"]
    assert 1.02 < low < slow["ratio"] < high < 1.2
    assert slow["p_adjusted"] == pytest.approx(2 * slow["p"])
    assert slow["first"]["side"] == BASE
    assert slow["keys"]["problem"] == "mnist_mlp"
    assert slow["sentence"].startswith("mxnet 2.13.0 is slower than pytorch 2.13.0: ratio 1.10")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ((BASE, SLOW, "--fail-if-slower=5%"), 1, "slower by more than 5.0 %"),
        ((BASE, SAME, "--fail-if-slower=5%"), 0, ""),
        ((SLOW, BASE, "--fail-if-slower=5%"), 0, ""),
        ((BASE, SLOW, "--fail-if-slower=20%"), 0, ""),
        ((BASE, SLOW, "--fail-if-slower=9.8%"), 0, "cannot tell whether it is slower by more than 9.8 %"),
        ((BASE, SLOW, "--fail-if-slower=9.8%", "--require-conclusive"), 4, "cannot tell"),
        ((BASE, SLOW, "--margin=9.8%"), 0, ""),
        ((BASE, SLOW, "--margin=9.8%", "--require-conclusive"), 4, ""),
        ((BASE, SAME, "--require-conclusive"), 0, ""),
    ],
)
def test_the_status_is_what_a_gate_needs(
    compare: Command, arguments: tuple[str, ...], status: int, said: str
) -> None:
    found = compare("compare", *arguments)
    assert found.status == status, found.stderr
    assert said in found.stderr
    assert bool(said) == bool(found.stderr)
    assert "mnist_mlp" in found.stderr or not said


def test_numbers_of_another_day_are_described_only(compare: Command, folder: Path) -> None:
    for record in processes(0.10, campaign="d" * 32, day=2, framework__name="numpy"):
        Store(folder).save(record)
    found = compare("compare", BASE, "framework=numpy")
    assert found.status == 0
    assert "Unpaired" in found.stdout
    assert "--run makes pairs" in " ".join(found.stdout.split())
    assert "none" in found.stdout
    for verdict in ("slower than", "faster", "equivalent"):
        assert verdict not in found.stdout
    (row,) = rows(compare("compare", BASE, "framework=numpy", "--json").stdout)
    assert row["verdict"] is None
    assert row["paired"] is None
    assert row["why_none"] == "unpaired, descriptive only"
    assert row["ratio"] == pytest.approx(2.0, rel=0.01)


def test_disturbed_processes_that_count_are_told(compare: Command, folder: Path) -> None:
    for record in processes(0.1, framework__name="numpy", **DISTURBED):
        Store(folder).save(record)
    found = compare("compare", BASE, "framework=numpy")
    assert "No verdict: 10 contaminated of 10 pairs." in found.stdout
    assert "--include-contaminated" in found.stdout
    found = compare("compare", BASE, "framework=numpy", "--include-contaminated")
    assert "slower" in found.stdout
    assert "10 of 20 processes that count were disturbed" in found.stdout


def test_groups_of_the_processes_of_a_side_are_told(compare: Command, folder: Path) -> None:
    halves = [w + 0.2 * (i % 2) for i, w in enumerate(WOBBLE)]
    asked = {"replication__min_processes": 10, "replication__max_processes": 10}
    found = processes(0.05, wobble=halves, framework__name="numpy", **asked)
    for place, record in enumerate(found):
        record["execution"]["process"]["cpus"] = [0] if place % 2 else [0, 1]
        Store(folder).save(record)
    told = compare("compare", BASE, "framework=numpy")
    said = "Two groups of numpy 2.13.0: 5 of 10 processes at 50.1 ms, 5 at 60.9 ms; what differs: CPUs used"
    assert said in " ".join(told.stdout.split())
    assert "CPUs used 2.00 against 1.00; try --affinity." in " ".join(told.stdout.split())
    (row,) = rows(compare("compare", BASE, "framework=numpy", "--json").stdout)
    assert row["first"]["groups"] is None
    assert [len(row["other"]["groups"][which]["members"]) for which in ("fast", "slow")] == [5, 5]
    assert row["other"]["groups"]["differences"][0]["name"] == "CPUs used"
    shown = compare("results", "show", found[0]["id"])
    assert "5 of 10 processes at 50.1 ms, 5 at 60.9 ms" in " ".join(shown.stdout.split())
    alone = compare("results", "show", processes_of_pytorch(folder))
    assert "of 10 processes at" not in alone.stdout


def processes_of_pytorch(folder: Path) -> str:
    """Return the file of one of them."""
    return str(next(path for path in folder.glob("*_pytorch-*.json")))


def test_what_the_machine_resolves_bounds_the_margin(compare: Command, tmp_path: Path) -> None:
    keep(kept(half_width=0.08), tmp_path / "home" / "facts" / "resolution")
    found = compare("compare", BASE, SLOW)
    assert "equivalent" in found.stdout
    assert "16 % (resolution of this machine, twice the half-width of" in " ".join(found.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((BASE,), "at least two sides, got 1"),
        ((BASE, BASE), "one is given twice"),
        ((BASE, SLOW, "--pairs=5"), "must come with --run or --aa"),
        ((BASE, SLOW, "--run", "--pairs=2"), "from 3 to 5000, got 2"),
        ((BASE, SLOW, "--fail-if-slower=1%"), "0.01 is below 0.02"),
        ((BASE, SLOW, "--margin=5"), "between 0% and 100%, e.g. 5% or 0.05, got '5'"),
        ((BASE, SLOW, "--margin=x%"), "got 'x%'"),
        ((BASE, SLOW, "--aa=last"), "without SIDEs"),
        ((BASE, "git:HEAD", "--run"), "all of one kind"),
        ((BASE, SLOW, "--", "--steps=5"), "is run at commits or versions, with --run"),
        ((BASE, "framework=cntk"), "there are none for 'framework=cntk'"),
        ((BASE, "nowhere"), "no record"),
        ((BASE, "framwork=mxnet"), "did you mean"),
        ((BASE, "framework='mxnet"), "as in a shell"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(
    compare: Command, arguments: tuple[str, ...], said: str
) -> None:
    found = compare("compare", *arguments)
    assert found.status == 2
    assert found.stdout == ""
    assert said in found.stderr
    assert "Traceback" not in found.stderr
    assert len(found.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((BASE, "framework=cntk"), "there are none for 'framework=cntk'"),
        ((BASE, SLOW, "--run", "--pairs=2"), "--pairs must be from 3 to 5000, got 2"),
        (("--aa=nowhere",), "no record"),
    ],
)
def test_json_says_why_there_is_no_comparison(
    compare: Command, arguments: tuple[str, ...], said: str
) -> None:
    found = compare("compare", *arguments, "--json")
    assert found.status == 2
    answer = json.loads(found.stdout)
    assert said in answer["error"]
    assert answer.get("rows", []) == []
    assert answer.get("resolution") is None
    assert len(found.stderr.splitlines()) == 1


def test_json_of_pairs_that_do_not_count_has_the_reason(compare: Command, folder: Path) -> None:
    for record in processes(0.055, framework__name="numpy", **DISTURBED):
        Store(folder).save(record)
    found = compare("compare", BASE, "framework=numpy", "--json", "--require-conclusive")
    assert found.status == 4
    (row,) = rows(found.stdout)
    assert (row["verdict"], row["why_none"]) == (None, "10 contaminated of 10 pairs")


def test_another_work_is_refused_with_both_values(compare: Command, folder: Path) -> None:
    for record in processes(0.1, batch_size=8, framework__name="numpy"):
        Store(folder).save(record)
    found = compare("compare", BASE, "framework=numpy")
    assert found.status == 2
    assert "batch_size (4 and 8)" in found.stderr


# --- making pairs ----------------------------------------------------------------------------------

# Of so few steps nothing is said of their course, on a noisy machine either.
QUICK = (
    *("--framework=numpy", "--problem=mnist_mlp", "--mode=inference", "--batch-size=2", "--threads=1"),
    *("--no-verify", "--steps=10", "--warmup=1", "--quiet"),
)


@pytest.mark.framework("numpy")
def test_run_makes_pairs_of_both_sides_in_one_campaign(command: Command, tmp_path: Path) -> None:
    assert command(*QUICK, "--start=spawn,fork").status == 0
    sides = ("execution.start=spawn", "execution.start=fork")
    before = set((tmp_path / "results").glob("*.json"))
    found = command("compare", *sides, "--run", "--pairs=3", "--include-contaminated", "--json")
    assert found.status == 0, found.stderr
    (row,) = rows(found.stdout)
    assert row["paired"]["pairs"] == 3
    new = [json.loads(p.read_text()) for p in set((tmp_path / "results").glob("*.json")) - before]
    assert len(new) == 6
    assert len({record["replication"]["campaign"] for record in new}) == 1
    starts = [(r["replication"]["round"], r["execution"]["start"]) for r in new]
    assert sorted(starts) == [(i, start) for i in range(3) for start in ("fork", "spawn")]
    assert found.stderr == ""
    told = json.loads(found.stdout)["without_turns"]
    assert told == "the runs state steps, which windows would not keep to"
    again = command("compare", *sides, "--include-contaminated", "--json")
    assert rows(again.stdout)[0]["ratio"] == row["ratio"]
    loud = command("compare", *sides, "--run", "--pairs=3", "--include-contaminated")
    assert loud.stderr.count(f"run one after the other, not in turns: {told}") == 1
    as_asked = command("compare", *sides, "--run", "--no-turns", "--pairs=3", "--include-contaminated")
    assert "not in turns" not in as_asked.stderr


@pytest.mark.framework("numpy")
def test_new_records_for_which_the_results_disk_has_no_room_are_kept_elsewhere_and_compared(
    command: Command, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    own = Command(command.folder, {**command.environment, "BENCHMARKER_HOME": str(home)})
    assert own(*QUICK, "--start=spawn,fork", f"--results={tmp_path / 'sources'}").status == 0
    sides = [str(path) for path in sorted((tmp_path / "sources").glob("*.json"))]
    with small_disk(tmp_path / "results", "128k") as folder:
        options = ("--pairs=3", "--include-contaminated", "--json", f"--results={folder}")
        found = own("compare", *sides, "--run", *options, f"--summary={tmp_path / 'summary.md'}")
        stored = len(list(folder.glob("*.json")))
        alone = own("compare", f"--aa={sides[0]}", *options)
    assert found.status == 1, found.stderr
    assert "Traceback" not in found.stderr
    assert rows(found.stdout)[0]["paired"]["pairs"] == 3
    assert 1 <= stored < 6
    assert len(kept_elsewhere(found.stderr)) == 6 - stored
    assert all(read_record(path)["status"] == "ok" for path in kept_elsewhere(found.stderr))
    assert "**Failed**: not all new records are in" in (tmp_path / "summary.md").read_text()
    assert alone.status == 1, alone.stderr
    assert json.loads(alone.stdout)["resolution"]["pairs"] == 3
    assert kept_elsewhere(alone.stderr)


@pytest.mark.framework("numpy")
def test_new_records_that_can_be_kept_nowhere_are_compared(command: Command, tmp_path: Path) -> None:
    places = {"BENCHMARKER_HOME": "rescued", "TMPDIR": FOLDER, "HOME": FOLDER}
    for name, place in places.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / place).write_text("no folder")
    blocked = {name: str(tmp_path / name) for name in places}
    own = Command(command.folder, {**command.environment, **blocked})
    assert own(*QUICK, "--start=spawn,fork", f"--results={tmp_path / 'sources'}").status == 0
    sides = [str(path) for path in sorted((tmp_path / "sources").glob("*.json"))]
    with small_disk(tmp_path / "results", "8k") as folder:
        options = ("--pairs=3", "--include-contaminated", "--json", f"--results={folder}")
        found = own("compare", *sides, "--run", *options)
        again = own("rerun", sides[0], "--repeats=3", "--json", f"--results={folder}")
    assert found.status == 1, found.stderr
    assert rows(found.stdout)[0]["paired"]["pairs"] == 3
    assert found.stderr.count("nor could it be kept anywhere else") == 6
    assert "Traceback" not in found.stderr
    assert again.status in (1, 4), (
        again.stderr
    )  # steps as short as these may not tell whether they are reproduced
    assert json.loads(again.stdout)["verdict"]
    assert again.stderr.count("nor could it be kept anywhere else") == 3
    assert "Traceback" not in again.stderr


def kept_elsewhere(told: str) -> list[Path]:
    return [Path(path) for path in re.findall(r"^benchmarker: .*; it is kept as '(.*)'$", told, re.M)]


@pytest.mark.framework("numpy")
def test_what_was_made_before_an_interrupt_is_kept_and_compared(command: Command, tmp_path: Path) -> None:
    assert command(*QUICK, "--start=spawn,fork").status == 0
    folder = tmp_path / "results"
    process = command.start(
        *("compare", "execution.start=spawn", "execution.start=fork", "--run", "--pairs=500"),
        "--include-contaminated",
    )
    while len(list(folder.glob("*.json"))) < 10 and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    found, told = process.communicate()
    assert process.returncode == 130, told
    assert "ratio" in found
    assert "Traceback" not in told
    statuses = [json.loads(path.read_text())["status"] for path in folder.glob("*.json")]
    assert statuses.count("ok") >= 9


@pytest.mark.framework("numpy")
def test_json_says_why_a_side_could_not_be_measured(hostile: Command) -> None:
    sides = ("framework=numpy", "framework=hostile")
    assert hostile(*QUICK, "--framework=numpy,hostile").status == 0
    acting = Command(hostile.folder, {**hostile.environment, "HOSTILE_ACT": "leave"})
    found = acting("compare", *sides, "--run", "--pairs=3", "--json")
    assert found.status == 2
    answer = json.loads(found.stdout)
    assert answer["rows"] == []
    assert (
        "'framework=hostile' has none; the last of its runs: the worker ended with exit status 0"
        in answer["error"]
    )
    statuses = [json.loads(path.read_text())["status"] for path in hostile.folder.glob("results/*.json")]
    assert (statuses.count("ok"), statuses.count("crashed")) == (5, 3)


@pytest.mark.framework("numpy")
@pytest.mark.parametrize("asked", [("framework=numpy", "framework=hostile", "--run"), ("--aa=hostile",)])
def test_json_says_that_it_was_interrupted_before_there_was_a_pair(
    hostile: Command, asked: tuple[str, ...]
) -> None:
    assert hostile(*QUICK, "--framework=numpy,hostile").status == 0
    acting = Command(hostile.folder, {**hostile.environment, "HOSTILE_ACT": "hang"})
    if asked[0] == "--aa=hostile":
        (file,) = hostile.folder.glob("results/*hostile*.json")
        asked = (f"--aa={file}",)
    process = acting.start("compare", *asked, "--pairs=3", "--json")
    while not (hostile.folder / "hanging").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    found, told = process.communicate()
    assert process.returncode == 130, told
    assert "interrupted" in json.loads(found)["error"]
    assert "Traceback" not in told


@pytest.mark.framework("numpy")
def test_a_side_is_not_run_against_itself(command: Command, tmp_path: Path) -> None:
    assert command(*QUICK).status == 0
    assert command(*QUICK).status == 0
    first, second = sorted((tmp_path / "results").glob("*.json"))
    found = command("compare", str(first), str(second), "--run", "--pairs=3")
    assert found.status == 2
    assert "which --aa does" in found.stderr
    assert len(list((tmp_path / "results").glob("*.json"))) == 2


@pytest.mark.framework("numpy")
def test_aa_tells_what_the_machine_resolves(command: Command, tmp_path: Path) -> None:
    home = tmp_path / "home"
    alone = Command(command.folder, {**command.environment, "BENCHMARKER_HOME": str(home)})
    assert alone(*QUICK).status == 0
    found = alone("compare", "--aa=last", "--pairs=3", "--include-contaminated", "--json")
    assert found.status == 0, found.stderr
    answer = json.loads(found.stdout)
    assert answer["resolution"]["pairs"] == 3
    assert answer["resolution"]["half_width"] > 0
    assert answer["kept"] is False
    assert list((home / "facts").rglob("*resolution*")) == []
    assert len(list((tmp_path / "results").glob("*.json"))) == 7
    undisturbed = alone("compare", "--aa=last", "--pairs=3", "--json")
    answer = json.loads(undisturbed.stdout)
    assert undisturbed.status == (0 if answer["kept"] else 4)
    assert len(list((home / "facts" / "resolution").glob("*.json"))) == int(answer["kept"])
