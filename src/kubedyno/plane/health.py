"""Asking a component whether it is healthy."""

import ssl
from http import HTTPStatus
from typing import Self

import aiohttp
import msgspec

from kubedyno.kit.errors import EngineError
from kubedyno.plane import tokens
from kubedyno.plane.component import Probe
from kubedyno.plane.identities import Pki

_ANSWER_WITHIN_S = 2.0


class Answer(msgspec.Struct, frozen=True):
    """What a probe heard."""

    healthy: bool
    said: str
    """Status and first line, or why there was no answer."""


class Prober:
    """Sends probes, with the lab's CA and client certificates."""

    def __init__(self, pki: Pki) -> None:
        self._pki = pki
        self._contexts: dict[tuple[str | None, bool], ssl.SSLContext] = {}

    async def __aenter__(self) -> Self:
        # A connection each: kept ones would break noisily when the servers behind them are stopped.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(force_close=True),
            timeout=aiohttp.ClientTimeout(total=_ANSWER_WITHIN_S),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def ask(self, probe: Probe) -> Answer:
        """One probe; never raises for what a server that is still starting may do."""
        context = self._context(probe) if probe.url.startswith("https:") else True
        try:
            async with self._session.get(probe.url, ssl=context, headers=self._headers(probe)) as response:
                body = await response.text(errors="replace")
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return Answer(healthy=False, said=str(error) or type(error).__name__)
        said = f"{response.status} {body.strip().splitlines()[0][:120] if body.strip() else ''}".strip()
        return Answer(healthy=response.status == HTTPStatus.OK and probe.contains in body, said=said)

    async def fetch(self, probe: Probe) -> bytes:
        """The body that the probe's URL answers with; anything but 200 is an error that names the URL."""
        context = self._context(probe) if probe.url.startswith("https:") else True
        timeout = aiohttp.ClientTimeout(total=probe.within_s or _ANSWER_WITHIN_S)
        try:
            async with self._session.get(
                probe.url, ssl=context, headers=self._headers(probe), timeout=timeout
            ) as response:
                body = await response.read()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise EngineError(f"{probe.url} could not be read: {str(error) or type(error).__name__}") from error
        if response.status != HTTPStatus.OK:
            raise EngineError(f"{probe.url} answered {response.status}: {body[:200].decode(errors='replace')}")
        return body

    def _headers(self, probe: Probe) -> dict[str, str]:
        if not (probe.shows_token and probe.identity):
            return {}
        return {"Authorization": f"Bearer {tokens.read(self._pki.tokens)[probe.identity]}"}

    def _context(self, probe: Probe) -> ssl.SSLContext:
        key = (probe.identity, probe.self_signed)
        if key not in self._contexts:
            context = ssl.create_default_context(cafile=str(self._pki.ca))
            if probe.self_signed:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if probe.identity is not None:
                context.load_cert_chain(self._pki.cert(probe.identity), self._pki.key(probe.identity))
            self._contexts[key] = context
        return self._contexts[key]
