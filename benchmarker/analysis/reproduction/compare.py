"""Two sides of a number, the original's processes and those of now: what they share, and what follows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.analysis.reproduction.verdict import CANNOT_TELL, Verdict, judge
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.keys import conditions
from benchmarker.records.lookup import Record, value_at
from benchmarker.statistics import WITHIN, across_processes
from benchmarker.version import OWN_DISTRIBUTIONS

NOT_COMPARABLE = "not comparable"
BETWEEN = "between processes"
_SAME_LOSS = 0.01
"""Relative; on other machines sums come out in another order, and a training carries that on."""

Pair = tuple[Any, Any]


@dataclass(frozen=True)
class Number:
    """One side.

    Parameters
    ----------
    processes : int
        Those that ended well.
    median_seconds : float
        Of a step; of several processes the geometric mean of their medians.
    ci95 : tuple of float or None
        Its 95 % interval.
    level : str
        What the interval speaks of.
    trust : mapping of str to int
        Number of processes by grade; those of old records have none and are ``not graded``.
    reasons : tuple of str
        Kinds of what spoke against it in any of the processes.
    """

    processes: int
    median_seconds: float
    ci95: tuple[float, float] | None
    level: str
    trust: Mapping[str, int]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """What running a record again has shown.

    Parameters
    ----------
    verdict : str
        ``reproduced``, ``not reproduced``, ``cannot tell`` or ``not comparable``.
    original, now : Number
        ``now`` is None if no new process ended well.
    numbers : Verdict or None
        What the numbers alone say; describes, but is no verdict, where the sides are not comparable.
    differences : mapping of str to tuple
        What must match and does not, with both values.
    also : mapping of str to tuple
        What else differs: packages, kernel, variables.
    function : mapping of str to tuple
        Digests of weights and first mini-batch, losses of a stated number of steps: both values, and whether
        they are the same.
    failures : tuple of str
        Why new processes did not end well.
    """

    verdict: str
    original: Number
    now: Number | None
    numbers: Verdict | None
    differences: Mapping[str, Pair]
    also: Mapping[str, Pair]
    function: Mapping[str, tuple[Any, Any, bool]]
    failures: tuple[str, ...]


def compare(original: Sequence[Record], now: Sequence[Record]) -> Comparison:
    """Compare the processes of a number with those that ran again.

    Parameters
    ----------
    original : sequence of mapping
        Records that ended well; at least one.
    now : sequence of mapping
        Records of the new processes, however they ended.
    """
    ended = [record for record in now if record["status"] == "ok" and record["timing"]["step_seconds"]]
    failures = tuple(dict.fromkeys(_failure(record) for record in now if record["status"] != "ok"))
    if not ended:
        return Comparison(CANNOT_TELL, number(original), None, None, {}, {}, {}, failures)
    first, second = original[0], ended[0]
    numbers = judge(_medians(original), _medians(ended))
    differences = _different(_flat(conditions(first)), _flat(conditions(second)), shared=True)
    return Comparison(
        verdict=NOT_COMPARABLE if differences else numbers.verdict,
        original=number(original),
        now=number(ended),
        numbers=numbers,
        differences=differences,
        also=_different(surroundings(first), surroundings(second), shared=False),
        function=function(first, second),
        failures=failures,
    )


def _failure(record: Record) -> str:
    return f"{record['status'].replace('_', ' ')}: {record['error']['message'].strip()}"


def _medians(records: Sequence[Record]) -> list[float]:
    return [record["timing"]["step_seconds"]["median"] for record in records]


def number(records: Sequence[Record]) -> Number:
    """Return the number of one side: of one process its own interval, of several that between them."""
    found = across_processes(_medians(records))
    single = len(records) == 1
    ci95 = records[0]["timing"]["step_seconds"]["ci95"] if single else found.ci95
    trusts = [record.get("trust") or {"grade": "not graded", "reasons": []} for record in records]
    return Number(
        processes=found.count,
        median_seconds=found.centre,
        ci95=tuple(ci95) if ci95 else None,
        level=WITHIN if single else BETWEEN,
        trust=dict(Counter(trust["grade"] for trust in trusts)),
        reasons=tuple(dict.fromkeys(reason["kind"] for trust in trusts for reason in trust["reasons"])),
    )


def surroundings(record: Record) -> dict[str, Any]:
    """Return what may change a number a little and is told, by dotted name."""
    packages = record["environment"]["packages"] or {}
    found = _flat(
        {
            "benchmarker": record["benchmarker_version"],
            "python": record["environment"]["python"],
            "python_build": value_at(record, "environment.build"),
            "interpreter": record["environment"]["kind"],
            "image": value_at(record, "environment.container.digest"),
            "packages": {
                name: version for name, version in packages.items() if name not in OWN_DISTRIBUTIONS
            },
            "libraries": record["framework"]["libraries"],
            "variables": record["execution"]["environment_variables"],
            "kernel": value_at(record, "platform.os.kernel"),
            "microcode": value_at(record, "platform.cpu.microcode"),
            "governor": value_at(record, "platform.cpu.governor"),
            "turbo": value_at(record, "platform.cpu.turbo"),
            "usable_cores": value_at(record, "platform.cpu.usable_cores"),
        }
    )
    found.pop("variables.PYTHONHASHSEED", None)  # drawn anew for each process
    return found


def function(original: Record, now: Record) -> dict[str, tuple[Any, Any, bool]]:
    """Return what shows that both computed the same function: both values, and whether they are the same.

    Losses are compared where both trained from the same weights for the same number of steps.
    """
    found = {}
    for name, member in (("weights", "parameters"), ("first mini-batch", "batch")):
        values = original["digests"][member], now["digests"][member]
        if None not in values:
            found[name] = (*values, values[0] == values[1])
    if _steps(original) != _steps(now):
        return found
    for name in ("loss_first", "loss_last"):
        old, new = original["metrics"][name], now["metrics"][name]
        if old is not None and new is not None:
            found[name] = (old, new, math.isclose(old, new, rel_tol=_SAME_LOSS))
    return found


def _steps(record: Record) -> Pair:
    """Return the untimed and the timed steps."""
    timing = record["timing"]
    return timing["warmup_steps"], timing.get("steps") or len(timing["samples_seconds"] or ())


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found.update(_flat(value, f"{before}{name}."))
        else:
            found[f"{before}{name}"] = value
    return found


def _different(first: Mapping[str, Any], second: Mapping[str, Any], *, shared: bool) -> dict[str, Pair]:
    """Return the names whose values differ; with ``shared`` only those that both sides know."""
    names = [n for n in dict.fromkeys((*first, *second)) if not shared or (n in first and n in second)]
    return {n: (first.get(n), second.get(n)) for n in names if first.get(n) != second.get(n)}
