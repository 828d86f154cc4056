"""Shows the dashboard of a store in a folder, on this machine only, for as long as it is wanted."""

import asyncio
import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from kubedyno.dashboard.config import DATA, Settings, beside
from kubedyno.dashboard.files import PAGE, site_files
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.results.publishing.manifest import MANIFEST, PUBLIC

_LOOPBACK: Final = "127.0.0.1"
_NAMES: Final = frozenset({_LOOPBACK, "localhost"})
_HEADERS: Final = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
# Pages among the files of runs are somebody else's: their scripts must not speak as the dashboard.
_OF_DATA: Final = {"Content-Security-Policy": "sandbox allow-scripts"}


@asynccontextmanager
async def serving(folder: Path, settings: Settings, *, port: int = 0) -> AsyncIterator[str]:
    """Serve the page and the store for the duration of the block; its address. Port 0: any that is free.

    The store is read each time anew: runs that are published meanwhile are there when the page is opened again.
    """
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"{folder} is no store of results: {MANIFEST} is not there; publish a run to it first")
    files = site_files(beside(settings, complete=True))

    async def page(request: web.Request) -> web.Response:
        name = request.match_info["name"] or PAGE
        if name not in files:
            raise web.HTTPNotFound
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return web.Response(body=files[name], content_type=kind, charset="utf-8")

    app = web.Application(middlewares=[_only_here])
    app.on_response_prepare.append(_add_headers)
    app.router.add_static(f"/{DATA}/{PUBLIC}", folder / PUBLIC)
    app.router.add_get("/{name:.*}", page)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, _LOOPBACK, port)
        try:
            await site.start()
        except OSError as error:
            raise EngineError(f"port {port} cannot be had: {error.strerror}; choose another with --port") from error
        yield f"http://{_LOOPBACK}:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def forever() -> None:
    """Until somebody ends it."""
    await asyncio.Event().wait()


@web.middleware
async def _only_here(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse names that somebody else's server gave this address: their pages would read what is here."""
    if (request.url.host or "") not in _NAMES:
        raise web.HTTPForbidden(text=f"this is http://{_LOOPBACK}, not {request.host}")
    return await handler(request)


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)
    if request.path.startswith(f"/{DATA}/"):
        response.headers.update(_OF_DATA)
