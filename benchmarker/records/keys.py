"""When two records are of the same run, work or machine: each answer beside the others, for another question.

==========================  =======================================================================================
:func:`comparable`          the same work: whoever did it, and on whatever machine, may be compared
:func:`comparison_factors`  one cell on a side of a comparison: the same framework, machine and way to measure too
:func:`by_build`            records of one cell by the build of their Python, which :func:`build_of` tells
:func:`conditions`          one number, measured anew: what must match for it to be the same
:func:`finished_key`        one run of an experiment, which need not be run again
:func:`configuration`       one cell of an experiment: the same run but for the process
:func:`number_key`          one number: the processes that it is made of
:func:`step_key`            the same step, whatever else differs: only then step times are compared
:func:`scaling_key`         the same step but for the size of its mini-batch
:func:`history_key`         one history: the same work of one framework on the same models of processors, over time
:func:`machine_name`        one machine, for what was found out about it
==========================  =======================================================================================
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from benchmarker.experiment.keys import canonical
from benchmarker.experiment.options import RUN_OPTIONS
from benchmarker.experiment.spec import UNSTATED, RunSpec
from benchmarker.records.lookup import Record, number_at, specification_of, value_at
from benchmarker.records.schema.trust_inconsistencies import hash_of

# --- the same work -------------------------------------------------------------------------------


def comparable(spec: RunSpec, data: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the keys that must match, in the clear and as a hash.

    The framework, its options and the machine are what is compared, so they are no keys.

    Parameters
    ----------
    spec : RunSpec
        The run.
    data : mapping or None
        Description of its data set.
    """
    # Who only reads records needs no plug-ins.
    from benchmarker import registry
    from benchmarker.experiment.recipes import recipe_digest

    problem = registry.problem(spec.problem)
    keys = {
        "problem": problem.name,
        "problem_semantics": problem.semantics,
        "problem_parameters": dict(spec.problem_parameters),
        "optimizer": spec.optimizer.to_json() if spec.mode == "training" else None,
        "devices": max(1, len(spec.gpus)),
        "data": data["digest"] if data else None,
        **_options(spec),
    }
    if spec.training is not None:
        keys["recipe"] = recipe_digest(spec)
    return {"hash": hash_of(keys), "keys": keys}


def _options(spec: RunSpec) -> dict[str, Any]:
    """Return what of the options decides which work is done."""
    values = {name: getattr(spec, name) for name in RUN_OPTIONS}
    return {
        name: values[name]
        for name, option in RUN_OPTIONS.items()
        if option.compares == "always" or (option.compares == "changed" and values[name] != option.default)
    }


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the keys in which two records' ``comparable`` differ, with both values; empty if they match."""
    ours, theirs = first["keys"], second["keys"]
    names = dict.fromkeys((*ours, *theirs))
    return {n: (ours.get(n), theirs.get(n)) for n in names if ours.get(n) != theirs.get(n)}


def comparable_keys(record: Record) -> dict[str, Any]:
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


def step_key(record: Record) -> str:
    """Return a text that records have in common whose steps compute the same."""
    return canonical([value_at(record, path) for path in (*_STEP, "batch_size", "inputs.data.name")])


def scaling_key(record: Record) -> str:
    """Return a text that records have in common whose steps differ in the size of their mini-batch alone."""
    return canonical([value_at(record, path) for path in _STEP])


_STEP = (
    "problem.name",
    "problem.parameters",
    "mode",
    "specification.scenario",
    "specification.latency_bound",
)


# --- the same run --------------------------------------------------------------------------------


def finished_key(specification: Mapping[str, Any], data: str | None) -> str:
    """Return a text that a run and a record of it have in common.

    Parameters
    ----------
    specification : mapping
        What was asked, as it is recorded; what was added since stands at its default.
    data : str or None
        Digest of the data set.
    """
    return canonical([{**UNSTATED, **specification}, data])


def configuration(record: Record, apart: Collection[str] = ("repetition",)) -> str:
    """Return a text that records have in common of which the same was asked, but for some members."""
    return canonical({name: value for name, value in specification_of(record).items() if name not in apart})


def number_key(record: Record) -> str:
    """Return a text that the processes of one number have in common, as long as they are of one campaign."""
    # Before 1.1 nothing but the command says all that was asked.
    before = None if record.get("specification") else [record["command"], record["framework"]["full"]]
    return canonical([configuration(record), before])


# --- the same number -----------------------------------------------------------------------------

_WHERE_AND_HOW = (
    "framework.version",
    "platform.cpu.model",
    "platform.cpu.logical_cores",
    "device.name",
    "execution.launcher",
    "execution.start",
    "execution.compile_cache.kind",
    "execution.affinity",
    "environment.kind",
    "environment.container.digest",
    "environment.python",
    "seed",
)
MEASURING = {
    f"specification.{name}": option.default for name, option in RUN_OPTIONS.items() if option.measures
}
"""For how long and with what beside it was measured, which changes no step, and what holds where it is not told."""


