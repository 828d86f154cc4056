"""Objects of the API as the reference scheduler reads them."""

from typing import Any

import pytest

from kubedyno.kube.codec import Object
from kubedyno.model.queues import Queue, Share
from kubedyno.model.workloads import Closeness, Group, Workload
from kubedyno.schedulers.dialects.kai import KAI as KAI_DIALECT
from kubedyno.schedulers.dialects.kube import KUBE
from kubedyno.schedulers.dialects.reference import REFERENCE
from kubedyno.schedulers.reference import reading
from kubedyno.schedulers.reference.fitting import GPU
from kubedyno.schedulers.reference.jobs import Subgroup
from kubedyno.schedulers.reference.reading import COSCHEDULING, KAI, NATIVE, POD

pytestmark = pytest.mark.unit

WHEN = "2026-01-01T00:00:00Z"


def stored(obj: Object, **metadata: Any) -> Object:
    """As the server would have it."""
    named = {"namespace": "default", "uid": f"uid-{obj['metadata']['name']}", "creationTimestamp": WHEN}
    return {**obj, "metadata": {**obj["metadata"], **named, **metadata}}


def pod(*, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    made = {
        "metadata": {"name": "p", "labels": labels or {}, "annotations": annotations or {}},
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [{"name": "c", "resources": {"requests": {GPU: "2"}}}],
            **spec,
        },
        "status": {"phase": "Pending"},
    }
    return stored(made)


@pytest.mark.parametrize(
    ("given", "job"),
    [
        (pod(), (POD, "default", "p")),
        (pod(schedulingGroup={"podGroupName": "g"}), (NATIVE, "default", "g")),
        (pod(annotations={"pod-group-name": "g"}), (KAI, "default", "g")),
        (pod(labels={"scheduling.x-k8s.io/pod-group": "g"}), (COSCHEDULING, "default", "g")),
        (
            pod(schedulingGroup={"podGroupName": "n"}, annotations={"pod-group-name": "k"}),
            (NATIVE, "default", "n"),
        ),
    ],
)
def test_the_job_of_a_pod(given: Object, job: tuple[str, str, str]) -> None:
    assert reading.pod_facts(given).job == job


@pytest.mark.parametrize(
    ("given", "priority", "preemptible"),
    [
        (pod(), 0, None),
        (pod(priority=7), 7, None),
        # In a queue without a class: as KAI has it.
        (pod(labels={"kai.scheduler/queue": "q"}, priority=0), 50, None),
        (pod(labels={"kai.scheduler/queue": "q"}, priority=125, priorityClassName="inference"), 125, None),
        (pod(labels={"kai.scheduler/preemptibility": "non-preemptible"}), 0, False),
        (pod(labels={"kai.scheduler/preemptibility": "preemptible"}, priority=200), 200, True),
    ],
)
def test_the_priority_of_a_pod(given: Object, priority: int, preemptible: bool | None) -> None:
    facts = reading.pod_facts(given)
    assert (facts.priority, facts.preemptible) == (priority, preemptible)


@pytest.mark.parametrize(
    ("given", "waits", "ours"),
    [
        (pod(), True, True),
        (pod(schedulerName="kubedyno"), True, True),
        (pod(schedulerName="other"), False, False),
        (pod(schedulingGates=[{"name": "g"}]), False, True),
        (pod(nodeName="n"), False, True),
        ({**pod(), "status": {"phase": "Succeeded"}}, False, True),
        (stored(pod(), deletionTimestamp=WHEN), False, True),
    ],
)
def test_who_waits_for_a_node(given: Object, waits: bool, ours: bool) -> None:
    facts = reading.pod_facts(given)
    assert (facts.is_waiting, facts.is_ours) == (waits, ours)


@pytest.mark.parametrize(
    ("annotations", "fraction", "memory"),
    [
        ({"gpu-fraction": "0.5"}, 500, 0),
        ({"gpu-fraction": "0.333"}, 333, 0),
        ({"gpu-fraction": "0.0001"}, 1, 0),
        ({"gpu-memory": "2000"}, 0, 2000),
        ({"gpu-fraction": "2"}, 0, 0),
        ({"gpu-fraction": "half"}, 0, 0),
        ({}, 0, 0),
    ],
)
def test_parts_of_gpus(annotations: dict[str, str], fraction: int, memory: int) -> None:
    needs = reading.pod_facts(pod(annotations=annotations)).needs
    assert (needs.fraction, needs.gpu_memory) == (fraction, memory)
    assert needs.gpus == 2000 + fraction


