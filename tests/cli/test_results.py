"""``results list`` and ``show`` tell what is in a folder, whatever its records hold."""

from __future__ import annotations

import csv
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarker.analysis.text.record_list import records_table
from benchmarker.records.store import Store, read_record
from tests.conftest import Command
from tests.support.records import make_failed_record, make_record


@pytest.fixture
def saved(command: Command) -> list[Path]:
    """Records of three days, in the order of time; the last one failed."""
    store = Store(command.folder / "results")
    records = [
        make_record(started_at="2026-03-01T12:00:00.000000Z", ended_at="2026-03-01T12:01:00.000000Z"),
        make_record(
            [0.01] * 30,
            framework__name="mxnet",
            framework__full="mxnet-1.9.1",
            started_at="2026-03-02T12:00:00.000000Z",
            ended_at="2026-03-02T12:01:00.000000Z",
            batch_size=8,
        ),
        make_failed_record(status="out_of_memory", started_at="2026-03-03T12:00:00.000000Z", ended_at=None),
    ]
    return [store.save(record) for record in records]


def ids(paths: list[Path]) -> list[str]:
    return [read_record(path)["id"] for path in paths]


def test_a_list_is_a_table_with_the_newest_first(command: Command, saved: list[Path]) -> None:
    finished = command("results", "list")
    assert finished.status == 0
    rows = finished.stdout.splitlines()
    dated = [row for row in rows if row.startswith("2026-")]
    assert [row[:10] for row in dated] == ["2026-03-03", "2026-03-02", "2026-03-01"]
    assert [row.split()[-1] for row in dated] == [identifier[-8:] for identifier in reversed(ids(saved))]
    assert "out of" in dated[0]
    assert "10.00 ms" in dated[1]
    assert "clean" in dated[1]
    assert max(map(len, finished.stdout.splitlines())) <= 80


def test_a_list_is_filtered_sorted_and_cut(command: Command, saved: list[Path]) -> None:
    newest, middle, oldest = reversed(ids(saved))

    def listed(*words: str) -> list[str]:
        return [record["id"] for record in command("results", "list", "--json", *words).records]

    assert listed() == [newest, middle, oldest]
    assert listed("--limit=2") == [newest, middle]
    assert listed("framework=mxnet") == [middle]
    assert listed("--limit", "1", "status=ok") == [middle]
    assert listed("since=2026-03-02", "--sort=started_at") == [middle, newest]
    # What has no such number comes last, whichever way the others go.
    assert listed("--sort=timing.step_seconds.median") == [middle, oldest, newest]
    assert listed("--sort=-timing.step_seconds.median") == [oldest, middle, newest]


def test_columns_are_chosen_by_dotted_names(command: Command, saved: list[Path]) -> None:
    chosen = "--columns=framework,batch_size,trust,timing.step_seconds.ci95,trust.reasons.0.text"
    records = command("results", "list", chosen, "--json", "status=ok").records
    assert [record["framework"] for record in records] == ["mxnet", "pytorch"]
    assert [record["trust"] for record in records] == ["clean", "clean"]
    assert records[1]["timing.step_seconds.ci95"] == read_record(saved[0])["timing"]["step_seconds"]["ci95"]
    assert records[0]["trust.reasons.0.text"] is None
    table = command("results", "list", chosen, "framework=mxnet")
    assert "mxnet" in table.stdout
    assert "8" in table.stdout


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("list", "--limit=0"), "--limit must be a whole number from 1 to"),
        (("list", "--sort=timng.steps"), "did you mean 'timing'?"),
        (("list", "--columns=id,frmework"), "did you mean 'framework'?"),
        (("list", "frmework=x"), "did you mean 'framework'?"),
        (("list", "status=okk"), "did you mean 'ok'?"),
        (("prune", "--keep=-1"), "--keep must be a whole number from 0"),
        (("prune", "--status=crash"), "did you mean 'crashed'?"),
        (("show", "2026"), "it fits 3 records in 'results'"),
        (("list", "--results=nowhere"), "'nowhere'"),
        (("show", "nothing"), "fits no record"),
        (("show", "results"), "is a folder"),
        (("query", "select 1", "--json", "--csv"), "one format"),
        (("export", "-o", "-"), "must end in one of"),
        (("export", "-o", "-", "--format=csv", "--json"), "--json cannot be given"),
        (("lst",), "got 'lst'; did you mean 'list'?"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    command: Command, saved: list[Path], words: tuple[str, ...], text: str
) -> None:
    finished = command("results", *words)
    assert (finished.status, finished.stdout) == (2, "")
    assert text in finished.stderr
    assert finished.stderr.count("\n") == 1
    assert all(path.exists() for path in saved)


