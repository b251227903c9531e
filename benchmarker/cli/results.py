"""List, show, query, export, merge, prune, import and index records."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.cli.counter import reading, taking
from benchmarker.cli.index import make_index
from benchmarker.cli.records import add_action, add_filters, chosen_records, tell_skipped
from benchmarker.cli.results_changes import CHANGES, add_changes
from benchmarker.cli.terminal import output_width, print_text
from benchmarker.cli.values import file_path, whole
from benchmarker.errors import UsageError, plural, printable

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
    add_changes(actions)
    add_action(actions, "index", "make the index objects of a remote folder, for quick reading")


def _add_list(actions: Any) -> None:
    _add_choice(add_action(actions, "list", "list records, newest first", json_lines=True))


def _add_table(actions: Any) -> None:
    parser = add_action(actions, "table", "print the list of records for a document", json_lines=True)
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
    parser = add_action(
        actions, "show", "show a record: what ran where, its number, and how far to believe it"
    )
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
    parser = add_action(actions, "query", "query records with SQL (DuckDB)", json_lines=True)
    parser.add_argument(
        "sql",
        metavar="SQL",
        help="one statement that reads the table records (one row per record, columns by dotted names in double "
        "quotes; DESCRIBE records lists them) or samples (one row per sample)",
    )
    add_filters(parser)
    parser.add_argument("--csv", action="store_true", help="print CSV and nothing else")


def _add_export(actions: Any) -> None:
    parser = add_action(actions, "export", "write records to a file for other programs")
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


def main(arguments: argparse.Namespace) -> int:
    """Run an action and return its exit status: 1 if files had to be left out of a merge or an import."""
    commands = {
        "list": _list,
        "table": _table,
        "show": _show,
        "query": _query,
        "export": _export,
        "index": make_index,
        **CHANGES,
    }
    return commands[arguments.action](arguments)


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
        record = _valid(path)
        text = record_summary(record, path, width=output_width(), processes=_processes(record, path))
        print_text("\n".join(map(printable, text.split("\n"))))
    return 0


def _processes(record: Record, path: Path) -> Sequence[Mapping[str, Any]]:
    """Return the processes of a record's number; none where they are too few to fall into groups."""
    from benchmarker.records.groups import MIN_PROCESSES

    max_processes = (record.get("replication") or {}).get("max_processes") or 0
    if record["status"] != "ok" or max_processes < MIN_PROCESSES:
        return ()  # so that not every file beside it is read
    from benchmarker.analysis.reproduction import sibling_processes

    return sibling_processes(record, path)


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

    from benchmarker.analysis.results.export import defused

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
