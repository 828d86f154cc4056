"""Coming to a cluster that is not ours: whether its scheduler is there, what it lacks, who plays simulated kubelets.

What cannot be known from its API is tried: a node and a job that are gone again before the trial begins.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import NotApplicable
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import KAI_QUEUES, PODS, PRIORITY_CLASSES, UnknownResource
from kubedyno.lab import apart, installing
from kubedyno.lab.cleaning import Cleaner
from kubedyno.lab.creating import RUN_LABEL, Creator, labelled
from kubedyno.lab.shapes import distributed, training
from kubedyno.model.dialects import Surroundings
from kubedyno.model.features import Feature
from kubedyno.model.queues import Queue
from kubedyno.schedulers.scheduler import Scheduler
from kubedyno.sim import pools
from kubedyno.sim.pools import applying

LOOKED_WITHIN_S: Final = 30.0
"""A scheduler that has not looked at a pod for so long is not there."""
PLAYED_WITHIN_S: Final = 5.0
"""Simulated kubelets start a pod within tenths of a second."""
_LOOK_EVERY_S: Final = 0.1
_BASE_KINDS: Final = frozenset({PRIORITY_CLASSES.kind, "WorkloadPriorityClass", KAI_QUEUES.kind})
"""Of the objects of a scheduler: what workloads name, and not what its processes need."""


class Visit:
    """A scheduler on a cluster that others have as well. `where` names the cluster in sentences."""

    def __init__(self, client: Client, scheduler: Scheduler, *, where: str, run_id: str) -> None:
        self._client = client
        self._scheduler = scheduler
        self._where = where
        self._run_id = run_id

    async def lacks(self) -> Mapping[Feature, str]:
        """What cannot be expressed because a kind is not served; NotApplicable where nothing can be."""
        dialect = self._scheduler.dialect
        needed = [*dialect.queues((Queue(name="any"),)), *dialect.objects(training(gpus=1))]
        missing = await self._not_served(needed)
        if missing is not None:
            raise NotApplicable(
                f"scheduler {self._scheduler.name} is not installed on the {self._where}: {missing} is not served there"
            )
        if "gangs" in self._scheduler.lacks:
            return {}
        missing = await self._not_served(dialect.objects(distributed(workers=2, gpus=1)))
        return {} if missing is None else {"gangs": f"{missing} is not served here"}

    async def create_missing(self, cleaner: Cleaner) -> None:
        """Create what workloads name and the cluster does not have; it is the run's, and goes with it."""
        named = (one for one in self._scheduler.base_objects() if one["kind"] in _BASE_KINDS)
        await cleaner.create_missing(named)

    async def probe(self, clock: Clock) -> bool:
        """Whether somebody plays the kubelets of simulated nodes; NotApplicable where no scheduler looks at a job."""
        run_id = f"{self._run_id}-probe"
        name = f"kubedyno-probe-{self._run_id}"
        cleaner = Cleaner(self._client, run_id, clock)
        try:
            await installing.ensure_namespace(self._client, name, labels={RUN_LABEL: run_id})
            await cleaner.refuse_others_pool(name)
            await applying.apply(self._client, [apart.pool_of(pools.base(name, 1, gpus=1), run_id)])
            around = Surroundings(namespace=name, gpus=1, suffix=run_id)
            for document in self._scheduler.dialect.queues((Queue(name=name),), around):
                await cleaner.refuse_others(document)
                await installing.apply(self._client, labelled(document, run_id))
            await self._submit(name, run_id, clock)
            return await self._watch(name, clock)
        finally:
            await cleaner.clean()

    async def _submit(self, name: str, run_id: str, clock: Clock) -> None:
        shape = msgspec.structs.replace(training(gpus=1), name="probe", namespace=name, queue=name)
        job = apart.workload_of(shape, run_id)
        creator = Creator(self._client, clock)
        await creator.create([job], self._scheduler.dialect.objects, run_id=run_id, writers=1, over_s=None)

    async def _watch(self, namespace: str, clock: Clock) -> bool:
        """Look until the pod runs, or for long enough."""
        begun_ns, bound_ns = clock.monotonic_ns(), 0
        is_seen = False
        while True:
            found = (await self._client.list_all(PODS, namespace=namespace)).items
            now_ns = clock.monotonic_ns()
            is_seen = is_seen or any(map(_is_looked_at, found))
            if any((pod.get("status") or {}).get("phase") == "Running" for pod in found):
                return True
            if not bound_ns and any(pod["spec"].get("nodeName") for pod in found):
                bound_ns = now_ns
            if bound_ns and now_ns - bound_ns > PLAYED_WITHIN_S * NS_PER_S:
                return False
            if not bound_ns and now_ns - begun_ns > LOOKED_WITHIN_S * NS_PER_S:
                if is_seen:
                    return False
                raise NotApplicable(self._unseen(found))
            await clock.sleep(_LOOK_EVERY_S)

    def _unseen(self, pods: list[Object]) -> str:
        said = f"scheduler {self._scheduler.name} is not installed on the {self._where}, or does not work: "
        waited = f"within {LOOKED_WITHIN_S:g} s"
        if not pods:
            return f"{said}{waited} no pod was made for a job"
        scheduler_name = self._scheduler.dialect.scheduler_name
        return f"{said}{waited} nobody looked at a pod with schedulerName {scheduler_name}"

    async def _not_served(self, documents: Iterable[Object]) -> str | None:
        """The first of the kinds of these documents that the server does not have, in words."""
        for api_version, kind in dict.fromkeys((one["apiVersion"], one["kind"]) for one in documents):
            try:
                await self._client.list(await self._client.resource(api_version, kind), limit=1)
            except UnknownResource:
                return f"{kind} of {api_version}"
            except ApiError as error:
                if not error.is_not_found:
                    raise
                return f"{kind} of {api_version}"
        return None


def _is_looked_at(pod: Object) -> bool:
    """Whether a scheduler has said something of it, or bound it."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return bool(pod["spec"].get("nodeName")) or any(one["type"] == "PodScheduled" for one in conditions)
