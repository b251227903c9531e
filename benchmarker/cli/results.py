"""List, show, query, export, merge, prune, import and index records."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.cli.counter import reading, taking, telling
from benchmarker.cli.index import make_index
from benchmarker.cli.records import SHOWN, add_filters, add_results, chosen_records, tell_skipped
from benchmarker.cli.terminal import output_width, print_text
from benchmarker.cli.values import file_path, results_place, whole
from benchmarker.errors import UsageError, plural, printable
from benchmarker.records import places

if TYPE_CHECKING:
    from benchmarker.analysis.results import Results
    from benchmarker.analysis.results.query import Answer
    from benchmarker.records.schema import Record

_LISTED = (
    "path", "id", "started_at", "framework.name", "framework.version", "problem.name", "mode", "batch_size",
    "timing.step_seconds.median", "timing.step_seconds.ci95", "metrics.throughput", "trust.grade", "status",
)  # fmt: skip
"""What ``list --json`` tells of a record, unless columns are named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_list(actions)
    _add_table(actions)
    _add_show(actions)
    _add_query(actions)
    _add_export(actions)
    _add_merge(actions)
    _add_prune(actions)
    _add_import(actions)
    _action(actions, "index", "make the index objects of a remote folder, for quick reading")


def _action(
    actions: Any, name: str, text: str, *, reads: bool = True, json_lines: bool = False
) -> argparse.ArgumentParser:
    described = f"{text[0].upper()}{text[1:]}."
    parser: argparse.ArgumentParser = actions.add_parser(name, help=text, description=described)
    if reads:
        add_results(parser)
    form = "JSON lines, one object per row," if json_lines else "JSON"
    parser.add_argument("--json", action="store_true", help=f"print {form} and nothing else")
    return parser


def _add_list(actions: Any) -> None:
    _add_choice(_action(actions, "list", "list records, newest first", json_lines=True))


def _add_table(actions: Any) -> None:
    parser = _action(actions, "table", "print the list of records for a document", json_lines=True)
    _add_choice(parser)
    parser.add_argument(
        "--format",
        choices=("text", "markdown", "csv", "latex"),
        default="markdown",
        help="default: %(default)s; CSV has whole numbers and no units, LaTeX needs the package booktabs",
    )


def _add_choice(parser: argparse.ArgumentParser) -> None:
    """Add which records a table has, in which order and with which columns."""
    add_filters(parser)
    parser.add_argument("--limit", type=whole(), metavar="N", help="only the first N")
    parser.add_argument(
        "--sort",
        metavar="FIELD",
        help="sort by a field, smallest first, or largest first with a - before it (--sort=-batch_size)",
    )
    parser.add_argument(
        "--columns", metavar="FIELD,...", help="fields to show instead, by their dotted names"
    )


def _add_show(actions: Any) -> None:
    parser = _action(actions, "show", "show a record: what ran where, its number, and how far to believe it")
    parser.add_argument(
        "record", metavar="RECORD", help="a file, its name, the beginning or end of its id, or last"
    )
    parser.add_argument("--path", action="store_true", help="print only the path of its file")
    parser.add_argument(
        "--trace",
        type=file_path,
        metavar="FILE.json.gz",
        help="write a run of several ranks as a trace for ui.perfetto.dev, one track per rank",
    )
    parser.add_argument("--force", action="store_true", help="replace the trace if it exists")


def _add_query(actions: Any) -> None:
    parser = _action(actions, "query", "query records with SQL (DuckDB)", json_lines=True)
    parser.add_argument(
        "sql",
        metavar="SQL",
        help="one statement that reads the table records (one row per record, columns by dotted names in double "
        "quotes; DESCRIBE records lists them) or samples (one row per sample)",
    )
    add_filters(parser)
    parser.add_argument("--csv", action="store_true", help="print CSV and nothing else")


