"""Plugins by name: entry points are only listed until one is chosen; a broken one is reported, never fatal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.api.containment import LOAD_SECONDS, contained
from benchmarker.api.own_place import own_place, place_below
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.api.scheme import Scheme, named
from benchmarker.errors import BenchmarkerError, PluginError, UsageError, did_you_mean, first_line
from benchmarker.execution.distributions import checkout_entry_points, installed_points, normalised
from benchmarker.problems import files
from benchmarker.version import DISTRIBUTION, FORMER_DISTRIBUTION, OWN_DISTRIBUTIONS, __version__

if TYPE_CHECKING:
    from benchmarker.api.chart_kind import ChartKind
    from benchmarker.api.dataset import Dataset, DatasetReader
    from benchmarker.api.framework import FrameworkPlugin
    from benchmarker.api.launcher import Launcher
    from benchmarker.api.problem import Problem
    from benchmarker.api.problem_scheme import ProblemScheme
    from benchmarker.api.recipe import RecipeFile
    from benchmarker.api.suite import Suite
    from benchmarker.api.update_rule import UpdateRule

PREFIX = "benchmarker"  # of the groups of entry points
KINDS = (
    "frameworks",
    "problems",
    "recipes",
    "optimizers",
    "schemes",
    "suites",
    "datasets",
    "collectors",
    "launchers",
    "charts",
    "problem_schemes",
)


@dataclass(frozen=True)
class PluginEntry:
    """An entry point, not yet imported."""

    kind: str
    name: str
    value: str
    distribution: str
    version: str

    @property
    def origin(self) -> str:
        """Where it comes from, for people."""
        return f"{self.distribution} {self.version}"

    @property
    def is_ours(self) -> bool:
        """Whether it comes with benchmarker itself."""
        return normalised(self.distribution) in OWN_DISTRIBUTIONS


def _checkout_entries() -> list[PluginEntry]:
    """Return the built-in plugins of a checkout that is not installed."""
    found = checkout_entry_points(Path(__file__).resolve().parent.parent / "setup.cfg", PREFIX)
    return [PluginEntry(*entry, DISTRIBUTION, __version__) for entry in found if entry[0] in KINDS]


@cache
def entries() -> tuple[PluginEntry, ...]:
    """Return every entry point of our groups, in order of kind and name. Imports no plugin."""
    kinds = {f"{PREFIX}.{kind}": kind for kind in KINDS}
    found = [PluginEntry(kinds[p.group], p.name, p.value, *origin) for p, origin in installed_points(kinds)]
    if any(entry.distribution == DISTRIBUTION for entry in found):
        # Under the former name there may be an older installation of the same.
        found = [entry for entry in found if entry.distribution != FORMER_DISTRIBUTION]
    # Of a checkout that is not installed, or was before it had a kind of plug-in.
    installed = {entry.kind for entry in found if entry.is_ours}
    if installed != set(KINDS):
        found += [entry for entry in _checkout_entries() if entry.kind not in installed]
    return tuple(sorted(found, key=lambda e: (KINDS.index(e.kind), e.name, e.distribution)))


def noun(kind: str) -> str:
    """Return what one plugin of a kind is called."""
    return "data set" if kind == "datasets" else kind[:-1].replace("_", " ")


def names(kind: str, *, ours: bool = False) -> tuple[str, ...]:
    """Return the names of all plugins of a kind, or our own, in order. Imports none of them."""
    chosen = (entry for entry in entries() if entry.kind == kind and (entry.is_ours or not ours))
    return tuple(dict.fromkeys(entry.name for entry in chosen))


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
        return PluginEntry(kind, Path(name).name, *files.load_object(f"{_FILES[kind]}:entry_of")(Path(name)))
    return _installed(kind, name)


_FILES = {"optimizers": "benchmarker.training.optimizers.files", "schemes": "benchmarker.distributed.files"}


def problem_entry(problem: ProblemReference) -> PluginEntry:
    """Return the entry of a problem, whose version is the digest of its content if it is a file."""
    if problem.scheme is None or problem.file is None:
        return _installed("problems", problem.name)
    made = problem_scheme(problem.scheme).resolve(problem, problem.file)
    value = files.made_value(made.maker, *made.arguments)
    return PluginEntry("problems", problem.name, value, made.origin, made.digest)


def _installed(kind: str, name: str) -> PluginEntry:
    claimed = [entry for entry in entries() if entry.kind == kind and entry.name == name]
    if not claimed:
        known = {entry.name for entry in entries() if entry.kind == kind}
        raise UsageError(f"unknown {noun(kind)} '{name}'{did_you_mean(name, known)}")
    if len(claimed) > 1:
        origins = " and ".join(entry.origin for entry in claimed)
        raise PluginError(
            f"{noun(kind)} '{name}' is claimed by {origins}; uninstall one of them or rename its entry point"
        )
    return claimed[0]


@cache
def load(entry: PluginEntry) -> Any:
    """Import a plugin, register it with pluggy under its name and check it against the hook specifications.

    Returns
    -------
    object
        The plugin: its module, or an instance of its class.

    Raises
    ------
    PluginError
        With the plugin's name, its origin and what went wrong.
    """
    try:
        with _calling(entry):
            plugin = files.load_plugin(entry.value)
    except (Exception, SystemExit) as error:
        if isinstance(error, UsageError) and files.is_problem_file(entry.value):
            raise  # what is wrong with a model is no fault of a plugin
        raise broken(entry, f"failed to import: {_told(entry, error)}") from error
    from benchmarker import hookspecs

    fault = hookspecs.fault(plugin, entry.kind, entry.name)
    if fault is not None:
        raise broken(entry, fault)
    return plugin


def implementation(entry: PluginEntry, value: str) -> Any:
    """Return what a plugin's description names as its ``"module:attribute"``.

    Raises
    ------
    PluginError
        If it cannot be imported.
    """
    try:
        with _calling(entry):
            return files.load_object(value)
    except (Exception, SystemExit) as error:
        raise broken(entry, f"names '{value}', which cannot be imported: {first_line(error)}") from error


def _calling(entry: PluginEntry, seconds: float | None = LOAD_SECONDS) -> AbstractContextManager[None]:
    """Return what a plug-in's code runs in; our own, and problems that are files, see to themselves."""
    if entry.is_ours or files.is_problem_file(entry.value):
        return nullcontext()
    return contained(f"{noun(entry.kind)} '{entry.name}' from {entry.origin}", seconds)


