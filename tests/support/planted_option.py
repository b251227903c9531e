"""Prints what becomes of a run option that is declared by one line more in the table, as JSON.

A program of its own, because the table is read when modules are imported.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

TABLE = "benchmarker.experiment.options"
DECLARATION = """    flavour: str = option(
        Choice(("plain", "spiced", "smoked")), "how it tastes", default="plain", axis="flavours", group="what",
        compares="changed",
    )
"""
BEFORE = "    environment: str = option("


def plant() -> None:
    """Import the table with one declaration more."""
    found = importlib.util.find_spec(TABLE)
    assert found is not None
    assert found.origin is not None
    source = Path(found.origin).read_text()
    assert source.count(BEFORE) == 1
    module = importlib.util.module_from_spec(found)
    sys.modules[TABLE] = module
    exec(compile(source.replace(BEFORE, DECLARATION + BEFORE), found.origin, "exec"), vars(module))  # noqa: S102


def printed(work: Callable[[], Any]) -> tuple[Any, str]:
    """Return what work returned, or the status it exited with, and what it printed."""
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        try:
            result = work()
        except SystemExit as end:
            result = end.code
    return result, out.getvalue()


def blueprint(text: str) -> Path:
    """Return a blueprint with a line more."""
    path = Path(tempfile.mkdtemp()) / "b.toml"
    path.write_text(f'framework = "numpy"\nproblem = "mnist_mlp"\n{text}\n')
    return path


def readings() -> dict[str, Any]:
    """Return what each reader of the table makes of the option."""
    from benchmarker.analysis.text.factors import specification_factors
    from benchmarker.cli.main import main
    from benchmarker.experiment.blueprint.json_schema import blueprint_schema
    from benchmarker.experiment.blueprint.loading import check, load
    from benchmarker.experiment.faults import faults
    from benchmarker.experiment.planning import matrix
    from benchmarker.experiment.spec import Experiment, specification
    from benchmarker.orchestration.rerun import experiment_from_record
    from benchmarker.records.assembly.command import rerun_command
    from benchmarker.records.keys import comparable
    from benchmarker.records.lookup import specification_of

    names: dict[str, Any] = {"frameworks": ("numpy",), "problems": ("mnist_mlp",)}
    mlp = ["run", "--framework=numpy", "--problem=mnist_mlp", "--dry-run", "--json"]
    planned = printed(lambda: main([*mlp, "--flavour=spiced,smoked"]))[1]
    plain, spiced = matrix(Experiment(**names, flavours=("plain", "spiced")))
    record = {"specification": specification(spiced), "execution": {"timeout_seconds": None}, "command": []}
    older = {name: value for name, value in specification(spiced).items() if name != "flavour"}
    return {
        "help": printed(lambda: main(["run", "--help"]))[1],
        "command": [json.loads(line)["flavour"] for line in planned.splitlines()],
        "refused": printed(lambda: main([*mlp, "--flavour=spicy"])),
        "faults": [list(fault) for fault in faults(Experiment(**names, flavours=("spicy",)))],
        "blueprint": load(blueprint('flavour = ["spiced", "smoked"]')).values["flavours"],
        "blueprint faults": [fault.message for fault in check(blueprint('flavour = "spicy"'))[0]],
        "schema": blueprint_schema()["properties"]["flavour"],
        "repeated": [rerun_command(run, None) for run in (plain, spiced)],
        "again": [vars(run)["flavour"] for run in matrix(experiment_from_record(record))],
        "compared": [comparable(run, None)["keys"].get("flavour") for run in (plain, spiced)],
        "hashes differ": comparable(plain, None)["hash"] != comparable(spiced, None)["hash"],
        "older": specification_of({"specification": older})["flavour"],
        "columns": [
            [factor.title, factor.texts]
            for factor in specification_factors([specification(plain), specification(spiced)])
            if factor.varies
        ],
    }


if __name__ == "__main__":
    plant()
    json.dump(readings(), sys.stdout)
