"""Frames of pandas: the flat table, whose types are the same with and without Arrow, and raw samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarker.analysis.results.columns import BOOLEAN, CATEGORY, INTEGER, NUMBER, TEXT, TIME, Column, field
from benchmarker.records.schema import Record

if TYPE_CHECKING:
    import pyarrow as pa

_TIMES = "datetime64[us, UTC]"
_MASKED = {INTEGER: "Int64", BOOLEAN: "boolean", TEXT: "string"}


class Notes(dict[str, str]):
    """What is known of columns, by name; pandas copies ``attrs`` in every step, which would take its time."""

    def __deepcopy__(self, memo: Any) -> Notes:
        return self


def frame_of(columns: Mapping[str, Any], paths: Sequence[str]) -> pd.DataFrame:
    """Return the frame of columns after a first one ``path``.

    Its ``attrs`` hold the ``units`` and ``descriptions`` of columns, by name.
    """
    frame = pd.DataFrame({"path": pd.array(paths, "string"), **columns}, copy=False)
    known = {name: field(name) for name in frame.columns}
    frame.attrs["units"] = Notes({name: f.unit for name, f in known.items() if f.unit})
    frame.attrs["descriptions"] = Notes({name: f.description for name, f in known.items() if f.description})
    return frame


def array_of(column: Column) -> Any:
    if column.kind == CATEGORY:
        words = sorted({value for value in column.values if value is not None})
        return pd.Categorical(column.values, categories=pd.Index(words, dtype=_word_type()))
    if column.kind == TIME:
        return pd.to_datetime(pd.Series(column.values, dtype="object"), utc=True).astype(_TIMES).array
    if column.kind == NUMBER:
        return np.array([np.nan if value is None else value for value in column.values], dtype="float64")
    return pd.array(column.values, dtype=_MASKED[column.kind])


def array_of_arrow(column: pa.ChunkedArray) -> Any:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _category(column.combine_chunks())
    if pa.types.is_floating(kind):
        return column.to_numpy()
    if pa.types.is_timestamp(kind):
        return column.to_pandas().astype(_TIMES).array
    to = INTEGER if pa.types.is_integer(kind) else BOOLEAN if pa.types.is_boolean(kind) else TEXT
    return pd.api.types.pandas_dtype(_MASKED[to]).__from_arrow__(column)


def _category(array: Any) -> pd.Categorical:
    """Return a category with the words that occur, in their order."""
    codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    words = array.dictionary.to_pylist()
    used = sorted(np.unique(codes[codes >= 0]).tolist(), key=words.__getitem__)
    # The code -1, for no word, finds the last member, which is -1 too.
    to = np.full(len(words) + 1, -1, dtype="int32")
    to[used] = np.arange(len(used), dtype="int32")
    categories = pd.Index([words[code] for code in used], dtype=_word_type())
    return pd.Categorical.from_codes(to[codes], categories=categories)


def _word_type() -> Any:
    """Return the type that pandas gives texts by itself: ``str`` from 3.0 on."""
    return pd.Index(["a"]).dtype


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
