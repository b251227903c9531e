"""What a page holds, without a browser: thinning, figures, numbers, sections, safety of its text."""

from __future__ import annotations

import base64
import gzip
import html
import json
import math
import random
import re
from typing import Any

import plotly.graph_objects as go
import pytest

from benchmarker import load_results
from benchmarker.analysis.charts import palette
from benchmarker.analysis.charts.downsampling import kept, quantiles, rounded
from benchmarker.analysis.page import MAX_RUNS, assets, make_page
from benchmarker.analysis.page.chart_table import MAX_ROWS, numbers
from benchmarker.analysis.page.dedupe import SharedSections
from benchmarker.analysis.page.interactive.figure import draw
from benchmarker.analysis.page.interactive.pictures import is_worth_drawing
from benchmarker.analysis.page.sections import sections
from benchmarker.analysis.page.table import table
from benchmarker.api.chart import Axis, Chart, Heat, Mark, Panel, Series
from benchmarker.errors import UsageError
from tests.conftest import ROOT
from tests.support.rank_records import several, single
from tests.support.records import PRESSURE, make_failed_record, make_record
from tests.support.trainings import kept_trainings

# --- thinning --------------------------------------------------------------------------------------


def test_thinning_keeps_every_peak_and_no_more_than_asked() -> None:
    draw_one = random.Random(1)
    values: list[float | None] = [draw_one.random() for _ in range(10_000)]
    values[777], values[9_999], values[4_000] = 9.0, -9.0, None
    places = kept(values, 200)
    assert len(places) <= 200
    assert places == sorted(set(places))
    assert {777, 9_999} <= set(places)


def test_thinning_leaves_what_is_short_and_gaps() -> None:
    assert kept([3.0, 1.0, 2.0], 3) == [0, 1, 2]
    assert len(kept([None] * 100, 10)) == 5


def test_quantiles_keep_the_ends_and_the_middle() -> None:
    found = quantiles([float(value) for value in range(1001)], 101)
    assert (found[0], found[50], found[-1], len(found)) == (0.0, 500.0, 1000.0, 101)


def test_rounding_keeps_significant_digits() -> None:
    assert rounded(0.000123456789) == 0.00012346
    assert rounded(None) is None


# --- figures ---------------------------------------------------------------------------------------

HOSTILE = '<b>x</b> & %{y} <a href="javascript:alert(1)">a</a>'
NAMES = Axis("framework", scale="category", categories=("one", HOSTILE))


def panel(*series: Series, x: Axis = NAMES, y: Axis | None = None, **more: Any) -> Panel:
    return Panel(x, y or Axis("median step", "ms"), series=series, **more)


def chart(*panels: Panel, kind: str = "frameworks") -> Chart:
    return Chart(kind, "A title", "A caption.", panels)


EVERY_KIND = [
    panel(Series("a", "bars", ("one", HOSTILE), (1.0, None), low=(0.9, None), high=(1.2, None))),
    panel(Series("a", "stacked", ("one",), (1.0,)), Series("b", "stacked", ("one",), (2.0,))),
    panel(Series("a", "points", ("one",), (1.0,), faint=True, texts=(HOSTILE,))),
    panel(Series("a", "violin", ("one",), tuple(float(value) for value in range(50)))),
    panel(Series("ideal", "line", (1, 2, 4), (1.0, 2.0, 4.0), dashed=True), x=Axis("threads", scale="log2")),
    panel(Series("a", "steps", (1.0, 2.0), (1.0, 2.0)), x=Axis("step"), y=Axis("loss", scale="log")),
    panel(
        Series("a", "line", (1.7e9, 1.8e9), (1.0, 2.0)),
        x=Axis("day", scale="time"),
        marks=(Mark(HOSTILE, x=1.75e9), Mark("goal", y=1.5), Mark("warm-up", x=1.7e9, until=1.72e9)),
    ),
    Panel(
        Axis("framework", scale="category"),
        Axis("problem", scale="category"),
        heat=Heat((HOSTILE,), ("one", "two"), ((1.0, None),), (("1.0", ""),), "ratio", centre=1.0),
    ),
    panel(
        Series("a", "points", (1.0, 2.0), (1.0, 2.0), hollow=True),
        x=Axis("step"),
        y=Axis("b", zero=True, most=9),
    ),
]


@pytest.mark.parametrize("one", EVERY_KIND, ids=lambda one: one.series[0].kind if one.series else "heat")
def test_plotly_itself_takes_every_figure(one: Panel) -> None:
    drawn = draw(chart(one))
    text = json.dumps(drawn.figures[0], allow_nan=False)
    # Places in the palette are the page's own; plotly knows real colours.
    go.Figure(json.loads(re.sub(r'"@[\w/.]+"', '"#123456"', text)))
    assert "<b>" not in text
    assert "<a " not in text
    assert f'{"template"}": "%{{y}}' not in text


