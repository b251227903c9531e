"""Import results of the earlier tool into a results folder; what is there already is not added again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarker.analysis.legacy.reading import LegacyRun, NotEarlierError, read
from benchmarker.analysis.legacy.record import IMPORTED, as_record, identifier
from benchmarker.analysis.results.collection import load_results
from benchmarker.errors import UsageError
from benchmarker.records.remote.opening import store_at
from benchmarker.records.store import record_files


@dataclass
class Imported:
    """What came of the files: new records, runs that were known, and why others were left."""

    added: dict[Path, Path] = field(default_factory=dict)
    known: list[Path] = field(default_factory=list)
    left: dict[Path, str] = field(default_factory=dict)


def import_results(
    sources: Sequence[Path], folder: Path, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> Imported:
    """Read files of the earlier tool and add a record of each run to a folder.

    Parameters
    ----------
    sources : sequence of Path
        Files, and folders of ``*.json``.
    folder : Path
        The results folder; made when it is needed.
    on_progress : callable
        Called after each file with how many are done, of how many.

    Raises
    ------
    UsageError
        If a source does not exist, or the folder cannot be written.
    StoreError
        If a record could not be written.
    """
    files = list(dict.fromkeys(file for source in sources for file in record_files(source)))
    if not files:
        raise UsageError(f"an import needs files that end in .json, got none in '{sources[0]}'")
    outcome = Imported()
    runs = {file: run for file in files if (run := _read(file, outcome)) is not None}
    store, known = store_at(folder), _known(folder)
    if runs:
        store.check_writable()
    for index, (file, run) in enumerate(runs.items()):
        if identifier(run) in known:
            outcome.known.append(file)
        else:
            known.add(identifier(run))
            outcome.added[file] = store.save(as_record(run))
        on_progress(index + 1, len(runs))
    return outcome


def _read(file: Path, outcome: Imported) -> LegacyRun | None:
    try:
        return read(file)
    except OSError as error:
        outcome.left[file] = f"cannot be read: {error.strerror}"
    except NotEarlierError as reason:
        outcome.left[file] = str(reason)
    return None


def _known(folder: Path) -> set[str]:
    if not folder.exists():
        return set()
    return set(load_results(folder, id=f"{IMPORTED}*").values("id"))
