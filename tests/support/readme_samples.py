"""The outputs that the README and the pages of ``docs`` show, made from the records in ``results``.

``python -m tests.support.readme_samples`` writes them anew.

A sample is the fenced block below a comment ``<!-- sample NAME -->``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarker.analysis.comparison.recipe_rankings import recipe_rankings
from benchmarker.analysis.text.experiment_table import comparison_table, record_summary
from benchmarker.analysis.text.factors import trainer_label
from benchmarker.analysis.text.layout import Column, table
from benchmarker.analysis.text.operators import operators_report
from benchmarker.analysis.text.trainings import RANKING_HEADINGS, ranking_rows, ranking_table
from benchmarker.records.migration import newest
from benchmarker.records.schema import Record

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").rglob("*.md")))
"""Those that may show samples."""
_SAMPLE = re.compile(r"(<!-- sample (\w+) -->\n```\w+\n)(.*?)(?=```)", re.DOTALL)

_LINES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "": (
        *(("schema_version",), ("id",), ("status",), ("error",), ("started_at",), ("command",)),
        *(("mode",), ("batch_size",), ("precision",), ("seed",), ("framework",), ("problem",), ("device",)),
        *(("platform",), ("environment",), ("digests",), ("timing",), ("metrics",), ("trust",)),
        *(("comparable",), ("replication",), ("verification",)),
    ),
    "timing": (
        ("import_seconds", "build_seconds", "compile_seconds", "warmup_seconds"),
        ("sampling", "steps", "block_steps"),
        ("samples_seconds",),
        ("steady_state",),
        ("step_seconds",),
    ),
    "verification": (("status", "reference", "samples"), ("tensors",)),
}
"""Members of the objects that take several lines, those of a line together."""
_MEMBERS: Mapping[str, tuple[str, ...]] = {
    "framework": ("name", "version", "options", "libraries"),
    "framework.libraries": ("onednn",),
    "problem": ("name", "parameters", "parameter_count", "flops_per_step"),
    "platform": ("cpu", "gpus", "memory"),
    "platform.cpu": ("model", "physical_cores"),
    "platform.memory": ("total_bytes",),
    "environment": ("kind", "python", "packages"),
    "environment.packages": ("numpy", "torch"),
    "timing.steady_state": ("kind", "start"),
    "timing.step_seconds": ("count", "median", "ci95", "ci95_level", "mean", "p90"),
    "metrics": ("throughput", "flops_per_second", "loss_first", "loss_last"),
    "trust": ("grade", "reasons", "precision", "evidence"),
    "trust.reasons": ("kind", "severity", "text"),
    "trust.evidence": ("cpus", "steal_share", "run_delay_share"),
    "comparable": ("hash",),
    "replication": ("round", "processes", "stop_reason"),
    "verification.tensors": ("name", "kind", "elements", "norm_error", "norm_tolerance", "passed"),
}
"""Members that are shown of objects on one line; of others, all."""
_MAX_ENTRIES = {"command": 6, "verification.tensors": 1, "trust.reasons": 1}
_WIDE, _WIDEST = 110, 125
_TRAINERS = ("numpy", "pytorch", "tensorflow", "mxnet", "chainer", "jax")
"""Whose times to a target the README has; the pages have those of all."""
_LIST, _DIGEST = 4, len("sha256:") + 16


def excerpt(value: Any, path: str = "", indent: int = 0) -> str:
    """Return a part of a record as JSON, with ``…`` for what is left out."""
    if isinstance(value, dict):
        return _lines(value, path, indent) if path in _LINES else _object(value, path)
    if isinstance(value, list):
        most = _MAX_ENTRIES.get(path, _LIST)
        shown = [excerpt(item, path) for item in value[:most]]
        return f"[{', '.join([*shown, *['…'] * (len(value) > most)])}]"
    if isinstance(value, str) and value.startswith("sha256:"):
        value = f"{value[:_DIGEST]}…"
    elif isinstance(value, float):
        value = float(f"{value:.6g}")
    return json.dumps(value, ensure_ascii=False)


def _member(value: Mapping[str, Any], name: str, path: str, indent: int) -> str:
    return f'"{name}": {excerpt(value[name], f"{path}.{name}".lstrip("."), indent)}'


def _object(value: Mapping[str, Any], path: str) -> str:
    names = [name for name in _MEMBERS.get(path, tuple(value)) if name in value]
    shown = [_member(value, name, path, 0) for name in names]
    return "{" + ", ".join([*shown, *["…"] * (len(names) < len(value))]) + "}"


def _lines(value: Mapping[str, Any], path: str, indent: int) -> str:
    space, shown = " " * indent, [[name for name in line if name in value] for line in _LINES[path]]
    lines = [
        f"{space}  {', '.join(_member(value, name, path, indent + 2) for name in names)}"
        for names in shown
        if names
    ]
    rest = [f"{space}  …"] if sum(map(len, shown)) < len(value) else []
    return "\n".join(["{", ",\n".join([*lines, *rest]), f"{space}}}"])


def samples(results: Path) -> dict[str, str]:
    """Return the samples by name.

    Parameters
    ----------
    results : Path
        Holds the records that the README's two commands leave: ``resnet50`` in training, PyTorch alone first, then
        all frameworks; ``training``, ``engines`` and ``generation`` in it those of recipes and blueprints.
    """
    paths = sorted(results.glob("*_resnet50_training_*.json"))
    first, *compared = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    names = [record["framework"]["name"] for record in compared]
    trained = _records(results / "training")
    command = f"$ .venv/bin/python -m benchmarker --framework={','.join(names)} --problem=resnet50"
    return {
        "summary": f"{record_summary(newest(first), f'results/{paths[0].name}')}\n",
        "table": f"{command}\n{comparison_table(map(newest, compared))}\n\n{len(compared)} records in results\n",
        "record": f"{excerpt(first)}\n",
        "trainings": f"{ranking_table(trained, width=_WIDE)}\n",
        "targets": f"{_targets(trained)}\n",
        "libraries": f"{operators_report(_from(_records(results / 'libraries'), 'onednn'), width=_WIDE)}\n",
        **{name: f"{_tables(_records(results / name))}\n" for name in ("engines", "generation")},
    }


def _targets(records: Sequence[Record]) -> str:
    """Return a row per framework: the seconds to each recipe's target, their interval and the verdict on them."""
    found = recipe_rankings(records, trainer_label)
    seconds = RANKING_HEADINGS.index("seconds, median")
    rows: dict[str, list[str]] = {}
    for ranking in found:
        for _, label, *cells in ranking_rows(ranking):
            if label.split()[0] not in _TRAINERS:
                continue
            median, interval, _, verdict = cells[seconds - 2 :]
            told = verdict.replace("not shown", "?")
            rows.setdefault(label, []).append(f"{median} {interval} {told}")
    columns = zip(*rows.values())
    recipes = [Column(one.recipe, texts) for one, texts in zip(found, columns)]
    return table([Column("seconds to the target", tuple(rows)), *recipes], _WIDEST)