def test_a_group_as_the_dialect_writes_it() -> None:
    wish = Closeness(topology="t", required="rack", preferred="host")
    workload = Workload(name="g", pods=4, least=2, queue="q", priority="build", preemptible=True, closeness=wish)
    for dialect in (REFERENCE, KAI_DIALECT):
        group, *pods = dialect.objects(workload)
        facts = reading.kai_group(stored(group))
        assert facts.key == (KAI, "default", "g")
        assert (facts.queue, facts.priority_class, facts.preemptible) == ("q", "build", True)
        assert facts.groups == (Subgroup("", 2),)
        assert facts.closeness == wish
        read = reading.pod_facts(stored({**pods[0], "status": {"phase": "Pending"}}))
        assert (read.job, read.needs.gpus) == (facts.key, 1000)


def test_sub_groups_as_the_dialect_writes_them() -> None:
    wish = Closeness(topology="t", required="rack")
    parts = (Group(name="a", pods=3, least=2, closeness=wish), Group(name="b", pods=1))
    group, *pods = REFERENCE.objects(Workload(name="g", groups=parts))
    facts = reading.kai_group(stored(group))
    assert facts.groups == (Subgroup("a", 2, wish), Subgroup("b", 1))
    read = [reading.pod_facts(stored({**one, "status": {"phase": "Pending"}})).subgroup for one in pods]
    assert read == ["a", "a", "a", "b"]


def test_sub_groups_that_are_only_parents_have_no_pods() -> None:
    written = [{"name": "top"}, {"name": "leaf", "minMember": 2, "parent": "top"}]
    group = {"metadata": {"name": "g"}, "spec": {"subGroups": written}}
    assert reading.kai_group(stored(group)).groups == (Subgroup("leaf", 2),)


def test_a_native_group() -> None:
    group, *_ = KUBE.objects(Workload(name="g", pods=3, least=2, closeness=Closeness(topology="t", required="rack")))
    facts = reading.native_group(stored(group))
    assert (facts.key, facts.groups, facts.queue) == ((NATIVE, "default", "g"), (Subgroup("", 2),), None)
    assert facts.closeness == Closeness(topology="", required="rack")
    bare = {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"basic": {}}, "priority": 7}}
    facts = reading.native_group(stored(bare))
    assert (facts.groups, facts.priority, facts.closeness) == ((Subgroup("", 1),), 7, None)


def test_a_group_of_the_plugins() -> None:
    group = {"metadata": {"name": "g", "labels": {"kai.scheduler/queue": "q"}}, "spec": {"minMember": 3}}
    facts = reading.coscheduling_group(stored(group))
    assert (facts.key, facts.groups, facts.queue) == ((COSCHEDULING, "default", "g"), (Subgroup("", 3),), "q")


@pytest.mark.parametrize(
    "queue",
    [
        Queue(name="q"),
        Queue(name="q", parent="p", gpu=Share(quota=4, over_quota_weight=2, limit=8), priority=7),
        Queue(name="q", parent="p", cpu=Share(quota=0), memory=Share(limit=0)),
    ],
)
def test_queues_are_read_as_they_were_meant(queue: Queue) -> None:
    (written,) = REFERENCE.queues((queue,))
    read = reading.queue_of(written)
    assert read == Queue(
        name="q",
        parent=queue.parent or "default-parent-queue",
        gpu=queue.gpu,
        cpu=queue.cpu,
        memory=queue.memory,
        priority=queue.priority,
    )


def test_a_queue_that_says_nothing_has_no_limits() -> None:
    assert reading.queue_of({"metadata": {"name": "q"}}) == Queue(name="q")
    spec = {"resources": {"gpu": {"quota": 2}}, "priority": 0}
    assert reading.queue_of({"metadata": {"name": "q"}, "spec": spec}) == Queue(
        name="q", gpu=Share(quota=2, over_quota_weight=0), priority=0
    )


def test_the_levels_of_a_topology() -> None:
    topology = {"spec": {"levels": [{"nodeLabel": "zone"}, {"nodeLabel": "rack"}]}}
    assert reading.levels_of(topology) == ("zone", "rack")
    assert reading.levels_of({}) == ()
