from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kubedyno.client.rest import Client
from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CONFIG_MAPS, NODES
from kubedyno.sim.pools import Gpus, Pool, Taint, applying, base, definitions, snapshotting
from kubedyno.sim.pools.applying import Applied
from kubedyno.sim.pools.arriving import usable

pytestmark = pytest.mark.unit

InCluster = Callable[..., Any]
POOL = Pool(name="p", count=4, gpus=Gpus(model="H100"), labels={"a": "{{ index }}"})


async def listed(client: Client) -> dict[str, Object]:
    return {node["metadata"]["name"]: node for node in (await client.list_all(NODES)).items}


def uids(nodes: dict[str, Object]) -> dict[str, str]:
    return {name: node["metadata"]["uid"] for name, node in nodes.items()}


def test_new_nodes_can_be_used_and_a_second_apply_changes_nothing(in_cluster: InCluster) -> None:
    async def play(client: Client) -> None:
        first = await applying.apply(client, [POOL, base("q", 2)])
        assert first == [Applied(pool="p", size=4, created=4), Applied(pool="q", size=2, created=2)]
        before = await listed(client)
        assert all(map(usable, before.values()))
        assert await applying.apply(client, [POOL]) == [Applied(pool="p", size=4)]
        assert await listed(client) == before

    in_cluster(play)


def test_a_change_keeps_the_nodes_and_what_others_wrote(in_cluster: InCluster) -> None:
    async def play(client: Client) -> None:
        await applying.apply(client, [POOL])
        before = await listed(client)
        theirs = {"metadata": {"labels": {"theirs": "1"}}, "spec": {"unschedulable": True}}
        await client.patch(NODES, "p-0", theirs, kind="merge")
        taints = (Taint(key="t", effect="NoSchedule"),)
        wanted = msgspec.structs.replace(POOL, labels={"b": "2"}, taints=taints, cpu=8)
        assert await applying.apply(client, [wanted]) == [Applied(pool="p", size=4, changed=4)]
        after = await listed(client)
        assert uids(after) == uids(before)
        node = after["p-0"]
        labels = node["metadata"]["labels"]
        assert (labels.get("a"), labels["b"], labels["theirs"]) == (None, "2", "1")
        assert node["spec"]["unschedulable"]
        assert {"key": "t", "effect": "NoSchedule"} in node["spec"]["taints"]
        assert node["status"]["capacity"]["cpu"] == node["status"]["allocatable"]["cpu"] == "8"

    in_cluster(play)


def test_a_dry_run_says_what_would_be_and_does_nothing(in_cluster: InCluster) -> None:
    async def play(client: Client) -> None:
        assert await applying.apply(client, [POOL], dry_run=True) == [Applied(pool="p", size=4, created=4)]
        assert await listed(client) == {}
        await applying.apply(client, [POOL])
        assert await applying.delete(client, ["p"], dry_run=True) == [Applied(pool="p", size=0, deleted=4)]
        assert len(await listed(client)) == 4

    in_cluster(play)


def test_scaling_keeps_all_but_the_size(in_cluster: InCluster) -> None:
    async def play(client: Client) -> None:
        await applying.apply(client, [POOL])
        before = await listed(client)
        assert await applying.scale(client, {"p": 6}) == [Applied(pool="p", size=6, created=2)]
        grown = await listed(client)
        assert grown["p-5"]["metadata"]["labels"]["a"] == "5"
        assert uids(grown).items() >= uids(before).items()
        assert await applying.scale(client, {"p": 1}) == [Applied(pool="p", size=1, deleted=5)]
        assert list(await listed(client)) == ["p-0"]
        with pytest.raises(UsageError, match=r"^the cluster has no pool 'pp': did you mean 'p'\?$"):
            await applying.scale(client, {"pp": 1})

    in_cluster(play)


def test_a_deleted_pool_leaves_nothing(in_cluster: InCluster) -> None:
    async def play(client: Client) -> None:
        await applying.apply(client, [POOL, base("q", 1)])
        assert await applying.delete(client, ["p"]) == [Applied(pool="p", size=0, deleted=4)]
        assert list(await listed(client)) == ["q-0"]
        maps = await client.list_all(CONFIG_MAPS, namespace=definitions.NAMESPACE)
        names = [found["metadata"]["name"] for found in maps.items]
        assert "kubedyno-pool-q" in names
        assert "kubedyno-pool-p" not in names

    in_cluster(play)


