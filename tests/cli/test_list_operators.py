"""``benchmarker list operators``: the vocabulary, told by its own signatures."""

from __future__ import annotations

import json

from benchmarker.graph.attributes import RECORDS
from benchmarker.graph.network import Network
from benchmarker.graph.operators import OPERATORS
from tests.conftest import Command


def test_every_operator_is_told_once_with_its_arguments(command: Command) -> None:
    rows = json.loads(command("list", "operators", "--json").stdout)
    assert sorted(row["name"] for row in rows) == sorted(OPERATORS)
    for row in rows:
        known = OPERATORS[row["name"]]
        assert row["kind"] == known.kind
        assert tuple(tensor["name"] for tensor in row["tensors"]) == known.tensors
        assert [a["name"] for a in row["attributes"]] == list(known.attributes)
        assert bool(row["record"]) == (row["name"] in RECORDS)
        assert row["description"]
        assert row["group"]


def test_a_signature_is_what_a_network_takes(command: Command) -> None:
    rows = {row["name"]: row for row in json.loads(command("list", "operators", "--json").stdout)}
    assert rows["conv"]["signature"].startswith("conv(x, w, b=None, *, ")
    assert rows["leaky_relu"]["signature"] == "leaky_relu(x, *, alpha=0.01)"
    assert rows["concat"]["signature"] == "concat(*xs, axis)"
    net = Network("told", 2)
    window = {a["name"]: a["default"] for a in rows["max_pool"]["attributes"] if not a["required"]}
    needed = [a["name"] for a in rows["max_pool"]["attributes"] if a["required"]]
    sizes = {"kernel_shape": (2, 2), "strides": (2, 2), "pads": (0, 0, 0, 0)}
    given = {name: sizes[name] for name in needed}
    assert net.max_pool(net.input("x", (3, 4, 4)), **window, **given).shape == (2, 3, 2, 2)


def test_people_read_signatures_and_what_each_computes(command: Command) -> None:
    lines = command("list", "operators").stdout.splitlines()
    place = lines.index("relu(x)")
    assert lines[place + 1].startswith("    `max(x, 0)`")
    assert "    A framework's method takes `window: MaxPooling`." in lines
    assert max(map(len, lines)) <= 80


def test_a_matrix_of_operators_is_refused(command: Command) -> None:
    done = command("list", "operators", "--matrix")
    assert (done.status, done.stderr) == (
        2,
        "benchmarker: --matrix shows problems by framework, not operators\n",
    )
