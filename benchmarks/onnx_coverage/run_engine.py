"""Run imported models in one framework, under its own interpreter, and compare with what the exporter's framework gave.

``python run_engine.py FRAMEWORK MODULE LISTING`` with the paths of graphs in ``LISTING``; one line of JSON a model.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.data import values
from benchmarker.graph.graph import Graph
from benchmarker.graph.support import check_operators
from benchmarker.worker.program import ProgramBuilder

TOLERANCE = 1e-3
"""Of the largest element of an output; the exporter's framework computed in float32 itself."""


def difference(found: Any, expected: Any) -> float:
    """Return how far an output is off, as a share of its largest element; infinite where it is another one."""
    if found.shape != expected.shape:
        return float("inf")
    wanted, found = expected.astype(np.float64), np.asarray(found, np.float64)
    finite = np.isfinite(wanted)
    if (np.isfinite(found) != finite).any():
        return float("inf")
    off = np.abs(found - wanted)[finite]
    return float(off.max() / max(np.abs(wanted[finite]).max(), 1e-6)) if off.size else 0.0


def run(framework: Any, plugin: Any, path: Path) -> float:
    """Return the largest difference of an output of one model."""
    graph = Graph.from_json(json.loads(path.read_text(encoding="utf-8")))
    check_operators(graph, framework.operators, plugin.name)
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as data:
        arrays = {name: data[name] for name in data.files}
    builder = ProgramBuilder(framework, Device("cpu"), "fp32", plugin.options())
    program = builder.build(graph, values.draw_parameters(graph, 0), "inference")
    batch = {i.name: arrays[i.name].astype(i.type.dtype) for i in graph.inputs}
    output = program.infer(program.load(batch))
    program.synchronize(output)
    found = program.fetch(output)
    return max(difference(y, arrays[f"output{i}"]) for i, y in enumerate(found))


def main() -> None:
    """Run all models of the listing."""
    name, module, listing = sys.argv[1:4]
    plugin = importlib.import_module(module).benchmarker_framework()
    made, _, factory = plugin.implementation.partition(":")
    framework = getattr(importlib.import_module(made), factory)()
    framework.configure(Device("cpu"), threads=1, seed=0)
    for line in Path(listing).read_text(encoding="utf-8").splitlines():
        started = time.perf_counter()
        try:
            with np.errstate(all="ignore"):
                error = run(framework, plugin, Path(line))
            status = "verified" if error <= TOLERANCE else f"off by {error:.2g}"
        except Exception as reason:
            error, status = None, f"{type(reason).__name__}: {reason}"
        seconds = time.perf_counter() - started
        row = {"model": Path(line).stem, "engine": name, "status": status, "error": error, "seconds": seconds}
        print("\n" + json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
