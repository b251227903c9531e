"""Containers as far as no container runs: their names, the commands of engines, images that are folders, mounts."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from benchmarker import registry
from benchmarker.errors import UnsupportedError, UsageError
from benchmarker.execution import contained
from benchmarker.execution.environments.containers import bubblewrap, charliecloud, driver_libraries
from benchmarker.execution.environments.containers.apptainer import Apptainer
from benchmarker.execution.environments.containers.container import Container, Mounts
from benchmarker.execution.environments.containers.engine import mount
from benchmarker.execution.environments.containers.folder_image import Step, digest, layout, real_path
from benchmarker.execution.environments.containers.opening import find_engine
from benchmarker.execution.environments.containers.podman import Docker, Podman
from benchmarker.execution.environments.containers.reference import ContainerReference, absolute_environment
from benchmarker.execution.import_roots import import_roots

MOUNTS = Mounts(("/opt/a/benchmarker",), ("/opt/results",))


@pytest.mark.parametrize(
    ("choice", "engine", "image"),
    [
        ("container:/images/a", None, "/images/a"),
        ("container:python:3.12", None, "python:3.12"),
        ("container:podman:python:3.12", "podman", "python:3.12"),
        ("container:charliecloud:/images/a", "charliecloud", "/images/a"),
        ("container:docker", None, "docker"),
    ],
)
def test_a_container_is_named_with_or_without_its_engine(choice: str, engine: str | None, image: str) -> None:
    found = ContainerReference.parse(choice)
    assert (found.engine, found.image) == (engine, image)
    assert str(found) == choice


def test_the_path_of_an_image_becomes_absolute_and_a_name_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "image").mkdir()
    assert absolute_environment("container:image") == f"container:{tmp_path}/image"
    assert absolute_environment("container:bubblewrap:./x") == f"container:bubblewrap:{tmp_path}/x"
    assert absolute_environment("container:docker:image") == "container:docker:image"
    assert absolute_environment("container:python:3.12") == "container:python:3.12"


def test_the_first_engine_that_takes_an_image_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path=None: f"/bin/{name}")
    kinds = {str(tmp_path): "bubblewrap", "/x/y.sif": "apptainer", "python:3.12": "podman"}
    found = {image: find_engine(ContainerReference(None, image)).name for image in kinds}
    assert found == kinds
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    for image, programs in {
        str(tmp_path): "bwrap or ch-run or apptainer",
        "python": "podman or docker",
    }.items():
        with pytest.raises(UsageError, match=f"needs {programs}, and none is on the PATH"):
            find_engine(ContainerReference(None, image))
    with pytest.raises(UsageError, match="'ch-run' was not found on the PATH"):
        find_engine(ContainerReference("charliecloud", str(tmp_path)))


def options_of(command: list[str], name: str) -> list[str]:
    return [value for word, value in zip(command, command[1:]) if word == name]


def test_docker_runs_with_the_machines_network_and_process_numbers() -> None:
    docker = Docker()
    command = docker.command("python:3.12", MOUNTS, ["OMP_NUM_THREADS"], cuda=True, name="b-1")
    assert command[0].endswith("docker")
    assert command[1:6] == ["run", "--rm", "--interactive", "--pull=never", "--name=b-1"]
    assert {"--network=host", "--pid=host", "--ipc=host", "--uts=host", "--read-only"} <= set(command)
    assert command[-1] == "python:3.12"
    assert options_of(command, "--gpus") == ["all"]
    assert options_of(command, "--env") == ["OMP_NUM_THREADS"]
    assert options_of(command, "--user") == [f"{os.getuid()}:{os.getgid()}"]
    assert options_of(command, "--mount") == [
        "type=bind,source=/opt/a/benchmarker,destination=/opt/a/benchmarker,readonly",
        "type=bind,source=/opt/results,destination=/opt/results",
    ]
    assert docker.ending("b-1")[1:] == ("rm", "--force", "b-1")
    assert "--gpus" not in docker.command("python:3.12", MOUNTS, [], cuda=False, name="b-1")


def test_podman_has_gpus_by_their_interface_and_the_user_as_himself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    command = Podman().command("python:3.12", MOUNTS, [], cuda=True, name="b-1")
    assert command[0].endswith("podman")
    assert options_of(command, "--device") == ["nvidia.com/gpu=all"]
    assert "--userns=keep-id" in command
    assert not options_of(command, "--user")


def test_apptainer_has_its_variables_by_its_own_prefix() -> None:
    engine = Apptainer()
    command = engine.command("/images/x.sif", MOUNTS, ["A"], cuda=True, name="b-1")
    assert command[0].endswith("apptainer")
    assert command[1] == "exec"
    assert {"--cleanenv", "--contain", "--no-home", "--nv"} <= set(command)
    assert command[-1] == "/images/x.sif"
    assert len(options_of(command, "--mount")) == 2
    assert engine.client_variables({"A": "1,2"})["APPTAINERENV_A"] == "1,2"
    assert "--nv" not in engine.command("/images/x.sif", MOUNTS, [], cuda=False, name="b-1")


def test_a_mounts_path_may_have_any_character() -> None:
    (row,) = csv.reader([mount('/a,b/"c"', read_only=True)])
    assert row == ["type=bind", 'source=/a,b/"c"', 'destination=/a,b/"c"', "readonly"]


def make_image(folder: Path) -> Path:
    (folder / "usr/lib/python3").mkdir(parents=True)
    (folder / "usr/lib/python3/numpy.py").write_text("x = 1\n")
    (folder / "usr/bin").mkdir()
    (folder / "lib").symlink_to("usr/lib")
    for name in ("dev", "proc", "sys", "tmp", "home"):
        (folder / name).mkdir()
    (folder / "etc").mkdir()
    (folder / "etc/passwd").write_text("root\n")
    return folder


def test_an_image_is_bound_whole_but_for_the_way_to_what_is_added(tmp_path: Path) -> None:
    image = make_image(tmp_path / "image")
    steps = layout(image, ["/usr/lib/benchmarker", "/data/a"])
    assert steps == [
        Step("bind", "/etc", str(image / "etc")),
        Step("bind", "/home", str(image / "home")),
        Step("link", "/lib", "usr/lib"),
        Step("folder", "/usr"),
        Step("bind", "/usr/bin", str(image / "usr/bin")),
        Step("folder", "/usr/lib"),
        Step("bind", "/usr/lib/python3", str(image / "usr/lib/python3")),
    ]


def test_links_of_an_image_are_followed_on_the_way(tmp_path: Path) -> None:
    image = make_image(tmp_path / "image")
    assert real_path(image, "/lib/python3/a") == "/usr/lib/python3/a"
    (image / "opt").symlink_to("/lib")
    assert real_path(image, "/opt/a") == "/usr/lib/a"
    (image / "a").symlink_to("b")
    (image / "b").symlink_to("a")
    with pytest.raises(UsageError, match="in a circle"):
        real_path(image, "/a/x")


def test_the_digest_of_a_folder_is_of_its_contents_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    image, same = make_image(tmp_path / "image"), make_image(tmp_path / "same")
    first = digest(image)
    assert first.startswith("sha256:")
    assert digest(same) == first
    (image / "tmp/anything").write_text("is not of the image")
    assert digest(image) == first
    (image / "usr/lib/python3/numpy.py").write_text("x = 2\n")
    changed = digest(image)
    assert changed != first
    (image / "usr/lib/python3/numpy.py").write_text("x = 1\n")
    assert digest(image) == first
    (image / "usr/lib/python3/numpy.py").chmod(0o755)
    assert digest(image) not in (first, changed)


def test_bubblewrap_mounts_read_only_but_for_what_is_written() -> None:
    options = bubblewrap.arguments([Step("folder", "/usr"), Step("link", "/lib", "usr/lib")], MOUNTS)
    text = " ".join(options)
    assert text.startswith("--die-with-parent --dir /usr --symlink usr/lib /lib")
    assert "--ro-bind /opt/a/benchmarker /opt/a/benchmarker" in text
    assert " --bind /opt/results /opt/results" in text
    assert "--unshare-pid" not in options  # collectors find the worker by its number


def test_charliecloud_gets_a_place_for_each_mount(tmp_path: Path) -> None:
    image, package = make_image(tmp_path / "image"), tmp_path / "package.py"
    package.touch()
    steps, mounts = layout(image, [str(package)]), Mounts((str(package),))
    folder = tmp_path / "made"
    folder.mkdir()
    charliecloud.make_root(folder, steps, mounts)
    assert (folder / "root/lib").readlink() == Path("usr/lib")
    assert charliecloud._place(folder, str(package)).is_file()
    with pytest.raises(UnsupportedError, match="cannot mount a path with a colon"):
        charliecloud.arguments(folder, steps, Mounts(("/a:b",)))


def test_the_drivers_libraries_are_those_of_the_machines_own_architecture() -> None:
    listing = """
