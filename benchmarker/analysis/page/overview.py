"""What the page says of all its runs together: what, where, when, how many, and how far to believe them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarker.analysis.page.table import when
from benchmarker.analysis.text.factors import framework_label
from benchmarker.analysis.text.tones import TONES
from benchmarker.analysis.text.units import size
from benchmarker.machine.trust import GRADES
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record, number_at, value_at, work_name

_MAX_NAMED = 12
_ORDER = {word: place for place, word in enumerate(("ok", "passed", *GRADES))}


@dataclass(frozen=True)
class Tally:
    """How often each word was found.

    Parameters
    ----------
    title : str
        What was counted.
    counts : tuple of (str, int, str)
        Word, how often, and its tone.
    hint : str
        What the words mean.
    """

    title: str
    counts: tuple[tuple[str, int, str], ...]
    hint: str


@dataclass(frozen=True)
class Overview:
    """The summary: ``tallies`` side by side, then ``facts``, each a label and texts."""

    tallies: tuple[Tally, ...]
    facts: tuple[tuple[str, tuple[str, ...]], ...]


def overview(records: Sequence[Record]) -> Overview:
    started = sorted(when(record["started_at"]) for record in records)
    facts = (
        ("problems", _named(f"{work_name(record)} ({record['mode']})" for record in records)),
        ("frameworks", _named(framework_label(record) for record in records)),
        ("machines", _named(map(machine, records))),
        ("when, UTC", (started[0] if started[0] == started[-1] else f"{started[0]} to {started[-1]}",)),
        ("made with", _named(f"benchmarker {record['benchmarker_version']}" for record in records)),
    )
    return Overview(_tallies(records), facts)


def machine(record: Record) -> str:
    """Return the computer of a record in a line: name if it is told, processor, memory, system."""
    cores = value_at(record, "platform.cpu.physical_cores") or value_at(record, "platform.cpu.cores")
    memory = number_at(record, "platform.memory.total_bytes")
    system = [value_at(record, f"platform.os.{name}") for name in ("system", "kernel")]
    device = record["device"]
    parts = (
        value_at(record, "platform.host.name"),
        value_at(record, "platform.cpu.model"),
        f"{cores} cores" if cores else None,
        size(memory) if memory else None,
        f"{device['count']} x {device['name']}" if device["type"] != "cpu" else None,
        " ".join(str(part) for part in system if part),
    )
    return ", ".join(str(part) for part in parts if part)


def _tallies(records: Sequence[Record]) -> tuple[Tally, ...]:
    return (
        _tally(
            "ended",
            [str(record["status"]).replace("_", " ") for record in records],
            "how the processes ended",
        ),
        _tally(
            "verified",
            [str(value_at(record, "verification.status") or "not known") for record in records],
            "whether outputs, loss and gradients agree with a float64 reference",
        ),
        _tally(
            "trust",
            [str(value_at(record, "trust.grade") or "not known") for record in records],
            "whether something disturbed the machine while steps were timed",
        ),
    )


def _tally(title: str, words: Sequence[str], hint: str) -> Tally:
    found = sorted(Counter(words).items(), key=lambda item: (_ORDER.get(item[0], len(_ORDER)), item[0]))
    return Tally(title, tuple((word, count, TONES.get(word, "")) for word, count in found), hint)


def _named(texts: Iterable[str]) -> tuple[str, ...]:
    """Return different texts with how often each was found, the most frequent first."""
    counts = Counter(texts).most_common()
    shown = [f"{text} × {count}" if count > 1 else text for text, count in counts[:_MAX_NAMED]]
    more = len(counts) - len(shown)
    return (*shown, f"and {more} more") if more else tuple(shown)
