"""Suites: DeepBench's sizes as published, chosen by name, and levels that suit them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarker import registry
from benchmarker.api.suite import Request
from benchmarker.errors import UsageError
from benchmarker.experiment.blueprint.loading import check, load
from benchmarker.experiment.fault import ExperimentError
from benchmarker.experiment.planning import matrix, plan
from benchmarker.experiment.spec import Experiment
from benchmarker.experiment.suites.deepbench import SIZES
from benchmarker.experiment.suites.selection import requests
from benchmarker.graph.cost import graph_cost
from tests.conftest import Command

COUNTS = {
    "deepbench-gemm-training": 160,
    "deepbench-gemm-inference-server": 75,
    "deepbench-gemm-inference-device": 13,
    "deepbench-conv-training": 94,
    "deepbench-conv-inference-server": 107,
    "deepbench-conv-inference-device": 16,
    "deepbench-rnn-training": 53,
    "deepbench-rnn-inference-server": 69,
    "deepbench-rnn-inference-device": 3,
    "deepbench-sparse-gemm-inference-server": 24,
    "deepbench-sparse-gemm-inference-device": 8,
}
"""Of the lists in DeepBench's headers."""


def flops(request: Request) -> int:
    graph = registry.problem(request.name).graph(**{name: v[0] for name, v in request.settings.items()})
    return graph_cost(graph).forward_flops


def test_every_published_configuration_is_there() -> None:
    found = {name: len(suite.requests) for name, suite in registry.suites().items()}
    assert {name: found[name] for name in COUNTS} == COUNTS
    data = json.loads(SIZES.read_text())
    assert len(data["kinds"]["all_reduce"]["training"]) == 35
    assert sum(COUNTS.values()) + 35 == 657
    assert data["about"]["commit"] == "da81ba7820739e2e506dc27f382d15be5479f98f"
    assert data["about"]["licence"] == "Apache-2.0"


@pytest.mark.parametrize("kind", ["gemm", "conv", "rnn", "sparse-gemm"])
def test_a_kind_has_all_its_uses(kind: str) -> None:
    uses = [name for name in COUNTS if name.startswith(f"deepbench-{kind}-")]
    every = registry.suites()[f"deepbench-{kind}"].requests
    assert Counter(map(repr, every)) == Counter(
        repr(request) for name in uses for request in registry.suites()[name].requests
    )


def test_the_first_and_the_largest_products_are_the_published_ones() -> None:
    first = registry.suites()["deepbench-gemm-training"].requests[0]
    settings = {"m": (1760,), "n": (16,), "k": (1760,), "a_transposed": (False,), "b_transposed": (False,)}
    assert first == Request("deepbench_gemm", settings)
    server = registry.suites()["deepbench-gemm-inference-server"].requests
    assert max(request.settings["k"][0] for request in server) == 500_000


@pytest.mark.parametrize("name", COUNTS)
def test_every_configuration_can_be_planned(name: str) -> None:
    chosen = requests([name])
    runs = matrix(Experiment(("numpy",), chosen, level="operator"))
    assert len(runs) == len(chosen) * (1 if "sparse" in name else 2)


def test_repeats_are_run_once() -> None:
    conv = registry.suites()["deepbench-conv-training"].requests
    assert len(conv) == 94
    assert len(requests(["deepbench-conv-training"])) == 90
    assert requests(["deepbench-conv", "deepbench-conv-training"]) == requests(["deepbench-conv"])


def test_a_sample_is_spread_by_cost_and_begins_with_the_cheapest() -> None:
    every = requests(["deepbench-gemm-training"])
    chosen = requests(["deepbench-gemm-training"], 4)
    ranks = [sorted(map(flops, every)).index(flops(request)) for request in chosen]
    assert len(chosen) == 4
    assert ranks == pytest.approx([20, 60, 100, 140], abs=8)  # equal costs have one rank
    assert all(request in every for request in chosen)


def test_a_sample_larger_than_the_suite_is_all_of_it() -> None:
    every, chosen = (
        requests(["deepbench-rnn-inference-device"]),
        requests(["deepbench-rnn-inference-device"], 50),
    )
    assert len(chosen) == len(every)
    assert all(request in every for request in chosen)


@pytest.mark.parametrize(
    ("names", "sample", "message"),
    [
        (["deepbench-gem"], None, "unknown suite 'deepbench-gem'; did you mean 'deepbench-gemm'"),
        (["deepbench-gemm"], 0, "must be at least 1 configuration, got 0"),
    ],
)
def test_what_is_no_choice_is_refused(names: list[str], sample: int | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        requests(names, sample)


# --- levels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "modes", "breakdown"),
    [
        ({}, ("training",), False),
        ({"level": "operator"}, ("inference", "gradient"), False),
        ({"level": "network"}, ("inference", "gradient"), True),
        ({"level": "training"}, ("training",), False),
        ({"level": "network", "modes": ("inference",), "breakdown": False}, ("inference",), False),
    ],
)
def test_a_level_decides_what_is_not_given(
    given: dict[str, Any], modes: tuple[str, ...], breakdown: bool
) -> None:
    experiment = Experiment(("numpy",), ("gemm",), **given)
    assert (experiment.modes, experiment.breakdown) == (modes, breakdown)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"level": "operator", "problems": ("mnist_mlp",)},
            "the level operator is of operators alone; the task of problem 'mnist_mlp' is image classification",
        ),
        (
            {"level": "network", "problems": ("gemm",)},
            "of networks, not of operators; the task of problem 'gemm' is",
        ),
        (
            {"level": "network", "problems": ("all_reduce",), "ranks": (2,)},
            "of networks, not of operators; the task of problem 'all_reduce' is collective",
        ),
        ({"modes": ("gradient",)}, "'deepbench_sparse_gemm' is for inference only, got gradient"),
    ],
)
def test_a_problem_that_does_not_suit_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        plan(Experiment(("numpy",), **{"problems": ("deepbench_sparse_gemm",), **given}))


