"""The reference scheduler at work, in whole worlds of virtual time: KAI's situations and what became of them."""

from collections import Counter
from collections.abc import Awaitable

import pytest
from tests.unit.schedulers.reference.worlds_of_scheduling import GPUS, World, bound, node, played, quota

from kubedyno.kube import meta
from kubedyno.kube.resources import NODES, PODS
from kubedyno.lab import installing
from kubedyno.model.queues import Queue
from kubedyno.model.workloads import Closeness, Group, Workload
from kubedyno.schedulers.dialects.kube import KUBE
from kubedyno.schedulers.dialects.reference import REFERENCE as DIALECT
from kubedyno.schedulers.priorities import priority_classes
from kubedyno.schedulers.reference import REFERENCE
from kubedyno.schedulers.reference.settings import Settings

pytestmark = pytest.mark.unit


def test_a_gang_is_placed_whole_or_not_at_all_and_told_why() -> None:
    async def play(world: World) -> None:
        await world.nodes(2)
        await world.submit(Workload(name="big", pods=3, gpus=8))
        placed = await world.settled()
        assert bound(placed, "big") == 0
        group = await world.group("big")
        (condition,) = group["status"]["schedulingConditions"]
        assert (condition["type"], condition["status"], condition["nodePool"]) == (
            "UnschedulableOnNodePool",
            "True",
            "default",
        )
        said = condition["reasons"][0]["message"]
        assert said.startswith("Resources were found for 2 pods while 3 are required for gang scheduling")
        for one in (await world.pods()).values():
            told = meta.condition(one, "PodScheduled") or {}
            assert (told["status"], told["reason"], told["message"]) == ("False", "Unschedulable", said)
        assert len(await world.events("FailedScheduling")) == 3
        await world.create(node("late"))
        placed = await world.settled()
        assert bound(placed, "big") == 3
        assert not (await world.group("big"))["status"].get("schedulingConditions"), "cleared when it runs"

    played(play)


def test_a_gang_waits_for_its_pods_and_for_its_group() -> None:
    async def play(world: World) -> None:
        await world.nodes(1)
        group, *pods = DIALECT.objects(Workload(name="late", pods=3))
        await world.create(*pods[:2])
        assert bound(await world.settled(), "late") == 0
        told = [meta.condition(one, "PodScheduled") or {} for one in (await world.pods()).values()]
        assert {one["message"] for one in told} == {"waiting for pod group late, which does not exist"}
        await world.create(group)
        assert bound(await world.settled(), "late") == 0
        told = [meta.condition(one, "PodScheduled") or {} for one in (await world.pods()).values()]
        assert {one["message"] for one in told} == {"waiting for 3 pods, of which 2 exist"}
        await world.create(pods[2])
        assert bound(await world.settled(), "late") == 3

    played(play)


def test_a_gang_whose_pods_come_within_a_second_is_not_told_that_it_lacked_some() -> None:
    async def play(world: World) -> None:
        await world.nodes(1)
        for one in DIALECT.objects(Workload(name="growing", pods=4)):
            await world.create(one)
            await world.clock.sleep(0.2)
        assert bound(await world.settled(), "growing") == 4
        assert not await world.events("FailedScheduling")

    played(play)


def test_native_gangs_are_read_as_well_and_need_no_other_kinds() -> None:
    async def play(world: World) -> None:
        await world.nodes(3)
        await world.create(*KUBE.objects(Workload(name="native", pods=3, gpus=8, priority="")))
        await world.clock.sleep(1.1)
        await world.create(*KUBE.objects(Workload(name="more", pods=2, gpus=8, priority="")))
        placed = await world.settled()
        assert (bound(placed, "native"), bound(placed, "more")) == (3, 0)

    played(play, kinds=False)


def test_an_unknown_queue_is_named() -> None:
    async def play(world: World) -> None:
        await world.nodes(1)
        await world.submit(Workload(name="lost", pods=2, queue="nowhere"))
        assert bound(await world.settled(), "lost") == 0
        (told,) = {(meta.condition(one, "PodScheduled") or {})["message"] for one in (await world.pods()).values()}
        assert told == "queue nowhere does not exist"
        await world.queues(Queue(name="nowhere"))
        assert bound(await world.settled(), "lost") == 2

    played(play)


