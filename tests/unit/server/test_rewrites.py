"""Patches that take the short way come out as they would by the long one, byte for byte."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins import Twins

from kubedyno.kit.clock import rfc3339
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.sim.kubelet import lifecycle, nodestates
from kubedyno.sim.kubelet.lifecycle import Write
from kubedyno.sim.kubelet.plans import Plan

pytestmark = pytest.mark.unit

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"


def pod(number: int, **spec: Any) -> Object:
    containers = [{"name": "main", "image": "x:1", "resources": {"requests": {"cpu": "1"}}}]
    return {
        "metadata": {"name": f"p-{number}"},
        "spec": {"nodeName": f"n-{number % 3}", "containers": containers, **spec},
    }


SHAPES: Sequence[Callable[[int], Object]] = (
    pod,
    lambda number: pod(number, restartPolicy="Never", initContainers=[{"name": "i", "image": "y"}]),
    lambda number: pod(number, containers=[{"name": f"c{one}", "image": "x:1"} for one in range(3)]),
    lambda number: pod(number, hostNetwork=True, restartPolicy="OnFailure"),
    lambda number: pod(number, readinessGates=[{"conditionType": "example.com/ready"}]),
    lambda number: pod(number, containers=[{"name": "main", "image": "x:1", "args": [f"--index={number}"]}]),
    lambda number: {
        **pod(number, tolerations=[{"operator": "Exists"}]),
        "metadata": {
            "name": f"p-{number}",
            "labels": {"job": f"j-{number}", "resourceVersion": "7"},
            "annotations": {"batch.kubernetes.io/job-completion-index": str(number), "a": '100% \\ "10.0.0.1"'},
            "finalizers": ["batch.kubernetes.io/job-tracking"],
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": "j",
                    "uid": f"{number:08x}-0000-4000-8000-00000000000{number % 2}",
                }
            ],
        },
    },
)


class _Addresses:
    def __init__(self, number: int) -> None:
        self._number = number

    @property
    def host_ips(self) -> Sequence[str]:
        return [f"192.168.0.{self._number % 3 + 1}"]

    def pod_ips(self) -> Sequence[str]:
        return [f"10.0.{self._number // 200}.{self._number % 200 + 1}"]


PLANS = (Plan(0.0, None, 0.0, 0), Plan(2.0, 3.0, 1.0, 0), Plan(0.5, 1.0, 0.0, 7))


def step(twins: Twins, number: int, plan: Plan) -> None:
    """What a kubelet does next about a pod."""
    found = twins.send("GET", f"{PODS}/p-{number}")
    if found.status != 200:
        return
    obj = codec.decode(found.body)
    decision = lifecycle.decide(obj, plan, now_ns=twins.clock.wall_ns(), addresses=_Addresses(number))
    if isinstance(decision, Write):
        body = {"metadata": {"uid": obj["metadata"]["uid"]}, "status": decision.status}
        twins.send("PATCH", f"{PODS}/p-{number}/status", body, STRATEGIC, fieldManager="kubelet")


@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize("plan", PLANS)
def test_the_lives_of_pods_are_the_same_either_way(shape: int, plan: Plan) -> None:
    twins = Twins()
    for number in range(12):
        twins.send("POST", PODS, SHAPES[shape](number))
        twins.pass_time(0.3)
    for turn in range(12):
        for number in range(12):
            step(twins, number, plan)
            if turn == 7 and number % 2:
                twins.send("DELETE", f"{PODS}/p-{number}", {"gracePeriodSeconds": 5})
        twins.pass_time(0.7)
    twins.compare()
    assert twins.patched.taken > 4


def node(number: int) -> Object:
    amounts = {"cpu": "8", "pods": "110"}
    return {
        "metadata": {"name": f"n-{number}", "labels": {"kubernetes.io/hostname": f"n-{number}", "rack": str(number)}},
        "spec": {"podCIDR": f"10.1.{number}.0/24", "providerID": f"sim://rack/n-{number}"},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def test_nodes_become_ready_the_same_either_way() -> None:
    twins = Twins()
    for number in range(40):
        twins.send("POST", NODES, node(number))
        obj = twins.get(f"{NODES}/n-{number}")
        body = {
            "metadata": {"uid": obj["metadata"]["uid"]},
            "status": nodestates.report(obj, now=rfc3339(twins.clock.wall_ns())[:19] + "Z"),
        }
        twins.pass_time(0.4)
        twins.send("PATCH", f"{NODES}/n-{number}/status", body, STRATEGIC, fieldManager="kubelet")
        obj = twins.get(f"{NODES}/n-{number}")
        version = obj["metadata"]["resourceVersion"]
        if number % 7 == 3:
            version = str(int(version) - 1)
        untainted = {"metadata": {"resourceVersion": version}, "spec": {"taints": None}}
        twins.send("PATCH", f"{NODES}/n-{number}", untainted, MERGE, fieldManager="kube-controller-manager")
    twins.compare()
    assert twins.patched.taken > 40


def kwok_running(number: int, now: str) -> Object:
    conditions = [
        {"lastTransitionTime": now, "status": "True", "type": name} for name in ("Initialized", "Ready", "Other")
    ]
    return {
        "conditions": conditions,
        "containerStatuses": [
            {
                "image": "x:1",
                "name": "main",
                "ready": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
        ],
        "hostIP": "10.9.9.9",
        "podIP": f"10.2.0.{number}",
        "phase": "Running",
        "startTime": now,
    }


def variants(number: int, uid: str, version: str, now: str) -> Iterator[tuple[str, Any]]:
    """Patches of a pod's status, good and bad, of clients that spell them in all ways."""
    status = kwok_running(number, now)
    yield STRATEGIC, {"status": status}
    yield MERGE, {"status": status}
    yield STRATEGIC, {"apiVersion": "v1", "kind": "Pod", "metadata": {"uid": uid}, "status": status}
    yield STRATEGIC, {"metadata": {"uid": uid[:-1] + ("0" if uid[-1] != "0" else "1")}, "status": status}
    yield STRATEGIC, {"metadata": {"resourceVersion": version}, "status": {"phase": "Failed", "reason": "Evicted"}}
    yield STRATEGIC, {"metadata": {"resourceVersion": "1"}, "status": {"phase": "Failed"}}
    yield STRATEGIC, {"metadata": {"labels": {"a": f"x-{number}"}}, "status": status}
    yield STRATEGIC, {"metadata": {"annotations": {"kubernetes.io/psp": "y"}}, "status": {"message": "100%"}}
    for wrong in ("2026-02-30T00:00:00Z", uid, "10.0.0.1", now[:-1] + ".5Z", now[:-1] + "+01:00", "x", 7, None):
        yield STRATEGIC, {"status": {**status, "startTime": wrong}}
    for wrong in ("10.0.0.256", "10.0.0.01", now, uid, f"fd00::{number}", "", f"10.3.0.{number}"):
        yield STRATEGIC, {"status": {"podIP": wrong, "podIPs": [{"ip": wrong}]}}
        yield STRATEGIC, {"status": {"hostIP": wrong, "hostIPs": [{"ip": wrong}]}}
    yield STRATEGIC, {"status": {"podIPs": [{"ip": f"10.4.0.{number}"}, {"ip": f"10.5.0.{number}"}]}}
    yield STRATEGIC, {"status": {"podIPs": [{"$patch": "replace"}, {"ip": f"10.4.0.{number}"}]}}
    yield STRATEGIC, {"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}}
    yield STRATEGIC, {"status": {"conditions": [{"type": "not ok", "status": "True", "lastTransitionTime": now}]}}
    yield STRATEGIC, {"status": {"conditions": [{"type": "PodScheduled", "status": "True", "lastProbeTime": now}]}}
    yield STRATEGIC, {"status": {"unknown": now, "phase": "Running"}}
    yield STRATEGIC, {"status": {"qosClass": "Guaranteed"}}
    yield STRATEGIC, {"status": {}}
    yield STRATEGIC, {"status": None}
    yield STRATEGIC, {"spec": {"nodeName": "other"}, "status": {"phase": "Running"}}
    yield STRATEGIC, {"status": {"nominatedNodeName": f"n-{number}"}}
    yield STRATEGIC, {"status": {"message": f'node 10.0.0.1 said "10.2.0.{number}" at \n{now}'}}
    yield STRATEGIC, {"status": {"containerStatuses": [{"name": "main", "containerID": f"docker://{number:064x}"}]}}
    yield STRATEGIC, msgspec.json.format(msgspec.json.encode({"status": status}), indent=2)
    yield STRATEGIC, b'{"status":{"podIP":"10\\u002e2.0.7","startTime":"%b"}}' % now.encode()
    yield STRATEGIC, b'{"status":{"podIP":"10.2.0.%d","podIP":"10.2.1.%d"}}' % (number, number)
    yield STRATEGIC, b'{"status":{"message":"\xff"}}'
    yield STRATEGIC, b'{"status":{"message":"\0"}}'
    yield STRATEGIC, b'{"status":'
    yield JSON_PATCH, [{"op": "replace", "path": "/status/phase", "value": "Running"}]
    yield JSON_PATCH, [{"op": "add", "path": "/status/podIP", "value": f"10.6.0.{number}"}]


COUNT = sum(1 for _ in variants(0, "u", "1", "now"))
QUERIES: Sequence[dict[str, str]] = (
    {},
    {"fieldValidation": "Strict"},
    {"dryRun": "All"},
    {"fieldManager": "other"},
)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, COUNT - 1), min_size=1, max_size=3),
            st.sampled_from(QUERIES),
            st.sampled_from([0.0, 0.4, 61.0]),
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, len(SHAPES) - 1),
)
def test_any_patches_do_the_same_to_pod_after_pod(
    turns: list[tuple[list[int], dict[str, str], float]], shape: int
) -> None:
    twins = Twins()
    pods = range(1, 5)
    for number in pods:
        twins.send("POST", PODS, SHAPES[shape](number))
    for choice, query, delay_s in turns:
        for number in pods:
            for chosen in choice:
                metadata = twins.get(f"{PODS}/p-{number}")["metadata"]
                now = rfc3339(twins.clock.wall_ns())[:19] + "Z"
                patches = list(variants(number, metadata["uid"], metadata["resourceVersion"], now))
                media, body = patches[chosen]
                twins.send("PATCH", f"{PODS}/p-{number}/status", body, media, **query)
            twins.pass_time(delay_s)
    twins.compare()


