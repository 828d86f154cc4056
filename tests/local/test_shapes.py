"""Every shape of workload under real schedulers and ours: it is accepted, and becomes what it was meant to be."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.shapes import (
    GPU_COUNT,
    GPUS_PER_NODE,
    NODE_COUNT,
    NODES_PER_RACK,
    Cluster,
    device_node,
    in_one_rack,
    near_a_rack,
    shapes_cluster,
)

from kubedyno.kube import meta
from kubedyno.kube.resources import PODS, RESOURCE_CLAIMS
from kubedyno.lab.shapes import device, distributed, elastic, fraction, inference, interactive, training
from kubedyno.model import keys
from kubedyno.model.workloads import Group, Workload

pytestmark = pytest.mark.local

CONSOLIDATION = {"max-consolidation-preemptees": "16"}
# Several hands of KAI's binder take the reservations of each other's fractions away, and then the fractions.
ONE_HAND = {"max-concurrent-reconciles": "1"}
LABS: dict[str, dict[str, Any]] = {
    "kai": {"engine": "local", "scheduler": "kai", "settings": {"scheduler": CONSOLIDATION, "binder": ONE_HAND}},
    "kube": {"engine": "local", "scheduler": "kube-scheduler"},
    "reference": {"engine": "embedded", "scheduler": "reference", "settings": {"reference": CONSOLIDATION}},
}
QUIET_S = 3.0
"""Two cycles of KAI's, and some: what was not done by then is not done."""


@pytest.fixture(scope="module", params=sorted(LABS))
async def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    async with shapes_cluster(tmp_path_factory.mktemp(request.param) / "lab", **LABS[request.param]) as found:
        yield found


@pytest.fixture
async def cluster(lab: Cluster) -> AsyncIterator[Cluster]:
    yield lab
    await lab.clear()


def whole_nodes(count: int, **more: Any) -> Workload:
    """A gang that takes nodes for itself."""
    return distributed(workers=count, gpus=GPUS_PER_NODE, **more)


async def test_a_job_of_one_pod_runs_and_its_pod_is_replaced(cluster: Cluster) -> None:
    await cluster.submit(training(gpus=2))
    await cluster.runs("training")
    [first] = cluster.of("training")
    await cluster.client.delete(PODS, first["metadata"]["name"], namespace="default")
    await cluster.pods.wait_until(
        lambda _: {pod["metadata"]["uid"] for pod in cluster.of("training")} - {first["metadata"]["uid"]} != set(),
        timeout_s=30,
        what="the next pod of the Job",
    )
    await cluster.runs("training")


async def test_a_gang_starts_whole_or_not_at_all(cluster: Cluster) -> None:
    cluster.needs("gangs")
    await cluster.submit(whole_nodes(NODE_COUNT + 1))
    await cluster.is_refused("distributed")
    await asyncio.sleep(QUIET_S)
    assert cluster.placed("distributed") == []
    await cluster.delete("distributed")
    await cluster.submit(whole_nodes(NODE_COUNT, name="fits"))
    await cluster.runs("fits", NODE_COUNT)
    assert len(set(cluster.placed("fits"))) == NODE_COUNT


async def test_an_elastic_gang_has_what_there_is_room_for(cluster: Cluster) -> None:
    cluster.needs("elastic-gangs")
    await cluster.submit(elastic(workers=NODE_COUNT + 2, least=2, gpus=GPUS_PER_NODE))
    await cluster.runs("elastic", NODE_COUNT)
    await asyncio.sleep(QUIET_S)
    assert len(cluster.placed("elastic")) == NODE_COUNT


async def test_an_elastic_gang_shrinks_for_a_higher_priority_but_not_below_its_least(cluster: Cluster) -> None:
    cluster.needs("elastic-gangs", "quotas", "preemption")
    await cluster.submit(elastic(workers=NODE_COUNT, least=NODE_COUNT - 2, gpus=GPUS_PER_NODE))
    await cluster.runs("elastic", NODE_COUNT)
    await cluster.submit(whole_nodes(2, name="urgent", priority="build-preemptible"))
    await cluster.runs("urgent", 2)
    await cluster.runs("elastic", NODE_COUNT - 2)
    assert len(cluster.victims) == 2