def test_a_queue_gets_back_what_is_its_own_from_the_newest_gangs() -> None:
    """kai-recipes 3: 20 nodes; qa has all of them by 20 gangs of 8 pods, qb wants 5 nodes."""

    async def play(world: World) -> None:
        await world.nodes(20)
        await world.queues(quota("qa", 80), quota("qb", 80))
        for index in range(20):
            await world.submit(Workload(name=f"a{index:02}", queue="qa", pods=8))
            await world.clock.sleep(1.1)
        assert sum(map(bool, (await world.settled()).values())) == 160
        await world.submit(Workload(name="b", queue="qb", pods=5, gpus=8))
        placed = await world.settled()
        assert bound(placed, "b") == 5
        left = {name.rpartition("-")[0] for name in placed}
        assert left == {"b", *(f"a{index:02}" for index in range(15))}
        evicted = await world.events("Evict")
        single = [one for one in evicted if "combined" not in one["message"]]
        assert {one["metadata"]["annotations"]["evictor-action-type"] for one in single} == {"reclaim"}
        assert {one["involvedObject"]["name"] for one in evicted} == {f"a{index}" for index in range(15, 20)}
        first = evicted[0]["metadata"]["annotations"]
        assert (first["evictor-pod-group-name"], first["evictor-pod-group-namespace"]) == ("b", "default")
        assert first["num-evicted-pods"] == "40"

    played(play)


def test_a_job_displaces_the_newest_of_lower_priority_in_its_queue() -> None:
    """kai-recipes 4, smaller: a queue that is full of gangs of 2 x 4 GPUs, and one of 2 x 8 that goes before them."""

    async def play(world: World) -> None:
        await world.nodes(4)
        await world.queues(quota("qp", 32))
        for index in range(4):
            await world.submit(Workload(name=f"t{index}", queue="qp", pods=2, gpus=4))
            await world.clock.sleep(1.1)
        await world.settled()
        await world.submit(Workload(name="same", queue="qp", pods=2, gpus=8))
        assert bound(await world.settled(), "same") == 0
        await world.submit(Workload(name="vip", queue="qp", pods=2, gpus=8, priority="build-preemptible"))
        placed = await world.settled()
        assert bound(placed, "vip") == 2
        assert {name for name in placed if name.startswith("t")} == {"t0-0", "t0-1", "t1-0", "t1-1"}
        assert {one["metadata"]["annotations"]["evictor-action-type"] for one in await world.events("Evict")} == {
            "preempt"
        }

    played(play)


def test_work_that_is_not_preemptible_stays_within_its_quota() -> None:
    async def play(world: World) -> None:
        await world.nodes(4)
        await world.queues(quota("q", 8), quota("limited", 8, limit=8))
        await world.submit(Workload(name="build", queue="q", pods=2, gpus=8, priority="build"))
        await world.submit(Workload(name="train", queue="q", pods=2, gpus=8))
        await world.submit(Workload(name="much", queue="limited", pods=2, gpus=8))
        placed = await world.settled()
        assert (bound(placed, "build"), bound(placed, "train"), bound(placed, "much")) == (0, 2, 0)
        (condition,) = (await world.group("build"))["status"]["schedulingConditions"]
        assert condition["reasons"][0]["reason"] == "NonPreemptibleOverQuota"
        (condition,) = (await world.group("much"))["status"]["schedulingConditions"]
        assert condition["reasons"][0]["reason"] == "OverLimit"

    played(play)


def _halved(world: World) -> Awaitable[dict[str, str]]:
    """Four nodes, each half full with a gang of one pod that something replaces."""

    async def play() -> dict[str, str]:
        await world.nodes(4)
        for index in range(8):
            await world.submit(Workload(name=f"f{index}", gpus=4, as_job=True))
            await world.clock.sleep(1.1)
        placed = await world.settled()
        first: dict[str, str] = {}
        for name, on in sorted(placed.items()):
            first.setdefault(on, name)
        for name in first.values():
            job = name.rpartition("-")[0]
            await world.client.delete(
                await world.client.resource("batch/v1", "Job"), job, namespace="default", propagation="Foreground"
            )
        return await world.settled()

    return play()


def test_running_work_is_moved_together_to_make_room() -> None:
    async def play(world: World) -> None:
        before = await _halved(world)
        assert len(set(before.values())) == 4
        await world.submit(Workload(name="big", pods=2, gpus=8))
        placed = await world.settled(30)
        assert bound(placed, "big") == 2
        # Two were moved: the Jobs made new pods of them, which run elsewhere.
        assert len(set(before) - set(placed)) == 2
        assert all(placed.values())
        assert len(placed) == 6
        assert {one["metadata"]["annotations"]["evictor-action-type"] for one in await world.events("Evict")} == {
            "consolidation"
        }

    played(play)


