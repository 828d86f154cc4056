"""Simulators as processes of their own, and their pages."""

import asyncio
import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import aiohttp

WITHIN_S = 60.0


@contextlib.contextmanager
def simulating(kubeconfig: str, env: Mapping[str, str], *args: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """`kubedyno simulate` for the duration of the block, and the URL of its pages."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "kubedyno", "simulate", "--kubeconfig", kubeconfig, "--port", str(port), *args],
        env=dict(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


async def until_page(url: str, *, json: bool = False) -> Any:
    """The page as soon as somebody serves it."""
    async with asyncio.timeout(WITHIN_S), aiohttp.ClientSession() as session:
        while True:
            with contextlib.suppress(aiohttp.ClientConnectionError):
                async with session.get(url) as response:
                    response.raise_for_status()
                    return await response.json(content_type=None) if json else await response.text()
            await asyncio.sleep(0.1)
