"""The options of ``run``, and what they say of an experiment."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarker import registry
from benchmarker.api.given_values import real_number, shown
from benchmarker.api.options import split_values
from benchmarker.api.rules import MAX_COUNT, Real, Rule, Whole
from benchmarker.cli.values import each_once, file_path, results_place, whole
from benchmarker.errors import UsageError
from benchmarker.experiment.descriptions import constants
from benchmarker.experiment.options import OPTION_OF_KEY, OPTIONS
from benchmarker.experiment.run_option import NONE, RunOption

if TYPE_CHECKING:
    from benchmarker.experiment.parts import Part
    from benchmarker.experiment.spec import Requested

_Value = TypeVar("_Value")


def _list_of(kind: Callable[[str], _Value], what: str) -> Callable[[str], tuple[_Value, ...]]:
    def parse(text: str) -> tuple[_Value, ...]:
        try:
            values = tuple(kind(part.strip()) for part in text.split(",") if part.strip())
        except ValueError:
            values = ()
        if not values:
            raise argparse.ArgumentTypeError(f"must be {what}, or several with commas, got {shown(text)}")
        return values

    return parse


names = _list_of(str, "a name")
_reals = _list_of(real_number, "a number")


def _reader(option: RunOption) -> Callable[[str], Any]:
    """Return what reads the values of a run option and refuses those that its rule does not allow."""
    several = bool(option.axis) or option.is_set

    def read(text: str) -> Any:
        parts = [part.strip() for part in text.split(",") if part.strip()] if several else [text]
        rule = option.rule
        if option.is_set:
            return _checked(rule, () if parts == [NONE] else _parsed(option, parts, text))
        if not parts:
            raise argparse.ArgumentTypeError(
                f"must be {rule.allowed}, or several with commas, got {shown(text)}"
            )
        values = tuple(_checked(rule, value) for value in _parsed(option, parts, text))
        return values if several else values[0]

    return read


def _parsed(option: RunOption, parts: Sequence[str], text: str) -> tuple[Any, ...]:
    try:
        return tuple(map(option.parse, parts))
    except ValueError:
        several = ", or several with commas" if option.axis else ""
        raise argparse.ArgumentTypeError(
            f"must be {option.rule.allowed}{several}, got {shown(text)}"
        ) from None


def _checked(rule: Rule, value: Any) -> Any:
    for _, message in rule.faults(value):
        raise argparse.ArgumentTypeError(message)
    return value


_SETTING = re.compile(r"[A-Za-z_][\w.]*=")


def setting(text: str) -> tuple[str, tuple[str, ...]]:
    """Parse ``NAME=VALUE,...``; commas inside brackets or double quotes belong to a value."""
    name, separator, values = text.partition("=")
    if not separator or not name.strip() or not values.strip():
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {shown(text)}")
    found = tuple(split_values(values))
    if any(_SETTING.match(value) for value in found):
        each = " ".join(f"--set {part}" for part in split_values(text))
        raise argparse.ArgumentTypeError(f"takes one name: {each}")
    each_once(found)
    return name.strip(), found


def add_settings(
    group: Any, help: str = "a parameter of the problem", *, metavar: str = "NAME=VALUE"
) -> None:
    """Add ``--set``, which is given once for each setting."""
    group.add_argument("--set", type=setting, action="append", default=[], metavar=metavar, help=help)


def _limit(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), real_number(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be NAME=NUMBER, got {shown(text)}") from None


def _option(group: Any, flag: str, **keywords: Any) -> None:
    """Add an option, hyphens and underscores alike."""
    other = "--" + flag.removeprefix("--").replace("-", "_")
    group.add_argument(*dict.fromkeys((flag, other)), **keywords)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``run``; one that is not given is None, so that a blueprint's field stays."""
    # argparse's own would be twenty lines of what is listed below it.
    parser.usage = "%(prog)s [BLUEPRINT] [--framework NAME] [--problem NAME] [options]"
    what = parser.add_argument_group("what to run")
    what.add_argument(
        "blueprint",
        nargs="?",
        type=file_path,
        metavar="BLUEPRINT",
        help="a .toml or .py file; options override its fields",
    )
    _option(what, "--recipe", metavar="RECIPE", help="what to train, as in the command 'train'")
    _add_names(what)
    _option(what, "--suite", type=names, metavar="NAME,...", help="a name from 'list suites'")
    _option(
        what, "--sample", type=whole(0), metavar="N", help="N configurations of each suite, spread by cost"
    )
    _add_options(parser, what)


