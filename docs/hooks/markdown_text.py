"""Markdown out of what code says: tables, and docstrings in NumPy's style."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

_ROLE = re.compile(r":(?:mod|func|class|data|attr|meth|exc):`~?([\w.]+)`")
_UNDERLINE = re.compile(r"^-{3,}$")
_LISTED = ("Parameters", "Returns", "Yields", "Raises", "Attributes")
_OPTION = re.compile(r"^ {4}(\w+): (.*)$")


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; line breaks and bars in cells are made harmless."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Return text as code in a line; nothing stays nothing."""
    return f"`{text}`" if text else ""


def block(text: str, language: str = "text") -> str:
    """Return a fenced block."""
    return f"```{language}\n{text.rstrip()}\n```"


def prose(text: str) -> str:
    """Return a docstring's text with its roles as plain code."""
    return _ROLE.sub(lambda found: f"`{found[1]}`", text).replace("``", "`")


def docstring(text: str) -> str:
    """Return a docstring in NumPy's style as Markdown."""
    parts, title, body = [], "", []
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""]):
        if _UNDERLINE.match(line) and title:
            continue
        if _UNDERLINE.match(following) and line.strip():
            parts.append(_section(title, body))
            title, body = line.strip(), []
        else:
            body.append(line)
    return "\n\n".join(filter(None, [*parts, _section(title, body)]))


def _section(title: str, lines: list[str]) -> str:
    if not "".join(lines).strip():
        return ""
    if title == "Options":
        return f"**{title}**\n\n{_options(lines)}"
    if title == "Examples":
        return f"**{title}**\n\n{block(textwrap.dedent(chr(10).join(lines)), 'pycon')}"
    text = _entries(lines) if title in _LISTED else prose("\n".join(lines).strip())
    return f"**{title}**\n\n{text}" if title else text


def _entries(lines: list[str]) -> str:
    """Return ``name : kind`` with indented lines below it as list items."""
    items: list[tuple[str, list[str]]] = []
    for line in lines:
        if not line.strip():
            continue
        if line.startswith(" ") and items:
            items[-1][1].append(line.strip())
        else:
            items.append((line.strip(), []))
    return "\n".join(f"- {_entry(head)}{': ' if text else ''}{prose(' '.join(text))}" for head, text in items)


def _entry(head: str) -> str:
    """Return ``name : kind`` with the name as code and the kind in brackets."""
    name, separator, kind = head.partition(" : ")
    return f"{code(name)} ({prose(kind)})" if separator else code(name)


def _options(lines: list[str]) -> str:
    items: list[tuple[str, list[str]]] = []
    for line in lines:
        found = _OPTION.match(line)
        if found:
            items.append((found[1], [found[2]]))
        elif line.strip() and items:
            items[-1][1].append(line.strip())
    return table(["option", "what it is"], [(code(name), " ".join(text)) for name, text in items])
