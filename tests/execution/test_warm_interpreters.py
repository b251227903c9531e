"""Workers that tests have forked of one interpreter that has imported the framework: they end as any other."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.support.command_server import WARM

pytestmark = [pytest.mark.framework("numpy")]

RUN = ("--problem=mnist_mlp", "--batch-size=8", "--steps=3", "--warmup=1", "--env=managed", "--json")


def test_runs_of_several_tests_share_an_interpreter(command: Command) -> None:
    interpreters = []
    with tempfile.TemporaryDirectory() as folder:
        command.environment[WARM] = folder
        for test in ("one", "another"):
            command.environment["PYTEST_CURRENT_TEST"] = test
            (record,) = command("--framework=numpy", *RUN).records
            assert (record["status"], record["verification"]["status"]) == ("ok", "passed")
            interpreters.append({path.name for path in Path(folder).iterdir() if path.is_socket()})
    assert interpreters[0]
    assert interpreters[1] == interpreters[0]


@pytest.mark.parametrize(("fault", "number", "told"), [("exit", 3, "3"), ("signal", 11, "SIGSEGV")])
def test_it_is_told_how_a_worker_ended(fault: str, number: int, told: str, faulty: Command) -> None:
    options = (f"--set=faulty.fault={fault}", f"--set=faulty.number={number}")
    (record,) = faulty("--framework=faulty", *RUN, *options).records
    assert record["status"] == "crashed"
    assert told in f"{record['error']['type']}: {record['error']['message']}"
