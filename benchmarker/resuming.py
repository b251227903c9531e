"""Which runs of an experiment have a good record already."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarker.anonymity import without_names
from benchmarker.experiment import RunSpec, specification
from benchmarker.planning import prepared_data
from benchmarker.record import PATHS, FinishedRun
from benchmarker.store import iter_records


def recorded_specification(run: RunSpec) -> dict[str, Any]:
    """Return a run's specification as its record has it: without names if the run is anonymous."""
    values = specification(run)
    if run.anonymous:
        for name in PATHS:
            values[name] = without_names(values[name])
    return values


def finished_before(runs: Sequence[RunSpec], folder: Path) -> dict[int, FinishedRun]:
    """Return the newest record with status ``ok`` of each run that has one, by the run's position.

    Parameters
    ----------
    runs : sequence of RunSpec
        The experiment.
    folder : Path
        The results folder, which need not exist. A record whose data set had another content than it has
        now, or whose specification cannot be read, is none.

    Raises
    ------
    UsageError
        If a data set cannot be read.
    """
    if not folder.exists():
        return {}
    known = {
        (_text(record["specification"]), _recorded_digest(record)): FinishedRun(record, path)
        for path, record in iter_records(folder, lambda path, reason: None)
        if record.get("status") == "ok" and isinstance(record.get("specification"), Mapping)
    }
    keys = [(_text(recorded_specification(run)), _digest(run)) for run in runs]
    return {index: known[key] for index, key in enumerate(keys) if key in known}


def _digest(run: RunSpec) -> str | None:
    data = prepared_data(run)
    return None if data is None else str(data.description["digest"])


def _recorded_digest(record: Mapping[str, Any]) -> str | None:
    found: Any = record
    for name in ("inputs", "data", "digest"):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else None


def _text(values: Mapping[str, Any]) -> str:
    # What was added since the record was made stands at its default there.
    complete = {**_DEFAULTS, **values}
    return json.dumps(complete, sort_keys=True)


_DEFAULTS = {
    name: value
    for name, value in specification(RunSpec("", "")).items()
    if name not in ("framework", "problem")
}
