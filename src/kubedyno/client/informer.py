"""A resource kept in memory: always the newest state, found by key or index, and waited on without polling."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, ValuesView
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from types import TracebackType
from typing import Self

import msgspec

from kubedyno.client.errors import Overdue
from kubedyno.client.rest import Client, Objects
from kubedyno.client.shaping import Shape
from kubedyno.client.watching import Changed, ChangeType, Listed, Watch, WatchCounts
from kubedyno.kit import tasks
from kubedyno.kit.errors import EngineError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource

Key = tuple[str, str]
"""(namespace, name); the namespace of a cluster-wide object is empty."""

IndexFunction = Callable[[Object], Iterable[str]]


class Change(msgspec.Struct, frozen=True):
    """What happened to one object: `old` is None when it was added, `new` is None when it is gone.

    The stamps are when the news arrived here. After a relist (410) they are those of the list, and the states
    between are lost: `counts` tells whether that happened.
    """

    type: ChangeType
    key: Key
    old: Object | None
    new: Object | None
    wall_ns: int
    monotonic_ns: int

    @property
    def object(self) -> Object:
        """The newest state that is known: for a deleted object its last one."""
        return self.new if self.new is not None else self.old or {}


Subscriber = Callable[[Change], None]


class Informer:
    """The objects of a resource, followed while the `async with` block runs; complete on entry.

    `indexes` maps a name to a function from an object to its values (`{"node": lambda pod: [...]}`). Objects are
    shared: do not change them. If following fails for good, the block is cancelled and the cause raised from it.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        indexes: Mapping[str, IndexFunction] | None = None,
        rng: random.Random | None = None,
        shape: Shape | None = None,
    ) -> None:
        self._watch = Watch(
            client,
            resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            rng=rng,
            shape=shape,
        )
        self._clock = client.clock
        self._name = resource.full_name
        self._objects: dict[Key, Object] = {}
        self._index_functions = dict(indexes or {})
        self._indexes: dict[str, dict[str, dict[Key, Object]]] = {name: {} for name in self._index_functions}
        self._subscribers: list[Subscriber] = []
        self._synced = asyncio.Event()
        self._ended = False
        self._waiters: set[asyncio.Future[None]] = set()
        self._context: AbstractAsyncContextManager[None] | None = None

    async def __aenter__(self) -> Self:
        self._context = self._running()
        await self._context.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._context is not None  # noqa: S101 - entered before it is left
        return await self._context.__aexit__(kind, error, trace)

    @property
    def counts(self) -> WatchCounts:
        """What the watch went through."""
        return self._watch.counts

    @property
    def items(self) -> ValuesView[Object]:
        """The objects: a live view; copy it before awaiting in a loop over it."""
        return self._objects.values()

    def get(self, key: Key) -> Object | None:
        """The object of (namespace, name), or None; cluster-wide objects have the namespace ""."""
        return self._objects.get(key)

    def by_index(self, name: str, value: str) -> Objects:
        """The objects for which index `name` gave `value`."""
        return list(self._indexes[name].get(value, {}).values())

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with each change from now on, before entry also with each object of the first list.

        It is called in order, with the stores up to date, and must not block. Returns the way to stop it.
        """
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    async def wait_until(self, predicate: Callable[[Self], bool], *, timeout_s: float, what: str) -> None:
        """Return once `predicate(informer)` is true; `Overdue` naming `what` after `timeout_s`.

        It is asked when something has changed: a state that lasts for one change only may go unseen.
        """
        overdue = False
        async with asyncio.TaskGroup() as group:
            alarm = group.create_task(self._clock.sleep(timeout_s), name=f"deadline of {what}")
            alarm.add_done_callback(lambda _: self._wake())
            while not predicate(self):
                if alarm.done() or self._ended:
                    overdue = True
                    break
                await self._next_change()
            alarm.cancel()
        if overdue and self._ended:
            raise EngineError(f"the informer of {self._name} ended while {what} was waited for")
        if overdue:
            raise Overdue(f"{what} did not happen within {timeout_s:g} s ({len(self._objects)} {self._name} are known)")

    async def _next_change(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        async with tasks.owning() as group:
            following = group.create_task(self._follow(), name=f"informer of {self._name}")
            await self._synced.wait()
            try:
                yield
            finally:
                following.cancel()

    async def _follow(self) -> None:
        try:
            async with aclosing(self._watch.events()) as events:
                async for event in events:
                    match event:
                        case Listed():
                            self._replace(event)
                            self._synced.set()
                        case Changed():
                            self._apply(event)
                    self._wake()
        finally:
            self._ended = True
            self._wake()

    def _replace(self, listed: Listed) -> None:
        """Take over a list: what it changed, added and no longer has, as changes."""
        fresh = {meta.key(obj): obj for obj in listed.items}
        for key in [key for key in self._objects if key not in fresh]:
            self._note("DELETED", key, None, listed)
        for key, obj in fresh.items():
            old = self._objects.get(key)
            if old is None:
                self._note("ADDED", key, obj, listed)
            elif old["metadata"].get("uid") != obj["metadata"].get("uid"):
                # Deleted and created again while we did not see: two changes, as the stream would have shown.
                self._note("DELETED", key, None, listed)
                self._note("ADDED", key, obj, listed)
            elif old["metadata"].get("resourceVersion") != obj["metadata"].get("resourceVersion"):
                self._note("MODIFIED", key, obj, listed)

    def _apply(self, event: Changed) -> None:
        key = meta.key(event.object)
        if event.type == "DELETED":
            # The last state stands in the event; the change carries it as `old`.
            self._store(key, event.object)
            self._note("DELETED", key, None, event)
        else:
            self._note(event.type, key, event.object, event)

    def _note(self, kind: ChangeType, key: Key, new: Object | None, event: Listed | Changed) -> None:
        old = self._objects.get(key)
        self._store(key, new)
        change = Change(kind, key, old, new, event.wall_ns, event.monotonic_ns)
        for subscriber in tuple(self._subscribers):
            subscriber(change)

    def _store(self, key: Key, new: Object | None) -> None:
        old = self._objects.pop(key, None) if new is None else self._objects.get(key)
        if new is not None:
            self._objects[key] = new
        for name, function in self._index_functions.items():
            index = self._indexes[name]
            if old is not None:
                for value in function(old):
                    members = index.get(value)
                    if members is not None:
                        members.pop(key, None)
                        if not members:
                            del index[value]
            if new is not None:
                for value in function(new):
                    index.setdefault(value, {})[key] = new
