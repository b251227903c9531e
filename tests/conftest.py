"""What the tests share: the command as a real process, distributions put before it, and who runs when."""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarker.cache import home
from tests.in_framework.rare_collections import collect_rarely
from tests.support.command_server import WARM, command_server
from tests.support.container_image import ENGINES, make_image, missing_engine, missing_image
from tests.support.quick_compilers import QUICK_COMPILERS
from tests.support.slurm_cluster import SlurmCluster, missing, slurm_cluster

# Each command is a process of its own, which without kept bytecode would compile the whole package first.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# OpenBLAS' idle threads, which else spin for a while, sleep at once: half of the processor time of a short run.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")


def import_numpy_with_one_thread() -> None:
    """Take one thread for this process, not for what it starts.

    Two on busy cores take five times the processor time for the matrices of tests, as each waits for the other.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        importlib.import_module("numpy")


import_numpy_with_one_thread()

ROOT = Path(__file__).resolve().parent.parent
DISTRIBUTIONS = Path(__file__).resolve().parent / "distributions"
CACHE_HOME = home()
"""Where the frameworks' environments are: the user's own cache, unless BENCHMARKER_HOME names another."""
FRAMEWORK_FIXTURES = {"cache_home", "analyst"}
"""They give environments that are made on first use: those of frameworks, and that of the notebooks."""
BROWSER_FIXTURES = {"browser"}
ALONE = "alone"
SLURM = "slurm"
MAX_WORKERS = 8
MAX_FILES_IN_ONE_PROCESS = 3


# --- what a test needs, and who runs when ---------------------------------------------------------


def pytest_configure() -> None:
    """Let tests interrupt themselves and their commands also in a shell's background, and after ``nohup``."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from here on, but not among all the tests and their modules, which stay.

    A test that starts pytest gives it options of its own; this process and its workers have read theirs by now.
    """
    os.environ.pop("PYTEST_ADDOPTS", None)
    collect_rarely()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let warm interpreters end: nobody will ask them for a fork any more."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = session.config._tmp_path_factory.getbasetemp() / "warm"  # type: ignore[attr-defined]
        for place in folder.glob("*"):
            if place.is_socket():
                place.unlink()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two workers more than cores, as some tests wait; none for a few files, done before workers have started."""
    named = [Path(argument.partition("::")[0]) for argument in config.args]
    if len(named) <= MAX_FILES_IN_ONE_PROCESS and all(path.is_file() for path in named):
        return 0
    return min(len(os.sched_getaffinity(0)) + 2, MAX_WORKERS)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests with what their fixtures need, and sort them: the longest first, what times something last.

    How long is told by a limit of their own, then by whether they share what a framework's process found, which one
    worker waits for, then by how many of a group start commands, then by how many there are.
    """
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & FRAMEWORK_FIXTURES or item.get_closest_marker("all_frameworks"):
            item.add_marker("framework")
        if fixtures & BROWSER_FIXTURES:
            item.add_marker("browser")
    groups = {item: _group(item) for item in items}
    limits: dict[str, float] = {}
    shared: defaultdict[str, bool] = defaultdict(bool)
    commands: Counter[str] = Counter()
    sizes = Counter(groups.values())
    for item, group in groups.items():
        limits[group] = max(limits.get(group, 0.0), _limit(item))
        fixtures = set(getattr(item, "fixturenames", ()))
        shared[group] |= bool(fixtures & FRAMEWORK_FIXTURES)
        commands[group] += "command" in fixtures
        if group != item.nodeid and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group))

    def order(item: pytest.Item) -> tuple[bool, float, bool, int, int]:
        group = groups[item]
        return group == ALONE, -limits[group], not shared[group], -commands[group], -sizes[group]

    items.sort(key=order)


def _group(item: pytest.Item) -> str:
    """Return what runs in one worker: tests that share fixtures; one that needs a framework is long enough alone.

    Files that share what they read have the marker ``xdist_group``.
    """
    if item.get_closest_marker(ALONE):
        return ALONE
    named = item.get_closest_marker("xdist_group")
    if named:
        return str(named.args[0])
    if SLURM in getattr(item, "fixturenames", ()):
        return SLURM  # one cluster for all of them, whose minutes one worker alone waits for
    file = item.nodeid.partition("::")[0].removeprefix("tests/").removesuffix(".py")
    if item.get_closest_marker("framework") is None:
        return file
    definitions = item._fixtureinfo.name2fixturedefs.values()  # type: ignore[attr-defined]
    if not any(d[-1].scope in ("module", "package", "class") for d in definitions):
        return item.nodeid
    values = getattr(item, "callspec", None)
    return f"{file} {values.params.get('framework', '') if values else ''}".strip()


def _limit(item: pytest.Item) -> float:
    """Return the seconds that the test is marked to take at most."""
    limit = item.get_closest_marker("timeout")
    return float(limit.args[0]) if limit else 0.0


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let a test that is marked ``alone`` wait until the other workers pause, and these until it has ended."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    turn = os.open(ROOT / "tests", os.O_RDONLY)
    try:
        fcntl.flock(turn, fcntl.LOCK_EX if item.get_closest_marker(ALONE) else fcntl.LOCK_SH)
        return (yield)
    finally:
        os.close(turn)


# --- folders and commands -------------------------------------------------------------------------


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
    imported: tuple[str, ...] = ()
    """What its process has imported before it is forked, besides what most commands do."""

    def start(
        self, *arguments: str, program: Sequence[str] = ("-m", "benchmarker"), **options: Any
    ) -> subprocess.Popen[str]:
        """Start it, or a program that changes something in it before, in a new interpreter."""
        return subprocess.Popen(
            [sys.executable, *program, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def __call__(self, *arguments: str, timeout: float = 300) -> Finished:
        """Run it to its end."""
        return Finished(
            *command_server(*self.imported).run(arguments, self.folder, self.environment, timeout)
        )

    def with_path(self, *folders: Path) -> Command:
        """Return the command with folders of modules and distributions before its own."""
        path = os.pathsep.join([*map(str, folders), self.environment["PYTHONPATH"]])
        return replace(self, environment={**self.environment, "PYTHONPATH": path})


def command_environment(folder: Path, home: Path) -> dict[str, str]:
    """Return the environment of a test's commands, whose folder and cache are given."""
    path = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
    return {
        **os.environ,
        **QUICK_COMPILERS,
        "PYTHONPATH": os.pathsep.join(path),
        "BENCHMARKER_HOME": str(home),
        "BENCHMARKER_TEST_FOLDER": str(folder),
        "NO_COLOR": "1",
        # Tests share the cores: threads that wait by spinning would hold up those of the other tests.
        "OMP_WAIT_POLICY": "passive",
    }


