"""NodePools in virtual time: what a user sees with kubectl after each thing that can be done to one."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from kubedyno.client.errors import ApiError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CRDS, DEPLOYMENTS, LEASES, NAMESPACES, NODES
from kubedyno.sim.nodepools import definition
from kubedyno.sim.nodepools.definition import NODE_POOLS
from kubedyno.sim.nodepools.reconciling import FINALIZER
from kubedyno.sim.nodepools.template import WRITTEN

pytestmark = pytest.mark.unit

MakePool = Callable[..., Object]
InWorld = Callable[..., Any]


def names(nodes: list[Object]) -> list[str]:
    return [node["metadata"]["name"] for node in nodes]


def uids(nodes: list[Object]) -> list[str]:
    return [node["metadata"]["uid"] for node in nodes]


def test_a_pool_becomes_nodes(world: InWorld, pool: MakePool) -> None:
    async def play(there: Any) -> None:
        made = await there.client.create(NODE_POOLS, pool(3))
        nodes = await there.ready()
        assert names(nodes) == ["p-0", "p-1", "p-2"]
        node = nodes[1]
        assert node["metadata"]["labels"] == {
            "beta.kubernetes.io/arch": "amd64",
            "beta.kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": "p-1",
            "kubernetes.io/os": "linux",
            "kubernetes.io/role": "agent",
            "kwok.x-k8s.io/controller": "p",
            "type": "kwok",
        }
        annotations = {name: text for name, text in meta.annotations(node).items() if name != WRITTEN}
        assert annotations == {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"}
        assert meta.owner_references(node) == [
            {
                "apiVersion": "kwok.sigs.run-ai.com/v1beta1",
                "kind": "NodePool",
                "name": "p",
                "uid": made["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"} in node["spec"]["taints"]
        assert node["status"]["capacity"] == {"cpu": "32", "memory": "256Gi", "pods": "110"}
        assert node["status"]["nodeInfo"]["kubeletVersion"] == "fake"
        assert len({entry["spec"]["podCIDR"] for entry in nodes}) == 3
        found = await there.client.get(NODE_POOLS, "p")
        assert found["metadata"]["finalizers"] == [FINALIZER]
        assert found["status"]["observedGeneration"] == found["metadata"]["generation"] == 1
        (condition,) = found["status"]["conditions"]
        assert {**condition, "lastTransitionTime": ""} == {
            "type": "Available",
            "status": "True",
            "reason": "Ready",
            "message": "NodePool is ready",
            "lastTransitionTime": "",
        }

    world(play)


def test_a_patched_count_creates_and_deletes_only_what_differs(world: InWorld, pool: MakePool) -> None:
    async def play(there: Any) -> None:
        await there.client.create(NODE_POOLS, pool(5))
        first = await there.ready()
        there.writes("POST")
        await there.patch({"nodeCount": 8})
        more = await there.ready()
        assert uids(more)[:5] == uids(first)
        assert len(more) == len(there.writes("POST")) + 5 == 8
        await there.patch({"nodeCount": 2})
        assert uids(await there.ready()) == uids(first)[:2]
        await there.patch({"nodeCount": 0})
        assert await there.ready() == []

    world(play)


def test_nodes_are_created_side_by_side(world: InWorld, pool: MakePool) -> None:
    async def play(there: Any) -> None:
        await there.client.create(NODE_POOLS, pool(300))
        assert len(await there.ready()) == 300
        assert len(there.writes("POST")) == 301  # each once, and the definition

    world(play)


def test_a_changed_template_is_written_onto_the_nodes(world: InWorld, pool: MakePool) -> None:
    async def play(there: Any) -> None:
        await there.client.create(NODE_POOLS, pool(3))
        before = await there.ready()
        foreign = {"metadata": {"labels": {"mine": "yes"}}, "spec": {"unschedulable": True}}
        await there.client.patch(NODES, "p-1", foreign, kind="merge")
        await there.patch(
            {
                "nodeTemplate": {
                    "metadata": {"labels": {"type": None, "rack": "r1"}, "annotations": {"note": "new"}},
                    "spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]},
                    "status": {
                        "capacity": {"nvidia.com/gpu": "8", "pods": None},
                        "allocatable": {"nvidia.com/gpu": 7, "pods": None},
                    },
                }
            }
        )
        after = await there.ready()
        assert uids(after) == uids(before)
        for node in after:
            labels = meta.labels(node)
            assert "type" not in labels
            assert (labels["rack"], labels["kubernetes.io/hostname"]) == ("r1", node["metadata"]["name"])
            assert meta.annotations(node)["note"] == "new"
            assert {"gpu", "kwok.x-k8s.io/node"} <= {taint["key"] for taint in node["spec"]["taints"]}
            assert node["status"]["capacity"] == {"cpu": "32", "memory": "256Gi", "nvidia.com/gpu": "8"}
            assert node["status"]["allocatable"] == {"cpu": "32", "memory": "256Gi", "nvidia.com/gpu": "7"}
        assert meta.labels(after[1])["mine"] == "yes"
        assert "node.kubernetes.io/unschedulable" in {taint["key"] for taint in after[1]["spec"]["taints"]}
        await there.patch({"nodeTemplate": {"spec": {"taints": None}}})
        for node in await there.ready():
            assert "gpu" not in {taint["key"] for taint in node["spec"]["taints"]}
            assert "kwok.x-k8s.io/node" in {taint["key"] for taint in node["spec"]["taints"]}

    world(play)


def test_count_and_template_changed_together(world: InWorld, pool: MakePool) -> None:
    async def play(there: Any) -> None:
        await there.client.create(NODE_POOLS, pool(2))
        before = await there.ready()
        await there.patch({"nodeCount": 4, "nodeTemplate": {"metadata": {"labels": {"rack": "r1"}}}})
        after = await there.ready()
        assert uids(after)[:2] == uids(before)
        assert [meta.labels(node)["rack"] for node in after] == ["r1"] * 4
        await there.patch({"nodeCount": 1, "nodeTemplate": {"metadata": {"labels": {"rack": "r2"}}}})
        (last,) = await there.ready()
        assert (last["metadata"]["uid"], meta.labels(last)["rack"]) == (uids(before)[0], "r2")

    world(play)


def test_what_others_do_to_a_node_is_left_alone(world: InWorld, pool: MakePool) -> None:
    async def play(there: Any) -> None:
        await there.client.create(NODE_POOLS, pool(1))
        await there.ready()
        lost = {"status": {"allocatable": {"cpu": "1"}}}
        await there.client.patch(NODES, "p-0", lost, kind="merge", subresource="status")
        await there.client.patch(NODES, "p-0", {"metadata": {"labels": {"type": "mine"}}}, kind="merge")
        await there.patch({"nodeTemplate": {"metadata": {"labels": {"rack": "r1"}}}})
        (node,) = await there.ready()
        assert node["status"]["allocatable"]["cpu"] == "1"
        assert (meta.labels(node)["type"], meta.labels(node)["rack"]) == ("mine", "r1")

    world(play)


def test_a_node_deleted_by_hand_comes_back_at_once(world: InWorld, pool: MakePool) -> None:
    async def play(there: Any) -> None:
        await there.client.create(NODE_POOLS, pool(3))
        before = await there.ready()
        deleted_ns = there.clock.wall_ns()
        await there.client.delete(NODES, "p-1")
        await there.until(NODES, lambda found: len(found) == 3 and set(uids(found)) != set(uids(before)))
        assert there.clock.wall_ns() - deleted_ns < 1e9
        after = await there.ready()
        assert names(after) == names(before)
        assert [old == new for old, new in zip(uids(before), uids(after), strict=True)] == [True, False, True]

    world(play)


@pytest.mark.parametrize("propagation", [None, "Foreground", "Background"])
def test_a_deleted_pool_takes_its_nodes_along(world: InWorld, pool: MakePool, propagation: Any) -> None:
    async def play(there: Any) -> None:
        await there.client.create(NODE_POOLS, pool(20))
        await there.client.create(NODE_POOLS, pool(2, name="other"))
        await there.ready("other")
        await there.ready()
        there.writes("POST")
        await there.client.delete(NODE_POOLS, "p", propagation=propagation)
        await there.until(NODE_POOLS, lambda found: names(found) == ["other"])
        assert names((await there.client.list_all(NODES)).items) == ["other-0", "other-1"]
        assert there.writes("POST") == []  # nothing is made anew on the way

    world(play)


def test_a_pool_deleted_alone_leaves_nodes_that_a_later_one_adopts(world: InWorld, pool: MakePool) -> None:
    async def play(there: Any) -> None:
        await there.client.create(NODE_POOLS, pool(2))
        before = await there.ready()
        await there.clock.sleep(60)  # the garbage collector learns of new kinds now and then
        await there.client.delete(NODE_POOLS, "p", propagation="Orphan")
        await there.until(NODE_POOLS, lambda found: not found)
        alone = await there.nodes()
        assert uids(alone) == uids(before)
        assert [meta.owner_references(node) for node in alone] == [[], []]
        again = await there.client.create(NODE_POOLS, pool(3))
        adopted = await there.ready()
        assert uids(adopted)[:2] == uids(before)
        owners = [meta.owner_references(node)[0]["uid"] for node in adopted]
        assert owners == [again["metadata"]["uid"]] * 3

    world(play)


def test_a_pool_that_comes_again_while_it_goes(world: InWorld, pool: MakePool) -> None:
    async def play(there: Any) -> None:
        for count in (30, 10, 20):
            await there.client.create(NODE_POOLS, pool(count))
            if count != 10:  # the second one goes before it is complete
                assert len(await there.ready()) == count
            await there.client.delete(NODE_POOLS, "p")
            await there.until(NODE_POOLS, lambda found: not found)
            assert await there.nodes() == []

    world(play)


REFUSED = [
    (
        {"metadata": {"labels": {"rack": "not a label!"}}},
        (
            'Node "p-0" is invalid: metadata.labels: Invalid value: "not a label!": a valid label must be an empty '
            "string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        ),
    ),
    (
        {"spec": {"taints": [{"key": "gpu", "effect": "Never"}]}},
        (
            'Node "p-0" is invalid: metadata.taints[0].effect: Unsupported value: "Never": supported values: '
            '"NoSchedule", "PreferNoSchedule", "NoExecute"'
        ),
    ),
]


@pytest.mark.parametrize(("template", "sentence"), REFUSED)
def test_what_the_server_refuses_is_told_by_the_pool(
    world: InWorld, pool: MakePool, template: dict[str, Any], sentence: str
) -> None:
    async def play(there: Any) -> None:
        await there.client.create(NODE_POOLS, pool(50, **template))
        told = await there.condition("p", lambda condition: "invalid" in condition["message"])
        assert (told["status"], told["reason"], told["message"]) == ("False", "ScalingUp", sentence)
        there.writes("POST")
        await there.clock.sleep(600)
        assert 9 <= len(there.writes("POST")) <= 25  # tried again, ever more seldom
        await there.patch({"nodeTemplate": {"metadata": {"labels": {"rack": "r1"}}, "spec": {"taints": None}}})
        assert len(await there.ready()) == 50

    world(play)


def test_a_refused_change_leaves_the_nodes_as_they_are(world: InWorld, pool: MakePool) -> None:
    async def play(there: Any) -> None:
        await there.client.create(NODE_POOLS, pool(20))
        before = await there.ready()
        there.writes("PATCH")
        await there.patch({"nodeTemplate": {"metadata": {"labels": {"type": "-"}}}})
        told = await there.condition("p", lambda condition: "invalid" in condition["message"])
        assert (told["status"], told["reason"]) == ("False", "Updating")
        assert 'Invalid value: "-"' in told["message"]
        tried = [path for path in there.writes("PATCH") if path.startswith("/api/v1/nodes/")]
        assert len(tried) == 1  # what one refuses all refuse
        await there.patch({"nodeTemplate": {"metadata": {"labels": {"type": "kwok"}}}})
        assert uids(await there.ready()) == uids(before)

    world(play)


def test_a_node_of_somebody_else_in_the_way_is_told(world: InWorld, pool: MakePool) -> None:
    async def play(there: Any) -> None:
        await there.client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "p-1"}})
        await there.client.create(NODE_POOLS, pool(3))
        told = await there.condition("p", lambda condition: "exists" in condition["message"])
        assert (told["status"], told["message"]) == ("False", 'nodes "p-1" already exists')
        assert names(await there.nodes()) == ["p-0", "p-2"]
        await there.client.delete(NODES, "p-1")
        assert names(await there.ready()) == ["p-0", "p-1", "p-2"]

    world(play)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            {"nodeCount": -1, "nodeTemplate": {}},
            (
                'NodePool.kwok.sigs.run-ai.com "p" is invalid: spec.nodeCount: Invalid value: -1: spec.nodeCount in '
                "body should be greater than or equal to 0"
            ),
        ),
        (
            {"nodeTemplate": {}},
            'NodePool.kwok.sigs.run-ai.com "p" is invalid: spec.nodeCount: Required value',
        ),
    ],
)
def test_the_server_refuses_a_pool_that_cannot_be(
    world: InWorld, pool: MakePool, spec: dict[str, Any], sentence: str
) -> None:
    async def play(there: Any) -> None:
        with pytest.raises(ApiError) as caught:
            await there.client.create(NODE_POOLS, {**pool(1), "spec": spec})
        assert (caught.value.code, caught.value.message, caught.value.exit_code) == (422, sentence, 3)

    world(play)


def test_nodes_of_the_kwok_operator_are_taken_over(world: InWorld, pool: MakePool) -> None:
    """What it made is kept: random names, one hostname for all, no word of what was written."""

    async def play(there: Any) -> None:
        wanted = {**pool(0), "metadata": {"name": "p", "finalizers": [FINALIZER]}}
        made = await there.client.create(NODE_POOLS, wanted)
        await there.ready()
        for suffix in ("x7k2p", "bcdfg"):
            owner = {"apiVersion": NODE_POOLS.api_version, "kind": "NodePool", "name": "p", "controller": True}
            labels = {"kwok.x-k8s.io/controller": "p", "kubernetes.io/hostname": "kwok-node"}
            metadata = {"name": f"p-{suffix}", "labels": labels}
            metadata["ownerReferences"] = [{**owner, "uid": made["metadata"]["uid"]}]  # type: ignore[assignment]
            # The pool grows at the same time, else they would be too many.
            await there.patch({"nodeCount": len(await there.nodes()) + 1})
            await there.ready()
            await there.client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
            await there.until(NODES, lambda found: all(WRITTEN in meta.annotations(node) for node in found))
        await there.patch({"nodeCount": 3})
        nodes = await there.ready()
        assert names(nodes) == ["p-0", "p-bcdfg", "p-x7k2p"]
        assert [meta.labels(node)["kubernetes.io/hostname"] for node in nodes] == names(nodes)
        await there.patch({"nodeCount": 1})
        assert names(await there.ready()) == ["p-bcdfg"]

    world(play)


def test_pools_have_no_range_of_addresses_in_common(world: InWorld, pool: MakePool) -> None:
    async def play(there: Any) -> None:
        other = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"podCIDR": "240.255.254.0/24"}}
        await there.client.create(NODES, other)
        for number in range(8):
            await there.client.create(NODE_POOLS, pool(4, name=f"p{number}"))
        for number in range(8):
            await there.ready(f"p{number}")
        ranges = [node["spec"]["podCIDR"] for node in (await there.client.list_all(NODES)).items]
        assert len(ranges) == len(set(ranges)) == 33

    world(play)


def test_nothing_is_left_behind_when_writes_are_lost(world: InWorld, pool: MakePool) -> None:
    async def play(there: Any) -> None:
        await there.client.create(NODE_POOLS, pool(100))
        assert len(await there.ready()) == 100
        await there.patch({"nodeCount": 40, "nodeTemplate": {"metadata": {"labels": {"rack": "r1"}}}})
        nodes = await there.ready()
        assert [meta.labels(node)["rack"] for node in nodes] == ["r1"] * 40
        await there.client.delete(NODE_POOLS, "p")
        await there.until(NODE_POOLS, lambda found: not found)
        assert await there.nodes() == []

    async def prepare(there: Any) -> None:
        await definition.install(there.client)

    world(play, losses=0.2, prepare=prepare)


OPERATORS = {
    "a Deployment": (DEPLOYMENTS, {"replicas": 1}),
    "a Lease": (LEASES, {"holderIdentity": "kwok-operator-0", "leaseDurationSeconds": 3600}),
}


@pytest.mark.parametrize("sign", list(OPERATORS))
def test_where_the_kwok_operator_runs_pools_are_left_to_it(
    world: InWorld, pool: MakePool, sign: str, caplog: pytest.LogCaptureFixture
) -> None:
    resource, spec = OPERATORS[sign]
    space = "kwok-operator-system"

    async def prepare(there: Any) -> None:
        await there.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        if resource == DEPLOYMENTS:
            labels = {"control-plane": "kwok-operator"}
            template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "i"}]}}
            name, more = "kwok-operator-kwok-operator", {"selector": {"matchLabels": labels}, "template": template}
        else:
            name, more = "2f4ccc1c.run-ai.com", {"renewTime": "2999-01-01T00:00:00.000000Z"}
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        await there.client.create(
            resource, {**kind, "metadata": {"name": name}, "spec": {**spec, **more}}, namespace=space
        )

    async def play(there: Any) -> None:
        await there.client.create(NODE_POOLS, pool(2))
        await there.clock.sleep(600)
        assert await there.nodes() == []
        assert there.writes("PATCH") == []
        if resource == DEPLOYMENTS:
            scaled = {"spec": {"replicas": 0}}
            await there.client.patch(resource, "kwok-operator-kwok-operator", scaled, kind="merge", namespace=space)
        else:
            await there.client.delete(resource, "2f4ccc1c.run-ai.com", namespace=space)
        assert len(await there.ready()) == 2

    with caplog.at_level(logging.WARNING):
        world(play, prepare=prepare)
    (record,) = [entry for entry in caplog.records if entry.name == "kubedyno.nodepools"]
    assert "left to the kwok-operator that runs in this cluster" in record.getMessage()
    assert f"{resource.kind} kwok-operator-system/" in record.getMessage()


def test_a_definition_that_is_there_is_left_alone(world: InWorld, pool: MakePool) -> None:
    async def prepare(there: Any) -> None:
        theirs = definition.document()
        del theirs["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["nodeCount"][
            "minimum"
        ]
        await there.client.create(CRDS, theirs)

    async def play(there: Any) -> None:
        await there.client.create(NODE_POOLS, pool(-1))
        told = await there.condition("p", lambda condition: condition["status"] == "False")
        assert told["message"] == "spec.nodeCount is -1: write 0 or more"
        await there.patch({"nodeCount": 1})
        assert len(await there.ready()) == 1

    world(play, prepare=prepare)


def test_a_definition_that_is_deleted_is_waited_for(world: InWorld, pool: MakePool) -> None:
    async def play(there: Any) -> None:
        await there.client.create(NODE_POOLS, pool(2))
        await there.ready()
        await there.client.delete(NODE_POOLS, "p")
        await there.until(NODE_POOLS, lambda found: not found)
        await there.client.delete(CRDS, "nodepools.kwok.sigs.run-ai.com")
        await there.until(CRDS, lambda found: not found)
        await there.clock.sleep(60)
        await definition.install(there.client)
        while not await definition.is_served(there.client):
            await there.clock.sleep(1)
        await there.client.create(NODE_POOLS, pool(3))
        assert len(await there.ready()) == 3

    world(play)
