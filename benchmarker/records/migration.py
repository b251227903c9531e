"""Records of earlier versions in the shape of the newest one: what they did not know is null, or follows."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from benchmarker.machine.findings import trust_since_1_5
from benchmarker.machine.trust import GRADES, graded
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.keys import comparable_keys
from benchmarker.records.lookup import specification_elsewhere
from benchmarker.records.precision import precision_of
from benchmarker.records.reading import DamagedError
from benchmarker.records.schema import NEWEST, Record
from benchmarker.records.schema.members import Group, members_of
from benchmarker.records.schema.record import Record as TypedRecord
from benchmarker.records.schema.trust_inconsistencies import hash_of
from benchmarker.records.schema.versions import is_since


@dataclass(frozen=True)
class Plan:
    """What a group of the newest version must have: these members, of which those are groups or lists.

    A part is a name, its container, whether it may be null, and its own plan.
    """

    names: frozenset[str]
    parts: tuple[tuple[str, Any, bool, Plan | None], ...]


def newest(record: Record) -> Record:
    """Return a record in the shape of the newest version; one that has it comes back itself.

    Parameters
    ----------
    record : dict
        Of any version that this release knows; it is not changed.

    Returns
    -------
    dict
        Has every member of the newest version. What an older version did not know is null, or what it
        always was in that version: steps were sampled one by one, workers were spawned, mini-batches were
        resident. It is for reading: what its numbers mean is still what they meant when it was made.

    Raises
    ------
    DamagedError
        If it lacks what its own version must have.
    """
    version = record["schema_version"]
    if version != NEWEST:
        try:
            record = _raised(record, version)
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise DamagedError(f"is not a record of schema {version}: {_lack(error)}") from None
    fault = _fault(record, _plan_of(TypedRecord))
    if fault:
        raise DamagedError(f"is not a record of schema {version}: '{fault[0]}' {fault[1]}")
    return record


def _lack(error: Exception) -> str:
    return f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else "a member has the wrong type"


def _raised(record: Record, version: str) -> Record:
    comparable = record["comparable"] if "comparable" in record else {"keys": comparable_keys(record)}
    keys = comparable["keys"]
    samples = record["timing"]["samples_seconds"]
    known = {
        # Member by member: what was recorded of the optimizer knows more than what was asked for.
        "specification": {**specification_elsewhere(record), **(record.get("specification") or {})},
        "inputs": {"kind": "resident", "distinct_batches": 1, "epoch_order_digests": [], "data": None},
        "monitors": {},
        "memory": {"predicted": {}},
        "peaks_reason": f"records of schema {version} do not tell",
        "comparable": {"hash": None if "hash" in comparable else hash_of(keys), "keys": keys},
        "execution": {"start": "spawn", "compile_cache": _CACHE},
        "timing": {
            "warmup_samples_seconds": [],
            "sampling": "latency",
            "steps": len(samples) if samples else None,
            "block_steps": 1 if samples else None,
            "step_seconds": {"ci95_method": "ranks of independent samples", "percentiles_reason": {}},
        },
    }
    graded_in_one = not is_since(version, "1.5") and isinstance(record.get("trust"), Mapping)
    if graded_in_one and record["trust"]["grade"] in GRADES:
        record = {**record, "trust": _trust_in_two(record)}
    return {**_with_nulls(_with(record, known), _later(TypedRecord, version)), "schema_version": NEWEST}


def _trust_in_two(record: Record) -> dict[str, Any]:
    """Return what before 1.5 was one grade as a disturbance, findings, and how well the number is known."""
    trust, step = record["trust"], record["timing"]["step_seconds"]
    reasons, findings = trust_since_1_5(trust, trust["evidence"])
    return {**trust, **graded(reasons), "findings": findings, "precision": _precision(step)}


def _precision(step: Any) -> dict[str, Any] | None:
    """Return how well a number is known; None for what is none, which is for ``validate`` to say."""
    try:
        return asdict(precision_of(step["median"], step["ci95"])) if step else None
    except (TypeError, ValueError):
        return None


_CACHE = {"kind": "kept", "files_before": None, "files_after": None, "state": None, "compilations": None}


def _with(value: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy with what is known filled in where a member is missing."""
    result = dict(value)
    for name, member in known.items():
        if name not in result:
            result[name] = member
        elif isinstance(member, dict) and isinstance(result[name], dict):
            result[name] = _with(result[name], member)
    # A null stays null: nothing is known of the members of what was not there.
    return result


@dataclass(frozen=True)
class _Later:
    """What a group has since a later version: its own members, and those of groups in it."""

    names: tuple[str, ...]
    inner: tuple[tuple[str, _Later], ...]


@functools.cache
def _later(group: Group, version: str) -> _Later:
    members = members_of(group)
    since = {name: member.since for name, member in members.items() if member.since}
    groups = {name: member.value.group for name, member in members.items()}
    inner = {name: _later(of, version) for name, of in groups.items() if of}
    return _Later(
        tuple(name for name, first in since.items() if not is_since(version, first)),
        tuple((name, later) for name, later in inner.items() if later.names or later.inner),
    )


def _with_nulls(value: Mapping[str, Any], later: _Later) -> dict[str, Any]:
    """Return a copy with null for each member that came later and is missing."""
    result = {**dict.fromkeys(later.names), **value}
    for name, inner in later.inner:
        if isinstance(result.get(name), dict):
            result[name] = _with_nulls(result[name], inner)
    return result


@functools.cache
def _plan_of(group: Group) -> Plan:
    members = {name: member.value for name, member in members_of(group).items() if member.since}
    parts: list[tuple[str, Any, bool, Plan | None]] = []
    for name, value in sorted(members.items()):
        container = _CONTAINERS.get(value.json_type or "")
        if container:
            parts.append((name, container, value.nullable, _plan_of(value.group) if value.group else None))
    return Plan(frozenset(members), tuple(parts))


_CONTAINERS: Mapping[str, Any] = {"object": dict, "array": list}


def _fault(group: Mapping[str, Any], plan: Plan) -> tuple[str, str] | None:
    """Return the first member that is not as it must be, and why; plain values are for ``validate`` to look at."""
    if not plan.names <= group.keys():
        return min(plan.names - group.keys()), "is missing"
    for name, kind, may_be_null, inner in plan.parts:
        member = group[name]
        if isinstance(member, kind):
            found = _fault(member, inner) if inner else None
            if found:
                return f"{name}.{found[0]}", found[1]
        elif member is not None:
            return name, f"must be {'an object' if kind is dict else 'a list'}"
        elif not may_be_null:
            return name, "must not be null"
    return None