async def test_a_required_rack_is_kept_or_nothing_starts(cluster: Cluster) -> None:
    cluster.needs("required-topology")
    await cluster.submit(whole_nodes(NODES_PER_RACK, name="fits", closeness=in_one_rack))
    await cluster.runs("fits", NODES_PER_RACK)
    assert len(cluster.racks("fits")) == 1
    await cluster.submit(whole_nodes(NODES_PER_RACK + 1, name="wide", closeness=in_one_rack))
    await cluster.is_refused("wide")
    await asyncio.sleep(QUIET_S)
    assert cluster.placed("wide") == []


async def test_a_preferred_rack_is_kept_as_far_as_it_goes(cluster: Cluster) -> None:
    cluster.needs("preferred-topology")
    await cluster.submit(whole_nodes(NODES_PER_RACK, name="fits", closeness=near_a_rack))
    await cluster.runs("fits", NODES_PER_RACK)
    assert len(cluster.racks("fits")) == 1
    await cluster.submit(whole_nodes(NODES_PER_RACK + 1, name="wide", closeness=near_a_rack))
    await cluster.runs("wide", NODES_PER_RACK + 1)
    assert len(cluster.racks("wide")) == 2


async def test_groups_of_a_gang_each_keep_their_rack(cluster: Cluster) -> None:
    cluster.needs("sub-groups", "required-topology")
    groups = tuple(
        Group(name=name, pods=NODES_PER_RACK, gpus=GPUS_PER_NODE, closeness=in_one_rack)
        for name in ("prefill", "decode")
    )
    await cluster.submit(inference(groups=groups))
    await cluster.runs("inference", 2 * NODES_PER_RACK)
    racks = Counter(
        (meta.labels(pod)["kai.scheduler/subgroup-name"], cluster.rack(pod)) for pod in cluster.of("inference")
    )
    assert sorted(racks.values()) == [NODES_PER_RACK, NODES_PER_RACK]
    assert {name.rpartition("-")[0] for name in (pod["metadata"]["name"] for pod in cluster.of("inference"))} == {
        "inference-prefill",
        "inference-decode",
    }


async def test_groups_of_a_gang_start_all_or_none(cluster: Cluster) -> None:
    cluster.needs("sub-groups")
    groups = (Group(name="small", pods=1, gpus=1), Group(name="large", pods=NODE_COUNT, gpus=GPUS_PER_NODE))
    await cluster.submit(inference(groups=groups))
    await asyncio.sleep(QUIET_S)
    assert cluster.placed("inference") == []
    await cluster.delete("inference")
    floor = (groups[0], Group(name="large", pods=NODE_COUNT, least=NODE_COUNT - 1, gpus=GPUS_PER_NODE))
    await cluster.submit(inference(name="elastic", groups=floor))
    await cluster.runs("elastic", NODE_COUNT)


async def test_fractions_share_gpus(cluster: Cluster) -> None:
    cluster.needs("fractions")
    async with cluster.lab.scheduler.paused():
        names = await cluster.submit(fraction(0.5), count=12)
    for name in names:
        await cluster.runs(name)
    groups = Counter(meta.labels(cluster.of(name)[0])[keys.SHARED_GPU_LABEL] for name in names)
    assert set(groups.values()) == {2}
    assert len(groups) == 6


