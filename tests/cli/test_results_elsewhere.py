"""``--results=s3://...`` on a real S3 server, which is killed and comes back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarker.records.store import Store
from tests.conftest import Command, Finished
from tests.support.command_lines import replaced
from tests.support.object_server import BUCKET, KEY, SECRET, Link, ObjectServer
from tests.support.records import make_record

RUN = (
    "run",
    "--framework=numpy",
    "--problem=mnist_mlp",
    "--batch-size=4",
    "--steps=3",
    "--warmup=1",
    "--no-verify",
)
RECORDS = 100
CLIENT = ("s3fs",)
"""What every command that speaks to the server imports, which takes longer than all else that it does."""


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    """A server that this file's tests share."""
    server = ObjectServer(tmp_path_factory.mktemp("s3"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def elsewhere(
    command: Command, shared_server: ObjectServer, tmp_path: Path
) -> tuple[Command, str, ObjectServer]:
    """The command with the server's credentials, an address of the test's own, and the server."""
    address = f"s3://{BUCKET}/{tmp_path.name}/records"
    return (
        Command(command.folder, {**command.environment, **shared_server.environment}, imported=CLIENT),
        address,
        shared_server,
    )


def below(server: ObjectServer, address: str) -> dict[str, bytes]:
    prefix = f"{address.removeprefix(f's3://{BUCKET}/')}/"
    return {name.removeprefix(prefix): data for name, data in server.objects(prefix).items()}


def well(finished: Finished) -> Finished:
    assert finished.status == 0, finished.stderr
    return finished


@pytest.mark.framework("numpy")
def test_records_of_runs_are_objects_that_are_read_and_without_credentials(
    elsewhere: tuple[Command, str, ObjectServer],
) -> None:
    command, address, server = elsewhere
    blueprint = (
        'framework = "numpy"\nproblem = "mnist_mlp"\nbatch_size = 4\nsteps = 3\nwarmup = 1\nverify = false\n'
    )
    (command.folder / "one.toml").write_text(f'{blueprint}results = "{address}"\n')
    told = [well(command("run", "one.toml", "--repeats=2"))]
    objects = below(server, address)
    name, _ = (name for name in objects if name.endswith(".json"))
    record: dict[str, Any] = json.loads(objects[name])
    assert record["log"] is None or record["log"] in objects
    told.append(
        well(command(*replaced(RUN, "--batch-size=4,8"), f"--results={address}", "--resume", "--repeats=2"))
    )
    assert f"2 of 4 runs already have an ok record in {address}" in told[-1].stderr
    listed = well(command("results", "list", f"--results={address}", "--json"))
    assert {row["batch_size"] for row in listed.records} == {4, 8}
    told.append(well(command("results", "show", record["id"], f"--results={address}")))
    assert "mnist_mlp" in told[-1].stdout
    told.append(well(command("results", "table", "batch_size=8", f"--results={address}")))
    told.append(well(command("report", f"--results={address}", "--output=page.html", "--quiet")))
    told.append(well(command("validate", address)))
    everything = [
        *below(server, address).values(),
        *(text.encode() for f in told for text in (f.stdout, f.stderr)),
    ]
    home = Path(command.environment["BENCHMARKER_HOME"]) / "remote"
    everything += [
        path.read_bytes() for path in (*home.rglob("*.*"), command.folder / "page.html") if path.is_file()
    ]
    assert len(everything) > 10
    assert not [data for data in everything if SECRET.encode() in data or KEY.encode() in data]


@pytest.mark.framework("numpy")
def test_what_was_measured_while_the_network_was_gone_is_sent_by_the_next_command(
    elsewhere: tuple[Command, str, ObjectServer],
) -> None:
    command, address, server = elsewhere
    server.kill()
    try:
        finished = command(*RUN, f"--results={address}")
    finally:
        server.start()
    assert finished.status == 1
    assert "1 record not sent yet, kept in " in finished.stderr
    assert "Traceback" not in finished.stderr
    assert below(server, address) == {}
    listed = well(command("results", "list", f"--results={address}", "--json"))
    assert f"1 record from before sent to '{address}'" in listed.stderr
    (row,) = listed.records
    (name,) = (name for name in below(server, address) if name.endswith(".json"))
    assert json.loads(below(server, address)[name])["id"] == row["id"]
    assert Path(row["path"]).name == name


def test_folders_here_and_elsewhere_are_merged_with_what_lies_beside_each_record(
    elsewhere: tuple[Command, str, ObjectServer], tmp_path: Path
) -> None:
    command, address, server = elsewhere
    store = Store(command.folder / "results" / "deeper")
    mxnet: dict[str, Any] = {"framework__name": "mxnet", "framework__full": "mxnet-1.9.1"}
    saved = [store.save(make_record(**mxnet), "log 0")]
    saved += [store.save(make_record(batch_size=size), f"log {number}") for number, size in ((1, 4), (2, 8))]
    finished = well(command("results", "merge", "results", f"--into={address}"))
    assert f"3 records added to '{address}', 0 there already" in finished.stdout
    objects = below(server, address)
    assert {f"deeper/{path.name}" for path in saved} < set(objects)
    assert objects[f"deeper/{saved[1].stem}.log"] == b"log 1"
    assert well(command("results", "index", f"--results={address}", "--json")).stdout.count("3") == 2
    again = well(command("results", "merge", "results", f"--into={address}"))
    assert "0 records added" in again.stdout
    sides = ("framework=pytorch batch_size=4", "framework=mxnet")
    compared = well(command("compare", *sides, f"--results={address}", "--json"))
    well(command("results", "merge", str(saved[0]), f"--into={address}-mxnet"))
    sides = (f"{address}-mxnet", "framework=pytorch batch_size=4")
    turned = well(command("compare", *sides, f"--results={address}", "--json"))
    assert len(json.loads(turned.stdout)["rows"]) == len(json.loads(compared.stdout)["rows"]) == 1
    # As another machine sees it, whose copy is empty.
    other = replace(command, environment={**command.environment, "BENCHMARKER_HOME": str(tmp_path / "other")})
    well(other("results", "merge", address, f"--into={address}-2"))
    copied = below(server, f"{address}-2")
    assert copied == {name: data for name, data in objects.items() if not name.startswith(".")}
    well(other("results", "merge", f"{address}-2", "--into=home"))
    assert (command.folder / "home" / "deeper" / f"{saved[2].stem}.log").read_text() == "log 2"


def test_a_network_that_goes_during_a_merge_loses_nothing(
    elsewhere: tuple[Command, str, ObjectServer],
) -> None:
    command, address, server = elsewhere
    store = Store(command.folder / "results")
    saved = [store.save(make_record(), "a log") for _ in range(RECORDS)]
    link, before = Link(server), len(server.names())
    link.connect()
    try:
        slow = replace(command, environment={**command.environment, **link.environment})
        merging = slow.start("results", "merge", "results", f"--into={address}")
        limit = time.monotonic() + 60
        while len(server.names()) < before + 20:
            assert time.monotonic() < limit
            time.sleep(0.01)
        link.cut()
        _, told = merging.communicate(timeout=120)
        assert merging.returncode == 1
        assert "could not be reached" in told
        assert "not sent yet, kept in" in told
        assert 20 <= len(below(server, address)) < 2 * RECORDS
        link.connect()
        again = well(slow("results", "merge", "results", f"--into={address}"))
    finally:
        link.cut()
    assert "0 records added" in again.stdout
    assert f"from before sent to '{address}'" in again.stderr
    there = below(server, address)
    assert sorted(there) == sorted(f"{path.stem}{ending}" for path in saved for ending in (".json", ".log"))
    assert {name: data for name, data in there.items() if name.endswith(".json")} == {
        path.name: path.read_bytes() for path in saved
    }


def test_what_makes_no_sense_is_refused_in_a_sentence(elsewhere: tuple[Command, str, ObjectServer]) -> None:
    command, address, _ = elsewhere
    for words, sentence in {
        ("results", "list", "--results=s3://key:secret-word@bucket/x"): "must have no password in it",
        ("results", "list", "--results=nosuch://bucket/x"): "what fsspec knows, got 'nosuch://'",
        (
            "results",
            "prune",
            "status=ok",
            "--yes",
            f"--results={address}",
        ): "prune removes files of this machine",
        ("results", "show", f"{address}/x.json"): "with its folder's address as --results",
        ("results", "merge", f"{address}/x.json", "--into=x"): "must be that of a folder",
        ("results", "index"): "index is for results elsewhere",
        ("jobs", f"--results={address}"): "must be a path of this machine",
        ("report", f"--results={address}", f"--output={address}/page.html"): "must be a path of this machine",
        (*RUN, "--results=s3://no-such-bucket-here/x"): "must go to a place that can be written",
    }.items():
        finished = command(*words)
        assert (finished.status, finished.stdout) == (2, ""), (words, finished)
        assert sentence in finished.stderr
        assert len(finished.stderr.splitlines()) == 1
        assert "secret-word" not in finished.stderr
