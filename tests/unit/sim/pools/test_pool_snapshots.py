from typing import Any

import pytest

from kubedyno.kube import meta
from kubedyno.sim.devices.inventory import Mig, Sharing
from kubedyno.sim.kubelet.settings import KubeletSettings
from kubedyno.sim.pools import Gpus, Level, Pool, Taint, Topology, base, reading, snapshotting, topology, writing
from kubedyno.sim.pools.nodes import nodes

pytestmark = pytest.mark.unit


def made(pool: Pool) -> list[dict[str, Any]]:
    return list(nodes(pool, now="2026-01-02T03:04:05Z"))


@pytest.mark.parametrize(
    "pool",
    [
        base("a", 3),
        Pool(name="a", count=2, cpu="4", memory="8Gi", pods=20, ephemeral_storage="1Ti"),
        Pool(name="a", count=2, resources={"rdma/hca": "8"}, reserved={"cpu": "500m", "memory": "1Gi"}),
        Pool(name="a", count=2, taints=(Taint(key="t", effect="NoExecute", value="v"),), architecture="arm64"),
        Pool(name="a", count=2, kubelet=KubeletSettings(start="uniform(1s, 2s)", topology_manager_policy="restricted")),
        Pool(name="a", count=2, gpus=Gpus(model="H100", show=("extended", "dra"), delay="5s")),
        Pool(name="a", count=2, gpus=Gpus(model="A100", count=4, mig=Mig(layout={"1g.10gb": 7}, whole=1))),
        Pool(name="a", count=2, gpus=Gpus(model="T4", sharing=Sharing(strategy="mps", replicas=4))),
        Pool(name="a", count=2, gpus=Gpus(custom={"like": "H100", "memory_mib": 1000}, count=8)),
        Pool(name="a", count=40, gpus=Gpus(model="GB200-NVL72")),
        Pool(name="a", topology=topology.tree({"zone": 2, "block": 3, "rack": 2, "node": 4})),
        Pool(name="a", count=5, topology=topology.tree({"region": 2, "rack": 4})),
        Pool(name="a", topology=Topology(levels=(Level(level="row", count=3, label="x/row"),))),
        Pool(name="a", nodes=({"zone": "x"}, {"zone": "y"}, {"zone": "y"}), count=3),
    ],
)
def test_the_snapshot_of_a_pool_is_that_pool(pool: Pool) -> None:
    (found,) = snapshotting.pools(made(pool))
    assert found == pool
    assert reading.read(writing.text([found]), source="again", env={}).pools == (pool,)


def test_templates_become_labels_of_single_nodes_and_the_nodes_are_equal() -> None:
    pool = Pool(
        name="a", topology=topology.tree({"zone": 2, "node": 2}), labels={"r": "{{ index // 3 }}", "z": "{{ zone }}"}
    )
    (found,) = snapshotting.pools(reversed(made(pool)))
    assert made(found) == made(pool)
    assert found.topology == pool.topology


def test_several_pools_stay_several() -> None:
    pools = [base("a", 2), base("b", 2), Pool(name="c", count=1, gpus=Gpus(model="L40S"))]
    assert snapshotting.pools([node for pool in pools for node in made(pool)]) == pools


def test_nodes_with_other_taints_are_another_pool() -> None:
    pool = Pool(name="a", count=3, taints=(Taint(key="t", value="{{ index // 2 }}", effect="NoSchedule"),))
    found = snapshotting.pools(made(pool))
    assert [(one.name, one.size, one.taints[0].value) for one in found] == [("a", 2, "0"), ("a-2", 1, "1")]


