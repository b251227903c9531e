"""Draw every kind of picture that the kept records allow: ``python analysis/figures.py --output figures``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import benchmarker
from benchmarker.analysis import charts
from benchmarker.errors import UsageError

RESULTS = Path(__file__).resolve().parent.parent / "results"
SOURCES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "frameworks": ("frameworks", {}),
    "devices": ("poster", {}),
    "batch_size": ("batch_sizes", {}),
    "threads": ("threads", {}),
    "latency": ("frameworks", {"problem": "resnet44"}),
    "samples": ("frameworks", {"problem": "resnet44", "repetition": 0}),
    "roofline": ("problems", {}),
    "breakdown": ("breakdown", {"problem": "resnet44"}),
    "learning": ("learning", {}),
    "training_curves": ("training", {}),
    "time_to_target": ("training", {}),
    "performance_profile": ("training", {}),
    "divergence": ("training/divergence", {}),
    "divergence_map": ("training/divergence", {}),
    "memory": ("breakdown", {}),
    "speedup": ("problems", {}),
}
"""The folder of records for each kind of picture, and which of them."""


def main() -> int:
    """Draw, and say what could not be drawn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder; default: figures")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for kind, (source, filters) in SOURCES.items():
        try:
            figure = charts.draw(kind, benchmarker.load_results(RESULTS / source, status="ok", **filters))
        except UsageError as error:
            failed += 1
            print(f"{kind}: {error}")
            continue
        figure.savefig(folder / f"{kind}.svg")
        print(f"{kind}: {folder / kind}.svg")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