def test_a_collective_is_of_the_level_of_operators() -> None:
    (run,) = matrix(Experiment(("numpy",), ("all_reduce",), level="operator", ranks=(2,)))
    assert (run.mode, run.ranks) == ("inference", 2)


def test_a_mode_that_a_problem_has_not_is_left_out_beside_one_that_it_has() -> None:
    runs = matrix(Experiment(("numpy",), ("deepbench_sparse_gemm", "deepbench_gemm"), level="operator"))
    assert [(run.problem.name, run.mode) for run in runs] == [
        ("deepbench_sparse_gemm", "inference"),
        ("deepbench_gemm", "inference"),
        ("deepbench_gemm", "gradient"),
    ]


# --- command and blueprint -------------------------------------------------------------------------


def test_the_command_plans_a_sample(command: Command) -> None:
    finished = command(
        *(
            "--level=operator",
            "--suite=deepbench-gemm,deepbench-sparse-gemm",
            "--sample=2",
            "--framework=numpy",
        ),
        *("--dry-run", "--json"),
    )
    assert finished.status == 0, finished.stderr
    rows = [json.loads(line) for line in finished.stdout.splitlines()]
    assert Counter((row["problem"], row["mode"]) for row in rows) == {
        ("deepbench_gemm", "inference"): 2,
        ("deepbench_gemm", "gradient"): 2,
        ("deepbench_sparse_gemm", "inference"): 2,
    }


def test_suites_are_listed_with_their_sizes(command: Command) -> None:
    finished = command("list", "suites", "--json")
    rows = {row["name"]: row for row in json.loads(finished.stdout)}
    assert {name: rows[name]["configurations"] for name in COUNTS} == COUNTS
    assert "baidu-research/DeepBench" in rows["deepbench-gemm"]["source"]
    assert "deepbench-rnn-training" in command("list", "suites").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--suite=deepbench-gemn",), "did you mean 'deepbench-gemm'?"),
        (("--sample=3",), "--sample=3 is of a suite; name one with --suite"),
        (("--suite=deepbench-gemm", "--sample=0"), "at least 1 configuration, got 0"),
    ],
)
def test_faults_of_the_command_are_one_sentence(
    command: Command, arguments: tuple[str, ...], message: str
) -> None:
    finished = command("--framework=numpy", *arguments, "--dry-run")
    assert finished.status == 2
    assert message in finished.stderr
    assert len(finished.stderr.strip().splitlines()) == 1


def blueprint(folder: Path, *lines: str) -> Path:
    path = folder / "suite.toml"
    path.write_text("\n".join(lines))
    return path


def test_a_blueprint_has_suites_beside_problems(tmp_path: Path) -> None:
    lines = (
        'framework = "numpy"',
        'problem = "gemm"',
        'suite = ["deepbench-rnn", "deepbench-conv"]',
        "sample = 3",
    )
    path = blueprint(tmp_path, *lines, 'level = "operator"')
    assert check(path) == ([], 14)
    names = [Request.of(asked).name for asked in load(path).values["problems"]]
    assert names == ["gemm", *["deepbench_rnn"] * 3, *["deepbench_conv"] * 3]


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (('suite = "deepbench-gem"',), ":2: suite must be the name of a suite"),
        (('problem = "gemm"', "sample = 2"), ":3: sample picks from a suite, and there is no field suite"),
        (('suite = "deepbench-gemm"', 'level = "network"'), ":2: suite: the level network is of networks"),
        ((), ": problem is missing"),
    ],
)
def test_faults_of_a_blueprint_have_their_line(tmp_path: Path, lines: tuple[str, ...], fault: str) -> None:
    path = blueprint(tmp_path, 'framework = "numpy"', *lines)
    faults, _ = check(path)
    assert len(faults) == 1 or "level" in fault
    assert str(faults[0]).startswith(f"{path}{fault}")


# --- suites of others ------------------------------------------------------------------------------

OTHERS = """
from benchmarker.experiment.spec import Request
from benchmarker.api.suite import Suite
def benchmarker_suites():
    return (Suite("{name}", "two products", "a test", (Request("gemm", {{"m": (3, 4)}}), Request("gemm"))),)
"""
Distribution = Callable[..., Path]


@pytest.fixture
def with_suite(command: Command, distribution: Distribution) -> Callable[[str], Command]:
    """Return the command beside a distribution with a suite of that name."""

    def installed(name: str) -> Command:
        entry_points = {"suites": ["others = others_suites"]}
        return command.with_path(
            distribution("others", entry_points, {"others_suites": OTHERS.format(name=name)})
        )

    return installed


def test_others_can_add_a_suite(with_suite: Callable[[str], Command]) -> None:
    finished = with_suite("theirs")(
        *("--suite=theirs", "--framework=numpy", "--mode=inference", "--dry-run", "--json")
    )
    sizes = [json.loads(line)["problem_parameters"]["m"] for line in finished.stdout.splitlines()]
    assert sizes == [3, 4, 1024], finished.stderr


def test_a_name_that_is_taken_is_told(with_suite: Callable[[str], Command]) -> None:
    finished = with_suite("deepbench-gemm")("--suite=deepbench-gemm", "--framework=numpy", "--dry-run")
    assert finished.status != 0
    assert "has a suite 'deepbench-gemm', a name that is taken" in finished.stderr