def guarded(entry: PluginEntry, function: Callable[..., Any], expected: type[Any]) -> Callable[..., Any]:
    """Return a plugin's function as it may be called: what goes wrong in it is the plugin's fault, in a sentence.

    Errors that are meant for the user and those of files pass, and so do all of our own plugins, whose are bugs.
    """

    def call(*arguments: Any, **options: Any) -> Any:
        try:
            with _calling(entry, None):
                found = function(*arguments, **options)
        except (BenchmarkerError, OSError):
            raise
        except (Exception, SystemExit) as error:
            if entry.is_ours:
                raise
            raise broken(entry, f"failed in {function.__name__}(): {_told(entry, error)}") from error
        if not isinstance(found, expected):
            returned = type(found).__name__
            raise broken(entry, f"returned {returned} from {function.__name__}(), not {expected.__name__}")
        return found

    return call


def _told(entry: PluginEntry, error: BaseException) -> str:
    """Return what went wrong in a plugin, and at which line of its own."""
    if files.is_problem_file(entry.value):
        return first_line(error) + place_below(error, Path(files.described_value(entry.value)).absolute())
    return first_line(error) + own_place(error, files.module_of(entry.value))


def broken(entry: PluginEntry, problem: str) -> PluginError:
    """Return what is raised when a plugin does not keep its contract; ``problem`` goes on after its name."""
    value = files.described_value(entry.value)
    return PluginError(f"{noun(entry.kind)} '{entry.name}' ({value}, from {entry.origin}) {problem}")


