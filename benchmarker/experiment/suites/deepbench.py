"""DeepBench's suites (Narang & Diamos 2016, github.com/baidu-research/DeepBench), from a copy of its sizes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarker.api.suite import Request, Suite

SIZES = Path(__file__).resolve().parent / "deepbench.json"
USES: Mapping[str, str] = {
    "training": "training",
    "inference-server": "inference on a server",
    "inference-device": "inference on a device",
}
"""Members of a kind in the file that are lists of sizes, and what they are for."""
_KINDS: Mapping[str, str] = {
    "gemm": "dense matrix products",
    "conv": "convolutions",
    "rnn": "recurrent layers",
    "sparse_gemm": "sparse matrix products",
}


def _requests(kind: Mapping[str, Any], use: str) -> tuple[Request, ...]:
    names = kind["parameters"]
    return tuple(
        Request(kind["problem"], {name: (value,) for name, value in zip(names, row)}) for row in kind[use]
    )


def benchmarker_suites() -> tuple[Suite, ...]:
    """Return the suites of each kind of operator: all of it, and each of its uses by itself."""
    data = json.loads(SIZES.read_text(encoding="utf-8"))
    source = f"{data['about']['source']}, commit {data['about']['commit'][:12]}, {data['about']['licence']}"
    found = []
    for kind, words in _KINDS.items():
        sizes, name = data["kinds"][kind], f"deepbench-{kind.replace('_', '-')}"
        of_use = {use: _requests(sizes, use) for use in USES if use in sizes}
        every = tuple(request for requests in of_use.values() for request in requests)
        found.append(Suite(name, f"DeepBench's {words}", source, every))
        found += [
            Suite(f"{name}-{use}", f"DeepBench's {words} of {USES[use]}", source, requests)
            for use, requests in of_use.items()
        ]
    return (*found, _all_reduce(data["kinds"]["all_reduce"], source))


def _all_reduce(kind: Mapping[str, Any], source: str) -> Suite:
    """Return the suite of all-reduces; how many ranks make them, ``--ranks`` says, and how often, what times them."""
    column = kind["parameters"].index("floats")
    sizes = dict.fromkeys(row[column] for row in kind["training"])
    requests = tuple(Request(kind["problem"], {"size": (size,)}) for size in sizes)
    return Suite("deepbench-allreduce", "DeepBench's all-reduces, of several ranks", source, requests)
