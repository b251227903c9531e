"""One command, several Pythons and NumPys: each run has its own, and all draw the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command, Finished
from tests.support.mirror_framework import seen, with_mirror

SMALL = {
    "conv2d": ("--set=channels=4", "--set=filters=6", "--set=height=9", "--set=width=7"),
    "lstm_imdb": ("--set=words=5", "--set=features=6", "--set=units=4"),
    "mnist_mlp": (),
    "resnet50": ("--set=image_size=32", "--set=classes=10", "--mode=inference"),
    "vgg16": ("--set=image_size=32", "--set=classes=10", "--set=hidden=64"),
}
QUICK = ("--batch-size=2", "--steps=1", "--warmup=0", "--json")


def ok(finished: Finished) -> list[dict[str, Any]]:
    """Return the records after seeing that each run ended well."""
    assert [record["error"] for record in finished.records if record["error"]] == []
    assert finished.status == 0, finished.stderr
    return finished.records


def short(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


@pytest.mark.framework
@pytest.mark.parametrize("problem", SMALL)
def test_the_oldest_and_the_newest_python_and_numpy_draw_the_same_bytes(
    command: Command, tmp_path: Path, problem: str
) -> None:
    finished = with_mirror(command, tmp_path)(
        "--framework=mirror_old,mirror_new,mirror",
        f"--problem={problem}",
        *SMALL[problem],
        *QUICK,
    )
    old, new, current = ok(finished)
    assert short(old["environment"]["python"]) == (3, 9)
    assert old["framework"]["version"] == "1.23.5"
    assert short(new["environment"]["python"]) >= (3, 13)
    assert short(new["framework"]["version"]) >= (2, 1)
    assert old["environment"]["kind"] == new["environment"]["kind"] == "managed"
    assert old["environment"]["build"] != new["environment"]["build"]
    assert len({seen(record)["prefix"] for record in (old, new, current)}) == 3
    assert old["digests"] == new["digests"] == current["digests"]
    assert {record["verification"]["status"] for record in (old, new, current)} == {"passed"}


@pytest.mark.framework
def test_two_versions_of_one_framework_in_one_command(command: Command) -> None:
    finished = command(
        "--framework=numpy==1.26.4,numpy==2.2.6", "--problem=mnist_mlp", "--env=managed", *QUICK
    )
    first, second = ok(finished)
    for record, version in ((first, "1.26.4"), (second, "2.2.6")):
        assert record["framework"]["version"] == version
        assert record["framework"]["requested_version"] == version
        assert record["environment"]["packages"]["numpy"] == version
        assert f"--framework=numpy=={version}" in record["command"]
    assert first["environment"]["key"] != second["environment"]["key"]
    assert first["digests"] == second["digests"]


@pytest.mark.framework
def test_a_version_that_is_not_there_fails_alone(command: Command) -> None:
    finished = command("--framework=numpy==0.0.1,numpy", "--problem=mnist_mlp", *QUICK)
    assert finished.status == 1
    missing, present = finished.records
    assert missing["status"] == "failed"
    assert "numpy==0.0.1" in missing["error"]["message"]
    assert present["status"] == "ok"
    assert "Traceback" not in finished.stderr
