"""What is known of a submission: a JSON file in a folder beside the results, checked when it is read."""

from __future__ import annotations

import os
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

import msgspec

from benchmarker.errors import StoreError, UsageError, did_you_mean, printable
from benchmarker.files import read_regular, staged
from benchmarker.machine.typed_values import decoder
from benchmarker.orchestration.submission.resources import Resources

FILE = "submission.json"
_SUFFIX = "-submissions"


class Dispatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parts that were given to the engine at one time.

    Parameters
    ----------
    job : str
        The engine's own name of the job, or of the whole array.
    parts : tuple of int
        Numbers of the parts, from 1.
    is_array : bool
        Whether each part is a task of an array, by its number.
    submitted_at : str
        When, UTC.
    """

    job: str
    parts: tuple[int, ...]
    is_array: bool
    submitted_at: str

    def job_of(self, part: int) -> str:
        """Return the engine's name of a part."""
        return f"{self.job}_{part}" if self.is_array else self.job


class Submission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An experiment that was submitted.

    Parameters
    ----------
    id : str
        Its name, which begins with the time.
    engine : str
        Who runs it, as PSI/J names it.
    blueprint : str
        Absolute path.
    sha256 : str
        Of the blueprint's bytes, which must stay as they were.
    options : tuple of str
        Options of ``run`` that were given over the blueprint.
    directory : str
        Absolute path where it was submitted, and where each job runs.
    cells : int
        Cells of the experiment.
    parts : int
        Jobs that share them.
    resources : Resources
        What each job asks for.
    dispatches : tuple of Dispatch
        In order of time; a part's last one counts.
    version : int
        Of this form.
    """

    id: str
    engine: str
    blueprint: str
    sha256: str
    options: tuple[str, ...]
    directory: str
    cells: int
    parts: int
    resources: Resources
    dispatches: tuple[Dispatch, ...] = ()
    version: Literal[1] = 1

    def last_dispatch(self, part: int) -> Dispatch | None:
        """Return what a part was given to the engine by last."""
        return next((one for one in reversed(self.dispatches) if part in one.parts), None)


def now() -> str:
    """Return this moment, UTC."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_id() -> str:
    """Return a name for a submission; such names sort by time, and are names for Kubernetes and AWS too."""
    return re.sub(r"[:-]", "", now()).lower() + "-" + os.urandom(2).hex()


def submissions_folder(results: Path) -> Path:
    """Return the folder beside a results folder in which its submissions are."""
    whole = results.absolute()
    return whole.with_name(whole.name + _SUFFIX)


def part_folder(folder: Path, part: int) -> Path:
    """Return the folder of a part: its ``results``, ``output`` and ``exit`` status."""
    return folder / f"part-{part}"


def save(folder: Path, submission: Submission) -> None:
    """Write what is known of a submission to its folder, whole, in place of what was known.

    Raises
    ------
    StoreError
        If it cannot be written.
    """
    data = msgspec.json.format(msgspec.json.encode(submission), indent=2) + b"\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with staged(folder / FILE, replace=True) as stream:
            stream.write(data)
    except OSError as error:
        raise StoreError(f"the submission could not be written to '{folder}': {error.strerror}") from error


def load(folder: Path) -> Submission:
    """Read a submission.

    Raises
    ------
    UsageError
        If the file cannot be read, or is not what this version writes.
    """
    path = folder / FILE
    try:
        return decoder(Submission).decode(read_regular(path))
    except OSError as error:
        raise UsageError(
            f"'{path}' must be a submission's file, but cannot be read ({error.strerror})"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = printable(str(error))
        raise UsageError(
            f"'{path}' must be a submission's file as this version writes it ({reason})"
        ) from None


def submitted(results: Path, name: str | None = None) -> list[tuple[Path, Submission]]:
    """Return the folders and contents of the submissions beside a results folder, the oldest first.

    Parameters
    ----------
    results : Path
        The results folder.
    name : str or None
        Of one of them; None for all.

    Raises
    ------
    UsageError
        If there is none of that name, or one cannot be read.
    """
    folder = submissions_folder(results)
    found = {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{FILE}"))}
    if name is None:
        return [(path, load(path)) for path in found.values()]
    if name not in found:
        raise UsageError(
            f"there is no submission '{printable(name)}' in '{folder}'{did_you_mean(name, found)}"
        )
    return [(found[name], load(found[name]))]
