"""A generated store on S3, the site that is built from it, and Chromium."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.browser.chromium import executable
from tests.generated_store import END, publish_generated
from tests.s3 import s3_server

from kubedyno.dashboard.building import build_copy
from kubedyno.dashboard.config import Settings
from kubedyno.kit import tasks
from kubedyno.kit.clock import RealClock
from kubedyno.results.publishing.opening import open_place
from kubedyno.results.publishing.store import Store

Visit = Callable[..., Page]
WITHIN_MS = 30_000
"""A page on a loaded machine."""
expect.set_options(timeout=WITHIN_MS)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of sixty generated days, which went through a store on S3."""
    out = tmp_path_factory.mktemp("dashboard") / "site"
    with s3_server() as s3:
        s3.make_bucket("results")
        place = open_place("s3://results/nightly", s3.env)
        tasks.run(lambda: publish_generated(place))
        store = Store(place, clock=RealClock(), generator=random.Random(1))  # noqa: S311 - pauses, no secrets
        built = tasks.run(lambda: build_copy(store, out, Settings(commit_url="https://example.test/commit/{commit}")))
    assert built.missing == ()
    return out


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; not for longer than a module: while playwright is there, no other event loop can run."""
    with sync_playwright() as playwright:
        # Chromium's own sandbox does not work for root, nor in most containers.
        launched = playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        yield launched
        launched.close()


class _Handler(SimpleHTTPRequestHandler):
    """Files of a folder; other sites may read them if it says so."""

    open_to = ""

    def end_headers(self) -> None:
        if self.open_to:
            self.send_header("Access-Control-Allow-Origin", self.open_to)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name upstream
        del format, args


@contextmanager
def web_server(folder: Path, *, open_to: str = "") -> Iterator[str]:
    """Any web server, without what ours adds; its address."""
    handler = type("Handler", (_Handler,), {"open_to": open_to})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Open a page of a site's folder, on the day after the last generated run; scripts that fail fail the test."""
    errors: list[str] = []
    with ExitStack() as stack:

        def go(folder: Path, hash_: str = "", *, width: int = 1200, dark: bool = False) -> Page:
            address = stack.enter_context(web_server(folder))
            context = browser.new_context(
                viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light"
            )
            stack.callback(context.close)
            context.set_default_timeout(WITHIN_MS)
            page = context.new_page()
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.clock.set_fixed_time(END.timestamp() + 86_400)
            page.goto(f"{address}{hash_}")
            return page

        yield go
    assert errors == []
