"""Two builds of one version of Python are told apart, and whether a profile guided them."""

from __future__ import annotations

import re
import sys

import pytest

from benchmarker.worker.python_build import profile_guided, python_build

POSIX = ("posix_home", "posix_prefix", "posix_user", "venv")


@pytest.mark.parametrize(
    ("configured", "schemes", "guided"),
    [
        ("'--prefix=/usr/local' '--enable-optimizations' '--with-lto'", POSIX, True),
        ("'--prefix=/opt/python' '--enable-shared'", POSIX, False),
        ("'--prefix=/usr' '--enable-shared'", ("deb_system", "posix_local", *POSIX), True),
        ("'--prefix=/usr' '--enable-shared'", POSIX, None),
        (None, ("nt", "nt_user"), None),
        ("", POSIX, None),
    ],
    ids=["of a distribution", "by hand", "Debian", "Debian before 3.10", "Windows", "nothing told"],
)
def test_a_build_tells_whether_a_profile_guided_it(
    configured: str | None, schemes: tuple[str, ...], guided: bool | None
) -> None:
    assert profile_guided(configured, schemes) is guided


def test_the_text_has_every_word_of_what_python_says_of_itself() -> None:
    said = sys.version.split(maxsplit=1)[1]
    assert sorted(re.findall(r"[\w.:]+", python_build().text)) == sorted(re.findall(r"[\w.:]+", said))
