"""How many ONNX models that others' exporters wrote are imported, and right on every engine.

Takes the folder that ``write_models.py`` filled, imports each model, runs it in every framework, each under its
own interpreter, and compares all outputs with what PyTorch gave. Prints a table by family, and what stopped
those that are not imported::

    python -m benchmarks.onnx_coverage.coverage FOLDER [--engines numpy,pytorch] [--only PART]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from benchmarker import registry
from benchmarker.errors import UsageError
from benchmarker.execution.environments import resolve

ENGINES = {
    "numpy": "benchmarker.plugins.numpy",
    "pytorch": "benchmarker.plugins.pytorch",
    "tensorflow": "benchmarker.plugins.tensorflow",
    "jax": "benchmarker.plugins.jax",
    "mxnet": "benchmarker.plugins.mxnet",
    "chainer": "benchmarker.plugins.chainer",
    "onnxruntime": "benchmarker.plugins.onnxruntime",
    "iree": "benchmarker.plugins.iree",
    "opencv": "benchmarker.plugins.opencv",
    "openvino": "benchmarker.plugins.openvino",
    "keras_pytorch": "benchmarker.plugins.keras.backend_pytorch",
    "keras_tensorflow": "benchmarker.plugins.keras.backend_tensorflow",
    "keras_jax": "benchmarker.plugins.keras.backend_jax",
}
ROOT = Path(__file__).resolve().parents[2]


def imported(path: Path, folder: Path) -> str:
    """Write a model's graph into ``folder`` and return why it cannot be imported, empty if it can."""
    try:
        problem = registry.problem(f"onnx:{path}")
        with np.load(path.with_suffix(".npz"), allow_pickle=False) as data:
            arrays = {name: data[name] for name in data.files}
        graph = problem.graph(problem.batch_size)
    except UsageError as reason:
        return str(reason)
    (folder / f"{path.stem}.json").write_text(json.dumps(graph.to_json()), encoding="utf-8")
    np.savez(folder / f"{path.stem}.npz", **arrays)
    return ""


def run(engine: str, graphs: list[Path], folder: Path) -> dict[str, str]:
    """Return the verdict on each model in one engine."""
    listing = folder / f"{engine}.txt"
    listing.write_text("\n".join(map(str, graphs)), encoding="utf-8")
    plugin = registry.framework(engine)
    python = resolve(plugin, choice="managed", progress=print).path
    variables = {**plugin.environment_defaults, **os.environ, **plugin.environment, "PYTHONPATH": str(ROOT)}
    command = [str(python), "-s", str(Path(__file__).with_name("run_engine.py"))]
    finished = subprocess.run(
        [*command, engine, ENGINES[engine], str(listing)],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    rows = [json.loads(line) for line in finished.stdout.splitlines() if line.startswith('{"model"')]
    return {row["model"]: row["status"] for row in rows}


def report(refusals: dict[str, str], verdicts: dict[str, dict[str, str]]) -> str:
    """Return the table in Markdown: models by family and export, then what went wrong."""
    exports = sorted({name.partition("@")[2] for name in refusals})
    families = sorted({name.partition("@")[0] for name in refusals})
    lines = [f"| family | {' | '.join(exports)} |", f"| --- |{' --- |' * len(exports)}"]

    def cell(name: str) -> str:
        if name not in refusals:
            return "not exported"
        if refusals[name]:
            return "refused"
        wrong = [engine for engine, rows in verdicts.items() if rows.get(name, "crashed") != "verified"]
        return f"not {', '.join(wrong)}" if wrong else "verified"

    for family in families:
        lines.append(f"| {family} | {' | '.join(cell(f'{family}@{export}') for export in exports)} |")
    total = Counter(cell(name) for name in refusals)
    share = total["verified"]
    lines += [
        "",
        f"Of {len(refusals)} models, {share} are imported and right on {len(verdicts)} engines.",
        "",
    ]
    grouped: dict[str, list[str]] = defaultdict(list)
    for name, why in refusals.items():
        if why:
            grouped[why.partition(": ")[2] or why].append(name)
    lines += [f"- {', '.join(names)}: {why}" for why, names in grouped.items()]
    for engine, rows in verdicts.items():
        lines += [f"- {engine}, {name}: {status}" for name, status in rows.items() if status != "verified"]
    return "\n".join(lines)


def main() -> None:
    """Import, run and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    paths = [p for p in sorted(asked.folder.glob("*.onnx")) if asked.only in p.stem]
    paths = [p for p in paths if p.with_suffix(".npz").exists()]
    with tempfile.TemporaryDirectory(prefix="onnx-coverage-") as made:
        folder = Path(made)
        refusals = {path.stem: imported(path, folder) for path in paths}
        graphs = [folder / f"{name}.json" for name, why in refusals.items() if not why]
        print(f"{len(graphs)} of {len(paths)} are imported", file=sys.stderr)
        verdicts = {}
        for engine in asked.engines.split(","):
            verdicts[engine] = run(engine, graphs, folder)
            right = sum(status == "verified" for status in verdicts[engine].values())
            print(f"{engine}: {right} of {len(graphs)} are right", file=sys.stderr, flush=True)
    print(report(refusals, verdicts))


if __name__ == "__main__":
    main()
