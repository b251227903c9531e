"""Workers that tests have forked of one interpreter that has imported the framework: they end as any other."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.support.command_server import WARM

pytestmark = pytest.mark.framework("numpy")

RUN = ("--problem=mnist_mlp", "--batch-size=8", "--steps=3", "--warmup=1", "--env=managed", "--json")


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of this test's own interpreters."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv(WARM, folder)
        yield Path(folder)


def interpreters(sockets: Path) -> set[str]:
    return {path.name for path in sockets.iterdir() if path.is_socket()}


def test_runs_of_several_tests_share_an_interpreter(sockets: Path, command: Command) -> None:
    found = []
    for test in ("one", "another"):
        command.environment["PYTEST_CURRENT_TEST"] = test
        (record,) = command("--framework=numpy", *RUN).records
        assert (record["status"], record["verification"]["status"]) == ("ok", "passed")
        found.append(interpreters(sockets))
    assert found[0]
    assert found[1] == found[0]


def test_what_a_test_has_written_is_imported_by_the_fork(sockets: Path, faulty: Command) -> None:
    records = faulty("--framework=numpy,faulty", *RUN[:-2], "--json").records
    assert [(record["framework"]["name"], record["status"]) for record in records] == [
        ("numpy", "ok"),
        ("faulty", "ok"),
    ]
    assert len(interpreters(sockets)) == 1


@pytest.mark.cold
def test_a_cold_test_has_none(command: Command) -> None:
    assert WARM not in command.environment


@pytest.mark.parametrize(("fault", "number", "told"), [("exit", 3, "3"), ("signal", 11, "SIGSEGV")])
def test_it_is_told_how_a_worker_ended(
    fault: str, number: int, told: str, sockets: Path, faulty: Command
) -> None:
    options = (f"--set=faulty.fault={fault}", f"--set=faulty.number={number}")
    (record,) = faulty("--framework=faulty", *RUN, *options).records
    assert record["status"] == "crashed"
    assert told in f"{record['error']['type']}: {record['error']['message']}"
    assert interpreters(sockets)
