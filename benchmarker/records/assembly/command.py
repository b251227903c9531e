"""The command that repeats a run."""

from __future__ import annotations

from benchmarker import registry
from benchmarker.api.optimizer import constants
from benchmarker.api.options import as_text
from benchmarker.api.update_rule import rule_constants
from benchmarker.experiment.options import RUN_OPTIONS
from benchmarker.experiment.recipes import recipe_argument
from benchmarker.experiment.spec import RunSpec
from benchmarker.experiment.training_settings import settings_of
from benchmarker.training.optimizers import BUILT_IN

_OPTIONS = frozenset(name for rule in BUILT_IN.values() for name in rule_constants(rule))


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
    if spec.training is not None:
        command[-1:] = ["train", recipe_argument(spec.training)]
        if not spec.training["early_stop"]:
            command.append("--no-early-stop")
        if spec.training.get("max_steps"):
            command.append(f"--max-steps={spec.training['max_steps']}")
        command += [f"--set=training.{name}={value}" for name, value in settings_of(spec.training).items()]
    command.append(f"--framework={spec.framework}{f'=={pinned}' if pinned else ''}")
    command.append(f"--problem={spec.problem.name if spec.anonymous else spec.problem.commanded_name}")
    if spec.mode == "training":
        kind, rule = spec.optimizer.kind, spec.optimizer.rule
        command.append(f"--optimizer={kind if spec.anonymous else registry.requested_name(kind)}")
        # Of a constant that only a file's rule has, the command has no option: a blueprint does.
        for name in filter(_OPTIONS.__contains__, constants(kind)):
            command.append(f"--{name.replace('_', '-')}={getattr(rule, name)}")
        for name, value in spec.optimizer.modifiers.changed.items():
            command.append(f"--{name.replace('_', '-')}={value}")
    for option in RUN_OPTIONS.values():
        if spec.training is not None and not option.of_recipes:
            continue
        value = getattr(spec, option.name)
        if option.name == "batch_size" and spec.scaling == "weak":
            value //= spec.ranks  # of which planning makes that of all ranks again
        command += option.arguments(value)
    if spec.samples_per_epoch and spec.steps:
        command.remove(f"--steps={spec.steps}")
        command.append(f"--epochs={spec.steps * spec.batch_size // spec.samples_per_epoch}")
    return command + _settings(spec)


def _settings(spec: RunSpec) -> list[str]:
    settings = {
        **{f"{spec.problem.name}.{name}": value for name, value in spec.problem_parameters.items()},
        **{f"{spec.framework}.{name}": value for name, value in spec.framework_options.items()},
    }
    return [f"--set={name}={as_text(value)}" for name, value in settings.items()]
