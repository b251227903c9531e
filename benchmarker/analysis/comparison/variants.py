"""Making pairs of variants: commits, each in a checkout of its own, or versions of frameworks."""

from __future__ import annotations

import dataclasses
import functools
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from pathlib import Path

from benchmarker.analysis.comparison.matching import Side, match
from benchmarker.analysis.comparison.sides import (
    REVISION,
    checked_out,
    commit_of,
    is_commit,
    is_tracked,
    is_version,
    repository_of,
    run_in_own_session,
)
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.cache import temporary_folder
from benchmarker.errors import BenchmarkerError, StoreError, UsageError, printable
from benchmarker.experiment.campaign import Campaign, ScheduledRun
from benchmarker.experiment.progress import Progress
from benchmarker.experiment.replication import order
from benchmarker.experiment.spec import RunSpec
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.attachments import attachments_of
from benchmarker.records.migration import newest
from benchmarker.records.rescue import attempt, rescue_unchecked
from benchmarker.records.schema import Record, validate
from benchmarker.records.store import add_record, read_record, record_name

OWN_OPTIONS = frozenset(
    (
        *("--results", "--repeats", "--resume", "--no-resume", "--dry-run", "--json", "--quiet", "--accept"),
        *("--profile", "--half-width", "--min-processes", "--max-processes", "--budget"),
    )
)
"""Of ``run``: where records go and how many there are is told to the comparison."""
_CODE = "source_control"
"""The collector that tells of which commit a record is."""
_SECONDS_TO_END = 30.0
_START = (
    "import json, runpy, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "runpy.run_module('benchmarker', run_name='__main__', alter_sys=True)"
)


@dataclasses.dataclass
class _Variant:
    """One side while its pairs are made.

    Attributes
    ----------
    name : str
        As it was asked for: ``git:`` and a revision, or a framework with a version, ``pytorch==2.12.0``.
    folder : Path
        Its working directory; of a commit in a checkout.
    path : list of str
        Where Python finds modules.
    kept : Path
        Where its processes leave their records.
    made : list of dict
        Records that count, in the newest shape.
    troubles : list of str
        What became of each that could not be written to the results folder, or is not valid.
    """

    name: str
    folder: Path
    path: list[str]
    kept: Path
    made: list[Record] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """What the command ``run`` is asked here and at no other side."""
        return [f"--framework={self.name}"] if is_version(self.name) else []


@dataclass(frozen=True)
class _Process:
    """One process of a side: its turn in the campaign of this side alone, and how many sides there are."""

    variant: _Variant
    turn: ScheduledRun
    campaign: Campaign
    sides: int


@dataclass(frozen=True)
class Made:
    """Sides with the records that were made.

    Parameters
    ----------
    sides : list of Side
        With those that count.
    interrupted : bool
        Whether the user stopped it.
    troubles : sequence of str
        What became of each record that is not in the results folder, and of each run that left none.
    without_turns : str or None
        Why the processes of a pair did not take turns, where they were to.
    """

    sides: list[Side]
    interrupted: bool
    troubles: Sequence[str] = ()
    without_turns: str | None = None


def make_pairs(
    names: Sequence[str],
    words: Sequence[str],
    pairs: int,
    results: Path,
    progress: Progress,
    *,
    note: str | None = None,
) -> Made:
    """Run the same for each variant, one process of each in every round.

    At a commit the benchmarker is the commit's if it is in the repository, as is any package there, in its top or
    in ``src``; all others are those of this environment.

    Parameters
    ----------
    names : sequence of str
        The sides, the first is the baseline: each ``git:`` and a revision of the current repository, or each a
        framework with its version.
    words : sequence of str
        Of the command ``run``, which must ask for one run.
    pairs : int
        Rounds.
    results : Path
        The folder that takes the records, which exists.
    progress : Progress
        Who is told.
    note : str or None
        What is told before the first run.

    Raises
    ------
    UsageError
        If a variant does not exist, two are one commit, what is to be run makes no sense for one of them, or what
        they compute is not comparable.
    BenchmarkerError
        If a process does not end well; the records before are kept, and where those are that the results folder did
        not take is told too.
    """
    of_versions = is_version(names[0])
    if not all(map(is_version if of_versions else is_commit, names)):
        raise UsageError(
            f"--run makes pairs of commits, of versions or of records, got {' and '.join(names)}"
        )
    _check_words(words, of_versions=of_versions)
    with _versions(names) if of_versions else _commits(names) as variants:
        specs = [_spec(variant, words) for variant in variants]
        if note is not None:
            progress.note(note)
        try:
            turns = _processes(variants, specs, pairs)
            interrupted = _make(variants, turns, pairs * len(variants), words, results, progress)
        except BenchmarkerError as error:
            raise type(error)("; ".join([str(error), *_troubles(variants)])) from error
        return Made(_sides(variants), interrupted, _troubles(variants))


