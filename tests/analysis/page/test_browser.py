"""The page in a real browser: sorted, filtered, opened, printed, by mouse and by keyboard, and attacked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page

from benchmarker.analysis.page import make_page
from benchmarker.records.schema import shape_faults
from tests.support.rank_records import several
from tests.support.records import make_failed_record, make_record
from tests.support.trainings import kept_trainings


@dataclass
class Watched:
    """A page, and all that it did which it should not."""

    page: Page
    requests: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def column(self, title: str) -> list[str]:
        """Return the texts of a column in the order in which they stand, of the rows that are shown."""
        texts: list[str] = self.page.evaluate(
            """(title) => {
                const heads = [...document.querySelectorAll("#table thead th")];
                const at = heads.findIndex((head) => head.textContent.startsWith(title));
                return [...document.querySelectorAll("#table tbody tr")]
                  .filter((row) => !row.hidden).map((row) => row.cells[at].textContent.trim());
            }""",
            title,
        )
        return texts

    def sort(self, title: str) -> str | None:
        """Press a heading; return what it then says of the order."""
        button = self.page.get_by_role("button", name=title)
        button.click()
        order: str | None = button.locator("..").get_attribute("aria-sort")
        return order


Open = Callable[..., Watched]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Open a page over records; in the end it must have asked for nothing and complained of nothing."""
    contexts: list[BrowserContext] = []
    all_watched: list[tuple[Watched, str]] = []

    def open_page(records: list[dict[str, Any]], *, link: str = "", **context: Any) -> Watched:
        file = tmp_path / f"page-{len(contexts)}.html"
        names = [f"{index}.json" for index in range(len(records))]
        file.write_bytes(make_page(records, title="Our runs", files=names).html.encode("utf-8", "replace"))
        contexts.append(browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **context}))
        watched = Watched(contexts[-1].new_page())

        def dismiss(dialog: Dialog) -> None:
            watched.faults.append(dialog.message)
            dialog.dismiss()

        watched.page.on("request", lambda request: watched.requests.append(request.url))
        watched.page.on("console", lambda message: watched.faults.append(message.text))
        watched.page.on("pageerror", lambda error: watched.faults.append(str(error)))
        watched.page.on("dialog", dismiss)
        watched.page.goto(file.as_uri() + link)
        all_watched.append((watched, file.as_uri()))
        return watched

    yield open_page
    for watched, address in all_watched:
        assert watched.faults == []
        assert watched.requests == [address]
    for context in contexts:
        context.close()


def runs() -> list[dict[str, Any]]:
    """Return runs that differ in what can be sorted and filtered; one has no numbers."""
    found = [
        make_record(
            [seconds * (1 + 0.001 * (i % 13)) for i in range(30)],
            framework__name=framework,
            framework__full=f"{framework}-{version}",
            batch_size=batch,
            started_at=f"2025-03-01T11:0{index}:00.000000Z",
        )
        for index, (framework, version, seconds, batch) in enumerate(
            [
                ("pytorch", "2.13.0", 0.010, 16),
                ("mxnet", "1.9.1", 0.002, 128),
                ("chainer", "7.8.1", 0.100, 2),
                ("mxnet", "1.10.0", 0.0005, 8),
            ]
        )
    ]
    found[1]["trust"]["grade"] = "noisy"
    return [*found, make_failed_record(framework__name="tensorflow")]


def link(record: dict[str, Any]) -> str:
    return f"#run-{record['id']}"


def wait_for_address(page: Page, end: str) -> None:
    """Wait until the address ends so: the browser tells of a new one only after the key or click that led there."""
    page.wait_for_url(lambda url: url.endswith(end), timeout=10_000)


# --- the table -------------------------------------------------------------------------------------


def test_numbers_are_sorted_as_numbers_and_what_is_missing_comes_last(opened: Open) -> None:
    watched = opened([*runs(), make_record([0.00009] * 30, batch_size=32)])
    ordered = ["0.09000", "0.5025", "2.010", "10.05", "100.5"]
    assert watched.sort("median step") == "ascending"
    assert watched.column("median step") == [*ordered, ""]
    assert watched.sort("median step") == "descending"
    assert watched.column("median step") == [*reversed(ordered), ""]
    assert watched.sort("batch") == "ascending"
    assert watched.column("batch") == ["2", "4", "8", "16", "32", "128"]
    assert watched.page.locator("#table [aria-sort]").count() == 1