def test_every_kind_of_patch_does_the_same_to_many_pods() -> None:
    twins = Twins()
    for chosen in range(COUNT):
        for number in range(4):
            name = f"v-{chosen}-{number}"
            made = codec.decode(twins.send("POST", PODS, {**pod(number), "metadata": {"name": name}}).body)
            metadata = made["metadata"]
            now = rfc3339(twins.clock.wall_ns())[:19] + "Z"
            media, body = list(variants(number, metadata["uid"], metadata["resourceVersion"], now))[chosen]
            for _ in range(3):
                twins.send("PATCH", f"{PODS}/{name}/status", body, media)
            twins.pass_time(0.4)
    twins.compare()
    assert twins.patched.taken > COUNT


def test_a_patch_of_what_went_or_never_was_is_refused_however_well_it_is_known() -> None:
    twins = Twins()
    patch = {"status": {"phase": "Running"}}
    for number in range(4):
        twins.send("POST", PODS, pod(number))
        twins.send("PATCH", f"{PODS}/p-{number}/status", patch, STRATEGIC)
    assert twins.patched.taken == 2
    twins.send("DELETE", f"{PODS}/p-3", {"gracePeriodSeconds": 0})
    assert twins.send("PATCH", f"{PODS}/p-3/status", patch, STRATEGIC).status == 404


