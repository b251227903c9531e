"""The managed environment of ONNX Runtime, and scripts that run in it."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from benchmarker import registry
from benchmarker.environments import resolve
from tests.conftest import ROOT


@cache
def interpreter(home: Path) -> str:
    """Return the Python of the environment, made under ``home`` if it is not there."""
    before = os.environ.get("BENCHMARKER_HOME")
    os.environ["BENCHMARKER_HOME"] = str(home)
    try:
        plugin = registry.framework("onnxruntime")
        return str(resolve(plugin, choice="managed", version=None, cuda=False, progress=print).path)
    finally:
        if before is None:
            del os.environ["BENCHMARKER_HOME"]
        else:
            os.environ["BENCHMARKER_HOME"] = before


def run_script(home: Path, script: str, *arguments: str) -> Any:
    """Run a script under that Python with our code, and return the JSON of its last line."""
    child = subprocess.run(
        [interpreter(home), "-s", "-c", script, *arguments],
        env={**os.environ, **registry.framework("onnxruntime").environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout.splitlines()[-1])