def _from(records: Iterable[Record], first: str) -> list[Record]:
    """Return records with those of one framework first, with which others are compared; each problem's together."""
    return sorted(
        records,
        key=lambda record: (
            record["framework"]["name"] != first,
            record["problem"]["name"],
            sorted(record["problem"]["parameters"].items()),
            record["execution"]["threads"],
        ),
    )


def _tables(records: Sequence[Record]) -> str:
    """Return a table for each problem, without the notes that the command prints below it."""
    problems = sorted({record["problem"]["name"] for record in records})
    ordered = sorted(records, key=lambda record: record["timing"]["step_seconds"]["median"])
    tables = (
        comparison_table((record for record in ordered if record["problem"]["name"] == problem), width=_WIDE)
        for problem in problems
    )
    return "\n\n".join("\n\n".join(table.split("\n\n")[:2]) for table in tables)


def _records(folder: Path) -> list[Record]:
    """Return the records of a folder in their order, without those in the folders below."""
    return [newest(json.loads(path.read_text(encoding="utf-8"))) for path in sorted(folder.glob("*.json"))]


def shown(readme: str) -> dict[str, str]:
    """Return the samples that a text has."""
    return {name: text for _, name, text in _SAMPLE.findall(readme)}


def with_samples(readme: str, made: Mapping[str, str]) -> str:
    """Return the text with its samples replaced."""
    return _SAMPLE.sub(lambda found: found[1] + made[found[2]], readme)


if __name__ == "__main__":
    made = samples(ROOT / "results")
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(with_samples(text, made), encoding="utf-8")
