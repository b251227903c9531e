"""Plugins by name: entry points are only listed until one is chosen; a broken one is reported, never fatal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.errors import PluginError, UsageError, first_line
from benchmarker.problems import files
from benchmarker.registry.entry_points import DESCRIBED_KINDS as DESCRIBED_KINDS
from benchmarker.registry.entry_points import KINDS as KINDS
from benchmarker.registry.entry_points import PluginEntry as PluginEntry
from benchmarker.registry.entry_points import entries as entries
from benchmarker.registry.entry_points import installed
from benchmarker.registry.entry_points import names as names
from benchmarker.registry.entry_points import noun as noun
from benchmarker.registry.loading import broken, calling, description
from benchmarker.registry.loading import guarded as guarded
from benchmarker.registry.loading import implementation as implementation
from benchmarker.registry.loading import load as load

if TYPE_CHECKING:
    from benchmarker.api.chart_kind import ChartKind
    from benchmarker.api.dataset import Dataset, DatasetReader
    from benchmarker.api.framework import FrameworkPlugin
    from benchmarker.api.launcher import Launcher
    from benchmarker.api.problem import Problem
    from benchmarker.api.problem_scheme import ProblemScheme
    from benchmarker.api.recipe import RecipeFile
    from benchmarker.api.scheme import Scheme
    from benchmarker.api.suite import Suite
    from benchmarker.api.update_rule import UpdateRule


def find(kind: str, name: str) -> PluginEntry:
    """Return the entry point of that name, or of a problem, optimizer or scheme that of the file it names.

    Raises
    ------
    UsageError
        If there is none; the nearest name is offered.
    PluginError
        If two distributions claim it.
    """
    if kind == "problems":
        return problem_entry(ProblemReference.parse(name))
    if kind in _FILES and name.endswith(".py"):
        from benchmarker.problems.python_file import file_entry

        return PluginEntry(kind, Path(name).name, *file_entry(Path(name), *_FILES[kind]))
    return installed(kind, name)


_FILES = {"optimizers": ("an optimizer", "python_rule"), "schemes": ("a scheme", "python_scheme")}
"""Of plugins that may be Python files, what one is called and what makes it."""


def problem_entry(problem: ProblemReference) -> PluginEntry:
    """Return the entry of a problem, whose version is the digest of its content if it is a file."""
    if problem.scheme is None or problem.file is None:
        return installed("problems", problem.name)
    made = problem_scheme(problem.scheme).resolve(problem, problem.file)
    value = files.made_value(made.maker, *made.arguments)
    return PluginEntry("problems", problem.name, value, made.origin, made.digest)


def framework(name: str) -> FrameworkPlugin:
    """Return the framework plugin of that name."""
    from benchmarker.api.framework import FrameworkPlugin

    plugin: FrameworkPlugin = description(find("frameworks", name), "benchmarker_framework", FrameworkPlugin)
    return plugin


def problem(which: ProblemReference | str) -> Problem:
    """Return the problem that is meant, or that has the name."""
    from benchmarker.api.problem import Problem

    entry = problem_entry(ProblemReference.parse(which) if isinstance(which, str) else which)
    described: Problem = description(entry, "benchmarker_problem", Problem)
    try:
        with calling(entry):
            described.configure({})
    except (Exception, SystemExit) as error:
        raise broken(entry, f"has no defaults for its parameters: {first_line(error)}") from error
    return described


def installed_problem(name: str) -> Problem:
    """Return the problem of that name in a record, which may come from anywhere: no file is looked for, or run.

    Raises
    ------
    UsageError
        If it is a file's name.
    """
    if ProblemReference.parse(name).is_file:
        raise UsageError(f"a file is no problem that is installed, got '{name}'")
    return problem(name)


def problem_reference(name: str) -> ProblemReference:
    """Return which problem a name means, with the digest of its content if it is a file."""
    return with_digest(ProblemReference.parse(name))


def with_digest(problem: ProblemReference) -> ProblemReference:
    """Return the reference with the digest of the content that the file has now."""
    return replace(problem, digest=problem_entry(problem).version) if problem.is_file else problem


def problem_scheme(name: str) -> ProblemScheme:
    """Return the problem scheme of that name."""
    from benchmarker.api.problem_scheme import ProblemScheme

    described: ProblemScheme = description(
        find("problem_schemes", name), "benchmarker_problem_scheme", ProblemScheme
    )
    return described


def recipe(name: str) -> RecipeFile:
    """Return the recipe of that name."""
    from benchmarker.api.recipe import RecipeFile

    described: RecipeFile = description(find("recipes", name), "benchmarker_recipe", RecipeFile)
    return described


def update_rule(name: str) -> UpdateRule:
    """Return the optimizer of that name, or of that file, with its usual constants; from now on it is known.

    Raises
    ------
    UsageError
        If there is none; the nearest name is offered. A broken one is a ``PluginError``.
    """
    from benchmarker.api.optimizer import add_rule
    from benchmarker.api.update_rule import UpdateRule

    name = requested_name(name)
    entry = find("optimizers", name)
    rule: UpdateRule = description(entry, "benchmarker_optimizer", UpdateRule)
    if not entry.is_ours:
        add_rule(rule)
        _RULE_VALUES[rule.name] = name
    return rule


_RULE_VALUES: dict[str, str] = {}
"""Of each rule that was added the name that it was asked for by: of a file its path."""


def requested_name(kind: str) -> str:
    """Return the name that an optimizer was asked for by: of a file its path."""
    return _RULE_VALUES.get(kind, kind)


def rule_value(kind: str) -> str | None:
    """Return the value of an optimizer's entry for a worker, which knows benchmarker's own by itself."""
    entry = find("optimizers", requested_name(kind))
    return None if entry.is_ours else entry.value


def scheme(text: str) -> Scheme:
    """Return the scheme of that name or file, with its constant where one is given: ``averaging/16``."""
    from benchmarker.api.scheme import Scheme, named

    name, constant = named(text)
    usual: Scheme = description(find("schemes", name), "benchmarker_scheme", Scheme)
    return usual if constant is None else usual.with_constant(constant)


def scheme_value(text: str) -> str:
    """Return the value of a scheme's entry, for a worker, which is told the constant beside it."""
    from benchmarker.api.scheme import named

    return find("schemes", named(text)[0]).value