def _described(entry: PluginEntry, hook: str, expected: type[Any]) -> Any:
    """Call a plugin's describing hook and check what it returns."""
    function: Callable[[], Any] = getattr(load(entry), hook)
    try:
        with _calling(entry):
            described = function()
    except (Exception, SystemExit) as error:
        raise broken(entry, f"failed in {hook}(): {_told(entry, error)}") from error
    if not isinstance(described, expected):
        kind = type(described).__name__
        raise broken(entry, f"returned {kind} from {hook}(), not {expected.__name__}")
    if getattr(described, "name", entry.name) != entry.name:
        raise broken(entry, f"calls itself '{described.name}', not '{entry.name}'")
    return described


def framework(name: str) -> FrameworkPlugin:
    """Return the framework plugin of that name."""
    from benchmarker.api.framework import FrameworkPlugin

    plugin: FrameworkPlugin = _described(find("frameworks", name), "benchmarker_framework", FrameworkPlugin)
    return plugin


def problem(which: ProblemReference | str) -> Problem:
    """Return the problem that is meant, or that has the name."""
    from benchmarker.api.problem import Problem

    entry = problem_entry(ProblemReference.parse(which) if isinstance(which, str) else which)
    described: Problem = _described(entry, "benchmarker_problem", Problem)
    try:
        with _calling(entry):
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

    described: ProblemScheme = _described(
        find("problem_schemes", name), "benchmarker_problem_scheme", ProblemScheme
    )
    return described


def recipe(name: str) -> RecipeFile:
    """Return the recipe of that name."""
    from benchmarker.api.recipe import RecipeFile

    described: RecipeFile = _described(find("recipes", name), "benchmarker_recipe", RecipeFile)
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

    name = asked_name(name)
    entry = find("optimizers", name)
    rule: UpdateRule = _described(entry, "benchmarker_optimizer", UpdateRule)
    if not entry.is_ours:
        add_rule(rule)
        _RULE_VALUES[rule.name] = name
    return rule


_RULE_VALUES: dict[str, str] = {}
"""Of each rule that was added the name that it was asked for by: of a file its path."""


def asked_name(kind: str) -> str:
    """Return the name that an optimizer was asked for by: of a file its path."""
    return _RULE_VALUES.get(kind, kind)


def rule_value(kind: str) -> str | None:
    """Return the value of an optimizer's entry for a worker, which knows benchmarker's own by itself."""
    entry = find("optimizers", asked_name(kind))
    return None if entry.is_ours else entry.value


def scheme(text: str) -> Scheme:
    """Return the scheme of that name or file, with its constant where one is given: ``averaging/16``."""
    name, constant = named(text)
    usual: Scheme = _described(find("schemes", name), "benchmarker_scheme", Scheme)
    return usual if constant is None else usual.with_constant(constant)


def scheme_value(text: str) -> str:
    """Return the value of a scheme's entry, for a worker, which is told the constant beside it."""
    return find("schemes", named(text)[0]).value


def chart(name: str) -> ChartKind:
    """Return the kind of picture of that name."""
    from benchmarker.api.chart_kind import ChartKind

    described: ChartKind = _described(find("charts", name), "benchmarker_chart", ChartKind)
    return described


def dataset(name: str) -> DatasetReader:
    """Return the description of the data set of that name."""
    from benchmarker.api.dataset import DatasetReader

    described: DatasetReader = _described(find("datasets", name), "benchmarker_dataset", DatasetReader)
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

    described: Launcher = _described(find("launchers", name), "benchmarker_launcher", Launcher)
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

    described: tuple[Suite, ...] = _described(entry, "benchmarker_suites", tuple)
    if not all(isinstance(suite, Suite) for suite in described):
        raise broken(entry, "returned from benchmarker_suites() something that is no Suite")
    return described
