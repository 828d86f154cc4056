"""Leaving a lab or cluster as it was found: exactly what carries the run's label is removed, and looked for."""

from collections.abc import Iterable
from typing import Final

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NAMESPACES, Resource
from kubedyno.lab.creating import RUN_LABEL, labelled
from kubedyno.sim.pools import applying
from kubedyno.sim.pools.nodes import node_name

GONE_WITHIN_S: Final = 60.0
_INTERRUPTED_S: Final = 5.0
"""Nobody who has interrupted a run wants to wait longer."""
_LOOK_EVERY_S: Final = 0.1


class _Stays(EngineError):
    """Something does not go away in time."""


class Cleaner:
    """Knows what a run made beside the objects of its own namespace, and takes all of it away again."""

    def __init__(self, client: Client, run_id: str, clock: Clock, *, gone_within_s: float = GONE_WITHIN_S) -> None:
        self._client = client
        self._selector = f"{RUN_LABEL}={run_id}"
        self._run_id = run_id
        self._clock = clock
        self._gone_within_s = gone_within_s
        self._kinds: set[Resource] = set()
        self._pools: list[str] = []
        self._nodes: set[str] = set()

    def has_node(self, name: str) -> bool:
        """Whether a node of that name is the run's: no others' has such a name where its pools could be made."""
        return name in self._nodes

    def own_nodes(self, names: Iterable[str]) -> None:
        """Nodes of these names are the run's as well; whoever makes them removes them."""
        self._nodes.update(names)

    async def refuse_others_pool(self, name: str, *, size: int = 0) -> None:
        """UsageError when the cluster has such a pool: it is not ours to change. Else it will be removed.

        `size` is how many nodes are to be made of it.
        """
        if name in await applying.defined(self._client):
            raise UsageError(
                f"the lab has a pool {name} of its own: take another lab, or `kubedyno nodes delete {name}`"
            )
        self._pools.append(name)
        self._nodes.update(node_name(name, index) for index in range(size))

    async def refuse_others(self, document: Object) -> None:
        """UsageError when there is such an object that the run did not make. Else it will be removed."""
        resource = await self._client.resource_of(document)
        metadata = document["metadata"]
        try:
            found = await self._client.get(resource, metadata["name"], namespace=metadata.get("namespace"))
        except ApiError as error:
            if not error.is_not_found:
                raise
        else:
            if meta.labels(found).get(RUN_LABEL) != self._run_id:
                raise UsageError(
                    f"the lab has a {resource.kind} {metadata['name']} that the run did not make: "
                    "delete it, or take another lab"
                )
        if not metadata.get("namespace"):
            self._kinds.add(resource)

    async def create_missing(self, documents: Iterable[Object]) -> None:
        """Create those objects of the whole cluster that are not there, as the run's; others' stay as they are."""
        for document in documents:
            resource = await self._client.resource_of(document)
            self._kinds.add(resource)
            try:
                await self._client.create(resource, labelled(document, self._run_id), field_validation="Strict")
            except ApiError as error:
                if not error.is_already_exists:
                    raise

    async def clean(self) -> None:
        """Remove all of it; EngineError that names what does not go away. The rest is removed all the same."""
        stays: list[_Stays] = []
        # Namespaces first: with them go the pods, and nobody has to make room on nodes that are about to vanish.
        for resource in (NAMESPACES, *sorted(self._kinds, key=lambda one: one.full_name)):
            try:
                await self._remove(resource)
            except _Stays as error:
                stays.append(error)
        if self._pools:
            known = await applying.defined(self._client)  # one that the run was ended before it had made is not there
            await applying.delete(self._client, [name for name in self._pools if name in known])
        if stays:
            raise stays[0]

    async def _remove(self, resource: Resource) -> None:
        for obj in await self._left(resource):
            try:
                await self._client.delete(resource, obj["metadata"]["name"])
            except ApiError as error:
                if not error.is_not_found:
                    raise
        within_s = min(self._gone_within_s, _INTERRUPTED_S) if tasks.is_being_cancelled() else self._gone_within_s
        deadline_ns = self._clock.monotonic_ns() + round(within_s * NS_PER_S)
        while left := await self._left(resource):
            if self._clock.monotonic_ns() > deadline_ns:
                names = ", ".join(obj["metadata"]["name"] for obj in left)
                raise _Stays(
                    f"{resource.full_name} of the run did not go away within {within_s:g} s: {names}; "
                    f"see `kubectl get {resource.full_name} -l {self._selector} -o yaml`"
                )
            await self._clock.sleep(_LOOK_EVERY_S)

    async def _left(self, resource: Resource) -> list[Object]:
        return (await self._client.list_all(resource, label_selector=self._selector)).items
