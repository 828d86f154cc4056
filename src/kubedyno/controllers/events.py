"""Events as client-go's recorder writes them: similar ones combined, repeated ones counted, floods cut off.

A Job of a thousand pods has some twenty events about them, not a thousand: tools and people know it so.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Literal, TypeVar

import msgspec

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CORE_EVENTS

EventType = Literal["Normal", "Warning"]

_REMEMBERED = 4096
_SIMILAR_AT_MOST = 10
_SIMILAR_WITHIN_S = 600
_BURST = 25
_REFILL_S = 300
_RENAMED_AT_MOST = 8
_COMBINED = "(combined from similar events): "

T = TypeVar("T")


class Creation(msgspec.Struct, frozen=True):
    """A new event; the key tells it again."""

    key: tuple[str, ...]
    event: Object


class Recount(msgspec.Struct, frozen=True):
    """An event that was written before has happened again."""

    key: tuple[str, ...]
    namespace: str
    name: str
    patch: Object
    event: Object


class _Similar(msgspec.Struct):
    messages: dict[str, None]
    last_ns: int


class _Seen(msgspec.Struct):
    namespace: str
    name: str
    count: int


class _Bucket(msgspec.Struct):
    tokens: float
    last_ns: int


class Correlator:
    """Decides what becomes of an event: a creation, a new count on an old one, or nothing."""

    def __init__(self) -> None:
        self._similar: OrderedDict[tuple[str, ...], _Similar] = OrderedDict()
        self._seen: OrderedDict[tuple[str, ...], _Seen] = OrderedDict()
        self._buckets: OrderedDict[tuple[str, ...], _Bucket] = OrderedDict()
        self._last_name_ns = 0

    def decide(
        self,
        component: str,
        obj: Object,
        type_: EventType,
        reason: str,
        message: str,
        *,
        now_ns: int,
        annotations: Mapping[str, str] | None = None,
    ) -> Creation | Recount | None:
        """What to write for an event about `obj` at `now_ns`; annotations are lost when it is combined with others."""
        about = _reference(obj)
        identity = (component, *(about.get(field, "") for field in ("kind", "namespace", "name", "uid", "apiVersion")))
        key: tuple[str, ...]
        similar = self._similar.get((*identity, type_, reason))
        if similar is None or now_ns - similar.last_ns > _SIMILAR_WITHIN_S * NS_PER_S:
            similar = _remember(self._similar, (*identity, type_, reason), _Similar({}, now_ns))
        similar.messages[message] = None
        similar.last_ns = now_ns
        if len(similar.messages) >= _SIMILAR_AT_MOST:
            similar.messages.popitem()
            key, message, reporting = (*identity, type_, reason), f"{_COMBINED}{message}", ""
            annotations = None
        else:
            key, reporting = (*identity, type_, reason, message), component
        if not self._take_token((*identity, type_), now_ns):
            return None
        # Two events of one moment must not share a name: virtual time stands still between timers.
        self._last_name_ns = max(now_ns, self._last_name_ns + 1)
        namespace = about.get("namespace") or "default"
        event: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{about['name']}.{self._last_name_ns:x}",
                "namespace": namespace,
                **({"annotations": dict(annotations)} if annotations else {}),
            },
            "involvedObject": about,
            "reason": reason,
            "message": message,
            "source": {"component": component},
            "firstTimestamp": seconds_text(now_ns),
            "lastTimestamp": seconds_text(now_ns),
            "count": 1,
            "type": type_,
            "eventTime": None,
            "reportingComponent": reporting,
            "reportingInstance": "",
        }
        seen = self._seen.get(key)
        if seen is None:
            return Creation(key, event)
        patch = {"count": seen.count + 1, "lastTimestamp": seconds_text(now_ns), "message": message}
        return Recount(key, seen.namespace, seen.name, patch, event)

    def written(self, key: tuple[str, ...], event: Object) -> None:
        """The server's answer: the next event of the same key only raises its count."""
        metadata = event["metadata"]
        _remember(self._seen, key, _Seen(metadata["namespace"], metadata["name"], event.get("count", 1)))

    def _take_token(self, key: tuple[str, ...], now_ns: int) -> bool:
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = _remember(self._buckets, key, _Bucket(float(_BURST), now_ns))
        bucket.tokens = min(float(_BURST), bucket.tokens + (now_ns - bucket.last_ns) / NS_PER_S / _REFILL_S)
        bucket.last_ns = now_ns
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


def _remember(cache: OrderedDict[tuple[str, ...], T], key: tuple[str, ...], value: T) -> T:
    cache[key] = value
    cache.move_to_end(key)
    while len(cache) > _REMEMBERED:
        cache.popitem(last=False)
    return value


def _reference(obj: Object) -> Object:
    metadata = obj["metadata"]
    fields = {
        "kind": obj["kind"],
        "namespace": metadata.get("namespace"),
        "name": metadata["name"],
        "uid": metadata.get("uid"),
        "apiVersion": obj["apiVersion"],
        "resourceVersion": metadata.get("resourceVersion"),
    }
    return {name: value for name, value in fields.items() if value}


class Recorder:
    """Takes events from controllers without making them wait; `run` writes them one after another."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._correlator = Correlator()
        self._waiting: asyncio.Queue[tuple[str, Object, EventType, str, str, Mapping[str, str] | None]] = (
            asyncio.Queue()
        )

    def record(
        self,
        component: str,
        obj: Object,
        type_: EventType,
        reason: str,
        message: str,
        *,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Tell of something that happened to `obj` (with apiVersion and kind)."""
        self._waiting.put_nowait((component, obj, type_, reason, message, annotations))

    async def run(self) -> None:
        """Write events until cancelled; one that is refused is dropped, as client-go does."""
        while True:
            component, obj, type_, reason, message, annotations = await self._waiting.get()
            decision = self._correlator.decide(
                component, obj, type_, reason, message, now_ns=self._clock.wall_ns(), annotations=annotations
            )
            if decision is None:
                continue
            try:
                self._correlator.written(decision.key, await self._write(decision))
            except (ApiError, Unreachable):
                continue

    async def _write(self, decision: Creation | Recount) -> Object:
        if isinstance(decision, Recount):
            try:
                return await self._client.patch(
                    CORE_EVENTS, decision.name, decision.patch, kind="strategic", namespace=decision.namespace
                )
            except ApiError as error:
                if not error.is_not_found:
                    raise
        return await self._create(decision.event)

    async def _create(self, event: Object) -> Object:
        """Two recorders may tell of one object in one moment of virtual time: the later one takes the next name."""
        for _ in range(_RENAMED_AT_MOST):
            try:
                return await self._client.create(CORE_EVENTS, event)
            except ApiError as error:
                if not error.is_already_exists:
                    raise
            about, _, moment = event["metadata"]["name"].rpartition(".")
            event = {**event, "metadata": {**event["metadata"], "name": f"{about}.{int(moment, 16) + 1:x}"}}
        return await self._client.create(CORE_EVENTS, event)