def test_texts_are_sorted_as_people_do(opened: Open) -> None:
    watched = opened(runs())
    assert watched.sort("framework") == "ascending"
    ordered = ["chainer 7.8.1", "mxnet 1.9.1", "mxnet 1.10.0", "pytorch 2.13.0", "tensorflow"]
    assert [text.removesuffix(" 2.13.0") for text in watched.column("framework")[:3]] == ordered[:3]
    assert watched.column("framework")[-1].startswith("tensorflow")
    assert watched.sort("framework") == "descending"
    assert watched.column("framework")[-1] == "chainer 7.8.1"


def test_trust_is_sorted_from_good_to_bad(opened: Open) -> None:
    records = runs()
    records[0]["trust"]["grade"] = "contaminated"
    watched = opened(records)
    assert watched.sort("trust") == "ascending"
    assert watched.column("trust") == ["clean", "clean", "noisy", "contaminated", ""]


def test_words_and_choices_filter_together(opened: Open) -> None:
    watched = opened(runs())
    page = watched.page
    page.get_by_label("contains").fill("MXNET 128")
    assert watched.column("framework") == ["mxnet 1.9.1"]
    assert page.locator("#shown").text_content() == "1 of 5 runs"
    page.get_by_label("contains").fill("mxnet")
    page.locator("[data-choice=trust]").select_option("clean")
    assert watched.column("framework") == ["mxnet 1.10.0"]
    page.locator("[data-choice=framework]").select_option("tensorflow")
    assert watched.column("framework") == []
    page.get_by_role("button", name="Clear").click()
    assert len(watched.column("framework")) == 5
    assert page.locator("#shown").text_content() == "5 runs"


def answered() -> list[dict[str, Any]]:
    """Return runs of two frameworks at two sizes of a mini-batch, and of one alone."""
    return [
        make_record(
            [seconds] * 30,
            framework__name=framework,
            framework__full=f"{framework}-1",
            batch_size=batch,
            mode="training" if batch == 16 else "inference",
        )
        for framework, batch, seconds in [
            ("pytorch", 8, 0.01), ("mxnet", 8, 0.02), ("pytorch", 16, 0.03), ("mxnet", 16, 0.02), ("jax", 32, 0.1)
        ]
    ]  # fmt: skip


def test_answers_come_first_and_open_to_everybody(opened: Open) -> None:
    page = opened(answered()).page
    rows = page.locator("#answered .answer")
    assert rows.count() == 2
    assert "pytorch 10.00 ms" in " ".join(rows.first.locator(".fastest").all_inner_texts()).replace("\n", " ")
    assert "mxnet 2.000 ×" in rows.first.locator(".next").inner_text()
    assert "no verdict" in rows.first.inner_text()
    more = rows.first.get_by_role("button")
    more.press("Enter")
    assert more.get_attribute("aria-expanded") == "true"
    everybody = rows.first.locator(".everybody")
    assert everybody.locator("tbody tr").count() == 2
    everybody.get_by_role("link", name="mxnet").click()
    assert "mxnet" in (page.locator("#run h2").text_content() or "")
    places = page.evaluate("[...document.querySelectorAll('main > section')].map((one) => one.id)")
    assert (places[0], places[-1]) == ("answers", "summary")


