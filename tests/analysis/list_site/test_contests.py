"""A contest as a TOML file: what it must say, and which records are of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarker.analysis.list_site.contests import departures, read_contest, read_contests
from benchmarker.errors import UsageError
from tests.conftest import ROOT
from tests.support.list_entries import CONTEST, contest_text, processes
from tests.support.records import make_record

OPEN = CONTEST.replace('"closed"', '"open"').replace("step_seconds", "sample_seconds")


def written(folder: Path, text: str, name: str = "example") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_closed_contest_takes_its_own_work_on_any_machine(tmp_path: Path) -> None:
    contest = read_contest(written(tmp_path, contest_text(processes(0.01))))
    assert (contest.name, contest.division, contest.trust) == ("example", "closed", "clean")
    assert departures(contest, make_record()) == []
    assert departures(contest, make_record(execution__threads=64)) == []


def test_what_departs_is_named_with_both_values(tmp_path: Path) -> None:
    contest = read_contest(written(tmp_path, contest_text(processes(0.01))))
    assert departures(contest, make_record(batch_size=64)) == ["batch_size must be 4, but is 64"]
    other = make_record()
    other["comparable"]["keys"]["data"] = "sha256:00"
    assert departures(contest, other) == ['data is "sha256:00", about which the contest says nothing']


def test_an_open_contest_lists_what_may_change(tmp_path: Path) -> None:
    text = contest_text(processes(0.01), OPEN).replace("batch_size = 4\n", "")
    text = text.replace("[fixed]", 'may_change = ["batch_size"]\n[fixed]')
    contest = read_contest(written(tmp_path, text))
    assert departures(contest, make_record(batch_size=64)) == []
    assert departures(contest, make_record(batch_size=64, precision="bf16")) == [
        'precision must be "fp32", but is "bf16"'
    ]


def test_a_field_of_a_record_can_be_fixed(tmp_path: Path) -> None:
    text = contest_text(processes(0.01)) + '"framework.name" = "pytorch"\n'
    contest = read_contest(written(tmp_path, text))
    assert departures(contest, make_record(framework__name="pytorch")) == []
    assert departures(contest, make_record(framework__name="mxnet")) == [
        'framework.name must be "pytorch", but is "mxnet"'
    ]


FIXED = CONTEST + 'problem = "example"\nbatch_size = 4\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("title =", "is not TOML"),
        ("", "must have title = a text that is not empty, got null"),
        (FIXED.replace('"closed"', '"shut"'), 'must have division = one of closed, open, got "shut"'),
        (FIXED.replace('"step_seconds"', "7"), "must have ranked_by = one of step_seconds, "),
        (FIXED.replace("[fixed]", "speed = 1\n[fixed]"), 'has "speed", which is not part of a contest'),
        (
            FIXED.replace("[fixed]", 'may_change = ["seed"]\n[fixed]'),
            "is closed, so nothing may change in it",
        ),
        (FIXED.replace('"closed"', '"open"'), "is open, so it must list what may change"),
        (FIXED.replace("[fixed]", 'trust = "contaminated"\n[fixed]'), "trust = one of clean, noisy"),
        (CONTEST + "batch_size = 4\n", "must fix a problem or a recipe"),
        (CONTEST + 'problem = "example"\n', "ranks by step_seconds, so it must fix batch_size"),
        (
            FIXED + "bach_size = 4\n",
            "names \"bach_size\", which is not a key of a work; did you mean 'batch_size'?",
        ),
        (FIXED + '"framework.nam" = "x"\n', "framework.nam"),
        (
            OPEN.replace("[fixed]", 'may_change = ["batch_size"]\n[fixed]')
            + 'problem = "x"\nbatch_size = 4\n',
            "fixes 'batch_size' and lets it change",
        ),
        (
            FIXED.replace("[fixed]", "may_change = 3\n[fixed]"),
            "must have may_change = a list of names, got 3",
        ),
        ('title = "\\u0000"\ndivision = "closed"\nfixed = 3\n', "ranked_by"),
    ],
)
def test_a_contest_that_is_not_right_is_refused_in_a_sentence(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_contest(written(tmp_path, text))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_name_that_is_no_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="file name of lower-case letters"):
        read_contest(written(tmp_path, FIXED, "Über uns"))


def test_a_folder_without_contests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has 0"):
        read_contests(tmp_path)
    with pytest.raises(UsageError, match="is not a folder"):
        read_contests(tmp_path / "nowhere")


def test_the_kept_contests_are_right() -> None:
    assert read_contests(ROOT / "contests")
