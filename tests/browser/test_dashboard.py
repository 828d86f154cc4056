"""What a person does with the dashboard, in Chromium."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Visit
from tests.generated_store import FAILED_DAY, FAILURE, LOG_LINE, SLOWER_DAY, commit_of, run_id

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

FAILED_RUN = f"#/run?run=Public%2F{run_id(FAILED_DAY)}%2Freport.json"


def found(page: Page, text: str) -> None:
    expect(page.locator("#found")).to_have_text(text)


def test_the_header_counts_the_runs_of_thirty_days(site: Path, visit: Visit) -> None:
    page = visit(site)
    expect(page.locator("#counters")).to_contain_text("runs in 30 days")
    assert page.locator("#counters dd").all_text_contents() == ["30", "29", "1"]


def test_each_test_and_figure_has_a_chart_with_a_line_per_configuration(site: Path, visit: Visit) -> None:
    page = visit(site)
    expect(page.locator("main section h2")).to_have_text(["What changed", "fill", "gang", "reclaim", "topology"])
    first = page.locator("article.chart").first
    expect(first.locator("canvas").first).to_be_visible()
    expect(first.locator("h3")).to_have_text("duration (s)")
    expect(first.locator(".legend li")).to_have_text(["kai", "volcano"])


def test_the_planted_regression_is_marked_with_its_commit(site: Path, visit: Visit) -> None:
    page = visit(site)
    told = page.locator("section", has_text="What changed").locator(
        "li", has_text="gang [kai], time to schedule: slower"
    )
    expect(told).to_have_count(1)
    assert commit_of(SLOWER_DAY)[:9] in (told.text_content() or "")
    page.select_option("#filter-scenario", "gang")
    page.select_option("#filter-figure", "time to schedule")
    plot = page.locator(".plot")
    expect(plot).to_have_count(1)
    plot.focus()
    # From the newest run back to the one with which it began.
    for _ in range(60 - SLOWER_DAY):
        plot.press("ArrowLeft")
    expect(plot.locator(".note")).to_contain_text("since here: slower, +1")
    expect(plot.locator(".note")).to_contain_text(commit_of(SLOWER_DAY)[:9])


def test_a_point_tells_of_its_run_and_opens_it(site: Path, visit: Visit) -> None:
    page = visit(site, "#/trends?scenario=fill&figure=time+to+schedule&scheduler=kai")
    over = page.locator(".plot .u-over")
    expect(over).to_have_count(1)
    over.scroll_into_view_if_needed()
    over.hover()
    note = page.locator(".plot .note")
    expect(note).to_contain_text("commit ")
    expect(note).to_contain_text("-p nodes 500")
    over.click()
    expect(page.locator("main h2")).to_contain_text("-generated")


def test_the_values_of_a_chart_are_a_table_too(site: Path, visit: Visit) -> None:
    page = visit(site, "#/trends?scenario=fill&figure=time+to+schedule&scheduler=kai")
    page.click("details.values summary")
    rows = page.locator("details.values tbody tr")
    expect(rows).to_have_count(30)
    expect(rows.first).to_contain_text("2026-11-15 02:00")
    expect(page.locator("details.values tr", has_text="failed")).to_have_count(1)


def test_runs_are_searched_and_filtered_and_a_link_restores_it(site: Path, visit: Visit) -> None:
    page = visit(site, "#/runs")
    found(page, "30 runs")
    page.select_option("#filter-status", "not passed")
    found(page, "1 run")
    page.select_option("#filter-scheduler", "volcano")
    found(page, "0 runs")
    page.select_option("#filter-scheduler", "kai")
    found(page, "1 run")
    page.fill("#q", "no such words")
    found(page, "0 runs")
    page.fill("#q", "not scheduled within")
    found(page, "1 run")
    page.wait_for_url("**/#/runs?q=not+scheduled+within&scheduler=kai&status=not+passed")
    again = visit(site, page.url.partition("/#")[2].join(["#", ""]))
    found(again, "1 run")
    assert again.input_value("#q") == "not scheduled within"
    assert again.input_value("#filter-status") == "not passed"
    again.click("text=Clear")
    found(again, "30 runs")


def test_any_range_is_read_and_only_its_months(site: Path, visit: Visit) -> None:
    page = visit(site, "#/runs")
    found(page, "30 runs")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/Public/" in request.url else None)
    page.select_option("#days", "90")
    found(page, "60 runs")
    assert [url.partition("/Public/")[2] for url in asked] == ["index/2026-09.json"]
    page.fill("#from", "2026-10-01")
    page.fill("#to", "2026-10-03")
    found(page, "3 runs")


def test_the_planted_failure_is_opened_and_its_log_is_read(site: Path, visit: Visit) -> None:
    page = visit(site, "#/runs?status=failed")
    page.click("ol.runs a.when")
    expect(page.locator("main h2")).to_contain_text(run_id(FAILED_DAY))
    expect(page.locator("pre.message")).to_have_text(FAILURE)
    expect(page.locator("pre.log")).to_contain_text(LOG_LINE)
    expect(page.get_by_role("link", name="report.json")).to_be_visible()
    commit = page.locator("dl.facts a")
    assert commit.get_attribute("href") == f"https://example.test/commit/{commit_of(FAILED_DAY)}"
    page.go_back()
    found(page, "1 run")


def test_two_runs_stand_side_by_side(site: Path, visit: Visit) -> None:
    page = visit(site, FAILED_RUN)
    page.click("text=Compare with the run before")
    card = page.locator("section.card").first
    expect(card).to_contain_text("after: ✕ 1 of 1 failed")
    row = card.locator("tr", has_text="time to schedule")
    expect(row).to_contain_text(" %")
    assert page.locator("section.card").count() == 8


def test_two_schedulers_stand_side_by_side(site: Path, visit: Visit) -> None:
    page = visit(site, "#/compare")
    page.select_option("#by", "schedulers")
    page.select_option("#a", "kai")
    page.select_option("#b", "volcano")
    cards = page.locator("section.card")
    expect(cards).to_have_count(4)
    expect(cards.first.locator("thead th")).to_have_text(["figure", "kai", "volcano", "change", ""])
    change = cards.first.locator("tr", has_text="time to schedule").locator("strong").text_content() or ""
    assert 20 < float(change.removesuffix(" %")) < 30


def test_the_keyboard_is_enough(site: Path, visit: Visit) -> None:
    page = visit(site, "#/runs?status=failed")
    found(page, "1 run")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "when":
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("pre.log")).to_be_visible()
    expect(page.locator("main")).to_be_focused()


@pytest.mark.parametrize("view", ["#/trends", "#/runs", FAILED_RUN, "#/compare?by=schedulers&a=kai&b=volcano"])
def test_a_phone_shows_all_of_its_width(site: Path, visit: Visit, view: str) -> None:
    page = visit(site, view, width=360)
    expect(page.locator("main .card").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_dark_mode_is_dark(site: Path, visit: Visit) -> None:
    page = visit(site, dark=True)
    expect(page.locator("main .card").first).to_be_visible()
    ground, ink = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    assert (ground, ink) == ("rgb(13, 17, 23)", "rgb(230, 237, 243)")