def test_filters_drive_answers_pictures_and_runs_and_live_in_the_address(opened: Open) -> None:
    records = answered()
    watched = opened(records)
    page = watched.page
    assert page.locator("#shown").text_content() == "2 answers, 5 runs"
    page.locator("[data-choice=batch]").select_option("16")
    assert page.locator("#answered .answer:visible").count() == 1
    assert page.locator("#shown").text_content() == "1 of 2 answers, 2 of 5 runs"
    assert page.locator("#alone").is_hidden()
    wait_for_address(page, "?batch=16")
    picture = page.locator("#picture-frameworks")
    picture.locator(".drawing").first.scroll_into_view_if_needed()
    picture.locator(".xtick text").first.wait_for()
    assert picture.locator(".xtick").count() == 1
    assert "of all runs" in (picture.locator(".filtered").text_content() or "")
    page.locator("#table tbody tr:visible a").first.click()
    page.wait_for_url(lambda url: "?batch=16#run-" in url)
    page.reload()
    watched.requests.pop()  # a reload is one more
    assert len(watched.column("framework")) == 2
    assert page.locator("#answered .answer:visible").count() == 1
    page.locator("[data-choice=batch]").select_option("32")
    assert page.locator("#no-answers").is_visible()
    assert page.locator("#alone").is_visible()
    page.get_by_role("button", name="Clear").click()
    page.wait_for_url(lambda url: "?" not in url)
    assert page.locator("#answered .answer:visible").count() == 2


def test_every_row_of_a_long_table_is_there_after_sorting(opened: Open) -> None:
    watched = opened([make_record(batch_size=1 + index * 37 % 700) for index in range(700)])
    watched.sort("batch")
    batches = [int(text) for text in watched.column("batch")]
    assert batches == sorted(batches)
    watched.page.locator("#table tbody .later").first.wait_for(state="detached")
    assert watched.page.locator("#table tbody tr:visible").count() == 700


def test_rows_in_view_are_taken_out_at_once_before_they_are_sorted(opened: Open) -> None:
    watched = opened([make_record(batch_size=1 + index * 37 % 700) for index in range(700)])
    removals = watched.page.evaluate(
        """() => {
            const watcher = new MutationObserver(() => {});
            watcher.observe(document.querySelector("#table tbody"), { childList: true });
            document.querySelectorAll("#table thead button")[3].click();
            return watcher.takeRecords().filter((record) => record.removedNodes.length).length;
        }"""
    )
    assert removals == 1


def test_the_newest_run_comes_first_and_the_table_says_so(opened: Open) -> None:
    watched = opened(runs())
    started = watched.column("started")
    assert started == sorted(started, reverse=True)
    assert started[0] == "2025-03-01 12:00:00"
    heading = watched.page.locator("#table [aria-sort]")
    assert (heading.get_attribute("aria-sort"), heading.text_content()) == ("descending", "started, UTC")
    assert watched.sort("started") == "ascending"
    assert watched.column("started") == sorted(started)


def test_trust_and_status_are_seen_without_scrolling_and_trust_can_always_be_chosen(opened: Open) -> None:
    records = [
        make_record(
            problem__name="a_problem_with_a_rather_long_name_of_its_own",
            framework__full="tensorflow-2.21.0+cpu",
            batch_size=1 << index,
            mode=("inference", "training")[index % 2],
            execution__threads=1 + index,
        )
        for index in range(8)
    ]
    watched = opened(records, viewport={"width": 1280, "height": 800})
    for title in ("trust", "status"):
        heading = watched.page.get_by_role("button", name=title)
        place = heading.bounding_box()
        assert place
        assert place["x"] + place["width"] < 1240
    assert {record["trust"]["grade"] for record in records} == {"clean"}
    offered = watched.page.locator("[data-choice=trust] option").all_text_contents()
    assert offered == ["all", "clean", "noisy", "contaminated"]


# --- one run ---------------------------------------------------------------------------------------


def test_a_run_opens_by_its_link_and_closes_by_escape(opened: Open) -> None:
    records = runs()
    page = opened(records).page
    page.locator("#table tbody tr", has_text="mxnet 1.9.1").locator("a").click()
    wait_for_address(page, link(records[1]))
    heading = page.locator("#run h2")
    assert heading.text_content() == "mnist_mlp, inference, on mxnet 1.9.1: ok, 2025-03-01 11:01:00 UTC"
    assert heading.evaluate("(element) => document.activeElement === element")
    page.locator("#run pre", has_text="--problem=mnist_mlp").wait_for()
    text = page.locator("#run").text_content() or ""
    for told in (
        "Example CPU 3000",
        "fc3",
        "no NVIDIA driver is loaded",
        "torch",
        "--problem=mnist_mlp",
        "1.json",
    ):
        assert told in text
    page.keyboard.press("Escape")
    assert page.locator("#run").is_hidden()
    assert page.evaluate("document.activeElement.closest('tr').cells[1].textContent") == "mxnet 1.9.1"


