"""The site in a real browser, from files: narrow and wide, in both themes, by its links."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from benchmarker.analysis.list_site.build import make_site, write_site
from benchmarker.analysis.list_site.contests import read_contests
from benchmarker.analysis.list_site.entries import read_repository
from tests.support.list_entries import contests, submit

pytestmark = pytest.mark.browser
LONG = "Processor-" + "x" * 80


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("list")
    contests(folder / "contests")
    submit(folder / "results", 0.01, day=1, framework__name="jax", framework__full="jax-1")
    submit(folder / "results", 0.02, day=3, platform__cpu={"model": LONG, "usable_cores": 2})
    submit(folder / "results", 0.02, day=5, framework__name="mxnet", framework__full="mxnet-1")
    submit(folder / "results", 0.02, day=7, count=4)
    found = make_site(
        read_contests(folder / "contests"), read_repository(folder / "results"), folder / "results"
    )
    write_site(folder / "site", found, force=False)
    return folder / "site"


@pytest.mark.parametrize("width", [390, 1300])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_ranks_are_read_at_every_width_and_nothing_scrolls_sideways(
    browser: Browser, site: Path, width: int, theme: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    page = context.new_page()
    faults: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))

    def fits() -> bool:
        return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))

    page.goto((site / "index.html").as_uri())
    assert fits()
    assert page.locator(".first .rank").all_inner_texts() == ["1", "2–3", "2–3"]
    page.get_by_role("link", name="Inference of example").click()
    assert fits()
    ranks = page.locator(".standing td.rank")
    assert ranks.all_inner_texts() == ["1", "2–3", "2–3"]
    assert all(ranks.nth(place).is_visible() for place in range(3))
    assert page.locator("#place-1 + .holdings li").count() == 1
    assert "only 4 did" in page.locator("#others").inner_text()
    page.locator(".standing tbody").get_by_role("link", name="jax").click()
    assert fits()
    assert "place 1 of 3" in page.locator("main").inner_text()
    page.locator("#records tbody a").first.click()
    assert '"schema_version"' in page.locator("body").inner_text()
    assert faults == []
    assert all(address.startswith("file://") for address in requests)
    context.close()


def test_the_theme_that_was_chosen_stays_on_the_next_page(browser: Browser, site: Path) -> None:
    context = browser.new_context(color_scheme="light")
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    page.get_by_role("button", name="Dark theme").click()
    page.get_by_role("link", name="Inference of example").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    context.close()
