"""Compare sides: which is faster, by how much, and whether that is shown."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarker.api.given_values import real_number
from benchmarker.cli.counter import reading
from benchmarker.cli.records import add_results
from benchmarker.cli.terminal import end_as_interrupted, output_width, print_text, tell
from benchmarker.cli.values import MAX_PAIRS, file_path, whole
from benchmarker.errors import BenchmarkerError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarker.analysis.comparison import Comparison, Gate, Side
    from benchmarker.analysis.comparison.request import ComparisonRequest
    from benchmarker.analysis.comparison.variants import Made
    from benchmarker.cli.display import Display

EXIT_SLOWER, EXIT_ELSEWHERE, EXIT_UNTOLD, EXIT_INTERRUPTED = 1, 1, 4, 130
SUMMARY_WIDTH = 110


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``compare``."""
    parser.epilog = (
        "exit status: 0 compared; 1 shown to be slower than --fail-if-slower allows, or a new record is not in the "
        "results folder; 2 the request is not valid, or the sides are not comparable; 4 there is no answer and "
        "--require-conclusive asks for one"
    )
    parser.add_argument(
        "sides",
        nargs="*",
        metavar="SIDE",
        help="the first is the baseline; each is a record (file, name or part of its id), a folder, filters "
        "('framework=pytorch problem=resnet50'), a framework's version (pytorch==2.12.0) or a commit of this "
        "repository (git:v1.2)",
    )
    parser.add_argument(
        "--run",
        action="store_true",
        help="make the pairs first, with the settings of each side's newest record; each commit runs in its own "
        "checkout, and what to run follows --: compare --run git:v1 git:HEAD -- --framework=numpy "
        "--problem=mnist_mlp; likewise for versions: compare --run pytorch==2.12.0 pytorch==2.13.0 -- "
        "--problem=mnist_mlp",
    )
    parser.add_argument(
        "--aa",
        metavar="RECORD",
        help="compare a record with itself, and keep how small a difference this machine can resolve",
    )
    _add_amount(parser)
    parser.add_argument(
        "--margin",
        type=share,
        metavar="SHARE",
        help="ratios nearer to 1 than this are equivalent; default: 2%%",
    )
    parser.add_argument(
        "--include-contaminated", action="store_true", help="also count processes that the machine disturbed"
    )
    parser.add_argument(
        "--fail-if-slower",
        type=share,
        metavar="SHARE",
        help="exit with status 1 if a row is shown to be slower by more than this",
    )
    parser.add_argument(
        "--require-conclusive", action="store_true", help="exit with status 4 if a row has no answer"
    )
    add_results(parser)
    parser.add_argument(
        "--summary",
        metavar="FILE",
        type=file_path,
        help="append a summary in Markdown to a file, for CI to show",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def _add_amount(parser: argparse.ArgumentParser) -> None:
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument(
        "--pairs",
        type=whole(1, MAX_PAIRS),
        metavar="N",
        help="pairs that --run or --aa makes; default: 20, or 10 without turns",
    )
    amount.add_argument("--profile", metavar="NAME", help="quick, standard or rigorous, instead of --pairs")
    parser.add_argument(
        "--turns",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether the two processes of a new pair take turns in short windows, if they can",
    )


def share(text: str) -> float:
    """Return a share that was given in per cent or as a number below 1."""
    number, percent, rest = text.strip().partition("%")
    try:
        value = real_number(number) / (100 if percent else 1)
    except ValueError:
        value = -1.0
    if rest or not 0 < value < 1:
        raise argparse.ArgumentTypeError(
            f"a share must be between 0% and 100%, e.g. 5% or 0.05, got '{text}'"
        )
    return value


def main(arguments: argparse.Namespace) -> int:
    """Compare, print what is to be said, and return the exit status."""
    if arguments.summary:
        append(arguments.summary, "")
    try:
        request = _request(arguments, _take_run_arguments(arguments))
        return _with_itself(arguments, request) if arguments.aa else _compare(arguments, request)
    except BenchmarkerError as error:
        if arguments.summary:
            from benchmarker.analysis.text.comparison_markdown import refusal_markdown

            append(arguments.summary, refusal_markdown(str(error)))
        _print_refusal(arguments, str(error))
        raise UsageError(str(error)) from error  # status 1 is said of numbers here
    except KeyboardInterrupt:
        _print_refusal(arguments, "interrupted")
        raise


def _print_refusal(arguments: argparse.Namespace, reason: str) -> None:
    """Print why there is no comparison for whoever reads JSON: standard error may be kept by nobody."""
    if arguments.json:
        from benchmarker.analysis.text.comparison_sentences import refusal_json

        print(json.dumps(refusal_json(reason, with_itself=arguments.aa is not None)))


def append(path: Path, text: str) -> None:
    """Append to a file, which may be there from other steps of a job.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"--summary must be a file that can be written, got '{path}' ({reason})") from None


def _summarize_text(arguments: argparse.Namespace, text: Callable[[], str], outcome: str = "") -> None:
    if arguments.summary:
        from benchmarker.analysis.text.comparison_markdown import text_markdown

        append(arguments.summary, text_markdown(text(), outcome))


def _take_run_arguments(arguments: argparse.Namespace) -> list[str]:
    """Take from the sides what to run at them, which follows those that are commits or versions, and return it."""
    from benchmarker.analysis.comparison.sides import is_variant

    words = arguments.sides
    variants = [word for word in words if is_variant(word)]
    count = next((i for i, word in enumerate(words) if not is_variant(word)), len(words))
    rest = words[count:]
    if not arguments.run or not variants:
        option = next((word for word in words if word.startswith("-")), None)
        if option is not None:
            raise UsageError(
                "what follows -- is run at commits or versions, with --run and sides git:... or "
                f"FRAMEWORK==VERSION, got '{option}'"
            )
        return []
    if len(variants) > count or (
        rest and not rest[0].startswith("-") and not rest[0].endswith((".toml", ".py"))
    ):
        other = rest[0]
        raise UsageError(
            "--run makes pairs of commits, of versions or of records, all of one kind: got "
            f"'{variants[0]}' and '{other}'"
        )
    arguments.sides = words[:count]
    return list(rest)


def _request(arguments: argparse.Namespace, words: Sequence[str]) -> ComparisonRequest:
    from benchmarker.analysis.comparison.request import ComparisonRequest

    return ComparisonRequest(
        sides=arguments.sides,
        results=arguments.results,
        run=arguments.run,
        words=words,
        self_comparison=arguments.aa,
        pairs=arguments.pairs,
        profile=arguments.profile,
        margin=arguments.margin,
        include_contaminated=arguments.include_contaminated,
        fail_if_slower=arguments.fail_if_slower,
        turns=arguments.turns,
    )


def _compare(arguments: argparse.Namespace, request: ComparisonRequest) -> int:
    on_read = reading(quiet=arguments.quiet or arguments.json)
    if not request.run:
        sides = request.found_sides(on_read)
        from benchmarker.analysis.comparison.trainings import are_trainings

        if are_trainings(sides):
            return _print_trainings(arguments, sides)
        return _print(arguments, *request.compared(sides))
    with _display(arguments) as display:
        made = request.made_sides(display, end_as_interrupted, on_read)
    _tell_troubles(arguments, made.troubles)
    if made.interrupted:
        return _interrupted(arguments, request, made)
    status = _print(arguments, *request.compared(made.sides), made.without_turns)
    return status or (EXIT_ELSEWHERE if made.troubles else 0)


def _tell_troubles(arguments: argparse.Namespace, troubles: Sequence[str]) -> None:
    for trouble in troubles:
        tell(trouble)
    if arguments.summary and troubles:
        from benchmarker.analysis.text.comparison_markdown import troubles_markdown

        append(arguments.summary, troubles_markdown(troubles))


def _print_trainings(arguments: argparse.Namespace, sides: Sequence[Side]) -> int:
    """Compare trainings by a recipe by the time to their target, print it and return the exit status."""
    from benchmarker.analysis.comparison.trainings import compare_trainings
    from benchmarker.analysis.text.trainings import comparison_text

    comparison = compare_trainings(sides, include_contaminated=arguments.include_contaminated)
    if arguments.json:
        print(json.dumps(comparison.to_json()))
    else:
        print_text(comparison_text(comparison, width=output_width()))
    limit = arguments.fail_if_slower
    slower = [row.seconds_ratio for row in comparison.rows if row.verdict == "slower"]
    # One that misses its target has no ratio.
    failed = limit is not None and any(ratio is None or ratio > 1.0 + limit for ratio in slower)
    untold = arguments.require_conclusive and any(row.verdict == "inconclusive" for row in comparison.rows)
    status = EXIT_SLOWER if failed else EXIT_UNTOLD if untold else 0
    outcome = "" if limit is None and not status else "**Failed**" if status else "**Passed**"
    _summarize_text(arguments, lambda: comparison_text(comparison, width=SUMMARY_WIDTH), outcome)
    return status


@contextmanager
def _display(arguments: argparse.Namespace) -> Iterator[Display]:
    from benchmarker.cli.display import make_display

    display = make_display(quiet=arguments.quiet or arguments.json)
    try:
        yield display
    finally:
        display.close()


def _interrupted(arguments: argparse.Namespace, request: ComparisonRequest, made: Made) -> int:
    """Compare what there is."""
    from benchmarker.analysis.text.comparison_sentences import INTERRUPTED

    try:
        _print(arguments, *request.compared(made.sides), made.without_turns, INTERRUPTED)
    except UsageError as error:
        tell(f"interrupted, {error}")
        _print_refusal(arguments, f"{INTERRUPTED}: {error}")
    if arguments.summary:
        append(arguments.summary, "\n**Interrupted** before all pairs were made.\n")
    return EXIT_INTERRUPTED


def _print(
    arguments: argparse.Namespace,
    comparison: Comparison,
    passed: Gate | None,
    without_turns: str | None = None,
    error: str | None = None,
) -> int:
    """Print a comparison and return the exit status."""
    from benchmarker.analysis.comparison.verdict import INCONCLUSIVE
    from benchmarker.analysis.text.comparison import as_text
    from benchmarker.analysis.text.comparison_sentences import as_json, gate_sentences

    if arguments.json:
        print(json.dumps(as_json(comparison, passed, without_turns, error)))
    else:
        print_text(as_text(comparison, width=output_width()))
    if arguments.summary:
        from benchmarker.analysis.text.comparison_markdown import comparison_markdown

        conclusive = arguments.require_conclusive
        append(arguments.summary, comparison_markdown(comparison, passed, require_conclusive=conclusive))
    for line in gate_sentences(passed) if passed else ():
        tell(line)
    if passed and passed.slower:
        return EXIT_SLOWER
    if not arguments.require_conclusive:
        return 0
    verdicts = {row.verdict.verdict if row.verdict else INCONCLUSIVE for row in comparison.rows}
    untold = bool(passed.untold) if passed else INCONCLUSIVE in verdicts
    return EXIT_UNTOLD if untold else 0


def _with_itself(arguments: argparse.Namespace, request: ComparisonRequest) -> int:
    """Compare a record with itself, and print what that says of the machine."""
    from benchmarker.analysis.text.comparison_sentences import self_comparison_json, self_comparison_text

    with _display(arguments) as display:
        on_read = reading(quiet=arguments.quiet or arguments.json)
        found = request.compared_with_itself(display, end_as_interrupted, on_read)
    _tell_troubles(arguments, found.troubles)
    if arguments.json:
        print(json.dumps(self_comparison_json(found)))
    else:
        print_text("\n".join(textwrap.wrap(self_comparison_text(found), output_width())))
    _summarize_text(arguments, lambda: self_comparison_text(found))
    if found.interrupted:
        return EXIT_INTERRUPTED
    if found.resolution is None:
        return EXIT_UNTOLD
    return EXIT_ELSEWHERE if found.troubles else 0
