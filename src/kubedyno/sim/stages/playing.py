"""Playing stages for all objects of an API, until cancelled: one watch for each kind, timers for each object.

Whatever the server answers, no object is lost: failures are repeated, later and later. What stages cannot do is said
once, in a sentence.
"""

import asyncio
from collections.abc import Callable, Iterable

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.informer import Change, Informer
from kubedyno.client.rest import Client
from kubedyno.controllers.events import Recorder
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import Clock, rfc3339
from kubedyno.kit.errors import UsageError
from kubedyno.kit.logs import Log
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource, UnknownResource
from kubedyno.sim.stages.addresses import PodAddresses, host_addresses, ranges_of
from kubedyno.sim.stages.functions import Addresses, Surroundings, functions_of
from kubedyno.sim.stages.player import Player, World
from kubedyno.sim.stages.stage import NODE, POD, Kind, Stage

Manages = Callable[[str], bool]
"""Whether a node of this name is played here."""

Say = Callable[[str], None]

_RETRY_S = 5.0
_SERVED_S = 30.0
_BOUND = "spec.nodeName!="


async def play_stages(
    client: Client,
    *,
    stages: Iterable[Stage],
    clock: Clock,
    seed: int,
    manages: Manages | None = None,
    surroundings: Surroundings | None = None,
    say: Say | None = None,
) -> None:
    """Play stages until cancelled: nodes that are managed, bound pods on them, and all objects of other kinds.

    `manages` is None for all nodes. A kind that the server does not serve is a `UsageError`. `say` is told of
    problems, each once; without it they are logged.
    """
    async with tasks.owning() as group:
        stagehands = Stagehands(
            client, clock=clock, seed=seed, manages=manages, surroundings=surroundings, say=say, group=group
        )
        await stagehands.play(stages, awaited=False)
        await asyncio.Event().wait()


