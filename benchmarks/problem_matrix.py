"""Which problems run on which frameworks, verified: the matrix in Markdown, from ``check --only='problem/*'``.

Small sizes of all problems, compared with the float64 reference in every mode that a framework has::

    python benchmarks/problem_matrix.py [--framework=pytorch,jax] [--json=FILE]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rows import ROOT

from benchmarker import registry

LETTERS = {"inference": "i", "training": "t", "gradient": "g"}
"""What a cell shows of a verified mode; in parentheses of one that failed."""
NONE = "–"
Statuses = Mapping[str, Mapping[str, str]]
"""The status of each mode, by problem."""


def checked(framework: str) -> dict[str, Any]:
    """Return what ``check`` found of a framework's problems."""
    command = [sys.executable, "-m", "benchmarker", "check", framework, "--only=problem/*", "--json"]
    finished = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if finished.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command[1:])} ended with {finished.returncode}")
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


def by_problem(found: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the status of each mode, by problem."""
    rows: dict[str, dict[str, str]] = defaultdict(dict)
    for check in found["results"]:
        if check["name"].startswith("problem/"):
            _, name, mode = check["name"].split("/")
            rows[name][mode] = check["status"]
    return rows


def cell(modes: Mapping[str, str]) -> str:
    """Return the letters of the modes that were verified, and in parentheses of those that failed."""
    shown = {"passed": "{}", "failed": "({})", "skipped": ""}
    return (
        "".join(shown[modes.get(mode, "skipped")].format(letter) for mode, letter in LETTERS.items()) or NONE
    )


def table(columns: Mapping[str, Statuses]) -> Iterator[str]:
    """Yield the lines of the matrix in Markdown."""
    yield f"| problem | {' | '.join(columns)} |"
    yield f"| --- |{' :-: |' * len(columns)}"
    for problem in sorted({name for rows in columns.values() for name in rows}):
        yield f"| `{problem}` | {' | '.join(cell(rows.get(problem, {})) for rows in columns.values())} |"


def counts(columns: Mapping[str, Statuses]) -> Iterator[str]:
    """Yield how many of each framework's checks ended how."""
    for framework, rows in columns.items():
        found = Counter(status for modes in rows.values() for status in modes.values())
        yield f"{framework}: " + ", ".join(f"{number} {status}" for status, number in found.items())


def main() -> int:
    """Check and print; 1 if a check failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--framework", default=",".join(registry.names("frameworks", ours=True)))
    parser.add_argument("--json", type=Path, help="a file for the status of every check")
    arguments = parser.parse_args()
    found = {}
    for framework in arguments.framework.split(","):
        found[framework] = checked(framework)
        print(f"{framework} {found[framework]['version']}", file=sys.stderr, flush=True)
    columns = {framework: by_problem(result) for framework, result in found.items()}
    if arguments.json:
        arguments.json.write_text(json.dumps(columns, indent=1), encoding="utf-8")
    print("\n".join([*table(columns), "", *counts(columns)]))
    return int(
        any(status == "failed" for rows in columns.values() for m in rows.values() for status in m.values())
    )


if __name__ == "__main__":
    raise SystemExit(main())