def test_a_record_is_shown_by_any_of_its_names(command: Command, saved: list[Path]) -> None:
    path, identifier = saved[1], ids(saved)[1]
    shown = command("results", "show", identifier[:12])
    assert shown.stdout.startswith("mnist_mlp, inference, on mxnet 1.9.1: ok\n")
    assert str(path.relative_to(command.folder)) in shown.stdout
    for name in (identifier, identifier[-10:], path.name, path.stem, str(path)):
        assert command("results", "show", name, "--path").stdout.strip().endswith(path.name)
    assert command("results", "show", "last", "--path").stdout.strip().endswith(saved[2].name)
    assert json.loads(command("results", "show", "last", "--json").stdout) == read_record(saved[2])


def test_damaged_files_are_named_and_the_others_listed(command: Command, saved: list[Path]) -> None:
    (saved[0].parent / "broken.json").write_text("{")
    (saved[0].parent / "link.json").symlink_to("/etc/passwd")
    finished = command("results", "list", "--json")
    assert finished.status == 0
    assert len(finished.records) == 3
    broken, link = sorted(finished.stderr.splitlines())
    assert broken.startswith("left out: results/broken.json: is not JSON")
    assert link == "left out: results/link.json: is a symbolic link, and those are not followed"
    shown = command("results", "show", "results/broken.json")
    assert (shown.status, shown.stdout) == (2, "")
    assert "is not JSON" in shown.stderr


def test_a_record_cannot_write_to_the_terminal(command: Command) -> None:
    hostile = "\x1b]0;owned\x07\x1b[31mred\nsecond\u202eline"
    Store(command.folder / "results").save(
        make_record(problem__name=hostile, framework__name=hostile, framework__full=hostile, id=f"{'a' * 24}")
    )
    for words in (
        ("list",),
        ("show", "last"),
        ("list", "--columns=problem,framework"),
        ("query", 'select "problem.name" from records'),
    ):
        finished = command("results", *words)
        assert finished.status == 0
        assert not {"\x1b", "\x07", "\u202e"} & set(finished.stdout), words


def test_csv_is_raw_for_a_file_and_harmless_for_a_terminal(command: Command) -> None:
    hostile = "\x1b]0;owned\x07red"
    Store(command.folder / "results").save(make_record(problem__name=hostile))
    words = ("results", "query", 'select "problem.name" as name from records', "--csv")
    assert command(*words).stdout == f"name\n{hostile}\n"
    screen, side = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarker", *words],
        stdout=side,
        cwd=command.folder,
        env=command.environment,
    ) as process:
        os.close(side)
        assert process.wait() == 0
    shown = os.read(screen, 4096).decode()
    os.close(screen)
    assert shown.split() == ["name", r"\x1b]0;owned\x07red"]


def test_names_in_a_table_are_never_broken(command: Command, saved: list[Path]) -> None:
    described = command("results", "query", "describe records").stdout
    assert max(map(len, described.splitlines())) <= 80
    names = {line.split()[0] for line in described.splitlines() if line.strip()}
    assert {"timing.step_seconds.ci95.high", "trust.evidence.steal_share"} <= names
    # What names a row is in each part of a table that had to be split.
    columns = "framework,timing.step_seconds.median,metrics.throughput,problem.parameters.image_size"
    first, second = command("results", "list", "status=ok", f"--columns={columns}").stdout.split("\n\n")
    assert first.splitlines()[0].split() == ["framework", "timing.step_seconds.median", "metrics.throughput"]
    assert second.splitlines()[0].split() == ["framework", "problem.parameters.image_size"]


