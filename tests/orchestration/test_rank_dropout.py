"""Ranks that train a network with dropout: the exchange is followed with masks that are part of the mini-batch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Command

pytestmark = pytest.mark.framework("numpy")

PROBLEM = (
    "--problem=deep_mnist",
    "--batch-size=4",
    "--optimizer=momentum",
    "--threads=1",
    "--steps=3",
    "--warmup=1",
)
SUMMED = """
from dataclasses import dataclass

from benchmarker.api.scheme import RankSteps
from benchmarker.distributed.schemes.all_reduce import AllReduce


class Steps(RankSteps):
    def __init__(self, replica, communicator):
        self.replica, self.communicator = replica, communicator

    def step(self, gradient):
        self.communicator.sum(gradient)
        self.replica.update(gradient)


@dataclass(frozen=True)
class Summed(AllReduce):
    name = "summed"

    def begin(self, replica, communicator):
        return Steps(replica, communicator)


benchmarker_scheme = Summed
"""


def verification(command: Command, *arguments: str) -> dict[str, Any]:
    (record,) = command("run", *PROBLEM, "--framework=numpy", "--ranks=2", *arguments, "--json").records
    assert record["status"] in ("ok", "failed"), record["error"]
    found: dict[str, Any] = record["verification"]
    assert found["status"] != "skipped", record["error"]
    return found


def test_steps_with_given_masks_are_those_of_the_definition(command: Command) -> None:
    found = verification(command, "--exchange=mpi")
    assert found["status"] == "passed"
    followed = [tensor["name"] for tensor in found["tensors"] if tensor["name"].endswith("with given masks")]
    assert len(followed) == 2 * len({name.partition(", step")[0] for name in followed})


def test_gradients_that_are_summed_show_beside_dropout(command: Command) -> None:
    (command.folder / "summed.py").write_text(SUMMED)
    found = verification(command, "--exchange=mpi", "--scheme=summed.py")
    assert found["status"] == "failed"
    assert "with given masks" in found["reason"]
