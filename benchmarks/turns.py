"""How often ``compare --run`` is wrong on this machine, and what it finds: with processes that take turns, and without.

The same program stands on both sides, or one is 5 % slower, by a wait that is planted after each of its steps.
Campaigns of both kinds, in turns and by pairs of processes one after the other, follow each other in an order that is
drawn, so that the machine's mood falls on all alike.
``python benchmarks/turns.py``; ``--framework=pytorch --problem=resnet18`` measures something else
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rows import ROOT, Row, finish, make_parser

from tests.conftest import write_distribution

SLOWER = 0.05
GOAL_FALSE, GOAL_MISSED, GOAL_WIDTH, GOAL_SECONDS = 0.05, 0.05, 0.02, 120.0
SIDES = {"same": 0.0, "slow": SLOWER}
"""What is compared with the base, and by which share its steps are longer."""
SOURCE = '''
import time
from dataclasses import replace

from benchmarker.plugins.{framework} import benchmarker_framework as original
from benchmarker.problems.files import load_object

SLOWER = {{"Base": 0.0, "Same": 0.0, "Slow": {slower}}}


class Plugin:
    def __init__(self, name):
        self.name = name

    def benchmarker_framework(self):
        implementation = "benchmarker_planted:" + self.name
        return replace(original(), name="planted_" + self.name.lower(), implementation=implementation)


class BasePlugin(Plugin):
    def __init__(self):
        super().__init__("Base")


class SamePlugin(Plugin):
    def __init__(self):
        super().__init__("Same")


class SlowPlugin(Plugin):
    def __init__(self):
        super().__init__("Slow")


def __getattr__(name):
    """Return the framework, imported in the worker alone."""
    if name not in SLOWER:
        raise AttributeError(name)
    share = SLOWER[name]

    class Planted(load_object(original().implementation)):
        def build(self, *arguments, **named):
            program = super().build(*arguments, **named)
            for method in ("infer", "train_step"):
                setattr(program, method, longer(program, getattr(program, method), share))
            return program

    return Planted


def longer(program, step, share):
    def stepped(batch):
        start = time.perf_counter()
        output = step(batch)
        program.synchronize(output)
        until = start + (time.perf_counter() - start) * (1 + share)
        while time.perf_counter() < until:
            pass
        return output

    return stepped
'''


@dataclass(frozen=True)
class Campaign:
    """One comparison.

    Parameters
    ----------
    side : str
        Of :data:`SIDES`.
    turns : bool
        Whether the processes of a pair took turns.
    verdict : str or None
        What was said.
    half_width : float or None
        Of the interval, relative; None without one.
    least : float or None
        The slowdown that such pairs show in 80 % of cases.
    seconds : float
        How long it took.
    """

    side: str
    turns: bool
    verdict: str | None
    half_width: float | None
    least: float | None
    seconds: float


class Command:
    """The command, with the planted frameworks installed beside it."""

    def __init__(self, folder: Path, arguments: argparse.Namespace) -> None:
        points = {
            "frameworks": [
                f"planted_{n.lower()} = benchmarker_planted:{n}Plugin" for n in ("Base", "Same", "Slow")
            ]
        }
        source = SOURCE.format(framework=arguments.framework, slower=SLOWER)
        place = write_distribution(
            folder / "planted", "benchmarker-planted", points, {"benchmarker_planted": source}
        )
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(place), str(ROOT)])}
        self._results = folder / "results"
        self._arguments = arguments

    def _run(self, *words: str) -> str:
        command = [sys.executable, "-m", "benchmarker", *words, f"--results={self._results}", "--quiet"]
        done = subprocess.run(
            command, cwd=ROOT, env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        return done.stdout

    def prepare(self) -> None:
        """Make a record of each side, which says what to run."""
        asked = self._arguments
        for side in ("base", *SIDES):
            self._run(
                f"--framework=planted_{side}", f"--problem={asked.problem}", f"--threads={asked.threads}",
                f"--mode={asked.mode}", f"--seconds={asked.seconds}", f"--env={asked.env}", f"--start={asked.start}",
            )  # fmt: skip

    def compare(self, side: str, *, turns: bool) -> Campaign:
        """Make the pairs and return what they show."""
        start = time.monotonic()
        pairs = self._arguments.pairs_in_turns if turns else self._arguments.pairs
        told = self._run(
            "compare", "framework=planted_base", f"framework=planted_{side}", "--run", "--json", f"--pairs={pairs}",
            "--turns" if turns else "--no-turns",
        )  # fmt: skip
        try:
            (row,) = json.loads(told)["rows"]
        except json.JSONDecodeError as error:
            raise SystemExit(f"comparing with {side} printed no JSON but: {told!r}") from error
        return campaign(row, side, turns, time.monotonic() - start)


def campaign(row: dict[str, Any], side: str, turns: bool, seconds: float) -> Campaign:
    """Return what a row of a comparison says."""
    paired, least = row["paired"], row["smallest_effect"]
    width = None if paired is None else paired["ci95"][1] / paired["ratio"] - 1
    return Campaign(side, turns, row["verdict"], width, None if least is None else least - 1, seconds)


def campaigns(command: Command, in_turns: int, by_pairs: int, seed: int) -> Iterator[Campaign]:
    """Yield so many comparisons with each side, in an order that is drawn."""
    command.prepare()
    kinds = [(side, turns) for side in SIDES for turns in [True] * in_turns + [False] * by_pairs]
    random.Random(seed).shuffle(kinds)
    for side, turns in kinds:
        found = command.compare(side, turns=turns)
        how = "in turns" if turns else "by pairs"
        print(
            f"{side}, {how}: {found.verdict or 'no verdict'} in {found.seconds:.0f} s",
            file=sys.stderr,
            flush=True,
        )
        yield found


def percent(value: float) -> str:
    """Write a share."""
    return f"{value:.1%}"


def seconds_text(value: float) -> str:
    """Write a duration."""
    return f"{value:.0f} s"


def rows(found: Sequence[Campaign]) -> Iterator[Row]:
    """Yield the table: what turns and what pairs gave, one below the other."""
    for turns, how in ((True, "in turns"), (False, "by pairs")):
        same, slow = ([one for one in found if (one.side, one.turns) == (side, turns)] for side in SIDES)
        false = [one.verdict in ("faster", "slower") for one in same]
        missed = [one.verdict != "slower" for one in slow]
        if not same:
            continue
        none = [one.verdict is None for one in (*same, *slow)]
        widths = [one.half_width for one in same if one.half_width is not None]
        least = [one.least for one in (*same, *slow) if one.least is not None]
        yield Row(f"{how}: false verdicts of {len(same)} A/A", [sum(false) / len(same)], GOAL_FALSE, percent)
        yield Row(
            f"{how}: {SLOWER:.0%} missed, of {len(slow)}", [sum(missed) / len(slow)], GOAL_MISSED, percent
        )
        yield Row(f"{how}: without any verdict, of {len(none)}", [sum(none) / len(none)], None, percent)
        if widths:
            yield Row(f"{how}: half-width of A/A", widths, GOAL_WIDTH, percent)
        if least:
            yield Row(f"{how}: least slowdown that is shown", least, None, percent)
        yield Row(
            f"{how}: seconds of a campaign",
            [one.seconds for one in (*same, *slow)],
            GOAL_SECONDS,
            seconds_text,
        )


def main() -> int:
    """Measure and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--framework", default="numpy", help="the plug-in that is planted in")
    parser.add_argument("--problem", default="mnist_mlp")
    parser.add_argument("--mode", default="training")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each process that runs alone")
    parser.add_argument(
        "--env", default="current", help="the framework's interpreter: 'benchmarker env path NAME'"
    )
    parser.add_argument("--start", default="spawn", choices=("spawn", "fork"))
    parser.add_argument("--pairs-in-turns", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--campaigns", type=int, default=3, help="in turns, with each side; 20 tell rates")
    parser.add_argument("--campaigns-by-pairs", type=int, default=3, help="with each side, beside them")
    parser.add_argument("--seed", type=int, default=0, help="of the order")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = Command(Path(folder), arguments)
        counts = (arguments.campaigns, arguments.campaigns_by_pairs)
        found = list(campaigns(command, *counts, arguments.seed))
    return finish(list(rows(found)), arguments)


if __name__ == "__main__":
    sys.exit(main())