\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1
\tlibcuda.so.1 (libc6) => /usr/lib/i386-linux-gnu/libcuda.so.1
\tlibnvidia-ml.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1
\tlibc.so.6 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libc.so.6
"""
    folder = Path("/usr/lib/x86_64-linux-gnu")
    assert driver_libraries.listed(listing) == {folder / "libcuda.so.1", folder / "libnvidia-ml.so.1"}


def test_the_drivers_libraries_are_copied_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    library = tmp_path / "libcuda.so.1"
    library.write_text("driver")
    monkeypatch.setattr(driver_libraries, "installed", lambda: [library])
    mounts, variables = driver_libraries.added(MOUNTS, {"LD_LIBRARY_PATH": "/image"})
    folder = Path(mounts.read[-1])
    assert [path.name for path in folder.iterdir()] == ["libcuda.so.1"]
    assert variables["LD_LIBRARY_PATH"] == f"{folder}:/image"
    monkeypatch.setattr(driver_libraries, "installed", list)
    with pytest.raises(UnsupportedError, match="no libraries of NVIDIA's driver"):
        driver_libraries.added(MOUNTS, {})


def test_no_variable_with_a_path_goes_inside() -> None:
    container = Container("bubblewrap", "", "/i", "sha256:0", variables={"PATH": "/opt/bin", "OWN": "/x"})
    given = {
        "OMP_WAIT_POLICY": "passive",
        "CUDA_HOME": "/usr/local/cuda",
        "LD_PRELOAD": "libx.so",
        "PATH": "/usr/bin",
        "PYTHONPATH": "/x",
        "SECRET": "s",
    }
    found = contained.base_variables(container, registry.framework("numpy"), given)
    assert found == {
        "OMP_WAIT_POLICY": "passive",
        "PATH": "/opt/bin",
        "OWN": "/x",
        "LANG": "C.UTF-8",
        "HOME": "/tmp",  # noqa: S108 - inside
    }


def test_of_a_folder_with_packages_only_ours_is_seen() -> None:
    from benchmarker.api.framework import Device
    from benchmarker.worker.job import RunJob
    from benchmarker.worker.other_jobs import ConformanceJob

    job = RunJob("benchmarker.plugins.numpy", Device("cpu"), 1, 7, "p", {}, "training", 2, "fp32", data="/d")
    packages = import_roots(("benchmarker.plugins.numpy",))
    mounts = contained.mounts_of(job, packages, {})
    assert mounts.read == tuple(sorted(("/d", str(Path(packages["benchmarker"], "benchmarker")))))
    with pytest.raises(UnsupportedError, match="for runs and trainings of a single process"):
        contained.mounts_of(ConformanceJob("benchmarker.plugins.numpy", Device("cpu"), 1, 7), packages, {})
