"""What is in a store was written by others: it is text, whatever it says; what is broken is told, the rest works."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.conftest import WITHIN_MS, Visit, web_server
from tests.generated_store import END

from kubedyno.dashboard.building import build_live
from kubedyno.dashboard.config import Settings, beside
from kubedyno.dashboard.files import site_files

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

SCRIPT = "<img src=x onerror='window.harmed=1'><script>window.harmed=1</script>"
LINK = "javascript:window.harmed=1"


def run_row(name: str, day: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": name,
        "path": f"Public/{name}/report.json",
        "started_at": f"2026-11-{day:02d}T02:00:00Z",
        "source": "ginkgo",
        "status": "passed",
        **fields,
    }


def write_store(root: Path, rows: list[dict[str, Any]], reports: dict[str, Any]) -> None:
    public = root / "Public"
    (public / "index").mkdir(parents=True)
    entries = [{"timestamp": row["started_at"], "path": row["path"], "commit": row.get("commit", "")} for row in rows]
    (public / "manifest.json").write_text(json.dumps({"runs": entries}))
    (public / "index" / "2026-11.json").write_text(json.dumps({"format": 1, "runs": rows}))
    for name, report in reports.items():
        (public / name).mkdir(exist_ok=True)
        text = report if isinstance(report, str) else json.dumps(report)
        (public / name / "report.json").write_text(text)


def make_site(folder: Path, rows: list[dict[str, Any]], reports: dict[str, Any]) -> Path:
    for name, content in site_files(beside(Settings(title="a <b>title</b>"), complete=False)).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    write_store(folder / "data", rows, reports)
    return folder


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    test = {
        "name": SCRIPT,
        "series": "s",
        "status": SCRIPT,
        "duration_s": 1.0,
        "scheduler": SCRIPT,
        "tags": [SCRIPT],
        "configuration": {SCRIPT: SCRIPT},
        "message": SCRIPT,
        "figures": [{"name": SCRIPT, "unit": SCRIPT, "value": 1.0}],
    }
    spec = {
        "LeafNodeType": "It",
        "LeafNodeText": SCRIPT,
        "State": "failed",
        "CapturedStdOutErr": SCRIPT,
        "Failure": {"Message": f"{SCRIPT} {LINK}"},
    }
    rows = [
        run_row("r", 14, id=SCRIPT, commit=LINK, versions={SCRIPT: SCRIPT}, host=SCRIPT, tests=[test]),
        run_row("linked", 13, path=f"{LINK}/report.json", tests=[test]),
        run_row("climbing", 12, path="../../secret/report.json", tests=[test]),
    ]
    return make_site(tmp_path / "site", rows, {"r": [{"SpecReports": [spec]}]})


@pytest.mark.parametrize(
    "view",
    [
        "#/trends",
        "#/runs",
        "#/run?run=Public%2Fr%2Freport.json",
        "#/run?run=javascript%3Awindow.harmed%3D1%2Freport.json",
        "#/run?run=..%2F..%2Fsecret%2Freport.json",
        "#/compare?a=Public%2Fr%2Freport.json&b=..%2F..%2Fsecret%2Freport.json",
        "#/run?run=%3Cimg%20src%3Dx%20onerror%3Dwindow.harmed%3D1%3E",
    ],
)
def test_script_in_a_store_does_nothing(hostile: Path, visit: Visit, view: str) -> None:
    page = visit(hostile, view)
    expect(page.locator("#loading")).to_have_count(0)
    expect(page.locator("main > *").first).to_be_visible()
    expect(page.locator("[role=status]", has_text="Reading")).to_have_count(0)
    expect(page.locator("h1")).to_have_text("a <b>title</b>")
    assert page.locator("img, main script").count() == 0
    assert page.evaluate("window.harmed") is None
    addresses = page.eval_on_selector_all("a", "links => links.map((link) => link.protocol)")
    assert set(addresses) <= {"http:"}


def test_what_it_says_is_shown_as_it_is_written(hostile: Path, visit: Visit) -> None:
    page = visit(hostile, "#/run?run=Public%2Fr%2Freport.json")
    expect(page.locator("pre.log")).to_have_text(SCRIPT)
    expect(page.locator("pre.message").last).to_have_text(f"{SCRIPT} {LINK}")


def test_no_script_of_another_kind_runs_in_the_page(hostile: Path, visit: Visit) -> None:
    page = visit(hostile)
    expect(page.locator("main .card").first).to_be_visible()
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.harmed = 1";
            document.body.append(script);
        }"""
    )
    assert page.evaluate("window.harmed") is None


def test_broken_runs_are_shown_as_broken_with_the_reason(tmp_path: Path, visit: Visit) -> None:
    rows = [
        run_row("good", 14, tests=[{"name": "fill", "series": "s", "status": "passed"}]),
        run_row("bad", 13, status="broken", reason="it is half-written or no JSON: trailing characters"),
        run_row("cut", 12, tests=[{"name": "fill", "series": "s", "status": "failed", "message": "no luck"}]),
    ]
    site = make_site(tmp_path / "site", rows, {"good": [], "bad": "[]x", "cut": '[{"Spec'})
    page = visit(site, "#/runs")
    broken = page.locator("li.run", has_text="bad")
    expect(broken).to_contain_text("broken")
    expect(broken).to_contain_text("it is half-written or no JSON")
    page.click("li.run:has-text('cut') a.when")
    expect(page.locator("main")).to_contain_text(
        "Messages and logs are missing: the report cannot be read: it is half-written or no JSON"
    )
    expect(page.locator("pre.message")).to_have_text("no luck")


