"""Asking an API server in the name of others, each request once: whatever it answers is counted."""

import contextlib
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from kubedyno.client.errors import Unreachable, shortened
from kubedyno.client.options import PATCH_TYPES
from kubedyno.client.rest import Client
from kubedyno.client.transport import JSON, Response
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kube.codec import Object

Party: TypeAlias = Literal["exporter", "kubelet", "watcher", "scheduler"]

AGENTS: Final[Mapping[Party, str]] = {
    "exporter": "resource-topology-exporter",
    "kubelet": "kubelet",
    "watcher": "kubedyno-watcher",
    "scheduler": "kube-scheduler",
}
"""The programs that the API server sees, so that its log tells who asked."""

NO_ANSWER: Final = "no answer"
"""The code of requests that the server did not answer, or not in time."""

FAILED_FROM: Final = 400
"""The HTTP code."""

_LIST_LIMIT: Final = "500"
_TIMEOUT_S: Final = 10.0


class Sheet:
    """What is counted while a load is on."""

    def __init__(self) -> None:
        self.sent = 0
        self.samples: dict[tuple[Party, str], array[float]] = {}
        self.errors: Counter[str] = Counter()
        self.first_error = ""
        self.late_s = array("d")
        self.watched_bytes = 0

    def answered(self, party: Party, verb: str, seconds: float) -> None:
        """There was an answer, whatever it was."""
        self.samples.setdefault((party, verb), array("d")).append(seconds)

    def failed(self, code: str, words: str) -> None:
        """It was a refusal, or none came."""
        self.errors[code] += 1
        self.first_error = self.first_error or words


class Asker:
    """Several parties with the same connections, which take turns. `sheet` is where all is counted."""

    def __init__(self, clients: Sequence[Client], clock: Clock) -> None:
        self.sheet = Sheet()
        self._clients = [{party: one.known_as(agent) for party, agent in AGENTS.items()} for one in clients]
        self._clock = clock
        self._turns = 0

    def client(self, party: Party) -> Client:
        """The next of the party's clients."""
        self._turns += 1
        return self._clients[self._turns % len(self._clients)][party]

    async def probe(self, path: str) -> float | None:
        """The seconds of a single small read now, which is not counted; None: it failed."""
        begun_ns = self._clock.monotonic_ns()
        try:
            answer = await self.client("kubelet").request_raw("GET", path, timeout_s=_TIMEOUT_S)
        except Unreachable:
            return None
        return None if answer.status >= FAILED_FROM else (self._clock.monotonic_ns() - begun_ns) / NS_PER_S

    async def ask(
        self,
        party: Party,
        verb: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        called: str | None = None,
    ) -> Response | None:
        """One request; None: there was no answer."""
        begun_ns = self._clock.monotonic_ns()
        try:
            answer = await self.client(party).request_raw(
                verb, path, query=query, body=body, content_type=content_type, accept=JSON, timeout_s=_TIMEOUT_S
            )
        except Unreachable as error:
            self.sheet.failed(NO_ANSWER, f"{verb} {path}: {error.cause}")
            return None
        self.sheet.answered(party, called or verb, (self._clock.monotonic_ns() - begun_ns) / NS_PER_S)
        if answer.status >= FAILED_FROM:
            self.sheet.failed(str(answer.status), f"{verb} {path}: {answer.status} {_words(answer.body)}")
        return answer

    async def list(self, party: Party, path: str) -> None:
        """The first page, as the server has it at hand."""
        query = {"limit": _LIST_LIMIT, "resourceVersion": "0"}
        await self.ask(party, "GET", path, query=query, called="LIST")

    async def patch(self, party: Party, path: str, body: Object, kind: Literal["merge", "strategic"]) -> None:
        """A change of an object."""
        await self.ask(party, "PATCH", path, body=msgspec.json.encode(body), content_type=PATCH_TYPES[kind])

    async def post(self, path: str, body: Object) -> bool:
        """Create something in the scheduler's name; whether it was accepted."""
        answer = await self.ask("scheduler", "POST", path, body=msgspec.json.encode(body))
        return answer is not None and answer.status < FAILED_FROM

    async def stream(self, party: Party, path: str, query: Mapping[str, str]) -> None:
        """A watch until its end; what takes time is to begin it."""
        begun_ns = self._clock.monotonic_ns()
        asked = {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "0", **query}
        try:
            async with self.client(party).stream(path, query=asked, timeout_s=600.0) as stream:
                self.sheet.answered(party, "WATCH", (self._clock.monotonic_ns() - begun_ns) / NS_PER_S)
                if stream.status >= FAILED_FROM:
                    self.sheet.failed(str(stream.status), f"WATCH {path}: {stream.status}")
                async for chunk in stream.chunks:
                    self.sheet.watched_bytes += len(chunk)
        except Unreachable as error:
            self.sheet.failed(NO_ANSWER, f"WATCH {path}: {error.cause}")


def _words(body: bytes) -> str:
    """The server's message, if it is a Status."""
    with contextlib.suppress(msgspec.MsgspecError):
        decoded = msgspec.json.decode(body)
        if isinstance(decoded, dict):
            return shortened(str(decoded.get("message") or decoded.get("reason") or ""), 200)
    return ""
