"""What the tests share: the command as a real process, and distributions put before it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
DISTRIBUTIONS = Path(__file__).resolve().parent / "distributions"


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records that ``--json`` printed."""
        return [json.loads(line) for line in self.stdout.splitlines()]


@dataclass(frozen=True)
class Command:
    """``python -m benchmarker`` in a folder of its own, with a cache of its own."""

    folder: Path
    environment: dict[str, str]

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """Start it."""
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarker", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def __call__(self, *arguments: str, timeout: float = 300) -> Finished:
        """Run it to its end."""
        process = self.start(*arguments)
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Finished(process.returncode, stdout, stderr)

    def with_path(self, *folders: Path) -> Command:
        """Return the command with folders of modules and distributions before its own."""
        path = os.pathsep.join([*map(str, folders), self.environment["PYTHONPATH"]])
        return Command(self.folder, {**self.environment, "PYTHONPATH": path})


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of environments and references; the user's own if BENCHMARKER_HOME names one."""
    named = os.environ.get("BENCHMARKER_HOME")
    return Path(named) if named else tmp_path_factory.mktemp("home")


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of the test's own for what is read in this process, e.g. data sets."""
    from benchmarker.data.prepared import prepare

    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    prepare.cache_clear()  # it remembers the folder of another test
    yield tmp_path / "home"
    prepare.cache_clear()


@pytest.fixture
def command(tmp_path: Path, cache_home: Path) -> Command:
    """The command, its records in ``tmp_path / "results"``."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), environment.get("PYTHONPATH")]))
    environment["BENCHMARKER_HOME"] = str(cache_home)
    environment["NO_COLOR"] = "1"
    environment["BENCHMARKER_TEST_FOLDER"] = str(tmp_path)
    return Command(tmp_path, environment)


def write_distribution(
    folder: Path, name: str, entry_points: dict[str, Sequence[str]], modules: dict[str, str]
) -> Path:
    """Write modules and the metadata of a distribution that a folder on the path makes installed."""
    folder.mkdir(parents=True, exist_ok=True)
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source)
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = [f"[benchmarker.{kind}]\n" + "\n".join(lines) for kind, lines in entry_points.items()]
    (metadata / "entry_points.txt").write_text("\n".join(groups) + "\n")
    return folder


@pytest.fixture
def distribution(tmp_path: Path) -> Callable[..., Path]:
    """Make a distribution in a folder of the test."""
    return lambda name, entry_points, modules: write_distribution(
        tmp_path / "distributions" / name, name, entry_points, modules
    )


@pytest.fixture
def faulty(command: Command, distribution: Callable[..., Path]) -> Command:
    """The command with the framework ``faulty``."""
    source = (DISTRIBUTIONS / "faulty" / "faulty_framework.py").read_text()
    folder = distribution(
        "faulty", {"frameworks": ["faulty = faulty_framework"]}, {"faulty_framework": source}
    )
    return command.with_path(folder)
