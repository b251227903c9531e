"""The plugins that an experiment asks for, of those that can be loaded: what is wrong with others is told elsewhere."""

from __future__ import annotations

from benchmarker import registry
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.launcher import Launcher
from benchmarker.api.options import NoOptions
from benchmarker.api.problem import Problem
from benchmarker.api.suite import Request
from benchmarker.errors import BenchmarkerError
from benchmarker.experiment.framework_version import parse_framework
from benchmarker.experiment.spec import Experiment


def requested_frameworks(experiment: Experiment) -> dict[int, FrameworkPlugin]:
    """Return each framework that is there, by its place among those that are asked for."""
    found = {}
    for index, requested in enumerate(experiment.frameworks):
        try:
            found[index] = parse_framework(Request.of(requested).name)[0]
        except BenchmarkerError:
            continue
    return found


def requested_launchers(experiment: Experiment) -> list[Launcher]:
    """Return the launchers that have options."""
    known = set(registry.names("launchers"))
    found = [registry.launcher(name) for name in experiment.launchers if name in known]
    return [one for one in found if one.options is not NoOptions]


def requested_problems(experiment: Experiment) -> dict[int, Problem]:
    """Return each problem that is there, by its place among those that are asked for."""
    found = {}
    for index, requested in enumerate(experiment.problems):
        try:
            found[index] = registry.problem(Request.of(requested).name)
        except BenchmarkerError:
            continue
    return found
