"""The site as files: what is in it, what it replaces, and that nothing in a record or a contest becomes markup."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarker.analysis.list_site.build import check_place, make_site, write_site
from benchmarker.analysis.list_site.contests import read_contests
from benchmarker.analysis.list_site.entries import read_repository
from benchmarker.analysis.list_site.reruns import verdict_file
from benchmarker.errors import UsageError
from tests.support.list_entries import CONTEST, contest_text, contests, processes, submit, write

HOSTILE = "<img src=x onerror=alert(1)>\"'&{{ 7 * 7 }}</script><b>"


def built(tmp_path: Path) -> Path:
    """Make the site of the folders ``results`` and ``contests``."""
    site = make_site(
        read_contests(tmp_path / "contests"), read_repository(tmp_path / "results"), tmp_path / "results"
    )
    write_site(tmp_path / "site", site, force=True)
    return tmp_path / "site"


def test_every_link_leads_to_a_file_and_every_record_is_copied_as_it_is(tmp_path: Path) -> None:
    contests(tmp_path / "contests")
    paths = submit(tmp_path / "results", 0.01)
    submit(tmp_path / "results", 0.02, day=5, count=4)
    write(tmp_path / "results", processes(0.02, day=9, batch_size=64))
    site = built(tmp_path)
    links = 0
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r'href="([^"#]*)(?:#[^"]*)?"', text):
            if target and not target.startswith("data:"):
                assert (page.parent / target).is_file(), f"{page}: {target}"
                links += 1
        anchors = set(re.findall(r'id="([^"]+)"', text))
        assert set(re.findall(r'href="#([^"]+)"', text)) <= anchors
        assert not re.findall(r'(?:src|href)="(?:https?:)?//', text)
    assert links > 20
    record = json.loads(paths[0].read_text(encoding="utf-8"))
    assert (site / "records" / f"{record['id']}.json").read_bytes() == paths[0].read_bytes()
    assert len(list((site / "records").glob("*.json"))) == 18
    (told,) = json.loads((site / "list.json").read_text(encoding="utf-8"))["contests"]
    assert [(one["entry"], one["rank"]) for one in told["entries"]] == [(record["id"], [1, 1])]
    assert told["not_counted"][0]["reasons"] == ["at least 5 processes must have succeeded, but only 4 did"]
    assert "the nearest is &#39;example&#39;, where batch_size must be 4, but is 64" in (
        site / "index.html"
    ).read_text(encoding="utf-8")


def test_nothing_of_a_record_or_a_contest_becomes_markup(tmp_path: Path) -> None:
    head = CONTEST.replace("Inference of example", json.dumps(HOSTILE)[1:-1])
    head = head.replace("What everybody can do.", json.dumps(HOSTILE)[1:-1]).replace(
        '"EUR"', json.dumps(HOSTILE)
    )
    text = contest_text(processes(0.01), head)
    contests(tmp_path / "contests", example=text)
    hostile = {
        "framework__name": HOSTILE,
        "framework__full": HOSTILE,
        "platform__cpu": {"model": HOSTILE},
        "framework__options": {HOSTILE: HOSTILE},
        "command": [HOSTILE],
        "device__name": HOSTILE,
        "benchmarker_version": HOSTILE,
    }
    for day, count in ((1, 5), (5, 4)):
        records = processes(
            0.01, day=day, count=count, specification={**_specification(), "data": HOSTILE}, **hostile
        )
        for record in records:
            (tmp_path / "results").mkdir(exist_ok=True)
            (tmp_path / "results" / f"{record['id']}.json").write_text(json.dumps(record))
    (tmp_path / "results" / "<b>.json").write_text("{")
    site = built(tmp_path)
    pages = [page.read_text(encoding="utf-8") for page in site.rglob("*.html")]
    assert len(pages) == 4
    for page in pages:
        assert "&lt;img src=x" in page
        assert "<img" not in page
        assert "<b>.json" not in page
        assert "{{ 7" in page or "49" not in page
        assert page.count("<script>") == page.count("</script>") == 1


def _specification() -> dict[str, object]:
    return dict(processes(0.01, count=1)[0]["specification"])


def test_only_a_site_is_replaced_and_only_by_force(tmp_path: Path) -> None:
    contests(tmp_path / "contests")
    submit(tmp_path / "results", 0.01)
    site = built(tmp_path)
    with pytest.raises(UsageError, match="--force replaces it"):
        check_place(site, force=False)
    check_place(site, force=True)
    (site / "gone.html").write_text("old")
    built(tmp_path)
    assert not (site / "gone.html").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["contests", "results", "site"]
    other = tmp_path / "other"
    other.mkdir()
    check_place(other, force=False)
    (other / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other files"):
        check_place(other, force=True)
    with pytest.raises(UsageError, match=r"but .* is not$"):
        check_place(other / "mine.txt", force=True)
    with pytest.raises(UsageError, match="folder above a site must exist"):
        check_place(tmp_path / "no" / "where", force=False)


def test_a_site_whose_record_has_gone_meanwhile_is_not_written(tmp_path: Path) -> None:
    contests(tmp_path / "contests")
    paths = submit(tmp_path / "results", 0.01)
    site = make_site(
        read_contests(tmp_path / "contests"), read_repository(tmp_path / "results"), tmp_path / "results"
    )
    paths[0].unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        write_site(tmp_path / "site", site, force=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["contests", "results"]


@pytest.mark.parametrize("ranked_by", ["step_seconds", "joules_per_sample", "cost_per_million_samples"])
def test_numbers_that_nobody_can_have_measured_are_reasons_and_no_crash(
    tmp_path: Path, ranked_by: str
) -> None:
    text = contest_text(processes(0.01)).replace("step_seconds", ranked_by)
    contests(tmp_path / "contests", example=text)
    submit(tmp_path / "results", 0.01)
    absurd = [
        record
        for place, value in enumerate([1e-300, 1e300, 1e-300, 1e300, 1.0])
        for record in processes(
            value,
            count=1,
            day=5 + place,
            replication__campaign="a" * 32,
            metrics__joules_per_sample=value,
            metrics__cost_per_million_samples=value,
        )
    ]
    paths = write(tmp_path / "results", absurd)
    again = write(tmp_path / "results", processes(0.01, day=20))
    named = [json.loads(path.read_text(encoding="utf-8"))["id"] for path in again]
    verdict = {"record": "", "verdict": "reproduced", "sentence": "", "new_records": named}
    ids = [record["id"] for record in absurd]
    verdict_file(paths[0]).write_text(json.dumps({"rerun_version": 1, "processes": ids, **verdict}))
    site = built(tmp_path)
    (told,) = json.loads((site / "list.json").read_text(encoding="utf-8"))["contests"]
    assert len(told["entries"]) == 1
    reasons = " ".join(told["not_counted"][0]["reasons"])
    assert "to rank by" in reasons
    assert "names a record without a number" in reasons
