"""Workers that tests have forked of one interpreter that has imported the framework: they end as any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command

pytestmark = [pytest.mark.framework("numpy"), pytest.mark.warm]

RUN = ("--problem=mnist_mlp", "--batch-size=8", "--steps=3", "--warmup=1", "--env=managed", "--json")


def places(folder: Path) -> list[Path]:
    return [path for path in (folder / "warm").iterdir() if path.is_socket()]


def test_runs_share_an_interpreter_and_are_processes_of_their_own(
    command: Command, session_folder: Path
) -> None:
    before = set(places(session_folder))
    records = [*command("--framework=numpy", *RUN).records, *command("--framework=numpy", *RUN).records]
    assert [record["status"] for record in records] == ["ok", "ok"]
    assert len(set(places(session_folder)) - before) <= 1
    assert all(record["verification"]["status"] == "passed" for record in records)


@pytest.mark.parametrize(("fault", "number", "told"), [("exit", 3, "3"), ("signal", 11, "SIGSEGV")])
def test_it_is_told_how_a_worker_ended(fault: str, number: int, told: str, faulty: Command) -> None:
    options = (f"--set=faulty.fault={fault}", f"--set=faulty.number={number}")
    (record,) = faulty("--framework=faulty", *RUN, *options).records
    assert record["status"] == "crashed"
    assert told in f"{record['error']['type']}: {record['error']['message']}"
