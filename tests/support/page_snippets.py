"""The fenced blocks of a page, and how those that a reader would run are run.

A comment ``<!-- status 0 1 -->`` above a block lists the exit statuses that it may end with, as a machine decides.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.command_server import WARM

_BLOCK = re.compile(
    r"(?:^<!-- status ([\d ]+) -->\n)?^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
_STARTS = ("benchmarker", ".venv/bin/benchmarker", "python -m benchmarker", ".venv/bin/python -m benchmarker")
_BETWEEN = re.compile(r"\s(?:&&|\|\||[;|])\s|;\s")


@dataclass(frozen=True)
class Snippet:
    """A block: what it is written in, the file that its title says it is, and how it may end."""

    language: str
    title: str
    text: str
    statuses: tuple[int, ...] = (0,)


def snippets(page: str) -> list[Snippet]:
    """Return the blocks of a page in their order."""
    return [
        Snippet(language, title, text, tuple(map(int, statuses.split())) or (0,))
        for statuses, language, title, text in _BLOCK.findall(page)
    ]


def reader_environment(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return what a reader's shell has: ``benchmarker`` on the path, and a ``pip`` that installs below the folder."""
    programs, installed = folder / "programs", folder / "installed"
    programs.mkdir()
    modules = {"pip": f'pip "$@" --target {installed}'}
    if WARM in environment:
        modules["benchmarker"] = 'tests.support.warm_command "$@"'
    for name, call in modules.items():
        program = programs / name
        program.write_text(f"#!/bin/sh\nexec {sys.executable} -m {call}\n")
        program.chmod(0o755)
    return {
        **environment,
        "PATH": os.pathsep.join([str(programs), str(Path(sys.executable).parent), environment["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(installed), environment["PYTHONPATH"]]),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def run_as_reader(snippet: Snippet, folder: Path, environment: Mapping[str, str]) -> str:
    """Write a file, or run a shell's or Python's lines; return what was wrong, or nothing."""
    if snippet.title:
        (folder / snippet.title).write_text(snippet.text, encoding="utf-8")
        return ""
    programs = {"sh": ["bash", "-e", "-c"], "python": [sys.executable, "-c"]}
    if snippet.language not in programs:
        return ""
    finished = subprocess.run(
        [*programs[snippet.language], snippet.text],
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
    )
    if finished.returncode in snippet.statuses:
        return ""
    told = f"{finished.stdout[-1500:]}\n{finished.stderr[-1500:]}"
    return f"ended with {finished.returncode}, not {snippet.statuses}:\n{snippet.text}\n{told}"


def commands_in(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of ``benchmarker`` in lines of a shell."""
    for line in whole_lines(text):
        for part in _BETWEEN.split(line):
            words = shlex.split(part.removeprefix("$ "), comments=True)
            words = words[: words.index(">")] if ">" in words else words
            while words and (words[0] in ("do", "then") or re.match(r"\w+=", words[0])):
                del words[0]
            for start in _STARTS:
                names = start.split()
                if words[: len(names)] == names:
                    yield words[len(names) :]


def whole_lines(text: str) -> Iterator[str]:
    """Yield lines, several as one where a quotation or a backslash goes over their ends."""
    whole = ""
    for line in text.replace("\\\n", "").splitlines():
        whole += f"{line}\n"
        try:
            shlex.split(whole, comments=True)
        except ValueError:
            continue
        yield whole
        whole = ""


def inline_commands(page: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of ``benchmarker`` in a sentence that says more than a command's name."""
    prose = re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    for found in re.findall(r"(?<!`)`((?:python -m )?benchmarker [^`]+)`", prose):
        for words in commands_in(" ".join(found.split())):
            if len(words) > 1 and "…" not in words:
                yield words