def _add_export(actions: Any) -> None:
    parser = _action(actions, "export", "write records to a file for other programs")
    add_filters(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="flat tables as .csv or .parquet, whole records as .jsonl; - for standard output",
    )
    parser.add_argument(
        "--format", choices=("csv", "parquet", "jsonl"), help="default: as the file's ending says"
    )
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def _add_merge(actions: Any) -> None:
    parser = _action(actions, "merge", "add the records of several folders to one, each once", reads=False)
    parser.add_argument(
        "sources", nargs="+", type=results_place, metavar="DIR", help="folders of records, or record files"
    )
    parser.add_argument(
        "--into", required=True, type=results_place, metavar="DIR", help="folder to add them to"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be added")


def _add_prune(actions: Any) -> None:
    parser = _action(actions, "prune", "remove records and their logs; without --yes, only say which")
    add_filters(parser)
    parser.add_argument(
        "--status", metavar="STATUS,...", help="only those with this outcome, e.g. failed,crashed"
    )
    parser.add_argument(
        "--older-than", metavar="AGE", help="only those that started before then, e.g. 30d or 2026-11-01"
    )
    parser.add_argument(
        "--keep",
        type=whole(0),
        metavar="N",
        help="keep the N newest of the same work, framework, machine and outcome",
    )
    parser.add_argument("--yes", action="store_true", help="really remove them")


def _add_import(actions: Any) -> None:
    parser = _action(
        actions, "import", "import results of the earlier benchmarker (Drozd & Matsuoka)", reads=False
    )
    parser.add_argument(
        "sources", nargs="+", type=file_path, metavar="FILE", help="its JSON files, or folders of them"
    )
    parser.add_argument(
        "--into", type=results_place, default=Path("results"), metavar="DIR", help="default: results"
    )


def main(arguments: argparse.Namespace) -> int:
    """Run an action and return its exit status: 1 if files had to be left out of a merge or an import."""
    commands = {
        "list": _list,
        "table": _table,
        "show": _show,
        "query": _query,
        "export": _export,
        "merge": _merge,
        "prune": _prune,
        "import": _import,
        "index": make_index,
    }
    return commands[arguments.action](arguments)


# --- reading --------------------------------------------------------------------------------------


def _chosen(arguments: argparse.Namespace) -> tuple[Results, list[int], list[str]]:
    """Return records, the positions of those that are wanted, and the columns that are named."""
    from benchmarker.analysis.results.selection import check_columns, ordered

    if arguments.limit is not None and arguments.limit < 1:
        raise UsageError(f"--limit must be at least 1, got {arguments.limit}")
    named = [name for name in (arguments.columns or "").split(",") if name]
    sort = arguments.sort or "-started_at"
    check_columns([*named, sort.removeprefix("-")])
    results = chosen_records(arguments)
    order = ordered(results, sort.removeprefix("-"), falling=sort.startswith("-"))[: arguments.limit]
    return results, order, named


def _fields(results: Results, order: list[int], names: Sequence[str], *, quiet: bool) -> Iterator[list[Any]]:
    """Yield the values of fields of each record."""
    from benchmarker.analysis.results.selection import field_at

    for index in taking(order, len(order), "records read", quiet=quiet):
        record = {"path": str(results.paths[index]), **results[index]}
        yield [field_at(record, name) for name in names]


def _list(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.text.record_list import records_table, values_table

    results, order, named = _chosen(arguments)
    if arguments.json:
        _print_lines(results, order, named)
    elif not order:
        print("no records")
    elif named:
        rows = list(_fields(results, order, named, quiet=False))
        print_text(values_table(named, rows, width=output_width()))
    else:
        taken = taking(order, len(order), "records read", quiet=False)
        print_text(records_table([results[index] for index in taken], width=output_width()))
        if len(order) < len(results):
            print(f"{len(order)} of {len(results)} records")
    return 0


def _print_lines(results: Results, order: list[int], named: Sequence[str]) -> None:
    for values in _fields(results, order, named or _LISTED, quiet=True):
        print(json.dumps(dict(zip(named or _LISTED, values))))


def _table(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.text.formats import formatted
    from benchmarker.analysis.text.record_list import plain_columns, records_columns, values_columns

    results, order, named = _chosen(arguments)
    if arguments.json:
        _print_lines(results, order, named)
        return 0
    if arguments.format == "csv":
        names = named or _LISTED
        columns = plain_columns(names, list(_fields(results, order, names, quiet=False)))
    elif named:
        columns = values_columns(named, list(_fields(results, order, named, quiet=False)))
    else:
        columns = records_columns([results[index] for index in order])
    print(formatted(columns, arguments.format, output_width()))
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.results.selection import find_record
    from benchmarker.analysis.text.summary import record_summary
    from benchmarker.records.store import format_record, read_record

    path = find_record(arguments.record, arguments.results, reading(quiet=arguments.json), tell_skipped)
    if arguments.trace:
        _write_trace(path, arguments.trace, force=arguments.force)
        print(json.dumps(str(arguments.trace)) if arguments.json else arguments.trace)
    elif arguments.path:
        print(json.dumps(str(path)) if arguments.json else path)
    elif arguments.json:
        print(format_record(read_record(path)), end="")
    else:
        text = record_summary(_valid(path), path, width=output_width())
        print_text("\n".join(map(printable, text.split("\n"))))
    return 0


def _valid(path: Path) -> Record:
    from benchmarker.analysis.results.collection import load_results

    found = load_results(path)
    if not len(found):
        raise UsageError("; ".join(f"'{file}' {reason}" for file, reason in found.damaged.items()))
    return found[0]


def _write_trace(path: Path, target: Path, *, force: bool) -> None:
    from benchmarker.analysis.results.rank_trace import write_rank_trace

    write_rank_trace(_valid(path), target, force=force)


def _query(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.results.query import query
    from benchmarker.analysis.text.record_list import values_table

    if arguments.json and arguments.csv:
        raise UsageError("a query prints one format, got both --json and --csv")
    answer = query(chosen_records(arguments), arguments.sql)
    if arguments.json:
        for row in answer.rows:
            print(json.dumps(dict(zip(answer.names, row))))
    elif arguments.csv:
        _print_csv(answer)
    else:
        rows = list(answer.rows)
        print_text(values_table(answer.names, rows, width=output_width()) if rows else "no rows")
    return 0


def _print_csv(answer: Answer) -> None:
    import csv

    from benchmarker.analysis.results.csv_cells import defused

    writer = csv.writer(sys.stdout, lineterminator="\n")
    # A file gets what is there; a terminal would obey it.
    shown = printable if sys.stdout.isatty() else str
    for row in (answer.names, *answer.rows):
        cells = (json.dumps(cell) if isinstance(cell, (dict, list)) else cell for cell in row)
        writer.writerow([defused(shown(cell)) if isinstance(cell, str) else cell for cell in cells])


def _export(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.results.export import export, format_of, write

    kind = format_of(arguments.output, arguments.format)
    to_stdout = arguments.output == "-"
    if to_stdout and arguments.json:
        raise UsageError("an export to - prints the records themselves, so --json cannot be given with it")
    if to_stdout and kind == "parquet" and sys.stdout.isatty():
        raise UsageError("Parquet is not text, so it is not printed to a terminal; name a file")
    results = chosen_records(arguments)
    if to_stdout:
        write(results, sys.stdout.buffer, kind)
        return 0
    export(results, Path(arguments.output), kind, replace=arguments.force)
    if arguments.json:
        print(json.dumps({"file": arguments.output, "format": kind, "records": len(results)}))
    else:
        print(f"{plural(len(results), 'record')} written to '{arguments.output}'")
    return 0


# --- changing -------------------------------------------------------------------------------------


def _merge(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.results.merge import carry_out, plan_merge

    merge = plan_merge(arguments.sources, arguments.into, telling("records read"))
    if merge.new and not arguments.dry_run:
        places.check_writable(arguments.into)
    added = {} if arguments.dry_run else carry_out(merge, telling("records added"))
    if arguments.json:
        listed = [
            {"file": str(file), "record": str(added[file]) if added else None, "folder": str(folder)}
            for file, folder in merge.new.items()
        ]
        _print_json(
            {
                "dry_run": arguments.dry_run,
                "added": listed,
                "known": list(map(str, merge.known)),
                "damaged": _with_reasons(merge.damaged),
            }
        )
    else:
        would = "would be added" if arguments.dry_run else "added"
        print(
            f"{plural(len(merge.new), 'record')} {would} to '{places.shown(arguments.into)}', "
            f"{len(merge.known)} there already, {len(merge.damaged)} damaged"
        )
        tell_skipped(merge.damaged)
    return 1 if merge.damaged else 0


def _prune(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.results.prune import PruneRule, find_unwanted, prune
    from benchmarker.records.timestamps import beginning

    words = [f"status={arguments.status}"] if arguments.status else []
    if not (words or arguments.filters or arguments.older_than or arguments.keep is not None):
        raise UsageError(
            "prune removes only what is asked for: give filters, --status, --older-than or --keep, got none"
        )
    if places.place_at(arguments.results):
        raise UsageError(
            f"prune removes files of this machine, got '{places.shown(arguments.results)}'; remove objects with the "
            "store's own client"
        )
    before = beginning(arguments.older_than) if arguments.older_than else None
    unwanted = PruneRule(before, arguments.keep)
    found = find_unwanted(chosen_records(arguments, *words), unwanted)
    if arguments.yes:
        prune(found, arguments.results)
    if arguments.json:
        listed = [
            {
                "record": str(item.record),
                "log": str(item.log) if item.log else None,
                "trace": str(item.trace) if item.trace else None,
                "bytes": item.size_bytes,
            }
            for item in found
        ]
        _print_json({"removed": arguments.yes, "records": listed})
        return 0
    from benchmarker.analysis.text.units import size

    _print_some([str(item.record) for item in found])
    logs = sum(item.log is not None for item in found)
    what = (
        f"{plural(len(found), 'record')} and {plural(logs, 'log')} ({size(sum(i.size_bytes for i in found))})"
    )
    print(f"{what} removed" if arguments.yes else f"{what} would be removed; --yes removes them")
    return 0


def _import(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.legacy import import_results

    outcome = import_results(arguments.sources, arguments.into, telling("records imported"))
    if arguments.json:
        added = [{"file": str(file), "record": str(record)} for file, record in outcome.added.items()]
        known, left = list(map(str, outcome.known)), _with_reasons(outcome.left)
        _print_json({"imported": added, "known": known, "left": left})
    else:
        print(
            f"{plural(len(outcome.added), 'record')} imported into '{places.shown(arguments.into)}', "
            f"{len(outcome.known)} there already, {len(outcome.left)} left"
        )
        tell_skipped(outcome.left)
    return 1 if outcome.left else 0


# --- telling --------------------------------------------------------------------------------------


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=2))


def _with_reasons(files: Mapping[Path, str]) -> list[dict[str, str]]:
    return [{"file": str(file), "reason": reason} for file, reason in files.items()]


def _print_some(lines: list[str]) -> None:
    for line in lines[:SHOWN]:
        print(printable(line))
    if len(lines) > SHOWN:
        print(f"and {len(lines) - SHOWN} more (--json names all)")
