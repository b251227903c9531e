"""Pages of the tables that the package keeps: run options, fields of a record, operators, plug-ins."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

from markdown_text import code, prose, table

from benchmarker import registry
from benchmarker.analysis.text.plugins import PluginRow
from benchmarker.cli import listing
from benchmarker.experiment.options import OPTIONS
from benchmarker.experiment.run_option import RunOption
from benchmarker.graph.operators import OPERATORS, REQUIRED, OperatorInfo, Operators
from benchmarker.records.schema.kinds import NARROWED
from benchmarker.records.schema.members import Member, Value, describe, members_of
from benchmarker.records.schema.record import Record

_GROUPS: Mapping[str, str] = {
    "what": "What to run",
    "where": "Where and how it runs",
    "ranks": "Several ranks",
    "amount": "How much is measured",
    "checkpoints": "Checkpoints",
    "output": "Output",
}


def options_page() -> str:
    """Return the page of run options, in the groups of the command's help."""
    parts = [
        "# Run options",
        (
            "Options of `benchmarker run` and `benchmarker train`, which are also the fields of a "
            "[blueprint](../blueprints.md) and the keywords of `benchmarker.run`. An option that is an *axis* takes "
            "several values, separated by commas (a list in blueprints and in Python), and every combination is run."
        ),
    ]
    groups = dict.fromkeys([*_GROUPS, *(option.group for option in OPTIONS.values())])
    for group in groups:
        rows = [_option_row(option) for option in OPTIONS.values() if option.group == group]
        if rows:
            titles = ["option", "in blueprints", "a value", "axis", "what it is"]
            parts.append(f"## {_GROUPS.get(group, group.capitalize())}\n\n{table(titles, rows)}")
    return "\n\n".join(parts) + "\n"


def _option_row(option: RunOption) -> list[str]:
    modes = f" Only for {' and '.join(option.modes)}." if option.modes else ""
    axis = "yes" if option.axis else ""
    return [code(option.flag), code(option.key), option.rule.allowed, axis, option.description + modes]


def record_page() -> str:
    """Return the page of a record's fields, a section for each of its members that have members."""
    groups = {
        name: list(_rows(member.value, name))
        for name, member in members_of(Record).items()
        if _is_group(member)
    }
    titles = ["field", "type", "unit", "since", "what it is"]
    plain = [_member_row(name, member) for name, member in members_of(Record).items()]
    parts = ["# Fields of a record", describe(Record)]
    parts.append(
        "Read a field with dots, as in `timing.step_seconds.median`: filters (`benchmarker results list "
        "timing.steps=20`), tables and SQL take the same names. `[]` stands for the items of a list, `*` for a name. "
        "*Since* is the version of the schema since which the field is always present; where it is empty, the field "
        "may be absent. A type with `?` may be null."
    )
    parts.append(f"## The record\n\n{table(titles, plain)}")
    parts += [f"## {name}\n\n{table(titles, rows)}" for name, rows in groups.items() if rows]
    return "\n\n".join(parts) + "\n"


def _is_group(member: Member) -> bool:
    return any(True for _ in _rows(member.value, member.name))


def _rows(value: Value, path: str, above: tuple[object, ...] = ()) -> Iterator[list[str]]:
    """Yield a row for each member below a value, down to the last."""
    _, group = value.notes.get(
        NARROWED, ("", value.group)
    )  # of an object that was open once, what it has now
    if group is not None and group not in above:
        for name, member in members_of(group).items():
            yield _member_row(f"{path}.{name}", member)
            yield from _rows(member.value, f"{path}.{name}", (*above, group))
    elif value.items is not None:
        yield from _rows(value.items, f"{path}[]", above)
    elif group is None and value.others is not None:
        yield from _rows(value.others, f"{path}.*", above)


def _member_row(path: str, member: Member) -> list[str]:
    value = member.value
    kind = f"{_kind(value)}{'?' if value.nullable else ''}"
    return [code(path), kind, value.unit or "", member.since or "", prose(member.description)]


def _kind(value: Value) -> str:
    if value.choices:
        return " or ".join(code(choice) for choice in value.choices)
    if value.items is not None:
        return f"list of {_kind(value.items)}"
    return value.json_type or "any"


def operators_page() -> str:
    """Return the page of the vocabulary, in the files' order."""
    parts = [
        "# Operators",
        (
            "The vocabulary that problems are written in: ONNX's names and semantics, tensors as `N C spatial...`. "
            "Each framework implements a *primitive*; a *composite* is defined in terms of others, so it works in "
            "every framework at once, and a framework that has it natively may still implement it."
        ),
    ]
    by_file: dict[str, list[OperatorInfo]] = {}
    for name, info in OPERATORS.items():
        by_file.setdefault(getattr(Operators, name).__module__.rpartition(".")[2], []).append(info)
    for file, infos in sorted(by_file.items()):
        parts.append(f"## {file.capitalize()}")
        parts += [_operator(info) for info in infos]
    return "\n\n".join(parts) + "\n"


def _operator(info: OperatorInfo) -> str:
    tensors = [f"*{name}" if info.variadic else name for name in info.tensors]
    attributes = [
        name if value is REQUIRED else f"{name}={value!r}" for name, value in info.attributes.items()
    ]
    call = f"{info.name}({', '.join([*tensors, *(['*', *attributes] if attributes else [])])})"
    text = inspect.getdoc(getattr(Operators, info.name)) or ""
    return f"### {info.name}\n\n{code(call)} ({info.kind})\n\n{prose(text)}"


def plugins_page() -> str:
    """Return the page of the plug-ins that come with the package, a section for each kind."""
    parts = [
        "# Built-in plug-ins",
        (
            "What `benchmarker list` shows of the package itself. [Problems](problems.md) have their own page; "
            "[Plug-ins](../plugins.md) says how to add your own."
        ),
    ]
    for kind in registry.KINDS:
        if kind == "problems":
            continue
        rows = [
            row
            for name in registry.names(kind, ours=True)
            for row in listing._rows(registry.find(kind, name))
        ]
        cells = [[code(row.name), _told(row)] for row in rows]
        parts.append(f"## {kind.replace('_', ' ').capitalize()}\n\n{table(['name', 'what it is'], cells)}")
    return "\n\n".join(parts) + "\n"


def _told(row: PluginRow) -> str:
    if row.kind == "frameworks":  # its note tells of this machine
        plugin = registry.framework(row.name)
        return f"Needs {', '.join(code(text) for text in plugin.requirements)}"
    text = row.description
    return f"{text} ({row.source})" if row.source else text
