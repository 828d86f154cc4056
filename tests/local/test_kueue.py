"""Real Kueue with kube-scheduler: quota, borrowing, reclaim, priorities, topology, pausing, and its settings."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest
from tests.shapes import (
    GPU_COUNT,
    GPUS_PER_NODE,
    NODES_PER_RACK,
    POOL,
    Cluster,
    device_node,
    in_one_rack,
    near_a_rack,
    shapes_cluster,
)

from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import JOBS, KUEUE_LOCAL_QUEUES, KUEUE_WORKLOADS
from kubedyno.lab import installing
from kubedyno.lab.shapes import device, distributed, training
from kubedyno.model.dialects import Surroundings
from kubedyno.model.queues import Queue, Share
from kubedyno.model.settings import Evidence
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.kueue import manager

from .conftest import User, interrupt_when, processes_below, wait_for

pytestmark = pytest.mark.local

HERE = Surroundings(gpus=GPU_COUNT, topology=POOL)
QUIET_S = 2.0
"""Kueue admits within tenths of a second."""


@pytest.fixture(scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    folder = tmp_path_factory.mktemp("kueue") / "lab"
    async with shapes_cluster(folder, scheduler="kueue") as found:
        yield found


@pytest.fixture
async def cluster(lab: Cluster) -> AsyncIterator[Cluster]:
    yield lab
    await lab.clear()
    await remove_queues(lab.client)


async def write_queues(cluster: Cluster, *queues: Queue, around: Surroundings = HERE) -> None:
    await installing.install_objects(cluster.client, cluster.dialect.queues(queues, around))


async def remove_queues(client: Client) -> None:
    """All but what the lab came with: queues that are left would lend their quota to the next test's."""
    for kind, spared in (("LocalQueue", "default"), ("ClusterQueue", "default"), ("Cohort", "kubedyno")):
        resource = await client.resource_of({"apiVersion": KUEUE_LOCAL_QUEUES.api_version, "kind": kind})
        for one in (await client.list_all(resource)).items:
            name, namespace = one["metadata"]["name"], one["metadata"].get("namespace")
            if name != spared:
                await client.delete(resource, name, namespace=namespace)
        async with Informer(client, resource) as left:
            await left.wait_until(lambda found: len(found.items) == 1, timeout_s=60, what=f"{kind}s to be gone")


def queue(name: str, quota: float, *, parent: str | None = None, limit: float = -1.0) -> Queue:
    return Queue(name=name, parent=parent, gpu=Share(quota=quota, limit=limit))


def whole_nodes(name: str, count: int, in_queue: str, **more: object) -> Workload:
    shape = distributed(workers=count, gpus=GPUS_PER_NODE)
    return msgspec.structs.replace(shape, name=name, queue=in_queue, **more)


def told(workload: Object) -> dict[str, tuple[str, str]]:
    """Status and reason of its conditions."""
    conditions = (workload.get("status") or {}).get("conditions") or ()
    return {one["type"]: (one["status"], one["reason"]) for one in conditions}


def messages(workload: Object) -> str:
    return " ".join(one["message"] for one in (workload.get("status") or {}).get("conditions") or ())


async def comes_to(cluster: Cluster, job: str, kind: str, status: str) -> Object:
    """The Workload of a Job, once it has a condition; inadmissible is one whose queue is not known yet."""
    found: list[Object] = []

    def has_it(workloads: Informer) -> bool:
        found[:] = [one for one in workloads.items if one["metadata"]["name"].startswith(f"job-{job}-")]
        conditions = [told(one).get(kind, ("", "")) for one in found]
        return any(is_so == status and reason != "Inadmissible" for is_so, reason in conditions)

    async with Informer(cluster.client, KUEUE_WORKLOADS, namespace="default") as workloads:
        await workloads.wait_until(has_it, timeout_s=60, what=f"{kind} {status} of job {job}")
    return found[0]


