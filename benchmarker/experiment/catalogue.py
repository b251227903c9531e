"""What problems there are: task, size, cost and which framework can run them.

Building every graph takes seconds, so the counts of the built-in problems are kept beside them in
``problems/catalogue.json``; a test holds them to the graphs, and ``python -m benchmarker.analysis.documentation
problems`` writes them anew.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarker import registry
from benchmarker.errors import PluginError, first_line
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    from benchmarker.api.framework import Framework, FrameworkPlugin

CATALOGUE = Path(__file__).resolve().parents[1] / "problems" / "catalogue.json"


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
    graphs = {"inference": graph.without_loss()}
    if graph.loss is not None:
        graphs["training"] = graph
    found = []
    for plugin in frameworks:
        operators = framework_class(plugin).operators
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