def test_nothing_is_moved_when_consolidation_is_off() -> None:
    async def play(world: World) -> None:
        before = await _halved(world)
        await world.submit(Workload(name="big", pods=2, gpus=8))
        placed = await world.settled()
        assert bound(placed, "big") == 0
        assert {name: on for name, on in placed.items() if name in before} == before

    played(play, settings=Settings(consolidation_preemptees=0))


def test_what_is_left_of_a_broken_gang_goes_after_its_grace() -> None:
    async def play(world: World) -> None:
        await world.nodes(1)
        await world.submit(Workload(name="g", pods=3))
        await world.settled()
        await world.client.delete(PODS, "g-1", namespace="default", grace_s=0)
        assert len(await world.settled(50)) == 2
        assert await world.settled(15) == {}
        (event, *_) = await world.events("Evict")
        assert event["metadata"]["annotations"]["evictor-action-type"] == "stalegangeviction"

    played(play)


def test_victims_are_marked_before_they_go_and_their_room_is_waited_for() -> None:
    async def play(world: World) -> None:
        await world.nodes(1)
        await world.queues(quota("qa", 0), quota("qb", 8))
        slow = Workload(name="slow", queue="qa", pods=2, gpus=4)
        group, *pods = DIALECT.objects(slow)
        for one in pods:
            one["spec"]["terminationGracePeriodSeconds"] = 20
        await world.create(group, *pods)
        await world.settled()
        await world.submit(Workload(name="mine", queue="qb", pods=2, gpus=4))
        placed = await world.settled(10)
        assert bound(placed, "mine") == 0, "the room is still in use"
        found = await world.pods()
        for name in ("slow-0", "slow-1"):
            condition = meta.condition(found[name], "DisruptionTarget") or {}
            assert (condition["status"], condition["reason"]) == ("True", "PreemptionByScheduler")
            assert condition["message"].startswith("kubedyno-scheduler: reclaimed for default/mine")
            assert found[name]["metadata"]["deletionTimestamp"]
        assert {found[name]["status"]["nominatedNodeName"] for name in ("mine-0", "mine-1")} == {"n00"}
        # Somebody else does not get what is kept for them.
        await world.submit(Workload(name="other", queue="qb"))
        await world.client.delete(PODS, "slow-0", namespace="default", grace_s=0)
        placed = await world.settled()
        assert (bound(placed, "mine"), bound(placed, "other")) == (0, 0), "gangs are bound whole"
        await world.client.delete(PODS, "slow-1", namespace="default", grace_s=0)
        placed = await world.settled()
        assert (bound(placed, "mine"), bound(placed, "other")) == (2, 0)

    played(play)


def test_who_waits_for_room_is_placed_anew_when_the_node_goes() -> None:
    async def play(world: World) -> None:
        await world.nodes(1)
        await world.queues(quota("qa", 0), quota("qb", 8))
        (slow,) = DIALECT.objects(Workload(name="slow", queue="qa", gpus=8))
        slow["spec"]["terminationGracePeriodSeconds"] = 1000
        await world.create(slow)
        await world.settled()
        await world.submit(Workload(name="mine", queue="qb", gpus=8))
        assert not (await world.settled())["mine-0"]
        await world.create(node("other"))
        await world.client.delete(NODES, "n00")
        assert (await world.settled())["mine-0"] == "other"

    played(play)


@pytest.mark.parametrize("seconds", [0.0, 0.003, 0.02, 0.1])
def test_a_scheduler_that_is_killed_in_the_middle_loses_nothing(seconds: float) -> None:
    async def play(world: World) -> None:
        await world.nodes(10)
        await world.queues(quota("qa", 40), quota("qb", 40))
        for index in range(10):
            await world.submit(Workload(name=f"a{index}", queue="qa", pods=8))
        await world.submit(Workload(name="f", queue="qb", fraction=0.5))
        await world.clock.sleep(seconds)
        await world.stop()
        world.start()
        await world.settled()
        await world.submit(Workload(name="b", queue="qb", pods=2, gpus=8))
        await world.clock.sleep(seconds)
        await world.stop()
        world.start()
        placed = await world.settled()
        assert bound(placed, "b") == 2
        for index in range(10):
            assert bound(placed, f"a{index}") in (0, 8)
        used = Counter[str]()
        for name, on in placed.items():
            if on:
                used[on] += 8 if name.startswith("b") else 0 if name.startswith("f") else 1
        assert max(used.values()) <= GPUS

    played(play)


