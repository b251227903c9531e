"""What the terminal tells of runs of several ranks."""

from __future__ import annotations

from typing import Any

from benchmarker.analysis.text.ranks import lines, network_name, ranks_table
from tests.support.rank_records import several, single


def told(record: dict[str, Any]) -> dict[str, str]:
    return dict(lines(record))


def table(*records: dict[str, Any]) -> list[dict[str, str]]:
    """Return the rows of the table by their headings, which stand where the line below them tells."""
    text = ranks_table(records, width=300)
    heads, rule, *rows = text.split("\n\n")[0].splitlines()
    ends = [0]
    for dashes in rule.split("  "):
        ends.append(ends[-1] + len(dashes) + 2)
    spans = list(zip(ends, ends[1:]))
    return [{heads[a:b].strip(): row.ljust(len(rule))[a:b].strip() for a, b in spans} for row in rows if row]


def test_a_run_of_one_rank_tells_nothing_of_ranks() -> None:
    assert told(single()) == {}


def test_a_run_tells_who_took_part_by_what_and_where_its_time_went() -> None:
    found = told(several(ranks=4))
    assert found["ranks"] == (
        "4 with 4 rows each, all-reduce by MPI between the framework's gradients and an update in NumPy, strong scaling"
    )
    assert found["network"] == "loopback of the run's own, met in 100 ms"
    assert found["rank steps"] == (
        "medians from 24.0 ms to 27.0 ms, apart by 1.00 ms in a step, compute 10.0 ms, exchange and update 12.0 ms, "
        "waiting 3.00 ms"
    )
    assert (
        found["volume"]
        == "5.722 MiB per step by formula, 5.751 MiB on the wire, 976.6 KiB given to all-reduce by a rank"
    )
    assert found["staleness"] == ""


def test_an_emulated_network_is_called_one_and_shared_memory_says_why_nothing_was_counted() -> None:
    assert told(several(network="100mbit"))["network"].startswith("emulated, 100mbit")
    found = told(several(network="shared"))
    assert found["network"] == "that of the machine, met in 100 ms, bytes not counted: memory is shared"
    assert "on the wire" not in found["volume"]
    names = [network_name(several(network=network)) for network in (None, "1gbit", "shared")]
    assert names == ["loopback", "emulated 1gbit", "machine's memory"]


def test_findings_staleness_and_batch_normalization_are_told() -> None:
    record = several(scheme="asynchronous-server")
    record["distributed"]["volume"]["findings"] = ["twice the formula"]
    record["distributed"]["staleness"] = {"10": 1, "0": 2, "1": 1}
    record["distributed"]["batch_normalization"] = "local"
    found = told(record)
    assert found["volume"].endswith("; twice the formula")
    assert found["staleness"] == "50% 0 versions old, 25% 1 versions old, 25% 10 versions old"
    assert found["ranks"].endswith("batch normalization local")


def test_a_run_that_came_to_no_end_tells_what_is_known() -> None:
    record = several()
    record["distributed"].update(
        members=[], volume=None, parts=None, skew_seconds=None, rendezvous_seconds=None
    )
    who, *others = [text for text in told(record).values() if text]
    assert who.startswith("2 with 8 rows each, all-reduce by MPI")
    assert others == ["loopback of the run's own"]


def test_the_table_has_numbers_by_hand() -> None:
    one, two, four = table(
        single(0.04), several(0.025), several(0.02, ranks=4, parts=(0.005, None, None), wire_bytes=None)
    )
    assert (one["step"], one["speed-up"], one["efficiency"]) == ("40.0 ms", "1.00", "100%")
    assert (two["scheme"], two["ranks"], two["speed-up"]) == ("all-reduce, mpi", "2", "1.60")
    assert two["efficiency"] == "80% (80% to 80%)"
    assert (two["compute"], two["exchange"], two["waiting"]) == ("10.0 ms", "12.0 ms", "3.00 ms")
    assert (two["bytes, formula"], two["bytes, wire"]) == ("1.907 MiB", "1.917 MiB")
    assert (four["efficiency"], four["exchange"], four["bytes, wire"]) == ("50% (50% to 50%)", "-", "-")
    assert not {"network", "scaling"} & set(two)


def test_small_efficiencies_are_told_with_two_digits() -> None:
    *_, slow = table(single(0.04), several(1.0))
    assert slow["efficiency"] == "2.0% (2.0% to 2.0%)"


def test_without_one_rank_no_speedup_is_claimed() -> None:
    (row,) = table(several(0.025))
    assert "speed-up" not in row
    assert "efficiency" not in row


def test_networks_and_scalings_have_columns_where_they_differ_and_emulated_ones_always() -> None:
    (row,) = table(several(network="100mbit"))
    assert row["network"] == "emulated 100mbit"
    assert "Emulated: the network between ranks is made of links of 100mbit" in ranks_table(
        [several(network="100mbit")], width=300
    )
    rows = table(several(), several(network="shared"), several(scaling="weak"))
    assert [row["network"] for row in rows] == ["loopback", "machine's memory", "loopback"]
    assert [row["scaling"] for row in rows] == ["strong", "strong", "weak"]


def test_of_averaging_the_table_tells_that_steps_are_means_of_periods() -> None:
    steps = [0.01, 0.01, 0.01, 0.05] * 12
    averaging, single_rank = several(steps, scheme="averaging/4"), single(0.04)
    *_, row = table(single_rank, averaging)
    assert (row["step"], row["speed-up"]) == ("20.0 ms", "2.00")
    assert "Averaging: the step is the mean" in ranks_table([single_rank, averaging], width=300)
    assert "Averaging" not in ranks_table([single_rank, several()], width=300)