def test_ranges_are_given_again_and_never_twice(in_cluster: InCluster) -> None:
    async def play(client: Client) -> None:
        foreign = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}, "spec": {"podCIDR": "10.0.1.0/24"}}
        await client.create(NODES, foreign)
        await applying.apply(client, [base("p", 2), base("q", 1)])
        await applying.delete(client, ["p"])
        await applying.apply(client, [base("r", 3)])
        ranges = {name: node["spec"]["podCIDR"] for name, node in (await listed(client)).items()}
        assert ranges == {
            "x": "10.0.1.0/24",
            "q-0": "10.0.3.0/24",
            "r-0": "10.0.0.0/24",
            "r-1": "10.0.2.0/24",
            "r-2": "10.0.4.0/24",
        }

    in_cluster(play)


def test_another_processor_makes_nodes_anew(in_cluster: InCluster) -> None:
    async def play(client: Client) -> None:
        await applying.apply(client, [base("p", 2)])
        before = await listed(client)
        arm = msgspec.structs.replace(base("p", 2), architecture="arm64")
        assert await applying.apply(client, [arm]) == [Applied(pool="p", size=2, replaced=2)]
        after = await listed(client)
        assert not set(uids(after).values()) & set(uids(before).values())
        for name, node in after.items():
            assert node["status"]["nodeInfo"]["architecture"] == "arm64"
            assert node["spec"]["podCIDR"] == before[name]["spec"]["podCIDR"]
            assert node["status"]["addresses"] == before[name]["status"]["addresses"]

    in_cluster(play)


def test_a_node_of_somebody_else_is_not_taken_over(in_cluster: InCluster) -> None:
    async def play(client: Client) -> None:
        await client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "p-1"}})
        with pytest.raises(UsageError, match=r"^pool p: the cluster has a node p-1 that is not of this pool; rename"):
            await applying.apply(client, [POOL])
        assert list(await listed(client)) == ["p-1"]

    in_cluster(play)


def test_too_many_nodes_for_one_cluster_are_refused_before_anything_is_made(in_cluster: InCluster) -> None:
    async def play(client: Client) -> None:
        with pytest.raises(
            UsageError, match=r"^the cluster would have 131073 nodes, and at most 131072 can be: ask for"
        ):
            await applying.apply(client, [base("p", 131072), base("q", 1)])
        assert await listed(client) == {}

    in_cluster(play)


def test_a_server_that_fails_every_third_write_ends_with_the_same_nodes(in_cluster: InCluster) -> None:
    pools = [POOL, base("q", 20)]
    wanted = [msgspec.structs.replace(POOL, labels={"b": "1"}), base("q", 10)]

    async def play(client: Client) -> list[Pool]:
        await applying.apply(client, pools)
        await applying.apply(client, wanted)
        return snapshotting.pools((await listed(client)).values())

    assert in_cluster(play, losses=0.3) == in_cluster(play)


def test_what_an_unfinished_apply_wrote_is_still_removed_by_the_next(in_cluster: InCluster) -> None:
    async def play(client: Client) -> None:
        await applying.apply(client, [POOL])
        (known,) = (await applying.defined(client)).values()
        half = msgspec.structs.replace(POOL, labels={"half": "1"})
        written = msgspec.structs.replace(known.written, labels=known.written.labels | {"half"})
        # As if the process had ended after the definition and the first node.
        document = definitions.config_map(definitions.Definition(pool=half, written=written))
        await client.update(CONFIG_MAPS, document)
        await client.patch(NODES, "p-0", {"metadata": {"labels": {"half": "1"}}}, kind="merge")
        await applying.apply(client, [msgspec.structs.replace(POOL, labels={"last": "1"})])
        for node in (await listed(client)).values():
            labels = node["metadata"]["labels"]
            assert (labels.get("a"), labels.get("half"), labels.get("last")) == (None, None, "1")
        (known,) = (await applying.defined(client)).values()
        assert "half" not in known.written.labels

    in_cluster(play)


def test_a_definition_with_labels_of_many_nodes_fits_into_a_config_map() -> None:
    labels = tuple({"topology.kubernetes.io/zone": f"zone-{number}", "rack": f"r{number}"} for number in range(8000))
    definition = definitions.Definition(pool=Pool(name="p", nodes=labels), written=definitions.Written())
    document = definitions.config_map(definition)
    assert len(msgspec.json.encode(document)) < 1 << 20
    assert definitions.read(document) == definition
