"""Health of nodes, their taints, how long pods tolerate them, and pods beyond hope."""

from typing import Any

import pytest

from kubedyno.controllers.nodes import eviction, health, podgc, taints
from kubedyno.controllers.nodes.health import Health
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.kit.clock import NS_PER_S, parse_rfc3339_ns
from kubedyno.kube.codec import Object

pytestmark = pytest.mark.unit

CREATED = "2026-01-01T00:00:00Z"
NOW = "2026-01-01T00:01:00Z"
NOW_NS = parse_rfc3339_ns(NOW)


def node(
    ready: str | None = "True", *, heartbeat: str = "h1", tainted: taints.Taints | None = None, **labels: str
) -> Object:
    conditions = [] if ready is None else [{"type": "Ready", "status": ready, "lastHeartbeatTime": heartbeat}]
    return {
        "metadata": {"name": "n", "uid": "u", "creationTimestamp": CREATED, "labels": labels},
        "spec": {"taints": tainted or []},
        "status": {"conditions": conditions},
    }


def lease(renewed: str) -> Object:
    return {"spec": {"renewTime": renewed}}


def test_a_lease_or_a_heartbeat_is_a_sign_of_life() -> None:
    first = health.observed(node(), None, None, now_ns=NOW_NS)
    assert first == Health(NOW_NS, "h1", None)
    later_ns = NOW_NS + NS_PER_S
    assert health.observed(node(), None, first, now_ns=later_ns) == first
    assert health.observed(node(heartbeat="h2"), None, first, now_ns=later_ns).seen_ns == later_ns
    leased = health.observed(node(), lease("2026-01-01T00:00:50.5Z"), first, now_ns=later_ns)
    assert leased == Health(later_ns, "h1", "2026-01-01T00:00:50.5Z")
    again = health.observed(node(), lease("2026-01-01T00:00:50.5Z"), leased, now_ns=later_ns + 1)
    assert again == leased


def test_a_node_without_a_status_has_its_time_since_its_creation() -> None:
    seen = health.observed(node(None), None, None, now_ns=NOW_NS)
    assert seen.seen_ns == parse_rfc3339_ns(CREATED)
    settings = ControllerSettings(node_startup_grace_s=60, node_grace_s=10)
    assert health.alive_until_ns(node(None), seen, settings) == NOW_NS
    assert health.alive_until_ns(node(), Health(NOW_NS, "h1", None), settings) == NOW_NS + 10 * NS_PER_S


def test_of_a_lost_node_everything_is_unknown() -> None:
    found = {entry["type"]: entry for entry in health.lost_conditions(node(), now_ns=NOW_NS)}
    assert found["Ready"] == {
        "type": "Ready",
        "status": "Unknown",
        "lastHeartbeatTime": "h1",
        "lastTransitionTime": NOW,
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    }
    assert found["DiskPressure"] == {
        "type": "DiskPressure",
        "status": "Unknown",
        "lastHeartbeatTime": CREATED,
        "lastTransitionTime": NOW,
        "reason": "NodeStatusNeverUpdated",
        "message": "Kubelet never posted node status.",
    }
    lost = {**node(), "status": {"conditions": list(found.values())}}
    assert health.lost_conditions(lost, now_ns=NOW_NS + NS_PER_S) == list(found.values())


def taint(key: str, effect: str = "NoSchedule", *, at: str | None = NOW) -> dict[str, Any]:
    return {"key": key, "effect": effect} | ({"timeAdded": at} if at else {})


OWN = taint("mine", at=None)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (node("True"), None),
        (node("False"), [taint(taints.NOT_READY)]),
        (node("Unknown", tainted=[taint(taints.NOT_READY), OWN]), [OWN, taint(taints.UNREACHABLE)]),
        (node("True", tainted=[taint(taints.NOT_READY), OWN]), [OWN]),
        (node("False", tainted=[taint(taints.NOT_READY, at="x")]), None),
        (node("True", tainted=[taint(taints.NOT_READY, "NoExecute")]), None),
    ],
)
def test_conditions_keep_pods_from_being_scheduled(found: Object, wanted: taints.Taints | None) -> None:
    assert taints.by_conditions(found, now_ns=NOW_NS) == wanted


