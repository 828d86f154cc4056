"""For each rule a scheduler that breaks it and no other, and one that comes close and breaks none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clusters_told import BEGAN_NS, NAMESPACE, Told

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.resources import CORE_EVENTS, NODES, PODS, RESOURCE_CLAIMS
from kubedyno.measure.invariants.table import RULES
from kubedyno.measure.invariants.watching import MOST_PER_RULE, Watchdog

pytestmark = pytest.mark.unit

Story = Callable[[Told], None]


def nodes(told: Told, count: int = 2, **how: Any) -> None:
    for number in range(count):
        told.node(f"n{number}", **how)
    told.sleep(10)


def queues(told: Told, **quotas: float) -> None:
    told.queue("root", parent=None)
    for name, quota in quotas.items():
        told.queue(name, quota=quota)


# Over-commit


def nine_gpus_on_eight(told: Told) -> None:
    nodes(told)
    for number in range(9):
        told.place(f"a-{number}", "n0")


def too_much_cpu(told: Told) -> None:
    nodes(told)
    told.place("a", "n0", gpus=0, cpu="20")
    told.place("b", "n0", gpus=0, cpu="12500m")


def too_many_pods(told: Told) -> None:
    nodes(told)
    for number in range(111):
        told.place(f"a-{number}", "n0", gpus=0, cpu="1m")


def a_resource_that_the_node_lacks(told: Told) -> None:
    nodes(told, gpus=0)
    told.place("a", "n0", gpus=1)


def on_a_terminating_pods_place(told: Told) -> None:
    nodes(told)
    told.place("a", "n0", gpus=8)
    told.excuse("a")
    told.terminate("a")
    told.place("b", "n0", gpus=1)
    told.delete(PODS, "a")


def init_containers_that_need_more(told: Told) -> None:
    nodes(told)
    starting = [{"name": "init", "resources": {"requests": {"cpu": "33"}}}]
    told.place("a", "n0", gpus=0, initContainers=starting)


# Shared GPUs


def share(told: Told, name: str, node: str, *, group: str, fraction: str = "0.5") -> None:
    how = {"annotations": {"gpu-fraction": fraction}, "labels": {"runai-gpu-group": group}}
    told.place(name, node, gpus=0, metadata=how)


def three_halves_of_a_gpu(told: Told) -> None:
    nodes(told)
    for name in "abc":
        share(told, name, "n0", group="g")


def a_ninth_gpu_that_is_shared(told: Told) -> None:
    nodes(told)
    told.place("whole", "n0", gpus=8)
    share(told, "a", "n0", group="g")


def three_halves_as_told_later(told: Told) -> None:
    nodes(told)
    share(told, "a", "n0", group="g", fraction="0.7")
    told.place("b", "n0", gpus=0, metadata={"annotations": {"gpu-fraction": "0.7"}})
    told.change(PODS, "b", metadata={"labels": {"runai-gpu-group": "g"}})


def nine_reservations(told: Told) -> None:
    nodes(told)
    for number in range(9):
        told.pod(
            f"r-{number}", metadata={"labels": {"app": "kai-resource-reservation"}, "namespace": "kai"}, nodeName="n0"
        )


# Devices


def one_device_for_two(told: Told) -> None:
    told.claim("a", "gpu-0", "gpu-1")
    told.claim("b", "gpu-1")


# Gangs


def two_of_three_for_good(told: Told) -> None:
    nodes(told)
    told.group("g", 3)
    for number in range(3):
        told.pod(f"g-{number}", group="g")
    told.bind("g-0", "n0")
    told.bind("g-1", "n0")
    told.sleep(120)


def a_gang_that_lost_one_for_good(told: Told) -> None:
    nodes(told)
    told.group("g", 2)
    told.group("high", 1, priorityClassName="build-preemptible")
    for number in range(2):
        told.place(f"g-{number}", "n0", group="g")
    told.delete(PODS, "g-0")
    told.tell_eviction("g", by="high", action="preempt")
    told.sleep(120)


def a_sub_group_too_small(told: Told) -> None:
    nodes(told)
    told.group("g", 3, subGroups=[{"name": "prefill", "minMember": 1}, {"name": "decode", "minMember": 2}])
    for number in range(3):
        told.place(f"g-{number}", "n0", group="g", metadata={"labels": {"kai.scheduler/subgroup-name": "prefill"}})
    told.sleep(120)


def half_of_a_native_gang(told: Told) -> None:
    nodes(told)
    told.native_group("g", 2)
    told.place("g-0", "n0", schedulingGroup={"podGroupName": "g"})
    told.sleep(120)


def half_of_a_coscheduled_gang(told: Told) -> None:
    nodes(told)
    told.coscheduling_group("g", 2)
    told.place("g-0", "n0", metadata={"labels": {"scheduling.x-k8s.io/pod-group": "g"}})
    told.sleep(120)


def half_of_a_native_gang_is_preempted(told: Told) -> None:
    native_gang_shrinks(told, "PodGroup", is_evicted=True)


# Queues


def beyond_the_limit(told: Told) -> None:
    nodes(told)
    queues(told)
    told.queue("team", limit=4)
    for number in range(5):
        told.place(f"a-{number}", "n0", metadata={"labels": {"kai.scheduler/queue": "team"}})


def beyond_the_limit_of_a_parent(told: Told) -> None:
    nodes(told)
    queues(told)
    told.queue("department", limit=4)
    told.queue("one", parent="department")
    told.queue("two", parent="department")
    told.place("a", "n0", gpus=3, metadata={"labels": {"kai.scheduler/queue": "one"}})
    told.place("b", "n1", gpus=2, metadata={"labels": {"kai.scheduler/queue": "two"}})


def fixed_beyond_the_quota(told: Told) -> None:
    nodes(told)
    queues(told, team=4)
    told.group("g", 1, priorityClassName="build")
    for number in range(5):
        told.place(f"g-{number}", "n0", group="g")


# Topology


def racks(told: Told, **more: Any) -> None:
    told.topology("t", "zone", "rack")
    for number in range(4):
        told.node(f"n{number}", labels={"zone": f"z{number // 2}", "rack": f"r{number % 2}"}, **more)
    told.sleep(10)


def in_two_racks_of_one_name(told: Told) -> None:
    racks(told)
    told.group("g", 2, topologyConstraint={"topology": "t", "requiredTopologyLevel": "rack"})
    told.place("g-0", "n0", group="g")
    told.place("g-1", "n2", group="g")


def a_sub_group_in_two_racks(told: Told) -> None:
    racks(told)
    parts = [
        {"name": "decode", "minMember": 2, "topologyConstraint": {"topology": "t", "requiredTopologyLevel": "rack"}}
    ]
    told.group("g", 2, subGroups=parts)
    for number in range(2):
        how = {"labels": {"kai.scheduler/subgroup-name": "decode"}}
        told.place(f"g-{number}", f"n{number}", group="g", metadata=how)


def a_native_gang_in_two_racks(told: Told) -> None:
    racks(told)
    told.native_group("g", 2, schedulingConstraints={"topology": [{"key": "rack"}]})
    told.place("g-0", "n0", schedulingGroup={"podGroupName": "g"})
    told.place("g-1", "n1", schedulingGroup={"podGroupName": "g"})


def outside_of_all_racks(told: Told) -> None:
    nodes(told)
    told.group("g", 1, topologyConstraint={"topology": "t", "requiredTopologyLevel": "rack"})
    told.place("g-0", "n0", group="g")


# Taints, selectors, affinity


def on_a_tainted_node(told: Told) -> None:
    nodes(told, taints=[{"key": "maintenance", "effect": "NoSchedule"}])
    told.place("a", "n0")


def against_its_selector(told: Told) -> None:
    nodes(told, labels={"gpu": "a100"})
    told.place("a", "n0", nodeSelector={"gpu": "h100"})


def against_its_affinity(told: Told) -> None:
    nodes(told, labels={"gpu": "a100"})
    term = {"matchExpressions": [{"key": "gpu", "operator": "NotIn", "values": ["a100"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    told.place("a", "n0", affinity={"nodeAffinity": required})


# Absent nodes


def on_a_node_that_is_gone(told: Told) -> None:
    nodes(told)
    told.delete(NODES, "n0")
    told.sleep(5)
    told.place("a", "n0")


def on_a_node_that_never_was(told: Told) -> None:
    nodes(told)
    told.place("a", "n7")


def on_a_cordoned_node(told: Told) -> None:
    nodes(told)
    taints = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    told.change(NODES, "n0", spec={"unschedulable": True, "taints": taints})
    told.sleep(5)
    told.place("a", "n0")


# Bindings


def moved_to_another_node(told: Told) -> None:
    nodes(told)
    told.place("a", "n0")
    told.bind("a", "n1")


def gone_without_a_word(told: Told) -> None:
    nodes(told)
    told.place("a", "n0")
    told.delete(PODS, "a")


def waiting_and_gone_without_a_word(told: Told) -> None:
    nodes(told)
    told.pod("a")
    told.delete(PODS, "a")


def accepted_and_never_seen(told: Told) -> None:
    nodes(told)
    told.place("a", "n0")
    told.watched.accepted([("ns", "a"), ("ns", "b")])


# Victims


def evicted(told: Told, victim: str, *, by: str, action: str) -> None:
    told.terminate(f"{victim}-0")
    told.tell_eviction(victim, by=by, action=action)
    told.delete(PODS, f"{victim}-0")


def a_fixed_victim(told: Told) -> None:
    nodes(told)
    queues(told, team=8, other=8)
    told.group("low", 1, priorityClassName="build")
    told.place("low-0", "n0", group="low")
    told.group("high", 1, priorityClassName="inference")
    evicted(told, "low", by="high", action="preempt")


def a_victim_within_its_quota(told: Told) -> None:
    nodes(told)
    queues(told, team=2, other=8)
    told.group("low", 1)
    told.place("low-0", "n0", group="low", gpus=2)
    told.group("high", 1, queue="other")
    evicted(told, "low", by="high", action="reclaim")


def a_victim_of_its_equal(told: Told) -> None:
    nodes(told)
    queues(told, team=2)
    told.group("low", 1)
    told.place("low-0", "n0", group="low", gpus=4)
    told.group("high", 1)
    evicted(told, "low", by="high", action="preempt")


def a_victim_of_a_lesser_pod(told: Told) -> None:
    nodes(told)
    told.place("low-0", "n0", priority=10)
    told.pod("high-0", priority=10)
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    told.change(PODS, "low-0", status={"conditions": [condition]})
    told.make(
        CORE_EVENTS,
        "e",
        reason="Preempted",
        message=f"Preempted by pod {told.get(PODS, 'high-0')['metadata']['uid']} on node n0",
        involvedObject={
            "kind": "Pod",
            "namespace": "ns",
            "name": "low-0",
            "uid": told.get(PODS, "low-0")["metadata"]["uid"],
        },
    )
    told.delete(PODS, "low-0")


CROOKED: dict[Story, tuple[str, str]] = {
    nine_gpus_on_eight: (
        "over-commit",
        "node n0: 9 GPUs bound, 8 allocatable: pods a-0, a-1, a-2, a-3, a-4, a-5, a-6, a-7, a-8",
    ),
    too_much_cpu: ("over-commit", "node n0: 32.5 CPUs bound, 32 allocatable: pods a, b"),
    too_many_pods: ("over-commit", "node n0: 111 pods bound, 110 allocatable: pods a-0, a-1, a-10"),
    a_resource_that_the_node_lacks: ("over-commit", "node n0: 1 GPUs bound, 0 allocatable: pods a"),
    on_a_terminating_pods_place: ("over-commit", "node n0: 9 GPUs bound, 8 allocatable: pods a, b"),
    init_containers_that_need_more: ("over-commit", "node n0: 33 CPUs bound, 32 allocatable: pods a"),
    three_halves_of_a_gpu: (
        "shared GPU over-committed",
        "node n0: 1.5 of one GPU given out, group g: pods a (0.5), b (0.5), c (0.5)",
    ),
    a_ninth_gpu_that_is_shared: (
        "shared GPU over-committed",
        "node n0: 8 GPUs reserved or bound and 1 more shared, 8 allocatable: pods a, whole",
    ),
    three_halves_as_told_later: (
        "shared GPU over-committed",
        "node n0: 1.4 of one GPU given out, group g: pods a (0.7), b (0.7)",
    ),
    nine_reservations: (
        "shared GPU over-committed",
        "node n0: 9 GPUs reserved or bound and 0 more shared, 8 allocatable: pods r-0, r-1",
    ),
    one_device_for_two: (
        "device given twice",
        "device gpu-1 of pool pool (driver gpu.example.com) is allocated to 2 claims: ns/a, ns/b",
    ),
    two_of_three_for_good: (
        "partial gang",
        "for 135 s 2 of the gang's pods held nodes where 3 must, and nothing more was bound",
    ),
    a_gang_that_lost_one_for_good: (
        "partial gang",
        "for 135 s 1 of the gang's pods held nodes where 2 must, after enough of them had",
    ),
    a_sub_group_too_small: (
        "partial gang",
        "too few of a part of the gang's pods held nodes: 0 of 2 in decode, 3 of 1 in prefill",
    ),
    half_of_a_native_gang: ("partial gang", "1 of the gang's pods held nodes where 2 must"),
    half_of_a_native_gang_is_preempted: (
        "partial gang",
        "1 of the gang's pods held nodes where 2 must, after enough of them had",
    ),
    half_of_a_coscheduled_gang: ("partial gang", "1 of the gang's pods held nodes where 2 must"),
    beyond_the_limit: ("queue limit", "queue team: 5 GPUs held, limit 4, once pod a-4 was bound"),
    beyond_the_limit_of_a_parent: ("queue limit", "queue department: 5 GPUs held, limit 4, once pod b was bound"),
    fixed_beyond_the_quota: (
        "non-preemptible over quota",
        "queue team: 5 GPUs held by non-preemptible pods, quota 4, once pod g-4 was bound",
    ),
    in_two_racks_of_one_name: (
        "required topology",
        "pods are in 2 domains of rack, where one is required: 1 in z0/r0, 1 in z1/r0",
    ),
    a_sub_group_in_two_racks: ("required topology", "pods are in 2 domains of rack"),
    a_native_gang_in_two_racks: ("required topology", "pods are in 2 domains of rack"),
    outside_of_all_racks: ("required topology", "pod g-0 is on node n0, which has no label rack"),
    on_a_tainted_node: (
        "taint, selector or affinity ignored",
        "node n0 has the taint maintenance=:NoSchedule, which the pod does not tolerate",
    ),
    against_its_selector: (
        "taint, selector or affinity ignored",
        "the pod selects nodes with gpu=h100, node n0 has gpu=a100",
    ),
    against_its_affinity: (
        "taint, selector or affinity ignored",
        "the required affinity of the pod does not match node n0, which has gpu=a100",
    ),
    on_a_node_that_is_gone: ("bound to an absent node", "node n0 was gone when the pod was bound"),
    on_a_node_that_never_was: ("bound to an absent node", "node n7 was never there when the pod was bound"),
    on_a_cordoned_node: (
        "bound to an absent node",
        "node n0 was cordoned (spec.unschedulable) when the pod was bound",
    ),
    moved_to_another_node: ("bound twice", "the pod was bound to node n0 and is now on node n1"),
    gone_without_a_word: ("pod lost", "the pod on node n0 (Running) vanished"),
    waiting_and_gone_without_a_word: ("pod lost", "the pod that waited for a node (Pending) vanished"),
    accepted_and_never_seen: ("pod lost", "the API accepted the pod, and no watch has ever shown it"),
    a_fixed_victim: (
        "victim with a right to stay",
        "the pod was evicted for ns/high (preempt): it is not preemptible, its priority is 100",
    ),
    a_victim_within_its_quota: (
        "victim with a right to stay",
        "the pod was evicted for ns/high (reclaim): queue team had 2 GPUs of 2 deserved and was not beyond that",
    ),
    a_victim_of_its_equal: (
        "victim with a right to stay",
        "the pod was evicted for ns/high (preempt): its priority is 50, that of its evictor 50",
    ),
    a_victim_of_a_lesser_pod: (
        "victim with a right to stay",
        "its priority is 10, that of its evictor 10",
    ),
}


@pytest.mark.parametrize("story", CROOKED, ids=lambda story: story.__name__)
def test_a_broken_rule_is_told_with_its_evidence_and_no_other(story: Story) -> None:
    told = Told()
    story(told)
    name, evidence = CROOKED[story]
    assert told.end(after_s=15) == [name]
    violation = told.watched.violations()[0]
    assert evidence in violation.evidence
    assert BEGAN_NS <= violation.at_ns <= told.now_ns
    assert violation.object.split()[0] in {"Pod", "PodGroup", "PodGroup,", "Queue", "ResourceClaim"}


def test_every_rule_has_a_scheduler_that_breaks_it() -> None:
    assert {name for name, _ in CROOKED.values()} == {rule.name for rule in RULES}
    assert all(rule.meaning.endswith(".") for rule in RULES)


# Those who come close


def a_full_node(told: Told) -> None:
    nodes(told)
    for number in range(8):
        told.place(f"a-{number}", "n0")


def a_place_that_became_free(told: Told) -> None:
    nodes(told)
    told.place("a", "n0", gpus=8)
    told.change(PODS, "a", status={"phase": "Succeeded"})
    told.place("b", "n0", gpus=8)
    told.excuse("b")
    told.delete(PODS, "b")
    told.place("c", "n0", gpus=8)


def a_resource_that_devices_stand_for(told: Told) -> None:
    nodes(told, gpus=0)
    told.pod("a", gpus=1)
    mapping = {"containerName": "main", "resourceName": "nvidia.com/gpu", "requestName": "container-0-request-0"}
    extended = {"resourceClaimName": "a-extended-resources-0", "requestMappings": [mapping]}
    told.change(PODS, "a", status={"extendedResourceClaimStatus": extended})
    told.bind("a", "n0")


def a_node_that_shrinks_as_a_pod_is_bound(told: Told) -> None:
    nodes(told)
    told.place("a", "n0", gpus=4)
    told.pod("b", gpus=4)
    told.change(
        NODES, "n0", status={"allocatable": {"cpu": "32", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "4"}}
    )
    told.sleep(0.5)
    told.bind("b", "n0")


def two_halves_of_each_gpu(told: Told) -> None:
    nodes(told)
    for number in range(4):
        share(told, f"a-{number}", "n0", group=f"g{number // 2}")


def reserved_and_shared(told: Told) -> None:
    nodes(told)
    told.place("whole", "n0", gpus=7)
    labels = {"app": "kai-resource-reservation", "runai-gpu-group": "g"}
    told.pod("r", metadata={"labels": labels, "namespace": "kai"}, nodeName="n0")
    for name in "ab":
        share(told, name, "n0", group="g")


def a_device_given_back(told: Told) -> None:
    told.claim("a", "gpu-0")
    told.change(RESOURCE_CLAIMS, "a", status={"allocation": {}})
    told.claim("b", "gpu-0")
    told.delete(RESOURCE_CLAIMS, "b")
    told.claim("c", "gpu-0")


def a_gang_that_is_bound_slowly(told: Told) -> None:
    nodes(told)
    told.group("g", 8)
    for number in range(8):
        told.sleep(50)
        told.place(f"g-{number}", "n0", group="g")


def an_elastic_gang(told: Told) -> None:
    nodes(told)
    told.group("g", 2)
    for number in range(6):
        told.place(f"g-{number}", "n0", group="g")
    for number in range(4):
        told.excuse("g")
        told.delete(PODS, f"g-{number}")
    told.sleep(200)


def a_gang_that_ends_one_by_one(told: Told) -> None:
    nodes(told)
    told.group("g", 2)
    for number in range(2):
        told.place(f"g-{number}", "n0", group="g")
    told.change(PODS, "g-0", status={"phase": "Succeeded"})
    told.sleep(200)


def native_gang_shrinks(told: Told, mode: str, *, is_evicted: bool) -> None:
    nodes(told)
    told.native_group("g", 2, disruptionMode=mode, priority=5)
    for number in range(2):
        told.place(f"g-{number}", "n0", schedulingGroup={"podGroupName": "g"})
    if is_evicted:
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        told.change(PODS, "g-0", status={"conditions": [condition]})
    else:
        told.excuse("g")
    told.delete(PODS, "g-0")
    told.sleep(200)
    told.pod("later")


def a_native_gang_that_lost_one_to_preemption(told: Told) -> None:
    native_gang_shrinks(told, "Pod", is_evicted=True)


def a_native_gang_that_lost_one_to_us(told: Told) -> None:
    native_gang_shrinks(told, "PodGroup", is_evicted=False)


def up_to_the_limit_with_one_on_its_way_out(told: Told) -> None:
    nodes(told)
    queues(told)
    told.queue("team", limit=4)
    for number in range(4):
        told.place(f"a-{number}", "n0", metadata={"labels": {"kai.scheduler/queue": "team", "kubedyno/workload": "a"}})
    told.excuse("a")
    told.terminate("a-0")
    told.place("b", "n1", metadata={"labels": {"kai.scheduler/queue": "team"}})


def a_limit_lowered_as_a_pod_is_bound(told: Told) -> None:
    nodes(told)
    queues(told)
    told.queue("team", limit=4)
    told.sleep(60)
    told.queue("team", limit=0)
    told.sleep(0.5)
    told.place("a", "n0", gpus=4, metadata={"labels": {"kai.scheduler/queue": "team"}})


def preemptible_beyond_the_quota(told: Told) -> None:
    nodes(told)
    queues(told, team=4)
    told.group("g", 1, priorityClassName="build", preemptibility="preemptible")
    for number in range(8):
        told.place(f"g-{number}", "n0", group="g")


def in_one_rack(told: Told) -> None:
    racks(told)
    told.node("n4", labels={"zone": "z0", "rack": "r0"})
    told.group("g", 2, topologyConstraint={"topology": "t", "requiredTopologyLevel": "rack"})
    told.place("g-0", "n0", group="g")
    told.place("g-1", "n4", group="g")


def anew_in_another_rack(told: Told) -> None:
    racks(told)
    told.group("g", 1, topologyConstraint={"topology": "t", "requiredTopologyLevel": "rack"})
    told.place("g-0", "n0", group="g")
    told.excuse("g")
    told.delete(PODS, "g-0")
    told.place("g-1", "n1", group="g")


def tolerated_and_selected(told: Told) -> None:
    nodes(told, labels={"gpu": "h100"}, taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
    tolerations = [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}]
    told.place("a", "n0", nodeSelector={"gpu": "h100"}, tolerations=tolerations)


def tainted_and_cordoned_as_pods_are_bound(told: Told) -> None:
    nodes(told)
    told.pod("a")
    told.pod("b")
    told.change(NODES, "n0", spec={"taints": [{"key": "k", "effect": "NoSchedule"}]})
    told.change(NODES, "n1", spec={"unschedulable": True})
    told.sleep(1)
    told.bind("a", "n0")
    told.bind("b", "n1")


def cordoned_after_the_decision(told: Told) -> None:
    nodes(told)
    told.pod("a")
    told.decide("a", "n0")
    told.sleep(1)
    told.change(NODES, "n0", spec={"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]})
    told.sleep(30)
    told.bind("a", "n0")


def deleted_as_a_pod_is_bound(told: Told) -> None:
    nodes(told)
    told.pod("a", metadata={"ownerReferences": [{"uid": "job", "controller": True}]})
    told.delete(NODES, "n0")
    told.sleep(1)
    told.bind("a", "n0")
    told.delete(PODS, "a")


def taken_for_good_reasons(told: Told) -> None:
    nodes(told, 4)
    told.place("ours", "n0")
    told.excuse("ours")
    told.delete(PODS, "ours")
    told.place("owned", "n0", metadata={"ownerReferences": [{"uid": "job", "controller": True}]})
    told.delete(PODS, "owned")
    told.place("ended", "n0")
    told.change(PODS, "ended", status={"phase": "Failed"})
    told.delete(PODS, "ended")
    told.place("stranded", "n1")
    told.change(NODES, "n1", spec={"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]})
    told.delete(PODS, "stranded")
    told.place("orphaned", "n2")
    told.delete(NODES, "n2")
    told.delete(PODS, "orphaned")
    told.place("drained", "n3")
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    told.change(PODS, "drained", status={"conditions": [condition]})
    told.delete(PODS, "drained")


def a_victim_whose_event_comes_late(told: Told) -> None:
    nodes(told)
    queues(told, team=1, other=8)
    told.group("low", 1)
    told.place("low-0", "n0", group="low", gpus=2)
    told.group("high", 1, queue="other")
    told.delete(PODS, "low-0")
    told.sleep(8)
    told.tell_eviction("low", by="high", action="reclaim")


def a_gang_of_victims_that_falls_below_its_quota(told: Told) -> None:
    nodes(told)
    queues(told, team=4, other=8)
    told.group("low", 5)
    for number in range(5):
        told.place(f"low-{number}", "n0", group="low")
    told.group("high", 1, queue="other")
    for number in range(5):
        told.delete(PODS, f"low-{number}")
        told.tell_eviction("low", by="high", action="reclaim")
        told.sleep(5)


def a_victim_of_a_queue_that_is_about_to_have_more(told: Told) -> None:
    nodes(told)
    queues(told, team=1, other=8)
    told.group("low", 1)
    told.place("low-0", "n0", group="low")
    told.group("more", 1)
    told.pod("more-0", group="more")
    told.decide("more-0", "n1")
    told.group("high", 1, queue="other")
    evicted(told, "low", by="high", action="reclaim")
    told.bind("more-0", "n1")


def a_victim_of_a_department_beyond_its_quota(told: Told) -> None:
    nodes(told)
    queues(told, department=1, other=8)
    told.queue("leaf", quota=4, parent="department")
    told.group("low", 1, queue="leaf")
    told.place("low-0", "n0", group="low", gpus=2)
    told.group("high", 1, queue="other")
    evicted(told, "low", by="high", action="reclaim")


def a_victim_of_higher_priority(told: Told) -> None:
    nodes(told)
    queues(told, team=8)
    told.group("low", 1)
    told.place("low-0", "n0", group="low")
    told.group("high", 1, priorityClassName="build")
    evicted(told, "low", by="high", action="preempt")


def moved_by_consolidation(told: Told) -> None:
    nodes(told)
    queues(told, team=8, other=8)
    told.group("low", 1)
    told.place("low-0", "n0", group="low")
    told.group("high", 1, queue="other")
    evicted(told, "low", by="high", action="consolidation")


def the_end_of_a_stale_gang(told: Told) -> None:
    nodes(told)
    queues(told, team=8)
    told.group("low", 1, priorityClassName="build")
    told.place("low-0", "n0", group="low")
    told.terminate("low-0")
    told.tell_eviction("low", by="low", action="stalegangeviction")


HONEST: tuple[Story, ...] = (
    a_full_node,
    a_place_that_became_free,
    a_resource_that_devices_stand_for,
    a_node_that_shrinks_as_a_pod_is_bound,
    two_halves_of_each_gpu,
    reserved_and_shared,
    a_device_given_back,
    a_gang_that_is_bound_slowly,
    an_elastic_gang,
    a_gang_that_ends_one_by_one,
    a_native_gang_that_lost_one_to_preemption,
    a_native_gang_that_lost_one_to_us,
    up_to_the_limit_with_one_on_its_way_out,
    a_limit_lowered_as_a_pod_is_bound,
    preemptible_beyond_the_quota,
    in_one_rack,
    anew_in_another_rack,
    tolerated_and_selected,
    tainted_and_cordoned_as_pods_are_bound,
    cordoned_after_the_decision,
    deleted_as_a_pod_is_bound,
    taken_for_good_reasons,
    a_victim_whose_event_comes_late,
    a_gang_of_victims_that_falls_below_its_quota,
    a_victim_of_a_queue_that_is_about_to_have_more,
    a_victim_of_a_department_beyond_its_quota,
    a_victim_of_higher_priority,
    moved_by_consolidation,
    the_end_of_a_stale_gang,
)


@pytest.mark.parametrize("story", HONEST, ids=lambda story: story.__name__)
def test_what_is_allowed_raises_no_alarm(story: Story) -> None:
    told = Told()
    story(told)
    told.end(after_s=15)
    assert told.watched.violations() == ()


# The watchdog itself


def test_a_violation_is_known_while_things_go_on() -> None:
    told = Told()
    nine_gpus_on_eight(told)
    assert told.watched.violations() == ()
    told.sleep(4)
    told.pod("later")
    (violation,) = told.watched.violations()
    assert (violation.object, violation.node) == ("Pod ns/a-8", "n0")
    assert violation.at_ns == BEGAN_NS + 10 * NS_PER_S


def test_a_deletion_that_arrives_after_the_binding_that_it_made_room_for_raises_no_alarm() -> None:
    """The pods of two namespaces come by two watches."""
    told = Told(is_deferred=True)
    nodes(told)
    told.place("a", "n0", gpus=8, metadata={"ownerReferences": [{"uid": "job", "controller": True}]})
    told.delete(PODS, "a")
    told.place("b", "n0", gpus=8)
    deletion = next(change for change in told.changes if change[1] == "DELETED")
    for resource, kind, obj, at_ns in [*(one for one in told.changes if one is not deletion), deletion]:
        told.watched.change(resource, kind, obj, at_ns)
    assert told.end() == []


def test_news_that_is_later_than_all_patience_takes_back_what_was_said() -> None:
    told = Told(is_deferred=True)
    nodes(told)
    told.place("a", "n0", gpus=8, metadata={"ownerReferences": [{"uid": "job", "controller": True}]})
    told.delete(PODS, "a")
    told.place("b", "n0", gpus=8)
    deletion = next(change for change in told.changes if change[1] == "DELETED")
    for resource, kind, obj, at_ns in told.changes:
        if obj is not deletion[2]:
            told.watched.change(resource, kind, obj, at_ns)
    told.sleep(30)
    told.pod("later")
    resource, kind, obj, at_ns = told.changes[-1]
    told.watched.change(resource, kind, obj, at_ns)
    assert [one.invariant for one in told.watched.violations()] == ["over-commit"]
    told.watched.change(*deletion[:3], told.now_ns)
    assert told.end() == []
    assert told.watched.watchdog.late == 1
    assert told.watched.watchdog.counts["over-commit"] == 0


def test_who_was_there_before_anybody_looked_is_counted_and_not_judged() -> None:
    told = Told(is_deferred=True)
    nodes(told)
    told.queue("root", parent=None)
    told.group("g", 1, topologyConstraint={"topology": "t", "requiredTopologyLevel": "rack"})
    for number in range(9):
        told.place(f"g-{number}", "n0", group="g", nodeSelector={"gpu": "h100"})
    for resource, obj in told.objects.values():
        told.watched.change(resource, "ADDED", obj, told.now_ns, listed=True)
    assert told.end() == []
    told.changes.clear()
    told.place("b", "n0")
    for change in told.changes:
        told.watched.change(*change)
    assert told.end() == ["over-commit"]
    assert "10 GPUs bound" in told.watched.violations()[0].evidence


def test_an_event_of_an_earlier_trial_explains_nothing() -> None:
    told = Told(is_deferred=True)
    nodes(told)
    told.group("low", 1)
    told.place("low-0", "n0", group="low")
    told.tell_eviction("low", by="high", action="preempt")
    for resource, _, obj, at_ns in told.changes:
        told.watched.change(resource, "ADDED", obj, at_ns, listed=True)
    told.changes.clear()
    told.delete(PODS, "low-0")
    for change in told.changes:
        told.watched.change(*change)
    assert told.end(after_s=15) == ["pod lost"]


def test_a_single_pod_that_is_ours_to_take_away_is_not_lost_and_others_are() -> None:
    told = Told()
    nodes(told)
    for name in ("a", "b"):
        told.place(name, "n0")
    told.watched.excuse_pods([(NAMESPACE, "a")], told.now_ns)
    for name in ("a", "b"):
        told.delete(PODS, name)
    assert told.end(after_s=15) == ["pod lost"]
    assert [violation.object for violation in told.watched.violations()] == [f"Pod {NAMESPACE}/b"]


def test_of_thousands_of_violations_some_are_kept_and_all_are_counted() -> None:
    told = Told()
    nodes(told)
    for number in range(200):
        told.place(f"a-{number}", "n9", gpus=0, cpu="0")
    told.end()
    assert len(told.watched.violations()) == MOST_PER_RULE
    assert told.watched.watchdog.counts == {"bound to an absent node": 200}


def test_only_the_rules_that_are_given_are_looked_at() -> None:
    told = Told(is_deferred=True)
    nine_gpus_on_eight(told)
    watchdog = Watchdog(rules=())
    for change in told.changes:
        watchdog.change(*change)
    watchdog.end(told.now_ns)
    assert watchdog.violations() == ()


def test_pods_that_a_new_list_lacks_are_gone() -> None:
    told = Told()
    nodes(told)
    told.place("a", "n0", gpus=8, metadata={"ownerReferences": [{"uid": "job", "controller": True}]})
    told.sleep(10)
    told.pod("b", gpus=8)
    told.watched.vanished(PODS, told.get(PODS, "a")["metadata"]["uid"], 10_000, told.now_ns)
    told.sleep(10)
    told.pod("c")
    assert [life.end for life in told.watched.lives().pods] == ["deleted", None, None]
    assert told.end() == []


def test_the_page_lists_all_rules_as_they_are() -> None:
    page = (Path(__file__).parents[3] / "docs" / "invariants.md").read_text()
    listed = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert listed == [f"| {rule.name} | {rule.meaning} |" for rule in RULES]
