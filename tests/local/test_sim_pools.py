"""Node pools on a real control plane: the same nodes as on the embedded engine, changed in place, and a snapshot."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import yaml
from tests.labs import lab_in_process

from kubedyno.client.rest import Client
from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CRDS, NODES
from kubedyno.lab import installing
from kubedyno.lab.starting import RunningLab
from kubedyno.plane import provisioning
from kubedyno.sim import marks
from kubedyno.sim.pools import Pool, applying, reading, snapshotting, topology
from kubedyno.sim.pools.applying import Applied
from kubedyno.sim.pools.arriving import usable

from .conftest import User

pytestmark = pytest.mark.local

EXAMPLE = Path(__file__).parents[2] / "examples" / "pools.yaml"
TOPOLOGIES = "topologies.kueue.x-k8s.io"
# What controllers of the real control plane add, each in its time.
ADDED_LABELS = ("beta.kubernetes.io/arch", "beta.kubernetes.io/os")
ADDED_ANNOTATION = "node.alpha.kubernetes.io/ttl"
SMALL = """
pools:
- name: sim-h100
  gpus: {model: H100}
  topology: {zone: 2, rack: 2, node: 2}
  labels: {row: "row-{{ index // 4 }}"}
  taints: [{key: t, value: "{{ rack }}", effect: NoSchedule}]
  resources: {rdma/hca: 8}
  reserved: {cpu: 500m}
- name: sim-a100
  count: 3
  gpus: {model: A100, mig: {layout: {1g.10gb: 7}, whole: 2}}
- name: sim-gb200
  count: 20
  gpus: {model: GB200 NVL72}
