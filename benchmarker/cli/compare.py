"""Compare sides: which is faster, by how much, and whether that is shown."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.cli.counting import reading
from benchmarker.cli.terminal import end_as_interrupted, output_width
from benchmarker.errors import BenchmarkerError, UsageError

if TYPE_CHECKING:
    from benchmarker.comparison import Comparison, Side
    from benchmarker.comparison.making import Amount, Making

FEWEST_PAIRS, MOST_PAIRS = 3, 5000
EXIT_SLOWER, EXIT_UNTOLD, EXIT_INTERRUPTED = 1, 4, 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``compare``."""
    parser.epilog = (
        "exit status: 0 compared; 1 shown to be slower than --fail-if-slower allows; 2 what was asked makes no "
        "sense, or the sides are not comparable; 4 nothing can be told and --require-conclusive asks for it"
    )
    parser.add_argument(
        "sides",
        nargs="*",
        metavar="SIDE",
        help="the first is the baseline; each is a record (file, name or part of its id), a folder, filters "
        "('framework=pytorch problem=resnet50') or a commit of this repository (git:v1.2)",
    )
    parser.add_argument(
        "--run",
        action="store_true",
        help="make the pairs first, by their newest records; for commits in a checkout of each, and what to run "
        "follows --: compare --run git:v1 git:HEAD -- --framework=numpy --problem=mnist_mlp",
    )
    parser.add_argument(
        "--aa", metavar="RECORD", help="compare a record with itself and keep what this machine resolves"
    )
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--pairs", type=int, metavar="N", help="pairs that --run or --aa makes; default: 10")
    amount.add_argument("--profile", metavar="NAME", help="quick, standard or rigorous, instead of --pairs")
    parser.add_argument(
        "--margin",
        type=share,
        metavar="SHARE",
        help="ratios nearer to 1 are equivalent; default: 2%%",
    )
    parser.add_argument(
        "--include-contaminated", action="store_true", help="count processes that the machine disturbed"
    )
    parser.add_argument(
        "--fail-if-slower", type=share, metavar="SHARE", help="status 1 if a row is shown to be, e.g. 5%%"
    )
    parser.add_argument("--require-conclusive", action="store_true", help="status 4 if a row has no answer")
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="default: results"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def share(text: str) -> float:
    """Return a share that was given in per cent or as a number below 1."""
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = -1.0
    if rest or not 0 < value < 1:
        raise argparse.ArgumentTypeError(
            f"a share must be between 0% and 100%, e.g. 5% or 0.05, got '{text}'"
        )
    return value


def main(arguments: argparse.Namespace) -> int:
    """Compare, print what is to be said, and return the exit status."""
    arguments.asked = _without_what_is_asked(arguments)
    _check(arguments)
    try:
        return _with_itself(arguments) if arguments.aa else _compare(arguments)
    except BenchmarkerError as error:
        raise UsageError(str(error)) from error  # status 1 is said of numbers here


def _without_what_is_asked(arguments: argparse.Namespace) -> list[str]:
    """Take from the sides what to run at them, which follows those that are commits, and return it."""
    from benchmarker.comparison.revisions import REVISION

    words = arguments.sides
    commits = [word for word in words if word.startswith(REVISION)]
    count = next((i for i, word in enumerate(words) if not word.startswith(REVISION)), len(words))
    rest = words[count:]
    if not arguments.run or not commits:
        option = next((word for word in words if word.startswith("-")), None)
        if option is not None:
            raise UsageError(
                f"what follows -- is run at commits, with --run and sides git:..., got '{option}'"
            )
        return []
    if len(commits) > count or (
        rest and not rest[0].startswith("-") and not rest[0].endswith((".toml", ".py"))
    ):
        other = rest[0]
        raise UsageError(
            f"--run makes pairs of commits or of records, not of both: got '{commits[0]}' and '{other}'"
        )
    arguments.sides = words[:count]
    return list(rest)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.aa and (arguments.sides or arguments.run or arguments.fail_if_slower):
        raise UsageError(
            "--aa compares one record with itself: it must come without SIDEs, --run and --fail-if-slower"
        )
    if not arguments.aa and len(arguments.sides) < 2:
        raise UsageError(f"a comparison must have at least two sides, got {len(arguments.sides)}")
    if len(set(arguments.sides)) < len(arguments.sides):
        raise UsageError(
            "the sides of a comparison must differ, one is there twice; --aa compares a record with itself"
        )
    if (arguments.pairs or arguments.profile) and not (arguments.run or arguments.aa):
        raise UsageError(
            "--pairs and --profile say how many pairs are made: they must come with --run or --aa"
        )
    if arguments.pairs is not None and not FEWEST_PAIRS <= arguments.pairs <= MOST_PAIRS:
        raise UsageError(f"--pairs must be from {FEWEST_PAIRS} to {MOST_PAIRS}, got {arguments.pairs}")
    margin = _margin(arguments)
    if arguments.fail_if_slower is not None and arguments.fail_if_slower < margin:
        raise UsageError(
            f"--fail-if-slower must be at least the margin, below which ratios are equivalent: "
            f"{arguments.fail_if_slower:.3g} is below {margin:.3g}; give a smaller --margin"
        )


def _margin(arguments: argparse.Namespace) -> float:
    from benchmarker.comparison.margin import DEFAULT

    return DEFAULT if arguments.margin is None else float(arguments.margin)


# --- sides -----------------------------------------------------------------------------------------


def _compare(arguments: argparse.Namespace) -> int:
    from benchmarker.comparison.revisions import REVISION

    if not arguments.run:
        return _print(arguments, _compared(arguments, _sides(arguments)))
    at_commits = arguments.sides[0].startswith(REVISION)
    sides, interrupted = _made_at_commits(arguments) if at_commits else _made(arguments, _sides(arguments))
    if interrupted:
        return _interrupted(arguments, sides)
    return _print(arguments, _compared(arguments, sides))


