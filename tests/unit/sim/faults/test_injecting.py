"""Faults carried out: what stands on nodes, when, and what is left afterwards."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.simulated import Cluster

from kubedyno.client.errors import Unreachable
from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.client.transport import Response
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.draws import Draw
from kubedyno.kit.errors import ExitCode, UsageError
from kubedyno.kit.randomness import stream
from kubedyno.kube import codec, meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PODS
from kubedyno.kube.status import failure
from kubedyno.server.inprocess import InProcess
from kubedyno.sim import marks
from kubedyno.sim.faults import fault
from kubedyno.sim.faults.aiming import AnyGpus, aimed
from kubedyno.sim.faults.fault import Crash, GpuLost, KubeletRestart, NotReady
from kubedyno.sim.faults.injecting import Injection, Injector
from kubedyno.sim.faults.maintaining import Cordon, Drain, leaves
from kubedyno.sim.faults.scheduling import Timing
from kubedyno.sim.faults.selecting import Selection

pytestmark = pytest.mark.unit

InCluster = Callable[[Callable[[Cluster], Awaitable[Any]]], Any]

EVERY = Selection(everything=True)


def kinds(node: Object) -> list[str]:
    return [one.kind for one in fault.of(node)]


def test_a_fault_stays_until_it_is_taken_away(in_cluster: InCluster) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a", "b")
        await cluster.fail(Crash(), "a")
        await cluster.fail(NotReady(), "a")
        node = await cluster.node("a")
        assert kinds(node) == ["crash", "not-ready"]
        assert len({one.id for one in fault.of(node)}) == 2
        assert all(one.since and not one.until for one in fault.of(node))
        assert kinds(await cluster.node("b")) == []
        await cluster.recover("a")
        assert marks.FAULTS not in meta.annotations(await cluster.node("a"))
        assert [(one.event, one.kind, one.domain, one.nodes) for one in cluster.injections] == [
            ("failed", "crash", "a", ("a",)),
            ("failed", "not-ready", "a", ("a",)),
            ("recovered", "all", "", ("a",)),
        ]

    in_cluster(play)


def test_a_fault_for_a_time_is_gone_afterwards_and_says_on_the_node_when_it_ends(in_cluster: InCluster) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a", "b")
        await cluster.fail(NotReady(), "a")
        begun_ns = cluster.clock.wall_ns()
        failing = asyncio.ensure_future(cluster.injector.fail(Crash(), EVERY, Timing(for_s=60)))
        await cluster.clock.sleep(30)
        until = {one.until_ns for name in ("a", "b") for one in fault.of(await cluster.node(name))}
        assert until == {None, begun_ns + 60 * NS_PER_S}
        await failing
        assert cluster.clock.wall_ns() == begun_ns + 60 * NS_PER_S
        assert (kinds(await cluster.node("a")), kinds(await cluster.node("b"))) == (["not-ready"], [])
        assert [one.nodes for one in cluster.injections[1:]] == [("a", "b"), ("a", "b")]

    in_cluster(play)


@pytest.mark.parametrize("trouble", [Crash(), Cordon()])
def test_an_interrupted_command_leaves_nothing_behind(in_cluster: InCluster, trouble: Crash | Cordon) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a", "b")
        failing = asyncio.ensure_future(cluster.injector.fail(trouble, EVERY, Timing(for_s=60)))
        await cluster.clock.sleep(10)
        assert [kinds(await cluster.node("a")), (await cluster.node("a"))["spec"].get("unschedulable")] in (
            [["crash"], None],
            [[], True],
        )
        failing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await failing
        for name in ("a", "b"):
            node = await cluster.node(name)
            assert marks.FAULTS not in meta.annotations(node)
            assert not node["spec"].get("unschedulable")
        assert cluster.injections[-1].event == "recovered"

    in_cluster(play)


def test_what_is_kept_is_not_waited_for_and_ends_by_itself(in_cluster: InCluster) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        begun_ns = cluster.clock.wall_ns()
        await cluster.injector.fail(Crash(), EVERY, Timing(for_s=60), keep=True)
        assert cluster.clock.wall_ns() == begun_ns
        faults = fault.of(await cluster.node("a"))
        assert [fault.is_down(faults, begun_ns + seconds * NS_PER_S) for seconds in (59, 60)] == [True, False]
        with pytest.raises(UsageError, match="--keep: a drain does not end by itself; leave out --keep, or its end"):
            await cluster.injector.fail(Drain(), EVERY, Timing(for_s=60), keep=True)

    in_cluster(play)


def test_a_fault_that_is_long_over_goes_with_the_next_one(in_cluster: InCluster) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        await cluster.injector.fail(KubeletRestart(), EVERY)
        await cluster.clock.sleep(30)
        await cluster.injector.fail(NotReady(), EVERY)
        assert kinds(await cluster.node("a")) == ["kubelet-restart", "not-ready"]
        await cluster.clock.sleep(60)
        await cluster.injector.fail(Crash(), EVERY)
        assert kinds(await cluster.node("a")) == ["not-ready", "crash"]

    in_cluster(play)


def test_a_restart_lasts_as_long_as_is_asked_and_stays_to_be_seen(in_cluster: InCluster) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        await cluster.injector.fail(KubeletRestart(state="lost"), EVERY, Timing(for_s=30))
        (restart,) = fault.of(await cluster.node("a"))
        assert (restart.state, restart.down_s, restart.until) == ("lost", 30, "")

    in_cluster(play)


def test_nodes_fail_at_a_rate_and_all_are_well_at_the_end(in_cluster: InCluster) -> None:
    async def play(cluster: Cluster) -> None:
        for index in range(20):
            await cluster.add_nodes(f"n-{index}", rack=f"r-{index // 5}")
        seen: dict[str, set[str]] = {}
        begun_ns = cluster.clock.wall_ns()
        timing = Timing(rate_per_s=6 / 3600, repair=Draw.parse("uniform(1m, 9m)"), during_s=3600)
        async with Informer(cluster.client, NODES) as informer:
            informer.subscribe(
                lambda change: [seen.setdefault(one.id, set()).add(change.key[1]) for one in fault.of(change.object)]
            )
            await cluster.injector.fail(Crash(), Selection(everything=True, by="rack"), timing)
        assert (cluster.clock.wall_ns() - begun_ns) / NS_PER_S <= 3600
        assert 5 < len(seen) < 30
        assert all(len(nodes) == 5 for nodes in seen.values())  # whole racks
        nodes = (await cluster.client.list_all(NODES)).items
        assert [kinds(node) for node in nodes] == [[]] * 20
        failed = [one for one in cluster.injections if one.event == "failed"]
        recovered = [one for one in cluster.injections if one.event == "recovered"]
        assert len(failed) == len(recovered) == len(seen)
        assert {one.domain for one in failed} == {"r-0", "r-1", "r-2", "r-3"}

    in_cluster(play)


def test_the_node_may_change_and_go_while_it_fails(in_cluster: InCluster) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a", "b")
        injectors = [Injector(cluster.client, cluster.clock) for _ in range(10)]
        await asyncio.gather(*(one.fail(GpuLost(gpus=(place,)), EVERY) for place, one in enumerate(injectors[:8])))
        now_ns = cluster.clock.wall_ns()
        assert fault.lost_gpus(fault.of(await cluster.node("a")), now_ns) == frozenset(range(8))
        failing = asyncio.ensure_future(cluster.injector.fail(Crash(), EVERY, Timing(for_s=60)))
        await cluster.clock.sleep(10)
        await cluster.client.delete(NODES, "b")
        await failing
        assert [one.nodes for one in cluster.injections] == [("a", "b"), ("a",)]

    in_cluster(play)


def test_any_gpus_are_drawn_for_each_node(in_cluster: InCluster) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes(*(f"n-{index}" for index in range(10)))
        await cluster.injector.fail(AnyGpus(2), EVERY)
        now_ns = cluster.clock.wall_ns()
        lost = [fault.lost_gpus(fault.of(node), now_ns) for node in (await cluster.client.list_all(NODES)).items]
        assert all(len(gpus) == 2 and max(gpus) < 8 for gpus in lost)
        assert len(set(lost)) > 1

    in_cluster(play)


@pytest.mark.parametrize(
    ("trouble", "sentence"),
    [
        (GpuLost(gpus=(0, 8)), "--gpus 8: node 'a' has 8 GPUs, numbered from 0 to 7"),
        (AnyGpus(9), "--gpus any:9: node 'a' has 8 GPUs"),
        (AnyGpus(0), "--gpus any:0: node 'a' has 8 GPUs"),
    ],
)
def test_gpus_that_a_node_does_not_have_are_told_before_anything_is_done(
    in_cluster: InCluster, trouble: GpuLost | AnyGpus, sentence: str
) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        with pytest.raises(UsageError) as caught:
            await cluster.injector.fail(trouble, EVERY)
        assert str(caught.value) == sentence
        assert caught.value.exit_code == ExitCode.USAGE
        assert cluster.injections == []

    in_cluster(play)


def test_a_node_loses_gpus_that_it_has_with_an_inventory_or_without() -> None:
    told = {"metadata": {"name": "n", "annotations": {marks.DEVICES: '{"count": 4, "model": "H100"}'}}}
    counted = {"metadata": {"name": "n"}, "status": {"capacity": {"nvidia.com/gpu": "2"}}}
    rng = stream(1, "gpus")
    assert aimed(AnyGpus(4), told, rng) == GpuLost(gpus=(0, 1, 2, 3))
    assert aimed(AnyGpus(2), counted, rng) == GpuLost(gpus=(0, 1))
    assert aimed(GpuLost(gpus=(1,)), counted, rng) == GpuLost(gpus=(1,))
    for node, sentence in (
        (counted, "--gpus 2: node 'n' has 2 GPUs, numbered from 0 to 1"),
        ({"metadata": {"name": "n"}}, "--gpus 2: node 'n' has no GPU"),
    ):
        with pytest.raises(UsageError) as caught:
            aimed(GpuLost(gpus=(2,)), node, rng)
        assert (str(caught.value), caught.value.exit_code) == (sentence, ExitCode.USAGE)


def test_recovering_what_is_well_is_told(in_cluster: InCluster) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a", "b")
        for call, sentence in (
            (cluster.injector.recover, "nothing is wrong with the selected nodes (--all): there is nothing to recover"),
            (cluster.injector.uncordon, "no cordon is around the selected nodes (--all): there is nothing to recover"),
        ):
            with pytest.raises(UsageError) as caught:
                await call(EVERY)
            assert str(caught.value) == sentence
            assert caught.value.exit_code == ExitCode.USAGE
        await cluster.fail(Crash(), "b")
        await cluster.fail(Cordon(), "b")
        assert (await cluster.node("b"))["spec"]["unschedulable"] is True
        await cluster.injector.recover(EVERY)
        assert cluster.injections[-1].nodes == ("b",)
        assert "unschedulable" not in (await cluster.node("b"))["spec"]
        await cluster.fail(Cordon(), "a")
        await cluster.injector.uncordon(EVERY)
        assert (cluster.injections[-1].kind, cluster.injections[-1].nodes) == ("cordon", ("a",))

    in_cluster(play)


def test_faults_that_nobody_can_read_are_taken_away_all_the_same(in_cluster: InCluster) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        broken = {"metadata": {"annotations": {marks.FAULTS: "broken"}}}
        await cluster.client.patch(NODES, "a", broken, kind="merge")
        await cluster.recover("a")
        assert marks.FAULTS not in meta.annotations(await cluster.node("a"))

    in_cluster(play)


@pytest.mark.parametrize(
    ("pod", "goes"),
    [
        ({}, True),
        ({"metadata": {"ownerReferences": [{"kind": "Job", "controller": True}]}}, True),
        ({"metadata": {"ownerReferences": [{"kind": "DaemonSet", "controller": True}]}}, False),
        (
            {
                "metadata": {"ownerReferences": [{"kind": "DaemonSet", "controller": True}]},
                "status": {"phase": "Failed"},
            },
            True,
        ),
        ({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}, False),
    ],
)
def test_a_drain_leaves_daemons_and_the_nodes_own_pods(pod: Object, goes: bool) -> None:
    assert leaves(pod) is goes


def test_a_drain_asks_disruption_budgets_until_they_allow_it(in_cluster: InCluster) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a", "b")
        budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "test"}}}
        await cluster.create(
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "one"}, "spec": budget}
        )
        daemons = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}]
        for name in ("first", "second"):
            await cluster.add_pod(name, "a", terminationGracePeriodSeconds=0)
        daemon = {"labels": {"app": "daemon"}, "ownerReferences": daemons}
        await cluster.add_pod("daemon", "a", metadata=daemon)
        ready = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}
        for name in ("first", "second"):
            await cluster.client.patch(
                PODS, name, {"status": ready}, kind="merge", namespace="default", subresource="status"
            )
        await cluster.until(PODS, lambda pods: len(pods) == 3)
        await cluster.clock.sleep(5)
        draining = asyncio.ensure_future(cluster.injector.fail(Drain(), Selection(names=("a",))))
        await cluster.until(PODS, lambda pods: len(pods) == 2)
        await cluster.clock.sleep(60)
        assert not draining.done()
        (left,) = {"first", "second"} & set(await cluster.until(PODS, lambda pods: len(pods) == 2))
        replacement = await cluster.add_pod("replacement", "b")
        await cluster.client.patch(
            PODS,
            replacement["metadata"]["name"],
            {"status": ready},
            kind="merge",
            namespace="default",
            subresource="status",
        )
        await draining
        assert set(await cluster.until(PODS, lambda pods: left not in pods)) == {"daemon", "replacement"}
        assert (await cluster.node("a"))["spec"]["unschedulable"] is True
        assert [(one.event, one.kind) for one in cluster.injections] == [("failed", "drain"), ("drained", "drain")]

    in_cluster(play)


def test_a_drain_for_a_time_ends_with_it_drained_or_not(in_cluster: InCluster) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        await cluster.add_pod("stays", "a")  # nobody plays the kubelet: it is asked to go and does not
        begun_ns = cluster.clock.wall_ns()
        await cluster.injector.fail(Drain(), EVERY, Timing(for_s=60))
        assert cluster.clock.wall_ns() - begun_ns == 60 * NS_PER_S
        assert (await cluster.pod("stays"))["metadata"]["deletionTimestamp"]
        assert "unschedulable" not in (await cluster.node("a"))["spec"]
        assert [one.event for one in cluster.injections] == ["failed", "recovered"]

    in_cluster(play)


class Away(InProcess):
    """A server that can be away, or answer with an error."""

    refusal: int | None = None
    is_away = False

    async def request(self, method: str, path: str, **more: Any) -> Response:
        if self.is_away:
            raise Unreachable(server="test", cause="refused the connection", remedy="start it")
        if self.refusal is not None and method == "PATCH":
            body = codec.encode(failure(self.refusal, "out of order", reason="InternalError"))
            return Response(self.refusal, {}, body)
        return await super().request(method, path, **more)


@pytest.mark.parametrize("refusal", [None, 429, 500, 503])
def test_a_server_that_is_away_for_a_minute_delays_faults_and_loses_none(
    in_cluster: InCluster, refusal: int | None
) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a", "b")
        told: list[Injection] = []
        transport = Away(cluster.client.transport.api, clock=cluster.clock)
        injector = Injector(Client(transport, clock=cluster.clock), cluster.clock, tell=told.append)
        failing = asyncio.ensure_future(injector.fail(Crash(), EVERY, Timing(for_s=60)))
        await cluster.clock.sleep(30)
        transport.refusal, transport.is_away = refusal, refusal is None
        await cluster.clock.sleep(60)
        assert kinds(await cluster.node("a")) == ["crash"]
        transport.refusal, transport.is_away = None, False
        await failing
        assert (kinds(await cluster.node("a")), kinds(await cluster.node("b"))) == ([], [])
        assert [(one.event, one.nodes) for one in told] == [("failed", ("a", "b")), ("recovered", ("a", "b"))]

    in_cluster(play)


def test_a_server_that_stays_away_is_told(in_cluster: InCluster) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        transport = Away(cluster.client.transport.api, clock=cluster.clock)
        injector = Injector(Client(transport, clock=cluster.clock), cluster.clock)
        failing = asyncio.ensure_future(injector.fail(Crash(), EVERY, Timing(for_s=60)))
        await cluster.clock.sleep(30)
        transport.is_away = True
        with pytest.raises(Unreachable, match="the API server at test refused the connection: start it"):
            await failing
        # Nobody could take it away, and still it ends.
        now_ns = cluster.clock.wall_ns()
        assert not fault.is_down(fault.of(await cluster.node("a")), now_ns)

    in_cluster(play)
