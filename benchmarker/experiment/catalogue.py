"""What plug-ins there are: of problems task, size, cost and which framework can run them, of others what they are.

Building every graph takes seconds, so the counts of the built-in problems are kept beside them in
``problems/catalogue.json``, and what other built-in plug-ins say of themselves in ``descriptions.json``; tests hold
them to what the plug-ins say, and ``python -m benchmarker.analysis.documentation problems descriptions`` writes them
anew.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarker import registry
from benchmarker.api.framework import Framework, FrameworkPlugin
from benchmarker.errors import PluginError, first_line

CATALOGUE = Path(__file__).resolve().parents[1] / "problems" / "catalogue.json"
DESCRIPTIONS = Path(__file__).resolve().with_name("descriptions.json")


@dataclass(frozen=True)
class ProblemFacts:
    """A problem at its default parameters.

    Parameters
    ----------
    name, task : str
        As the problem says.
    parameters : int
        Trainable values.
    flops_per_sample : int
        Of the forward pass: convolutions, matrix and recurrent products.
    batch_size : int
        The default mini-batch.
    trains : bool
        Whether it has a loss.
    """

    name: str
    task: str
    parameters: int
    flops_per_sample: int
    batch_size: int
    trains: bool


def compute_facts(name: str) -> ProblemFacts:
    """Build the problem's graph and count.

    Raises
    ------
    PluginError
        If the problem is broken.
    """
    from benchmarker.graph.cost import graph_cost

    problem = registry.problem(name)
    graph = problem.graph()
    cost = graph_cost(graph.without_loss())
    return ProblemFacts(
        name,
        problem.task,
        graph.parameter_count,
        cost.forward_flops // graph.batch_size,
        graph.batch_size,
        graph.loss is not None,
    )


@cache
def kept() -> dict[str, ProblemFacts]:
    try:
        rows = json.loads(CATALOGUE.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {row["name"]: ProblemFacts(**row) for row in rows}


def problem_facts(entry: registry.PluginEntry) -> ProblemFacts:
    """Return what is known of a problem: a built-in one's from the catalogue, another's by building it.

    Raises
    ------
    PluginError
        If the problem is broken or its name is claimed twice.
    """
    registry.find(entry.kind, entry.name)
    if entry.is_ours and entry.name in kept():
        return kept()[entry.name]
    return compute_facts(entry.name)


Described = tuple[str, str]
"""What a plug-in is, in a line, and of a scheme who has published it."""
_DESCRIBING: Mapping[str, Callable[[str], Any]] = {
    "charts": registry.chart,
    "datasets": registry.dataset,
    "recipes": registry.recipe,
    "schemes": registry.scheme,
}


def asked_description(entry: registry.PluginEntry) -> Described:
    """Ask a plug-in of one of these kinds what it is.

    Raises
    ------
    PluginError
        If it is broken.
    """
    described = _DESCRIBING[entry.kind](entry.name)
    return described.description, getattr(described, "source", "") if entry.kind == "schemes" else ""


@cache
def _kept_descriptions() -> Mapping[str, Mapping[str, Described]]:
    try:
        kept: dict[str, dict[str, Described]] = json.loads(DESCRIPTIONS.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return kept


def description(entry: registry.PluginEntry) -> Described:
    """Return what a plug-in is: of a built-in one what is kept, of another what it says.

    Raises
    ------
    PluginError
        If it is broken or its name is claimed twice.
    """
    registry.find(entry.kind, entry.name)
    kept = _kept_descriptions().get(entry.kind, {}) if entry.is_ours else {}
    if entry.name in kept:
        text, source = kept[entry.name]
        return text, source
    return asked_description(entry)


def descriptions_text() -> str:
    """Return the text of the file: what the built-in plug-ins say of themselves."""
    entries = [
        entry for entry in registry.entries() if entry.kind in registry.DESCRIBED_KINDS and entry.is_ours
    ]
    found = {
        kind: {e.name: asked_description(e) for e in entries if e.kind == kind}
        for kind in registry.DESCRIBED_KINDS
    }
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Support:
    """Whether a framework can run a problem.

    Parameters
    ----------
    problem, framework : str
        Names.
    modes : tuple of str
        The modes it can run.
    reason : str
        Why it cannot run the others; empty if it can, or if the problem has no loss to train.
    """

    problem: str
    framework: str
    modes: tuple[str, ...]
    reason: str = ""


def support(problem: str, frameworks: Iterable[FrameworkPlugin]) -> list[Support]:
    """Return what each framework can run of a problem; imports no framework.

    Raises
    ------
    PluginError
        If the problem is broken.
    """
    from benchmarker.graph.support import missing_operators

    described = registry.problem(problem)
    graph = described.graph(described.reduced_batch_size, **described.reduced)
    found = []
    for plugin in frameworks:
        operators = framework_class(plugin).operators
        graphs = {"inference": graph.without_loss()}
        if graph.loss is not None:
            graphs["training"] = graph
        missing = {mode: sorted(missing_operators(g, operators)) for mode, g in graphs.items()}
        able = tuple(mode for mode in graphs if not missing[mode] and mode in plugin.modes)
        found.append(Support(problem, plugin.name, able, _reason(plugin, missing)))
    return found


def _reason(plugin: FrameworkPlugin, missing: Mapping[str, list[str]]) -> str:
    lacking = sorted({operator for operators in missing.values() for operator in operators})
    if lacking:
        return f"no operator {', '.join(lacking)}"
    undeclared = [mode for mode in missing if mode not in plugin.modes]
    return f"no {', '.join(undeclared)}" if undeclared else ""


def framework_class(plugin: FrameworkPlugin) -> type[Framework]:
    """Return the class behind a framework's description.

    Raises
    ------
    PluginError
        If it cannot be imported.
    """
    module, _, name = plugin.implementation.partition(":")
    try:
        loaded: type[Framework] = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:
        raise PluginError(
            f"framework '{plugin.name}': its implementation '{plugin.implementation}' cannot be imported: "
            f"{first_line(error)}"
        ) from error
    return loaded