def test_what_happens_to_a_node_is_no_part_of_its_pool() -> None:
    pool = Pool(name="a", count=2, gpus=Gpus(model="H100"))
    first, second = (meta.copied(node) for node in made(pool))
    first["spec"]["unschedulable"] = True
    first["spec"]["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    first["status"]["allocatable"]["nvidia.com/gpu"] = "7"
    second["metadata"]["annotations"]["kubedyno/faults"] = "[]"
    second["metadata"]["labels"]["beta.kubernetes.io/os"] = "linux"
    assert snapshotting.pools([first, second]) == [pool]


ACCOUNT = "123456789012"


def real(number: int, **labels: str) -> dict[str, Any]:
    """A node of a cloud, with all that tells whose it is."""
    name = f"ip-10-1-2-{number}.internal"
    like = made(Pool(name="x", count=1, gpus=Gpus(model="H100")))[0]
    gpu_labels = {key: value for key, value in like["metadata"]["labels"].items() if key.startswith("nvidia.com/")}
    return {
        "metadata": {
            "name": name,
            "uid": f"5e9f2f5e-0000-4000-8000-00000000000{number}",
            "labels": {
                **gpu_labels,
                "kubernetes.io/hostname": name,
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                "beta.kubernetes.io/arch": "amd64",
                "node.kubernetes.io/instance-type": "p5.48xlarge",
                "topology.kubernetes.io/zone": f"us-east-1{'ab'[number % 2]}",
                "alpha.eksctl.io/cluster-name": "secret-cluster",
                "example.com/account": ACCOUNT,
                "example.com/host": "i-0123456789abcdef0",
                "example.com/asset": f"asset{number}",
                **labels,
            },
            "annotations": {"token": "secret", "csi.volume.kubernetes.io/nodeid": f"secret-{number}"},
        },
        "spec": {
            "providerID": f"aws:///us-east-1a/i-secret{number}",
            "podCIDR": f"192.168.{number}.0/24",
            "taints": [
                {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
                {"key": "team", "value": "ml", "effect": "NoSchedule"},
                {"key": "for", "value": ACCOUNT, "effect": "NoSchedule"},
            ],
        },
        "status": {
            "capacity": {
                "cpu": "192", "memory": "2097152Mi", "pods": "100", "nvidia.com/gpu": "8", "hugepages-2Mi": "0"
            },
            "allocatable": {
                "cpu": "191", "memory": "2096128Mi", "pods": "100", "nvidia.com/gpu": "8", "hugepages-2Mi": "0"
            },
            "addresses": [{"type": "InternalIP", "address": f"10.1.2.{number}"}],
            "nodeInfo": {"architecture": "amd64", "machineID": "secret"},
        },
    }  # fmt: skip


def test_a_snapshot_of_somebody_elses_cluster_tells_no_identities() -> None:
    text = writing.text(snapshotting.pools([real(1), real(2), real(3), real(4, pool="other")]))
    for secret in ("secret", ACCOUNT, "i-0123", "asset", "ip-10", "10.1.2", "192.168", "aws:", "5e9f2f5e"):
        assert secret not in text
    first, second = reading.read(text, source="snapshot", env={}).pools
    assert (first.name, first.size, second.name, second.size) == ("h100", 3, "h100-2", 1)
    assert first.gpus == Gpus(model="H100")
    assert (first.cpu, first.pods, dict(first.reserved)) == ("192", 100, {"cpu": "1", "memory": "1Gi"})
    assert first.labels["node.kubernetes.io/instance-type"] == "p5.48xlarge"
    assert second.labels["pool"] == "other"
    zones = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in made(first)]
    assert sorted(zones) == ["us-east-1a", "us-east-1b", "us-east-1b"]
    assert {taint.key: taint.value for taint in first.taints} == {"team": "ml", "for": ""}
    assert made(first)[0]["status"]["capacity"] == {
        "cpu": "192", "memory": "2Ti", "pods": "100", "nvidia.com/gpu": "8", "hugepages-2Mi": "0"
    }  # fmt: skip


def test_fabrics_of_somebody_elses_cluster_get_other_names_and_stay_apart() -> None:
    uuid = "5e9f2f5e-1234-4000-8000-000000000000"
    cliques = [f"{uuid}.{number % 2}" for number in range(4)]
    found = snapshotting.pools([real(n, **{"nvidia.com/gpu.clique": clique}) for n, clique in enumerate(cliques)])
    assert uuid not in writing.text(found)
    shown = [node["metadata"]["labels"]["nvidia.com/gpu.clique"] for node in made(found[0])]
    assert [shown.count(clique) for clique in dict.fromkeys(shown)] == [2, 2]


@pytest.mark.parametrize(
    ("gpus", "recognised"),
    [
        (Gpus(model="A100", mig=Mig(strategy="single", layout={"1g.10gb": 7})), True),
        (Gpus(model="A100", mig=Mig(layout={"1g.10gb": 2, "3g.40gb": 1}, whole=2)), True),
        (Gpus(model="L40S", sharing=Sharing(replicas=3)), True),
        (Gpus(custom={"like": "H100", "product": "NVIDIA H9000"}), False),
    ],
)
def test_gpus_are_recognised_by_the_labels_of_feature_discovery(gpus: Gpus, recognised: bool) -> None:
    (like,) = made(Pool(name="a", count=1, gpus=gpus))
    node = meta.copied(like)
    del node["metadata"]["labels"]["kubedyno/pool"]
    node["metadata"]["annotations"] = {}
    (found,) = snapshotting.pools([node])
    assert isinstance(found.gpus, Gpus) is recognised
    (again,) = made(found)
    assert again["status"]["capacity"] == like["status"]["capacity"]
    for key, value in like["metadata"]["labels"].items():
        if key.startswith("nvidia.com/"):
            assert again["metadata"]["labels"][key] == value