def _make(
    variants: Sequence[_Variant],
    processes: Iterator[_Process],
    total: int,
    words: Sequence[str],
    results: Path,
    progress: Progress,
) -> bool:
    """Make all processes; tell whether the user stopped that."""
    try:
        for index, process in enumerate(processes):
            progress.started(process.turn.spec, index, total)
            progress.note(f"at {process.variant.name}")
            _run(process, words, results, progress)
            if index + 1 == len(variants):
                _check_comparable(variants)
    except KeyboardInterrupt:
        return True
    return False


def _check_words(words: Sequence[str], *, of_versions: bool) -> None:
    if not words:
        example = (
            "numpy==1.26.4 numpy==2.0.2 -- --problem=mnist_mlp"
            if of_versions
            else "git:v1 git:HEAD -- --framework=numpy --problem=mnist_mlp"
        )
        raise UsageError(
            "pairs of commits or versions must be told what to run, after --, "
            f"e.g. compare --run {example}; got nothing"
        )
    for word in words:
        name = word.partition("=")[0].replace("_", "-")
        if name in OWN_OPTIONS:
            raise UsageError(
                f"what is run at each side must leave records and their number to the comparison, got '{name}'; "
                "--results, --pairs and --json come before --"
            )
        if of_versions and name == "--framework":
            raise UsageError(
                f"the sides are the frameworks that run, so what follows -- must name none, got '{word}'"
            )


def _check_comparable(variants: Sequence[_Variant]) -> None:
    """Find after one round, and not after the last, that the variants do not compute the same."""
    first, *others = _sides(variants)
    for other in others:
        match(first, other)


def _sides(variants: Sequence[_Variant]) -> list[Side]:
    return [Side(variant.name, tuple(variant.made)) for variant in variants]


def _troubles(variants: Sequence[_Variant]) -> list[str]:
    return [sentence for variant in variants for sentence in variant.troubles]


# --- places ----------------------------------------------------------------------------------------


@contextmanager
def _versions(names: Sequence[str]) -> Iterator[list[_Variant]]:
    """Yield sides that run where this process does."""
    with temporary_folder() as kept:
        yield [_Variant(name, Path.cwd(), sys.path, kept / str(place)) for place, name in enumerate(names)]


@contextmanager
def _commits(names: Sequence[str]) -> Iterator[list[_Variant]]:
    """Yield the sides with a checkout of each."""
    short = [name.removeprefix(REVISION) for name in names]
    repository = repository_of(short[0])
    commits = [commit_of(revision) for revision in short]
    for index, commit in enumerate(commits):
        if commit in commits[:index]:
            first = names[commits.index(commit)]
            raise UsageError(
                f"'{first}' and '{names[index]}' are the same commit {commit[:12]}, so pairs of them would compare "
                "it with itself, which --aa does with a record"
            )
    with ExitStack() as stack:
        kept = stack.enter_context(temporary_folder())
        places = stack.enter_context(checked_out(repository, commits))
        yield [
            _Variant(name, _working_directory(repository, place), _path(repository, place), kept / place.name)
            for name, place in zip(names, places)
        ]


def _working_directory(repository: Path, place: Path) -> Path:
    """Return the folder of a checkout that the working directory is in the repository's; its top if it has none."""
    folder = place / Path.cwd().resolve().relative_to(repository)
    return folder if folder.is_dir() else place


def _path(repository: Path, place: Path) -> list[str]:
    """Return where Python finds modules: as here, but those of the repository in a checkout of it."""
    found = [str(place), str(place / "src")]
    for entry in sys.path:
        folder = Path(entry or ".").resolve()
        if not folder.is_relative_to(repository):
            found.append(entry)
        elif (place / folder.relative_to(repository)).is_dir():
            found.append(str(place / folder.relative_to(repository)))
        elif not is_tracked(repository, folder):
            found.append(entry)  # e.g. a virtual environment inside of the checkout
    return list(dict.fromkeys(found))


# --- processes -------------------------------------------------------------------------------------


def _spec(variant: _Variant, words: Sequence[str]) -> RunSpec:
    """Return the one run that the words ask for at a side, as far as it is told to people."""
    status, output, complaints = _benchmarker(variant, [*words, "--repeats=1", "--dry-run", "--json"])
    if status:
        raise UsageError(f"the run is not valid at '{variant.name}': {_said(complaints)}")
    runs = [json.loads(line) for line in output.splitlines()]
    if len(runs) != 1:
        raise UsageError(
            f"at each side one run must be asked for, got {len(runs)} at '{variant.name}'; compare each by itself"
        )
    (run,) = runs
    if run.get("refusal"):
        raise UsageError(f"what is to be run is refused at '{variant.name}': {run['refusal']}")
    of_commit = not is_version(variant.name)
    if of_commit and run.get("monitors") is not None and _CODE not in run["monitors"]:
        raise UsageError(
            f"records of commits must tell their commit, so --monitors must include {_CODE}, got "
            f"{', '.join(run['monitors']) or 'none'}"
        )
    shown = ("framework", "problem", "mode", "batch_size", "precision", "seed")
    values = {name: run[name] for name in shown if name in run}
    return RunSpec(**{**values, "problem": ProblemReference.parse(run["problem"])})