@pytest.mark.parametrize("kind", ["bars", "points"])
def test_an_interval_that_dwarfs_the_values_is_cut_and_marked(kind: Any) -> None:
    series = Series("a", kind, x=("p", "q"), y=(1.0, 2.0), low=(0.9, -70.0), high=(400.0, 2.1), colour=0)
    cut = Panel(Axis("problem", scale="category", categories=("p", "q")), Axis("time"), series=(series,))
    figure = draw(chart(cut)).figures[0]
    (trace,) = figure["data"]
    assert trace["error_y"]["array"] == pytest.approx([4.0, 0.1])
    assert trace["error_y"]["arrayminus"] == pytest.approx([0.1, 7.0])
    assert trace["text"] == ["▲", "▼"]
    assert trace["hovertext"] == ["95 % interval: 0.9000 to 400.0", "95 % interval: -70.00 to 2.100"]
    assert figure["layout"]["yaxis"]["title"]["text"].endswith("the interval goes on")


def test_an_interval_reaches_from_low_to_high() -> None:
    trace = draw(chart(EVERY_KIND[0])).figures[0]["data"][0]
    assert trace["error_y"]["array"] == [pytest.approx(0.2), None]
    assert trace["error_y"]["arrayminus"] == [pytest.approx(0.1), None]
    assert trace["y"] == [1.0, None]


def series_of(kind: str, count: int, **more: Any) -> list[Series]:
    return [Series(f"s{index}", kind, ("one",), (1.0,), colour=index, **more) for index in range(count)]


def test_series_differ_in_more_than_their_colour() -> None:
    lines, bars = (
        draw(chart(panel(*series_of(kind, 13 if kind == "bars" else 11)))).figures[0]["data"]
        for kind in ("line", "bars")
    )
    assert len({trace["marker"]["symbol"] for trace in lines}) == 11
    hatches = [json.dumps(trace["marker"].get("pattern")) for trace in bars]
    assert len(set(hatches[:11])) == 11
    for bar, other in zip(bars, bars[10:]):
        assert bar["marker"].get("pattern") != other["marker"].get("pattern")


def test_what_needs_no_sign_has_none_and_many_values_have_few() -> None:
    ideal, bare = series_of("line", 1, dashed=True), series_of("line", 1, marked=False)
    for (trace,) in (draw(chart(panel(*one))).figures[0]["data"] for one in (ideal, bare)):
        assert (trace["mode"], "marker" in trace) == ("lines", False)
    many = Series("a", "line", tuple(range(500)), tuple(map(float, range(500))))
    (trace,) = draw(chart(panel(many, x=Axis("step")))).figures[0]["data"]
    assert trace["mode"] == "lines+markers"
    assert trace["marker"]["maxdisplayed"] < 12


def test_an_interval_has_the_colour_of_its_series_where_it_can_be_seen() -> None:
    for kind, colour in (("points", "@2"), ("line", "@2"), ("bars", "@ink")):
        traces = draw(chart(panel(*series_of(kind, 3, low=(0.5,), high=(2.0,))))).figures[0]["data"]
        assert traces[2]["error_y"]["color"] == colour


def test_a_name_stands_once_in_the_legend() -> None:
    same = Series("pytorch", "points", ("one",), (1.0,))
    data = draw(chart(panel(same, same, Series("", "line", (), ())))).figures[0]["data"]
    assert [trace["showlegend"] for trace in data] == [True, False, False]


def test_long_series_are_thinned_and_this_is_said() -> None:
    many = Series("a", "line", tuple(range(5000)), tuple(map(float, range(5000))))
    drawn = draw(chart(panel(many, x=Axis("step"))))
    assert drawn.thinned
    assert len(drawn.figures[0]["data"][0]["x"]) <= 600
    assert not draw(chart(EVERY_KIND[0])).thinned


def test_powers_of_two_are_the_ticks_of_a_doubling_axis() -> None:
    assert draw(chart(EVERY_KIND[4])).figures[0]["layout"]["xaxis"]["tickvals"] == [1, 2, 4]


def test_many_names_are_slanted_and_have_room() -> None:
    few, many = (tuple(f"a problem, batch size {index}" for index in range(count)) for count in (3, 12))
    low, high = (
        draw(chart(panel(x=Axis("problem", scale="category", categories=names)))).figures[0]["layout"]
        for names in (few, many)
    )
    assert "<br>" in low["xaxis"]["ticktext"][0]
    assert high["xaxis"]["tickangle"] < 0
    assert high["height"] > low["height"] + 50


