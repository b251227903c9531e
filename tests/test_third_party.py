"""A distribution of somebody else adds a framework, a problem and a collector, without a change here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import DISTRIBUTIONS, ROOT


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both distributions, install the wheels into a fresh environment, and return its Python."""
    folder = tmp_path_factory.mktemp("fresh")
    for source in (ROOT, DISTRIBUTIONS / "example"):
        build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder / "wheels"), str(source)]
        subprocess.run(build, check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    wheels = sorted(map(str, (folder / "wheels").glob("*.whl")))
    subprocess.run([str(python), "-m", "pip", "install", "-q", *wheels], check=True, capture_output=True)
    return python


def run(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["BENCHMARKER_HOME"] = str(folder / "home")
    return subprocess.run(
        [str(python), "-m", "benchmarker", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_wheel_holds_the_package_only(fresh: Path) -> None:
    (wheel,) = fresh.parent.parent.parent.joinpath("wheels").glob("benchmarker-0*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "benchmarker/schema/record-1.json" in names
    assert "benchmarker/py.typed" in names
    assert not [name for name in names if not name.startswith(("benchmarker/", "benchmarker-"))]


def test_it_is_listed_with_its_origin(fresh: Path, tmp_path: Path) -> None:
    rows = json.loads(run(fresh, tmp_path, "list", "--json").stdout)
    found = {(row["kind"], row["name"]): row for row in rows}
    for key in (("frameworks", "tiny"), ("problems", "two_layers"), ("collectors", "uptime")):
        assert found[key]["origin"] == "benchmarker-example 0.3"
        assert found[key]["usable"]
    assert found["frameworks", "numpy"]["origin"].startswith("benchmarker ")


def test_its_framework_problem_and_collector_run(fresh: Path, tmp_path: Path) -> None:
    finished = run(
        fresh,
        tmp_path,
        "--framework=tiny,numpy",
        "--problem=two_layers,mnist_mlp",
        "--mode=inference",
        "--steps=5",
        "--warmup=1",
        "--json",
    )
    assert finished.returncode == 0, finished.stderr
    records = [json.loads(line) for line in finished.stdout.splitlines()]
    assert [(r["framework"]["name"], r["problem"]["name"]) for r in records] == [
        ("tiny", "two_layers"),
        ("numpy", "two_layers"),
        ("tiny", "mnist_mlp"),
        ("numpy", "mnist_mlp"),
    ]
    for record in records:
        assert record["status"] == "ok"
        assert record["verification"]["status"] == "passed"
        assert record["platform"]["uptime"]["after_seconds"] >= record["platform"]["uptime"]["before_seconds"]
    assert records[0]["digests"] == records[1]["digests"]
    assert run(fresh, tmp_path, "validate").returncode == 0


def test_what_it_lacks_is_refused_clearly(fresh: Path, tmp_path: Path) -> None:
    finished = run(fresh, tmp_path, "--framework=tiny", "--problem=two_layers", "--mode=training")
    assert finished.returncode == 2
    assert finished.stderr == "benchmarker: framework 'tiny' cannot do training, only inference\n"
    finished = run(
        fresh, tmp_path, "--framework=tiny", "--problem=conv2d", "--mode=inference", "--no-verify", "--json"
    )
    assert finished.returncode == 1
    message = json.loads(finished.stdout)["error"]["message"]
    assert message == "framework 'tiny' has no conv (nodes conv): problem 'conv2d' cannot run on it"


def test_its_author_can_check_it(fresh: Path, tmp_path: Path) -> None:
    finished = run(fresh, tmp_path, "check", "tiny", "--json")
    report = json.loads(finished.stdout)
    assert finished.returncode == 0, [r for r in report["results"] if r["status"] == "failed"]
    assert any(r["status"] == "passed" and "gemm" in r["name"] for r in report["results"])
    assert any(r["status"] == "skipped" and "conv" in r["name"] for r in report["results"])
