"""The scripts of CI templates, run as their services run them: by bash, inputs as environment variables."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
GITLAB: dict[str, Any] = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text())[".benchmarker-compare"]
_EXPRESSION = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")


def bash(
    script: str, options: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> tuple[int, str]:
    """Return the status of a script, and what it printed.

    A runner has no path of its own, on which a checkout would stand for the package that is to be installed.
    """
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", *options, "-c", script],
        cwd=folder,
        # What pip would compile of NumPy and others takes longer than what is imported of them.
        env={**own, "PIP_COMPILE": "0", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def action_step(name: str, inputs: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the script of a step of the action, and its variables with the inputs in them."""
    given = {key: inputs.get(key, declared.get("default")) for key, declared in ACTION["inputs"].items()}
    (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == name]
    assert step["shell"] == "bash"
    assert "${{" not in step["run"], "an input inside of a script could add commands to it"
    return step["run"], {
        variable: _EXPRESSION.sub(lambda found: str(given[found[1]]), text)
        for variable, text in step["env"].items()
    }


def run_action(name: str, inputs: Mapping[str, str], folder: Path, temporary: Path) -> tuple[int, str]:
    """Run a step of the action as GitHub does."""
    script, variables = action_step(name, inputs)
    service = {
        "RUNNER_TEMP": str(temporary),
        "GITHUB_STEP_SUMMARY": str(folder.parent / "step-summary.md"),
        "GITHUB_OUTPUT": str(folder.parent / "output"),
    }
    return bash(script, ["-e", "-o", "pipefail"], folder, {**service, **variables})


def run_gitlab(key: str, variables: Mapping[str, str], folder: Path) -> tuple[int, str]:
    """Run the commands of a part of the template as GitLab's runner does."""
    values = {**GITLAB["variables"], **variables}
    return bash("\n".join(GITLAB[key]), ["-e", "-o", "pipefail"], folder, values)
