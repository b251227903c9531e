"""pip's settings, from variables and configuration files, in uv's words."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarker.execution.environments.index_settings import IndexSettings, index_settings, pip_files


def settings(environ: Mapping[str, str], *files: Path) -> IndexSettings:
    return index_settings(environ, files)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_set_changes_nothing() -> None:
    assert settings({"HOME": "/nowhere", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}) == IndexSettings()


def test_indexes_from_variables() -> None:
    found = settings(
        {
            "PIP_INDEX_URL": "https://main.example/simple",
            "PIP_EXTRA_INDEX_URL": "https://one.example/simple\n  https://two.example/simple",
        }
    )
    assert found.environment == {
        "UV_DEFAULT_INDEX": "https://main.example/simple",
        "UV_INDEX": "https://one.example/simple https://two.example/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }
    assert found.arguments == ()


def test_link_folders_become_absolute_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("near", "a,b"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    links = f"near {tmp_path}/a,b ~/near absent {tmp_path.as_uri()}/absent https://links.example/a,b"
    found = settings({"PIP_FIND_LINKS": links}).environment
    base = tmp_path.as_uri()
    assert found == {"UV_FIND_LINKS": f"{base}/near,{base}/a%2Cb,{base}/near,https://links.example/a%2Cb"}


def test_local_indexes_that_do_not_exist_are_passed_over_as_pip_does(tmp_path: Path) -> None:
    (tmp_path / "simple").mkdir()
    found = settings({"PIP_EXTRA_INDEX_URL": f"{tmp_path.as_uri()}/absent {tmp_path}/simple"}).environment
    assert found["UV_INDEX"] == f"{tmp_path.as_uri()}/simple"


@pytest.mark.parametrize(("text", "expected"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_no_index(text: str, expected: bool) -> None:
    found = settings({"PIP_NO_INDEX": text})
    assert found.offline is expected
    assert found.arguments == (("--no-index",) if expected else ())


def test_connection(tmp_path: Path) -> None:
    bundle = write(tmp_path / "bundle.pem", "")
    found = settings(
        {
            "PIP_CERT": str(bundle),
            "REQUESTS_CA_BUNDLE": "/elsewhere.pem",
            "PIP_TRUSTED_HOST": "one.example  two.example:8080",
            "PIP_DEFAULT_TIMEOUT": "180",
            "PIP_RETRIES": "7",
            "PIP_PROXY": "http://proxy.example:3128",
            "https_proxy": "http://mine.example",
        }
    ).environment
    assert found == {
        "SSL_CERT_FILE": str(bundle),
        "UV_INSECURE_HOST": "one.example two.example:8080",
        "UV_HTTP_TIMEOUT": "180",
        "UV_HTTP_RETRIES": "7",
        "HTTP_PROXY": "http://proxy.example:3128",
    }
    assert settings({"PIP_CERT": str(tmp_path / "absent.pem")}).environment == {}


def test_constraints() -> None:
    found = settings({"PIP_CONSTRAINT": "a.txt b.txt"}).arguments
    assert found == ("--constraints", "a.txt", "--constraints", "b.txt")
    assert settings({"PIP_CONSTRAINT": "a.txt", "UV_CONSTRAINT": "c.txt"}).arguments == ()


@pytest.mark.parametrize("name", ["UV_DEFAULT_INDEX", "UV_INDEX_URL"])
def test_what_the_user_set_for_uv_stays(name: str) -> None:
    environ = {
        "PIP_INDEX_URL": "https://pip.example/simple",
        "PIP_EXTRA_INDEX_URL": "https://extra.example/simple",
        "PIP_NO_INDEX": "1",
        "UV_INDEX_STRATEGY": "first-index",
        name: "https://uv.example/simple",
    }
    found = settings(environ)
    assert found.environment == {"UV_INDEX": "https://extra.example/simple"}
    assert found.arguments == ()


def test_files_variables_and_sections_override_in_pips_order(tmp_path: Path) -> None:
    weak = write(
        tmp_path / "weak.conf",
        "[global]\nindex-url = https://weak.example\ntrusted_host = weak.example\n"
        "[install]\nextra-index-url =\n    https://one.example\n    https://two.example\n"
        "[download]\nindex-url = https://other-command.example\n",
    )
    strong = write(
        tmp_path / "strong.conf",
        "[global]\nindex-url = https://strong.example\nextra-index-url = https://lost.example\nno-index =\n",
    )
    assert settings({}, weak, strong).environment == {
        "UV_DEFAULT_INDEX": "https://strong.example",
        "UV_INDEX": "https://one.example https://two.example",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_INSECURE_HOST": "weak.example",
    }
    over = settings({"PIP_INDEX_URL": "https://variable.example"}, weak, strong).environment
    assert over["UV_DEFAULT_INDEX"] == "https://variable.example"


def test_a_file_that_is_no_configuration_is_passed_over(tmp_path: Path) -> None:
    bad = write(tmp_path / "bad.conf", "index-url without a section")
    good = write(tmp_path / "good.conf", "[global]\nindex-url = https://good.example/%(percent)s\n")
    found = settings({}, bad, tmp_path / "absent.conf", good).environment
    assert found == {"UV_DEFAULT_INDEX": "https://good.example/%(percent)s"}


def test_which_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    user = tmp_path / "pip" / "pip.conf"
    own = write(tmp_path / "own.conf", "")
    assert pip_files({"PIP_CONFIG_FILE": os.devnull}) == []
    chosen = pip_files({"PIP_CONFIG_FILE": str(own)})
    assert chosen[-1] == own
    assert user not in chosen
    if os.name == "posix" and os.uname().sysname == "Linux":
        assert user in pip_files({})
