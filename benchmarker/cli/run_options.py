"""The options of ``run``, and what they say of an experiment."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmarker.errors import UsageError
from benchmarker.experiment import Asked
from benchmarker.framework import OPTIMIZERS
from benchmarker.hyperparameters import owners
from benchmarker.options import split_values

_Value = TypeVar("_Value")

_HYPERPARAMETERS = ("learning_rate", "momentum", "beta1", "beta2", "epsilon", "weight_decay", "decay")


def _list_of(kind: Callable[[str], _Value], what: str) -> Callable[[str], tuple[_Value, ...]]:
    def parse(text: str) -> tuple[_Value, ...]:
        try:
            values = tuple(kind(part.strip()) for part in text.split(",") if part.strip())
        except ValueError:
            values = ()
        if not values:
            raise argparse.ArgumentTypeError(f"must be {what}, or several with commas, got '{text}'")
        return values

    return parse


names = _list_of(str, "a name")
_numbers = _list_of(int, "a whole number")
_reals = _list_of(float, "a number")


_SETTING = re.compile(r"[A-Za-z_][\w.]*=")


def setting(text: str) -> tuple[str, tuple[str, ...]]:
    """Parse ``NAME=VALUE,...``; commas inside brackets or double quotes belong to a value."""
    name, separator, values = text.partition("=")
    if not separator or not name.strip() or not values.strip():
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got '{text}'")
    found = tuple(split_values(values))
    if any(_SETTING.match(value) for value in found):
        each = " ".join(f"--set {part}" for part in split_values(text))
        raise argparse.ArgumentTypeError(f"takes one name: {each}")
    return name.strip(), found


def _limit(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be NAME=NUMBER, got '{text}'") from None


def _option(group: Any, name: str, **keywords: Any) -> None:
    """Add an option, hyphens and underscores alike."""
    spellings = [f"--{name}"] + ([f"--{name.replace('-', '_')}"] if "-" in name else [])
    group.add_argument(*spellings, **keywords)


def _switch(group: Any, name: str, help: str) -> None:
    """Add ``--name`` and ``--no-name``; only the less usual one is shown."""
    target, negative = name.replace("-", "_"), name.startswith("no-")
    target = target.removeprefix("no_")
    other = name.removeprefix("no-") if negative else f"no-{name}"
    _option(group, name, dest=target, action="store_const", const=not negative, help=help)
    _option(group, other, dest=target, action="store_const", const=negative, help=argparse.SUPPRESS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``run``; one that is not given is None, so that a blueprint's field stays."""
    # argparse's own would be twenty lines of what is listed below it.
    parser.usage = "%(prog)s [BLUEPRINT] [--framework NAME] [--problem NAME] [options]"
    what = parser.add_argument_group("what to run")
    what.add_argument(
        "blueprint", nargs="?", type=Path, metavar="BLUEPRINT", help="a .toml or .py file; options go over it"
    )
    _add_names(what)
    _option(what, "mode", type=names, metavar="NAME,...", help="inference, training or gradient")
    _option(what, "batch-size", type=_numbers, metavar="N,...", help="samples in a mini-batch")
    _option(what, "precision", type=names, metavar="NAME,...", help="fp32, fp64, tf32, bf16 or fp16")
    _option(
        what,
        "optimizer",
        type=names,
        metavar="NAME,...",
        help=f"default: the problem's; {', '.join(OPTIMIZERS)}",
    )
    for name in _HYPERPARAMETERS:
        _option(what, name.replace("_", "-"), type=_reals, metavar="X,...", help=f"of {_owners(name)}")
    what.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="a parameter of the problem or an option of the framework; OWNER.NAME=VALUE if both have it",
    )
    _option(
        what, "micro-batch", type=_numbers, metavar="N,...", help="train a mini-batch in parts of N samples"
    )
    _switch(what, "fold-batch-norm", "in inference, fold batch normalizations into convolutions")
    _option(what, "seed", type=_numbers, metavar="N,...", help="of weights and mini-batches; default: 42")
    _option(
        what,
        "data",
        type=names,
        metavar="NAME,...",
        help="digits, mnist, cifar10, imdb or npy; default: drawn by the seed",
    )
    _option(what, "data-dir", metavar="DIR", help="folder of the data set's files")
    _option(
        what,
        "inputs",
        type=names,
        metavar="NAME,...",
        help="resident on the device before a step, or fed in it",
    )
    _add_where(parser.add_argument_group("where and how"))
    _add_how_much(parser.add_argument_group("how much"))
    _add_output(parser.add_argument_group("output"))


