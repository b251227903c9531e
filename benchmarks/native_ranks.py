"""Is a framework's own all-reduce through benchmarker as quick as its usual idiom by hand? Two ranks.

Each pair is a fresh group of processes, which have met as the framework's own launcher has them meet, and make a
step of ours and one by hand in turns.
``python benchmarks/native_ranks.py``
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from command import environment, interpreter_of
from rows import Row, finish, make_parser, ratio

from benchmarker import registry
from benchmarker.execution.free_addresses import free_addresses
from benchmarker.execution.launchers.pmi import PmiServer, mpi_variables

FOLDER = Path(__file__).resolve().parent / "distributed"
GOAL, RANKS = 1.02, 2
FRAMEWORKS = (
    "pytorch",
    "tensorflow",
    "jax",
    "chainer",
    "mxnet",
    "keras_pytorch",
    "keras_tensorflow",
    "keras_jax",
)
SCHEMES = ("all-reduce", "parameter-server")
"""Native schemes that give the same update; of each framework the first that it has."""


def measured(framework: str, *sizes: int) -> float:
    """Return the ratio of the median step of ours to that by hand, in a fresh group."""
    plugin, interpreter = registry.framework(framework), interpreter_of(framework, ranks=True)
    entry = registry.find("frameworks", framework)
    variables = {
        **environment(1),
        **plugin.environment_defaults,
        **plugin.environment,
        **dict.fromkeys(plugin.thread_variables, "1"),
    }
    scheme = next(name for name in SCHEMES if name in plugin.schemes)
    count = RANKS + len(plugin.schemes[scheme].helpers)
    addresses = free_addresses(["127.0.0.1"] * count)
    with PmiServer(RANKS) as pmi:
        groups = [
            subprocess.Popen(
                [
                    interpreter, "-s", str(FOLDER / "rank.py"), entry.value, framework, scheme, str(rank), str(RANKS),
                    *map(str, sizes), *addresses,
                ],
                env={**variables, **(pmi.variables(rank) if rank < RANKS else {}), **mpi_variables("lo")},
                pass_fds=pmi.descriptors(rank) if rank < RANKS else (),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(count)
        ]  # fmt: skip
        ended = [process.communicate() for process in groups]
    for process, (_, stderr) in zip(groups, ended):
        if process.returncode:
            raise SystemExit(
                f"a rank of {framework} ended with status {process.returncode}:\n{stderr[-3000:]}"
            )
    found = json.loads([line for line in ended[0][0].splitlines() if line.startswith("{")][-1])
    ours, by_hand = found["losses"]["ours"], found["losses"]["by_hand"]
    if abs(ours - by_hand) > 1e-3 * abs(by_hand):
        raise SystemExit(f"{framework}: the loss is {ours} by us and {by_hand} by hand")
    print(
        f"{framework}: {found['ours'] * 1e3:.3f} ms, by hand {found['by_hand'] * 1e3:.3f} ms", file=sys.stderr
    )
    return float(found["ours"] / found["by_hand"])


def main() -> int:
    """Measure and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--framework", choices=FRAMEWORKS, action="append", help="all by default")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--width", type=int, default=256)
    arguments = parser.parse_args()
    sizes = arguments.steps, arguments.batch_size, arguments.width
    rows = [
        Row(
            f"{framework}: a step of {RANKS} ranks over the same by hand",
            [measured(framework, *sizes) for _ in range(arguments.pairs)],
            GOAL,
            ratio,
        )
        for framework in arguments.framework or FRAMEWORKS
    ]
    return finish(rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