def chart(name: str) -> ChartKind:
    """Return the kind of picture of that name."""
    from benchmarker.api.chart_kind import ChartKind

    described: ChartKind = description(find("charts", name), "benchmarker_chart", ChartKind)
    return described


def dataset(name: str) -> DatasetReader:
    """Return the description of the data set of that name."""
    from benchmarker.api.dataset import DatasetReader

    described: DatasetReader = description(find("datasets", name), "benchmarker_dataset", DatasetReader)
    return described


@cache
def dataset_reader(name: str) -> Callable[[Path | None], Dataset]:
    """Return what reads a data set; a file that it cannot read is a ``UsageError``.

    Raises
    ------
    PluginError
        If the plugin is broken; when it reads, too.
    """
    from benchmarker.api.dataset import Dataset

    entry = find("datasets", name)
    reader = guarded(entry, implementation(entry, dataset(name).implementation), Dataset)

    def read(folder: Path | None) -> Dataset:
        try:
            found: Dataset = reader(folder)
        except OSError as error:
            raise UsageError(
                f"'{error.filename or folder}' cannot be read: {error.strerror or error}"
            ) from None
        return found

    return read


def launcher(name: str) -> Launcher:
    """Return the launcher of that name."""
    from benchmarker.api.launcher import Launcher

    described: Launcher = description(find("launchers", name), "benchmarker_launcher", Launcher)
    return described


def collectors() -> tuple[dict[str, Any], dict[str, str]]:
    """Return all collectors that load, by name, and why each of the others does not."""
    loaded: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for name in names("collectors"):
        try:
            loaded[name] = load(find("collectors", name))
        except PluginError as error:
            faults[name] = str(error)
    return loaded, faults


@cache
def suites() -> dict[str, Suite]:
    """Return every suite by name.

    Raises
    ------
    PluginError
        If a plugin with suites is broken, or two suites have one name.
    """
    found: dict[str, Suite] = {}
    for entry in (entry for entry in entries() if entry.kind == "suites"):
        for suite in suites_of(entry):
            if suite.name in found:
                raise broken(entry, f"has a suite '{suite.name}', a name that is taken")
            found[suite.name] = suite
    return found


def suites_of(entry: PluginEntry) -> tuple[Suite, ...]:
    """Return the suites of one plugin.

    Raises
    ------
    PluginError
        If it is broken.
    """
    from benchmarker.api.suite import Suite

    described: tuple[Suite, ...] = description(entry, "benchmarker_suites", tuple)
    if not all(isinstance(suite, Suite) for suite in described):
        raise broken(entry, "returned from benchmarker_suites() something that is no Suite")
    return described
