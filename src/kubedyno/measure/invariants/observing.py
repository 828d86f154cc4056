"""Watching a cluster for broken rules and for the lives of its pods, beside a recorder of some of its kinds."""

import random
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from kubedyno.client.rest import Client
from kubedyno.client.versions import first_served
from kubedyno.client.watching import ChangeType
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import (
    CORE_EVENTS,
    COSCHEDULING_POD_GROUPS,
    JOBS,
    KAI_BIND_REQUESTS,
    KAI_POD_GROUPS,
    KAI_QUEUES,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Resource,
)
from kubedyno.measure.following import Following, following
from kubedyno.measure.invariants import reading
from kubedyno.measure.invariants.facts import Facts, Key, PodFacts
from kubedyno.measure.invariants.watching import HOLD_S, Watchdog
from kubedyno.measure.invariants.world import Patience
from kubedyno.measure.lives import Lives
from kubedyno.measure.living import Living
from kubedyno.measure.records import Violation
from kubedyno.model.lifecycles import Followed, Shown


def _nothing(_: Object) -> tuple[Shown, ...]:
    return ()


_WATCHED: Final = (
    *((resource, "") for resource in (NODES, PODS, KAI_POD_GROUPS, POD_GROUPS, COSCHEDULING_POD_GROUPS)),
    *((resource, "") for resource in (KAI_QUEUES, RESOURCE_CLAIMS, RESOURCE_SLICES, PRIORITY_CLASSES)),
    *((resource, "") for resource in (KAI_BIND_REQUESTS, JOBS)),
    (CORE_EVENTS, "reason=Evict"),
    (CORE_EVENTS, "reason=Preempted"),
)
"""All that rules and lives are made from but topologies, with field selectors."""


class Watched:
    """An observer for a recorder: what was broken, and who lived."""

    def __init__(
        self,
        *,
        namespaces: Collection[str] | None = None,
        patience: Patience | None = None,
        hold_s: float = HOLD_S,
    ) -> None:
        self.watchdog = Watchdog(patience=patience, hold_s=hold_s)
        self.living = Living(self.watchdog.world, namespaces=namespaces)
        self.beside: Following | None = None
        """The kinds that no recorder follows."""
        self._known: dict[str, Facts] = {}
        """What was told last of each object that is there, by uid."""

    def change(
        self, resource: Resource, kind: ChangeType, obj: Object, arrival_ns: int, *, listed: bool = False
    ) -> None:
        """An object was added, changed or deleted."""
        uid: str = obj["metadata"]["uid"]
        known = self._known.get(uid)
        facts = self._read(resource, obj, known)
        if kind == "DELETED":
            self._known.pop(uid, None)
        elif facts == known:
            return  # what changed matters to nobody here
        elif facts is not None:
            self._known[uid] = facts
        if facts is None:
            return
        self.watchdog.tell(kind, facts, reading.version_of(obj), arrival_ns, listed=listed)
        self.living.tell(kind, facts, arrival_ns)

    @staticmethod
    def _read(resource: Resource, obj: Object, known: Facts | None) -> Facts | None:
        if resource == PODS:
            return reading.read_pod(obj, known if isinstance(known, PodFacts) else None)
        return reading.read(resource, obj)

    def vanished(self, resource: Resource, uid: str, version: int, arrival_ns: int) -> None:
        """An object is no longer in a list."""
        del resource
        facts = self._known.pop(uid, None)
        if facts is not None:
            self.living.tell("DELETED", facts, arrival_ns)
            self.watchdog.tell("DELETED", facts, version, arrival_ns, listed=True)

    def excuse(self, workloads: Iterable[str], now_ns: int) -> None:
        """Pods of these workloads (by the value of their label) are ours to delete from now on."""
        self.watchdog.excuse(workloads, now_ns)

    def excuse_pods(self, pods: Iterable[Key], now_ns: int) -> None:
        """The same of single pods (namespace and name), which belong to no workload."""
        self.watchdog.excuse_pods(pods, now_ns)

    def accepted(self, pods: Iterable[Key]) -> None:
        """The API has accepted these pods (namespace and name): they must be seen."""
        self.watchdog.accepted(pods)

    def violations(self) -> tuple[Violation, ...]:
        """What was broken, of all that happened until some seconds ago; after `end`, of everything."""
        return self.watchdog.violations()

    def lives(self) -> Lives:
        """Who lived until now."""
        evicted = {departure.pod.uid for departure in self.watchdog.evictions()}
        return self.living.lives(lambda uid: uid in evicted or self.watchdog.was_evicted(uid))

    async def end(self, now_ns: int) -> None:
        """Look at all that was written until now. Recorders must be proven before: then all of it has arrived."""
        if self.beside is not None:
            await self.beside.prove()
        self.watchdog.end(now_ns)


def beside(recorded: Sequence[Followed], namespace: str | None, topologies: Iterable[Resource] = ()) -> list[Followed]:
    """The kinds that rules need and a recorder of these kinds in a namespace does not bring.

    Of pods those of other namespaces: they take room as well. `topologies` are the kinds that tell of those.
    """
    known = {(one.resource, one.fields) for one in recorded}
    watched = (*_WATCHED, *((resource, "") for resource in topologies))
    kinds = [Followed(resource, "other", _nothing, None, fields) for resource, fields in watched]
    wanted = [one for one in kinds if (one.resource, one.fields) not in known]
    if namespace is not None and (PODS, "") in known:
        wanted.append(Followed(PODS, "other", _nothing, None, f"metadata.namespace!={namespace}"))
    return wanted


async def served_topologies(client: Client) -> list[Resource]:
    """Of each kind of topology the newest version that the server has; the oldest where it has none, as yet."""
    return [await first_served(client, versions[:-1]) or versions[-1] for versions in reading.TOPOLOGIES]


@asynccontextmanager
async def watching(
    client: Client,
    recorded: Sequence[Followed] = (),
    *,
    namespace: str | None = None,
    only: Collection[str] | None = None,
    patience: Patience | None = None,
    rng: random.Random | None = None,
) -> AsyncIterator[Watched]:
    """Watch the cluster while the block runs. Give what is yielded as `observer` to whoever follows `recorded`.

    `namespace` is the one that is recorded, and whose pods have lives; None: all, or of lives those of `only`. Without
    `recorded` everything is followed here.
    """
    watched = Watched(namespaces=only if namespace is None else {namespace}, patience=patience)
    kinds = beside(recorded, namespace, await served_topologies(client))
    async with following(client, kinds, probing=None, rng=rng, observer=watched) as made:
        watched.beside = made
        yield watched
