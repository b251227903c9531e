"""Make a public list of records: build a static site of contests and ranks, or check what would count in it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarker.cli.counter import reading
from benchmarker.cli.records import add_results, tell_skipped
from benchmarker.cli.terminal import print_text
from benchmarker.cli.values import file_path
from benchmarker.errors import UsageError, plural, printable

if TYPE_CHECKING:
    from benchmarker.analysis.list_site.entries import Entry, Repository

INTERRUPTED_RUN = "its run was interrupted, so it belongs to no entry"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    build = actions.add_parser(
        "build", help="make the site of a repository of records", description="Make the site."
    )
    build.add_argument("results", type=file_path, metavar="DIR", help="folder with the records and verdicts")
    build.add_argument(
        "-o",
        "--output",
        type=file_path,
        required=True,
        metavar="SITE",
        help="folder to write the site to",
    )
    build.add_argument("--force", action="store_true", help="replace the folder if it is a site")
    build.add_argument("--title", default="Benchmarks", help="heading of the site (default: %(default)s)")
    check = actions.add_parser(
        "check",
        help="say why records would not count, one reason per line",
        description="Say why records would not count, one reason per line.",
        epilog="exit status: 0 all entries count; 1 one does not; 2 the request is not valid",
    )
    check.add_argument(
        "records",
        nargs="+",
        metavar="RECORD",
        help="a record: its file or, in the folder of --results, its name, the beginning or end of its id, or last; "
        "the other processes of its number and its rerun are looked for in that folder, or else next to the file; a "
        "record of a rerun stands for the record that was run again",
    )
    add_results(check, elsewhere=False)
    for action in (build, check):
        action.add_argument(
            "--contests",
            type=file_path,
            default=Path("contests"),
            metavar="DIR",
            help="folder with the contests' TOML files (default: %(default)s)",
        )
        action.add_argument("--json", action="store_true", help="print JSON and nothing else")


def main(arguments: argparse.Namespace) -> int:
    """Run an action and return its exit status."""
    return {"build": _build, "check": _check}[arguments.action](arguments)


def _build(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.list_site.build import check_place, make_site, write_site
    from benchmarker.analysis.list_site.contests import read_contests
    from benchmarker.analysis.list_site.entries import read_repository
    from benchmarker.analysis.text.units import size

    check_place(arguments.output, force=arguments.force)
    contests = read_contests(arguments.contests)
    repository = read_repository(arguments.results, reading(quiet=arguments.json))
    site = make_site(contests, repository, arguments.results, title=arguments.title)
    written = write_site(arguments.output, site, force=arguments.force)
    tell_skipped(repository.skipped)
    counting = {place.judged.entry.key for one in site.standings for place in one.places}
    # An entry may count in one contest and not in another.
    other = {judged.entry.key for one in site.standings for judged in one.others} - counting
    numbers = {
        "contests": len(contests),
        "counting": len(counting),
        "not_counting": len(other),
        "of_no_contest": len(site.outside),
        "records": sum(name.endswith(".json") for name in site.copies),
        "bytes": written,
    }
    if arguments.json:
        print(json.dumps({"site": str(arguments.output), **numbers}))
        return 0
    print_text(
        f"{arguments.output}: {plural(len(contests), 'contest')}, entries: {len(counting)} that count, "
        f"{len(other)} that do not, {len(site.outside)} in no contest; {size(written)}"
    )
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.list_site.contests import read_contests
    from benchmarker.analysis.list_site.entries import read_repository
    from benchmarker.analysis.list_site.requirements import reasons_against
    from benchmarker.analysis.results.selection import find_record

    contests = read_contests(arguments.contests)
    paths = [find_record(name, arguments.results, on_damaged=tell_skipped) for name in arguments.records]
    for path in paths:
        if not path.is_file():
            raise UsageError(f"a record must be a file, got '{path}'")
    repositories: dict[Path, Repository] = {}
    found: dict[Path, list[str]] = {}
    checked: set[str] = set()
    for path in dict.fromkeys(paths):
        folder = arguments.results if _is_in(path, arguments.results) else path.parent
        if folder not in repositories:
            repositories[folder] = read_repository(folder, reading(quiet=arguments.json))
        entry = _entry(path, repositories[folder])
        if isinstance(entry, str):
            found[path] = [entry]
        elif entry is not None and entry.key not in checked:  # its other processes have the same reasons
            checked.add(entry.key)
            found[path] = reasons_against(entry, contests, repositories[folder])
    if arguments.json:
        listed = [{"record": str(path), "reasons": reasons} for path, reasons in found.items()]
        print(json.dumps(listed, indent=2, ensure_ascii=False))
    else:
        print_text(_as_text(found))
    return int(any(found.values()))


def _is_in(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _entry(path: Path, repository: Repository) -> Entry | str | None:
    """Return the entry that a record's file is of, or was made again for, or why it is of none.

    None of a rerun whose entry is not there.
    """
    for damaged, why in repository.skipped.items():
        if damaged.exists() and damaged.samefile(path):
            return f"the file {why}"
    for entry in repository.entries:
        if any(file.samefile(path) for file in entry.files):
            return entry
    for name, file in repository.files.items():
        if file.samefile(path):
            return (
                INTERRUPTED_RUN
                if repository.records[name]["status"] == "interrupted"
                else _run_again(name, repository)
            )
    raise UsageError(
        f"'{path}' is not among the records of its folder: a record is named NAME.json (--results)"
    )


def _run_again(name: str, repository: Repository) -> Entry | None:
    """Return the entry of which a record is the rerun."""
    return next((e for e in repository.entries if any(name in rerun.new for rerun in e.reruns)), None)


def _as_text(found: Mapping[Path, Sequence[str]]) -> str:
    lines = [printable(f"{path}: {reason}") for path, reasons in found.items() for reason in reasons]
    bad = sum(map(bool, found.values()))
    verdict = f"{bad} would not count" if bad else "all would count" if found else "nothing to check"
    return "\n".join([*lines, f"entries: {len(found)}, {verdict}"])
