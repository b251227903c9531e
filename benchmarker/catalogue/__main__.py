"""Write the counts of the built-in problems, and the page of a checkout's documentation, anew."""

from __future__ import annotations

import json
from dataclasses import asdict

from benchmarker import registry
from benchmarker.catalogue.facts import CATALOGUE, compute_facts, kept
from benchmarker.catalogue.names import names
from benchmarker.report.catalogue import documentation


def write() -> None:
    """Write both files."""
    rows = [asdict(compute_facts(name)) for name in names("problems", registry.OWN_DISTRIBUTION)]
    CATALOGUE.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    kept.cache_clear()
    page = CATALOGUE.parent.parent.parent / "docs" / "problems.md"
    if page.parent.is_dir():
        page.write_text(documentation(), encoding="utf-8")


if __name__ == "__main__":
    write()
