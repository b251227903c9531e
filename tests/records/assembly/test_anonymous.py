"""What lies beside an anonymous record names nobody."""

from __future__ import annotations

import getpass
import gzip
import json
import socket
from pathlib import Path

import pytest

from benchmarker.records.assembly import anonymous
from benchmarker.records.assembly.anonymous import anonymous_trace


def compressed(document: object) -> bytes:
    return gzip.compress(json.dumps(document).encode())


def test_a_trace_names_neither_user_nor_host_nor_folder() -> None:
    event = {
        "name": f"/home/{getpass.getuser()}/ops.py(3): run on {socket.gethostname()}",
        "ts": 1.5,
        "ph": "X",
    }
    made = anonymous_trace(compressed({"traceEvents": [event, {"name": "gemm", "ts": 2}]}), None)
    assert made is not None
    first, second = json.loads(gzip.decompress(made))["traceEvents"]
    assert getpass.getuser() not in first["name"]
    assert socket.gethostname() not in first["name"]
    assert first["name"].endswith("ops.py(3): run on <host>")
    assert (first["ts"], first["ph"], second) == (1.5, "X", {"name": "gemm", "ts": 2})


def test_the_folder_of_a_users_problem_goes_too() -> None:
    made = anonymous_trace(compressed({"title": "/srv/secret/net.py"}), Path("/srv/secret/net.py"))
    assert made is not None
    assert json.loads(gzip.decompress(made)) == {"title": "net.py"}


@pytest.mark.parametrize(
    "data",
    [b"", b"no gzip", gzip.compress(b"{"), gzip.compress(b"{}")[:-4], gzip.compress(b"[" * 200_000)],
    ids=["empty", "other", "no JSON", "cut short", "deep"],
)
def test_what_cannot_be_read_is_left_out(data: bytes) -> None:
    assert anonymous_trace(data, None) is None


def test_a_trace_that_grows_beyond_all_bounds_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anonymous, "MAX_TRACE_TEXT_BYTES", 1 << 20)
    bomb = gzip.compress(json.dumps({"name": "x" * (4 << 20)}).encode())
    assert anonymous_trace(bomb, None) is None
    assert anonymous_trace(compressed({"name": "x" * (1 << 19)}), None) is not None
