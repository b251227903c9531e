"""Raw samples of records in long form: a row for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarker.records.schema import Record

if TYPE_CHECKING:
    import pandas as pd

WARM_UP, TIMED = "warm-up", "timed"
_PHASES = (WARM_UP, TIMED)


class _Part(NamedTuple):
    """The samples of one record in one phase; ``steady`` is the first steady one, None if that is not known."""

    identifier: str
    phase: int
    seconds: list[float]
    block: int
    last: int
    steady: int | None


def samples_frame(records: Iterable[Record]) -> pd.DataFrame:
    """Return the samples of records.

    Returns
    -------
    pandas.DataFrame
        ``id`` of the record, ``sample`` from 0 in its ``phase``, ``seconds`` a step, number of ``steps`` in the
        sample, and whether it is of the ``steady`` part that the statistics take, missing where that is not
        known. Not in it are records without samples.
    """
    import numpy as np
    import pandas as pd

    parts = [part for record in records for part in _parts(record) if part.seconds]
    counts = np.array([len(part.seconds) for part in parts], dtype="int64")
    ends = np.cumsum(counts)
    sample = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
    names = {name: code for code, name in enumerate(dict.fromkeys(part.identifier for part in parts))}

    def for_each(values: Sequence[int]) -> Any:
        return np.repeat(np.array(values, dtype="int64"), counts)

    steps = for_each([part.block for part in parts])
    steps[ends - 1] = [part.last for part in parts]
    first = for_each([-1 if part.steady is None else part.steady for part in parts])
    return pd.DataFrame(
        {
            "id": pd.Categorical.from_codes(
                for_each([names[part.identifier] for part in parts]), list(names)
            ),
            "sample": sample,
            "phase": pd.Categorical.from_codes(for_each([part.phase for part in parts]), _PHASES),
            "seconds": np.concatenate(
                [np.empty(0), *(np.array(part.seconds, dtype=float) for part in parts)]
            ),
            "steps": steps,
            "steady": pd.arrays.BooleanArray(sample >= first, first < 0),
        }
    )


def _parts(record: Record) -> Iterator[_Part]:
    timing = record["timing"]
    warmup, samples = timing["warmup_samples_seconds"] or [], timing["samples_seconds"] or []
    # No sample of the warm-up is steady.
    yield _Part(record["id"], _PHASES.index(WARM_UP), _numbers(warmup), 1, 1, len(warmup))
    block = timing["block_steps"] or 1
    last = (timing["steps"] or block * len(samples)) - block * (len(samples) - 1)
    steady = timing["steady_state"]
    start = steady["start"] if steady else None
    yield _Part(record["id"], _PHASES.index(TIMED), _numbers(samples), block, last, start)


def _numbers(values: Sequence[Any]) -> list[float]:
    return [float(value) if isinstance(value, (int, float)) else float("nan") for value in values]
