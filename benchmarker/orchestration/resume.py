"""Which runs of an experiment have a good record already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarker.experiment.data_checks import prepared_data
from benchmarker.experiment.spec import RunSpec, specification
from benchmarker.records.assembly.anonymous import anonymous_specification
from benchmarker.records.assembly.facts import FinishedRun
from benchmarker.records.keys import finished_key
from benchmarker.records.lookup import value_at
from benchmarker.records.store import iter_records


def recorded_specification(run: RunSpec) -> dict[str, Any]:
    """Return a run's specification as its record has it: without names if the run is anonymous."""
    values = specification(run)
    return anonymous_specification(values) if run.anonymous else values


def finished_before(
    runs: Sequence[RunSpec],
    folder: Path,
    on_damaged: Callable[[Path, str], None] = lambda path, reason: None,
) -> dict[int, FinishedRun]:
    """Return the newest record with status ``ok`` of each run that has one, by the run's position.

    Parameters
    ----------
    runs : sequence of RunSpec
        The experiment.
    folder : Path
        The results folder, which need not exist. A record whose data set had another content than it has
        now, or whose specification cannot be read, is none.
    on_damaged : callable, optional
        Gets each file that cannot be read, and why.

    Raises
    ------
    UsageError
        If a data set cannot be read.
    """
    if not folder.exists():
        return {}
    known = {
        finished_key(record["specification"], value_at(record, "inputs.data.digest")): FinishedRun(
            record, path
        )
        for path, record in iter_records(folder, on_damaged)
        if record.get("status") == "ok" and isinstance(record.get("specification"), Mapping)
    }
    keys = [finished_key(recorded_specification(run), _digest(run)) for run in runs]
    return {index: known[key] for index, key in enumerate(keys) if key in known}


def _digest(run: RunSpec) -> str | None:
    data = prepared_data(run)
    return None if data is None else str(data.description["digest"])
