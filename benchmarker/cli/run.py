"""Run benchmarks: a blueprint file, or options that each take a comma-separated list, and the matrix of all."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarker.errors import UsageError
from benchmarker.experiment import Experiment, RunSpec
from benchmarker.options import split_values

if TYPE_CHECKING:
    from benchmarker.blueprint.loading import Blueprint
    from benchmarker.record import FinishedRun

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


def setting(text: str) -> tuple[str, tuple[str, ...]]:
    """Parse ``NAME=VALUE,...``; commas inside brackets or double quotes belong to a value."""
    name, separator, values = text.partition("=")
    if not separator or not name.strip() or not values.strip():
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got '{text}'")
    return name.strip(), tuple(split_values(values))


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
    what = parser.add_argument_group("what to run")
    what.add_argument(
        "blueprint", nargs="?", type=Path, metavar="BLUEPRINT", help="a .toml or .py file; options go over it"
    )
    _option(what, "framework", type=names, metavar="NAME[==VERSION],...")
    _option(what, "problem", type=names, metavar="NAME,...")
    _option(what, "mode", type=names, metavar="inference|training")
    _option(what, "batch-size", type=_numbers, metavar="N,...", help="samples in a mini-batch")
    _option(what, "precision", type=names, metavar="fp32|fp64|tf32|bf16|fp16")
    _option(what, "optimizer", type=names, metavar="sgd|momentum|nesterov|adam|adamw|rmsprop|adagrad")
    for name in _HYPERPARAMETERS:
        _option(what, name.replace("_", "-"), type=_reals, metavar="X,...")
    what.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="a parameter of the problem or an option of the framework; OWNER.NAME=VALUE if both have it",
    )
    _option(what, "seed", type=_numbers, metavar="N,...")
    _option(
        what, "data", type=names, metavar="digits|mnist|cifar10|imdb|npy", help="default: drawn by the seed"
    )
    _option(what, "data-dir", metavar="DIR", help="folder of the data set's files")
    _option(what, "inputs", type=names, metavar="resident|fed", help="on the device before a step, or not")
    _add_where(parser.add_argument_group("where and how"))
    _add_how_much(parser.add_argument_group("how much"))
    _add_output(parser.add_argument_group("output"))


def _add_where(where: Any) -> None:
    _option(where, "device", type=names, metavar="cpu|cuda")
    _option(where, "gpus", type=_numbers, metavar="N", help="index of the GPU to use")
    _option(where, "threads", type=_numbers, metavar="N,...", help="default: physical cores")
    _option(where, "affinity", type=_numbers, metavar="CPU,...", help="bind the run to these CPUs")
    _option(
        where,
        "env",
        type=names,
        metavar="auto|current|managed|PATH",
        help="the interpreter of the framework: this one if it suits, else one made for it (auto)",
    )
    _option(where, "launcher", type=names, metavar="NAME")
    _option(
        where, "monitors", type=names, metavar="NAME,...", help="collectors to use, or none; default: all"
    )


def _add_how_much(how: Any) -> None:
    _option(how, "steps", type=_numbers, metavar="N,...", help="timed steps; default: about 3 s, at least 20")
    _option(
        how, "warmup", type=_numbers, metavar="N,...", help="steps before; default: about 1 s, at least 3"
    )
    _option(how, "problem-size", type=_numbers, metavar="N,...", help="samples of an epoch, without --steps")
    _option(how, "epochs", type=_numbers, metavar="N,...")
    _option(how, "window", type=_reals, metavar="SECONDS", help="repeat inference this long, without --steps")
    _option(how, "repeats", type=int, metavar="N", help="fresh processes for each run")
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
        metavar="min_NAME|max_NAME=X",
        help="a limit, e.g. min_throughput=100; beyond it the exit status is 1",
    )
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


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the options say, by the experiment's names."""
    named = {
        "frameworks": arguments.framework,
        "problems": arguments.problem,
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
        "verify": arguments.verify,
        "timeout": arguments.timeout,
        "environments": tuple(map(_environment, arguments.env)) if arguments.env else None,
        "launchers": arguments.launcher,
        "anonymous": arguments.anonymous,
        "early_stop": arguments.early_stop,
        "settings": unique_settings(arguments.set) or None,
        "hyperparameters": {n: v for n in _HYPERPARAMETERS if (v := getattr(arguments, n))} or None,
        "accept": unique_settings(arguments.accept, "accept") or None,
    }
    return {name: value for name, value in named.items() if value is not None}


def experiment(arguments: argparse.Namespace, blueprint: Blueprint | None = None) -> Experiment:
    """Return what was asked for by options, or by a blueprint and options over it.

    Raises
    ------
    UsageError
        If there is no problem or no framework.
    """
    values = _given(arguments)
    if blueprint is not None:
        from benchmarker.blueprint.overriding import overridden

        values = overridden(blueprint.values, values)
    missing = [f"--{name}" for name in ("framework", "problem") if f"{name}s" not in values]
    if missing:
        where = (
            "a blueprint that names it" if blueprint is None else f"a field of it in {arguments.blueprint}"
        )
        raise UsageError(f"{' and '.join(missing)} required, or {where} (benchmarker run --help tells more)")
    return Experiment(**values)


