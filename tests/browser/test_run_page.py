"""The page of a run in real Chromium, opened from the disk: what a person does with it."""

from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect
from tests.unit.report.test_run_page import BEGUN_NS, TRIAL, folder, rows

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.columns import ObjectRow
from kubedyno.report import run_page

pytestmark = pytest.mark.browser

EVIL = "<img src=x onerror=globalThis.pwned=1>"
GANG = f"gang-{EVIL}"


def placed() -> list[ObjectRow]:
    """A gang on two nodes, one of whose pods is evicted, and lone pods beside it."""
    made = [
        msgspec.structs.replace(
            row,
            workload=GANG if row.uid in {"u0", "u9"} else row.workload,
            node=None if row.phase == "created" else f"gpu-{int(row.uid[1:]) // 5}",
        )
        for row in rows(10)
    ]
    taken = [
        msgspec.structs.replace(made[-1], phase=phase, arrival_ns=BEGUN_NS + at_s * NS_PER_S)
        for phase, at_s in (("evicted", 5), ("deleted", 6))
    ]
    return [*made, *taken]


@pytest.fixture
def address(tmp_path: Path) -> str:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "binder.log").write_text(f"E0102 03:04:05 the binder refuses {EVIL}\n")
    return run_page.write(folder(tmp_path / "out", (TRIAL, placed()), logs=logs)).as_uri()


def colours(page: Page) -> int:
    """How many colours are on the map."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    count: int = page.evaluate(
        """() => {
          const canvas = document.querySelector(".map canvas");
          const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          const seen = new Set();
          for (let at = 0; at < pixels.length; at += 4) if (pixels[at + 3] === 255) {
            seen.add((pixels[at] << 16) + (pixels[at + 1] << 8) + pixels[at + 2]);
          }
          return seen.size;
        }"""
    )
    return count


def test_a_person_reads_why_it_failed_and_looks_at_the_map(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    wrong: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)

    assert "the binder refuses" in page.locator(".wrong pre").inner_text()
    assert page.locator("a[href$='objects.parquet']").count() == 1
    assert page.locator(".timeline path.evicted").count() == 1

    canvas, about = page.locator(".map canvas"), page.locator(".about")
    canvas.scroll_into_view_if_needed()
    canvas.hover(position={"x": 5, "y": 5})
    expect(about).to_have_text(f"gpu-0: {GANG}, since 1.000 s")

    page.get_by_label("find").fill(GANG)
    expect(about).to_have_text("1 workloads on 2 nodes: gpu-0, gpu-1")
    page.get_by_label("moment").fill("6000")  # one of its pods was evicted
    expect(about).to_have_text("1 workloads on 1 nodes: gpu-0")
    page.get_by_label("moment").fill("3000")
    page.get_by_label("find").fill("gpu-1")
    expect(about).to_contain_text(GANG)
    page.get_by_label("find").fill("nobody")
    expect(about).to_have_text("no node and no workload is called nobody")
    page.get_by_label("find").fill("")

    late = colours(page)
    page.get_by_label("moment").fill("0")
    assert colours(page) < late  # nobody was bound yet

    canvas.focus()
    page.keyboard.press("0")
    page.get_by_label("moment").fill("3000")
    for _ in range(4):
        page.get_by_label("larger").click()
    canvas.hover(position={"x": 600, "y": 300})
    expect(about).not_to_contain_text(GANG)
    canvas.focus()
    for _ in range(40):
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowUp")
    canvas.hover(position={"x": 600, "y": 300})
    expect(about).to_contain_text(f"gpu-0: {GANG}")

    assert wrong == []
    assert asked == [address]  # it needs nothing else
    assert page.evaluate("() => globalThis.pwned") is None


def test_the_page_fits_a_phone(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.goto(address)
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
