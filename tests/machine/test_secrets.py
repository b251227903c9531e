"""Which variables hold secrets, and texts without these."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarker.machine import identity
from benchmarker.machine.identity import without_folders, without_names
from benchmarker.machine.secrets import VOCABULARY, is_secret_name, without_assignments, without_secrets
from benchmarker.records.schema import load_schema


@pytest.mark.parametrize(
    "name",
    [
        "AWS_SECRET_ACCESS_KEY",
        "HF_TOKEN",
        "DB_PASSWORD",
        "MYSQL_PWD",
        "PGPASSFILE_PASSPHRASE",
        "GOOGLE_CREDENTIALS",
        "MXNET_API_KEY",
        "api_key",
        "apiKey",
        "GITHUB_PAT",
        "SESSION_COOKIE",
        "HTTP_AUTH",
        "AUTHORIZATION",
        "CUDA_SIGNATURE",
        "TF_PRIVATE_THING",
        "SENTRY_DSN",
        "AZURE_SAS",
        "JWT",
        "githubToken",
        "DBPASSWORD",
        "OPENAI_KEY",
        "KEYS",
        "SSH_PRIVATE_KEY",
        "PYPI_TOKENS",
        "DOCKER_CREDS",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "PWD",
        "OLDPWD",
        "MONKEY",
        "GIT_AUTHOR_NAME",
        "TOKENIZERS_PARALLELISM",
        "KEYBOARD",
        "OMP_NUM_THREADS",
        "XAUTHORITY",
        "PATH",
        "COMPASS",
        "PASSTHROUGH",
        "PATTERN",
        "JAX_DEFAULT_PRNG_IMPL",
        "TF_BYPASS",
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)


ENVIRONMENT = {
    "MY_API_KEY": "hunter2-and-more",
    "HTTPS_PROXY": "http://proxyuser:pr0xy/w@rd@proxy.example:8080",
    "SHORT_KEY": "abc",
    "A_KEY": "training",
    "HOME": "/home/somebody",
}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key=hunter2-and-more!", "key=<secret>!"),
        ("via http://proxyuser:pr0xy/w@rd@proxy.example:8080/x", "via http://<secret>@proxy.example:8080/x"),
        ("the word pr0xy/w@rd alone", "the word <secret> alone"),
        ("https://token123@github.com/x", "https://<secret>@github.com/x"),
        ("https://host:443/path@v1 and https://host/a@b", "https://host:443/path@v1 and https://host/a@b"),
        ("Authorization: Bearer abcdefgh12", "Authorization: Bearer <secret>"),
        ("a bearer of gifts, basic arithmetic", "a bearer of gifts, basic arithmetic"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- end", "<secret> end"),
        ("abc in training of somebody", "abc in training of somebody"),
    ],
)
def test_texts_without_secrets(text: str, clean: str) -> None:
    assert without_secrets({"a": [text, 1.5, None]}, ENVIRONMENT) == {"a": [clean, 1.5, None]}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("host=x password=abc db=y", "host=x password=<secret> db=y"),
        ("AccountKey=abc==;Endpoint=z", "AccountKey=<secret>;Endpoint=z"),
        ("https://x/?sig=abc&api_key=def", "https://x/?sig=<secret>&api_key=<secret>"),
        ("--xla_dump_to=/tmp --monkey=1", "--xla_dump_to=/tmp --monkey=1"),
    ],
)
def test_connection_strings_without_passwords(text: str, clean: str) -> None:
    assert without_assignments(text) == clean


def test_no_secret_is_taken_for_a_word_that_records_are_made_of() -> None:
    """Else a variable that happens to hold one of them would make every record invalid."""
    words = {word for found in re.findall(r'"enum": \[([^\]]*)\]', json.dumps(load_schema())) for word in
             re.findall(r'"([^"]*)"', found)}  # fmt: skip
    assert {word for word in words if re.fullmatch("[a-z_]{6,}", word)} <= VOCABULARY


@pytest.fixture
def gretchen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "host_name", lambda: "deepthought.example.org")
    monkeypatch.setattr(identity, "user_name", lambda: "gretchen")
    monkeypatch.setattr(Path, "home", lambda: Path("/srv/people/gretchen"))
    for name in (
        "USER",
        "LOGNAME",
        "USERNAME",
        "HOSTNAME",
        "SUDO_USER",
        "BENCHMARKER_HOME",
        "XDG_CACHE_HOME",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("gretchen")
@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/srv/people/gretchen/x.py:3", "<home>/x.py:3"),
        ('File "/home/arthur/lib/a.py", line 3', 'File "/home/<user>/lib/a.py", line 3'),
        ("pkg @ file:///Users/Arthur/pkg", "pkg @ file:///Users/<user>/pkg"),
        (
            "C:\\Users\\Arthur\\x and C:\\\\Users\\\\Arthur\\\\x",
            "C:\\Users\\<user>\\x and C:\\\\Users\\\\<user>\\\\x",
        ),
        ("1.0+gretchen.3 on deepthought", "1.0+<user>.3 on <host>"),
        ("deepthought.example.org /tmp/gretchen_env", "<host> /tmp/<user>_env"),
        ("gretchens deepthoughts", "gretchens deepthoughts"),
    ],
)
def test_texts_without_names(text: str, clean: str) -> None:
    assert without_names(text) == clean
    assert without_names(clean) == clean


@pytest.mark.usefixtures("gretchen")
def test_names_that_stand_for_nobody_stay_as_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "user_name", lambda: "ubuntu")
    assert without_names("ubuntu in /home/ubuntu/x") == "ubuntu in /home/<user>/x"


@pytest.mark.usefixtures("gretchen")
def test_folders_alone_leave_words() -> None:
    assert without_folders("gretchen has /home/gretchen/x") == "gretchen has /home/<user>/x"