def test_times_are_in_utc() -> None:
    assert draw(chart(EVERY_KIND[6])).figures[0]["data"][0]["x"][0] == "2023-11-14 22:13:20.000"


def test_points_that_are_bounds_are_open_and_a_share_reaches_to_all() -> None:
    bound = Series("a", "points", (1.0,), (40.0,), hollow=True)
    share = Axis("share", "%", zero=True, most=100.0)
    (figure,) = draw(chart(panel(bound, x=Axis("step"), y=share))).figures
    assert figure["data"][0]["marker"]["symbol"] == "circle-open"
    assert figure["layout"]["yaxis"]["range"] == pytest.approx([0.0, 106.0])


@pytest.mark.parametrize(
    ("values", "every", "form"),
    [
        ((2e-6, 6e-6), "D1", ".1~e"),
        ((0.02, 0.9), "D2", ",.3~r"),
        ((50.0, 50.0), "D2", ",.3~r"),
        ((1.0, 1e6), None, None),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_whole_numbers_with_their_power(
    values: tuple[float, float], every: str | None, form: str | None
) -> None:
    line = Series("a", "line", (1.0, 2.0), values)
    axis = draw(chart(panel(line, x=Axis("step"), y=Axis("share", scale="log")))).figures[0]["layout"][
        "yaxis"
    ]
    assert (axis.get("dtick"), axis.get("tickformat")) == (every, form)


def test_long_names_of_axes_and_scales_go_on_in_a_second_line() -> None:
    long = "norm of the difference, share of the way that the reference has gone"
    heat = Heat(("r",), ("a", "b"), ((0.5, 1.0),), (("1\n2 ms", ""),), long)
    (figure,) = draw(chart(Panel(Axis("x"), Axis(long), heat=heat))).figures
    trace = figure["data"][0]
    assert "<br>" in figure["layout"]["yaxis"]["title"]["text"]
    assert trace["colorbar"]["title"]["text"].replace("<br>", " ") == long
    assert trace["text"] == [["1<br>2 ms", ""]]
    assert numbers(chart(Panel(Axis("x"), Axis("y"), heat=heat))).rows[0] == ("r", "a", "1, 2 ms", "")


def test_a_ratio_as_far_below_as_above_is_as_dark() -> None:
    heat = Heat(("r",), ("a", "b", "c"), ((0.5, 1.0, 2.0),), (("", "", ""),), "ratio", centre=1.0)
    trace = draw(chart(Panel(Axis("x"), Axis("y"), heat=heat))).figures[0]["data"][0]
    assert trace["z"] == [[-1.0, 0.0, 1.0]]
    assert (trace["zmin"], trace["zmax"]) == (-1.0, 1.0)
    assert "1" in trace["colorbar"]["ticktext"]


def test_a_picture_with_nothing_to_compare_is_not_worth_drawing() -> None:
    x = Axis("threads", scale="log2")
    ideal = Series("ideal", "line", (1, 2), (1.0, 2.0), dashed=True)
    one, two = Series("a", "line", (1,), (1.0,)), Series("b", "line", (2,), (1.0,))
    assert not is_worth_drawing(chart(panel(one, ideal, x=x), kind="threads"))
    assert is_worth_drawing(chart(panel(one, two, ideal, x=x), kind="threads"))
    assert is_worth_drawing(chart(panel(one, x=x), kind="frameworks"))
    assert not is_worth_drawing(chart(panel(*[one] * 61), kind="samples"))
    assert not is_worth_drawing(chart(kind="samples"))


# --- numbers ---------------------------------------------------------------------------------------


def test_numbers_tell_value_unit_and_interval() -> None:
    found = numbers(chart(EVERY_KIND[0]))
    assert found.rows == (("a", "one", "1.000 ms", "0.9000 to 1.200 ms"),)


def test_numbers_of_many_values_are_a_row() -> None:
    (row,) = numbers(chart(EVERY_KIND[3])).rows
    assert row[2] == "median 24.50 ms of 50, from 0 to 49.00 ms"


def test_numbers_are_cut_and_say_so() -> None:
    bars = [Series(f"s{index}", "bars", ("one",), (1.0,)) for index in range(MAX_ROWS + 5)]
    found = numbers(chart(panel(*bars)))
    assert (len(found.rows), found.skipped) == (MAX_ROWS, 5)


# --- what is told of a run -------------------------------------------------------------------------


def texts(record: dict[str, Any]) -> str:
    return json.dumps(sections(record, points=100), ensure_ascii=False)


def test_a_section_is_told_of_everything_that_matters() -> None:
    record = make_record()
    record["trust"] |= {"grade": "noisy", "reasons": [PRESSURE]}
    found = {section["title"]: json.dumps(section) for section in sections(record, points=100)}
    assert list(found)[:4] == ["Result", "Samples", "Trust", "Verification"]
    assert "11.0 %" in found["Trust"]
    assert "fc3" in found["Verification"]
    assert "Example CPU 3000" in found["Platform"]
    assert "no NVIDIA driver is loaded" in found["Platform"]
    assert "2.13.0+cpu" in found["Environment"]
    assert "--problem=mnist_mlp" in found["Run it again"]


def test_the_worst_tensors_come_first() -> None:
    record = make_record()
    tensor = record["verification"]["tensors"][0]
    worse = {**tensor, "name": "worse", "norm_error": 9e-5}
    broken = {**tensor, "name": "broken", "max_relative_error": None, "passed": False}
    record["verification"]["tensors"] = [tensor, worse, broken]
    told = next(section for section in sections(record, points=9) if section["title"] == "Verification")
    rows = told["parts"][1]["rows"]
    assert [row[0] for row in rows] == ["broken", "worse", "fc3"]
    assert "not finite" in rows[0]


def test_samples_are_in_milliseconds_with_the_places_of_those_that_are_kept() -> None:
    record = make_record([0.001 + 0.000001 * (i % 7) for i in range(1000)])
    told = next(section for section in sections(record, points=100) if section["title"] == "Samples")
    timed = told["parts"][0]["timed"]
    assert timed["count"] == 1000
    assert len(timed["ms"]) == len(timed["at"]) <= 100
    assert 1.0 <= timed["ms"][0] <= 1.006


def test_a_run_that_crashed_tells_its_log_and_nothing_it_does_not_know() -> None:
    told = texts(make_failed_record())
    assert "Segmentation fault" in told
    assert "None" not in told
    assert '"Samples"' not in told


def test_the_command_can_be_pasted_into_a_shell() -> None:
    record = make_record(command=["python", "-m", "benchmarker", "--set=a.b=x y;rm", "--problem=p"])
    told = next(section for section in sections(record, points=9) if section["title"] == "Run it again")
    assert told["parts"][0]["text"] == "python -m benchmarker \\\n  '--set=a.b=x y;rm' \\\n  --problem=p"


def test_what_runs_have_in_common_stands_once() -> None:
    shared = SharedSections()
    one = [shared.places(sections(make_record(), points=9)) for _ in range(3)]
    assert one[0] == one[1] == one[2]
    other = sections(make_record(platform__os__kernel="6.2.0"), points=9)
    before = len(shared.as_data()["pairs"])
    shared.places(other)
    assert len(shared.as_data()["pairs"]) == before + 2  # the kernel, in short and among everything


# --- the table -------------------------------------------------------------------------------------


def test_a_setting_that_is_the_same_in_all_runs_is_said_once() -> None:
    found = table([make_record(batch_size=4), make_record(batch_size=8)])
    titles = [heading.title for heading in found.headings]
    assert "batch" in titles
    assert "precision" not in titles
    assert ("precision", "fp32") in found.constant
    assert all(len(row.cells) == len(titles) for row in found.rows)


def test_a_cell_has_the_number_that_it_is_sorted_by() -> None:
    record = make_record()
    found = table([record])
    at = [heading.title for heading in found.headings].index("median step, ms")
    assert found.rows[0].cells[at].value == pytest.approx(1e3 * record["timing"]["step_seconds"]["median"])
    assert table([make_failed_record()]).rows[0].cells[at].value is None


# --- the whole page --------------------------------------------------------------------------------


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_a_page_names_what_it_leaves_out() -> None:
    broken = make_record()
    broken["timing"] = "soon"
    page = make_page(
        [make_record(), broken], files=["a.json", "b.json"], skipped=[("c.json", "it is <empty>")]
    )
    assert page.runs == 1
    assert [file for file, _ in page.skipped] == ["c.json", "b.json"]
    assert "it is &lt;empty&gt;" in page.html
    assert "2 files left out" in page.html


RANKS = {"ranks", "rank_parts", "communication"}


def test_runs_of_several_ranks_have_their_pictures_and_others_have_none_of_them() -> None:
    alone = [single(), single(batch_size=8), make_record()]
    assert not RANKS & set(make_page(alone).pictures)
    page = make_page([*alone, several(), several(ranks=4, network="100mbit")])
    assert set(page.pictures) >= RANKS
    assert "emulated 100mbit" in page.html
    without_one = make_page([several(), several(ranks=4)]).pictures
    assert set(without_one) & RANKS == {"rank_parts", "communication"}


def test_trainings_have_a_table_and_a_picture_of_each_recipe() -> None:
    kept = kept_trainings(("digits_mlp", "breast_cancer"), ("numpy", "jax"))
    page = make_page([make_record(), *kept])
    assert page.pictures.count("training_curves") == page.pictures.count("time_to_target") == 2
    ids = re.findall(r'<figure id="picture-([\w-]+)"', page.html)
    assert {"training_curves", "training_curves-2", "time_to_target", "time_to_target-2"} <= set(ids)
    assert len(set(ids)) == len(ids) == len(page.pictures)
    assert page.pictures.count("performance_profile") == 1
    table = re.search(r'<table id="trained">(.*?)</table>', page.html, re.DOTALL)
    assert table
    assert re.findall(r'rowspan="2">(\w+)<', table[1]) == ["digits_mlp", "breast_cancer"]
    cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", table[1].partition("</thead>")[2])
    assert cells[:5] == ["digits_mlp", "numpy 2.4.6", "10 of 10", "88", "[66, 110]"]
    assert cells[7:13] == ["-", "first", "jax 0.10.2", "10 of 10", "88", "[66, 110]"]
    assert cells[15:17] == ["equal", "slower"]


def test_a_page_without_trainings_has_no_place_for_them() -> None:
    failed = make_failed_record()
    failed["specification"]["training"] = {"name": "digits"}
    for records in ([make_record()], [failed]):
        page = make_page(records)
        assert "#trainings" not in page.html
        assert "training_curves" not in page.pictures
    assert "digits, " in page.html


def test_a_page_needs_a_record_and_not_too_many() -> None:
    with pytest.raises(UsageError, match="at least one valid record"):
        make_page([])
    with pytest.raises(UsageError, match=r"at most 5,000 runs, got 5,001: choose some"):
        make_page([{}] * (MAX_RUNS + 1))


def test_a_record_twice_has_two_links() -> None:
    record = make_record()
    keys = [run["key"] for run in data_of(make_page([record, record]).html)["runs"]]
    assert len(set(keys)) == 2
    assert all(record["id"] in key for key in keys)


def test_variants_of_a_colour_are_in_the_page_as_on_paper() -> None:
    colours = data_of(make_page([make_record()]).html)["palette"]
    for dark, name in enumerate(("light", "dark")):
        assert len(set(colours[name])) > len(palette.LIGHT)
        assert colours[name][12] == palette.colour(12, dark=bool(dark))
        assert colours[name][0] == palette.colour(len(colours[name]) * 3, dark=bool(dark))


def test_runs_and_their_whole_records_have_the_newest_first() -> None:
    records = [make_record(started_at=f"2025-03-0{day}T11:00:00.000000Z") for day in (2, 3, 1)]
    data = data_of(make_page(records, files=["2.json", "3.json", "1.json"]).html)
    assert [run["file"] for run in data["runs"]] == ["3.json", "2.json", "1.json"]
    first = json.loads(gzip.decompress(base64.b64decode(data["whole"][0])))
    assert first == records[1]


def test_few_records_are_in_the_page_whole() -> None:
    record = make_record()
    (packed,) = data_of(make_page([record]).html)["whole"]
    assert json.loads(gzip.decompress(base64.b64decode(packed))) == record


def test_records_of_older_versions_have_their_place() -> None:
    folder = ROOT / "tests" / "data" / "old_records"
    page = make_page(load_results(folder))
    assert page.skipped == ()
    assert page.runs == len(list(folder.glob("*.json")))


def test_the_policy_allows_the_two_scripts_and_no_network() -> None:
    page = make_page([make_record()]).html
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert found
    policy = html.unescape(found[1])
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("'sha256-") == 2
    assert "unsafe-eval" not in policy
    assert "http" not in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


def test_data_cannot_end_its_element() -> None:
    text = assets.json_text({"a": "</script><!--<script>\u2028&", "b": [1.5, None]})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!--<script>\u2028&", "b": [1.5, None]}


def test_a_thousand_runs_would_fit() -> None:
    draw_one = random.Random(3)
    records = [make_record([0.05 * math.exp(draw_one.gauss(0, 0.05)) for _ in range(400)]) for _ in range(60)]
    few, many = (len(make_page(some).html) for some in (records[:10], records))
    whole = sum(map(len, data_of(make_page(records).html)["whole"]))
    each = (many - few - whole * 50 / 60) / 50
    # 10 MiB less the library, for a thousand; fewer samples of each are drawn then.
    assert each < 3_500
