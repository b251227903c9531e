"""Environments share no file with another or with uv's cache, and damage in one is noticed and healed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarker.execution.environments import managed
from benchmarker.execution.environments.install import link_mode
from benchmarker.execution.environments.integrity import find_damage, mark_damaged

RECORD = (
    "pack/__init__.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n"
    "pack/data.bin,sha256=iNQmb9TmM40TuEX88olXnSCciXgjuSF9o-Fhk28DFYk,4\n"
    "pack/__pycache__/x.pyc,,\npack-1.0.dist-info/RECORD,,\n"
)


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path))
    folder = tmp_path / "environments" / "pack-1"
    packages = folder / "lib" / "python3.11" / "site-packages"
    for name, text in (
        ("pack/__init__.py", ""),
        ("pack/data.bin", "abcd"),
        ("pack-1.0.dist-info/RECORD", RECORD),
    ):
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(text)
    (folder / "bin").mkdir()
    (folder / "bin/python").symlink_to("/bin/sh")
    facts = {"framework": "pack", "requirements": ["pack"], "python_version": "3.11.0", "made_at": "x"}
    (folder / managed.METADATA).write_text(json.dumps(facts))
    return folder


def packages(environment: Path) -> Path:
    return environment / "lib/python3.11/site-packages"


def test_a_whole_environment_has_no_damage(environment: Path) -> None:
    assert list(find_damage(environment)) == []
    assert mark_damaged("pack-1") is None
    assert managed.find_managed("pack-1") is not None


def test_a_file_that_is_cut_is_named_and_the_environment_made_anew(environment: Path) -> None:
    (packages(environment) / "pack/data.bin").write_text("ab")
    message = mark_damaged("pack-1")
    assert message is not None
    recreated = "the next run, or 'benchmarker env create', recreates it"
    assert f"pack-1 is damaged: pack/data.bin has 2 bytes, not 4; {recreated}" in message
    assert managed.find_managed("pack-1") is None


def test_a_file_that_is_gone_is_named(environment: Path) -> None:
    (packages(environment) / "pack/__init__.py").unlink()
    (packages(environment) / "pack/data.bin").unlink()
    assert "is gone and 1 more files" in str(mark_damaged("pack-1"))


def test_other_contents_are_found_by_their_digest(environment: Path) -> None:
    (packages(environment) / "pack/data.bin").write_text("abce")
    assert list(find_damage(environment)) == []
    (found,) = find_damage(environment, contents=True)
    assert (found.distribution, found.file, found.reason) == ("pack", "pack/data.bin", "has other contents")


def test_a_hard_link_is_found_by_a_check_and_the_environment_made_anew(
    environment: Path, tmp_path: Path
) -> None:
    (tmp_path / "uv-cache.bin").hardlink_to(packages(environment) / "pack/data.bin")
    assert list(find_damage(environment)) == []  # a run that fails does not fail of it
    assert mark_damaged("pack-1") is None
    message = mark_damaged("pack-1", contents=True)
    assert message is not None
    assert "pack/data.bin is a hard link that it shares with uv's cache or another environment; " in message
    assert managed.find_managed("pack-1") is None


def test_packages_are_never_hard_links(tmp_path: Path) -> None:
    assert link_mode(tmp_path) in ("clone", "copy")
    assert list(tmp_path.iterdir()) == []