def _planned(arguments: argparse.Namespace, blueprint: Blueprint | None) -> tuple[Experiment, list[RunSpec]]:
    """Return the experiment and its runs; a fault of the blueprint is told with its line."""
    from benchmarker.planning import ExperimentError, plan

    asked = experiment(arguments, blueprint)
    try:
        return asked, plan(asked)
    except ExperimentError as error:
        from benchmarker.blueprint.overriding import is_given

        if blueprint is not None and not is_given(error.fault, _given(arguments)):
            fault = blueprint.fault(error.fault)
            if fault is not None:
                raise UsageError(str(fault)) from None
        raise


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _tell(text: str) -> None:
    print(f"benchmarker: {text}", file=sys.stderr)


def _load(arguments: argparse.Namespace) -> Blueprint | None:
    if arguments.blueprint is None:
        return None
    from benchmarker.blueprint.loading import load

    blueprint = load(arguments.blueprint)
    if not arguments.quiet and not arguments.json:
        for note in blueprint.notes:
            _tell(f"{arguments.blueprint}: {note}")
    return blueprint


def main(arguments: argparse.Namespace) -> int:
    """Run the experiment and print its table, or its records as JSON lines."""
    blueprint = _load(arguments)
    asked, runs = _planned(arguments, blueprint)
    folder = arguments.results or (blueprint and blueprint.results) or Path("results")
    done: dict[int, FinishedRun] = {}
    if arguments.resume:
        from benchmarker.resuming import finished_before

        done = finished_before(runs, folder)
        if not arguments.quiet and not arguments.json:
            _tell(f"{len(done)} of {len(runs)} runs have an ok record in {folder} and are left out")
    if arguments.dry_run:
        from benchmarker.report.plan import plan_table

        if arguments.json:
            _print_plan(runs, done)
        else:
            print(plan_table(runs, skipped=set(done)))
        return 0
    return _run(arguments, asked, runs, done, folder)


def _print_plan(runs: Sequence[RunSpec], done: dict[int, FinishedRun]) -> None:
    from benchmarker.experiment import specification
    from benchmarker.planning import refusal

    for index, run in enumerate(runs):
        record = str(done[index].path) if index in done else None
        print(json.dumps({**specification(run), "refusal": refusal(run), "record": record}))


def _run(
    arguments: argparse.Namespace,
    asked: Experiment,
    runs: Sequence[RunSpec],
    done: dict[int, FinishedRun],
    folder: Path,
) -> int:
    from benchmarker.cli.display import make_display
    from benchmarker.orchestrator import Orchestrator
    from benchmarker.store import Store, read_record

    store = Store(folder)
    store.check_writable()
    # Asked to end, or left by its terminal, the command ends its worker and leaves a record.
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    display = make_display(quiet=arguments.quiet or arguments.json)
    finished: dict[int, FinishedRun] = {}
    orchestrator = Orchestrator(store, display, accept=asked.accept, early_stop=asked.early_stop)
    left = [index for index in range(len(runs)) if index not in done]
    try:
        for place, run in orchestrator.run([runs[index] for index in left]):
            finished[left[place]] = run
            if arguments.json:
                # As it was stored: what JSON cannot spell (infinity, not-a-number) is null there.
                print(json.dumps(read_record(run.path)), flush=True)
    finally:
        display.close()
    every = {**done, **finished}
    if not arguments.json:
        _print_results([every[index] for index in sorted(every)], len(finished), folder)
    return _verdict(arguments, asked, [every[index] for index in sorted(every)], orchestrator.skipped)


def _print_results(found: Sequence[FinishedRun], new: int, folder: Path) -> None:
    from benchmarker.report.table import comparison_table, record_summary

    if len(found) == 1:
        print(record_summary(found[0].record, found[0].path))
        return
    print(comparison_table([run.record for run in found]))
    before = f", {len(found) - new} of them from before" if len(found) > new else ""
    print(f"\n{len(found)} records in {folder}{before}")


def _verdict(
    arguments: argparse.Namespace, asked: Experiment, found: Sequence[FinishedRun], skipped: Sequence[str]
) -> int:
    """Tell what did not go well or was not accepted, and return the exit status."""
    from benchmarker.acceptance import judge, sentences

    if any(run.interrupted for run in found):
        return 130
    failed = [run for run in found if run.record["status"] != "ok"]
    for run in failed if arguments.json or arguments.quiet else ():
        _tell(f"{run.path}: {run.record['error']['message']}")
    for reason in skipped if arguments.json or arguments.quiet else ():
        _tell(reason)
    refused = [
        f"{run.path}: not accepted: {sentence}"
        for run in found
        if run.record["status"] == "ok"
        for sentence in sentences(judge(run.record, asked.accept))
    ]
    for sentence in refused:
        _tell(sentence)
    return 1 if failed or refused else 0
