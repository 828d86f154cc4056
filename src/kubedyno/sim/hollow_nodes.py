"""Hollow nodes: a process of kubemark for every Node object, for as long as the object is there.

Each is a real kubelet, so beyond starting and stopping them there is nothing to play.
"""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, Final

from kubedyno.client.errors import Overdue
from kubedyno.client.rest import Client
from kubedyno.client.watching import Event
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES
from kubedyno.plane import kubemark
from kubedyno.plane.activity import Activity, Ground
from kubedyno.plane.component import Component
from kubedyno.plane.site import Site
from kubedyno.plane.supervision import Supervisor
from kubedyno.sim.following import follow, present
from kubedyno.sim.pools.arriving import usable

NAME: Final = "hollow-nodes"

_STARTED_AT_ONCE: Final = 8
_LOOK_EVERY_S: Final = 0.2
_WITHIN_S: Final = 60.0
_WITHIN_S_PER_NODE: Final = 2.0


def activity(site: Site, *, after: tuple[str, ...]) -> Activity:
    """Keep the hollow kubelets of all nodes of the lab at `site`; they are stopped before the components in `after`."""

    async def run(ground: Ground) -> None:
        if ground.supervisor is None:
            raise ValueError("hollow nodes are processes: their lab must have a supervisor")
        await _Hollows(site, ground.supervisor, after).keep(ground.client)

    return Activity(name=NAME, role="kubelet", run=run, programs=(kubemark.PROGRAM,))


class _Hollows:
    """Which nodes there are, and which have their process."""

    def __init__(self, site: Site, supervisor: Supervisor, after: tuple[str, ...]) -> None:
        self._site = site
        self._after = after
        self._supervisor = supervisor
        self._wanted: dict[str, Object] = {}
        self._running: dict[str, tuple[str, Component]] = {}  # by node: the uid of its object, and its process
        self._news = asyncio.Event()

    async def keep(self, client: Client) -> None:
        """Start and stop processes as nodes come and go, until cancelled."""
        rng = randomness.stream(0, NAME)
        async with tasks.owning() as group:
            group.create_task(follow(client, NODES, self._hear, rng=rng), name="see nodes come and go")
            while True:
                await self._news.wait()
                self._news.clear()
                await self._stop_others()
                await self._start_some()

    def _hear(self, event: Event) -> None:
        for node in present(event, self._wanted, self._forget, _name):
            known = self._wanted.get(_name(node))
            if known is None or _uid(known) != _uid(node):
                self._wanted[_name(node)] = node
                self._news.set()

    def _forget(self, name: str) -> None:
        if self._wanted.pop(name, None) is not None:
            self._news.set()

    async def _stop_others(self) -> None:
        """Stop those whose node is gone, or is another one of the same name."""
        ended = [
            name
            for name, (uid, _) in self._running.items()
            if name not in self._wanted or _uid(self._wanted[name]) != uid
        ]
        await self._supervisor.stop([self._running.pop(name)[1].name for name in ended])

    async def _start_some(self) -> None:
        """Start as many as may start at once, and come again for the rest: some may be gone by then."""
        missing = [name for name in self._wanted if name not in self._running]
        started = []
        for name in missing[:_STARTED_AT_ONCE]:
            node = self._wanted[name]
            component = kubemark.hollow_node(self._site, node=name, resources=_resources(node), after=self._after)
            self._running[name] = _uid(node), component
            started.append(component)
        if len(missing) > _STARTED_AT_ONCE:
            self._news.set()
        await self._supervisor.start(started)


async def awaited(client: Client, names: Collection[str]) -> None:
    """Return when the hollow kubelets of these nodes have told that they are ready.

    Nodes of a pool are registered ready, so their condition alone says nothing of the process.
    """
    within_s = _WITHIN_S + _WITHIN_S_PER_NODE * len(names)
    deadline_ns = client.clock.monotonic_ns() + within_s * NS_PER_S
    while missing := set(names) - {_name(node) for node in (await client.list_all(NODES)).items if _is_hollow(node)}:
        if client.clock.monotonic_ns() > deadline_ns:
            raise Overdue(
                f"{len(names)} hollow nodes to be ready did not happen within {within_s:g} s ({len(missing)} are not, "
                f"{min(missing)} is one): its log is logs/hollow-{min(missing)}.log in the folder of the lab"
            )
        await client.clock.sleep(_LOOK_EVERY_S)


def _is_hollow(node: Mapping[str, Any]) -> bool:
    runtime = node.get("status", {}).get("nodeInfo", {}).get("containerRuntimeVersion", "")
    return usable(node) and str(runtime).startswith(kubemark.RUNTIME)


def _resources(node: Object) -> dict[str, str]:
    """What pods can have of the node; without `status` there is nothing to show."""
    return dict(node.get("status", {}).get("allocatable") or {})


def _name(node: Object) -> str:
    return str(node["metadata"]["name"])


def _uid(node: Object) -> str:
    return str(node["metadata"]["uid"])
