"""Blueprints: read, checked with the line of every fault, and turned into an experiment."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from benchmarker.api.rules import Steps
from benchmarker.api.suite import Request
from benchmarker.errors import UsageError, printable
from benchmarker.experiment.blueprint.document import Document, read_toml
from benchmarker.experiment.blueprint.fields import FIELDS, REQUIRED, field_faults
from benchmarker.experiment.blueprint.requests import Converted, convert, without
from benchmarker.experiment.fault import Fault
from benchmarker.experiment.faults import faults
from benchmarker.experiment.options import OPTION_OF_KEY
from benchmarker.experiment.planning import matrix
from benchmarker.experiment.spec import Experiment
from benchmarker.experiment.suitability import unsupported_reason
from benchmarker.quick_dataclass import dataclass

_LAYER = re.compile(r"layer (\d+)")
_DEPENDS: Mapping[str, frozenset[str]] = {
    **{key: frozenset({"mode", "level"}) for key, option in OPTION_OF_KEY.items() if option.modes},
    "accept": frozenset({"mode", "data"}),
    "data_dir": frozenset({"data"}),
    "epochs": frozenset({"problem_size"}),
    "gpus": frozenset({"device"}),
    "mode": frozenset({"problem"}),
    "optimizer": frozenset({"problem"}),
    "problem": frozenset({"suite"}),
    "problem_size": frozenset({"batch_size", "problem"}),
    "set": frozenset({"framework", "problem"}),
    "steps": frozenset({"problem_size", "training"}),
    "training": frozenset({"problem", "data", "optimizer", "batch_size"}),
    "window": frozenset({"mode", "level", "steps"}),
}
"""Fields whose sense cannot be judged while another one is wrong."""
_RYSIA_NAMES = {"problem": "architecture", "framework": "frameworks"}


@dataclass(frozen=True)
class BlueprintFault:
    """Something wrong with a blueprint.

    Parameters
    ----------
    path : Path
        The file.
    line : int or None
        Where, from 1; ``None`` if it is about no single line.
    field : str
        Name of the field, as the file has it.
    message : str
        What is wrong, the value received and what is allowed.
    """

    path: Path
    line: int | None
    field: str
    message: str

    def __str__(self) -> str:
        place = str(self.path) if self.line is None else f"{self.path}:{self.line}"
        return printable(f"{place}: {self.message}")


@dataclass(frozen=True)
class Blueprint:
    """A blueprint in which each field by itself is right.

    Parameters
    ----------
    document : Document
        The file.
    converted : Converted
        Its part of the experiment.
    """

    document: Document
    converted: Converted

    @property
    def values(self) -> Mapping[str, Any]:
        """Keyword arguments of the experiment."""
        return self.converted.values

    @property
    def results(self) -> str | None:
        """The results folder or its address, if the blueprint names one."""
        folder = self.document.fields.get("results")
        return None if folder is None else str(folder)

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the file is not used."""
        return self.document.notes

    def fault(self, fault: Fault) -> BlueprintFault | None:
        """Return a fault of the experiment with its place, or None if the blueprint does not have the field."""
        if self.converted.located(fault.where)[0] not in self.document.fields:
            return None
        return _placed(self.document, self.converted, fault)


def read(path: Path) -> Document:
    """Read a blueprint: a Python file by its ending ``.py``, which is executed, else TOML.

    Raises
    ------
    UsageError
        If it cannot be read, or its syntax is wrong.
    """
    if path.suffix == ".py":
        from benchmarker.experiment.blueprint.python_file import read_python

        return read_python(path)
    return read_toml(path)


def load(path: Path) -> Blueprint:
    """Read a blueprint.

    Raises
    ------
    UsageError
        If it cannot be read, or with the first of the fields that are wrong.
    """
    document = read(path)
    found = list(_own_faults(document))
    if found:
        raise UsageError(_first_of(found))
    return Blueprint(document, _named(path, convert(document.fields)))


def _named(path: Path, converted: Converted) -> Converted:
    """Give a recipe without a name that of its file."""
    training = converted.values.get("training")
    if training is not None and training.name is None:
        converted.values["training"] = dataclasses.replace(training, name=path.stem)
    return converted


def checked(fields: Mapping[str, Any]) -> Converted:
    """Return the experiment's part of fields that stand in no file.

    Raises
    ------
    UsageError
        With the first of the fields that are wrong.
    """
    for fault in _own_faults(Document(Path(), fields, {})):
        raise UsageError(printable(fault.message))
    return convert(fields)


