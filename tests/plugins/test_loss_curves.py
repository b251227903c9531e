"""Rysia's three problems over 50 steps, each with its own optimizer: the frameworks stay together."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Command

FRAMEWORKS = ("pytorch", "tensorflow", "mxnet", "chainer")


@pytest.mark.all_frameworks
@pytest.mark.timeout(900)
@pytest.mark.parametrize("problem", ["mnist_mlp", "cifar_vgg", "lstm_imdb"])
def test_the_loss_curves_of_all_frameworks_coincide(command: Command, problem: str) -> None:
    finished = command(
        "verify",
        f"--problem={problem}",
        f"--framework={','.join(FRAMEWORKS)}",
        "--size=reduced",
        "--optimizer=own",
        "--steps=50",
        "--json",
        timeout=900,
    )
    assert finished.status == 0, finished.stdout + finished.stderr
    report = json.loads(finished.stdout)
    assert report["steps"] == 50
    assert [verdict["framework"] for verdict in report["verdicts"]] == list(FRAMEWORKS)
    for verdict in report["verdicts"]:
        (own,) = (quantity for quantity in verdict["quantities"] if quantity["kind"] == "own")
        assert own["status"] == "passed"
        assert own["left_out"] == []
