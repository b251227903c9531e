"""The file of a record's problem on this machine: looked for by its name, known by its content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarker import registry
from benchmarker.errors import UsageError
from benchmarker.experiment import Asked, Experiment, Request
from benchmarker.problem_files import named, names_file, path_of, recorded_name

_SHOWN = len("sha256:") + 12


def with_problem_file(
    experiment: Experiment, record: Mapping[str, Any], given: Path | None = None
) -> Experiment:
    """Return the experiment of a record with the path of its problem's file, if that is one.

    Without ``given`` the file is looked for where the record's command has it, as long as that is below the working
    directory, and in the working directory: a record may come from anywhere, and is not followed elsewhere.

    Parameters
    ----------
    experiment : Experiment
        What was asked for with the record.
    record : mapping
        A valid record.
    given : Path or None
        The file, or its folder.

    Raises
    ------
    UsageError
        If there is no such file, or it has another content than the record says.
    """
    digest = (record.get("specification") or {}).get("problem_digest")
    problems = tuple(_located(asked, record, digest, given) for asked in experiment.problems)
    return replace(experiment, problems=problems)


def _located(asked: Asked, record: Mapping[str, Any], digest: str | None, given: Path | None) -> Asked:
    request = Request.of(asked)
    if not names_file(request.name):
        return asked
    name = recorded_name(request.name)
    if digest is None:
        raise UsageError(f"its problem '{name}' is a file, and the record does not tell the file's content")
    path = _found(name, record["command"], given)
    here = registry.problem_digest(named(name, path))
    if here != digest:
        raise UsageError(
            f"its problem '{name}' must have the content that was recorded, {digest[:_SHOWN]}, and '{path}' has "
            f"{str(here)[:_SHOWN]}"
        )
    return replace(request, name=named(name, path))


def _found(name: str, command: list[str], given: Path | None) -> Path:
    file = path_of(name).name
    if given is not None:
        places = [given / file if given.is_dir() else given]
    else:
        places = [*_below_here(name, command), Path.cwd() / file]
    path = next((place.absolute() for place in places if place.is_file()), None)
    if path is None:
        raise UsageError(
            f"its problem '{name}' is a file that must be in the working directory or be named with --problem, "
            f"and there is none at '{places[-1]}'"
        )
    return path


def _below_here(name: str, command: list[str]) -> list[Path]:
    """Return where the command has the file, if that is below the working directory."""
    here, option = Path.cwd(), "--problem="
    stated = (part.removeprefix(option) for part in command if part.startswith(option))
    paths = [path_of(text) for text in stated if names_file(text) and recorded_name(text) == name]
    return [path for path in paths if here.resolve() in path.resolve().parents]
