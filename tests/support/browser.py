"""A real browser for tests: the Chromium of the system, without a screen and with a fresh profile."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def executable() -> str:
    """Return the path of the browser."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found, f"the tests of the page need one of {', '.join(NAMES)}"
    return found


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser, which makes itself a profile in a temporary folder, and end it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()