- {name: sim-cpu, count: 2, cpu: 0.5, memory: 1000Mi, ephemeralStorage: 1Ti, kubelet: {start: 1s}}
"""


def pools(text: str = SMALL) -> tuple[Pool, ...]:
    return reading.read(text, source="pools.yaml", env={}).pools


async def listed(client: Client) -> dict[str, Object]:
    selector = f"{marks.POOL} in ({','.join(pool.name for pool in pools())})"
    found = (await client.list_all(NODES, label_selector=selector)).items
    return {node["metadata"]["name"]: node for node in found}


def comparable(node: Object) -> Object:
    """The node without what differs between two servers: ids, times, and what controllers add later."""
    plain = meta.copied(node)
    metadata = plain["metadata"]
    for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
        metadata.pop(field)
    for key in ADDED_LABELS:
        metadata["labels"].pop(key, None)
    metadata["annotations"].pop(ADDED_ANNOTATION, None)
    for condition in plain["status"]["conditions"]:
        del condition["lastHeartbeatTime"], condition["lastTransitionTime"]
    return dict(plain)


@pytest.fixture
async def client(shared_lab: RunningLab) -> AsyncIterator[Client]:
    """The shared control plane, with all pools of the test gone after it."""
    yield shared_lab.client
    known = await applying.defined(shared_lab.client)
    await applying.delete(shared_lab.client, [name for name in known if name.startswith("sim-")])


async def test_the_same_file_gives_the_same_nodes_on_both_engines(client: Client, tmp_path: Path) -> None:
    # The shared lab has four nodes of its own.
    async with lab_in_process(tmp_path / "lab", engine="embedded", nodes=4) as embedded:
        await applying.apply(embedded.client, pools())
        theirs = await listed(embedded.client)
        there = snapshotting.pools(theirs.values())
    await applying.apply(client, pools())
    ours = await listed(client)
    assert len(ours) == 33
    assert all(map(usable, ours.values()))
    assert {name: comparable(node) for name, node in ours.items()} == {
        name: comparable(node) for name, node in theirs.items()
    }
    assert snapshotting.pools(ours.values()) == there


async def test_a_snapshot_applied_again_changes_nothing(client: Client) -> None:
    await applying.apply(client, pools(SMALL.replace("{{ rack }}", "x")))
    found = snapshotting.pools((await listed(client)).values())
    applied = await applying.apply(client, found, dry_run=True)
    assert applied == [Applied(pool=pool.name, size=pool.size) for pool in found]


async def test_changes_are_made_in_place_and_spare_what_others_wrote(client: Client) -> None:
    await applying.apply(client, pools())
    before = await listed(client)
    theirs = {"metadata": {"labels": {"theirs": "1"}}, "spec": {"unschedulable": True}}
    await client.patch(NODES, "sim-h100-0", theirs, kind="merge")
    changed = SMALL.replace("row:", "line:").replace("key: t", "key: u").replace("rdma/hca: 8", "rdma/hcb: 4")
    applied = await applying.apply(client, pools(changed))
    assert applied[0] == Applied(pool="sim-h100", size=8, changed=8)
    assert all(not (one.created or one.changed or one.deleted) for one in applied[1:])
    after = await listed(client)
    assert {node["metadata"]["uid"] for node in after.values()} == {node["metadata"]["uid"] for node in before.values()}
    node = after["sim-h100-0"]
    labels = node["metadata"]["labels"]
    assert (labels.get("row"), labels["line"], labels["theirs"]) == (None, "row-0", "1")
    assert node["spec"]["unschedulable"]
    assert "t" not in [taint["key"] for taint in node["spec"]["taints"]]
    assert {"key": "u", "value": "zone-0-rack-0", "effect": "NoSchedule"} in node["spec"]["taints"]
    assert node["status"]["capacity"]["rdma/hcb"] == node["status"]["allocatable"]["rdma/hcb"] == "4"
    assert "rdma/hca" not in node["status"]["capacity"]
    assert await applying.scale(client, {"sim-gb200": 18}) == [Applied(pool="sim-gb200", size=18, deleted=2)]
    assert {"sim-gb200-18", "sim-gb200-19"}.isdisjoint(await listed(client))


async def test_a_scheduler_is_told_of_the_levels_and_of_other_ones_later(client: Client, tmp_path: Path) -> None:
    folder = await provisioning.assets("kueue", bin_dir=None, cache=cache_dir(), env=os.environ, progress=Quiet())
    crd = next(path for path in folder.glob("*.yaml") if TOPOLOGIES in path.read_text())
    (tmp_path / "topologies.yaml").write_text(crd.read_text())
    await installing.install_crds(client, [tmp_path])
    try:
        pool = Pool(name="sim-cpu", topology=topology.tree({"zone": 2, "rack": 1}))
        await applying.apply(client, [pool])
        resource = await client.resource("kueue.x-k8s.io/v1beta2", "Topology")
        told = await client.get(resource, "sim-cpu")
        assert [level["nodeLabel"] for level in told["spec"]["levels"]] == [
            "topology.kubernetes.io/zone",
            "cloud.provider.com/topology-rack",
        ]
        other = msgspec.structs.replace(pool, topology=topology.tree({"rack": 2, "node": 1}))
        await applying.apply(client, [other])
        told = await client.get(resource, "sim-cpu")
        assert [level["nodeLabel"] for level in told["spec"]["levels"]] == [
            "cloud.provider.com/topology-rack",
            "kubernetes.io/hostname",
        ]
        await applying.apply(client, [msgspec.structs.replace(pool, topology=None, count=2)])
        assert (await client.list_all(resource)).items == []
        await applying.apply(client, [pool])
        await applying.delete(client, ["sim-cpu"])
        assert (await client.list_all(resource)).items == []
    finally:
        await client.delete(CRDS, TOPOLOGIES)


def test_the_commands_work_on_a_lab(user: User) -> None:
    kubeconfig = user.up("--engine=local", "--scheduler=none")
    assert "h100      64 nodes  64 created" in user.run("nodes", "apply", "-f", str(EXAMPLE)).stdout
    names = user.kubectl(kubeconfig, "get", "nodes", "-o", "name").split()
    assert len(names) == 172
    user.run("nodes", "scale", "cpu=2", "t4=0")
    user.run("nodes", "snapshot", "--kubeconfig", kubeconfig, "-o", "snapshot.yaml")
    written = yaml.safe_load((user.home / "snapshot.yaml").read_text())
    assert [(pool["name"], pool.get("count")) for pool in written["pools"]] == [
        ("a100-mig", 16),
        ("cpu", 2),
        ("gb200", 54),
        ("h100", None),
    ]
    assert "nothing to change" in user.run("nodes", "apply", "-f", "snapshot.yaml").stdout
    user.run("nodes", "delete", "a100-mig", "cpu", "gb200", "h100", "t4")
    assert user.kubectl(kubeconfig, "get", "nodes", "-o", "name") == ""
