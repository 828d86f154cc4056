import ipaddress
from typing import Any

import msgspec
import pytest

from kubedyno.kinds import rules
from kubedyno.kit.errors import UsageError
from kubedyno.kube.resources import NODES
from kubedyno.sim import marks
from kubedyno.sim.devices import inventory
from kubedyno.sim.devices.inventory import Mig, Sharing
from kubedyno.sim.kubelet.settings import KubeletSettings
from kubedyno.sim.pools import Gpus, Level, Pool, Taint, Topology, base, ranges, topology
from kubedyno.sim.pools.arriving import usable
from kubedyno.sim.pools.nodes import index_of, nodes

pytestmark = pytest.mark.unit

NOW = "2026-01-02T03:04:05Z"


def made(pool: Pool) -> list[dict[str, Any]]:
    return list(nodes(pool, now=NOW))


def test_a_node_is_whole_and_ready_and_the_server_would_take_it() -> None:
    first, second = made(base("gpu", 2))
    assert first["metadata"]["labels"] == {
        "kubernetes.io/hostname": "gpu-0",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "type": "kwok",
        "kubedyno/pool": "gpu",
    }
    assert first["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}
    assert first["spec"] == {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"], "providerID": "kubedyno://gpu-0"}
    assert first["status"]["capacity"] == {"cpu": "32", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"}
    assert first["status"]["allocatable"] == first["status"]["capacity"]
    assert {entry["type"]: entry["status"] for entry in first["status"]["conditions"]} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
    assert first["status"]["addresses"][0] == {"type": "InternalIP", "address": "172.16.0.1"}
    for field in ("machineID", "systemUUID", "bootID"):
        assert first["status"]["nodeInfo"][field] != second["status"]["nodeInfo"][field]
    assert rules.created(first, NODES) == []
    assert made(base("gpu", 2)) == [first, second]


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        (0, {}),
        (4, {"nvidia.com/gpu": "4"}),
        (Gpus(model="h100"), {"nvidia.com/gpu": "8"}),
        (Gpus(model="H100", count=2), {"nvidia.com/gpu": "2"}),
        (Gpus(model="H100", show=("dra",)), {}),
        (Gpus(model="H100", delay="5s"), {}),
        (Gpus(model="T4", sharing=Sharing(replicas=4)), {"nvidia.com/gpu": "16"}),
        (Gpus(model="A100", mig=Mig(strategy="single", layout={"1g.10gb": 7})), {"nvidia.com/gpu": "56"}),
        (
            Gpus(model="A100", mig=Mig(layout={"3g.40gb": 2}, whole=6)),
            {"nvidia.com/gpu": "6", "nvidia.com/mig-3g.40gb": "4"},
        ),
        (Gpus(custom={"like": "H100", "memory_mib": 1024}), {"nvidia.com/gpu": "8"}),
    ],
)
def test_gpus_are_resources_of_the_node_unless_they_come_later_or_by_dra(
    gpus: int | Gpus, expected: dict[str, str]
) -> None:
    (node,) = made(Pool(name="p", count=1, gpus=gpus))
    devices = {name: amount for name, amount in node["status"]["capacity"].items() if "/" in name}
    assert devices == expected
    assert (marks.DEVICES in node["metadata"]["annotations"]) is isinstance(gpus, Gpus)


def test_a_model_brings_its_machine_and_the_labels_of_feature_discovery() -> None:
    (node,) = made(Pool(name="p", count=1, gpus=Gpus(model="GB200 NVL72")))
    labels = node["metadata"]["labels"]
    assert labels["kubernetes.io/arch"] == node["status"]["nodeInfo"]["architecture"] == "arm64"
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-GB200"
    assert node["status"]["capacity"]["cpu"] == "144"
    (smaller,) = made(Pool(name="p", count=1, gpus=Gpus(model="GB200 NVL72"), cpu=8, architecture="amd64"))
    assert smaller["status"]["capacity"]["cpu"] == "8"
    assert smaller["status"]["nodeInfo"]["architecture"] == "amd64"


def test_nodes_of_one_nvlink_domain_share_a_clique_in_label_and_inventory() -> None:
    found = made(Pool(name="p", count=37, gpus=Gpus(model="GB200-NVL72")))
    cliques = [node["metadata"]["labels"]["nvidia.com/gpu.clique"] for node in found]
    assert [cliques.count(clique) for clique in dict.fromkeys(cliques)] == [18, 18, 1]
    for node, clique in zip(found, cliques, strict=True):
        devices = inventory.of(node)
        assert devices is not None
        assert devices.clique == clique
    uuid = "00000000-0000-4000-8000-000000000000"
    (named,) = made(Pool(name="p", count=1, gpus=Gpus(model="GB200-NVL72", cluster_uuid=uuid)))
    assert named["metadata"]["labels"]["nvidia.com/gpu.clique"] == f"{uuid}.0"


def test_a_topology_gives_each_node_its_place() -> None:
    levels = tuple(Level(level=name, count=count) for name, count in (("zone", 2), ("rack", 2), ("node", 2)))
    found = made(Pool(name="p", topology=Topology(levels=levels), labels={"at": "{{ rack }}"}))
    assert len(found) == 8
    labels = found[5]["metadata"]["labels"]
    assert labels["topology.kubernetes.io/zone"] == "zone-1"
    assert labels["cloud.provider.com/topology-rack"] == labels["at"] == "zone-1-rack-0"
    assert labels["kubernetes.io/hostname"] == "p-5"
    assert len(made(Pool(name="p", count=3, topology=Topology(levels=levels)))) == 3


@pytest.mark.parametrize(
    ("served", "expected"),
    [
        ([], []),
        (["kueue.x-k8s.io/v1alpha1"], ["kueue.x-k8s.io/v1alpha1"]),
        (["kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2"], ["kueue.x-k8s.io/v1beta2"]),
        (["kueue.x-k8s.io/v1beta1", "kai.scheduler/v1alpha1"], ["kueue.x-k8s.io/v1beta1", "kai.scheduler/v1alpha1"]),
    ],
)
def test_schedulers_are_told_of_the_levels_in_the_newest_version_that_is_served(
    served: list[str], expected: list[str]
) -> None:
    pool = Pool(name="p", topology=topology.tree({"zone": 2, "node": 2}))
    documents = topology.documents(pool, {(version, "Topology") for version in served})
    assert [document["apiVersion"] for document in documents] == expected
    for document in documents:
        assert document["metadata"] == {"name": "p"}
        assert document["spec"]["levels"] == [
            {"nodeLabel": "topology.kubernetes.io/zone"},
            {"nodeLabel": "kubernetes.io/hostname"},
        ]
    assert topology.documents(Pool(name="p", count=1), {("kai.scheduler/v1alpha1", "Topology")}) == []


def test_texts_are_filled_in_for_each_node() -> None:
    pool = Pool(
        name="p",
        count=4,
        labels={"half": "h{{ index // 2 }}", "me": "{{ pool }}.{{ name }}"},
        annotations={"note": "{{ index * 10 }}"},
        taints=(Taint(key="odd", value="{{ index % 2 }}", effect="NoSchedule"),),
        nodes=({}, {"half": "mine"}),
    )
    found = made(pool)
    assert [node["metadata"]["labels"]["half"] for node in found] == ["h0", "mine", "h1", "h1"]
    assert found[3]["metadata"]["labels"]["me"] == "p.p-3"
    assert found[3]["metadata"]["annotations"]["note"] == "30"
    assert found[3]["spec"]["taints"] == [{"key": "odd", "value": "1", "effect": "NoSchedule"}]


def test_settings_of_the_kubelet_and_what_it_reserves_stand_on_the_node() -> None:
    pool = Pool(name="p", count=1, kubelet=KubeletSettings(start="3s"), reserved={"cpu": "500m", "memory": "1Gi"})
    (node,) = made(pool)
    assert msgspec.json.decode(node["metadata"]["annotations"][marks.KUBELET]) == {"start": "3s"}
    assert node["status"]["capacity"]["cpu"] == "32"
    assert node["status"]["allocatable"] == {"cpu": "31500m", "memory": "255Gi", "pods": "110"}


def test_every_node_has_addresses_of_its_own() -> None:
    def own(slot: int) -> str:
        return str(ranges.addresses("n", slot)[0]["address"])

    slots = range(ranges.COUNT)
    assert len({ranges.cidr(slot) for slot in slots}) == len({own(slot) for slot in slots}) == len(slots)
    for slot in (0, 255, 256, 65535, 65536, 131071):
        assert ranges.of_node({"spec": ranges.spec_of(slot)}) == range(slot, slot + 1)
        assert ipaddress.ip_address(own(slot)) in ipaddress.ip_network("172.16.0.0/12")
    assert not ranges.of_node({})


@pytest.mark.parametrize(
    ("taken", "first"),
    [
        ([], [0, 1, 2]),
        (["10.0.0.0/24", "10.0.2.0/24"], [1, 3, 4]),
        (["10.0.0.0/23"], [2, 3, 4]),
        (["10.0.1.128/25"], [0, 2, 3]),
        (["10.0.0.0/9"], [32768, 32769, 32770]),
        (["10.0.0.0/8", "240.0.1.0/24"], [65536, 65538, 65539]),
        (["192.168.0.0/24", "fd00::/64", "nonsense"], [0, 1, 2]),
    ],
)
def test_ranges_that_others_have_are_left_out(taken: list[str], first: list[int]) -> None:
    free = ranges.free({slot for text in taken for slot in ranges.slots(text)})
    assert [next(free) for _ in first] == first


def test_ranges_may_come_from_the_end() -> None:
    free = ranges.free({131070}, highest_first=True)
    assert [next(free), next(free)] == [131071, 131069]
    assert ranges.cidr(131071) == "240.255.255.0/24"


@pytest.mark.parametrize("highest_first", [False, True])
def test_no_range_is_left_when_all_are_taken(*, highest_first: bool) -> None:
    with pytest.raises(UsageError) as caught:
        next(ranges.free(ranges.slots("0.0.0.0/0"), highest_first=highest_first))
    assert str(caught.value) == (
        "all 131072 ranges of pod addresses in 10.0.0.0/8 and 240.0.0.0/8 are taken: "
        "ask for fewer nodes, or delete a pool"
    )
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "expected"), [("a-b-3", 3), ("a-b-03", None), ("a-b", None), ("a-b-x", None), ("c-3", None)]
)
def test_a_node_knows_its_place_by_its_name(name: str, expected: int | None) -> None:
    assert index_of("a-b", name) == expected


def node(ready: str | None, *taints: str) -> dict[str, Any]:
    return {
        "spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]} if taints else {},
        "status": {"conditions": [{"type": "Ready", "status": ready}]} if ready else {},
    }


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (node("True"), True),
        (node("True", "nvidia.com/gpu"), True),
        (node("True", "node.kubernetes.io/not-ready"), False),
        (node("True", "nvidia.com/gpu", "node.kubernetes.io/unreachable"), False),
        (node("False"), False),
        (node("Unknown"), False),
        (node(None), False),
        ({}, False),
    ],
)
def test_a_node_can_be_used_when_it_is_ready_and_free_of_the_taints_of_its_creation(
    seen: dict[str, Any], expected: bool
) -> None:
    assert usable(seen) is expected
