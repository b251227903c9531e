"""Checks of what a plugin says of itself, and that saying it imports no framework."""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
import subprocess
import sys
from collections.abc import Iterable

from benchmarker.api.framework import MODES, PRECISIONS, FrameworkPlugin
from benchmarker.graph.operators import OPERATORS, Operators, native_operators
from benchmarker.worker.conformance.result import CheckFailed, Measurement
from benchmarker.worker.conformance.subject import Check, Subject

_CHILD = """
import importlib, json, sys
import benchmarker.api.framework, benchmarker.errors
before = set(sys.modules)
module = importlib.import_module(sys.argv[1])
getattr(module, "benchmarker_framework", lambda: None)()
new = [(name, getattr(sys.modules[name], "__file__", None)) for name in set(sys.modules) - before]
print(json.dumps([name for name, file in new if file and ("site-packages" in file or "dist-packages" in file)]))
"""


def packages_imported_by(module: str) -> set[str]:
    """Return the top-level installed packages that importing a plugin's description imports.

    Parameters
    ----------
    module : str
        Name of the module with ``benchmarker_framework``.

    Returns
    -------
    set of str
        The plugin's own package and ``benchmarker`` left out; empty is right.

    Raises
    ------
    CheckFailed
        If the module cannot be imported in a fresh process.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, module], capture_output=True, text=True, env=environment, check=False
    )
    if child.returncode != 0:
        raise CheckFailed(f"importing '{module}' failed: {child.stderr.strip().splitlines()[-1]}")
    names: list[str] = json.loads(child.stdout.splitlines()[-1])
    return {name.split(".")[0] for name in names} - {module.split(".")[0], "benchmarker"}


def _sound(subject: Subject) -> Measurement:
    plugin = subject.plugin
    module, _, name = plugin.implementation.partition(":")
    rules = {
        "name, distribution and requirements must not be empty": plugin.name
        and plugin.distribution
        and plugin.requirements,
        f"implementation must be 'module:Class', got '{plugin.implementation}'": module
        and name.isidentifier(),
        f"modes must be among {MODES}, got {plugin.modes}": plugin.modes and set(plugin.modes) <= set(MODES),
        "options must be a dataclass that can be made without arguments": dataclasses.is_dataclass(
            plugin.options
        ),
        f"device '{subject.device.type}' must be declared": subject.device.type in plugin.devices,
        "every declared device must have precisions, fp32 among them": all(
            "fp32" in plugin.precisions.get(device, ()) for device in plugin.devices
        ),
        f"precisions must be among {PRECISIONS}": all(
            set(known) <= set(PRECISIONS) for known in plugin.precisions.values()
        ),
    }
    broken = [rule for rule, holds in rules.items() if not holds]
    if broken:
        raise CheckFailed("; ".join(broken))
    return Measurement()


def _versions(subject: Subject) -> Measurement:
    version = subject.framework.version()
    if not isinstance(version, str) or not version:
        raise CheckFailed(f"version() must return a string, got {version!r}")
    libraries = subject.framework.libraries()
    if not all(isinstance(text, str) for pair in libraries.items() for text in pair):
        raise CheckFailed(f"libraries() must map strings to strings, got {libraries!r}")
    return Measurement(detail=f"{subject.plugin.name} {version}")


def _implementation(subject: Subject) -> Measurement:
    if not isinstance(subject.plugin, FrameworkPlugin):
        raise CheckFailed(f"the description must be a FrameworkPlugin, got {type(subject.plugin).__name__}")
    return _sound(subject)


_NEAR = 0.75
"""How alike two names must be to be taken for one another: ``sinn`` and ``sin`` are by 0.86."""
_MIN_PREFIX = 4


def _operators(subject: Subject) -> Measurement:
    """A method that is misspelt would never be called, and the operator only be told as lacking."""
    meaning = subject.framework.operators
    known = set(dir(Operators))
    lacking = OPERATORS.keys() - native_operators(meaning)
    hints = []
    for name in sorted(set(dir(meaning)) - known):
        near = _nearest(name, lacking)
        if near and not name.startswith("_") and callable(getattr(meaning, name)):
            hints.append(f"'{name}': no such operator; did you mean '{near}'?")
    if hints:
        raise CheckFailed(f"{' '.join(hints)} The names of helpers start with an underscore")
    return Measurement()


def _nearest(name: str, operators: Iterable[str]) -> str | None:
    """Return the operator that a name is likely to mean: ``maxpool``, ``conv2d``, ``batch_norm``."""
    near = difflib.get_close_matches(name, sorted(operators), n=1, cutoff=_NEAR)
    if near:
        return near[0]
    longer = (o for o in sorted(operators) if min(len(o), len(name)) >= _MIN_PREFIX)
    return next((o for o in longer if o.startswith(name) or name.startswith(o)), None)


def description_checks() -> tuple[Check, ...]:
    return (
        Check("description/sound", _implementation),
        Check("description/version", _versions),
        Check("description/operators", _operators),
    )
