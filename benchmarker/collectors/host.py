"""Who and where: the host's and the user's name, neither when the run is anonymous."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from benchmarker.api.collector import Run
from benchmarker.machine.identity import host_name, user_name


@contextlib.contextmanager
def benchmarker_collect(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the names, or only that they were left out."""
    if run.anonymous:
        yield {"anonymous": True}
        return
    yield {"anonymous": False, "name": host_name(), "user": user_name()}
