"""The dashboard in Chromium, with the store of a busy team: 2,000 runs of 20 tests within thirty days."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from result import Result, against_value

if TYPE_CHECKING:
    from datetime import datetime

    from playwright.async_api import Browser

_RUNS = 2000
_TESTS = 20
_REPEATS = 3
_FIRST_PAINT_S = 1.0
_LONGEST_TASK_S = 0.2
_SHOWN_S = 5.0

_WATCH = """
window.longest = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
}).observe({ type: "longtask", buffered: true });
"""
_PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


def dashboard() -> list[Result]:
    """The dashboard with 2,000 runs of 20 tests: first paint, trends on the screen, and the longest standstill."""
    # The generator of stores is the tests', and so is the finding of a browser.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.browser.chromium import executable  # noqa: PLC0415
    from tests.generated_store import END, write_large  # noqa: PLC0415

    from kubedyno.dashboard.config import Settings  # noqa: PLC0415
    from kubedyno.dashboard.serving import serving  # noqa: PLC0415
    from kubedyno.results.publishing.opening import open_place  # noqa: PLC0415

    async def measured() -> list[dict[str, float]]:
        from playwright.async_api import async_playwright  # noqa: PLC0415

        with tempfile.TemporaryDirectory() as folder:
            await write_large(open_place(folder, {}), runs=_RUNS, tests=_TESTS)
            async with serving(Path(folder), Settings()) as address, async_playwright() as playwright:
                browser = await playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
                found = [await _visit(browser, address, END) for _ in range(_REPEATS)]
                await browser.close()
        return found

    visits = asyncio.run(measured())
    return [
        against_value(name, [visit[name] for visit in visits], unit="s", limit=limit)
        for name, limit in (
            ("dashboard first paint", _FIRST_PAINT_S),
            ("dashboard longest task", _LONGEST_TASK_S),
            ("dashboard trends shown", _SHOWN_S),
        )
    ]


async def _visit(browser: Browser, address: str, last: datetime) -> dict[str, float]:
    """What a person does: look at the trends, scroll, go to the runs, search."""
    page = await browser.new_page()
    await page.add_init_script(_WATCH)
    began = time.perf_counter()
    await page.goto(f"{address}#/trends?to={last:%Y-%m-%d}")
    await page.wait_for_selector(".plot canvas")
    shown_s = time.perf_counter() - began
    painted_s = await page.evaluate(_PAINTED) / 1000
    await page.mouse.wheel(0, 3000)
    await page.wait_for_timeout(500)
    await page.click("nav >> text=Runs")
    await page.wait_for_selector("ol.runs li")
    await page.fill("#q", "scenario 07")
    await page.wait_for_timeout(500)
    await page.fill("#q", "pods were not scheduled")
    await page.wait_for_timeout(500)
    longest_s = await page.evaluate("window.longest") / 1000
    await page.close()
    return {
        "dashboard first paint": painted_s,
        "dashboard longest task": longest_s,
        "dashboard trends shown": shown_s,
    }