def _sides(arguments: argparse.Namespace) -> list[Side]:
    return [_side(text, arguments) for text in arguments.sides]


def _side(text: str, arguments: argparse.Namespace) -> Side:
    from benchmarker.comparison.sides import find_side

    return find_side(text, arguments.results, reading(quiet=arguments.quiet or arguments.json))


def _compared(arguments: argparse.Namespace, sides: Sequence[Side]) -> Comparison:
    from benchmarker.comparison import compare
    from benchmarker.comparison.resolution import resolution_for

    return compare(
        sides,
        margin=arguments.margin,
        resolution=resolution_for,
        include_contaminated=arguments.include_contaminated,
    )


def _interrupted(arguments: argparse.Namespace, sides: Sequence[Side]) -> int:
    """Compare what there is."""
    try:
        _print(arguments, _compared(arguments, sides))
    except UsageError as error:
        print(f"benchmarker: interrupted, {error}", file=sys.stderr)
    return EXIT_INTERRUPTED


def _print(arguments: argparse.Namespace, comparison: Comparison) -> int:
    """Print a comparison and return the exit status."""
    from benchmarker.comparison import gate
    from benchmarker.comparison.verdict import INCONCLUSIVE
    from benchmarker.report.comparison import as_json, as_text, gate_sentences

    passed = None if arguments.fail_if_slower is None else gate(comparison.rows, arguments.fail_if_slower)
    if arguments.json:
        print(json.dumps(as_json(comparison, passed)))
    else:
        print(as_text(comparison, width=output_width()))
    for line in gate_sentences(passed) if passed else ():
        print(f"benchmarker: {line}", file=sys.stderr)
    if passed and passed.slower:
        return EXIT_SLOWER
    if not arguments.require_conclusive:
        return 0
    verdicts = {row.verdict.verdict if row.verdict else INCONCLUSIVE for row in comparison.rows}
    untold = bool(passed.untold) if passed else INCONCLUSIVE in verdicts
    return EXIT_UNTOLD if untold else 0


# --- making pairs ----------------------------------------------------------------------------------


def _amount(arguments: argparse.Namespace) -> Amount:
    from benchmarker.comparison.making import DEFAULT_PAIRS, Amount

    if arguments.profile:
        return Amount(profile=arguments.profile)
    return Amount(arguments.pairs or DEFAULT_PAIRS)


def _made(arguments: argparse.Namespace, sides: Sequence[Side]) -> tuple[list[Side], bool]:
    """Return the sides with new records, and whether making them was interrupted."""
    from benchmarker.comparison.making import pairs_to_make

    making = pairs_to_make(sides, _amount(arguments))
    made, interrupted = _run(arguments, making)
    return making.sides(made), interrupted


def _made_at_commits(arguments: argparse.Namespace) -> tuple[list[Side], bool]:
    """Return the sides with records that were made at commits, and whether making them was interrupted."""
    from benchmarker.cli.display import make_display
    from benchmarker.comparison.at_revisions import make_pairs
    from benchmarker.comparison.making import DEFAULT_PAIRS
    from benchmarker.store import Store

    if arguments.profile:
        raise UsageError(f"pairs of commits must be a number, --pairs=N, got --profile={arguments.profile}")
    Store(arguments.results).check_writable()
    end_as_interrupted()
    display = make_display(quiet=arguments.quiet or arguments.json)
    pairs = arguments.pairs or DEFAULT_PAIRS
    try:
        made = make_pairs(arguments.sides, arguments.asked, pairs, arguments.results, display)
    finally:
        display.close()
    return made.sides, made.interrupted


def _run(arguments: argparse.Namespace, making: Making) -> tuple[list[tuple[int, dict[str, Any]]], bool]:
    """Run a campaign and return its records as they were stored, each with its cell."""
    from benchmarker.campaign import Campaign
    from benchmarker.cli.display import make_display
    from benchmarker.orchestrator import Orchestrator
    from benchmarker.store import Store, read_record

    store = Store(arguments.results)
    store.check_writable()
    end_as_interrupted()
    display = make_display(quiet=arguments.quiet or arguments.json)
    orchestrator = Orchestrator(store, display)
    between = False
    try:
        for _ in orchestrator.run(Campaign(making.runs, making.precision)):
            pass
    except KeyboardInterrupt:
        between = True  # of two processes, where there is no record to tell it
    finally:
        display.close()
    made = [(run.cell, read_record(run.path)) for run in orchestrator.every]
    return made, between or any(run.interrupted for run in orchestrator.every)


def _with_itself(arguments: argparse.Namespace) -> int:
    """Compare a record with itself, keep what that says of the machine, and print it."""
    from benchmarker.comparison.itself import pairs_with_itself, resolution_of
    from benchmarker.comparison.making import processes_to_make
    from benchmarker.comparison.resolution import keep
    from benchmarker.report.comparison import resolution_json, resolution_text

    making = processes_to_make(_side(arguments.aa, arguments), _amount(arguments))
    made, interrupted = _run(arguments, making)
    records = [record for _, record in made]
    pairing = pairs_with_itself(records, include_contaminated=arguments.include_contaminated)
    found = resolution_of(pairing, _margin(arguments))
    kept = found is not None and not arguments.include_contaminated
    if found is not None and kept:
        keep(found)
    if arguments.json:
        print(json.dumps(resolution_json(found, pairing, kept=kept)))
    else:
        print("\n".join(textwrap.wrap(resolution_text(found, pairing, kept=kept), output_width())))
    if interrupted:
        return EXIT_INTERRUPTED
    return 0 if found is not None else EXIT_UNTOLD