def _add_names(what: Any) -> None:
    _option(
        what, "framework", type=names, metavar="NAME[==VERSION],...", help="as 'list frameworks' names them"
    )
    _option(what, "problem", type=names, metavar="NAME,...", help="as 'list problems' names them")
    _option(what, "suite", type=names, metavar="NAME,...", help="as 'list suites' names them")
    _option(what, "sample", type=int, metavar="N", help="of each suite N configurations, spread by cost")
    _option(
        what,
        "level",
        metavar="NAME",
        help="operator, network or training: sets the mode, checks the problems",
    )


def _owners(name: str) -> str:
    """Return which optimizers have a constant."""
    having = owners(name)
    return "any optimizer" if having == OPTIMIZERS else ", ".join(having)


def _add_where(where: Any) -> None:
    _option(where, "device", type=names, metavar="NAME,...", help="cpu or cuda")
    _option(where, "gpus", type=_numbers, metavar="N", help="index of the GPU to use")
    _option(where, "threads", type=_numbers, metavar="N,...", help="default: physical cores")
    _option(where, "affinity", type=_numbers, metavar="CPU,...", help="bind the run to these CPUs")
    _option(
        where,
        "env",
        type=names,
        metavar="NAME|PATH,...",
        help="the framework's interpreter: current, managed, a path, or auto: this one if it suits, else one "
        "made for it",
    )
    _option(where, "launcher", type=names, metavar="NAME,...", help="as 'list launchers' names them")
    _option(
        where,
        "start",
        type=names,
        metavar="NAME,...",
        help="spawn an interpreter a run, or fork one that has imported the framework",
    )
    _option(
        where,
        "compile-cache",
        type=names,
        metavar="NAME,...",
        help="what frameworks compile: kept for the next process, or cold, an empty folder for each",
    )
    _option(
        where, "monitors", type=names, metavar="NAME,...", help="collectors to use, or none; default: all"
    )


def _add_how_much(how: Any) -> None:
    _option(how, "steps", type=_numbers, metavar="N,...", help="timed steps; default: about 3 s, at least 20")
    _option(
        how, "warmup", type=_numbers, metavar="N,...", help="steps before; default: about 1 s, at least 3"
    )
    _option(how, "problem-size", type=_numbers, metavar="N,...", help="samples of an epoch, without --steps")
    _option(how, "epochs", type=_numbers, metavar="N,...", help="passes over the problem size or data set")
    _option(how, "window", type=_reals, metavar="SECONDS", help="repeat inference this long, without --steps")
    _option(how, "seconds", type=float, metavar="SECONDS", help="length of the timed part without --steps")
    _option(how, "min-samples", type=int, metavar="N", help="samples at least, without --steps")
    _option(
        how,
        "sampling",
        type=names,
        metavar="NAME,...",
        help="latency: synchronised each step; throughput: each block",
    )
    _switch(how, "breakdown", "time the parts of a step and its operators too, in passes of their own")
    _option(how, "repeats", type=int, metavar="N", help="fresh processes for each run; default: 1")
    _option(
        how, "profile", metavar="NAME", help="quick, standard or rigorous: until a number is known this well"
    )
    _option(how, "half-width", type=float, metavar="X", help="of the 95 %% interval, e.g. 0.02")
    _option(how, "min-processes", type=int, metavar="N")
    _option(how, "max-processes", type=int, metavar="N")
    _option(how, "budget", type=float, metavar="SECONDS", help="for each cell of the experiment")
    _option(how, "timeout", type=float, metavar="SECONDS", help="end a run that takes longer")
    _switch(how, "no-verify", "do not compare with the reference first")
    _switch(how, "early-stop", "leave out larger batch sizes once one has run out of memory")


