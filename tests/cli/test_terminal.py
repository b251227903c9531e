"""On a terminal: progress is drawn anew in its place and is gone at the end, and tables fit."""

from __future__ import annotations

import ast
import itertools
import re
import resource
import signal
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.text.tones import coloured
from benchmarker.cli.main import COMMANDS
from benchmarker.cli.terminal import end_as_interrupted
from benchmarker.experiment.progress_lines import STAGES
from benchmarker.records.rescue import FOLDER
from benchmarker.records.store import Store
from tests.conftest import Command
from tests.support.package_sources import files, tree
from tests.support.records import make_failed_record, make_record
from tests.support.terminal import Terminal, told_in

NUMPY = ("--framework=numpy", "--problem=mnist_mlp", "--batch-size=2", "--steps=2", "--warmup=0")


def after_warnings(lines: list[str]) -> list[str]:
    """Return the lines of runs: what is told of the machine beforehand depends on the machine."""
    return list(itertools.dropwhile(lambda line: not line.startswith("["), lines))


@pytest.mark.framework("numpy")
@pytest.mark.parametrize("columns", [60, 80])
def test_the_display_fits_the_terminal_and_is_gone_at_the_end(command: Command, columns: int) -> None:
    terminal = Terminal(command, *NUMPY, "--seed=1,2", columns=columns)
    status, stdout = terminal.finish()
    assert status == 0
    assert "\x1b" not in stdout
    seen = [line for frame in terminal.frames for line in frame]
    assert any(re.search(r"[━─]{10,} verifying against the reference$", line) for line in seen)
    assert any(re.search(r"[━─]{10,} 1 of 2 runs done, about \d+ s left$", line) for line in seen)
    lines = after_warnings(terminal.left)
    assert len(lines) == 2
    for number, line in enumerate(lines, 1):
        assert re.fullmatch(rf"\[{number}/2\] numpy mnist_mlp training, batch 2, fp32: ok \(\d+ s\)", line)
    assert terminal.colours == {"green"}  # of the outcomes


@pytest.mark.framework("numpy")
@pytest.mark.parametrize("columns", [60, 80])
def test_steps_that_are_known_fill_a_bar_and_tell_the_time_left(command: Command, columns: int) -> None:
    terminal = Terminal(command, *NUMPY[:3], "--steps=1000000", "--warmup=0", columns=columns)
    terminal.wait_for(b" left")
    terminal.process.send_signal(signal.SIGINT)
    terminal.finish()
    shown = [line for frame in terminal.frames for line in frame if " left" in line]
    assert any(
        re.fullmatch(r" +[━─]+ step [\d,]+ of 1,000,000, about [\d.]+ (s|min|h) left", line) for line in shown
    )


@pytest.mark.framework("numpy")
@pytest.mark.parametrize("columns", [60, 80])
def test_runs_at_once_have_a_bar_each(command: Command, columns: int) -> None:
    assert (
        command(
            *("--framework=numpy", "--problem=mnist_mlp", "--batch-size=32", "--threads=1"),
            *("--seconds=0.4", "--warmup=3"),
        ).status
        == 0
    )
    terminal = Terminal(command, "compare", "--aa", "last", "--pairs=3", columns=columns)
    # 4 where one of three pairs does not count, since one of its sides drifted on a busy machine.
    assert terminal.finish()[0] in (0, 4), terminal.left
    assert sum(": ok (" in line for line in terminal.left) == 6, terminal.left
    run = r"\[{}/6\] numpy\S* mnist_mlp training, batch 32, fp32"
    together = [
        frame
        for frame in terminal.frames
        if any(re.fullmatch(run.format(1), line) for line in frame)
        and any(re.fullmatch(run.format(2), line) for line in frame)
    ]
    stages = {
        tuple(line.split(maxsplit=1)[1] for line in frame if line.startswith("  ")) for frame in together
    }
    # Each tells its own stage, below its own name, and one line is of them all.
    assert any(first != second for first, second, *_ in (s for s in stages if len(s) == 3))
    assert {stage[2] for stage in stages if len(stage) == 3} == {"0 of 6 runs done"}
    assert not [line for line in terminal.left if "━" in line or "─" in line], terminal.left


