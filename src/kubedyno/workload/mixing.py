"""The load of a whole cluster on its API server: what exporters, kubelets, watchers and schedulers ask, all at once.

Requests leave at planned times, whether others were answered or not, and each is tried once: what the server answers
is what is counted. Parties work on objects of the load's own, so that nobody's ledger is disturbed; only nodes are the
cluster's. Pods are bound to nodes round about, and the oldest are deleted when there are too many.
"""

import contextlib
import random
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

import msgspec

from kubedyno.client.rest import Client
from kubedyno.client.transport import Response
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, Clock, rfc3339
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import LEASES, NODE_RESOURCE_TOPOLOGIES, NODES, PODS, Resource
from kubedyno.workload import pacing
from kubedyno.workload.asking import FAILED_FROM, Asker, Party, Sheet

SCHEDULER_NAME: Final = "kubedyno-load"
"""Pods of the load are nobody's but the load's."""

_NAME: Final = "load"
_MOST_IN_FLIGHT: Final = 4000
_WRITERS: Final = 32
_LEAST_OBJECTS: Final = 200
"""Of a small cluster, too: who writes to one object at a time waits for himself."""
_MOST_OBJECTS: Final = 500
"""Leases and reports of the load at most: those of more nodes would be written in turn just the same."""
_STATUS_PODS: Final = 50
_PODS_PER_NODE: Final = 20
_LOOK_EVERY_S: Final = 0.001
_TOPOLOGIES: Final = NODE_RESOURCE_TOPOLOGIES[0]


class Yard(msgspec.Struct, frozen=True, kw_only=True):
    """Where the load works."""

    namespace: str
    """Of its leases and pods; nobody else's."""
    nodes: tuple[str, ...]
    report: Object | None = None
    """A NodeResourceTopology to write the like of; None: there are no exporters in the load."""
    labels: Mapping[str, str] = {}
    """On all that it creates, and on nothing else: its reports are known by them."""


