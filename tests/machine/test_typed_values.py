"""JSON values as types, in any thread."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from benchmarker.machine.typed_values import decoder, typed
from tests.conftest import ROOT

AT_ONCE = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from typing import Dict, List, Literal, Optional

import msgspec

from benchmarker.machine.typed_values import decoder, typed

THREADS = 4
VALUE = {"a": {"m1": {"k": [2.0]}}, "b19": "x"}


def new_type(number):
    # Of what typing has itself, whose hash is Python, so that other threads run while msgspec asks for it.
    inner = msgspec.defstruct(f"Inner{number}", [(f"m{i}", Optional[Dict[str, List[float]]], None) for i in range(20)])
    members = [(f"b{i}", Optional[Literal["x", f"y{number}"]], None) for i in range(20)]
    return msgspec.defstruct(f"Outer{number}", [("a", inner), *members])


def read(kind, gate, place):
    gate.wait()
    found = typed(VALUE, kind) if place % 2 else decoder(kind).decode(msgspec.json.encode(VALUE))
    return found.a.m1["k"]


sys.setswitchinterval(1e-6)
with ThreadPoolExecutor(THREADS) as pool:
    for number in range(60):
        kind, gate = new_type(number), threading.Barrier(THREADS)
        assert list(pool.map(lambda place: read(kind, gate, place), range(THREADS))) == [[2.0]] * THREADS
"""


def test_threads_may_meet_a_type_at_the_same_moment() -> None:
    """Where threads ask msgspec itself, the process crashes at one of so many types."""
    done = subprocess.run([sys.executable, "-c", AT_ONCE], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


class Point(msgspec.Struct):
    x: float


def test_values_and_texts_become_the_type_or_are_refused() -> None:
    assert typed({"x": 1.5}, Point) == decoder(Point).decode(b'{"x": 1.5}') == Point(1.5)
    assert typed([{"x": 2}], list[Point]) == [Point(2.0)]
    with pytest.raises(msgspec.ValidationError, match=r"Expected `float`, got `str` - at `\$\.x`"):
        typed({"x": "much"}, Point)
