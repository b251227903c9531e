"""How many ONNX models that others' exporters wrote are imported, and right on every engine.

Takes the folder that the ``write_*.py`` scripts filled, imports each model, runs it in every framework, each under its
own interpreter, and compares all outputs with those of the exporter's framework. Prints a table by family, exporter and
opset with a column for each engine, and what stopped the models that are not right. A cell is how many are right, of
how many whose operators the engine has where it lacks those of some::

    python -m benchmarks.onnx_coverage.coverage FOLDER [--engines numpy,pytorch] [--only PART] [--every N]
        [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from benchmarker import registry
from benchmarker.errors import UnsupportedError, UsageError
from benchmarker.execution.environments import resolve

LIBRARIES = ("onednn", "openblas")
"""Run single operators, no networks."""
SOURCES = {
    "keras": "Keras",
    "sklearn": "scikit-learn",
    "timm": "timm",
    "torch": "PyTorch's own layers",
    "torchvision": "torchvision",
}
"""What the first word of a model's name says; other names are models of transformers."""
REFUSED = f"{UnsupportedError.__name__}: "
ROOT = Path(__file__).resolve().parents[2]
Verdicts = Mapping[str, Mapping[str, str]]
"""What each engine made of each model."""


def engines() -> tuple[str, ...]:
    """Return the frameworks that run networks."""
    return tuple(name for name in registry.names("frameworks", ours=True) if name not in LIBRARIES)


def imported(path: Path, folder: Path) -> str:
    """Write a model's graph into ``folder`` and return why it cannot be imported, empty if it can."""
    try:
        problem = registry.problem(f"onnx:{path}")
        with np.load(path.with_suffix(".npz"), allow_pickle=False) as data:
            arrays = {name: data[name] for name in data.files}
        graph = problem.graph(problem.batch_size)
        first = graph.inputs[0]
        if arrays[first.name].shape != first.type.shape:  # of as many samples as are asked for
            graph = problem.graph(len(arrays[first.name]))
    except UsageError as reason:
        return str(reason)
    (folder / f"{path.stem}.json").write_text(json.dumps(graph.to_json()), encoding="utf-8")
    np.savez(folder / f"{path.stem}.npz", **arrays)
    return ""


def run(engine: str, graphs: list[Path], folder: Path) -> dict[str, str]:
    """Return the verdict on each model in one engine; a crash ends one model, not those after it."""
    plugin = registry.framework(engine)
    module = registry.find("frameworks", engine).value.partition(":")[0]
    python = resolve(plugin, choice="managed", progress=print).path
    variables = {**plugin.environment_defaults, **os.environ, **plugin.environment, "PYTHONPATH": str(ROOT)}
    command = [str(python), "-s", str(Path(__file__).with_name("run_engine.py")), engine, module]
    listing, found, left = folder / f"{engine}.txt", dict[str, str](), list(graphs)
    while left:
        listing.write_text("\n".join(map(str, left)), encoding="utf-8")
        # Lines are read as they come, so that what was found is there if the engine ends early.
        rows = []
        with subprocess.Popen(
            [*command, str(listing)],
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            for line in process.stdout or ():
                if line.startswith('{"model"'):
                    rows.append(json.loads(line))
                    print(
                        f"{engine}: {rows[-1]['model']}: {rows[-1]['status'][:60]}",
                        file=sys.stderr,
                        flush=True,
                    )
        found.update({row["model"]: row["status"] for row in rows})
        left = left[len(rows) :]
        if left:
            found[left[0].stem] = f"crashed with {process.returncode}"
            left = left[1:]
    return found


def group(name: str) -> tuple[str, str, int]:
    """Return the family, exporter and opset of a model."""
    model, _, export = name.partition("@")
    exporter, _, opset = export.rpartition("-")
    return SOURCES.get(model.partition("_")[0], "transformers"), exporter, int(opset)


def cell(names: Iterable[str], verdicts: Mapping[str, str]) -> str:
    """Return how many are right, of how many whose operators the engine has if that is not all of them."""
    statuses = [verdicts[name] for name in names]
    right, refused = statuses.count("verified"), sum(status.startswith(REFUSED) for status in statuses)
    able = len(statuses) - refused
    return str(right) if right == able == len(statuses) else f"{right} of {able}"


def table(refusals: Mapping[str, str], verdicts: Verdicts) -> Iterator[str]:
    """Yield the lines of the table in Markdown."""
    yield f"| family | exporter | opset | models | imported | {' | '.join(verdicts)} |"
    yield f"| --- | --- |{' --: |' * (3 + len(verdicts))}"
    groups: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    for name in refusals:
        groups[group(name)].append(name)
    groups = {**dict(sorted(groups.items())), ("all", "", 0): list(refusals)}
    for (family, exporter, opset), names in groups.items():
        sound = [name for name in names if not refusals[name]]
        cells = [cell(sound, rows) for rows in verdicts.values()]
        yield f"| {family} | {exporter} | {opset or ''} | {len(names)} | {len(sound)} | {' | '.join(cells)} |"


def reasons(refusals: Mapping[str, str], verdicts: Verdicts) -> Iterator[str]:
    """Yield a line for each reason why models are not imported, not run or not right."""
    grouped: dict[str, list[str]] = defaultdict(list)
    for name, why in refusals.items():
        if why:
            grouped[why.partition(": ")[2] or why].append(name)
    yield from (f"- {', '.join(names)}: {why}" for why, names in grouped.items())
    for engine, rows in verdicts.items():
        lacking = Counter(lacks(status) for status in rows.values() if status.startswith(REFUSED))
        yield from (f"- {engine} lacks {what}: {count} models" for what, count in lacking.most_common())
        yield from (
            f"- {engine}, {name}: {status}"
            for name, status in rows.items()
            if status != "verified" and not status.startswith(REFUSED)
        )


def lacks(status: str) -> str:
    """Return what an engine said that it cannot do, without the nodes and the model that it names."""
    text = status.removeprefix(REFUSED).partition(" (nodes ")[0].partition("; ")[0]
    return text.rpartition("' has no ")[2]


def main() -> None:
    """Import, run and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engines", default=",".join(engines()))
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1, help="take only every so many models, in their order")
    parser.add_argument("--json", type=Path, help="a file for the verdict on every model")
    asked = parser.parse_args()
    paths = [p for p in sorted(asked.folder.glob("*.onnx")) if asked.only in p.stem]
    paths = [p for p in paths if p.with_suffix(".npz").exists()][:: asked.every]
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
    if asked.json:
        asked.json.write_text(
            json.dumps({"refused": refusals, "engines": verdicts}, indent=1), encoding="utf-8"
        )
    print("\n".join([*table(refusals, verdicts), "", *reasons(refusals, verdicts)]))


if __name__ == "__main__":
    main()
