"""The command that repeats a run."""

from __future__ import annotations

from typing import Any

from benchmarker.experiment import RunSpec
from benchmarker.hyperparameters import constants
from benchmarker.options import as_text
from benchmarker.problem_files import commanded_name, recorded_name


def rerun_command(spec: RunSpec, version: str | None) -> list[str]:
    """Return the command that repeats the run: every default spelled out, the framework's version pinned.

    Parameters
    ----------
    spec : RunSpec
        The run.
    version : str or None
        The framework's version as it ran.
    """
    pinned = spec.framework_version or (version.partition("+")[0] if version else None)
    command = ["python", "-m", "benchmarker", "run"]
    command.append(f"--framework={spec.framework}{f'=={pinned}' if pinned else ''}")
    options: dict[str, Any] = {
        "problem": (recorded_name if spec.anonymous else commanded_name)(spec.problem),
        "mode": spec.mode,
        "batch-size": spec.batch_size,
        "precision": spec.precision,
        "device": spec.device,
        "threads": spec.threads,
        "seed": spec.seed,
        "gpus": ",".join(map(str, spec.gpus)) or None,
        "affinity": ",".join(map(str, spec.affinity)) or None,
        "steps": None if spec.samples_per_epoch else spec.steps,
        "warmup": spec.warmup,
        "window": spec.window,
        "problem-size": spec.samples_per_epoch,
        "data": spec.data,
        "data-dir": spec.data_dir,
        "micro-batch": spec.micro_batch,
        "inputs": None if spec.inputs == "resident" else spec.inputs,
        "sampling": spec.sampling,
        "seconds": None if spec.target_seconds == RunSpec.target_seconds else spec.target_seconds,
        "min-samples": None if spec.minimum_samples == RunSpec.minimum_samples else spec.minimum_samples,
        "price-per-hour": spec.price_per_hour,
        "monitors": None if spec.monitors is None else ",".join(spec.monitors) or "none",
        "timeout": spec.timeout,
        "env": None if spec.environment == "auto" else spec.environment,
        "launcher": None if spec.launcher == "local" else spec.launcher,
        "start": None if spec.start == "spawn" else spec.start,
        "compile-cache": None if spec.compile_cache == "kept" else spec.compile_cache,
    }
    if spec.mode == "training":
        options["optimizer"] = spec.optimizer.kind
        for name in constants(spec.optimizer.kind):
            options[name.replace("_", "-")] = getattr(spec.optimizer, name)
    if spec.samples_per_epoch and spec.steps:
        options["epochs"] = spec.steps * spec.batch_size // spec.samples_per_epoch
    command += [f"--{name}={value}" for name, value in options.items() if value is not None]
    return command + _settings(spec) + _switches(spec)


def _settings(spec: RunSpec) -> list[str]:
    settings = {
        **{f"{recorded_name(spec.problem)}.{name}": value for name, value in spec.problem_parameters.items()},
        **{f"{spec.framework}.{name}": value for name, value in spec.framework_options.items()},
    }
    return [f"--set={name}={as_text(value)}" for name, value in settings.items()]


def _switches(spec: RunSpec) -> list[str]:
    switches = {
        "--breakdown": spec.breakdown,
        "--fold-batch-norm": spec.fold_batch_norm,
        "--no-verify": not spec.verify,
        "--anonymous": spec.anonymous,
    }
    return [name for name, given in switches.items() if given]