def test_next_and_previous_follow_the_table_as_it_stands(opened: Open) -> None:
    records = runs()
    watched = opened(records)
    page = watched.page
    watched.sort("median step")
    page.locator("[data-choice=status]").select_option("ok")
    page.locator("#table tbody tr:visible a").first.click()
    wait_for_address(page, link(records[3]))
    assert page.get_by_role("button", name="Previous").is_disabled()
    page.get_by_role("button", name="Next").click()
    wait_for_address(page, link(records[1]))
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Next").click()
    wait_for_address(page, link(records[2]))
    assert page.get_by_role("button", name="Next").is_disabled()
    page.go_back()
    page.locator("#run h2", has_text="pytorch").wait_for()


def test_a_run_opens_by_its_address_and_an_unknown_one_does_not(opened: Open) -> None:
    records = runs()
    page = opened(records, link=link(records[2])).page
    assert "chainer" in (page.locator("#run h2").text_content() or "")
    for unknown in ("#run-nobody", "#%E0%A4%A", "#__proto__"):
        assert opened(records, link=unknown).page.locator("#run").is_hidden()


def test_the_samples_are_drawn_and_the_whole_record_can_be_read(opened: Open) -> None:
    records = runs()
    page = opened(records, link=link(records[0])).page
    page.wait_for_selector("#run .drawing .scatterlayer .trace")
    assert page.locator("#run .drawing .scatterlayer .trace").count() == 2  # warm-up and timed
    page.get_by_text("as JSON").click()
    whole = page.locator("#run pre", has_text="schema_version")
    whole.wait_for()
    assert json.loads(whole.text_content() or "") == records[0]


def test_a_run_that_crashed_shows_its_log(opened: Open) -> None:
    records = runs()
    page = opened(records, link=link(records[4])).page
    page.locator("#run pre", has_text="Segmentation fault").wait_for()
    assert page.locator("#run .drawing").count() == 0


def test_the_command_is_copied(opened: Open) -> None:
    records = runs()
    page = opened(records, link=link(records[0]), permissions=["clipboard-read", "clipboard-write"]).page
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "python -m benchmarker \\\n  --framework=pytorch \\\n  --problem=mnist_mlp"


# --- by keyboard -----------------------------------------------------------------------------------


def test_all_of_it_works_without_a_mouse(opened: Open) -> None:
    records = runs()
    watched = opened(records)
    page, press = watched.page, watched.page.keyboard.press
    focused = "document.activeElement.textContent.trim()"
    press("Tab")
    assert page.evaluate(focused) == "Skip to the answers"
    press("Enter")
    wait_for_address(page, "#answers")
    page.evaluate("document.querySelector('#filters summary').focus()")
    while page.evaluate("document.activeElement.id") != "words":
        press("Tab")
    page.keyboard.type("mxnet")
    assert len(watched.column("framework")) == 2
    while not page.evaluate(focused).startswith("median step"):
        press("Tab")
    press("Enter")
    assert watched.column("median step") == ["0.5025", "2.010"]
    while page.evaluate("document.activeElement.tagName") != "A":
        press("Tab")
    press("Enter")
    wait_for_address(page, link(records[3]))
    press("Escape")
    wait_for_address(page, "#runs")
    page.wait_for_function("document.activeElement.tagName === 'A'")


def test_the_focus_is_seen_and_never_caught(opened: Open) -> None:
    records = runs()
    page = opened(records, link=link(records[0])).page
    page.wait_for_selector("#run .drawing .scatterlayer .trace")
    page.evaluate("document.activeElement.blur()")
    seen = []
    for _ in range(300):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        seen.append(page.evaluate("getComputedStyle(document.activeElement).outlineStyle"))
    assert 15 < len(seen) < 300
    assert set(seen) <= {"solid", "auto"}


