"""Watching a served cluster beside a recorder, in virtual time: schedulers that break rules through the API."""

from typing import Any

import pytest
from worlds_of_recording import NAMESPACE, World, play

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.resources import (
    CORE_EVENTS,
    CRDS,
    KAI_TOPOLOGIES,
    KUEUE_TOPOLOGIES,
    NAMESPACES,
    NODES,
    PODS,
    SERVICE_ACCOUNTS,
)
from kubedyno.measure.following import following
from kubedyno.measure.invariants.facts import TopologyFacts
from kubedyno.measure.invariants.observing import Watched, beside, served_topologies, watching
from kubedyno.measure.lives import Lives
from kubedyno.measure.records import Violation
from kubedyno.model.lifecycles import Followed
from kubedyno.schedulers import shows

pytestmark = pytest.mark.unit

KINDS = (Followed(PODS, "pod", shows.pod), Followed(CORE_EVENTS, "event", shows.eviction, fields="reason=Evict"))


async def add_node(world: World, name: str, *, gpus: int = 1, **spec: Any) -> None:
    has = {"cpu": "4", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": str(gpus)}
    await world.actor.create(NODES, {"metadata": {"name": name}, "status": {"allocatable": has}})
    # New nodes are tainted until they are ready.
    await world.actor.patch(NODES, name, {"spec": {"taints": [], **spec}}, kind="merge")


async def add_pod(world: World, name: str, *, namespace: str = NAMESPACE, **spec: Any) -> None:
    amounts = {"nvidia.com/gpu": "1", "cpu": "1"}
    containers = [{"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}}]
    body = {
        "metadata": {"name": name, "labels": {"kubedyno/workload": name}},
        "spec": {"containers": containers, **spec},
    }
    await world.actor.create(PODS, body, namespace=namespace)


async def bind(world: World, name: str, node: str, *, namespace: str = NAMESPACE) -> None:
    binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
    await world.actor.create(PODS, binding, namespace=namespace, name=name, subresource="binding")


def played(scenario: Any, *, namespace: str | None = NAMESPACE) -> tuple[tuple[Violation, ...], Lives]:
    """What was seen of a scenario on a cluster with two nodes of one GPU, after twenty quiet seconds."""

    async def watched_scenario(world: World) -> tuple[tuple[Violation, ...], Lives]:
        for name in ("n0", "n1"):
            await add_node(world, name)
        async with (
            watching(world.client, KINDS, namespace=namespace) as watched,
            following(world.client, KINDS, namespace=namespace, probing=None, observer=watched) as recorded,
        ):
            await scenario(world, watched)
            await world.clock.sleep(20)
            assert (await recorded.prove()).whole
            await watched.end(world.clock.wall_ns())
            return watched.violations(), watched.lives()

    found: tuple[tuple[Violation, ...], Lives] = play(watched_scenario)
    return found


def test_a_scheduler_that_over_commits_is_caught_and_one_that_waits_is_not() -> None:
    async def scenario(world: World, _: Watched) -> None:
        for name in ("a", "b", "c"):
            await add_pod(world, name)
        await bind(world, "a", "n0")
        await world.clock.sleep(5)
        await bind(world, "b", "n1")
        await bind(world, "c", "n1")

    violations, lives = played(scenario)
    (found,) = violations
    assert (found.invariant, found.object, found.node) == ("over-commit", f"Pod {NAMESPACE}/c", "n1")
    assert found.evidence == "node n1: 2 GPUs bound, 1 allocatable: pods b, c"
    assert {(life.name, life.node, life.gpus) for life in lives.pods} == {
        ("a", "n0", 1.0),
        ("b", "n1", 1.0),
        ("c", "n1", 1.0),
    }
    first, second, _ = sorted(lives.pods, key=lambda life: life.name)
    assert first.bound_ns is not None
    assert second.bound_ns is not None
    assert second.bound_ns - first.bound_ns == 5 * NS_PER_S
    assert {node.name: node.gpus for node in lives.nodes} == {"n0": 1.0, "n1": 1.0}


def test_pods_of_other_namespaces_take_room_and_have_no_lives() -> None:
    async def scenario(world: World, _: Watched) -> None:
        await world.actor.create(NAMESPACES, {"metadata": {"name": "other"}})
        await world.actor.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default"}}, namespace="other")
        await add_pod(world, "theirs", namespace="other")
        await bind(world, "theirs", "n0", namespace="other")
        await add_pod(world, "ours")
        await bind(world, "ours", "n0")

    violations, lives = played(scenario)
    assert [found.evidence for found in violations] == ["node n0: 2 GPUs bound, 1 allocatable: pods ours, theirs"]
    assert [life.name for life in lives.pods] == ["ours"]


def test_selectors_and_tolerations_are_read_from_what_is_served() -> None:
    async def scenario(world: World, _: Watched) -> None:
        await add_node(world, "n2", taints=[{"key": "k", "effect": "NoSchedule"}])
        await world.clock.sleep(5)
        await add_pod(world, "a", nodeSelector={"gpu": "h100"})
        await bind(world, "a", "n0")
        await add_pod(world, "b", tolerations=[{"key": "k", "operator": "Exists"}])
        await bind(world, "b", "n2")

    violations, _ = played(scenario)
    assert [(found.invariant, found.evidence) for found in violations] == [
        (
            "taint, selector or affinity ignored",
            "the pod selects nodes with gpu=h100, node n0 has no gpu",
        )
    ]


def test_a_pod_that_somebody_deletes_without_a_word_is_lost_and_one_of_ours_is_not() -> None:
    async def scenario(world: World, watched: Watched) -> None:
        for name in ("a", "b"):
            await add_pod(world, name)
        watched.accepted([(NAMESPACE, "a"), (NAMESPACE, "b")])
        watched.excuse(["b"], world.clock.wall_ns())
        for name in ("a", "b"):
            await world.delete(name)

    violations, lives = played(scenario)
    assert [(found.invariant, found.object) for found in violations] == [("pod lost", f"Pod {NAMESPACE}/a")]
    assert [life.end for life in lives.pods] == ["deleted", "deleted"]


def test_who_went_a_moment_before_the_end_is_not_missed_yet() -> None:
    async def scenario(world: World) -> tuple[Violation, ...]:
        await add_node(world, "n0")
        async with watching(world.client) as watched:
            await add_pod(world, "a")
            await world.delete("a")
            await watched.end(world.clock.wall_ns())
            return watched.violations()

    assert play(scenario) == ()


def test_without_a_recorder_everything_is_followed_by_itself() -> None:
    async def scenario(world: World) -> tuple[Violation, ...]:
        await add_node(world, "n0")
        async with watching(world.client) as watched:
            for name in ("a", "b"):
                await add_pod(world, name)
                await bind(world, name, "n0")
            await watched.end(world.clock.wall_ns())
            return watched.violations()

    assert [found.invariant for found in play(scenario)] == ["over-commit"]


def test_a_stream_that_breaks_and_is_resumed_loses_nothing() -> None:
    async def scenario(world: World, _: Watched) -> None:
        await add_pod(world, "a")
        await bind(world, "a", "n0")
        world.wire.end_streams(cut=True)
        await world.delete("a")
        await add_pod(world, "b")
        await bind(world, "b", "n0")

    violations, lives = played(scenario)
    assert [found.invariant for found in violations] == ["pod lost"]
    assert [life.node for life in lives.pods] == ["n0", "n0"]


def test_what_a_recorder_follows_is_not_followed_again() -> None:
    followed = [(one.resource, one.fields) for one in beside(KINDS, NAMESPACE)]
    assert (PODS, "") not in followed
    assert (PODS, f"metadata.namespace!={NAMESPACE}") in followed
    assert (CORE_EVENTS, "reason=Evict") not in followed
    assert (CORE_EVENTS, "reason=Preempted") in followed
    assert (PODS, "") in [(one.resource, one.fields) for one in beside((), None)]
    assert not any(one.resource == PODS for one in beside(KINDS, None))


def definition_of_topologies(*versions: str) -> dict[str, Any]:
    """The CRD of Kueue's Topology, with these versions."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = [
        {"name": name, "served": True, "storage": name == versions[0], "schema": {"openAPIV3Schema": schema}}
        for name in versions
    ]
    names = {"kind": "Topology", "plural": "topologies", "singular": "topology", "listKind": "TopologyList"}
    return {
        "metadata": {"name": "topologies.kueue.x-k8s.io"},
        "spec": {"group": "kueue.x-k8s.io", "scope": "Cluster", "names": names, "versions": served},
    }


@pytest.mark.parametrize(
    ("served", "watched"),
    [
        ((), "v1alpha1"),
        (("v1alpha1",), "v1alpha1"),
        (("v1beta1", "v1beta2"), "v1beta2"),
        (("v1alpha1", "v1beta1"), "v1beta1"),
    ],
)
def test_of_topologies_the_newest_version_that_is_served_is_watched(served: tuple[str, ...], watched: str) -> None:
    by_version = {one.version: one for one in KUEUE_TOPOLOGIES}

    async def scenario(world: World) -> None:
        if served:
            await world.actor.create(CRDS, definition_of_topologies(*served))
        assert [one.version for one in await served_topologies(world.client)] == [watched, KAI_TOPOLOGIES[0].version]
        async with watching(world.client) as seen:
            if not served:
                return
            resource = by_version[watched]
            spec = {"levels": [{"nodeLabel": "rack"}]}
            named = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "racks"}}
            await world.actor.create(resource, {**named, "spec": spec})
            await world.clock.sleep(1)
            (facts,) = [one for one in seen._known.values() if isinstance(one, TopologyFacts)]
            assert facts == TopologyFacts(name="racks", levels=("rack",))

    play(scenario)


def test_who_vanished_while_nobody_could_look_is_gone_and_its_place_is_free() -> None:
    async def scenario(world: World) -> tuple[tuple[Violation, ...], Lives]:
        await add_node(world, "n0")
        async with watching(world.client) as watched:
            await add_pod(world, "a")
            watched.excuse(["a"], world.clock.wall_ns())
            await bind(world, "a", "n0")
            await world.clock.sleep(1)
            world.wire.is_away = True
            world.wire.end_streams(cut=True)
            await world.clock.sleep(0.001)
            await world.delete("a")
            for number in range(30):  # the server forgets what was before
                await add_pod(world, f"lost-{number}")
                await world.delete(f"lost-{number}")
            await add_pod(world, "b")
            world.wire.is_away = False
            await world.clock.sleep(30)
            await bind(world, "b", "n0")
            await watched.end(world.clock.wall_ns())
            return watched.violations(), watched.lives()

    violations, lives = play(scenario, keep_events=10)
    assert violations == ()
    assert [(life.name, life.node, life.end) for life in lives.pods] == [("a", "n0", "deleted"), ("b", "n0", None)]