def test_reports_of_others_are_shown_with_what_they_have(tmp_path: Path, visit: Visit) -> None:
    tests = [{"name": "fill", "series": "s", "status": "passed", "duration_s": 4.0}]
    log = "beginning" + "x" * 300_000 + "the end"
    suite = [
        {"LeafNodeType": "BeforeSuite", "State": "failed", "Failure": {"Message": "no cluster"}},
        {"LeafNodeType": "It", "LeafNodeText": "fill", "State": "passed", "CapturedGinkgoWriterOutput": log},
    ]
    kai = {"metadata": {}, "results": {"status": "success", "tests": [{"test_name": "fill", "status": "success"}]}}
    rows = [run_row("suite", 14, tests=tests), run_row("kai", 13, source="kai", started_at="2026-11-13 02:00:00")]
    site = make_site(tmp_path / "site", rows, {"suite": {"SpecReports": suite}, "kai": kai})
    page = visit(site, "#/run?run=Public%2Fsuite%2Freport.json")
    expect(page.locator("details", has_text="BeforeSuite").locator("pre")).to_have_text("no cluster")
    page.click("summary:has-text('fill')")
    expect(page.locator("pre.log")).to_contain_text("the end")
    assert "beginning" not in (page.locator("pre.log").text_content() or "")
    expect(page.locator("main")).to_contain_text("The end of it; all of it is in the report.")
    page.goto(page.url.replace("suite", "kai"))
    expect(page.locator("dl.facts")).to_contain_text("2026-11-13 02:00 UTC")
    expect(page.locator("[role=status]", has_text="report")).to_have_count(0)


def test_what_the_index_does_not_have_is_told_and_the_rest_works(tmp_path: Path, visit: Visit) -> None:
    tests = [{"name": "fill", "series": "s", "status": "passed", "duration_s": 2.0}]
    site = make_site(tmp_path / "site", [run_row("here", 14, tests=tests)], {})
    public = site / "data" / "Public"
    manifest = json.loads((public / "manifest.json").read_text())
    manifest["runs"] += [
        {"timestamp": "2026-11-13T02:00:00Z", "path": "Public/unknown/report.json"},
        {"timestamp": "2026-10-30T02:00:00Z", "path": "Public/october/report.json"},
        {"timestamp": "yesterday", "path": "Public/timeless/report.json"},
    ]
    (public / "manifest.json").write_text(json.dumps(manifest))
    (public / "index" / "2026-10.json").write_text('{"format": 7, "runs": []}')
    page = visit(site, "#/runs")
    expect(page.locator("#found")).to_have_text("1 run")
    told = page.locator("#notices")
    expect(told).to_contain_text("Public/index/2026-10.json cannot be read: its format is 7, and this page knows 1")
    expect(told).to_contain_text("2 runs are not in the index: run `kubedyno index rebuild`")
    expect(told).to_contain_text("1 entries of the manifest have no time")


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ('{"runs": [', "it is half-written or no JSON"),
        ('{"format": 9, "runs": []}', "its format is 9"),
        (None, "the server answers 404"),
    ],
)
def test_a_store_that_cannot_be_read_is_told(tmp_path: Path, visit: Visit, manifest: str | None, reason: str) -> None:
    site = make_site(tmp_path / "site", [], {})
    path = site / "data" / "Public" / "manifest.json"
    path.unlink()
    if manifest is not None:
        path.write_text(manifest)
    page = visit(site)
    expect(page.locator("main h2")).to_have_text("The store cannot be read")
    expect(page.locator("main .bad")).to_contain_text(reason)


@pytest.mark.parametrize("allowed", [True, False])
def test_a_store_elsewhere_is_read_if_it_lets_the_page(tmp_path: Path, browser: Browser, allowed: bool) -> None:
    tests = [{"name": "fill", "series": "s", "status": "passed", "duration_s": 2.0}]
    write_store(tmp_path / "store", [run_row("here", 14, tests=tests)], {"here": []})
    (tmp_path / "site").mkdir()
    with (
        web_server(tmp_path / "site") as address,
        web_server(tmp_path / "store", open_to=address.rstrip("/") if allowed else "") as elsewhere,
        browser.new_context() as context,
    ):
        build_live(elsewhere, tmp_path / "site", Settings())
        context.set_default_timeout(WITHIN_MS)
        page = context.new_page()
        page.clock.set_fixed_time(END.timestamp() + 86_400)
        page.goto(f"{address}#/runs")
        if allowed:
            expect(page.locator("#found")).to_have_text("1 run")
            expect(page.locator("#notices p")).to_have_count(0)
        else:
            expect(page.locator("main .bad")).to_contain_text("does not let this page read (CORS)")
