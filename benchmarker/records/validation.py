"""Checking record files against the schema: many of them in as many processes as cores are granted."""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from benchmarker.errors import BenchmarkerError
from benchmarker.machine.threads import available_threads
from benchmarker.records.reading import DamagedError, parse_json, read_bytes
from benchmarker.records.schema import Fault, validate
from benchmarker.records.schema.consistency import inconsistencies

_CHUNK = 100
"""Files that a process checks at a time; fewer than two of these are not worth a second process."""


def check_file(file: str | Path) -> list[Fault]:
    """Return everything that is wrong with a record file; an empty list for a valid one."""
    try:
        return _check(read_bytes(file, follow=True))
    except DamagedError as error:
        return [Fault("$", str(error))]
    except ValueError as error:
        return [Fault("$", f"is not JSON: {error}")]


def _check(data: bytes) -> list[Fault]:
    from benchmarker.records.schema.decoding import decode

    record = decode(data)
    if record is None:
        return validate(parse_json(data))
    return [Fault(path, message) for path, message in inconsistencies(record)]


def check_files(
    files: Sequence[Path], on_progress: Callable[[int], None] = lambda done: None
) -> dict[Path, list[Fault]]:
    """Return the faults of each file, in the order of the files.

    Parameters
    ----------
    files : sequence of Path
        Record files, each once.
    on_progress : callable
        Told now and then how many files have been checked.

    Raises
    ------
    BenchmarkerError
        If a process that checks is ended from outside.
    """
    found: dict[Path, list[Fault]] = {}
    chunks = [files[start : start + _CHUNK] for start in range(0, len(files), _CHUNK)]
    for chunk, faults in zip(chunks, _checked(chunks)):
        found.update(zip(chunk, faults))
        on_progress(len(found))
    return found


def _checked(chunks: Sequence[Sequence[Path]]) -> Iterator[list[list[Fault]]]:
    processes = min(len(chunks), available_threads())
    if processes < 2:
        yield from map(_check_chunk, chunks)
        return
    # Texts, because a path takes longer to be sent than its file takes to be opened.
    texts = ([str(file) for file in chunk] for chunk in chunks)
    # A fork is ready at once; where there is none, a new interpreter does the same.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_begin) as pool:
        try:
            yield from pool.map(_check_chunk, texts)
        except BrokenProcessPool:
            raise BenchmarkerError(
                "records could not all be checked: a process that did was ended from outside, e.g. for want of memory"
            ) from None


def _begin() -> None:
    """Leave Ctrl-C to the command, and do not look for cycles, which a record has none of."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()


def _check_chunk(files: Sequence[str | Path]) -> list[list[Fault]]:
    return [check_file(file) for file in files]
