"""Telling jobs why they wait: conditions of pods, conditions of KAI's PodGroups, events."""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Final

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.controllers.engine import all_of
from kubedyno.controllers.events import Recorder
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import KAI_POD_GROUPS, PODS
from kubedyno.schedulers.reference.jobs import JobKey, Refusal
from kubedyno.schedulers.reference.known import Known
from kubedyno.schedulers.reference.reading import KAI, GroupFacts, PodFacts

COMPONENT: Final = "kubedyno-scheduler"

_NUMBERS_AGAIN_AFTER_S: Final = 60.0
"""A reason of which only the numbers have changed is not told again before."""

NOT_READY: Final = "NotReady"
"""The reason of jobs that lack something which may still come: pods of a gang, its group, a volume."""
_MAY_COME_WITHIN_S: Final = 1.0
"""So long nobody is told of that. KAI looks once a second, and does not see what was lacking in between."""

_NUMBER: Final = re.compile(r"\d+")


class Telling:
    """Writes reasons, each once."""

    def __init__(
        self, client: Client, recorder: Recorder, known: Known, *, look_again: Callable[[float], None]
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._known = known
        self._told: dict[str, tuple[str, int]] = {}
        """By uid of a pod or group: what was said, and when (ns)."""
        self._transitions: dict[str, int] = {}
        self._look_again = look_again
        self._lacking_since_ns: dict[JobKey, int] = {}

    async def refuse(self, refusals: Iterable[Refusal]) -> None:
        """Tell all pods of these jobs that wait, and the groups that cannot start."""
        writes = []
        for refusal in self._due(list(refusals)):
            waiting = self._known.waiting_of(refusal.job)
            news = [pod for pod in waiting if self._is_news(pod.uid, refusal.message, before=pod.said)]
            writes += [partial(self._refuse_pod, pod, refusal.message) for pod in news]
            group = self._known.groups.get(refusal.job)
            if group is not None and self._is_stuck(refusal) and self._is_news(group.uid, refusal.message):
                writes.append(partial(self._refuse_group, group, refusal))
        await all_of(writes)

    def _due(self, refusals: Sequence[Refusal]) -> list[Refusal]:
        """Those that are to be told now; of the others another look will be taken."""
        lacking = {refusal.job for refusal in refusals if refusal.reason == NOT_READY}
        for key in [key for key in self._lacking_since_ns if key not in lacking]:
            del self._lacking_since_ns[key]
        now_ns = self._client.clock.monotonic_ns()
        for key in lacking:
            if key not in self._lacking_since_ns:
                self._lacking_since_ns[key] = now_ns
                self._look_again(1.1 * _MAY_COME_WITHIN_S)  # a timer may be a little early
        due_ns = now_ns - round(_MAY_COME_WITHIN_S * NS_PER_S)
        return [one for one in refusals if self._lacking_since_ns.get(one.job, due_ns) <= due_ns]

    async def clear(self, jobs: Iterable[JobKey]) -> None:
        """Groups that can start are not unschedulable any more."""
        groups = [group for key in jobs if (group := self._known.groups.get(key)) is not None]
        told = [one for one in groups if one.key[0] == KAI and (one.has_condition or one.uid in self._told)]
        await all_of([partial(self._clear_group, group) for group in told])

    def forget(self, uid: str) -> None:
        """A pod waits no longer."""
        self._told.pop(uid, None)

    def scheduled(self, pod: PodFacts, node: str) -> None:
        """Tell that a pod has its node."""
        said = f"Successfully assigned {'/'.join(pod.key)} to {node}"
        self._recorder.record(COMPONENT, pod_reference(pod), "Normal", "Scheduled", said)

    def _is_stuck(self, refusal: Refusal) -> bool:
        """Whether a group of KAI's has less than it must have: what it wants beyond that is no trouble of its own."""
        job = self._known.books.jobs.get(refusal.job)
        is_short = job is not None and len(job.running) < job.least
        return is_short and refusal.job[0] == KAI and refusal.reason != NOT_READY

    def _is_news(self, uid: str, message: str, *, before: str = "") -> bool:
        said, when_ns = self._told.get(uid, (before, 0))
        now_ns = self._client.clock.monotonic_ns()
        is_recent = uid in self._told and now_ns - when_ns < _NUMBERS_AGAIN_AFTER_S * NS_PER_S
        if said == message or (is_recent and _NUMBER.sub("", said) == _NUMBER.sub("", message)):
            return False
        self._told[uid] = (message, now_ns)
        return True

    async def _refuse_pod(self, pod: PodFacts, message: str) -> None:
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": seconds_text(self._client.clock.wall_ns()),
        }
        patch = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
        await _patched(
            self._client.patch(PODS, pod.key[1], patch, kind="strategic", namespace=pod.key[0], subresource="status")
        )
        self._recorder.record(COMPONENT, pod_reference(pod), "Warning", "FailedScheduling", message)

    async def _refuse_group(self, group: GroupFacts, refusal: Refusal) -> None:
        number = self._transitions[group.uid] = self._transitions.get(group.uid, 0) + 1
        condition = {
            "type": "UnschedulableOnNodePool",
            "status": "True",
            "nodePool": "default",
            "reason": "Unschedulable",
            "message": refusal.message,
            "reasons": [{"reason": refusal.reason, "message": refusal.message}],
            "transitionID": str(number),
            "lastTransitionTime": seconds_text(self._client.clock.wall_ns()),
        }
        await self._patch_group(group, [condition])
        self._recorder.record(COMPONENT, group_reference(group), "Normal", "Unschedulable", refusal.message)

    async def _clear_group(self, group: GroupFacts) -> None:
        self._told.pop(group.uid, None)
        await self._patch_group(group, [])

    async def _patch_group(self, group: GroupFacts, conditions: list[Object]) -> None:
        patch = {"metadata": {"uid": group.uid}, "status": {"schedulingConditions": conditions}}
        _, namespace, name = group.key
        await _patched(
            self._client.patch(KAI_POD_GROUPS, name, patch, kind="merge", namespace=namespace, subresource="status")
        )


def pod_reference(pod: PodFacts) -> Object:
    """As much of a pod as an event needs."""
    namespace, name = pod.key
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": name, "uid": pod.uid}}


def group_reference(group: GroupFacts) -> Object:
    """As much of a group as an event needs."""
    _, namespace, name = group.key
    metadata = {"namespace": namespace, "name": name, "uid": group.uid}
    return {"apiVersion": group.api_version, "kind": "PodGroup", "metadata": metadata}


async def _patched(write: Awaitable[Object]) -> None:
    """What is gone, or is another of the same name by now, needs no telling."""
    try:
        await write
    except ApiError as error:
        if not (error.is_not_found or error.is_conflict):
            raise