async def test_a_gang_starts_whole_or_not_at_all(cluster: Cluster) -> None:
    await write_queues(cluster, queue("team", GPU_COUNT))
    await cluster.submit(whole_nodes("large", 9, "team"))
    waiting = await comes_to(cluster, "large", "QuotaReserved", "False")
    assert "insufficient" in messages(waiting)
    assert cluster.of("large") == []
    await cluster.submit(whole_nodes("fits", 8, "team"))
    await cluster.runs("fits", 8)
    assert len(set(cluster.placed("fits"))) == 8
    assert cluster.of("large") == []


async def test_quota_is_borrowed_within_the_cohort_and_reclaimed_from_the_borrower_alone(cluster: Cluster) -> None:
    await write_queues(cluster, queue("a", 16), queue("b", 16), around=Surroundings())
    await cluster.submit(whole_nodes("own", 2, "a"))
    await cluster.runs("own", 2)
    await cluster.submit(whole_nodes("borrowed", 1, "a"))
    await cluster.runs("borrowed", 1)
    await cluster.submit(whole_nodes("beyond", 2, "a"))
    assert "1 more needed" not in messages(await comes_to(cluster, "beyond", "QuotaReserved", "False"))
    await cluster.submit(whole_nodes("back", 2, "b"))
    await cluster.runs("back", 2)
    evicted = told(await comes_to(cluster, "borrowed", "Evicted", "True"))
    assert evicted["Evicted"] == ("True", "Preempted")
    assert evicted["Preempted"][0] == "True"
    await cluster.pods.wait_until(lambda _: not cluster.of("borrowed"), timeout_s=30, what="the borrower's end")
    assert len(cluster.placed("own")) == 2
    assert cluster.of("beyond") == []


async def test_what_nobody_deserves_can_be_borrowed_up_to_the_limit(cluster: Cluster) -> None:
    around = Surroundings(gpus=GPU_COUNT)
    await write_queues(cluster, queue("a", 8, limit=24), queue("b", 8), around=around)
    await cluster.submit(whole_nodes("first", 3, "a"))
    await cluster.runs("first", 3)
    await cluster.submit(whole_nodes("more", 1, "a"))
    await comes_to(cluster, "more", "QuotaReserved", "False")
    await cluster.submit(whole_nodes("others", 4, "b"))
    await cluster.runs("others", 4)


async def test_a_hierarchy_lends_within_the_parent_first(cluster: Cluster) -> None:
    tree = (queue("org", 32, limit=32), queue("left", 8, parent="org"), queue("right", 8, parent="org"))
    await write_queues(cluster, *tree, around=Surroundings(gpus=GPU_COUNT))
    await cluster.submit(whole_nodes("all", 4, "left"))
    await cluster.runs("all", 4)
    await cluster.submit(whole_nodes("more", 1, "left"))
    await comes_to(cluster, "more", "QuotaReserved", "False")
    await cluster.submit(whole_nodes("nowhere", 1, "org"))
    await comes_to(cluster, "nowhere", "QuotaReserved", "False")


async def test_a_higher_priority_preempts_within_its_queue(cluster: Cluster) -> None:
    await write_queues(cluster, queue("team", 16), around=Surroundings())
    await cluster.submit(whole_nodes("low", 2, "team"))
    await cluster.runs("low", 2)
    await cluster.submit(whole_nodes("high", 2, "team", priority="build-preemptible"))
    await cluster.runs("high", 2)
    evicted = await comes_to(cluster, "low", "Evicted", "True")
    assert told(evicted)["Preempted"] == ("True", "InClusterQueue")


async def test_a_required_rack_is_kept_or_nothing_starts(cluster: Cluster) -> None:
    await write_queues(cluster, queue("team", GPU_COUNT))
    await cluster.submit(whole_nodes("fits", NODES_PER_RACK, "team", closeness=in_one_rack))
    await cluster.runs("fits", NODES_PER_RACK)
    assert len(cluster.racks("fits")) == 1
    await cluster.submit(whole_nodes("wide", NODES_PER_RACK + 1, "team", closeness=in_one_rack))
    assert "fit only 2 out of 3" in messages(await comes_to(cluster, "wide", "QuotaReserved", "False"))
    assert cluster.of("wide") == []
    await cluster.submit(whole_nodes("spread", NODES_PER_RACK + 1, "team", closeness=near_a_rack))
    await cluster.runs("spread", NODES_PER_RACK + 1)
    assert sorted(cluster.racks("spread").values()) == [1, NODES_PER_RACK]