# --- pictures and themes ---------------------------------------------------------------------------


def test_pictures_are_drawn_when_they_are_seen(opened: Open) -> None:
    page = opened(runs(), viewport={"width": 1300, "height": 60}).page
    assert not page.evaluate("'Plotly' in window")
    drawing = page.locator("#picture-frameworks .drawing").first
    drawing.scroll_into_view_if_needed()
    page.wait_for_selector("#picture-frameworks .drawing .main-svg")
    (name, *_) = page.locator("#picture-frameworks .legend button").all_text_contents()
    page.locator("#picture-frameworks summary").click()
    assert name in (page.locator("#picture-frameworks table").text_content() or "")


def test_a_name_in_the_legend_hides_what_it_names(opened: Open) -> None:
    records = runs()
    page = opened(records, link=link(records[0])).page
    curves = page.locator("#run .drawing .scatterlayer .trace")
    curves.first.wait_for()
    name = page.locator("#run .legend button", has_text="warm-up")
    name.press("Enter")
    assert (name.get_attribute("aria-pressed"), curves.count()) == ("false", 1)
    name.press("Enter")
    assert (name.get_attribute("aria-pressed"), curves.count()) == ("true", 2)


def test_what_tells_series_apart_stands_in_the_whole_legend(opened: Open) -> None:
    records = [
        make_record(
            framework__name=f"framework{index}", framework__full=f"framework{index}-1", batch_size=size
        )
        for index in range(12)
        for size in (8, 16)
    ]
    page = opened(records).page
    page.locator("#picture-batch_size .drawing").first.scroll_into_view_if_needed()
    page.wait_for_selector("#picture-batch_size .drawing .scatterlayer .trace")
    legend = page.locator("#picture-batch_size .legend").first
    swatches = legend.locator("svg").evaluate_all("(all) => all.map((one) => one.innerHTML)")
    assert len(swatches) == len(set(swatches)) == 12
    assert legend.evaluate("(box) => box.scrollHeight <= box.clientHeight")


def test_a_picture_can_be_kept_but_not_sent_anywhere(opened: Open) -> None:
    records = runs()
    page = opened(records, link=link(records[0])).page
    page.locator("#run .modebar-btn").first.wait_for(state="attached")
    titles = page.locator("#run .modebar-btn").evaluate_all("(all) => all.map((one) => one.dataset.title)")
    assert titles == ["Download plot as a PNG", "Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes"]


def test_the_theme_follows_the_system_until_it_is_chosen(opened: Open) -> None:
    page = opened(runs(), color_scheme="dark").page
    background = "getComputedStyle(document.body).backgroundColor"
    text = "getComputedStyle(document.querySelector('#picture-frameworks .xtitle')).fill"
    assert page.evaluate(background) == "rgb(20, 23, 27)"
    page.locator("#picture-frameworks .drawing").first.scroll_into_view_if_needed()
    page.wait_for_selector("#picture-frameworks .xtitle")
    assert page.evaluate(text) == "rgb(232, 235, 239)"
    page.get_by_role("button", name="Light theme").click()
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert page.evaluate(text) == "rgb(27, 31, 36)"
    page.emulate_media(color_scheme="light")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(background) == "rgb(255, 255, 255)"