@pytest.mark.framework("numpy")
def test_no_color_leaves_out_colours_alone(command: Command) -> None:
    terminal = Terminal(command, *NUMPY, "--seed=1,2", NO_COLOR="1")
    assert terminal.finish()[0] == 0
    assert not re.search(rb"\x1b\[[\d;]*m", terminal.written)
    assert any(re.search("[━─]{10,} ", line) for frame in terminal.frames for line in frame)
    assert terminal.colours == set()


@pytest.mark.framework("numpy")
def test_a_terminal_without_the_characters_of_a_bar_gets_others(command: Command) -> None:
    terminal = Terminal(command, *NUMPY, "--seed=1,2", PYTHONIOENCODING="ascii")
    assert terminal.finish()[0] == 0
    assert any(re.search("[#-]{10,} ", line) for frame in terminal.frames for line in frame)


@pytest.mark.framework("numpy")
def test_json_shows_nothing_on_a_terminal_either(command: Command) -> None:
    terminal = Terminal(command, *NUMPY, "--json")
    status, stdout = terminal.finish()
    assert (status, stdout.count("\n"), terminal.written) == (0, 1, b"")


@pytest.mark.framework("numpy")
def test_a_dumb_terminal_gets_plain_lines(command: Command) -> None:
    terminal = Terminal(command, *NUMPY, TERM="dumb")
    assert terminal.finish()[0] == 0
    assert b"\x1b" not in terminal.written
    assert b": measuring\r\n" in terminal.written


@pytest.mark.framework("numpy")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_the_terminal_clean(command: Command, number: signal.Signals) -> None:
    terminal = Terminal(command, *NUMPY[:3], "--steps=1000000", columns=100)
    terminal.wait_for(b"step ")
    terminal.process.send_signal(number)
    status, stdout = terminal.finish()
    assert status == 130
    (finished,) = after_warnings(terminal.left)
    assert "interrupted by the user" in finished
    assert "interrupted" in stdout


def lines_on(command: Command, columns: int, *arguments: str) -> list[str]:
    """Return the lines that a command writes to a terminal so wide, without their colours."""
    environment = {name: value for name, value in command.environment.items() if name != "COLUMNS"}
    status, written = told_in(columns, Command(command.folder, environment), *arguments)
    assert status == 0
    return re.sub(r"\x1b\[[\d;]*m", "", written.replace("\r\n", "\n")).splitlines()


TABLES = (
    ("--help",),
    *((name, "--help") for name in COMMANDS),
    ("list",),
    ("list", "problems"),
    ("show", "resnet50"),
    ("show", "architecture"),
    ("show", "bert_base"),
    ("env", "list"),
    ("--framework=numpy,pytorch", "--problem=mnist_mlp", "--optimizer=adam,sgd", "--epsilon=1e-8,1e-7",
     "--mode=training,inference", "--batch-size=2,4", "--dry-run"),
)  # fmt: skip


@pytest.mark.parametrize("arguments", TABLES, ids=" ".join)
def test_what_is_shown_fits_a_terminal_and_a_pipe(command: Command, arguments: tuple[str, ...]) -> None:
    terminal = lines_on(command, 80, *arguments)
    assert max(map(len, terminal)) <= 80
    pipe = Command(command.folder, {n: v for n, v in command.environment.items() if n != "COLUMNS"})
    assert pipe(*arguments).stdout.splitlines() == terminal


@pytest.mark.parametrize(("environment", "colours"), [({}, {"green", "red"}), ({"NO_COLOR": "1"}, set())])
def test_statuses_and_grades_of_tables_are_coloured(
    command: Command, environment: dict[str, Any], colours: set[str]
) -> None:
    for record in (make_record(), make_failed_record("out_of_memory")):
        Store(command.folder / "results").save(record)
    terminal = Terminal(
        command, "results", "list", "--columns=id,status", columns=80, stdout=True, **environment
    )
    assert terminal.finish()[0] == 0
    assert terminal.colours == colours
    assert {line.split()[-1] for line in terminal.left[-2:]} == {"out_of_memory", "ok"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("numpy  noisy  7 ms", "numpy  \x1b[33mnoisy\x1b[0m  7 ms"),
        ("mnist_mlp, training, on numpy: ok", "mnist_mlp, training, on numpy: \x1b[32mok\x1b[0m"),
        ("ok       swap", "\x1b[32mok\x1b[0m       swap"),
        ("a run that failed is left out; it is ok", "a run that failed is left out; it is ok"),
        ("verdict: not reproduced", "verdict: \x1b[1;31mnot reproduced\x1b[0m"),
    ],
)
def test_verdicts_are_coloured_where_they_stand_alone(text: str, expected: str) -> None:
    assert coloured(text) == expected