async def test_while_it_is_paused_jobs_are_taken_but_none_is_admitted(cluster: Cluster) -> None:
    await write_queues(cluster, queue("team", GPU_COUNT), around=Surroundings())
    async with cluster.lab.scheduler.paused():
        assert "kueue" not in cluster.lab.supervisor.processes
        assert "kube-scheduler" in cluster.lab.supervisor.processes
        await cluster.submit(msgspec.structs.replace(training(gpus=1), name="held", queue="team"), count=3)
        await asyncio.sleep(QUIET_S)
        assert list(cluster.pods.items) == []
        jobs = (await cluster.client.list_all(JOBS, namespace="default")).items
        assert [job["spec"]["suspend"] for job in jobs] == [True] * 3
    for index in range(3):
        await cluster.runs(f"held-{index}")
    assert cluster.lab.scheduler.resumed is not None


async def test_devices_are_kube_schedulers_to_give(cluster: Cluster) -> None:
    await write_queues(cluster, queue("team", GPU_COUNT), around=Surroundings())
    async with device_node(cluster) as node:
        await cluster.submit(msgspec.structs.replace(device(count=2), name="claims", queue="team"))
        await cluster.runs("claims")
        assert cluster.placed("claims") == [node]


async def test_its_settings_are_what_it_says_that_it_loaded(lab: Cluster) -> None:
    found = {(one.component, one.field): one for one in lab.lab.settings}
    qps = found["kueue", "clientConnection.qps"]
    assert (qps.wanted, qps.value, qps.evidence) == ("5000", "5000", Evidence.REPORTED)
    assert found["kueue", "controller.groupKindConcurrency.Job.batch"].value == "5"
    assert found["kube-scheduler", "clientConnection.qps"].evidence == Evidence.REPORTED


async def test_its_metrics_can_be_read_by_the_admin(lab: Cluster) -> None:
    ports = lab.lab.supervisor.processes["kueue"].component.ports
    assert b"controller_runtime_reconcile_total" in await lab.lab.reader.fetch(manager.metrics(ports["metrics"]))


async def test_a_failed_write_shows_that_it_validates(lab: Cluster) -> None:
    wrong = lab.dialect.queues((queue("wrong", 8),))[2]
    wrong["spec"]["preemption"] = {"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "LowerPriority"}}
    with pytest.raises(Exception, match="reclaimWithinCohort"):
        await lab.client.create(await lab.client.resource_of(wrong), wrong, dry_run=True)


def test_a_lab_with_kueue_works_from_the_outside(user: User) -> None:
    kubeconfig = user.up(
        "--engine", "local", "--scheduler", "kueue", "--nodes", "2", "--set", "kueue.clientConnection.qps=77"
    )
    settings = {(one["component"], one["field"]): one for one in user.status()["settings"]}
    assert settings["kueue", "clientConnection.qps"]["value"] == "77"
    user.kubectl(kubeconfig, "create", "job", "plain", "--image", "x")
    user.kubectl(kubeconfig, "wait", "--for=jsonpath={.status.active}=1", "job/plain", "--timeout=30s")
    queues = user.kubectl(kubeconfig, "get", "workloads.kueue.x-k8s.io", "-o", "jsonpath={.items[*].spec.queueName}")
    assert queues == "default"
    user.run("down")


def test_ctrl_c_while_it_waits_for_its_certificates_leaves_nothing(user: User) -> None:
    log = user.home / "state" / "kubedyno" / "labs" / "default" / "logs" / "kueue.log"
    up = user.start("up", "--engine", "local", "--scheduler", "kueue")
    _, errors = interrupt_when(up, lambda: log.exists() and "Starting bootstrap manager" in log.read_text())
    assert up.returncode == 130
    assert errors == "kubedyno: interrupted; everything that was started is stopped\n"
    wait_for(lambda: processes_below(user.home) == [])
