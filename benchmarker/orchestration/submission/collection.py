"""Where the records of submissions are until they are collected."""

from __future__ import annotations

from pathlib import Path

from benchmarker.orchestration.submission.state import part_folder, submitted


def record_folders(results: Path, name: str | None = None) -> list[Path]:
    """Return the folders with records of the submissions beside a results folder, or of the one of a name.

    Raises
    ------
    UsageError
        If there is none of that name, or one cannot be read.
    """
    parts = (
        part_folder(folder, part) / "results"
        for folder, submission in submitted(results, name)
        for part in range(1, submission.parts + 1)
    )
    return [folder for folder in parts if folder.is_dir()]