def test_a_cordoned_node_is_tainted() -> None:
    cordoned = node()
    cordoned["spec"]["unschedulable"] = True
    assert taints.by_conditions(cordoned, now_ns=NOW_NS) == [taint(taints.UNSCHEDULABLE)]


@pytest.mark.parametrize(
    ("found", "may_add", "wanted"),
    [
        (node("False"), False, None),
        (node("False"), True, [taint(taints.NOT_READY, "NoExecute")]),
        (
            node("Unknown", tainted=[taint(taints.NOT_READY, "NoExecute")]),
            False,
            [taint(taints.UNREACHABLE, "NoExecute")],
        ),
        (node("True", tainted=[taint(taints.UNREACHABLE, "NoExecute"), OWN]), False, [OWN]),
        (node("False", tainted=[taint(taints.NOT_READY, "NoExecute", at="x")]), True, None),
        (node(None), True, None),
    ],
)
def test_readiness_empties_a_node(found: Object, wanted: taints.Taints | None, *, may_add: bool) -> None:
    assert taints.by_readiness(found, may_add=may_add, now_ns=NOW_NS) == wanted


@pytest.mark.parametrize(
    ("lost", "ready", "pace"), [(1, 9, 0.1), (3, 2, 0.0), (2, 1, 0.1), (40, 20, 0.01), (10, 0, 0.0), (0, 5, 0.1)]
)
def test_nodes_are_emptied_slowly_when_many_are_lost(lost: int, ready: int, pace: float) -> None:
    nodes = [node("Unknown")] * lost + [node()] * ready
    assert taints.paces(map(taints.standing, nodes)) == {"": pace}


def test_zones_have_a_pace_of_their_own() -> None:
    east, west = {"topology.kubernetes.io/zone": "east"}, {"topology.kubernetes.io/zone": "west"}
    nodes = [node("Unknown", **east), node(**west)]
    assert taints.paces(map(taints.standing, nodes)) == {":east": 0.1, ":west": 0.1}


def pod(*tolerations: Object, **more: Any) -> Object:
    return {"metadata": {"name": "p", **more}, "spec": {"nodeName": "n", "tolerations": list(tolerations)}}


EXISTS = {"operator": "Exists"}


@pytest.mark.parametrize(
    ("tolerations", "stays_s"),
    [
        ([], 0),
        ([EXISTS], None),
        ([{"key": "a", "value": "v"}], None),
        ([{"key": "a", "value": "other"}], 0),
        ([{"key": "a", "operator": "Exists", "tolerationSeconds": 30}], 30),
        ([{"key": "a", "operator": "Exists", "tolerationSeconds": -1}], 0),
        ([{"key": "a", "operator": "Exists", "effect": "NoSchedule"}], 0),
        ([{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}, EXISTS], 5),
    ],
)
def test_how_long_a_pod_may_stay(tolerations: list[Object], stays_s: float | None) -> None:
    tainted = [{"key": "a", "value": "v", "effect": "NoExecute"}]
    assert eviction.seconds_tolerated(pod(*tolerations), tainted) == stays_s


def test_of_several_tolerations_the_shortest_counts() -> None:
    tainted = [{"key": "a", "effect": "NoExecute"}, {"key": "b", "effect": "NoExecute"}]
    both = [{"key": key, "operator": "Exists", "tolerationSeconds": wait_s} for key, wait_s in (("a", 30), ("b", 20))]
    assert eviction.seconds_tolerated(pod(*both), tainted) == 20
    assert eviction.seconds_tolerated(pod(both[0]), tainted) == 0


def test_pods_beyond_hope() -> None:
    out = node("Unknown", tainted=[taint("node.kubernetes.io/out-of-service", "NoExecute")])
    unbound = {"metadata": {"name": "u", "deletionTimestamp": "t"}, "spec": {}}
    waiting = {"metadata": {"name": "w"}, "spec": {}}
    going = pod(deletionTimestamp="t")
    assert [lost.pod for lost in podgc.hopeless([unbound, waiting, going, pod()], {"n": out})] == [unbound, going]
    assert podgc.hopeless([going], {"n": node()}) == []