def contrast(colours: list[str]) -> float:
    """Return the contrast of two colours (WCAG 2.2, relative luminance)."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in colour[4:-1].split(",")]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted(map(luminance, colours), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_has_enough_contrast(opened: Open, theme: str) -> None:
    page = opened([*runs(), *answered()], color_scheme=theme).page
    page.locator("#answered .more").first.click()
    pairs = page.evaluate(
        """() => [...document.querySelectorAll("main *, header *")].filter((element) => element.innerText)
            .map((element) => {
              let behind = element;
              while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
              return [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor];
            })"""
    )
    assert len(pairs) > 100
    assert min(map(contrast, pairs)) >= 4.5


def test_answers_fit_a_narrow_screen_with_their_filters_folded(opened: Open) -> None:
    page = opened(answered(), viewport={"width": 390, "height": 780}).page
    assert page.locator("[data-choice=batch]").is_hidden()
    first = page.locator("#answered .answer").first
    place = first.bounding_box()
    assert place
    assert place["y"] + place["height"] < 780
    first.get_by_role("button").click()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator("#filters summary").click()
    page.locator("[data-choice=batch]").select_option("16")
    assert page.locator("#answered .answer:visible").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_nothing_overflows_a_narrow_screen(opened: Open) -> None:
    records = runs()
    page = opened(records, link=link(records[0]), viewport={"width": 360, "height": 780}).page
    page.wait_for_selector("#run .drawing .main-svg")
    page.locator("#picture-frameworks .drawing").first.scroll_into_view_if_needed()
    page.wait_for_selector("#picture-frameworks .drawing .main-svg")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    box = page.locator("#runs .scroll")
    assert box.evaluate("(element) => element.scrollWidth > element.clientWidth")


def test_names_of_an_axis_lean_on_a_narrow_panel_alone(opened: Open) -> None:
    schemes = ("all-reduce", "neighbours", "averaging/4", "parameter-server")
    records = [several(scheme=scheme) for scheme in schemes]
    angles = []
    for width in (1300, 390):
        page = opened(records, viewport={"width": width, "height": 900}).page
        panel = page.locator("#picture-communication .drawing").first
        panel.scroll_into_view_if_needed()
        panel.locator(".xtick text").first.wait_for()
        angles.append(panel.evaluate("holder => holder.layout.xaxis.tickangle"))
        assert panel.locator(".xtick text").count() == len(schemes)
    assert angles == [0, -40]


def test_trainings_fit_a_narrow_screen_and_are_drawn(opened: Open) -> None:
    records = kept_trainings(("digits_mlp", "breast_cancer"), ("numpy", "jax"))
    page = opened(records, viewport={"width": 390, "height": 780}).page
    page.get_by_role("link", name="Trainings").click()
    assert page.locator("#trained tbody").count() == 2
    for name in ("training_curves", "training_curves-2", "time_to_target-2"):
        page.locator(f"#picture-{name} .drawing").first.scroll_into_view_if_needed()
        page.wait_for_selector(f"#picture-{name} .drawing .main-svg")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_long_names_without_a_space_do_not_widen_a_narrow_screen(opened: Open) -> None:
    name = "averylongname" * 12
    records = [
        make_record(problem__name=name, framework__name=name, framework__full=f"{name}-1.2", batch_size=size)
        for size in (8, 16)
    ]
    records[0]["problem"]["parameters"] = {name: name}
    page = opened(records, link=link(records[0]), viewport={"width": 390, "height": 780}).page
    page.wait_for_selector("#run .drawing .main-svg")
    for drawing in page.locator("#pictures .drawing").all():
        drawing.scroll_into_view_if_needed()
        drawing.locator(".main-svg").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


# --- on paper, and without scripts -----------------------------------------------------------------


def test_paper_shows_all_rows_all_pictures_and_no_controls(opened: Open) -> None:
    records = [make_record(batch_size=1 + index) for index in range(200)]
    page = opened(records, link=link(records[0]), color_scheme="dark").page
    # Rows that a sort would show only a moment later are there at once.
    later = page.evaluate(
        """() => {
            document.querySelector("#table thead button").click();
            const waiting = document.querySelectorAll(".later").length;
            dispatchEvent(new Event("beforeprint"));
            return [waiting, document.querySelectorAll(".later").length];
        }"""
    )
    assert later == [140, 0]
    page.emulate_media(media="print")
    for controls in ("#filters", "nav", "#run .bar", "button.copy"):
        assert page.locator(controls).first.is_hidden()
    assert page.locator("#table tbody tr:visible").count() == 200
    assert page.locator("#runs .scroll").evaluate("(box) => box.scrollHeight <= box.clientHeight")
    assert page.locator("#run h2").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    drawings = page.locator("#pictures .drawing")
    assert drawings.count() > 0
    for index in range(drawings.count()):
        assert drawings.nth(index).locator(".main-svg").count() > 0
    # What is wider than the sheet would be cut off.
    widths = page.locator("#pictures .main-svg").evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect().width)"
    )
    assert max(widths) <= 960
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"


def test_without_scripts_there_is_still_a_table(opened: Open) -> None:
    page = opened(runs(), java_script_enabled=False).page
    assert page.locator("#table tbody tr").count() == 5
    assert page.locator("noscript p").is_visible()
    assert page.locator("#filters").is_hidden()
    page.locator("#picture-frameworks summary").click()
    assert page.locator("#picture-frameworks table").is_visible()


# --- attacked --------------------------------------------------------------------------------------

ATTACK = (
    "\"'><script>window.hacked=1;alert(1)</script><img src=x onerror='window.hacked=1'></script>"
    "<svg onload=window.hacked=1><!-- ${window.hacked=1} {{7*7}} %{y} $\\alpha$ \u2028 \u0000 "
    '<a href="javascript:window.hacked=1">a</a> javascript:window.hacked=1 <b>bold</b>'
)


def attack(record: dict[str, Any]) -> dict[str, Any]:
    """Put the attack into every text of a record that may be any text, and into names that may be any name."""
    for holder in (
        record["environment"]["packages"],
        record["problem"]["parameters"],
        record["platform"]["cpu"],
    ):
        if holder is not None:
            holder[ATTACK] = "1"
    for holder, place in list(places(record)):
        before = holder[place]
        holder[place] = f"{ATTACK} {before}"
        if shape_faults(record):
            holder[place] = before
    return record


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where the texts of nested JSON are: the object or list that holds them, and the place in it."""
    if isinstance(value, (dict, list)):
        for place, member in list(value.items() if isinstance(value, dict) else enumerate(value)):
            if isinstance(member, str) and place != "schema_version":
                yield value, place
            yield from places(member)


