"""``python -m benchmarker.records.schema`` writes ``record-1.json`` anew from the structs."""

from __future__ import annotations

from pathlib import Path

from benchmarker.records.schema.published import published_schema
from benchmarker.records.store import format_record

PUBLISHED = Path(__file__).with_name("record-1.json")


def published_text() -> str:
    """Return what the file must hold."""
    return format_record(published_schema())


if __name__ == "__main__":
    PUBLISHED.write_text(published_text(), encoding="utf-8")
