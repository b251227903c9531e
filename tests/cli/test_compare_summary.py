"""The Markdown that ``compare --summary`` appends: for whom it is, what passes, and why there is no comparison."""

from __future__ import annotations

import html
import re
import signal
from pathlib import Path

import pytest

from benchmarker.analysis.text.comparison_markdown import text_markdown
from benchmarker.analysis.text.layout import Column
from benchmarker.analysis.text.markdown import escaped, markdown_table
from tests.cli.test_compare import BASE, SAME, SLOW, compare, folder
from tests.conftest import ROOT, Command

__all__ = ["compare", "folder"]


def summary(compare: Command, *words: str, status: int) -> str:
    file = compare.folder / "summary.md"
    file.write_text("# Another step\n")
    found = compare("compare", *words, f"--summary={file}")
    assert found.status == status, found.stderr
    text = file.read_text()
    assert text.startswith("# Another step\n## benchmarker compare\n\n")
    return text


def table(text: str) -> list[list[str]]:
    """Return the cells of the one table of a Markdown text."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def test_what_is_too_slow_is_named(compare: Command) -> None:
    text = summary(compare, BASE, SLOW, SAME, "--fail-if-slower=5%", status=1)
    assert "**Failed**: shown to be slower by more than 5.0 %: 1 of 2 rows." in text
    (told,) = [line for line in text.splitlines() if line.startswith("- slower by more than")]
    assert "mxnet" in told
    heads, rules, *rows = table(text)
    assert [len(row) for row in rows] == [len(heads)] * 2
    assert rules[heads.index("ratio")] == "---:"
    verdicts = {row[heads.index("other")].split()[0]: row[heads.index("verdict")] for row in rows}
    assert verdicts == {"mxnet": "slower", "chainer": "equivalent"}


def test_what_is_as_quick_passes(compare: Command) -> None:
    text = summary(compare, BASE, SAME, "--fail-if-slower=5%", status=0)
    assert "**Passed**: shown to be slower by more than 5.0 %: none of 1 row." in text


def test_without_a_limit_verdicts_are_counted(compare: Command) -> None:
    text = summary(compare, BASE, SLOW, SAME, status=0)
    assert "**Compared**: 2 rows: " in text
    assert {"1 slower", "1 equivalent"} == set(re.findall(r"1 \w+(?=[,.])", text.split("Compared")[1][:40]))


def test_what_cannot_be_told_fails_where_an_answer_is_required(compare: Command) -> None:
    words = (BASE, SLOW, "--fail-if-slower=10%")
    assert "**Passed**" in summary(compare, *words, status=0)
    assert "no answer for 1." in summary(compare, *words, status=0)
    text = summary(compare, *words, "--require-conclusive", status=4)
    assert "**Failed**: no answer for 1 of 1 row." in text


def test_why_there_is_no_comparison_is_told(compare: Command) -> None:
    text = summary(compare, BASE, "framework=caffe", status=2)
    assert "**Not compared**: " in text
    assert "'framework=caffe'" in text


def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(compare: Command) -> None:
    found = compare("compare", BASE, SLOW, f"--summary={compare.folder / 'no' / 'summary.md'}")
    assert found.status == 2
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1
    assert "--summary must be a file that can be written" in found.stderr


def test_trainings_pass_or_fail(compare: Command) -> None:
    name = "specification.training.name=digits_mlp"
    words = (
        f"framework=numpy {name}",
        f"framework=pytorch {name}",
        f"--results={ROOT / 'results' / 'training'}",
    )
    failed = summary(compare, *words, "--fail-if-slower=5%", status=1)
    assert "\n\n**Failed**\n\n```text\ndigits_mlp" in failed
    assert "\n\n**Passed**\n\n```text\n" in summary(
        compare, *words[1::-1], words[2], "--fail-if-slower=5%", status=0
    )
    assert "**" not in summary(compare, *words, status=0)


def test_an_interrupted_comparison_says_so(compare: Command, folder: Path) -> None:
    file = compare.folder / "summary.md"
    file.write_text("")
    process = compare.start(
        *("compare", "--run", f"--results={folder}", f"--summary={file}", "--pairs=500", "numpy==2.2.6"),
        *("numpy==2.3.5", "--", "--problem=mnist_mlp", "--mode=inference", "--steps=8", "--no-verify"),
    )
    assert process.stderr
    for line in process.stderr:
        if "starting" in line:
            break
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert "**Interrupted** before all pairs were made." in file.read_text()
    assert "**Passed**" not in file.read_text()


@pytest.mark.parametrize("text", ["a|b", "a`b`", "*a*", "~~a~~", "<img src=x>", "a\\b", "a\nb"])
def test_texts_stay_what_they_are(text: str) -> None:
    (_, _, (cell, last)) = table(markdown_table([Column("a", (text,)), Column("b", ("end",))]))
    assert last == "end"
    assert html.unescape(re.sub(r"\\([\\`*|~])", r"\1", cell)) == " ".join(text.split())
    assert "<" not in escaped(text)


def test_a_fence_is_longer_than_those_in_its_text() -> None:
    assert "````text\n```\n````" in text_markdown("```")