@pytest.mark.parametrize(
    ("said", "metadata"),
    [
        ({"labels": {"a": "x"}}, {"labels": {"a": "x"}}),
        ({"annotations": {"a": "x"}}, {"annotations": {"a": "x"}}),
        ({"labels": None}, {}),
        ({"finalizers": ["example.com/x"]}, {"finalizers": ["example.com/x"]}),
        ({"name": "p-0"}, {}),
        ({"namespace": "default", "generation": 1}, {}),
    ],
)
@pytest.mark.parametrize("more", [{}, {"status": {"phase": "Running"}}])
def test_metadata_that_one_pod_has_already_is_written_to_others(said: Object, metadata: Object, more: Object) -> None:
    twins = Twins()
    for number in range(8):
        made = pod(number)
        made["metadata"] |= metadata if number < 4 else {"labels": {"b": "y"}}
        twins.send("POST", PODS, made)
        for _ in range(2):
            twins.send("PATCH", f"{PODS}/p-{number}/status", {"metadata": said, **more}, STRATEGIC)
    twins.compare()


@pytest.mark.parametrize("path", ["/status", ""])
def test_a_version_is_asked_for_however_well_the_patch_is_known(path: str) -> None:
    twins = Twins()
    for number in range(3):
        twins.send("POST", NODES, node(number))
    for number in range(3):
        version = twins.get(f"{NODES}/n-{number}")["metadata"]["resourceVersion"]
        spec = {"spec": {"unschedulable": True}, "status": {"phase": "Running"}}
        for _ in range(2):
            patch = {"metadata": {"resourceVersion": version}, **spec}
            last = twins.send("PATCH", f"{NODES}/n-{number}{path}", patch, STRATEGIC)
        assert last.status == 409
    patch = {"metadata": {"resourceVersion": "4"}, "status": {"phase": "Running"}}
    for number in range(3):
        assert twins.send("PATCH", f"{NODES}/n-{number}/status", patch, STRATEGIC).status == 409
    twins.compare()


LABELLINGS = (
    {"beta": "x"},
    {"beta": "x", "rack": "0"},
    {"rack": "1"},
    {"rack": "0", "alpha": "y"},
    {"rack": None},
    {"rack": "not good"},
    {"not good": "x"},
    {"beta": "10.0.0.1"},
    {"10.0.0.1": "x"},
    {},
)


