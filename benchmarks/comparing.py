"""How often ``compare`` is wrong, and how often it finds what is there: simulated, and on this machine.

Sides that are equal are compared in pairs of simulated processes (``tests/support/simulated_comparisons.py``):
log-normal, 1 to 10 %
between processes, 2 % within them with autocorrelation 0.5 and a tail; also with heavy tails between processes, a
drift of the machine, and neighbours in time that are alike. Beside each stands a constant threshold of 7 % on
means. Then sides that differ, against the power that is planned.
``python benchmarks/comparing.py``; with ``--real`` fresh processes of one thing are compared with themselves
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rows import ROOT, Row, finish, make_parser

from benchmarker.analysis.comparison.paired_test import paired, power, smallest_effect
from benchmarker.analysis.comparison.pairs import Pair, median_step
from benchmarker.analysis.comparison.self_comparison import pairs_with_itself
from benchmarker.records.precision import CONTAMINATED
from tests.support.simulated_comparisons import (
    DRIFT,
    MARGIN,
    PAIRS,
    Simulated,
    drifting,
    false_alarms,
    heavy,
    normal,
    simulate,
    skewed,
    verdicts,
    wandering,
)

GOAL_FALSE_ALARMS, GOAL_POWER, GOAL_REAL, THRESHOLD = 0.05, 0.05, 2, 0.07
BETWEEN = (0.01, 0.02, 0.05, 0.10)
NOISES = {
    **{f"{between:.0%} between processes": normal(between) for between in BETWEEN},
    "1 %, heavy tail": heavy(0.01),
    "10 %, heavy tail": heavy(0.10),
    "5 %, a tenth much slower": skewed(0.05),
    f"1 %, drift of {DRIFT:.0%}": drifting(normal(0.01)),
    f"10 %, drift of {DRIFT:.0%}": drifting(normal(0.10)),
    "10 %, neighbours alike": wandering(0.10),
}


def percent(value: float) -> str:
    """Write a share."""
    return f"{value:.1%}"


def beyond(simulated: Simulated, processes: int) -> float:
    """Return the share of comparisons whose means differ by more than the threshold."""
    return float(np.mean(np.abs(simulated.blocks(processes) - 1) > THRESHOLD))


def equal_sides(count: int, seed: int) -> Iterator[Row]:
    """Yield the false alarms in each noise, with those of the threshold beside them."""
    for name, effects in NOISES.items():
        simulated = simulate(effects, count, seed)
        found = simulated.pairs()
        yield Row(f"false alarms, {name}", [false_alarms(found)], GOAL_FALSE_ALARMS, percent)
        for processes in (1, PAIRS):
            each = "1 process" if processes == 1 else f"{processes} processes"
            name_of = f"  the same by a threshold of {THRESHOLD:.0%}, {each} a side"
            yield Row(name_of, [beyond(simulated, processes)], None, percent)


def different_sides(count: int, seed: int) -> Iterator[Row]:
    """Yield how far the share that is found is from the planned one, over several sizes of the difference."""
    for between in BETWEEN:
        simulated = simulate(normal(between), count, seed)
        first, other = simulated.sides()
        deviation = float(np.std(np.log(other / first)))
        ratios = ((1 + MARGIN) * math.exp(smallest_effect(deviation, PAIRS)), 1.05, 1.10)
        gaps = [abs(_found(simulated, ratio) - _planned(ratio, deviation)) for ratio in ratios]
        yield Row(f"power found less planned, {between:.0%} between", [max(gaps)], GOAL_POWER, percent)


def _found(simulated: Simulated, ratio: float) -> float:
    found = verdicts(simulated.pairs(ratio))
    return found.count("slower") / len(found)


def _planned(ratio: float, deviation: float) -> float:
    return power(math.log(ratio / (1 + MARGIN)), deviation, PAIRS)


def measure(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the records of fresh processes, two for each pair, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "benchmarker", f"--framework={arguments.framework}"),
            *("--problem=mnist_mlp", f"--threads={arguments.threads}", f"--seconds={arguments.seconds}"),
            *(f"--repeats={2 * arguments.pairs}", f"--results={folder}"),
        ]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        return [json.loads(path.read_text()) for path in sorted(Path(folder).glob("*.json"))]


def itself(pairs: Sequence[Pair]) -> Iterator[Row]:
    """Yield how many verdicts are wrong if the pairs are cut into comparisons, and in every window of them."""
    size = min(PAIRS, len(pairs))
    cuts = {"cut into": size, "in all windows": 1}
    disturbed = sum(pair.reason == CONTAMINATED for pair in pairs)
    for name, step in cuts.items():
        windows = [pairs[i : i + size] for i in range(0, len(pairs) - size + 1, step)]
        wrong = sum(_verdict(window) in ("faster", "slower") for window in windows)
        what = f"real A/A, {len(pairs)} pairs ({disturbed} disturbed) {name} {len(windows)} of {size}: wrong"
        yield Row(what, [wrong], GOAL_REAL, str)
    whole = paired([median_step(p.first) for p in pairs], [median_step(p.other) for p in pairs])
    assert whole is not None  # there are at least three pairs
    yield Row(f"half-width of all {len(pairs)} pairs", [whole.half_width], None, percent)


def _verdict(pairs: Sequence[Pair]) -> str:
    found = paired([median_step(pair.first) for pair in pairs], [median_step(pair.other) for pair in pairs])
    assert found is not None  # a window has at least three pairs
    return verdicts([found])[0]


def main() -> int:
    """Simulate, or measure, and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--comparisons", type=int, default=2000, help="simulated in each noise")
    parser.add_argument("--seed", type=int, default=0, help="of the simulated times")
    parser.add_argument("--real", action="store_true", help="compare fresh processes with themselves instead")
    parser.add_argument("--framework", default="numpy")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each process")
    parser.add_argument("--pairs", type=int, default=40)
    arguments = parser.parse_args()
    if arguments.pairs < 3:
        parser.error(f"a comparison must have at least 3 pairs, got {arguments.pairs}")
    if arguments.real:
        pairing = pairs_with_itself(measure(arguments))
        return finish(list(itself(pairing.pairs)), arguments)
    count, seed = arguments.comparisons, arguments.seed
    return finish([*equal_sides(count, seed), *different_sides(count, seed)], arguments)


if __name__ == "__main__":
    sys.exit(main())
