"""``python -m benchmarker.analysis.reference_runs RESULTS FILE`` writes what the target of a recipe rests on.

RESULTS is the folder of at least 20 trainings of one recipe by one framework, one per seed, to their limits
(``benchmarker train RECIPE --framework=numpy --seeds=20 --no-early-stop --results=RESULTS``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarker.errors import BenchmarkerError, UsageError
from benchmarker.records.lookup import Record
from benchmarker.records.store import iter_records
from benchmarker.training.reference_runs import MIN_SEEDS, ReferenceRun, ReferenceRuns


def reference_runs(records: Sequence[Record]) -> ReferenceRuns:
    """Return the reference runs of records.

    Raises
    ------
    UsageError
        If they are too few, of several recipes or frameworks, or ended before their limits.
    """
    trained = [record for record in records if record["status"] == "ok" and record["training"]]
    kinds = {(r["training"]["recipe"]["digest"], r["framework"]["full"]) for r in trained}
    if len(kinds) != 1:
        raise UsageError(f"reference runs are of one recipe and one framework, got {len(kinds)} of them")
    if any(record["training"]["outcome"] == "target" for record in trained):
        raise UsageError("reference runs go to their limits; train with --no-early-stop")
    seeds = {record["seed"]: record["training"] for record in trained}
    if len(seeds) < MIN_SEEDS:
        raise UsageError(f"a target rests on at least {MIN_SEEDS} seeds, got {len(seeds)}")
    ((digest, framework),) = kinds
    runs = tuple(
        ReferenceRun(seed, training["hit"] and training["hit"]["step"], training["best"], training["last"])
        for seed, training in sorted(seeds.items())
    )
    return ReferenceRuns(digest, framework, runs)


def main(arguments: Sequence[str]) -> int:
    """Write the file and return the exit status."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder, path = map(Path, arguments)
    try:
        found = reference_runs([record for _, record in iter_records(folder, lambda path, reason: None)])
    except BenchmarkerError as error:
        print(f"benchmarker: {error}", file=sys.stderr)
        return error.exit_status
    rows = ",\n".join(f"    {json.dumps(vars(run))}" for run in found.runs)
    head = f'  "recipe": {json.dumps(found.recipe)},\n  "framework": {json.dumps(found.framework)},\n'
    path.write_text(f'{{\n{head}  "runs": [\n{rows}\n  ]\n}}\n', encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
