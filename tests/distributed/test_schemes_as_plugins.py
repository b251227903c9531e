"""Schemes as plug-ins: their names and constants, one in a file, and what is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchmarker import registry
from benchmarker.api.scheme import constant_of, described_label, label_of
from benchmarker.distributed.schemes.sparse import Sparse
from benchmarker.errors import PluginError, UsageError
from benchmarker.problems.files import load_plugin
from tests.cli.test_scale import TRAINING
from tests.conftest import ROOT, Command

MINE = ROOT / "examples" / "schemes" / "majority_vote.py"
OWN = registry.names("schemes", ours=True)


@pytest.mark.parametrize("name", OWN)
def test_a_name_is_that_of_the_entry_point_and_its_label_is_read_as_the_same(name: str) -> None:
    scheme = registry.scheme(name)
    assert scheme.name == name
    assert registry.scheme(scheme.label) == scheme
    assert described_label(scheme).startswith(name)
    worker_s = load_plugin(registry.scheme_value(scheme.label)).benchmarker_scheme()
    assert replace(worker_s, **vars(scheme)) == scheme


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("averaging", "averaging/16"),
        ("averaging/01", "averaging/1"),
        ("averaging/1000000", "averaging/1000000"),
        ("sparse/1", "sparse/1"),
        ("sparse/1e-3", "sparse/0.001"),
        ("sparse/0.123456789", "sparse/0.123456789"),
        ("stale-synchronous", "stale-synchronous/3"),
        ("sharded", "sharded"),
    ],
)
def test_one_text_is_of_one_scheme(text: str, label: str) -> None:
    scheme = registry.scheme(text)
    assert (scheme.label, label_of(text, scheme)) == (label, label)
    assert registry.scheme(label) == scheme


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("all-redce", "unknown scheme 'all-redce'; did you mean 'all-reduce'?"),
        ("averagin/4", "unknown scheme 'averagin'; did you mean 'averaging'?"),
        ("averaging/", "averaging/STEPS takes a whole number from 1 to 1000000, got ''"),
        ("averaging/1.5", "averaging/STEPS takes a whole number from 1 to 1000000, got '1.5'"),
        ("averaging/4/4", "averaging/STEPS takes a whole number from 1 to 1000000, got '4/4'"),
        ("sparse/0", "sparse/SHARE takes a number above 0 and at most 1, got '0'"),
        ("sparse/inf", "sparse/SHARE takes a number above 0 and at most 1, got 'inf'"),
        ("stale-synchronous/-1", "stale-synchronous/BOUND takes a whole number from 0 to 1000000, got '-1'"),
        ("sharded/2", "scheme 'sharded' has no constant, got 'sharded/2'"),
    ],
)
def test_what_is_no_scheme_is_refused_in_a_sentence(text: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        registry.scheme(text)
    assert str(refused.value) == told


def test_a_file_is_a_scheme_with_its_constant_under_its_name(tmp_path: Path) -> None:
    shutil.copy(MINE, tmp_path / "mine.py")
    path = str(tmp_path / "mine.py")
    usual, other = registry.scheme(path), registry.scheme(f"{path}/0.25")
    assert (usual.label, other.label) == ("mine.py/1", "mine.py/0.25")
    assert label_of(path, usual) == f"{path}/1"
    assert registry.scheme(label_of(path, usual)) is not None
    assert usual.digest == other.digest == registry.find("schemes", path).version
    with pytest.raises(UsageError, match=r"mine\.py/SCALE takes a number above 0, got '0'"):
        registry.scheme(f"{path}/0")
    (tmp_path / "mine.py").write_text("x = 1\n")
    with pytest.raises(PluginError, match=r"scheme 'mine\.py' .* defines no function 'benchmarker_scheme'$"):
        registry.scheme(path)
    with pytest.raises(
        UsageError, match=r"a scheme that ends in \.py must be a file that is there, got 'no\.py'"
    ):
        registry.scheme(str(tmp_path / "no.py"))


def test_a_file_is_predicted(command: Command) -> None:
    shutil.copy(MINE, command.folder / "mine.py")
    done = command("scale", str(TRAINING), "--ranks=2", "--scheme=mine.py/0.5,all-reduce", "--json")
    assert done.status == 0, done.stderr
    mine, all_reduce = json.loads(done.stdout)["curves"]
    assert (mine["scheme"], mine["algorithm"]) == ("mine.py/0.5", "bits gathered on a ring")
    assert mine["points"][0]["bytes_per_rank"] * 32 == all_reduce["points"][0]["bytes_per_rank"]


def test_the_list_tells_what_each_does_and_who_has_published_it(command: Command) -> None:
    rows = json.loads(command("list", "schemes", "--json").stdout)
    assert [row["name"] for row in rows] == list(OWN)
    for row in rows:
        assert row["usable"]
        scheme = registry.scheme(row["name"])
        assert (row["description"], row["source"]) == (scheme.description, scheme.source)
        constant = constant_of(scheme)
        assert constant is None or constant[0].upper() in row["description"]
    assert "Lian et al. 2017" in command("list", "schemes").stdout


def test_a_constant_is_what_its_rule_says() -> None:
    @dataclass(frozen=True)
    class Derived(Sparse):
        name = "derived"

    found = constant_of(Derived())
    assert found is not None
    assert found[0] == "share"
    assert Derived(0.5).label == "derived/0.5"
