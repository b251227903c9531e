"""Adds the pages of the reference to the site: each is made from the code when the site is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import command_pages
import package_pages
import python_pages
from mkdocs.structure.files import File, Files

from benchmarker.analysis.documentation import problems_page

PAGES: Mapping[str, Callable[[], str]] = {
    "commands.md": command_pages.commands_page,
    "options.md": package_pages.options_page,
    "record.md": package_pages.record_page,
    "operators.md": package_pages.operators_page,
    "problems.md": problems_page,
    "plugins.md": package_pages.plugins_page,
    "python.md": python_pages.calls_page,
    "api.md": python_pages.api_page,
}
"""The pages below ``reference/``, and what writes each in Markdown."""


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages beside those that are kept."""
    for name, page in PAGES.items():
        files.append(File.generated(config, f"reference/{name}", content=page()))
    return files
