"""Evicting pods: their condition, an event for their group, their deletion."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.controllers.engine import all_of
from kubedyno.controllers.events import Recorder
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kube.resources import PODS
from kubedyno.schedulers.reference.jobs import Eviction, JobKey
from kubedyno.schedulers.reference.known import Known
from kubedyno.schedulers.reference.reading import PodFacts
from kubedyno.schedulers.reference.telling import COMPONENT, group_reference, pod_reference

_WHY: Final = {
    "consolidation": "moved to make room for {by}",
    "reclaim": "reclaimed for {by}, whose queue is below its share",
    "preempt": "preempted by higher priority workload {by}",
    "stalegangeviction": "evicted because too few pods of its pod group run",
}


class Evicting:
    """Carries out evictions."""

    def __init__(self, client: Client, recorder: Recorder, known: Known) -> None:
        self._client = client
        self._recorder = recorder
        self._known = known

    async def evict(self, evictions: Sequence[Eviction]) -> None:
        """Evict pods side by side; one that only had its room reserved waits again instead."""
        writes, leaving = [], []
        counts = Counter((one.action, one.by) for one in evictions)
        for eviction in evictions:
            pod = self._known.pods.get(eviction.task.key)
            if pod is None or pod.uid != eviction.task.uid:
                continue
            if pod.uid in self._known.assumed:
                self._known.forget(pod)
                continue
            self._known.leaves(pod)
            self._tell(eviction, pod, counts[eviction.action, eviction.by])
            leaving.append(pod)
            writes.append(partial(self._delete, eviction, pod))
        for pod, failure in zip(leaving, await all_of(writes), strict=True):
            if failure is not None:
                self._known.stays(pod)

    def _tell(self, eviction: Eviction, pod: PodFacts, count: int) -> None:
        group = self._known.groups.get(eviction.job)
        about = group_reference(group) if group is not None else pod_reference(pod)
        annotations = {"evictor-action-type": eviction.action, "num-evicted-pods": str(count)}
        if eviction.by is not None:
            annotations |= {"evictor-pod-group-namespace": eviction.by[1], "evictor-pod-group-name": eviction.by[2]}
        said = f"Pod {'/'.join(pod.key)} was {_why(eviction)}"
        self._recorder.record(COMPONENT, about, "Normal", "Evict", said, annotations=annotations)

    async def _delete(self, eviction: Eviction, pod: PodFacts) -> None:
        namespace, name = pod.key
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{COMPONENT}: {_why(eviction)}",
            "lastTransitionTime": seconds_text(self._client.clock.wall_ns()),
        }
        patch = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
        try:
            await self._client.patch(PODS, name, patch, kind="strategic", namespace=namespace, subresource="status")
            await self._client.delete(PODS, name, namespace=namespace, uid=pod.uid)
        except ApiError as error:
            # Gone, or another of the same name by now: then it left.
            if not (error.is_not_found or error.is_conflict):
                raise


def _why(eviction: Eviction) -> str:
    return _WHY[eviction.action].format(by=_named(eviction.by))


def _named(job: JobKey | None) -> str:
    return "another" if job is None else f"{job[1]}/{job[2]}"
