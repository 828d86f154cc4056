import asyncio
import signal
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
from tests.commands import argv, own_env
from tests.unit.cli.test_compare import write_run
from tests.unit.dashboard.test_building import run

from kubedyno.dashboard.config import Settings
from kubedyno.dashboard.serving import serving
from kubedyno.kit.errors import EngineError, UsageError

pytestmark = pytest.mark.unit


@pytest.fixture
def store(tmp_path: Path) -> Path:
    run("publish", write_run(tmp_path / "runs", "a", [1.0]), "--to", tmp_path / "store")
    return tmp_path / "store"


async def test_page_and_store_are_served_and_nothing_else(store: Path) -> None:
    (store / "secret.txt").write_text("secret")
    async with serving(store, Settings()) as address, aiohttp.ClientSession() as session:

        async def get(path: str, **headers: str) -> tuple[int, str, str]:
            async with session.get(f"{address}{path}", headers=headers) as answer:
                return answer.status, answer.content_type, answer.headers.get("Content-Security-Policy", "")

        assert await get("") == (200, "text/html", "")
        assert await get("app.js") == (200, "text/javascript", "")
        assert await get("config.json") == (200, "application/json", "")
        assert await get("data/Public/manifest.json") == (200, "application/json", "sandbox allow-scripts")
        for path in ("none.js", "data/secret.txt", "data/Public/%2e%2e/secret.txt", "data/Public/none"):
            assert (await get(path))[0] == 404, path
        # A name that somebody else's server gave this address.
        assert (await get("data/Public/manifest.json", Host="evil.example"))[0] == 403


async def test_what_is_published_meanwhile_is_there(store: Path) -> None:
    async with serving(store, Settings()) as address, aiohttp.ClientSession() as session:
        (store / "Public" / "late").mkdir()
        (store / "Public" / "late" / "report.json").write_text("[]")
        async with session.get(f"{address}data/Public/late/report.json") as answer:
            assert await answer.text() == "[]"
            assert answer.headers["Cache-Control"] == "no-cache"


async def test_a_folder_without_a_store_and_a_port_that_is_taken_are_told(store: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="publish a run to it first"):
        async with serving(tmp_path, Settings()):
            raise AssertionError
    async with serving(store, Settings()) as address:
        with pytest.raises(EngineError, match="choose another with --port"):
            async with serving(store, Settings(), port=int(address.rstrip("/").rpartition(":")[2])):
                raise AssertionError


async def test_the_command_prints_the_address_and_ends_at_ctrl_c(
    store: Path, tmp_path: Path, until: Callable[[Callable[[], object]], Awaitable[None]]
) -> None:
    said = tmp_path / "said"
    with said.open("w") as out:
        process = subprocess.Popen(  # noqa: ASYNC220 - it is started, not waited for
            argv("dashboard", "serve", "--from", str(store)), stdout=out, stderr=out, env=own_env(tmp_path)
        )
    try:
        await until(lambda: said.read_text().endswith("/\n"))
        async with aiohttp.ClientSession() as session, session.get(said.read_text().strip()) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(process.wait, 20) == 0
    finally:
        process.kill()
        process.wait()
    assert said.read_text().splitlines()[1:] == ["ended"]