def hostile() -> list[dict[str, Any]]:
    return [attack(record) for record in (make_record(), make_record(batch_size=8), make_failed_record())]


def test_a_hostile_record_is_only_text(opened: Open) -> None:
    records = hostile()
    assert all(json.dumps(record).count("alert(1)") > 20 for record in records)
    watched = opened(records, link="#" + quote(f"run-{records[0]['id']}"))
    page = watched.page
    page.wait_for_selector("#run .drawing .main-svg")
    for details in page.locator("details").all():
        details.evaluate("(element) => { element.open = true; }")
    for drawing in page.locator("#pictures .drawing").all():
        drawing.scroll_into_view_if_needed()
        drawing.locator(".main-svg").first.wait_for()
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Next").click()
    assert "<script>window.hacked=1" in (page.locator("#run pre").first.text_content() or "")
    watched.sort("framework")
    assert page.evaluate("window.hacked") is None
    assert (
        page.locator("img, iframe, object, embed, [onerror], [onload], main script, svg a[*|href]").count()
        == 0
    )
    assert page.locator("b:text-is('bold')").count() == 0
    links = page.evaluate("[...document.querySelectorAll('a[href]')].map((a) => a.getAttribute('href'))")
    assert links
    assert all(address.startswith("#") for address in links)
    assert "<img src=x" in (page.locator("#table tbody tr").first.text_content() or "")


def test_nothing_can_be_fetched_even_by_a_script_of_the_page(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(make_page(runs()).html)
    page = browser.new_page()
    asked, refused = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: refused.append((request.url, request.failure)))
    page.goto(file.as_uri())
    blocked = page.evaluate(
        """async () => {
            const found = [];
            document.addEventListener("securitypolicyviolation", (event) => found.push(event.effectiveDirective));
            await fetch("https://example.org/").catch(() => null);
            const script = document.createElement("script");
            script.textContent = "window.hacked = 1";
            const image = document.createElement("img");
            image.src = "https://example.org/x.png";
            document.body.append(script, image);
            await new Promise((done) => setTimeout(done, 300));
            return [found.sort(), window.hacked ?? null];
        }"""
    )
    page.close()
    assert blocked == [["connect-src", "img-src", "script-src-elem"], None]
    assert asked == [file.as_uri(), "https://example.org/x.png"]
    assert refused == [("https://example.org/x.png", "csp")]
