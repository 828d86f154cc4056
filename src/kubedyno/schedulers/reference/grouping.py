"""Jobs made of the pods and groups that are known. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from kubedyno.schedulers.reference.jobs import Job, Subgroup, Task
from kubedyno.schedulers.reference.reading import KAI, USUAL_PRIORITY, GroupFacts, PodFacts, is_preemptible

_ALONE: Final = (Subgroup("", 1),)


def single_job(pod: PodFacts, assumed: str | None, *, is_held_back: bool) -> Job | None:
    """The job that a pod without a group is; None: there is nothing to decide about it.

    `assumed` is the node that it has been given, of which the API does not know yet.
    """
    node = pod.node or assumed
    if pod.is_going or not (node or (pod.is_waiting and not is_held_back)):
        return None
    task = (Task(pod.key, pod.uid, pod.needs, "", node, pod.claims),)
    return Job(
        key=pod.job,
        queue=pod.queue,
        priority=pod.priority,
        preemptible=is_preemptible(pod.priority) if pod.preemptible is None else pod.preemptible,
        created=pod.created,
        groups=_ALONE,
        pending=() if node else task,
        running=task if node else (),
    )


def gang_job(
    facts: GroupFacts,
    pods: Sequence[PodFacts],
    assumed: Mapping[str, str],
    *,
    held_back: Collection[str],
    priority: int,
) -> Job | None:
    """The job of a group and its pods, oldest first; None: there is nothing to decide about it.

    `assumed` are nodes by uid of the pod; `held_back` uids of pods that cannot be placed yet.
    """
    groups = _without_finished(facts.groups, pods)
    names = {group.name for group in groups}
    staying = [pod for pod in pods if not pod.is_finished and not pod.is_going]
    waiting = {pod.uid for pod in staying if pod.is_waiting and pod.uid not in held_back}
    tasks = [_task(pod, assumed.get(pod.uid), names) for pod in staying]
    running = tuple(task for task in tasks if task.node is not None)
    pending = tuple(task for task in tasks if task.node is None and task.uid in waiting)
    if not (running or pending):
        return None
    return Job(
        key=facts.key,
        queue=facts.queue,
        priority=priority,
        preemptible=is_preemptible(priority) if facts.preemptible is None else facts.preemptible,
        created=facts.created,
        groups=groups,
        pending=pending,
        running=running,
        closeness=facts.closeness,
    )


def priority_of(facts: GroupFacts, pods: Iterable[PodFacts], classes: Mapping[str, int]) -> int:
    """The priority of a group: its own, that of its class, or that of its pods; `classes` are values by name."""
    if facts.priority is not None:
        return facts.priority
    if facts.priority_class in classes:
        return classes[facts.priority_class]
    if facts.key[0] == KAI:
        return USUAL_PRIORITY
    return max((pod.priority for pod in pods), default=0)


def is_broken(job: Job) -> bool:
    """Whether some of a gang run, but fewer than must."""
    counts = Counter(task.group for task in job.running)
    return bool(job.running) and any(counts[group.name] < group.least for group in job.groups)


def _task(pod: PodFacts, assumed: str | None, names: Collection[str]) -> Task:
    """Where a job has one part only, all its pods are of it."""
    group = next(iter(names)) if len(names) == 1 else pod.subgroup
    return Task(pod.key, pod.uid, pod.needs, group, pod.node or assumed, pod.claims)


def _without_finished(groups: tuple[Subgroup, ...], pods: Sequence[PodFacts]) -> tuple[Subgroup, ...]:
    """A gang of which some have done their work needs as many less."""
    done = Counter(pod.subgroup if len(groups) > 1 else groups[0].name for pod in pods if pod.has_succeeded)
    if not done:
        return groups
    return tuple(msgspec.structs.replace(group, least=max(0, group.least - done[group.name])) for group in groups)
