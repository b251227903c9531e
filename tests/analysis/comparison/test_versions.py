"""Pairs of versions of a framework: each side in the environment of its version, in one campaign."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Command
from tests.support.command_lines import replaced

pytestmark = pytest.mark.framework

OLDER, NEWER = "numpy==2.2.6", "numpy==2.3.5"
WORDS = (
    *("--problem=mnist_mlp", "--mode=inference", "--batch-size=2", "--threads=1"),
    *("--no-verify", "--steps=8", "--warmup=1"),
)


def test_each_side_is_of_its_version(command: Command) -> None:
    found = command(
        *("compare", "--run", OLDER, NEWER, "--pairs=3", "--include-contaminated", "--json", "--", *WORDS)
    )
    assert found.status == 0, found.stderr
    (row,) = json.loads(found.stdout)["rows"]
    assert [row[side]["side"] for side in ("first", "other")] == [OLDER, NEWER]
    assert [row[side]["aspects"]["framework.version"] for side in ("first", "other")] == ["2.2.6", "2.3.5"]
    assert row["paired"]["pairs"] == 3
    made = [json.loads(path.read_text()) for path in (command.folder / "results").glob("*.json")]
    assert len({record["replication"]["campaign"] for record in made}) == 1
    assert {record["replication"]["cells"] for record in made} == {2}
    again = command("compare", OLDER, NEWER, "--include-contaminated", "--json")
    assert json.loads(again.stdout)["rows"][0]["ratio"] == row["ratio"]
    none = command("compare", OLDER, "numpy==2.3", "--json")
    assert none.status == 2
    assert "there are none for 'numpy==2.3'" in none.stderr


@pytest.mark.parametrize(
    ("sides", "words", "said"),
    [
        ((OLDER, NEWER), (), "must be told what to run, after --, e.g. compare --run numpy=="),
        ((OLDER, NEWER), ("--", *WORDS, "--framework=jax"), "must name none, got '--framework=jax'"),
        ((OLDER, NEWER), ("--", *WORDS, "--repeats=2"), "got '--repeats'"),
        ((OLDER, NEWER), ("--", *replaced(WORDS, "--steps=5,6")), "one run must be asked for, got 2"),
        ((OLDER, "nunpy==2.3.5"), ("--", *WORDS), "unknown framework 'nunpy'"),
        ((OLDER, "git:HEAD"), ("--", *WORDS), f"got {OLDER} and git:HEAD"),
        ((OLDER, "framework=numpy"), ("--", *WORDS), "all of one kind"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(
    command: Command, sides: tuple[str, ...], words: tuple[str, ...], said: str
) -> None:
    found = command("compare", "--run", *sides, "--pairs=3", *words)
    assert found.status == 2
    assert said in found.stderr
    assert len(found.stderr.splitlines()) == 1
    assert list((command.folder / "results").glob("*.json")) == []