def _add_output(output: Any) -> None:
    _option(output, "results", type=Path, metavar="DIR", help="default: results")
    output.add_argument(
        "--accept",
        type=_limit,
        action="append",
        default=[],
        metavar="LIMIT=X",
        help="min_ or max_ of a metric, e.g. min_throughput=100; beyond it the exit status is 1",
    )
    _option(output, "price-per-hour", type=float, metavar="X", help="of this machine, for the cost of a run")
    _switch(output, "anonymous", "leave host and user names out of the record")
    _option(output, "dry-run", action="store_true", help="print the runs and run nothing")
    _option(output, "resume", action="store_true", help="leave out what has a good record in the results")
    _option(output, "json", action="store_true", help="print records as JSON lines and nothing else")
    _option(output, "quiet", action="store_true", help="no progress")


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


def _environment(choice: str) -> str:
    """Return a relative path as an absolute one, so that the record's command works from anywhere."""
    return str(Path(choice).absolute()) if "/" in choice else choice


def _problems(arguments: argparse.Namespace) -> tuple[Asked, ...] | None:
    """Return the problems by name and those of suites; None if neither was given."""
    if arguments.suite is None:
        if arguments.sample is not None:
            raise UsageError(f"--sample={arguments.sample} is of a suite; name one with --suite")
        return arguments.problem  # type: ignore[no-any-return]
    from benchmarker.suites.choosing import requests

    return (*(arguments.problem or ()), *requests(arguments.suite, arguments.sample))


def given(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the options say, by the experiment's names; nothing of those that were not given."""
    named = {
        "frameworks": arguments.framework,
        "problems": _problems(arguments),
        "modes": arguments.mode,
        "batch_sizes": arguments.batch_size,
        "precisions": arguments.precision,
        "optimizers": arguments.optimizer,
        "devices": arguments.device or (("cuda",) if arguments.gpus else None),
        "gpus": (arguments.gpus,) if arguments.gpus else None,
        "threads": arguments.threads,
        "affinity": (arguments.affinity,) if arguments.affinity else None,
        "seeds": arguments.seed,
        "steps": arguments.steps,
        "warmup": arguments.warmup,
        "windows": arguments.window,
        "samples_per_epoch": arguments.problem_size,
        "epochs": arguments.epochs,
        "data": arguments.data,
        "data_dir": arguments.data_dir,
        "inputs": arguments.inputs,
        "monitors": () if arguments.monitors == ("none",) else arguments.monitors,
        "repeats": arguments.repeats,
        "sampling": arguments.sampling,
        "seconds": arguments.seconds,
        "min_samples": arguments.min_samples,
        "breakdown": arguments.breakdown,
        "micro_batches": arguments.micro_batch,
        "fold_batch_norm": arguments.fold_batch_norm,
        "level": arguments.level,
        "profile": arguments.profile,
        "half_width": arguments.half_width,
        "min_processes": arguments.min_processes,
        "max_processes": arguments.max_processes,
        "budget": arguments.budget,
        "price_per_hour": arguments.price_per_hour,
        "verify": arguments.verify,
        "timeout": arguments.timeout,
        "environments": tuple(map(_environment, arguments.env)) if arguments.env else None,
        "launchers": arguments.launcher,
        "starts": arguments.start,
        "compile_caches": arguments.compile_cache,
        "anonymous": arguments.anonymous,
        "early_stop": arguments.early_stop,
        "settings": unique_settings(arguments.set) or None,
        "hyperparameters": {n: v for n in _HYPERPARAMETERS if (v := getattr(arguments, n))} or None,
        "accept": unique_settings(arguments.accept, "accept") or None,
    }
    return {name: value for name, value in named.items() if value is not None}
