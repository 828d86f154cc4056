"""Pools and faults as scenarios use them, who refuses what, and how the kubelets' lag gets into a result."""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.errors import UsageError
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube import meta
from kubedyno.kube.resources import NODES
from kubedyno.lab import lagging
from kubedyno.lab.lab import Lab
from kubedyno.measure.recorder import Recorder
from kubedyno.plane.activity import Activity
from kubedyno.plane.component import Component, Probe
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess
from kubedyno.sim.faults.aiming import AnyGpus
from kubedyno.sim.faults.fault import Crash, NotReady
from kubedyno.sim.faults.injecting import Trouble
from kubedyno.sim.faults.maintaining import Cordon
from kubedyno.sim.faults.selecting import Selection
from kubedyno.sim.kubelet.lag import Lag
from kubedyno.sim.kubelet.settings import KubeletSettings
from kubedyno.sim.pools import Pool
from kubedyno.sim.pools.pool import Gpus
from kubedyno.sim.simulating import Instruments, Simulation, simulate

pytestmark = pytest.mark.unit

ALL = Selection(everything=True)


def lab(client: Client, clock: LoopClock, kubelet: str = "builtin") -> Lab:
    unused: Any = None
    return Lab(
        client=client,
        following=SimpleNamespace(recorder=Recorder()),  # type: ignore[arg-type]
        dialect=unused,
        scheduler=unused,
        namespace="ns",
        clock=clock,
        kubelet=kubelet,
    )


def in_a_lab(story: Any, *, kubelet: str = "builtin") -> None:
    """Tell a story in virtual time, with simulated nodes and no controllers."""

    async def main() -> None:
        clock = LoopClock(asyncio.get_running_loop())
        client = Client(InProcess(new_api(clock=clock, seed=0), clock=clock, cost_s=0.001), clock=clock)
        async with tasks.owning() as group:
            playing = group.create_task(simulate(client, Simulation(lease_s=0), Instruments(), clock=clock))
            await story(lab(client, clock, kubelet), client)
            playing.cancel()

    tasks.run(main, virtual=True)


def test_a_scenario_makes_any_pool_once() -> None:
    async def story(lab: Lab, client: Client) -> None:
        await lab.nodes(Pool(name="h", count=2, gpus=Gpus(model="H100")))
        nodes = (await client.list_all(NODES)).items
        assert {meta.labels(node)["nvidia.com/gpu.product"] for node in nodes} == {"NVIDIA-H100-80GB-HBM3"}
        with pytest.raises(UsageError, match="pool h exists already: choose another name"):
            await lab.nodes("h", count=1)

    in_a_lab(without_taints(story))


def without_taints(story: Any) -> Any:
    """Without controllers nobody takes the taint off that nodes are born with: it is done here."""

    async def told(lab: Lab, client: Client) -> None:
        async with tasks.owning() as group:
            cleaning = group.create_task(_clean(client))
            await story(lab, client)
            cleaning.cancel()

    return told


async def _clean(client: Client) -> None:
    while True:
        for node in (await client.list_all(NODES)).items:
            if (node.get("spec") or {}).get("taints"):
                await client.patch(NODES, node["metadata"]["name"], {"spec": {"taints": None}}, kind="merge")
        await client.clock.sleep(0.1)


def test_nodes_fail_and_recover() -> None:
    async def story(lab: Lab, client: Client) -> None:
        await lab.nodes("p", count=2)
        await lab.fail(NotReady(cause="runtime"), Selection(names=("p-1",)))
        while meta.is_condition_true(await client.get(NODES, "p-1"), "Ready"):
            await client.clock.sleep(0.1)
        assert meta.is_condition_true(await client.get(NODES, "p-0"), "Ready")
        await lab.recover(ALL)
        while not meta.is_condition_true(await client.get(NODES, "p-1"), "Ready"):
            await client.clock.sleep(0.1)

    in_a_lab(without_taints(story))


def test_what_kwok_cannot_play_is_refused_with_the_reason() -> None:
    async def story(lab: Lab, client: Client) -> None:
        del client
        with pytest.raises(UsageError, match=r"pool slow: KWOK has no kubelet settings: .*use --kubelet builtin"):
            await lab.nodes(Pool(name="slow", count=1, kubelet=KubeletSettings(start="5s")))
        with pytest.raises(UsageError, match="crash: KWOK's nodes do not know this fault; use --kubelet builtin"):
            await lab.fail(Crash(), ALL)

    in_a_lab(story, kubelet="kwok")


def test_what_hollow_nodes_cannot_play_is_refused_with_the_reason() -> None:
    async def story(lab: Lab, client: Client) -> None:
        with pytest.raises(UsageError, match=r"pool numa: hollow nodes have no kubelet settings: .*stubs that admit"):
            await lab.nodes(
                Pool(name="numa", count=1, kubelet=KubeletSettings(topology_manager_policy="single-numa-node"))
            )
        with pytest.raises(UsageError, match="pool big: 101 hollow nodes are more than 100, and each of them is"):
            await lab.nodes("big", count=101)
        with pytest.raises(UsageError, match="crash: hollow nodes do not know this fault; use --kubelet builtin"):
            await lab.fail(Crash(), ALL)
        assert (await client.list_all(NODES)).items == []

    in_a_lab(story, kubelet="kubemark")


@pytest.mark.parametrize("kubelet", ["kwok", "kubemark"])
@pytest.mark.parametrize("trouble", [Cordon(), AnyGpus(1)])
def test_what_the_api_does_is_not_refused_with_others_kubelets(trouble: Trouble, kubelet: str) -> None:
    async def story(lab: Lab, client: Client) -> None:
        del client
        with pytest.raises(UsageError, match="no node"):
            await lab.fail(trouble, Selection(names=("nobody",)))

    in_a_lab(story, kubelet=kubelet)


REPORT = msgspec.structs.asdict(Lag().report()) | {"late_leases": 2}


class _Reader:
    async def fetch(self, probe: Probe) -> bytes:
        assert probe.url == "http://127.0.0.1:5/lag"
        return msgspec.json.encode(REPORT)


async def _nothing(_: object) -> None:
    """An activity that does nothing."""


def audit() -> Mapping[str, float]:
    return REPORT


@pytest.mark.parametrize(
    ("activities", "components", "known"),
    [
        ({"kubelets": Activity(name="kubelets", role="kubelet", run=_nothing, audit=audit)}, (), True),
        ({}, (Component(name="kubelets", program="kubedyno", ports={"metrics": 5}),), True),
        ({}, (Component(name="kwok", program="kwok"),), False),
    ],
)
async def test_lag_is_asked_of_whoever_plays(
    activities: dict[str, Activity], components: tuple[Component, ...], known: bool
) -> None:
    lag = await lagging.lag_of(activities, components, _Reader())
    assert lag == (REPORT if known else None)


def test_leases_that_were_late_make_a_result_invalid() -> None:
    lines = {line.name: line for line in lagging.audit(REPORT)}
    assert not lines["leases renewed too late"].acceptable
    assert lines["nodes with two simulators"].acceptable
    assert lines["lag of kubelets, start p99"].limit is None
    assert lagging.audit(None) == []