async def test_a_higher_priority_preempts_and_the_same_does_not(cluster: Cluster) -> None:
    cluster.needs("preemption")
    await cluster.submit(whole_nodes(2, name="usual"), count=NODE_COUNT // 2)
    for index in range(NODE_COUNT // 2):
        await cluster.runs(f"usual-{index}", 2)
    await cluster.submit(whole_nodes(2, name="same"))
    await cluster.is_refused("same")
    await cluster.delete("same")
    assert cluster.victims == {}
    await cluster.submit(whole_nodes(2, name="urgent", priority="build-preemptible"))
    await cluster.runs("urgent", 2)
    gone = {name.rpartition("-")[0] for name in cluster.victims}
    assert len(cluster.victims) == 2
    assert len(gone) == 1


async def test_work_that_is_not_preemptible_is_no_victim_unless_it_says_so(cluster: Cluster) -> None:
    cluster.needs("non-preemptible", "preemption")
    served = whole_nodes(1, name="served", priority="inference")
    await cluster.submit(interactive(gpus=GPUS_PER_NODE), count=NODE_COUNT)
    for index in range(NODE_COUNT):
        await cluster.runs(f"interactive-{index}")
    await cluster.submit(served)
    await cluster.is_refused("served")
    await asyncio.sleep(QUIET_S)
    assert cluster.victims == {}
    await cluster.clear()
    await cluster.submit(interactive(gpus=GPUS_PER_NODE, preemptible=True), count=NODE_COUNT)
    for index in range(NODE_COUNT):
        await cluster.runs(f"interactive-{index}")
    await cluster.submit(served)
    await cluster.runs("served")
    assert len(cluster.victims) == 1


async def test_a_queue_gets_its_quota_back(cluster: Cluster) -> None:
    cluster.needs("reclaim", "quotas")
    half = GPU_COUNT / 2
    lender, owner = await cluster.queue("lender", quota=half), await cluster.queue("owner", quota=half)
    names = await cluster.submit(whole_nodes(1, name="borrowed", queue=lender), count=NODE_COUNT)
    for name in names:
        await cluster.runs(name)
    await cluster.submit(whole_nodes(NODE_COUNT // 2, name="owned", queue=owner))
    await cluster.runs("owned", NODE_COUNT // 2)
    assert len(cluster.victims) == NODE_COUNT // 2
    assert {name.partition("-")[0] for name in cluster.victims} == {"borrowed"}


async def test_a_limit_is_kept_also_of_the_queue_above(cluster: Cluster) -> None:
    cluster.needs("quotas")
    above = await cluster.queue("department", limit=16)
    below = await cluster.queue("team", parent=above)
    await cluster.submit(training(gpus=8, queue=below), count=3)
    await asyncio.sleep(QUIET_S)
    assert len([name for index in range(3) for name in cluster.placed(f"training-{index}")]) == 2


async def test_consolidation_moves_pods_that_come_back(cluster: Cluster) -> None:
    cluster.needs("consolidation")
    names = await cluster.submit(training(gpus=4), count=2 * NODE_COUNT)
    for name in names:
        await cluster.runs(name)
    kept: dict[str, str] = {}
    for name in names:
        [node] = cluster.placed(name)
        kept.setdefault(node, name)
    for name in set(names) - set(kept.values()):
        await cluster.delete(name)
    await cluster.submit(whole_nodes(2))
    await cluster.runs("distributed", 2)
    assert len(cluster.victims) == 2
    for name in kept.values():
        await cluster.runs(name)


async def test_devices_are_claimed(cluster: Cluster) -> None:
    cluster.needs("devices")
    async with device_node(cluster) as node:
        await cluster.submit(device(3), count=2)
        for index in range(2):
            await cluster.runs(f"device-{index}")
            assert cluster.placed(f"device-{index}") == [node]
        claims = (await cluster.client.list_all(RESOURCE_CLAIMS, namespace="default")).items
        given = [result["device"] for claim in claims for result in claim["status"]["allocation"]["devices"]["results"]]
        assert len(set(given)) == len(given) == 6


async def test_pods_keep_to_their_nodes_and_end_when_their_time_is_over(cluster: Cluster) -> None:
    chosen = {"kubernetes.io/hostname": "racks-5"}
    await cluster.submit(training(runs_for="1s", node_selector=chosen, annotations={"note": "mine"}))
    await cluster.pods.wait_until(
        lambda _: any(pod["status"].get("phase") == "Succeeded" for pod in cluster.of("training")),
        timeout_s=30,
        what="the pod's end",
    )
    [pod] = cluster.of("training")
    assert pod["spec"]["nodeName"] == "racks-5"
    assert meta.annotations(pod)["note"] == "mine"


async def test_nothing_is_decided_while_the_scheduler_is_paused(cluster: Cluster) -> None:
    async with cluster.lab.scheduler.paused():
        await cluster.submit(training())
        await asyncio.sleep(QUIET_S)
        assert cluster.placed("training") == []
    await cluster.runs("training")