def comparison_factors(record: Record) -> dict[str, Any]:
    """Return what tells records of the same work apart on one side of a comparison, by dotted name."""
    options = record["framework"]["options"] or {}
    return {
        "framework.name": record["framework"]["name"],
        **{f"framework.options.{name}": value for name, value in options.items()},
        **{name: value_at(record, name) for name in _WHERE_AND_HOW},
        "specification.gpus": value_at(record, "specification.gpus") or None,
        "specification.allocator": _allocator(record),
        "specification.scaling": _scaling(record),
        "distributed.network.kind": value_at(record, "distributed.network.kind"),
        **_measuring(record),
    }


def by_build(records: Iterable[Record]) -> list[list[Record]]:
    """Return records that are alike in all else by the build of their Python, in the order of the first of each.

    Records from before 1.9 do not tell it; they have the build of the others if these have one.
    """
    groups: dict[str | None, list[Record]] = {}
    for record in (records := list(records)):
        groups.setdefault(value_at(record, "environment.build"), []).append(record)
    return list(groups.values()) if len(groups.keys() - {None}) > 1 else [records]


def build_of(records: Iterable[Record]) -> str | None:
    """Return the build of Python that records of one cell tell; None if none does."""
    return next(filter(None, (value_at(record, "environment.build") for record in records)), None)


def _allocator(record: Record) -> str | None:
    """Return the allocator that was asked for; None for the usual one, as before there was the option."""
    allocator = value_at(record, "specification.allocator")
    return None if allocator == RUN_OPTIONS["allocator"].default else allocator


def _scaling(record: Record) -> str | None:
    """Return how the mini-batch of several ranks grew; None for a single one, and as before there was the option."""
    scaling = value_at(record, "distributed.scaling")
    return None if scaling == RUN_OPTIONS["scaling"].default else scaling


def _measuring(record: Record) -> dict[str, Any]:
    stated = record.get("specification") or {}
    return {
        name: _plain(stated.get(name.removeprefix("specification."), default))
        for name, default in MEASURING.items()
    }


def _plain(value: Any) -> Any:
    """Return 3.0, as of the command line, as 3, as of a file."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def conditions(record: Record) -> dict[str, Any]:
    """Return what must match for a number that was measured anew to be the same one."""
    inputs, execution = record.get("inputs"), record["execution"]
    kept = record.get("comparable")
    return {
        **(kept["keys"] if kept else comparable_keys(record)),
        "framework": record["framework"]["name"],
        "framework_version": record["framework"]["version"],
        "framework_options": record["framework"]["options"],
        "device_name": record["device"]["name"],
        "python": ".".join((record["environment"]["python"] or "").split(".")[:2]),
        "affinity": execution["affinity"],
        "start": execution.get("start", "spawn"),
        "allocator": _allocator(record),
        # Before 1.1 all steps had the same mini-batch.
        "distinct_batches": inputs["distinct_batches"] if inputs else 1,
        "weights": record["digests"]["parameters"],
        "first_batch": record["digests"]["batch"],
    }


# --- the same machine ----------------------------------------------------------------------------


def machine_models(record: Record) -> dict[str, Any]:
    """Return what makes a machine in a history: models of CPU and GPUs and the cores that may be used."""
    gpus = value_at(record, "platform.gpus")
    return {
        "cpu": value_at(record, "platform.cpu.model"),
        "cores": value_at(record, "platform.cpu.usable_cores"),
        "gpus": [gpu.get("name") for gpu in gpus if isinstance(gpu, Mapping)]
        if isinstance(gpus, list)
        else [],
    }


def machine_name(record: Record) -> str:
    """Return the machine in words: its CPU, cores, memory and the device that computed."""
    total = number_at(record, "platform.memory.total_bytes")
    cores = value_at(record, "platform.cpu.logical_cores")
    parts = [
        str(value_at(record, "platform.cpu.model") or "unknown processor"),
        f"{cores} cores" if cores else None,
        f"{round(total / 2**30)} GiB" if total else None,
        record["device"]["name"] if record["device"]["type"] != "cpu" else None,
    ]
    return ", ".join(part for part in parts if part)


def history_key(record: Record) -> str:
    """Return a text that the records of one history have in common.

    It leaves out versions and all that may change over time: their changes are what a history shows.
    """
    framework = record["framework"]
    parts = [
        record["comparable"]["hash"],
        machine_models(record),
        record["device"]["name"],
        framework["name"],
        framework["options"],
        value_at(record, "imported.tool"),
    ]
    return canonical(parts)