def _processes(variants: Sequence[_Variant], specs: Sequence[RunSpec], pairs: int) -> Iterator[_Process]:
    """Yield what runs next: one of each side in a round, in an order that is drawn anew."""
    count = len(variants)
    campaigns = [Campaign([replace(spec, repetition=number) for number in range(pairs)]) for spec in specs]
    for campaign in campaigns:
        campaign.name = campaigns[0].name
    turns = [campaign.turns() for campaign in campaigns]
    for number in range(pairs):
        for position, place in enumerate(order(count, number, specs[0].seed)):
            turn = replace(next(turns[place]), position=position)
            yield _Process(variants[place], turn, campaigns[place], count)


def _run(process: _Process, words: Sequence[str], results: Path, progress: Progress) -> None:
    """Make one process of a side, and keep its record; one that is not valid does not count."""
    variant, spec = process.variant, process.turn.spec
    record, file = _made(process, words)
    faults = validate(record)
    if not faults:
        record["replication"] = {**process.campaign.take(process.turn, record), "cells": process.sides}
        faults = validate(record)
    if faults:
        fault = StoreError(
            f"the record of round {spec.repetition} at '{variant.name}' is not valid: {faults[0]}"
        )
        _rescue(variant, record, file, fault)
        progress.lost(spec)
        return
    path = _store(variant, record, file, results)
    if record["status"] != "ok":
        raise BenchmarkerError(
            f"the run of round {spec.repetition} at '{variant.name}' did not end well, so no more pairs are made: "
            f"{printable(record['error']['message'])} ('{path}')"
        )
    variant.made.append(newest(record))
    progress.finished(record, path)


def _made(process: _Process, words: Sequence[str]) -> tuple[Record, Path]:
    """Make one process of a side; return its record, and the file that it has there."""
    variant, number = process.variant, process.turn.spec.repetition
    known = set(variant.kept.glob("*.json"))
    # With the records of the rounds before, what is left to run is the process of this one.
    more = [f"--results={variant.kept}", f"--repeats={number + 1}", "--resume", "--json"]
    _, _, complaints = _benchmarker(variant, [*words, *more])
    new = sorted(set(variant.kept.glob("*.json")) - known)
    if len(new) != 1:
        raise BenchmarkerError(f"'{variant.name}' made no record in round {number}: {_said(complaints)}")
    record = read_record(new[0])
    if "replication" not in record:
        version = record["schema_version"]
        raise UsageError(
            f"pairs need records of schema 1.2 or later, '{variant.name}' makes those of {version}"
        )
    return record, new[0]


def _store(variant: _Variant, record: Record, file: Path, results: Path) -> Path:
    """Return where the record is, or belongs if it can be kept nowhere."""
    try:
        return add_record(results, record_name(record), record, _attachments(file))
    except OSError as error:
        fault = StoreError(f"the record could not be written to '{results}': {error.strerror or error}")
        return _rescue(variant, record, file, fault) or results / f"{record_name(record)}.json"


def _rescue(variant: _Variant, record: Record, file: Path, error: StoreError) -> Path | None:
    """Keep a record elsewhere, since the side's folder is about to be removed."""
    path, sentence = attempt(
        functools.partial(rescue_unchecked, record, file.stem, _attachments(file)), error
    )
    variant.troubles.append(sentence)
    return path


def _attachments(file: Path) -> dict[str, bytes]:
    return {ending: path.read_bytes() for ending, path in attachments_of(file).items()}


def _benchmarker(variant: _Variant, words: Sequence[str]) -> tuple[int, str, str]:
    """Return status, output and complaints of the command ``run`` as it is at a side."""
    command = [sys.executable, "-c", _START, json.dumps(variant.path), "run", *words, *variant.words]
    return run_in_own_session(command, cwd=variant.folder, end=_end)


def _end(process: subprocess.Popen[str]) -> None:
    """End a benchmarker as Ctrl-C does: it ends its worker first."""
    try:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=_SECONDS_TO_END)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.communicate()


def _said(complaints: str) -> str:
    """Return the last line of what a command complained of, which is its one sentence."""
    lines = [line for line in complaints.splitlines() if line.strip()]
    return printable(lines[-1].removeprefix("benchmarker: ")) if lines else "it does not say why"
