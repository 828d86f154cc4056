"""What is KAI's own about workloads: the groups that it makes of Jobs, what victims say, what a pause stops."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.shapes import GPUS_PER_NODE, NODE_COUNT, POOL, RACK, Cluster, in_one_rack, near_a_rack, shapes_cluster

from kubedyno.kube.resources import CRDS, KAI_POD_GROUPS, KAI_QUEUES, RESOURCE_CLAIM_TEMPLATES
from kubedyno.lab.shapes import distributed, fraction, interactive, training
from kubedyno.model.workloads import Workload
from kubedyno.schedulers import SCHEDULERS, shows

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    async with shapes_cluster(tmp_path_factory.mktemp("kai") / "lab", scheduler="kai") as found:
        yield found


@pytest.fixture
async def cluster(lab: Cluster) -> AsyncIterator[Cluster]:
    yield lab
    await lab.clear()


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (training(name="usual"), {"priorityClassName": "train"}),
        (interactive(name="waited-for"), {"priorityClassName": "build"}),
        (
            training(name="willing", priority="build", preemptible=True, closeness=near_a_rack),
            {
                "priorityClassName": "build",
                "preemptibility": "preemptible",
                "topologyConstraint": {"topology": POOL, "preferredTopologyLevel": RACK},
            },
        ),
        (
            training(name="unwilling", preemptible=False, closeness=in_one_rack),
            {
                "priorityClassName": "train",
                "preemptibility": "non-preemptible",
                "topologyConstraint": {"topology": POOL, "requiredTopologyLevel": RACK},
            },
        ),
    ],
)
async def test_what_a_job_says_becomes_its_group(cluster: Cluster, shape: Workload, expected: dict[str, Any]) -> None:
    queue = await cluster.queue("team")
    await cluster.submit(shape, queue=queue)
    await cluster.runs(shape.name)
    group = await cluster.group_made(shape.name)
    said = {name: value for name, value in group["spec"].items() if value not in ({}, None)}
    assert said == {"minMember": 1, "queue": queue, **expected}
    assert group["metadata"]["labels"]["kai.scheduler/queue"] == queue
    assert group["metadata"]["labels"]["kubedyno/workload"] == shape.name


async def test_victims_say_who_took_their_place_and_how(cluster: Cluster) -> None:
    lender, owner = await cluster.queue("lender", quota=0), await cluster.queue("owner", quota=NODE_COUNT * 8)
    names = await cluster.submit(training(gpus=GPUS_PER_NODE), queue=lender, count=NODE_COUNT)
    for name in names:
        await cluster.runs(name)
    await cluster.submit(distributed(name="owned", workers=NODE_COUNT, gpus=GPUS_PER_NODE), queue=owner)
    await cluster.runs("owned", NODE_COUNT)
    assert len(cluster.victims) == NODE_COUNT
    assert set(cluster.victims.values()) - {""} == {"reclaim by default/owned"}
    cluster.victims.clear()
    urgent = distributed(name="urgent", workers=2, gpus=GPUS_PER_NODE, priority="build-preemptible")
    await cluster.submit(urgent, queue=owner)
    await cluster.runs("urgent", 2)
    assert len(cluster.victims) == NODE_COUNT
    assert set(cluster.victims.values()) - {""} == {"preempt by default/urgent"}


async def test_a_group_that_cannot_be_placed_shows_when_and_why(cluster: Cluster) -> None:
    queue = await cluster.queue("small", quota=8, limit=16)
    shapes = {
        "wide": distributed(name="wide", workers=3, gpus=GPUS_PER_NODE, closeness=in_one_rack),
        "much": distributed(name="much", workers=3, gpus=GPUS_PER_NODE),
        "firm": distributed(name="firm", workers=2, gpus=GPUS_PER_NODE, priority="build"),
    }
    await cluster.submit(shapes["wide"])
    await cluster.submit(shapes["much"], queue=queue)
    await cluster.submit(shapes["firm"], queue=queue)
    # KAI tells no reason where no domain fits.
    for name, reason in {"wide": "Unschedulable", "much": "OverLimit", "firm": "NonPreemptibleOverQuota"}.items():
        group = await cluster.shown(KAI_POD_GROUPS, name, shows.kai_pod_group, "unschedulable")
        (shown,) = [one for one in shows.kai_pod_group(group) if one.phase == "unschedulable"]
        assert shown.detail == reason
        assert shown.stamp >= group["metadata"]["creationTimestamp"]


async def test_a_pause_stops_the_scheduler_and_nothing_else(cluster: Cluster) -> None:
    before = {name: process.pid for name, process in cluster.lab.supervisor.processes.items()}
    async with cluster.lab.scheduler.paused():
        await cluster.submit(training())
        await cluster.group_made("training")  # podgrouper goes on
        assert {name for name in before if name not in cluster.lab.supervisor.processes} <= {"scheduler"}
        assert cluster.placed("training") == []
    await cluster.runs("training")
    after = {name: process.pid for name, process in cluster.lab.supervisor.processes.items()}
    assert {name for name in before if before[name] != after[name]} == {"scheduler"}


async def test_fractions_of_a_gang_run_and_their_reservations_go_with_them(cluster: Cluster) -> None:
    await cluster.submit(fraction(0.25, name="parts", pods=4))
    await cluster.runs("parts", 4)
    assert len(await cluster.reservations()) == 1
    await cluster.delete("parts")
    while await cluster.reservations():  # noqa: ASYNC110 - another namespace than the one that is followed
        await asyncio.sleep(0.1)


async def test_queues_count_what_their_jobs_and_groups_have(cluster: Cluster) -> None:
    above = await cluster.queue("department")
    below = await cluster.queue("team", parent=above)
    await cluster.submit(training(gpus=2), queue=below)
    await cluster.submit(distributed(workers=2, gpus=3), queue=below)
    await cluster.runs("training")
    await cluster.runs("distributed", 2)
    while True:
        status = (await cluster.client.get(KAI_QUEUES, above)).get("status") or {}
        if (status.get("allocated") or {}).get("nvidia.com/gpu") == "8":
            break
        await asyncio.sleep(0.1)


async def test_the_kinds_that_are_served_lack_nothing(cluster: Cluster) -> None:
    definitions = (await cluster.client.list_all(CRDS)).items
    scheduler = SCHEDULERS.get("kai")
    assert scheduler.lacks_with(definitions) == scheduler.lacks
    assert "kubedyno/minimal" not in {key for one in definitions for key in one["metadata"].get("labels") or ()}
    assert (await cluster.client.list_all(RESOURCE_CLAIM_TEMPLATES)).items == []
