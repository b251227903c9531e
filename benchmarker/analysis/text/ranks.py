"""Runs of several ranks, for the terminal: what one of them did, and what more ranks were worth."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarker.analysis.scaling.efficiency import Ratio, Scaled, scaled
from benchmarker.analysis.scaling.periods import period_of
from benchmarker.analysis.text.factors import framework_label
from benchmarker.analysis.text.layout import Column, table
from benchmarker.analysis.text.units import duration, significant, size
from benchmarker.records.cells import cells
from benchmarker.records.lookup import Record, work_name

_NONE = "-"
_LOW = 0.1
"""A share below which whole percents would tell little."""
_SPEEDUP = (
    "Speed-up: samples per second over those of one rank of the same framework, problem and settings, of strong "
    "scaling with the same mini-batch, of weak scaling with a rank's. Efficiency: the speed-up over the number of "
    "ranks; its interval is the widest that those of both step times allow."
)
_PARTS = (
    "Compute: forward and backward of the slowest rank, made by all ranks at once without an exchange, so that it "
    "includes what they take from each other by sharing a machine. Exchange: with the update, once the last rank had "
    "reached it. Waiting: for that rank, on average."
)
_BETWEEN = (
    "Averaging: the step is the mean from one exchange of weights to the next; compute, exchange and waiting are those "
    "of the steps between."
)
_BYTES = (
    "Bytes per step, of all ranks together: by the scheme's formula, and as the interfaces of the run counted them "
    "(headers included)."
)


def lines(record: Record) -> Iterator[tuple[str, str]]:
    """Yield each label of a run of several ranks with its text; nothing of a run of one."""
    found = record.get("distributed")
    if not found:
        return
    yield "ranks", _who(found)
    yield "network", _network(found)
    yield "rank steps", _steps(found)
    yield "volume", _volume(found)
    yield "staleness", _staleness(found)


def _who(found: Mapping[str, Any]) -> str:
    if found["scheme"] is None:
        return f"{found['ranks']}, {found['means']}"
    parts = [
        f"{found['ranks']} with {found['rows']} rows each, {found['scheme']} by {found['means']}",
        f"{found['scaling']} scaling",
    ]
    if found["batch_normalization"]:
        parts.append(f"batch normalization {found['batch_normalization']}")
    if found.get("loss"):
        parts.append(
            "loss: mean of the ranks' own" if found["loss"] == "local" else "loss of all ranks at once"
        )
    return ", ".join(parts)


def _network(found: Mapping[str, Any]) -> str:
    network = found["network"]
    words = {
        "shared": "that of the machine",
        "counted": "loopback of the run's own",
        "emulated": f"emulated, {network['rate']}",
    }[network["kind"]]
    parts = [words]
    if found["rendezvous_seconds"] is not None:
        parts.append(f"met in {duration(found['rendezvous_seconds'], 3)}")
    if network["reason"]:
        parts.append(f"bytes not counted: {network['reason']}")
    return ", ".join(parts)


def _steps(found: Mapping[str, Any]) -> str:
    medians = [member["step_seconds"] for member in found["members"] if member["step_seconds"] is not None]
    if not medians:
        return ""
    phrases = [f"medians from {duration(min(medians), 3)} to {duration(max(medians), 3)}"]
    if found["skew_seconds"] is not None:
        phrases.append(f"apart by {duration(found['skew_seconds'], 3)} in a step")
    parts = found["parts"] or {}
    for name, words in (("compute", "compute"), ("exchange", "exchange and update"), ("waiting", "waiting")):
        seconds = parts.get(f"{name}_seconds")
        if seconds is not None:
            phrases.append(f"{words} {duration(seconds, 3)}")
    if parts.get("overlap") is not None:
        phrases.append(
            f"an all-reduce of as many bytes alone {duration(parts['exchange_alone_seconds'], 3)}, "
            f"{parts['overlap']:.0%} of it hidden"
        )
    return ", ".join(phrases)


def _volume(found: Mapping[str, Any]) -> str:
    volume = found["volume"]
    if not volume:
        return ""
    parts = [f"{size(volume['expected_bytes'])} per step by formula"]
    if volume["wire_bytes"] is not None:
        parts.append(f"{size(volume['wire_bytes'])} on the wire")
    logical = volume["logical_bytes"] or {}
    parts += [f"{size(bytes_)} given to {kind} by a rank" for kind, bytes_ in logical.items()]
    return "; ".join([", ".join(parts), *volume["findings"]])


def _staleness(found: Mapping[str, Any]) -> str:
    histogram = found["staleness"]
    if not histogram:
        return ""
    ages = sorted((int(age), count) for age, count in histogram.items())
    total = sum(count for _, count in ages)
    return ", ".join(f"{count / total:.0%} {age} versions old" for age, count in ages if count)


def ranks_table(records: Iterable[Record], *, width: int = 80) -> str:
    """Return what more ranks were worth: speed-up, efficiency, parts of a step and bytes.

    Parameters
    ----------
    records : iterable of dict
        Valid records, those of one rank among them.
    width : int
        Characters a line should have at most.
    """
    rows = [one for one in scaled(cells(records)) if one.cell.step_seconds]
    has_periods = any(period_of(one.cell.first) > 1 for one in rows)
    columns = [
        Column("framework", tuple(framework_label(one.cell.first) for one in rows), key=True),
        Column("problem", _problems(rows)),
        Column("scheme", tuple(_scheme(one) for one in rows), key=True, breaks="-"),
        Column("network", _where_differ(rows, lambda one: network_name(one.cell.first))),
        Column("scaling", _where_differ(rows, lambda one: str(one.distributed["scaling"]))),
        Column("ranks", tuple(str(one.ranks) for one in rows), numeric=True, key=True),
        _numbers("step", rows, lambda one: _duration(one.step_seconds)),
        _numbers("speed-up", rows, lambda one: _ratio(one.speedup)),
        _numbers("efficiency", rows, lambda one: _percent(one.efficiency)),
        _numbers("compute", rows, lambda one: _part(one, "compute")),
        _numbers("exchange", rows, lambda one: _part(one, "exchange")),
        _numbers("waiting", rows, lambda one: _part(one, "waiting")),
        _numbers("bytes, formula", rows, lambda one: _bytes(one, "expected_bytes")),
        _numbers("bytes, wire", rows, lambda one: _bytes(one, "wire_bytes")),
    ]
    explanations = (_SPEEDUP, _PARTS, *([_BETWEEN] if has_periods else []), _BYTES, *_emulated(rows))
    notes = "\n".join(textwrap.fill(note, width) for note in explanations)
    return f"{table([c for c in columns if any(cell != _NONE for cell in c.cells)], width)}\n\n{notes}"


def _problems(rows: Sequence[Scaled]) -> tuple[str, ...]:
    """Return what is trained in each row, where it is not the same in all."""
    names = tuple(work_name(one.cell.first) for one in rows)
    return names if len(set(names)) > 1 else tuple(_NONE for _ in names)


def network_name(record: Record) -> str:
    """Return what ranks reached each other by; an emulated network is always called one."""
    network = record["distributed"]["network"]
    if network["kind"] == "emulated":
        return f"emulated {network['rate']}"
    return "machine's memory" if network["kind"] == "shared" else "loopback"


def _where_differ(rows: Sequence[Scaled], text: Callable[[Scaled], str]) -> tuple[str, ...]:
    """Return a text of each run of several ranks; nothing where all are alike, and no network is emulated."""
    found = tuple(text(one) if one.distributed else _NONE for one in rows)
    known = set(found) - {_NONE}
    return found if len(known) > 1 or any(map(_is_emulated, known)) else tuple(_NONE for _ in rows)


def _is_emulated(name: str) -> bool:
    return name.startswith("emulated")


def _numbers(title: str, rows: Sequence[Scaled], text: Callable[[Scaled], str]) -> Column:
    return Column(title, tuple(map(text, rows)), numeric=True)


def _scheme(one: Scaled) -> str:
    found = one.distributed
    return f"{found['scheme']}, {found['exchange']}" if found else _NONE


def _duration(seconds: float | None) -> str:
    return _NONE if seconds is None else duration(seconds, 3)


def _ratio(ratio: Ratio | None) -> str:
    return _NONE if ratio is None else significant(ratio.value, 3)


def _percent(ratio: Ratio | None) -> str:
    if ratio is None:
        return _NONE
    ends = (
        "" if ratio.low is None or ratio.high is None else f" ({_share(ratio.low)} to {_share(ratio.high)})"
    )
    return f"{_share(ratio.value)}{ends}"


def _share(value: float) -> str:
    return f"{value:.0%}" if value >= _LOW else f"{significant(100 * value, 2)}%"


def _part(one: Scaled, name: str) -> str:
    return _duration((one.distributed.get("parts") or {}).get(f"{name}_seconds"))


def _bytes(one: Scaled, name: str) -> str:
    found = (one.distributed.get("volume") or {}).get(name)
    return _NONE if found is None else size(found)


def _emulated(rows: Sequence[Scaled]) -> Iterator[str]:
    rates = {
        one.distributed["network"]["rate"]
        for one in rows
        if one.distributed and one.distributed["network"]["kind"] == "emulated"
    }
    if rates:
        yield f"Emulated: the network between ranks is made of links of {' or '.join(sorted(rates))} on one machine."
