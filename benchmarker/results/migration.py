"""Records of earlier versions in the shape of the newest one: what they did not know is null, or follows."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarker.results.reading import DamagedError
from benchmarker.schema import NEWEST, Record, load_schema
from benchmarker.schema.believing import hash_of


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
        except (AttributeError, KeyError, TypeError) as error:
            raise DamagedError(f"is not a record of schema {version}: {_lack(error)}") from None
    fault = _fault(record, newest_plan())
    if fault:
        raise DamagedError(f"is not a record of schema {version}: '{fault[0]}' {fault[1]}")
    return record


def _lack(error: Exception) -> str:
    return f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else "a member has the wrong type"


def comparable_keys(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``comparable`` would hold of a record from before it (1.2), as far as it is known."""
    inputs = record.get("inputs")
    return {
        "problem": record["problem"]["name"],
        "problem_parameters": record["problem"]["parameters"],
        "mode": record["mode"],
        "batch_size": record["batch_size"],
        "precision": record["precision"],
        "optimizer": record["optimizer"],
        "device": record["device"]["type"],
        "devices": record["device"]["count"],
        "threads": record["execution"]["threads"],
        "data": inputs["data"]["digest"] if inputs and inputs["data"] else None,
        "inputs": inputs["kind"] if inputs else "resident",
        "sampling": "latency",
    }


def _raised(record: Record, version: str) -> Record:
    keys = record["comparable"]["keys"] if "comparable" in record else comparable_keys(record)
    samples = record["timing"]["samples_seconds"]
    known = {
        "specification": _asked(record),
        "inputs": {"kind": "resident", "distinct_batches": 1, "epoch_order_digests": [], "data": None},
        "monitors": {},
        "memory": {"predicted": {}},
        "peaks_reason": f"records of schema {version} do not tell",
        "comparable": {"hash": hash_of(keys), "keys": keys},
        "execution": {"start": "spawn", "compile_cache": _CACHE},
        "timing": {
            "warmup_samples_seconds": [],
            "sampling": "latency",
            "steps": len(samples) if samples else None,
            "block_steps": 1 if samples else None,
            "step_seconds": {"ci95_method": "ranks of independent samples", "percentiles_reason": {}},
        },
    }
    result = _with(record, known)
    for rule in load_schema()["allOf"]:
        result = _with_nulls(result, rule["then"])
    return {**result, "schema_version": NEWEST}


def _asked(record: Record) -> dict[str, Any]:
    """Return what was asked for, as far as a record from before ``specification`` (1.1) tells."""
    return {
        "framework": record["framework"]["name"],
        "framework_version": record["framework"]["requested_version"],
        "framework_options": record["framework"]["options"],
        "problem": record["problem"]["name"],
        "problem_parameters": record["problem"]["parameters"],
        "mode": record["mode"],
        "batch_size": record["batch_size"],
        "precision": record["precision"],
        "optimizer": record["optimizer"],
        "device": record["device"]["type"],
        "threads": record["execution"]["threads"],
        "seed": record["seed"],
        "repetition": record["repetition"],
    }


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


def _with_nulls(value: Mapping[str, Any], rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy with null for each member that the newest version requires and is missing."""
    result = {**dict.fromkeys(rule.get("required", ())), **value}
    for name, inner in rule.get("properties", {}).items():
        if isinstance(result.get(name), dict):
            result[name] = _with_nulls(result[name], inner)
    return result


@functools.cache
def newest_plan() -> Plan:
    """Return what every record of the newest version must have."""
    schema = load_schema()
    return _plan_of(schema, [rule["then"] for rule in schema["allOf"]])


def _plan_of(node: Mapping[str, Any], also: list[Mapping[str, Any]]) -> Plan:
    names = {name for rule in (node, *also) for name in rule.get("required", ())}
    parts: list[tuple[str, Any, bool, Plan | None]] = []
    for name in sorted(names):
        member = node.get("properties", {}).get(name, {})
        types = member.get("type", ())
        may_be_null = "null" in types
        if "object" in types:
            inner = [rule["properties"][name] for rule in also if name in rule.get("properties", {})]
            parts.append((name, dict, may_be_null, _plan_of(member, inner)))
        elif "array" in types:
            parts.append((name, list, may_be_null, None))
    return Plan(frozenset(names), tuple(parts))


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