class Mixed(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a load. Seconds are those from the request to the whole answer; of a watch to its beginning."""

    planned: int
    sent: int
    achieved: float
    """Requests a second that were really sent."""
    late_p99_s: float
    """By which requests were sent later than planned."""
    samples: Mapping[tuple[Party, str], tuple[float, ...]]
    """Of answers, by who asked and the verb."""
    errors: Mapping[str, int]
    """By HTTP code; `no answer` without one."""
    first_error: str = ""
    watched_bytes: int = 0
    """What those that watched all the time were told."""

    def by_verb(self) -> dict[str, tuple[float, ...]]:
        """The samples of all parties together, by verb."""
        found: dict[str, list[float]] = {}
        for (_, verb), seconds in self.samples.items():
            found.setdefault(verb, []).extend(seconds)
        return {verb: tuple(seconds) for verb, seconds in sorted(found.items())}


class _Lease:
    """A lease of the load, and the version that its holder knows; None: he must read it first."""

    __slots__ = ("name", "version")

    def __init__(self, name: str, version: str | None = None) -> None:
        self.name = name
        self.version = version


class _Metadata(msgspec.Struct):
    resourceVersion: str = ""  # noqa: N815 - the API's own name


class _Versioned(msgspec.Struct):
    metadata: _Metadata


class Mix:
    """A load on one API server. `prepare` it, `run` it as often as wanted, and `clear` it away."""

    def __init__(self, clients: Sequence[Client], yard: Yard, *, clock: Clock, rng: random.Random) -> None:
        self._asker = Asker(clients, clock)
        self._connections = len(clients)
        self._yard = yard
        self._clock = clock
        self._rng = rng
        self._leases: deque[_Lease] = deque()
        self._fresh: deque[str] = deque()
        """Pods without a node."""
        self._bound: deque[str] = deque()
        self._pods = 0
        self._turns = 0
        self._in_flight = 0
        count = min(max(len(yard.nodes), _LEAST_OBJECTS), _MOST_OBJECTS)
        self._names = [f"{_NAME}-{index}" for index in range(count)]
        self._acts: list[_Act] = [act for act in _ACTS if yard.report is not None or not act.needs_reports]
        self._parts = [act.part for act in self._acts]

    async def prepare(self) -> None:
        """Create what parties write to."""
        client, labels = self._asker.client("kubelet"), {"labels": dict(self._yard.labels)}
        bodies: list[tuple[Resource, Object]] = [(LEASES, self._lease(name)) for name in self._names]
        bodies += [(PODS, self._pod(f"{_NAME}-status-{index}")) for index in range(_STATUS_PODS)]
        if self._yard.report is not None:
            bodies += [
                (_TOPOLOGIES, {**_without_metadata(self._yard.report), "metadata": {"name": name, **labels}})
                for name in self._names
            ]
        left = iter(bodies)

        async def write() -> None:
            for resource, body in left:
                made = await client.create(resource, body)
                if resource == LEASES:
                    self._leases.append(_Lease(body["metadata"]["name"], made["metadata"]["resourceVersion"]))

        async with tasks.owning() as group:
            for hand in range(_WRITERS):
                group.create_task(write(), name=f"prepare the load with hand {hand}")

    async def run(self, rate: float, duration_s: float) -> Mixed:
        """So many requests a second for so long; returns when all were answered or given up."""
        self._asker.sheet = sheet = Sheet()
        count = max(1, round(rate * duration_s))
        begun_ns = self._clock.monotonic_ns()
        async with tasks.owning() as watching:
            standing = [
                watching.create_task(self._watch(resource), name=f"watch {resource.plural}")
                for resource in self._watched() * self._connections
            ]
            async with tasks.owning() as group:
                async for planned_ns in pacing.planned((index / rate for index in range(count)), self._clock):
                    while self._in_flight >= _MOST_IN_FLIGHT:
                        await self._clock.sleep(_LOOK_EVERY_S)
                    sheet.late_s.append(max(0, self._clock.wall_ns() - planned_ns) / NS_PER_S)
                    act = self._rng.choices(self._acts, self._parts)[0]
                    sheet.sent += 1
                    self._in_flight += 1
                    group.create_task(self._play(act), name=f"{act.party}: {act.name}")
                sending_s = (self._clock.monotonic_ns() - begun_ns) / NS_PER_S
            for task in standing:
                task.cancel()
        late = sorted(sheet.late_s)
        return Mixed(
            planned=count,
            sent=sheet.sent,
            achieved=sheet.sent / max(sending_s, count / rate),
            late_p99_s=late[round(0.99 * (len(late) - 1))],
            samples={key: tuple(seconds) for key, seconds in sorted(sheet.samples.items())},
            errors=dict(sheet.errors.most_common()),
            first_error=sheet.first_error,
            watched_bytes=sheet.watched_bytes,
        )

    async def probe(self) -> float | None:
        """The seconds of a single small read now; None: it failed."""
        return await self._asker.probe(LEASES.path(namespace=self._yard.namespace, name=self._names[0]))

    async def clear(self) -> None:
        """Delete all that the load has created."""
        client, namespace = self._asker.client("kubelet"), self._yard.namespace
        await client.delete_collection(PODS, namespace=namespace, grace_s=0)
        await client.delete_collection(LEASES, namespace=namespace)
        if self._yard.report is not None:
            selector = ",".join(f"{key}={value}" for key, value in self._yard.labels.items())
            await client.delete_collection(_TOPOLOGIES, label_selector=selector)
        for kept in (self._leases, self._fresh, self._bound):
            kept.clear()

    async def _play(self, act: "_Act") -> None:
        try:
            await act.play(self)
        finally:
            self._in_flight -= 1

    # Who asks for what.

    async def renew(self) -> None:
        """A kubelet renews its lease; one whose last renewal failed reads it first."""
        if not self._leases:
            await self.read()
            return
        lease = self._leases.popleft()
        path = LEASES.path(namespace=self._yard.namespace, name=lease.name)
        if lease.version is None:
            answer = await self._asker.ask("kubelet", "GET", path)
        else:
            body = msgspec.json.encode(self._lease(lease.name, lease.version))
            answer = await self._asker.ask("kubelet", "PUT", path, body=body)
        is_good = answer is not None and answer.status < FAILED_FROM
        lease.version = _version(answer) if answer is not None and is_good else None
        self._leases.append(lease)

    async def tell_node(self) -> None:
        """A kubelet writes the status of its node."""
        condition = {
            "type": "KubedynoLoad",
            "status": "True",
            "reason": "Load",
            "message": f"turn {self._turn()}",
            "lastHeartbeatTime": self._now_s(),
        }
        path = NODES.path(name=self._node(), subresource="status")
        await self._asker.patch("kubelet", path, {"status": {"conditions": [condition]}}, "strategic")

    async def tell_pod(self) -> None:
        """A kubelet writes the status of a pod."""
        turn = self._turn()
        condition = {"type": "kubedyno/load", "status": "True", "message": f"turn {turn}"}
        name = f"{_NAME}-status-{turn % _STATUS_PODS}"
        path = PODS.path(namespace=self._yard.namespace, name=name, subresource="status")
        await self._asker.patch("kubelet", path, {"status": {"conditions": [condition]}}, "strategic")

    async def export(self) -> None:
        """An exporter writes what has changed of its report: the zones, and when it was."""
        report, turn = self._yard.report or {}, self._turn()
        zones = [{**zone, "resources": _alternated(zone.get("resources") or (), turn)} for zone in report["zones"]]
        body = {"metadata": {"annotations": {"kubedyno/turn": str(turn)}}, "zones": zones}
        await self._asker.patch("exporter", _TOPOLOGIES.path(name=self._names[turn % len(self._names)]), body, "merge")

    async def read_report(self) -> None:
        """An exporter reads its report before it writes the whole of it."""
        await self._asker.ask("exporter", "GET", _TOPOLOGIES.path(name=self._names[self._turn() % len(self._names)]))

    async def read(self) -> None:
        """A kubelet reads its node."""
        await self._asker.ask("kubelet", "GET", NODES.path(name=self._node()), query={"resourceVersion": "0"})

    async def list_nodes(self) -> None:
        """A watcher begins anew with a list."""
        await self._asker.list("watcher", NODES.path())

    async def open_watch(self) -> None:
        """A watcher goes on with a watch of one object, for a second."""
        query = {"fieldSelector": f"metadata.name={self._names[0]}", "timeoutSeconds": "1"}
        await self._asker.stream("watcher", LEASES.path(namespace=self._yard.namespace), query)

    async def list_pods(self) -> None:
        """A scheduler lists pods."""
        await self._asker.list("scheduler", PODS.path(namespace=self._yard.namespace))

    async def list_reports(self) -> None:
        """A scheduler lists reports."""
        await self._asker.list("scheduler", _TOPOLOGIES.path())

    async def create_pod(self) -> None:
        """Somebody creates a pod."""
        self._pods += 1
        name = f"{_NAME}-pod-{self._pods}"
        path = PODS.path(namespace=self._yard.namespace)
        if await self._asker.post(path, self._pod(name)):
            self._fresh.append(name)

    async def bind_pod(self) -> None:
        """A scheduler binds a pod; without one there is one created."""
        if not self._fresh:
            await self.create_pod()
            return
        name = self._fresh.popleft()
        target = {"apiVersion": "v1", "kind": "Node", "name": self._node()}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        path = PODS.path(namespace=self._yard.namespace, name=name, subresource="binding")
        if await self._asker.post(path, body):
            self._bound.append(name)

    async def delete_pod(self) -> None:
        """Somebody deletes the oldest pod that has a node, if there are enough; else there is one bound."""
        if len(self._bound) < min(_STATUS_PODS, _PODS_PER_NODE * len(self._yard.nodes)):
            await self.bind_pod()
            return
        path = PODS.path(namespace=self._yard.namespace, name=self._bound.popleft())
        await self._asker.ask("scheduler", "DELETE", path, query={"gracePeriodSeconds": "0"})

    async def _watch(self, resource: Resource) -> None:
        """Be told of all changes until cancelled."""
        namespace = self._yard.namespace if resource.namespaced else None
        await self._asker.stream("watcher", resource.path(namespace=namespace), {"timeoutSeconds": "600"})

    def _watched(self) -> tuple[Resource, ...]:
        return (PODS, NODES) if self._yard.report is None else (PODS, NODES, _TOPOLOGIES)

    # What is written.

    def _turn(self) -> int:
        self._turns += 1
        return self._turns

    def _node(self) -> str:
        return self._yard.nodes[self._turn() % len(self._yard.nodes)]

    def _now_s(self) -> str:
        return f"{rfc3339(self._clock.wall_ns())[:19]}Z"

    def _lease(self, name: str, version: str | None = None) -> Object:
        metadata: dict[str, Any] = {"name": name, "namespace": self._yard.namespace, "labels": dict(self._yard.labels)}
        if version is not None:
            metadata["resourceVersion"] = version
        return {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": metadata,
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": 40,
                "renewTime": rfc3339(self._clock.wall_ns()),
            },
        }

    def _pod(self, name: str) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": self._yard.namespace, "labels": dict(self._yard.labels)},
            "spec": {
                "schedulerName": SCHEDULER_NAME,
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 0,
                "automountServiceAccountToken": False,
                "containers": [{"name": "main", "image": "simulated"}],
            },
        }


class _Act(msgspec.Struct, frozen=True):
    """Something that a party does."""

    name: str
    party: Party
    """Who does it."""
    part: int
    """Of all that is done, in relation to the others."""
    play: Callable[[Mix], Coroutine[Any, Any, None]]
    needs_reports: bool = False


# What a thousand nodes ask in a second when ten pods come and ten go: a lease every ten seconds, reports once a minute
# and when a pod comes or goes, three statuses in a pod's life. Lists and new watches are more often than they would be,
# so that a short step has some.
_ACTS: Final = (
    _Act("renew a lease", "kubelet", 100, Mix.renew),
    _Act("write a pod's status", "kubelet", 30, Mix.tell_pod),
    _Act("write a node's status", "kubelet", 4, Mix.tell_node),
    _Act("read a node", "kubelet", 4, Mix.read),
    _Act("patch a report", "exporter", 36, Mix.export, needs_reports=True),
    _Act("read a report", "exporter", 4, Mix.read_report, needs_reports=True),
    _Act("list nodes", "watcher", 1, Mix.list_nodes),
    _Act("open a watch", "watcher", 2, Mix.open_watch),
    _Act("list pods", "scheduler", 2, Mix.list_pods),
    _Act("list reports", "scheduler", 1, Mix.list_reports, needs_reports=True),
    _Act("create a pod", "scheduler", 10, Mix.create_pod),
    _Act("bind a pod", "scheduler", 10, Mix.bind_pod),
    _Act("delete a pod", "scheduler", 10, Mix.delete_pod),
)


def _version(answer: Response) -> str | None:
    with contextlib.suppress(msgspec.MsgspecError):
        return msgspec.json.decode(answer.body, type=_Versioned).metadata.resourceVersion
    return None


def _alternated(resources: Sequence[Object], turn: int) -> list[Object]:
    """The same resources, of which all is available now and nothing the next time: a patch must change something."""
    return [{**one, "available": "0" if turn % 2 else one.get("allocatable", "0")} for one in resources]


def _without_metadata(report: Object) -> Object:
    return {key: value for key, value in report.items() if key != "metadata"}