def test_required_and_preferred_topology_by_kais_objects() -> None:
    """kai-recipes 5: 5 racks of 4 nodes, one node of each rack in use."""

    async def play(world: World) -> None:
        await world.nodes(20, topo_rack=lambda index: f"r{index // 4}")
        levels = [{"nodeLabel": "topo/rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
        await world.create(
            {
                "apiVersion": "kueue.x-k8s.io/v1alpha1",
                "kind": "Topology",
                "metadata": {"name": "t"},
                "spec": {"levels": levels},
            }
        )
        for rack in range(5):
            await world.submit(
                Workload(name=f"base{rack}", gpus=8, node_selector={"kubernetes.io/hostname": f"n{rack * 4:02}"})
            )
        await world.settled()

        async def racks(name: str, pods: int, gpus: int, **wish: str) -> Counter[str]:
            await world.submit(Workload(name=name, pods=pods, gpus=gpus, closeness=Closeness(topology="t", **wish)))
            placed = await world.settled()
            return Counter(f"r{int(on[1:]) // 4}" for pod, on in placed.items() if on and pod.startswith(f"{name}-"))

        assert sorted((await racks("three", 3, 8, required="topo/rack")).values()) == [3]
        assert not await racks("four", 4, 8, required="topo/rack")
        (condition,) = (await world.group("four"))["status"]["schedulingConditions"]
        assert condition["message"] == (
            "No domain of level topo/rack has room for 4 pods: of 5 the one with most room takes 3"
        )
        assert sorted((await racks("wish", 4, 8, preferred="topo/rack")).values()) == [1, 3]
        host = await racks("host", 8, 1, required="kubernetes.io/hostname")
        assert len(host) == 1
        placed = await world.settled()
        assert len({on for pod, on in placed.items() if pod.startswith("host-")}) == 1
        assert not await racks("lost", 2, 1, required="topo/zone")
        (condition,) = (await world.group("lost"))["status"]["schedulingConditions"]
        assert condition["message"] == (
            "topology t has no level topo/zone: its levels are topo/rack, kubernetes.io/hostname"
        )

    played(play)


def test_sub_groups_start_together_or_not_at_all() -> None:
    async def play(world: World) -> None:
        await world.nodes(2)
        parts = (Group(name="prefill", pods=2, gpus=4), Group(name="decode", pods=3, gpus=2))
        await world.submit(Workload(name="serve", groups=parts))
        assert len([on for on in (await world.settled()).values() if on]) == 5
        await world.submit(Workload(name="again", groups=parts))
        placed = await world.settled()
        assert not any(on for name, on in placed.items() if name.startswith("again"))

    played(play)


def test_fractions_share_gpus_and_none_is_over_committed() -> None:
    async def play(world: World) -> None:
        await world.nodes(1)
        for index in range(20):
            await world.submit(Workload(name=f"half{index}", fraction=0.5))
            if index % 3 == 0:
                await world.clock.sleep(0.5)
        await world.settled()
        found = [one for one in (await world.pods()).values() if one["spec"].get("nodeName")]
        assert len(found) == 16
        groups = Counter(meta.labels(one)["runai-gpu-group"] for one in found)
        assert (len(groups), set(groups.values())) == (8, {2})
        # Another scheduler of the same kind reads who shares what.
        await world.stop()
        gone = next(name for name, one in (await world.pods()).items() if one["spec"].get("nodeName"))
        await world.client.delete(PODS, gone, namespace="default", grace_s=0)
        world.start()
        await world.settled()
        found = [one for one in (await world.pods()).values() if one["spec"].get("nodeName")]
        assert len(found) == 16
        groups = Counter(meta.labels(one)["runai-gpu-group"] for one in found)
        assert set(groups.values()) == {2}

    played(play)


def test_kinds_that_come_later_are_found() -> None:
    async def play(world: World) -> None:
        await world.nodes(1)
        pods = DIALECT.objects(Workload(name="g", pods=2))[1:]
        await world.create(*pods)
        assert bound(await world.settled(), "g") == 0
        await installing.create_missing(world.client, REFERENCE.definitions())
        await installing.await_crds(world.client, REFERENCE.definitions())
        await installing.install_objects(world.client, REFERENCE.base_objects())
        await world.create(DIALECT.objects(Workload(name="g", pods=2))[0])
        assert bound(await world.settled(10), "g") == 2

    async def with_classes(world: World) -> None:
        await installing.install_objects(world.client, priority_classes())
        await play(world)

    played(with_classes, kinds=False)
