"""Objects that are created the short way come out as they would by the long one, byte for byte."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins import Twins

from kubedyno.controllers.events import Correlator, Creation
from kubedyno.kit.clock import rfc3339
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.sim.kubelet import nodestates
from kubedyno.sim.pools import Gpus, Level, Pool, Taint, Topology, nodes

pytestmark = pytest.mark.unit

NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
EVENTS = "/api/v1/namespaces/default/events"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
AT_ONCE = {"propagationPolicy": "Background"}
NOW = "2026-01-02T03:04:05Z"
UID = "0f812128-0342-4d90-b23c-8269d684074{}"

_LEVELS = tuple(Level(level=name, count=count) for name, count in (("zone", 2), ("rack", 3), ("node", 4)))
POOLS: Mapping[str, Pool] = {
    "plain": Pool(name="p", count=30),
    "numbered": Pool(name="p", count=30, gpus=8, labels={"at": "{{ index }}"}, annotations={"who": "<{{ name }}>"}),
    "h100": Pool(name="p", count=30, gpus=Gpus(model="H100")),
    "tree": Pool(name="p", gpus=Gpus(model="H100"), topology=Topology(levels=_LEVELS)),
    "cliques": Pool(name="p", count=40, gpus=Gpus(model="GB200-NVL72")),
    "tainted": Pool(name="p", count=30, taints=(Taint(key="for", value="{{ name }}", effect="NoExecute"),)),
}


def stamp(twins: Twins) -> str:
    return rfc3339(twins.clock.wall_ns())[:19] + "Z"


@pytest.mark.parametrize("pool", POOLS)
def test_nodes_of_a_pool_are_the_same_either_way(pool: str) -> None:
    twins = Twins()
    made = list(nodes.nodes(POOLS[pool], now=stamp(twins)))
    for node in made:
        assert twins.send("POST", NODES, node).status == 201
        twins.pass_time(0.3)
    assert twins.send("POST", NODES, made[-1]).status == 409
    twins.send("GET", NODES, labelSelector="kubernetes.io/hostname=p-7")
    twins.compare()
    assert (twins.created.taken > 20) == (pool != "tainted")  # the value of a taint is no leaf


def test_the_times_of_a_pool_may_be_any() -> None:
    twins = Twins()
    for number in range(6):
        for node in nodes.nodes(Pool(name=f"p{number}", count=4), now=stamp(twins)):
            twins.send("POST", NODES, node)
        twins.pass_time(1.0)
    twins.compare()
    assert twins.created.taken > 20


def node(number: int) -> Object:
    amounts = {"cpu": "8", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n-{number}", "labels": {"rack": str(number)}, "annotations": {"a": f"x{number}"}},
        "spec": {"podCIDR": f"10.1.{number}.0/24", "providerID": f"sim://rack/n-{number}"},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "addresses": [{"type": "InternalIP", "address": f"172.16.0.{number}"}],
            "nodeInfo": {"machineID": f"ab{number:030x}", "bootID": UID.format(number % 10)},
        },
    }


def changed(number: int, part: str, **members: Any) -> Object:
    made = node(number)
    return {**made, part: {**made[part], **members}}


def as_kubectl(made: Object) -> bytes:
    """Sorted, with a newline at the end, and a time that is null."""
    made["metadata"]["creationTimestamp"] = None
    return msgspec.json.Encoder(order="deterministic").encode(made) + b"\n"


def node_variants(number: int) -> Iterator[Any]:
    """Bodies of nodes, good and bad, of clients that spell them in all ways."""
    plain = codec.encode(node(number))
    yield node(number)
    yield as_kubectl(node(number))
    yield msgspec.json.format(plain, indent=2)
    yield plain.replace(b'":', b'": ')
    yield plain.replace(b"172.16.0.", b"172.16\\u002e0.")
    yield plain.replace(b'"address":"172', b'"address":"10.0.0.1","address":"172')
    yield plain.replace(b'"name":"n', b'"name":"x","name":"n')
    yield plain.replace(b'"spec":', b'"spec":{"unschedulable":true},"spec":')
    yield plain.replace(b'"rack":', b'"rack":"a","rack":')
    yield plain[:-1]
    yield {name: value for name, value in node(number).items() if name not in {"kind", "apiVersion"}}
    yield {"metadata": {"name": f"n-{number}"}}
    yield {"metadata": {"generateName": "n-"}}
    yield {"metadata": {"generateName": "n-", "name": f"n-{number}"}}
    for name in (
        f"N-{number}",
        f"n_{number}",
        f"n..{number}",
        f"n.{number}",
        "-",
        "",
        "n" * 253 + str(number),
        7,
        None,
    ):
        yield changed(number, "metadata", name=name)
    for labels in ({"rack": f"x {number}"}, {"rack": "x" * (60 + number)}, {"rack": ""}, {"no good": "x"}, {}, None):
        yield changed(number, "metadata", labels=labels)
    yield changed(number, "metadata", labels={"beta.kubernetes.io/os": "linux", "rack": 7})
    yield changed(number, "metadata", labels={"a": str(number), "rack": f"10.0.0.{number}"})
    for annotations in (
        *(
            {"a": f'{{"b":"ü\n{number}"}}'},
            {"a": "x" * 262_144},
            {"a": "/"},
            {"A/b": str(number)},
            {"no good": "x"},
            {},
        ),
        *(
            {"kwok.x-k8s.io/node": f"fake{number % 2}"},
            {"node.alpha.kubernetes.io/ttl": str(number)},
            {"a": None},
            None,
        ),
    ):
        yield changed(number, "metadata", annotations=annotations)
    for metadata in (
        *({"resourceVersion": "7"}, {"uid": UID.format(1)}, {"creationTimestamp": NOW}, {"generation": number}),
        *({"finalizers": ["example.com/x"]}, {"finalizers": ["x"]}, {"namespace": "x"}, {"managedFields": []}),
        *({"ownerReferences": [owner(number)]}, {"ownerReferences": [owner(number), owner(number + 1)]}),
        *({"ownerReferences": []}, {"ownerReferences": [{**owner(number), "uid": ""}]}, {"unknown": 1}),
        {"managedFields": [{"manager": "x", "operation": "Update", "time": NOW}]},
    ):
        yield changed(number, "metadata", **metadata)
    for first, ranges in (
        *((f"10.2.{number}.0/24", None), (f"10.2.{number}.1/24", None), (f"10.2.{number}.0/33", None)),
        *((f"10.2.{number}.0/024", None), (f"10.2.{number}.0", None), (None, [f"10.2.{number}.0/24"]), ("", None)),
        *((f"10.2.{number}.0/24", [f"10.2.{number}.0/24"]), (f"10.2.{number}.0/24", [f"10.3.{number}.0/24"])),
        (f"10.2.{number}.0/24", [f"10.2.{number}.0/24", f"fd00:{number}::/64"]),
        (f"10.2.{number}.0/24", [f"10.2.{number}.0/24", f"10.3.{number}.0/24"]),
        (f"10.2.{number}.0/24", [f"10.2.{number}.0/24", f"10.2.{number}.0/24"]),
        *((f"fd00:{number}::/64", None), (NOW, None), (UID.format(1), None), (f"10.02.{number}.0/24", None)),
    ):
        yield changed(number, "spec", podCIDR=first, podCIDRs=ranges)
    yield changed(number, "spec", taints=[{"key": f"10.0.0.{number}", "effect": "NoSchedule"}])
    yield changed(number, "spec", taints=[{"key": "a", "value": f"10.0.0.{number}", "effect": "NoSchedule"}])
    yield changed(number, "spec", taints=[{"key": "a", "effect": "NoExecute", "timeAdded": NOW}])
    yield changed(number, "spec", taints=[{"key": "a", "effect": "No"}])
    yield changed(number, "spec", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])
    yield changed(number, "spec", providerID=f"node {number}", unschedulable=bool(number % 2))
    yield changed(number, "spec", configSource={"configMap": {"uid": UID.format(number % 10)}})
    for address in (
        f"n-{number}",
        f"n-{number}.example.com",
        "",
        f"10.0.0.{number}",
        f"::{number}",
        "x\\y",
        'x"',
        7,
        None,
    ):
        yield changed(number, "status", addresses=[{"type": "Hostname", "address": address}])
    yield changed(number, "status", addresses=[{"type": "InternalIP", "address": "10.0.0.1"}] * 2)
    for time in (NOW, "0001-01-01T00:00:00Z", "2026-02-30T00:00:00Z", f"2026-01-02T03:04:0{number % 10}.5Z", "x", None):
        condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": time, "lastTransitionTime": NOW}
        yield changed(number, "status", conditions=[condition])
    kinds = [{"type": UID.format(one), "status": "True"} for one in ((1, 2) if number % 2 else (2, 1))]
    yield changed(number, "status", conditions=kinds)
    for amount in (f"{number + 10**31}", f"{number:032x}", f"1e{number}", f"1{number}Mi", "-1", "x"):
        yield changed(number, "status", capacity={"cpu": amount})
    yield changed(number, "status", capacity={f"10.{number}.0.0/24": "1", f"10.2{9 - number % 10}.0.0/24": "1"})
    yield changed(number, "status", declaredFeatures=["B", "A"])
    yield changed(number, "status", config={"error": f"10.0.0.{number}"}, images=[{"names": [f"x:{number}"]}])
    yield changed(number, "status", nodeInfo={"machineID": f"m{number}", "unknown": f"10.0.0.{number}"})


def owner(number: int) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "name": f"n-{number}", "uid": UID.format(number % 10)}


def lease_variants(number: int) -> Iterator[Any]:
    made = nodestates.lease(
        f"n-{number}", UID.format(number % 10), duration_s=40, renewed=f"2026-01-02T03:04:05.{number:06}Z"
    )
    spec, metadata = made["spec"], made["metadata"]
    yield made
    yield as_kubectl(codec.decode(codec.encode(made)))
    yield {**made, "metadata": {**metadata, "namespace": "default"}}
    yield {**made, "metadata": {**metadata, "ownerReferences": [owner(1), owner(2)][:: 1 if number % 2 else -1]}}
    yield {**made, "metadata": {**metadata, "ownerReferences": [{**owner(number), "controller": True}] * 2}}
    yield {**made, "metadata": {"name": f"n-{number}", "labels": {"x": str(number)}}}
    for time in (NOW, f"2026-01-02T03:04:05.{number}Z", "0001-01-01T00:00:00.000000Z", "2026-02-30T00:00:00.000000Z"):
        yield {**made, "spec": {**spec, "renewTime": time, "acquireTime": time}}
    yield {**made, "spec": {**spec, "acquireTime": f"2026-01-02T03:04:05.{number:06}+01:00"}}
    for holder in (f"other-{number}", f"a b {number}", "", f"ü{number}", NOW, 7, None):
        yield {**made, "spec": {**spec, "holderIdentity": holder}}
    yield {**made, "spec": {**spec, "leaseDurationSeconds": number % 2}}
    yield {**made, "spec": {**spec, "leaseTransitions": number}}
    yield {"metadata": {"name": f"n-{number}"}}


def event_variants(number: int) -> Iterator[Any]:
    about = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n-{number}", "uid": UID.format(number % 10)}}
    told = f"Node n-{number} event: Registered Node n-{number} in Controller"
    decision = Correlator().decide("c", about, "Normal", "RegisteredNode", told, now_ns=1_700_000_000 * 10**9 + number)
    assert isinstance(decision, Creation)
    made = decision.event
    yield made
    yield as_kubectl(codec.decode(codec.encode(made)))
    for message in ("", f'"{number}"', "x" * (1020 + number), f"ü {number}", NOW, "RegisteredNode", "100%"):
        yield {**made, "message": message}
        yield {**made, "message": message, "eventTime": f"2026-01-02T03:04:05.{number:06}Z", "action": "a"}
    for involved in ({"namespace": "default"}, {"namespace": f"x{number}"}, {"name": "RegisteredNode"}, {"kind": ""}):
        yield {**made, "involvedObject": {**made["involvedObject"], **involved}}
    yield {**made, "reason": f"n-{number}"}
    yield {**made, "count": number, "type": "Strange"}
    yield {**made, "reportingComponent": "", "source": {"host": f"n-{number}"}}
    yield {**made, "metadata": {"name": f"n-{number}", "namespace": "x"}}
    yield {**made, "apiVersion": "events.k8s.io/v1"}
    yield {**made, "related": {"name": f"n-{number}", "resourceVersion": str(number)}}
    for version in (str(number), f"{number:08}", "x", "", None, number):
        yield {**made, "involvedObject": {**made["involvedObject"], "resourceVersion": version}}


def job(number: int, *, told: Object | None = None, pods: Object | None = None, **spec: Any) -> Object:
    metadata = {"name": f"n-{number}", "labels": {"job": f"n-{number}"}}
    of_pods = {"labels": {"job": f"n-{number}"}, "annotations": {"a": f"<{number}>"}}
    containers = [{"name": "main", "image": "x", "resources": {"limits": {"cpu": "2", "nvidia.com/gpu": "1"}}}]
    template = {
        "metadata": of_pods if pods is None else pods,
        "spec": {"restartPolicy": "Never", "containers": containers},
    }
    made = {"metadata": metadata if told is None else told, "spec": {"template": template, **spec}}
    return {"apiVersion": "batch/v1", "kind": "Job", **made}


def job_variants(number: int) -> Iterator[Any]:
    name = f"n-{number}"
    plain = codec.encode(job(number))
    yield job(number)
    yield as_kubectl(job(number))
    yield plain.replace(b'":', b'": ')
    yield plain.replace(b'"template":', b'"template":{},"template":')
    yield plain.replace(b'"restartPolicy"', b'"unknown"')
    for other in (
        *(f"n.{number}", "n" * 50 + str(number), "n" * 60 + str(number), "n" * 61 + str(number), "N"),
        *("kube-scheduler", f"{number}", f"{number}m", "7" * 8),
    ):
        yield job(number, told={"name": other})
        yield job(number, told={"name": other, "labels": {"job": other}}, pods={"labels": {"job": other}})
    for labels in ({}, None, {"a": f"x {number}"}, {"a": "x" * (60 + number % 8)}, {"no good": "x"}, {"a": 7}):
        yield job(number, told={"name": name, "labels": labels})
        yield job(number, told={"name": name, "labels": {"a": "b"}}, pods={"labels": labels})
    for annotations in (
        *({}, None, {"a": f'"ü{number}"'}, {"a": "x" * 262_144}, {"no good": "x"}, {"a": None}),
        *({"container.apparmor.security.beta.kubernetes.io/main": "x"}, {"kubernetes.io/ingress-bandwidth": name}),
    ):
        yield job(number, pods={"annotations": annotations})
        yield job(number, pods={"labels": {"a": name}, "annotations": annotations})
    for pods in ({}, {"name": name}, {"creationTimestamp": None}, {"finalizers": ["x.io/y"]}, {"unknown": name}):
        yield job(number, pods=pods)
    for own in ("job-name", "controller-uid", "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid"):
        for value in (name, "x", UID.format(1)):
            yield job(number, pods={"labels": {own: value}})
    for selected in ({"job": name}, {"job": "n-101"}, {"job": "x"}, {}):
        yield job(number, manualSelector=True, selector={"matchLabels": selected})
        yield job(number, selector={"matchLabels": selected})
    for spec in (
        *({"completions": number, "parallelism": 2}, {"completionMode": "Indexed", "completions": 3}),
        *({"backoffLimit": -1}, {"suspend": True}, {"ttlSecondsAfterFinished": 5}, {"managedBy": f"x.io/{name}"}),
        {"template": {"spec": {"restartPolicy": "Always", "containers": [{"name": name, "image": "x"}]}}},
        {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": name, "image": "x"}]}}},
    ):
        yield job(number, **spec)
    yield {**job(number), "status": {"active": number}}
    yield job(number, told={"name": name, "ownerReferences": [owner(number)]})
    yield job(number, told={"generateName": "n-"})


VARIANTS: Mapping[str, Callable[[int], Iterator[Any]]] = {
    NODES: node_variants,
    LEASES: lease_variants,
    EVENTS: event_variants,
    JOBS: job_variants,
}
COUNTS = {path: sum(1 for _ in variants(1)) for path, variants in VARIANTS.items()}


@pytest.mark.parametrize("path", VARIANTS)
def test_every_kind_of_body_makes_the_same(path: str) -> None:
    twins = Twins()
    for chosen in range(COUNTS[path]):
        for number in range(5):
            body = list(VARIANTS[path](100 + number))[chosen]
            twins.send("POST", path, body)
            twins.send("POST", path, body)
            twins.pass_time(0.4)
        for number in range(5):
            twins.send("DELETE", f"{path}/n-{100 + number}", {"gracePeriodSeconds": 0, **AT_ONCE})
        twins.send("DELETE", path, AT_ONCE)
    twins.compare()
    assert twins.created.taken > COUNTS[path]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(VARIANTS)),
    st.lists(st.tuples(st.integers(0, 999), st.integers(1, 4)), min_size=1, max_size=6),
    st.sampled_from([{}, {"fieldValidation": "Strict"}, {"fieldValidation": "Ignore"}, {"dryRun": "All"}]),
)
def test_any_bodies_make_the_same_one_after_another(
    path: str, turns: list[tuple[int, int]], query: dict[str, str]
) -> None:
    twins = Twins()
    number = 0
    for choice, count in turns:
        for _ in range(count):
            number += 1
            twins.send("POST", path, list(VARIANTS[path](number))[choice % COUNTS[path]], **query)
    for chosen, _ in turns:
        number += 1
        twins.send("POST", path, list(VARIANTS[path](number))[chosen % COUNTS[path]])
    twins.compare()


def test_forms_of_answers_are_those_that_were_asked_for() -> None:
    twins = Twins()
    for number in range(6):
        twins.send("POST", NODES, codec.encode(node(number)), "application/json; charset=utf-8")
        twins.send("POST", NODES, node(number + 10), fieldManager=f"m{number % 2}")
    twins.send("POST", NODES, b"metadata: {name: y}", "application/yaml")
    twins.compare()
    assert twins.created.taken == 2


def lease(number: int) -> Object:
    return next(lease_variants(number))


def test_nothing_comes_into_a_namespace_that_is_missing_or_goes() -> None:
    twins = Twins()
    path = "/apis/coordination.k8s.io/v1/namespaces/x/leases"

    def create(number: int) -> int:
        made = lease(number)
        made["metadata"] |= {"namespace": "x", "finalizers": ["example.com/x"]}
        return twins.send("POST", path, made).status

    assert create(0) == 404
    twins.send("POST", "/api/v1/namespaces", {"metadata": {"name": "x"}})
    assert [create(number) for number in range(1, 5)] == [201] * 4
    twins.send("DELETE", "/api/v1/namespaces/x")
    assert create(5) == 403
    twins.compare()
    assert twins.created.taken == 2


def test_quotas_are_charged_for_each() -> None:
    twins = Twins()
    for number in range(4):
        assert twins.send("POST", LEASES, lease(number)).status == 201
    name = "count/leases.coordination.k8s.io"
    quota: Object = {"metadata": {"name": "q"}, "spec": {"hard": {name: "6"}}}
    quotas = "/api/v1/namespaces/kube-node-lease/resourcequotas"
    made = codec.decode(twins.send("POST", quotas, quota).body)
    made["status"] = {"hard": {name: "6"}, "used": {name: "4"}}
    twins.send("PUT", f"{quotas}/q/status", made)
    assert [twins.send("POST", LEASES, lease(number)).status for number in range(4, 8)] == [201, 201, 403, 403]
    assert twins.get(f"{quotas}/q")["status"]["used"] == {name: "6"}
    twins.compare()
    assert twins.created.taken == 2


def test_jobs_that_differ_in_what_their_pods_are_told_are_the_same_either_way() -> None:
    twins = Twins()
    for number in range(8):
        assert twins.send("POST", JOBS, job(number)).status == 201
        twins.pass_time(0.4)
    made = twins.get(f"{JOBS}/n-7")
    assert made["spec"]["template"]["metadata"]["labels"]["job"] == made["metadata"]["name"] == "n-7"
    assert made["spec"]["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": made["metadata"]["uid"]}
    twins.compare()
    assert twins.created.taken == 6


def test_what_was_created_is_patched_selected_and_deleted_as_any_other() -> None:
    twins = Twins()
    for made in nodes.nodes(Pool(name="p", count=12, gpus=8), now=stamp(twins)):
        twins.send("POST", NODES, made)
        name = made["metadata"]["name"]
        version = twins.get(f"{NODES}/{name}")["metadata"]["resourceVersion"]
        untainted = {"metadata": {"resourceVersion": version}, "spec": {"taints": None}}
        twins.send("PATCH", f"{NODES}/{name}", untainted, "application/merge-patch+json")
        lease = nodestates.lease(name, UID.format(1), duration_s=40, renewed=f"{stamp(twins)[:-1]}.000000Z")
        twins.send("POST", LEASES, lease)
    twins.send("GET", NODES, fieldSelector="spec.unschedulable=false,metadata.name=p-3")
    twins.send("DELETE", f"{NODES}/p-3")
    twins.send("GET", LEASES)
    twins.compare()
    assert twins.created.taken == 20
    assert twins.patched.taken == 10