@pytest.mark.parametrize("media", [STRATEGIC, MERGE])
@pytest.mark.parametrize("labels", LABELLINGS)
def test_nodes_are_labelled_the_same_either_way(labels: Object, media: str) -> None:
    twins = Twins()
    for number in range(18):
        made = node(number)
        made["metadata"]["labels"] |= {"rack": str(number % 3 // 2)}
        if number % 5 == 4:
            del made["metadata"]["labels"]
        twins.send("POST", NODES, made)
        patch = {"metadata": {"labels": labels}}
        for manager in ("one", "one", "two"):
            twins.send("PATCH", f"{NODES}/n-{number}", patch, media, fieldManager=manager)
            twins.pass_time(0.2)
        patch = {"metadata": {"labels": labels, "annotations": {"a": "b"}}, "spec": {"unschedulable": number % 2 == 0}}
        twins.send("PATCH", f"{NODES}/n-{number}", patch, media)
        twins.send("PATCH", f"{NODES}/n-{number}", {"metadata": {"labels": {"rack": f"r-{number}"}}}, media)
    twins.send("GET", NODES, labelSelector="rack,beta=x")
    twins.compare()
    assert twins.patched.taken > 10 or labels in LABELLINGS[4:7]


def test_labels_that_are_looked_for_elsewhere_are_left_alone() -> None:
    twins = Twins()
    for number in range(8):
        made = node(number)
        made["metadata"] |= {"annotations": {"x": '"labels":{"rack":"0"}'}, "labels": {"rack": "0"}}
        twins.send("POST", NODES, made)
        twins.send("PATCH", f"{NODES}/n-{number}", {"metadata": {"labels": {"rack": str(number)}}}, MERGE)
        twins.send("PATCH", f"{NODES}/n-{number}/status", {"metadata": {"labels": {"rack": "x"}}}, MERGE)
    twins.compare()


STAMPS = (
    "2026-02-28T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "10.0.0.1",
    "10.0.0.1/8",
    "00000000-0000-4000-8000-000000000000",
)


@pytest.mark.parametrize("field", ["startTime", "podIP", "hostIP", "reason", "phase", "nominatedNodeName"])
@pytest.mark.parametrize("good", STAMPS)
def test_a_value_of_another_class_is_looked_at_anew(field: str, good: str) -> None:
    twins = Twins()
    for number, value in enumerate((good, good, good, *STAMPS)):
        twins.send("POST", PODS, pod(number))
        status = {field: value} | ({f"{field}s": [{"ip": value}]} if field.endswith("IP") else {})
        twins.send("PATCH", f"{PODS}/p-{number}/status", {"status": status}, STRATEGIC)
    twins.compare()


def test_owners_are_in_the_order_of_time_even_if_that_goes_backwards() -> None:
    twins = Twins()
    for number in range(9):
        twins.send("POST", PODS, pod(number))
        twins.pass_time(5.0 if number < 6 else -5.0)
        twins.send("PATCH", f"{PODS}/p-{number}/status", {"status": {"phase": "Running"}}, STRATEGIC)
    twins.compare()
    assert twins.patched.taken == 5


def test_an_address_that_is_spelled_as_no_leaf_is_still_the_one_that_is_written() -> None:
    twins = Twins()
    for number in range(8):
        made = node(number)
        made["status"]["addresses"] = [{"type": "Hostname", "address": f"x://{0 if number < 4 else number}"}]
        twins.send("POST", NODES, made)
        patch = b'{"status":{"addresses":[{"type":"Hostname","address": "x://0"}]}}'
        twins.send("PATCH", f"{NODES}/n-{number}/status", patch, STRATEGIC)
    twins.compare()


def test_a_test_of_labels_is_made_for_each_pod() -> None:
    twins = Twins()
    for number in range(5):
        twins.send(
            "POST", PODS, {**pod(number), "metadata": {"name": f"p-{number}", "labels": {"a": str(number // 4)}}}
        )
        operations = [
            {"op": "test", "path": "/metadata/labels/a", "value": "0"},
            {"op": "add", "path": "/status/phase", "value": "Running"},
        ]
        answer = twins.send("PATCH", f"{PODS}/p-{number}/status", operations, JSON_PATCH)
        assert (answer.status == 200) == (number < 4)
    twins.compare()


def test_a_pod_that_goes_with_its_last_finalizer_goes_either_way() -> None:
    twins = Twins()
    for number in range(4):
        held = pod(number)
        held["metadata"]["finalizers"] = ["example.com/x"]
        twins.send("POST", PODS, held)
        twins.send("DELETE", f"{PODS}/p-{number}", {"gracePeriodSeconds": 0})
        twins.send("PATCH", f"{PODS}/p-{number}/status", {"status": {"phase": "Failed"}}, STRATEGIC)
        twins.send("PATCH", f"{PODS}/p-{number}/status", {"metadata": {"finalizers": None}}, STRATEGIC)
        twins.send("GET", f"{PODS}/p-{number}")
    twins.compare()