def _first_of(found: Sequence[BlueprintFault]) -> str:
    more = len(found) - 1
    if not more:
        return str(found[0])
    return (
        f"{found[0]}; and {more} more fault{'s' if more > 1 else ''}, which "
        f"'python -m benchmarker blueprint check {found[0].path}' names"
    )


def check(path: Path) -> tuple[list[BlueprintFault], int]:
    """Return everything that is wrong with a blueprint, in order of lines, and how many runs it describes.

    What only another machine may have, an interpreter or a GPU, is not looked for.

    Raises
    ------
    UsageError
        If it cannot be read or its syntax is wrong.
    """
    document = read(path)
    found = list(_own_faults(document))
    found += _missing(document)
    own = [steps for steps, _ in field_faults(document.fields)]
    wrong = {str(steps[0]) for steps in own} | {names[0] for names in _not_there(document)}
    converted = _named(path, convert(without(document.fields, own)))
    experiment = Experiment(**{"frameworks": (), "problems": (), **converted.values})
    for fault in faults(experiment):
        if _is_certain(fault, experiment, wrong):
            found.append(_placed(document, converted, fault))
    if found:
        return sorted(dict.fromkeys(found), key=lambda fault: fault.line or 0), 0
    runs = matrix(experiment)
    unsupported_reasons = [unsupported_reason(run) for run in runs]
    if all(unsupported_reasons):
        return [BlueprintFault(path, None, "", f"no run is possible: {unsupported_reasons[0]}")], 0
    return [], len(runs)


def _is_certain(fault: Fault, experiment: Experiment, wrong: Set[str]) -> bool:
    """Tell whether a fault stays when the fields that are wrong by themselves are put right."""
    field, *rest = fault.where
    if field in wrong and not rest:
        return False
    if field == "optimizer" and rest and Request.of(experiment.optimizers[int(rest[0])]).name:
        return True
    return not _DEPENDS.get(str(field), frozenset()) & wrong


def _own_faults(document: Document) -> Iterator[BlueprintFault]:
    """Yield what is wrong with single fields."""
    for steps, message in (*document.found, *field_faults(document.fields)):
        name = document.name(steps)
        # A fault of a layer names the layer by its position, which says more than the field.
        text = f"{name}: {message}" if _LAYER.match(message) else f"{name} {message}"
        yield BlueprintFault(document.path, document.line(steps), name, text)
    if "sample" in document.fields and "suite" not in document.fields:
        text = "sample picks from a suite, and there is no field suite"
        yield BlueprintFault(document.path, document.line(("sample",)), "sample", text)


def _not_there(document: Document) -> list[tuple[str, ...]]:
    """Return the required fields that the file has not, each with what may stand in its place."""
    return [names for names in REQUIRED if not set(names) & set(document.fields)]


def _missing(document: Document) -> Iterator[BlueprintFault]:
    faulty_fields = {steps[0] for steps, _ in document.found}
    for name, *_ in _not_there(document):
        if not {name, _RYSIA_NAMES[name]} & faulty_fields:
            text = f"{name} is missing: {FIELDS[name].description}"
            yield BlueprintFault(document.path, None, name, text)


def _placed(document: Document, converted: Converted, fault: Fault) -> BlueprintFault:
    steps = _in_file(document.fields, converted.located(fault.where))
    layer = _LAYER.match(fault.message)
    if layer and steps[0] == "problem":
        steps = _in_file(document.fields, (*steps, "layers", int(layer[1]) - 1))
    name = document.name(steps)
    # Without a name it is about a default; a rule's sentence has it as its subject.
    named = not name or fault.message.startswith(f"{name} ")
    text = fault.message if named else f"{name}: {fault.message}"
    return BlueprintFault(document.path, document.line(steps), name, text)


def _in_file(fields: Mapping[str, Any], steps: Steps) -> Steps:
    """Return the steps as far as the file goes; a setting ``owner.name`` may stand in a table of the owner."""
    if steps[0] == "set" and len(steps) > 1 and steps[1] not in fields.get("set", {}):
        steps = ("set", *str(steps[1]).split("."), *steps[2:])
    value: Any = fields
    for position, step in enumerate(steps):
        inside = isinstance(value, Mapping) and step in value
        if not inside and not (isinstance(value, list) and isinstance(step, int) and step < len(value)):
            return steps[:position]
        value = value[step]
    return steps
