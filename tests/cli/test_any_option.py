"""Any text for any option of any command: done or refused in one sentence, nothing half-written, no traceback.

Commands run in this process. Where one would start a worker or make an environment, that is refused here, so what is
tried is all that happens before: parsing, planning, reading, drawing.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarker.cli.main import COMMANDS, command_module, main
from benchmarker.errors import UsageError
from benchmarker.execution.environments import interpreter
from benchmarker.execution.launchers.local import LocalLauncher
from benchmarker.records.store import Store
from tests.support.records import make_record

REFUSED = "no worker is started in this test"
RUN = ("run", "--framework=numpy", "--problem=mnist_mlp", "--dry-run")
BASES: dict[str, tuple[str, ...]] = {
    "run": RUN,
    "train": ("train", "digits_mlp", "--framework=numpy", "--dry-run"),
    "rerun": ("rerun", "last"),
    "list": ("list", "problems"),
    "show": ("show", "mnist_mlp"),
    "check": ("check", "numpy"),
    "new": ("new", "plugin", "mine", "--problem"),
    "verify": ("verify", "--problem=mnist_mlp", "--framework=numpy"),
    "calibrate": ("calibrate",),
    "compare": ("compare", "framework=numpy", "framework=numpy"),
    "track": ("track",),
    "plot": ("plot", "throughput"),
    "report": ("report", "--output=page.html"),
    "export": ("export", "mnist_mlp", "--output=model.onnx"),
    "validate": ("validate",),
}
ACTIONS: dict[tuple[str, str], tuple[str, ...]] = {
    ("results", "show"): ("last",),
    ("results", "query"): ("select count(*) from records",),
    ("results", "export"): ("--output=out.csv",),
    ("results", "merge"): ("results", "--into=other"),
    ("results", "import"): ("nothing.json",),
    ("blueprint", "check"): ("nothing.toml",),
    ("data", "latency"): ("npy", "--size=8", "--batch-size=1", "--repeats=1"),
    ("env", "create"): ("numpy",),
    ("env", "path"): ("numpy",),
    ("env", "remove"): ("nothing",),
}
WORDS: tuple[tuple[str, ...], ...] = (
    (), ("run", "--dry-run"), ("train", "--framework=numpy", "--dry-run"), ("rerun",), ("list",), ("list", "problems"),
    ("show",), ("check",), ("new",), ("new", "plugin"), ("verify", "--problem=mnist_mlp"), ("compare",),
    ("compare", "framework=numpy"), ("track",), ("plot",), ("report", "--output=page.html"),
    ("export", "--output=model.onnx"), ("validate",), ("completion",), ("jobs",), ("collect",),
    ("submit", "--to=slurm"), ("doctor",), ("calibrate",), ("data", "latency"), ("list-site", "check"),
    ("results", "list"), ("results", "show"), ("results", "query"), ("results", "export", "--output=out.csv"),
    ("results", "merge", "--into=other"), ("results", "import"), ("results", "prune"), ("blueprint", "check"),
    ("env", "create"), ("env", "path"), ("env", "remove"),
)  # fmt: skip
"""Beginnings of commands that a word may follow."""
SKIPPED = {"--help", "--yes", "--force"}


@dataclass(frozen=True)
class Option:
    """An option that takes a value, after a command that is all right without it."""

    words: tuple[str, ...]
    flag: str


def options() -> Iterator[Option]:
    """Yield every option with a value of every command and action."""
    for command in COMMANDS:
        parser = argparse.ArgumentParser()
        command_module(command).add_arguments(parser)
        yield from _of(parser, BASES.get(command, (command,)), command)


def _of(parser: argparse.ArgumentParser, words: tuple[str, ...], command: str) -> Iterator[Option]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from _of(inner, (command, name, *ACTIONS.get((command, name), ())), command)
        elif action.option_strings and action.nargs != 0 and not SKIPPED & set(action.option_strings):
            yield Option(words, action.option_strings[0])


NUMBERS = [
    "0", "1", "-1", "1.0", "1e3", "1e999", "-1e999", "nan", "inf", "-inf", "1_0", "0x10", "01", "+1", " 1", "1 ",
    "\u0661", "\u00b2", "\uff11", "9" * 30, "9" * 5000, str(2**31), str(2**63), "1,1", "1,2", "1,,2", ",", "1e-400",
    "-0", "-0.0", "1e400", "0,-0",
]  # fmt: skip
TEXTS = [
    "", " ", ".", "-", "--", "=", "a=b", "a=", "=b", "a,a", "%", "%s", "{}", "\n", "a\nb", "\x1b[31m", "\ufeff",
    "\u202e", "numpy", "numpy,numpy", "numpy==", "numpy==1==2", "fp32", "fp32,fp32", "results", "nothing.json",
    "git:", "*", "[", "(", "7d", "9999-12-31", "0000-00-00", "hidden1=1,1", "hidden1=[", "hidden1=\u0661",
    "~", "~/a.py", "~nobody-of-this-name/a.py", "onnx:~nobody-of-this-name/a.onnx", "x" * 250, "\u00e4" * 120,
    "made:[]", "onnx:", "a.onnx", "x.py", "cpu,cuda", "none", "none,none", "5%", "-5%", "100%", "nan%", "1e-999%",
]  # fmt: skip
VALUES = st.one_of(
    st.sampled_from(NUMBERS),
    st.sampled_from(TEXTS),
    st.text(max_size=12),
    st.integers().map(str),
    st.floats().map(str),
    st.lists(st.sampled_from(NUMBERS + TEXTS), min_size=2, max_size=3).map(",".join),
)
OPTIONS = tuple(options())
OF_RUN = tuple(option for option in OPTIONS if option.words == RUN)
OF_OTHERS = tuple(option for option in OPTIONS if option.words != RUN)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working folder with one record, where neither workers nor environments are started."""
    home = tmp_path_factory.mktemp("a") / "b" / "c"
    home.mkdir(parents=True)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}

    def refuse(*_: object, **__: object) -> NoReturn:
        raise UsageError(REFUSED)

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setenv("BENCHMARKER_HOME", str(home.parent / "cache"))
        patch.setattr(LocalLauncher, "launch", refuse)
        patch.setattr(interpreter, "create", refuse)
        patch.setattr(interpreter, "_query", refuse)
        Store(home / "results").save(make_record())
        yield home
    for number, handler in handlers.items():
        signal.signal(number, handler)


