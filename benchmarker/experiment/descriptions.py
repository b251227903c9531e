"""What plug-ins say of themselves in a line: of built-in ones it is kept, as importing them takes longest.

A test holds ``descriptions.json`` to what the plug-ins say, and ``python -m benchmarker.analysis.documentation
descriptions`` writes it anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarker import registry

DESCRIPTIONS = Path(__file__).resolve().with_name("descriptions.json")
Described = tuple[str, str]
"""What a plug-in is, in a line, and of a scheme who has published it."""
_DESCRIBING: Mapping[str, Callable[[str], Any]] = {
    "charts": registry.chart,
    "datasets": registry.dataset,
    "recipes": registry.recipe,
    "schemes": registry.scheme,
}


class SuiteFacts(NamedTuple):
    """A suite, without its problems.

    Parameters
    ----------
    name, description, source : str
        As the suite says.
    configurations : int
        How many problems with parameters it has.
    """

    name: str
    description: str
    source: str
    configurations: int


@cache
def _kept() -> Mapping[str, Any]:
    try:
        kept: dict[str, Any] = json.loads(DESCRIPTIONS.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return kept


def _kept_of(entry: registry.PluginEntry) -> Any:
    """Return what is kept of a plug-in; None if nothing is, as of one that is not ours."""
    return _kept().get(entry.kind, {}).get(entry.name) if entry.is_ours else None


def description(entry: registry.PluginEntry) -> Described:
    """Return what a plug-in of one of the described kinds is.

    Raises
    ------
    PluginError
        If it is broken or its name is claimed twice.
    """
    registry.find(entry.kind, entry.name)
    kept = _kept_of(entry)
    if kept is None:
        return _asked(entry)
    text, source = kept
    return text, source


def _asked(entry: registry.PluginEntry) -> Described:
    described = _DESCRIBING[entry.kind](entry.name)
    return described.description, getattr(described, "source", "") if entry.kind == "schemes" else ""


def suites(entry: registry.PluginEntry) -> list[SuiteFacts]:
    """Return the suites of a plug-in.

    Raises
    ------
    PluginError
        If it is broken.
    """
    kept = _kept_of(entry)
    return _asked_suites(entry) if kept is None else [SuiteFacts(*row) for row in kept]


def _asked_suites(entry: registry.PluginEntry) -> list[SuiteFacts]:
    found = registry.suites_of(entry)
    return [SuiteFacts(suite.name, suite.description, suite.source, len(suite.requests)) for suite in found]


def constants() -> Mapping[str, Described]:
    """Return the constants of built-in optimizers, and what may be done around each, as ``run`` has them as options.

    Returns
    -------
    mapping
        By name which optimizers have it, and what it may be, which is empty of a number.
    """
    kept: Mapping[str, Described] | None = _kept().get("constants")
    return _asked_constants() if kept is None else kept


def _asked_constants() -> Mapping[str, Described]:
    from benchmarker.api.optimizer import hyperparameters, optimizer_kinds, owners
    from benchmarker.api.rules import Real

    found = {}
    for name, rule in hyperparameters().items():
        having = owners(name)
        of = "any optimizer" if having == optimizer_kinds() else ", ".join(having)
        found[name] = (of, "" if isinstance(rule, Real) else rule.allowed)
    return found


def descriptions_text() -> str:
    """Return the text of the file: what the built-in plug-ins say of themselves."""
    ours = [entry for entry in registry.entries() if entry.is_ours]
    found: dict[str, Any] = {
        kind: {entry.name: _asked(entry) for entry in ours if entry.kind == kind}
        for kind in registry.DESCRIBED_KINDS
    }
    found["suites"] = {entry.name: _asked_suites(entry) for entry in ours if entry.kind == "suites"}
    found["constants"] = _asked_constants()
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"
