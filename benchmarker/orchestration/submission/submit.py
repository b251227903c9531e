"""From an experiment to jobs: its cells in parts, the script that each job runs, and again what is missing."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarker.errors import UsageError
from benchmarker.files import remove, sha256_of, staged
from benchmarker.orchestration.submission.engine import ARRAY_ENGINES, Engine, check_resources
from benchmarker.orchestration.submission.resources import Resources
from benchmarker.orchestration.submission.state import (
    Dispatch,
    Submission,
    new_id,
    now,
    part_folder,
    save,
    submissions_folder,
)
from benchmarker.orchestration.submission.status import CANCELLED, part_states

SCRIPT = "job.sh"
MAX_PARTS = 10_000
_TASK = "${SLURM_ARRAY_TASK_ID}"
_SCRIPT = """\
#!/bin/bash
# One part of the submission {id}: its number is the argument, or that of the array's task.
part=${{1:-{task}}}
folder={folder}/part-$part
mkdir -p "$folder" && rm -f "$folder/exit" && cd {directory} || exit 2
exec >>"$folder/output" 2>&1
if echo {digest} | sha256sum --check --status; then
    {command} --part="$part/{parts}" --results="$folder/results" --resume --quiet
    status=$?
else
    echo "the blueprint has changed since it was submitted: submit it again"
    status=2
fi
echo "$status" >"$folder/.exit" && mv "$folder/.exit" "$folder/exit"
exit "$status"
"""


def parts_of(cells: int, cells_per_job: int) -> int:
    """Return how many jobs share so many cells.

    Raises
    ------
    UsageError
        If there are too many.
    """
    parts = -(-cells // cells_per_job)
    if parts > MAX_PARTS:
        raise UsageError(
            f"a submission may have {MAX_PARTS:,} jobs, got {parts:,}; give each more with --cells-per-job"
        )
    return parts


def new_submission(
    blueprint: Path,
    options: Sequence[str],
    engine: str,
    resources: Resources,
    *,
    cells: int,
    cells_per_job: int,
) -> Submission:
    """Return a submission of an experiment that has so many cells, of which the engine knows nothing yet.

    Raises
    ------
    UsageError
        If it would be too many jobs, or something is asked for that the engine would never hear of.
    """
    check_resources(engine, resources)
    return Submission(
        id=new_id(),
        engine=engine,
        blueprint=str(blueprint.resolve()),
        sha256=sha256_of(blueprint),
        options=tuple(options),
        directory=str(Path.cwd()),
        cells=cells,
        parts=parts_of(cells, cells_per_job),
        resources=resources,
    )


def job_script(submission: Submission, folder: Path) -> str:
    """Return the program of every job of a submission."""
    command = [sys.executable, "-m", "benchmarker", "run", submission.blueprint, *submission.options]
    return _SCRIPT.format(
        id=submission.id,
        task=_TASK if submission.engine in ARRAY_ENGINES else "",
        folder=shlex.quote(str(folder)),
        directory=shlex.quote(submission.directory),
        digest=shlex.quote(f"{submission.sha256}  {submission.blueprint}"),
        command=shlex.join(command),
        parts=submission.parts,
    )


def printed(submission: Submission, results: Path) -> dict[str, str]:
    """Return the scripts of a submission, by the names that they would have; nothing is written.

    Raises
    ------
    UsageError
        If the engine cannot be used here.
    """
    folder = submissions_folder(results) / submission.id
    batches = _batches(submission, tuple(range(1, submission.parts + 1)))
    with tempfile.TemporaryDirectory() as scratch:
        # PSI/J copies its launcher to where a script will find it.
        engine = Engine(submission.engine, Path(scratch))
        scripts = [
            engine.script(folder / SCRIPT, arguments, resources, _name(submission, parts))
            for parts, arguments, resources in batches
        ]
    jobs = [script.replace(scratch, str(folder)) for script in scripts]
    names = [
        f"{submission.engine}.{number}" if len(jobs) > 1 else submission.engine
        for number in range(1, len(jobs) + 1)
    ]
    return {SCRIPT: job_script(submission, folder), **dict(zip(names, jobs))}


def submit(submission: Submission, results: Path, parts: Sequence[int] = ()) -> Submission:
    """Give parts of a submission to its engine and keep what it called them; return it with what is known now.

    Parameters
    ----------
    submission : Submission
        New, or from before.
    results : Path
        The results folder beside which it is kept.
    parts : sequence of int
        Which, if not all.

    Raises
    ------
    UsageError
        If the engine refuses; what it had taken until then is kept.
    """
    folder = submissions_folder(results) / submission.id
    engine = Engine(submission.engine, folder)
    save(folder, submission)
    with staged(folder / SCRIPT, replace=True) as stream:
        stream.write(job_script(submission, folder).encode())
    for batch, arguments, resources in _batches(submission, tuple(parts or range(1, submission.parts + 1))):
        for part in batch:
            remove(part_folder(folder, part) / "exit")
            remove(part_folder(folder, part) / CANCELLED)
        try:
            job = engine.submit(folder / SCRIPT, arguments, resources, _name(submission, batch))
        except UsageError:
            if not submission.dispatches:
                _forget(folder)
            raise
        dispatch = Dispatch(job, batch, submission.engine in ARRAY_ENGINES, now())
        submission = msgspec.structs.replace(submission, dispatches=(*submission.dispatches, dispatch))
        save(folder, submission)
    return submission


def _forget(folder: Path) -> None:
    """Remove a submission of which the engine took nothing."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _name(submission: Submission, parts: Sequence[int]) -> str:
    return f"benchmarker-{submission.id}" + (f"-{parts[0]}" if len(parts) == 1 else "")


def _batches(
    submission: Submission, parts: tuple[int, ...]
) -> list[tuple[tuple[int, ...], list[str], Resources]]:
    """Return what is given to the engine at once: parts, the script's arguments, and what is asked for."""
    resources = submission.resources
    if submission.engine not in ARRAY_ENGINES:
        return [((part,), [str(part)], resources) for part in parts]
    limit = f"%{resources.parallel}" if resources.parallel else ""
    options = {**resources.options, "array": _ranges(parts) + limit}
    return [(parts, [], msgspec.structs.replace(resources, options=options))]


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers as an array has them, e.g. ``1-4,7``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def resume(submission: Submission, results: Path) -> tuple[Submission, list[int]]:
    """Submit again what ended without all its records; return the submission and those parts.

    Raises
    ------
    UsageError
        If the blueprint is not what it was, something is asked for that the engine would never hear of, or the
        engine refuses.
    """
    check_resources(submission.engine, submission.resources)
    path = Path(submission.blueprint)
    if not path.is_file() or sha256_of(path) != submission.sha256:
        raise UsageError(f"'{path}' has changed since it was submitted: submit it again")
    folder = submissions_folder(results) / submission.id
    missing = [one.part for one in part_states(submission, folder) if one.is_missing]
    return (submit(submission, results, missing) if missing else submission), missing
