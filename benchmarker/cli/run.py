"""Run benchmarks: every option takes a comma-separated list, and the matrix of all of them is run."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmarker.errors import UsageError
from benchmarker.planning import Experiment

_Value = TypeVar("_Value")


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


_names = _list_of(str, "a name")
_numbers = _list_of(int, "a whole number")


def setting(text: str) -> tuple[str, tuple[str, ...]]:
    """Parse ``NAME=VALUE,...``."""
    name, separator, values = text.partition("=")
    if not separator or not name.strip() or not values.strip():
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got '{text}'")
    return name.strip(), tuple(part.strip() for part in values.split(","))


def _option(group: Any, name: str, **keywords: Any) -> None:
    """Add an option, hyphens and underscores alike."""
    spellings = [f"--{name}"] + ([f"--{name.replace('-', '_')}"] if "-" in name else [])
    group.add_argument(*spellings, **keywords)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``run``."""
    what = parser.add_argument_group("what to run")
    _option(what, "framework", type=_names, required=True, metavar="NAME[==VERSION],...")
    _option(what, "problem", type=_names, required=True, metavar="NAME,...")
    _option(what, "mode", type=_names, default=("training",), metavar="inference|training")
    _option(what, "batch-size", type=_numbers, default=(), metavar="N,...", help="samples in a mini-batch")
    _option(what, "precision", type=_names, default=("fp32",), metavar="fp32|fp64|tf32|bf16|fp16")
    _option(
        what, "optimizer", type=_names, default=(), metavar="sgd|momentum|nesterov|adam|adamw|rmsprop|adagrad"
    )
    _option(what, "learning-rate", type=float, metavar="X")
    what.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="a parameter of the problem or an option of the framework; OWNER.NAME=VALUE if both have it",
    )
    _option(what, "seed", type=_numbers, default=(42,), metavar="N,...")
    where = parser.add_argument_group("where and how")
    _option(where, "device", type=_names, default=(), metavar="cpu|cuda")
    _option(where, "gpus", type=_numbers, default=(), metavar="N", help="index of the GPU to use")
    _option(where, "threads", type=_numbers, default=(), metavar="N,...", help="default: physical cores")
    _option(
        where, "affinity", type=_numbers, default=(), metavar="CPU,...", help="bind the run to these CPUs"
    )
    _option(
        where,
        "env",
        default="auto",
        metavar="auto|current|managed|PATH",
        help="the interpreter of the framework: this one if it suits, else one made for it (auto)",
    )
    _option(where, "launcher", default="local", metavar="NAME")
    how = parser.add_argument_group("how much")
    _option(how, "steps", type=int, metavar="N", help="timed steps; default: about 3 s of them, at least 20")
    _option(how, "warmup", type=int, metavar="N", help="steps before; default: about 1 s of them, at least 3")
    _option(how, "problem-size", type=int, metavar="N", help="samples of an epoch, instead of --steps")
    _option(how, "epochs", type=int, default=1, metavar="N")
    _option(how, "repeats", type=int, default=1, metavar="N", help="fresh processes for each run")
    _option(how, "timeout", type=float, metavar="SECONDS", help="end a run that takes longer")
    _option(how, "no-verify", action="store_true", help="do not compare with the reference first")
    output = parser.add_argument_group("output")
    _option(output, "results", type=Path, default=Path("results"), metavar="DIR")
    _option(output, "anonymous", action="store_true", help="leave host and user names out of the record")
    _option(output, "json", action="store_true", help="print records as JSON lines and nothing else")
    _option(output, "quiet", action="store_true", help="no progress")


def unique_settings(pairs: Sequence[tuple[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Return the values of each ``--set`` by name.

    Raises
    ------
    UsageError
        If a name is given twice.
    """
    settings = dict(pairs)
    if len(settings) < len(pairs):
        raise UsageError("--set names a parameter twice; give several values as --set NAME=A,B")
    return settings


def _devices(arguments: argparse.Namespace) -> tuple[str, ...]:
    if arguments.device:
        devices: tuple[str, ...] = arguments.device
        return devices
    return ("cuda",) if arguments.gpus else ("cpu",)


def _environment(choice: str) -> str:
    """Return a relative path as an absolute one, so that the record's command works from anywhere."""
    return str(Path(choice).absolute()) if "/" in choice else choice


def experiment(arguments: argparse.Namespace) -> Experiment:
    """Return what was asked for."""
    return Experiment(
        frameworks=arguments.framework,
        problems=arguments.problem,
        settings=unique_settings(arguments.set),
        modes=arguments.mode,
        batch_sizes=arguments.batch_size,
        precisions=arguments.precision,
        optimizers=arguments.optimizer,
        learning_rate=arguments.learning_rate,
        devices=_devices(arguments),
        gpus=arguments.gpus,
        threads=arguments.threads,
        affinity=arguments.affinity,
        seeds=arguments.seed,
        steps=arguments.steps,
        warmup=arguments.warmup,
        samples_per_epoch=arguments.problem_size,
        epochs=arguments.epochs,
        repeats=arguments.repeats,
        verify=not arguments.no_verify,
        timeout=arguments.timeout,
        environment=_environment(arguments.env),
        launcher=arguments.launcher,
        anonymous=arguments.anonymous,
    )


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def main(arguments: argparse.Namespace) -> int:
    """Run the experiment and print its table, or its records as JSON lines."""
    from benchmarker.cli.display import make_display
    from benchmarker.orchestrator import Orchestrator
    from benchmarker.planning import plan
    from benchmarker.store import Store, read_record

    runs = plan(experiment(arguments))
    store = Store(arguments.results)
    store.check_writable()
    # Asked to end, or left by its terminal, the command ends its worker and leaves a record.
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    display = make_display(quiet=arguments.quiet or arguments.json)
    finished = []
    try:
        for run in Orchestrator(store, display).run(runs):
            finished.append(run)
            if arguments.json:
                # As it was stored: what JSON cannot spell (infinity, not-a-number) is null there.
                print(json.dumps(read_record(run.path)), flush=True)
    finally:
        display.close()
    if not arguments.json:
        from benchmarker.report.table import comparison_table, record_summary

        if len(finished) == 1:
            print(record_summary(finished[0].record, finished[0].path))
        else:
            print(comparison_table([run.record for run in finished]))
            print(f"\n{len(finished)} records in {arguments.results}")
    if any(run.interrupted for run in finished):
        return 130
    failed = [run for run in finished if run.record["status"] != "ok"]
    for run in failed if arguments.json or arguments.quiet else ():
        print(f"benchmarker: {run.path}: {run.record['error']['message']}", file=sys.stderr)
    return 1 if failed else 0