def add_recipe_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``train``: those of ``run`` that are not for the recipe to say."""
    parser.usage = "%(prog)s RECIPE --framework NAME [options]"
    parser.set_defaults(**dict.fromkeys(OPTION_OF_KEY), suite=None, sample=None)
    what = parser.add_argument_group("what to train")
    what.add_argument("recipe", metavar="RECIPE", help="a name from 'list recipes', or a .toml file")
    _add_names(what)
    _option(
        what,
        "--seeds",
        type=whole(1, MAX_SEEDS),
        metavar="N",
        help="N trainings each, with seeds 0 to N - 1",
    )
    _option(
        what,
        "--no-early-stop",
        action="store_true",
        help="continue to the recipe's limits, for complete curves",
    )
    words = "stop each training after N updates, with the schedules of a full one; default: none"
    _option(what, "--max-steps", type=whole(2, MAX_COUNT), metavar="N", help=words)
    _add_options(parser, what, of_recipes=True)


MAX_SEEDS = 10_000


def _add_options(parser: argparse.ArgumentParser, what: Any, *, of_recipes: bool = False) -> None:
    """Add all options but names and files; those alone that a recipe leaves open if they are ``of_recipes``."""
    _add_table(what, "what", of_recipes)
    _add_optimizer(what)
    add_settings(
        what,
        "a parameter of the problem or an option of the framework; OWNER.NAME=VALUE if both have it; "
        "training.NAME=JSON for the table of an open recipe",
        metavar="NAME=VALUE,...",
    )
    where = parser.add_argument_group("where and how")
    _add_table(where, "where", of_recipes)
    add_permission(where)
    _add_table(parser.add_argument_group("several ranks"), "ranks", of_recipes)
    _add_table(parser.add_argument_group("how much"), "amount", of_recipes)
    _add_table(parser.add_argument_group("checkpoints"), "checkpoints", of_recipes)
    _add_output(parser.add_argument_group("output"), of_recipes)


def _add_table(group: Any, name: str, of_recipes: bool) -> None:
    for option in OPTIONS.values():
        if option.group != name or (of_recipes and not option.of_recipes):
            continue
        if option.is_switch:
            _switch(group, option)
        else:
            words = option.help.replace("%", "%%")
            _option(group, option.flag, type=_reader(option), metavar=_metavar(option), help=words)


def add_permission(group: Any) -> None:
    """Add what allows the CUDA build of PyTorch where its CPU build cannot be had."""
    words = "if PyTorch's CPU build is not available, make its environment with the CUDA build (several GiB)"
    _option(group, "--allow-cuda-build", action="store_true", help=words)


def permit(arguments: argparse.Namespace) -> None:
    """Allow what was allowed by :func:`add_permission`."""
    if arguments.allow_cuda_build:
        from benchmarker.execution.environments.permission import allow_cuda_build

        allow_cuda_build()


def add_one(group: Any, name: str, *, default: Any = None, help: str = "") -> None:
    """Add an option of which a command takes one value.

    Parameters
    ----------
    group : argument group
        Of the command.
    name : str
        Of the option in the table.
    default : object
        Where it is not given.
    help : str
        What it is for this command, if that is not what the table says.
    """
    option = replace(OPTIONS[name], axis="")
    words = help or option.help.replace("%", "%%")
    _option(group, option.flag, type=_reader(option), default=default, metavar=_metavar(option), help=words)


def _metavar(option: RunOption) -> str:
    one = option.metavar or {Whole: "N", Real: "X"}.get(type(option.rule), "NAME")
    return f"{one},..." if option.axis or option.is_set else one


def _switch(group: Any, option: RunOption) -> None:
    """Add ``--name`` and ``--no-name``; only the less usual one is shown."""
    for value in (True, False):
        flag = option.flag if value else f"--no-{option.flag.removeprefix('--')}"
        words = option.help if value else f"do not {option.help}"
        shown = argparse.SUPPRESS if value == option.default else words
        _option(group, flag, dest=option.key, action="store_const", const=value, help=shown)


def _add_names(what: Any) -> None:
    _option(
        what, "--framework", type=names, metavar="NAME[==VERSION],...", help="a name from 'list frameworks'"
    )
    _option(what, "--problem", type=names, metavar="NAME,...", help="a name from 'list problems'")


def _add_optimizer(what: Any) -> None:
    kinds = ", ".join(registry.names("optimizers"))
    words = f"{kinds}, or a file that ends in .py; default: the problem's"
    _option(what, "--optimizer", type=names, metavar="NAME,...", help=words)
    for name, (owners, allowed) in constants().items():
        kind, metavar = (names, "NAME,...") if allowed else (_reals, "X,...")
        words = f"of {owners}: {allowed}" if allowed else f"of {owners}"
        _option(what, f"--{name.replace('_', '-')}", type=kind, metavar=metavar, help=words)


def _add_output(output: Any, of_recipes: bool) -> None:
    _option(
        output,
        "--results",
        type=results_place,
        metavar="DIR",
        help="folder, or an address such as s3://bucket/folder; default: results",
    )
    output.add_argument(
        "--accept",
        type=_limit,
        action="append",
        default=[],
        metavar="LIMIT=X",
        help="min_ or max_ and a metric, e.g. min_throughput=100; the exit status is 1 if a limit is not met",
    )
    _add_table(output, "output", of_recipes)
    _option(output, "--dry-run", action="store_true", help="print the runs without running them")
    words = "skip what already has a good record in the results, and continue from checkpoints"
    _option(output, "--resume", action="store_true", help=words)
    words = "run only the K-th of N parts of the experiment's cells, as one of several jobs, e.g. 2/8"
    _option(output, "--part", type=_part, metavar="K/N", help=words)
    _option(output, "--json", action="store_true", help="print records as JSON lines and nothing else")
    _option(output, "--quiet", action="store_true", help="show no progress")


def _part(text: str) -> Part:
    from benchmarker.experiment.parts import Part

    try:
        return Part.parse(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be K/N with K from 1 to N, e.g. 2/8, got {shown(text)}"
        ) from None


def unique_settings(pairs: Sequence[tuple[str, _Value]], option: str = "set") -> dict[str, _Value]:
    """Return the values of each ``--set`` by name.

    Raises
    ------
    UsageError
        If a name is given twice.
    """
    settings = dict(pairs)
    if len(settings) < len(pairs):
        several = "; give several values as --set NAME=A,B" if option == "set" else ""
        raise UsageError(f"--{option} names a parameter twice{several}")
    return settings


def single_settings(pairs: Sequence[tuple[str, tuple[str, ...]]], command: str) -> dict[str, str]:
    """Return the value of each ``--set`` of a command that takes one.

    Raises
    ------
    UsageError
        If a name is given twice, or with several values.
    """
    values = {}
    for name, choice in unique_settings(pairs).items():
        if len(choice) > 1:
            raise UsageError(f"{command} takes one value of '{name}', got {', '.join(choice)}")
        values[name] = choice[0]
    return values


def _problems(arguments: argparse.Namespace) -> tuple[Requested, ...] | None:
    """Return the problems by name and those of suites; None if neither was given."""
    if arguments.suite is None:
        if arguments.sample is not None:
            raise UsageError(f"--sample={arguments.sample} is of a suite; name one with --suite")
        return arguments.problem  # type: ignore[no-any-return]
    from benchmarker.experiment.suites.selection import requests

    return (*(arguments.problem or ()), *requests(arguments.suite, arguments.sample))


def given(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the options say, by the experiment's names; nothing of those that were not given."""
    named = {option.keyword: _value(option, getattr(arguments, key)) for key, option in OPTION_OF_KEY.items()}
    if arguments.gpus:
        named["devices"] = named["devices"] or ("cuda",)
    if arguments.env:
        from benchmarker.execution.environments.containers.reference import absolute_environment

        named["environments"] = tuple(map(absolute_environment, arguments.env))
    named.update(
        frameworks=arguments.framework,
        problems=_problems(arguments),
        optimizers=arguments.optimizer,
        settings=unique_settings(arguments.set) or None,
        hyperparameters={n: v for n in constants() if (v := getattr(arguments, n, None))} or None,
        accept=unique_settings(arguments.accept, "accept") or None,
    )
    return {name: value for name, value in named.items() if value is not None}


def _value(option: RunOption, value: Any) -> Any:
    """Return a value of the command as an experiment takes it: of a set, one alternative."""
    return (value,) if value is not None and option.axis and option.is_set else value