def called(words: tuple[str, ...]) -> tuple[int, str, str]:
    """Return exit status, standard output and standard error of a command in this process."""
    streams = [
        io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True) for _ in range(2)
    ]
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        try:
            status = main(words)
        except SystemExit as exit_:
            status = exit_.code if isinstance(exit_.code, int) else 1
    out, told = (stream.buffer.getvalue().decode() for stream in streams)
    return status, out, told


def files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def check(folder: Path, words: tuple[str, ...], statuses: set[int], *, summary: bool = False) -> None:
    before = files(folder)
    status, out, told = called(words)
    assert status in statuses, (words, out, told)
    assert "Traceback" not in told
    if status == 2:
        assert out == "", (words, out)
        sentences = [line for line in told.splitlines() if line.startswith("benchmarker")]
        assert len(sentences) == 1, (words, told)
        assert re.fullmatch(r"[^\n]+\n", told) or REFUSED in told or "left out" in told, (words, told)
        # A summary for a page of CI says of a refusal, too, why nothing was compared.
        assert summary or files(folder) == before


@settings(max_examples=700, deadline=None, derandomize=True, database=None)
@given(option=st.sampled_from(OF_RUN), value=VALUES)
@example(option=Option(RUN, "--micro-batch"), value="0")
@example(option=Option(RUN, "--level"), value="--")
@example(option=Option(RUN, "--env"), value="9" * 5000)
@example(option=Option(RUN, "--results"), value="")
@example(option=Option(RUN, "--batch-size"), value="1,1")
@example(option=Option(RUN, "--seed"), value="\u0661")
def test_any_text_for_any_option_of_run(folder: Path, option: Option, value: str) -> None:
    check(folder, (*option.words, f"{option.flag}={value}"), {0, 2})


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(option=st.sampled_from(OF_OTHERS), value=VALUES)
def test_any_text_for_any_option_of_any_command(folder: Path, option: Option, value: str) -> None:
    words = (*option.words, f"{option.flag}={value}")
    check(folder, words, {0, 1, 2, 3, 4}, summary=option.flag == "--summary")


@settings(max_examples=250, deadline=None, derandomize=True, database=None)
@given(words=st.sampled_from(WORDS), value=VALUES)
def test_any_text_for_any_word_of_any_command(folder: Path, words: tuple[str, ...], value: str) -> None:
    check(folder, (*words, value), {0, 1, 2, 3, 4})


@pytest.mark.parametrize("value", ["", " "])
@pytest.mark.parametrize("flag", ["--results", "--output", "--into"])
def test_an_empty_path_is_not_this_folder(folder: Path, flag: str, value: str) -> None:
    words = next(option.words for option in OF_OTHERS if option.flag in (flag, "-o"))
    status, _, told = called((*words, f"{flag}={value}"))
    assert (status, "must be a path" in told or "unknown option" in told) == (2, True)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--framework", "numpy,numpy"),
        ("--optimizer", "sgd,sgd"),
        ("--batch-size", "1,1"),
        ("--seed", "1,01"),
        ("--learning-rate", "0.1,1e-1"),
        ("--mode", "training,training"),
        ("--set", "hidden1=3,3"),
    ],
)
def test_a_value_twice_is_refused(folder: Path, option: str, value: str) -> None:
    status, _, told = called((*RUN, f"{option}={value}"))
    assert (status, "twice" in told or "once" in told) == (2, True)
