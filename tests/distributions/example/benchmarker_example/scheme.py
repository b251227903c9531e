"""Networks that a text file lists, a width a line: ``layers:FILE``."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from benchmarker.api import Network, Problem, ProblemReference, ProblemScheme, ResolvedProblem, UsageError


class Layers(ProblemScheme):
    def resolve(self, problem: ProblemReference, path: Path) -> ResolvedProblem:
        if not path.is_file():
            raise UsageError(f"layers: needs the path of a file that is there, got '{path}'")
        content = path.read_text()
        digest = hashlib.sha256(content.encode()).hexdigest()
        arguments = (problem.name, content)
        return ResolvedProblem(
            "benchmarker_example.scheme:make", arguments, "list of layers", f"sha256:{digest}"
        )


def benchmarker_problem_scheme() -> ProblemScheme:
    return Layers()


@dataclass(frozen=True)
class Parameters:
    inputs: int = 8


def make(name: str, content: str) -> Problem:
    widths = [int(line) for line in content.split()]

    def build(net: Network, p: Parameters) -> None:
        x = net.input("features", (p.inputs,))
        for number, width in enumerate(widths):
            x = net.relu(net.dense(f"layer{number}", x, width))
        net.output(x)

    return Problem(name=name, task="made of a list", source=name, parameters=Parameters, build=build)
