"""Why pods wait: read from their conditions, from those of what groups or queues them, and from warnings about them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kit.clock import parse_rfc3339_ns
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CORE_EVENTS, PODS, Resource
from kubedyno.lab.standing import Goal
from kubedyno.model.keys import GROUP_ANNOTATION, WORKLOAD_LABEL
from kubedyno.model.lifecycles import Followed

SHOWN: Final = 5
"""So many objects are named."""
NOT_LOOKED_AT: Final = "no condition and no event: the scheduler has not looked at it"

_LONGEST: Final = 300
_WAITS: Final = frozenset({("PodGroupScheduled", "False"), ("QuotaReserved", "False"), ("Evicted", "True")})
"""Conditions of PodGroups and of Kueue's Workloads that tell why something waits."""


class Gathered:
    """What the API says of the pods of some workloads."""

    def __init__(self, pods: Iterable[Object], groups: Iterable[Object], events: Iterable[Object]) -> None:
        self.pods: dict[str, list[Object]] = {}
        for pod in pods:
            self.pods.setdefault(meta.labels(pod).get(WORKLOAD_LABEL) or "", []).append(pod)
        self._groups: dict[str, list[Object]] = {}
        for group in groups:
            for name in {group["metadata"]["name"], meta.labels(group).get(WORKLOAD_LABEL)} - {None}:
                self._groups.setdefault(name or "", []).append(group)
        self._warnings: dict[str, Object] = {}
        for event in sorted(events, key=_event_ns):
            self._warnings[(event.get("involvedObject") or {}).get("uid") or ""] = event

    def why_pod(self, pod: Object) -> str:
        """Why a pod waits."""
        named = meta.annotations(pod).get(GROUP_ANNOTATION), meta.labels(pod).get(WORKLOAD_LABEL)
        groups = [group for name in dict.fromkeys(named) if name for group in self._groups.get(name, ())]
        return self._told([pod, *groups], _of_pod(pod))

    def why_workload(self, workload: str) -> str:
        """Why a workload without pods waits."""
        return self._told(self._groups.get(workload, ()), ())

    def _told(self, objects: Sequence[Object], first: Iterable[str]) -> str:
        told = list(first)
        for obj in objects:
            told += _of_group(obj)
        for obj in objects:
            event = self._warnings.get(obj["metadata"]["uid"])
            if event is not None:
                told.append(f"event {event.get('reason')}: {event.get('message')}")
        return _short("; ".join(dict.fromkeys(filter(None, told)))) or NOT_LOOKED_AT


async def gather(client: Client, namespace: str, kinds: Sequence[Followed]) -> Gathered:
    """Read what there is to know of the pods of a namespace."""
    groups: list[Object] = []
    for followed in kinds:
        if followed.role in {"podgroup", "workload"}:
            groups += await _listed(client, followed.resource, namespace)
    pods = await _listed(client, PODS, namespace)
    return Gathered(pods, groups, await _listed(client, CORE_EVENTS, namespace, field_selector="type=Warning"))


async def _listed(client: Client, resource: Resource, namespace: str, **options: Any) -> list[Object]:
    try:
        return (await client.list_all(resource, namespace=namespace, **options)).items
    except ApiError as error:
        if error.is_not_found:
            return []
        raise


def late(gathered: Gathered, goal: Goal, missing: Mapping[str, int]) -> list[tuple[str, str]]:
    """Objects that have not reached the goal, and why: `missing` says how many pods of which workloads.

    Of a workload whose pods are not there, the workload itself.
    """
    found: list[tuple[str, str]] = []
    for workload, number in missing.items():
        pods = [pod for pod in gathered.pods.get(workload, ()) if not _has_reached(pod, goal)][:number]
        found += [(f"pod {pod['metadata']['name']}", gathered.why_pod(pod)) for pod in pods]
        absent = number - len(pods)
        if absent > 0 and goal not in {"unschedulable", "gone"}:
            told = gathered.why_workload(workload)
            why = "" if told == NOT_LOOKED_AT else f"; {told}"
            found.append((f"workload {workload}", f"{_pods(absent)} not there{why}"))
        elif not pods:
            found.append((f"workload {workload}", gathered.why_workload(workload)))
    return found


def sentences(found: Sequence[tuple[str, str]]) -> str:
    """Up to five objects with their reasons, a line each; objects that wait for the same reason share a line."""
    by_reason: dict[str, list[str]] = {}
    for name, why in found:
        by_reason.setdefault(why, []).append(name)
    lines = []
    left = SHOWN
    for why, names in by_reason.items():
        if left <= 0:
            break
        shown, left = names[:left], left - len(names)
        more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
        lines.append(f"\n  {', '.join(shown)}{more}: {why}")
    if len(lines) < len(by_reason):
        lines.append(f"\n  and others, for {len(by_reason) - len(lines)} other reasons")
    return "".join(lines)


def _pods(number: int) -> str:
    return "1 of its pods is" if number == 1 else f"{number} of its pods are"


def _has_reached(pod: Object, goal: Goal) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    if phase == "Succeeded" or goal == "created":
        return True
    if goal == "scheduled":
        return bool(pod["spec"].get("nodeName")) and phase != "Failed"
    return goal == "running" and phase == "Running"


def _of_pod(pod: Object) -> Iterable[str]:
    node = pod["spec"].get("nodeName")
    status = pod.get("status") or {}
    if node:
        yield f"{status.get('phase')} on node {node}" + (f": {status['reason']}" if status.get("reason") else "")
    condition = meta.condition(pod, "PodScheduled")
    if condition and condition.get("status") != "True":
        yield condition.get("message") or condition.get("reason") or ""


def _of_group(obj: Object) -> Iterable[str]:
    status = obj.get("status") or {}
    for condition in status.get("schedulingConditions") or ():  # KAI's
        if condition.get("status") == "True":
            reasons = [reason.get("message") or "" for reason in condition.get("reasons") or ()]
            yield from filter(None, reasons) if any(reasons) else (condition.get("message") or "",)
    for condition in status.get("conditions") or ():
        if (condition.get("type"), condition.get("status")) in _WAITS:
            yield condition.get("message") or condition.get("reason") or ""


def _event_ns(event: Object) -> int:
    stamp = event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp")
    return parse_rfc3339_ns(stamp) if stamp else 0


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= _LONGEST else f"{one_line[:_LONGEST]}..."
