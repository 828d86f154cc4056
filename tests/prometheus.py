"""A server that answers queries in the format of Prometheus' HTTP API, over samples of the test's own."""

import contextlib
import math
from collections.abc import AsyncIterator, Mapping
from typing import Any

from aiohttp import web

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import UsageError
from kubedyno.measure.promql import Samples
from kubedyno.plane.ports import LOOPBACK


class Server:
    """Answers from `samples`; what `instead` has for a path is answered instead."""

    def __init__(self) -> None:
        self.url = ""
        self.samples = Samples()
        self.instead: web.Response | None = None
        self.warnings: list[str] = []
        self.asked: list[Mapping[str, str]] = []
        """The parameters of all queries but those that only look whether it is there."""

    async def answer(self, request: web.Request) -> web.Response:
        """One request; a response can be sent only once, so the one that is set is copied."""
        assert request.method == "GET"
        if self.instead is not None:
            return web.Response(status=self.instead.status, body=self.instead.body, headers=self.instead.headers)
        query, at_s = request.query["query"], float(request.query["time"])
        if query != "vector(1)":
            self.asked.append(dict(request.query))
        try:
            found = self.samples.query(query, round(at_s * NS_PER_S))
        except UsageError as error:
            told = {"status": "error", "errorType": "bad_data", "error": str(error)}
            return web.json_response(told, status=400)
        result = [{"metric": sample.labels, "value": [at_s, written(sample.value)]} for sample in found]
        told = {"status": "success", "data": vector(result), **({"warnings": self.warnings} if self.warnings else {})}
        return web.json_response(told)


def vector(result: list[Any]) -> dict[str, Any]:
    return {"resultType": "vector", "result": result}


def written(value: float) -> str:
    """As Go writes it."""
    return "NaN" if math.isnan(value) else f"{value:+}".replace("inf", "Inf") if math.isinf(value) else repr(value)


@contextlib.asynccontextmanager
async def served(prefix: str = "") -> AsyncIterator[Server]:
    """A server on a port of this machine; below `prefix`, as behind a proxy."""
    server = Server()
    runner = web.AppRunner(web.Application())
    runner.app.router.add_route("*", f"{prefix}/api/v1/query", server.answer)
    await runner.setup()
    site = web.TCPSite(runner, LOOPBACK, 0)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    server.url = f"http://{LOOPBACK}:{port}{prefix}"
    try:
        yield server
    finally:
        await runner.cleanup()