@pytest.fixture(scope="session")
def cache_home() -> Path:
    """The cache with the frameworks' environments, which are made on first use; its tests are marked ``framework``."""
    return CACHE_HOME


@pytest.fixture(scope="session")
def session_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this session share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def plain_home(session_folder: Path) -> Path:
    """A cache for tests that need no framework, which all workers of this session share."""
    folder = session_folder / "home"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def warm_interpreters(session_folder: Path) -> Iterator[None]:
    """Have commands start workers as forks of interpreters that all of this session share."""
    folder = session_folder / "warm"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(WARM, str(folder))
        yield


@pytest.fixture(autouse=True)
def cold_interpreters(request: pytest.FixtureRequest) -> None:
    """Have the commands of tests marked ``cold`` start new ones."""
    if request.node.get_closest_marker("cold"):
        request.getfixturevalue("monkeypatch").delenv(WARM)


@pytest.fixture
def warm_workers(session_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have runs that the test makes in this process start workers as forks too."""
    from benchmarker.execution.launchers import spawned
    from tests.support.warm_interpreters import warm_start

    monkeypatch.setattr(spawned, "_start", warm_start(spawned._start, session_folder / "warm"))


@pytest.fixture(autouse=True)
def nothing_resolved(monkeypatch: pytest.MonkeyPatch, session_folder: Path) -> None:
    """Leave out what ``compare --aa`` has kept for the user: it may be of the machine of the kept records."""
    from benchmarker.analysis.comparison import resolution

    usual, nothing = resolution.folder, session_folder / "nothing-resolved"
    monkeypatch.setattr(resolution, "folder", lambda: nothing if home() == CACHE_HOME else usual())


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of the test's own for what is read in this process, e.g. data sets."""
    from benchmarker.data.prepared import prepare

    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    prepare.cache_clear()  # it remembers the folder of another test
    yield tmp_path / "home"
    prepare.cache_clear()


@pytest.fixture
def command(request: pytest.FixtureRequest, tmp_path: Path, plain_home: Path) -> Command:
    """The command, its records in ``tmp_path / "results"``; the marker ``framework`` gives it environments.

    That of NumPy is the tests' own, so ``framework("numpy")`` leaves the cache as empty as without the marker.
    """
    marker = request.node.get_closest_marker("framework")
    home = CACHE_HOME if marker and marker.args != ("numpy",) else plain_home
    return Command(tmp_path, command_environment(tmp_path, home))


def write_distribution(
    folder: Path, name: str, entry_points: Mapping[str, Sequence[str]], modules: Mapping[str, str]
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
    return command.with_path(_of_framework(distribution, "faulty"))


@pytest.fixture
def hostile(command: Command, distribution: Callable[..., Path]) -> Command:
    """The command with the framework ``hostile`` and the problem ``trapped``."""
    modules = {
        module: (DISTRIBUTIONS / "hostile" / f"{module}.py").read_text()
        for module in ("hostile_framework", "hostile_problem")
    }
    entries = {"frameworks": ["hostile = hostile_framework"], "problems": ["trapped = hostile_problem"]}
    return command.with_path(distribution("hostile", entries, modules))


def _of_framework(distribution: Callable[..., Path], name: str) -> Path:
    """Make the distribution of a framework that is one module."""
    source = (DISTRIBUTIONS / name / f"{name}_framework.py").read_text()
    return distribution(name, {"frameworks": [f"{name} = {name}_framework"]}, {f"{name}_framework": source})


@pytest.fixture
def facts_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the remembered answers of py-cpuinfo apart from those of other tests."""
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "facts"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The browser of the system, started once for a file of tests."""
    from tests.support.browser import chromium

    with chromium() as started:
        yield started


Started = Callable[[], list[psutil.Process]]


@pytest.fixture
def started() -> Started:
    """Return what lists the processes that this one has started since the test began, and theirs."""
    before = set(psutil.Process().children(recursive=True))
    return lambda: [child for child in psutil.Process().children(recursive=True) if child not in before]


@pytest.fixture(scope="session")
def slurm() -> Iterator[SlurmCluster]:
    """A real Slurm of two virtual nodes, which this worker's tests share."""
    reason = missing()
    if reason:
        pytest.skip(reason)
    with slurm_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def counted_network() -> None:
    """Skip where the bytes of several ranks are not counted; to try takes a while, so only tests that need it do."""
    from benchmarker.execution.rank_networks import network_faults

    reason = network_faults().counting
    if reason:
        pytest.skip(f"no bytes are counted: {reason}")


@pytest.fixture(scope="session")
def emulated_network() -> None:
    """Skip where slow links cannot be emulated."""
    from benchmarker.execution.rank_networks import network_faults

    reason = network_faults().emulation
    if reason:
        pytest.skip(f"no emulated links: {reason}")


@pytest.fixture(scope="session")
def container_image() -> Path:
    """A folder with Debian, its Python and its NumPy, made once a machine."""
    reason = missing_image()
    if reason:
        pytest.skip(reason)
    return make_image()


@pytest.fixture(params=ENGINES)
def container(request: pytest.FixtureRequest, container_image: Path) -> str:
    """That image as an environment, by each engine that takes folders."""
    engine: str = request.param
    reason = missing_engine(engine)
    if reason:
        pytest.skip(reason)
    return f"container:{engine}:{container_image}"
