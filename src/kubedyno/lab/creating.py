"""Creating the objects of workloads with many hands, as fast as it goes or on time, and deleting them again."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kube.resources import PODS, Resource
from kubedyno.lab.handles import Stamp
from kubedyno.model.workloads import Workload

RUN_LABEL: Final = "kubedyno/run"
"""On everything that a run creates."""
_DELETERS: Final = 32


def labelled(document: dict[str, Any], run_id: str) -> dict[str, Any]:
    """The document with the run's label."""
    metadata = document["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), RUN_LABEL: run_id}
    return document


class Creator:
    """Creates workloads, and remembers what they are made of."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._objects: dict[str, list[tuple[Resource, str, str | None]]] = {}
        self.on_paced: Callable[[int, int], None] = _ignore
        """Told of each workload that had its time: when it was planned for and when it was sent, ns since the epoch."""
        self.on_accepted: Callable[[Iterable[tuple[str, str]]], None] = _ignore
        """Told of the pods (namespace and name) that the API has accepted."""
        self.on_deleting: Callable[[Iterable[tuple[str, str]]], None] = _ignore
        """Told of pods that belong to no workload, before the scenario takes them away: they are not lost."""

    async def create(
        self,
        workloads: Sequence[Workload],
        objects: Callable[[Workload], list[dict[str, Any]]],
        *,
        run_id: str,
        writers: int,
        over_s: float | None,
    ) -> Stamp:
        """Create the objects of each workload in order, some workloads side by side; from when to when."""
        first_ns = self._clock.wall_ns()
        pace_s = 0.0 if over_s is None else over_s / max(1, len(workloads))
        left = iter(enumerate(workloads))

        async def write() -> None:
            for index, workload in left:
                if over_s is not None:
                    await self._be_on_time(first_ns, index * pace_s)
                for document in objects(workload):
                    await self._create_one(workload.name, labelled(document, run_id))

        async with tasks.owning() as group:
            for hand in range(min(writers, len(workloads))):
                group.create_task(write(), name=f"submit with hand {hand}")
        return Stamp(first_ns, first_ns, self._clock.wall_ns())

    async def delete(self, workloads: Iterable[str]) -> None:
        """Delete the objects of workloads; what is gone already is no fault."""
        left = self._remembered(sorted(workloads))

        async def remove() -> None:
            for resource, name, namespace in left:
                try:
                    await self._client.delete(resource, name, namespace=namespace, propagation="Background")
                except ApiError as error:
                    if not error.is_not_found:
                        raise

        async with tasks.owning() as group:
            for hand in range(_DELETERS):
                group.create_task(remove(), name=f"delete with hand {hand}")

    def _remembered(self, workloads: Iterable[str]) -> Iterator[tuple[Resource, str, str | None]]:
        for workload in workloads:
            yield from self._objects.pop(workload, ())

    async def _create_one(self, workload: str, document: dict[str, Any]) -> None:
        resource = await self._client.resource_of(document)
        metadata = document["metadata"]
        self._objects.setdefault(workload, []).append((resource, metadata["name"], metadata.get("namespace")))
        # A field that the server does not know would be dropped, and the workload silently be another one.
        await self._client.create(resource, document, field_validation="Strict")
        if resource == PODS:
            self.on_accepted([(metadata["namespace"], metadata["name"])])

    async def _be_on_time(self, first_ns: int, after_s: float) -> None:
        planned_ns = first_ns + round(after_s * NS_PER_S)
        left_ns = planned_ns - self._clock.wall_ns()
        if left_ns > 0:
            await self._clock.sleep(left_ns / NS_PER_S)
        self.on_paced(planned_ns, self._clock.wall_ns())


def _ignore(*_: object) -> None:
    """Nobody wants to know."""
