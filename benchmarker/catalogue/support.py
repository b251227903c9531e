"""Which framework can run which problem."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchmarker import registry
from benchmarker.errors import PluginError, first_line
from benchmarker.framework import Framework, FrameworkPlugin


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