def test_a_wide_terminal_is_used(command: Command) -> None:
    narrow, wide = (lines_on(command, columns, "show", "resnet50") for columns in (80, 160))
    assert max(map(len, wide)) > 80
    assert len(wide) < len(narrow)


@pytest.mark.framework("numpy")
def test_a_comparison_fits(command: Command) -> None:
    arguments = (*NUMPY, "--mode=training,inference", "--seed=1,2", "--optimizer=adam,sgd", "--quiet")
    lines = lines_on(command, 80, *arguments)
    assert max(map(len, lines)) <= 80
    assert "optimizer" in " ".join(lines)
    summary = lines_on(command, 80, *NUMPY)
    assert max(len(line) for line in summary if not line.startswith("  record ")) <= 80


def test_help_names_each_option_once(command: Command) -> None:
    lines = lines_on(command, 80, "run", "--help")
    assert any(re.match(r"  --batch-size N,\.\.\. +samples in a mini-batch", line) for line in lines)
    assert not [line for line in lines if "--batch_size" in line]
    assert (
        command("run", "--batch_size=2", "--framework=numpy", "--problem=mnist_mlp", "--dry-run").status == 0
    )


@pytest.mark.framework("numpy")
def test_a_stage_that_does_nothing_is_not_shown_and_none_by_its_raw_name(command: Command) -> None:
    told = [line.rpartition(": ")[2] for line in command(*NUMPY).stderr.splitlines()]
    assert "measuring" in told
    assert "classifying the data set" not in told
    announced = {
        node.args[0].value
        for path in files(
            "worker/jobs/run",
            "worker/program",
            "worker/measurement/timed_part",
            "worker/measurement/timing_protocol",
            "worker/verification/verified_start",
            "worker/jobs/reference",
        )
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "stage"
        and isinstance(node.args[0], ast.Constant)
    }
    assert len(announced) >= 10
    assert announced <= set(STAGES)


def write_little() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.mark.framework("numpy")
def test_a_record_that_cannot_be_written_leaves_the_line_clean_and_no_empty_folder(
    command: Command, tmp_path: Path
) -> None:
    places = {name: tmp_path / name for name in ("HOME", "TMPDIR")}
    for place in places.values():
        place.mkdir()
    # Python would write half of the bytecode of a module that nobody imported before.
    own = {**{name: str(place) for name, place in places.items()}, "PYTHONDONTWRITEBYTECODE": "1"}
    unwritten = Command(command.folder, {**command.environment, **own})
    terminal = Terminal(unwritten, *NUMPY, "--no-verify", before=write_little, columns=200)
    status, stdout = terminal.finish()
    assert status == 1
    assert "throughput" in stdout  # which is all that is left of it
    sentence = (
        "the record could not be written to 'results': File too large, nor could it be kept anywhere else: "
    )
    assert f"benchmarker: {sentence}only what is printed here is left of it" in terminal.left
    assert [path for place in places.values() for path in place.glob(FOLDER)] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_a_command_was_started_to_ignore_does_not_end_it(number: signal.Signals) -> None:
    """As ``nohup`` asks for."""
    others = {other: signal.getsignal(other) for other in (signal.SIGTERM, signal.SIGHUP)}
    try:
        signal.signal(number, signal.SIG_IGN)
        end_as_interrupted()
        assert signal.getsignal(number) is signal.SIG_IGN
        signal.signal(number, signal.SIG_DFL)
        end_as_interrupted()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    finally:
        for other, handler in others.items():
            signal.signal(other, handler)