class Stagehands:
    """Players by kind, and what they share: the nodes, addresses, events, and what was said already."""

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        seed: int,
        manages: Manages | None,
        surroundings: Surroundings | None,
        say: Say | None,
        group: asyncio.TaskGroup,
    ) -> None:
        self._client = client
        self._clock = clock
        self._seed = seed
        self._manages = manages
        self._surroundings = surroundings or Surroundings()
        self._say = say or Log("stages").warning
        self._said: set[str] = set()
        self._group = group
        self._nodes: Informer | None = None
        self._pods: Informer | None = None
        self._addresses = PodAddresses()
        self._recorder = Recorder(client, clock)
        self._started = rfc3339(clock.wall_ns())
        self._rendered_pod: Object = {}
        self._players: dict[Kind, Player] = {}
        self._tasks: dict[Kind, asyncio.Task[None]] = {}
        group.create_task(self._recorder.run(), name="events of stages")

    async def play(self, stages: Iterable[Stage], *, awaited: bool) -> None:
        """Play these stages from now on. `awaited`: kinds that the server does not serve are waited for."""
        by_kind: dict[Kind, list[Stage]] = {}
        for stage in stages:
            by_kind.setdefault(stage.kind, []).append(stage)
        if POD in by_kind:
            by_kind.setdefault(NODE, [])  # pods need to know their nodes
        for kind in self._tasks.keys() - by_kind.keys():
            self._tasks.pop(kind).cancel()
            del self._players[kind]
        # Nodes come first: pods are played on nodes that are known.
        for kind in sorted(by_kind, key=lambda kind: (kind != NODE, kind)):
            if kind in self._players:
                self._players[kind].change_stages(by_kind[kind])
                continue
            player = Player(kind, self._world(kind), by_kind[kind])
            self._players[kind] = player
            resource = None if awaited else await self._served(kind, by_kind[kind])
            synced = asyncio.Event()
            name = f"stages of {kind.name}"
            self._tasks[kind] = self._group.create_task(self._follow(kind, player, resource, synced), name=name)
            if not awaited:
                await synced.wait()

    def tell(self, problem: str, once_for: str) -> None:
        """Say what is wrong; another problem of the same key is not said any more."""
        if once_for not in self._said:
            self._said.add(once_for)
            self._say(problem)

    async def _served(self, kind: Kind, stages: Iterable[Stage]) -> Resource:
        try:
            resource = await self._client.resource(kind.api_version, kind.name)
            await self._client.list(resource, limit=1)
        except UnknownResource as error:
            problem = str(error)
        except ApiError as error:
            if not error.is_not_found:
                raise
            problem = f"the server does not serve {kind.name} of {kind.api_version}"
        else:
            return resource
        where = next((str(stage) for stage in stages), "stages of pods")
        raise UsageError(
            f"{where}: spec.resourceRef: {problem}; install what serves it first, or correct apiGroup and kind"
        )

    async def _follow(self, kind: Kind, player: Player, resource: Resource | None, synced: asyncio.Event) -> None:
        """Watch a kind for its player; a watch that ends for good (the kind is served no more) is begun anew."""
        async with tasks.owning() as group:
            player.start(group)
            while True:
                try:
                    if resource is None:
                        resource = await self._client.resource(kind.api_version, kind.name)
                    await self._watch(kind, player, resource, synced)
                except (UnknownResource, ApiError, Unreachable) as error:
                    gone = isinstance(error, UnknownResource) or (isinstance(error, ApiError) and error.is_not_found)
                    what = f"stages of {kind.name} ({kind.api_version})"
                    self.tell(f"{what} wait until the server serves it: {error}", what)
                    await self._clock.sleep(_SERVED_S if gone else _RETRY_S)
                    resource = None if gone else resource

    async def _watch(self, kind: Kind, player: Player, resource: Resource, synced: asyncio.Event) -> None:
        rng = randomness.stream(self._seed, f"stages of {kind.api_version} {kind.name}")
        player.forget()
        objects = Informer(
            self._client,
            resource,
            field_selector=_BOUND if kind == POD else None,
            indexes={"node": _node_of} if kind == POD else None,
            rng=rng,
        )
        player.follow(resource, objects)
        if kind == POD:
            self._pods = objects
        if kind == NODE:
            self._nodes = objects
            objects.subscribe(self._node_changed)
        async with objects:
            synced.set()
            await asyncio.Event().wait()

    def _node_changed(self, change: Change) -> None:
        """Pods may have been bound before their node was known here."""
        if change.old is None and self._pods is not None and POD in self._players:
            for pod in self._pods.by_index("node", change.key[1]):
                self._players[POD].look_at(pod)

    def _world(self, kind: Kind) -> World:
        addresses = Addresses(self._address_of_rendered_pod, self._addresses_of_node, self._addresses_of_pod)
        functions = functions_of(
            kind,
            now=lambda: rfc3339(self._clock.wall_ns()),
            start_time=self._started,
            surroundings=self._surroundings,
            addresses=addresses,
        )
        return World(
            client=self._client,
            clock=self._clock,
            seed=self._seed,
            functions=functions,
            is_ours=self._is_ours(kind),
            appeared=self._pod_appeared if kind == POD else _ignore,
            gone=self._pod_gone if kind == POD else _ignore,
            rendering=self._pod_rendered if kind == POD else _ignore,
            record=self._recorder.record,
            tell=self.tell,
        )

    def _is_ours(self, kind: Kind) -> Callable[[Object], bool]:
        if kind == POD:
            return lambda pod: self._is_managed(pod["spec"].get("nodeName", ""))
        if kind == NODE and self._manages is not None:
            manages = self._manages
            return lambda node: manages(node["metadata"]["name"])
        return lambda _obj: True

    def _is_managed(self, node: str) -> bool:
        if self._nodes is None or self._nodes.get(("", node)) is None:
            return False
        return self._manages is None or self._manages(node)

    def _node(self, name: str) -> Object | None:
        return None if self._nodes is None else self._nodes.get(("", name))

    def _pod_appeared(self, pod: Object) -> None:
        """An address that it has already is given to nobody else."""
        if pod["spec"].get("hostNetwork"):
            return
        status = pod.get("status") or {}
        addresses = [entry["ip"] for entry in status.get("podIPs") or ()] or [status.get("podIP")]
        if addresses != [None]:
            self._addresses.note(pod["metadata"]["uid"], self._ranges(pod), addresses)

    def _pod_gone(self, pod: Object) -> None:
        self._addresses.release(pod["metadata"]["uid"])

    def _pod_rendered(self, pod: Object) -> None:
        self._rendered_pod = pod

    def _ranges(self, pod: Object) -> list[str]:
        return ranges_of(self._node(pod["spec"].get("nodeName", "")), self._surroundings.cidr)

    def _address_of_rendered_pod(self) -> str:
        found = self._addresses.take(self._rendered_pod["metadata"]["uid"], [self._surroundings.cidr])
        return found[0] if found else self._surroundings.node_ip

    def _addresses_of_node(self, name: str) -> list[str]:
        return host_addresses(self._node(name), self._surroundings.node_ip)

    def _addresses_of_pod(self, node: str, host_network: bool, uid: str, name: str, namespace: str) -> list[str]:
        if host_network:
            return self._addresses_of_node(node)
        owner = uid or f"{namespace}/{name}"
        found = self._addresses.take(owner, ranges_of(self._node(node), self._surroundings.cidr))
        return found or ([self._surroundings.node_ip] if self._surroundings.node_ip else [])


def _node_of(pod: Object) -> tuple[str, ...]:
    name = (pod.get("spec") or {}).get("nodeName")
    return (name,) if name else ()


def _ignore(_obj: Object) -> None:
    """Kinds without addresses."""