def test_an_interval_wider_than_its_number_is_no_power_of_ten() -> None:
    record = make_record()
    told = {}
    for half in (0.00123, 0.094, 0.0998, 5.9):
        step = {**record["timing"]["step_seconds"], "median": 1.0, "ci95": [1 - half, 1 + half]}
        table = records_table([{**record, "timing": {**record["timing"], "step_seconds": step}}], width=200)
        told[half] = table.partition("±")[2].partition("%")[0]
    assert told == {0.00123: "0.12", 0.094: "9.4", 0.0998: "10", 5.9: "590"}


def test_an_empty_folder_has_no_records(command: Command) -> None:
    (command.folder / "results").mkdir()
    assert command("results", "list").stdout == "no records\n"
    assert command("results", "list", "--json").stdout == ""
    assert command("results", "query", "select count(*) from records", "--csv").stdout == "count_star()\n0\n"
    assert command("results", "show", "last").status == 2


def test_help_names_every_action(command: Command) -> None:
    text = command("results", "--help").stdout
    for action in ("list", "show", "query", "export", "merge", "prune", "import"):
        assert f"\n    {action} " in text
        assert command("results", action, "--help").status == 0
    asked = command("results", "query", "--help").stdout
    assert "Query records with SQL (DuckDB)." in asked
    assert "JSON lines" in asked
    assert "JSON lines" in command("results", "list", "--help").stdout
    assert "JSON lines" not in command("results", "merge", "--help").stdout


def cells_of(finished: str, form: str) -> list[list[str]]:
    """Return the rows of a printed table, its heading first."""
    lines = finished.splitlines()
    if form == "markdown":
        return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in (lines[0], *lines[2:])]
    assert lines[0] == r"\begin{tabular}{lllrlll}"
    rows = [line.removesuffix(r" \\") for line in lines if line.endswith(r" \\")]
    return [row.split(" & ") for row in rows]


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_a_table_for_a_document_has_what_the_list_has(command: Command, saved: list[Path], form: str) -> None:
    finished = command("results", "table", f"--format={form}")
    assert (finished.status, finished.stderr) == (0, "")
    heading, *rows = cells_of(finished.stdout, form)
    assert heading[:2] == ["started (UTC)", "framework"]
    assert [row[0][:10] for row in rows] == ["2026-03-03", "2026-03-02", "2026-03-01"]
    assert [row[-1] for row in rows] == [identifier[-8:] for identifier in reversed(ids(saved))]
    escaped = r"mnist\_mlp inference" if form == "latex" else "mnist_mlp inference"
    assert rows[1][2] == escaped
    assert "10.00 ms" in rows[1][4]
    if form == "latex":
        assert "%" not in finished.stdout.replace(r"\%", "")


def test_a_table_as_csv_has_whole_numbers(command: Command, saved: list[Path]) -> None:
    finished = command("results", "table", "--format=csv", "framework=mxnet")
    (row,) = csv.DictReader(finished.stdout.splitlines())
    record = read_record(saved[1])
    assert float(row["timing.step_seconds.median"]) == record["timing"]["step_seconds"]["median"]
    assert json.loads(row["timing.step_seconds.ci95"]) == record["timing"]["step_seconds"]["ci95"]
    named = command(
        "results", "table", "--format=csv", "--columns=id,error.stage", "--sort=started_at", "--limit=1"
    )
    assert named.stdout == f"id,error.stage\n{record_id(saved[0])},\n"


def record_id(path: Path) -> str:
    return str(read_record(path)["id"])


def test_a_table_as_text_or_json_is_the_list(command: Command, saved: list[Path]) -> None:
    words = ("--columns=id,batch_size", "--limit=2")
    listed, table = (
        command("results", *what, *words).stdout for what in (("list",), ("table", "--format=text"))
    )
    assert listed == table
    assert command("results", "table", "--json").records == command("results", "list", "--json").records


def test_an_unknown_format_is_told_with_the_nearest(command: Command) -> None:
    finished = command("results", "table", "--format=markdow")
    assert (finished.status, "did you mean 'markdown'?" in finished.stderr) == (2, True)
