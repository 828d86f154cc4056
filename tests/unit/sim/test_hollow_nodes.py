"""Which processes of kubemark there are for which nodes; the processes themselves are imagined."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from kubedyno.client.errors import Overdue
from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube.resources import NODES
from kubedyno.plane import kubemark
from kubedyno.plane.activity import Ground
from kubedyno.plane.component import Component, flag_values
from kubedyno.plane.ports import counted_ports
from kubedyno.plane.site import PROFILES, Site
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess
from kubedyno.sim import hollow_nodes

pytestmark = pytest.mark.unit


def site(profile: str = "scale") -> Site:
    return Site(folder=Path("/lab"), draw_port=counted_ports(10000), profile=PROFILES[profile])


class Processes:
    """Stands for the supervisor: starting takes a second."""

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock
        self.running: dict[str, Component] = {}
        self.told: list[str] = []
        self.most_at_once = 0

    async def start(self, components: Iterable[Component]) -> None:
        wanted = list(components)
        self.most_at_once = max(self.most_at_once, len(wanted))
        if wanted:
            await self._clock.sleep(1)
        for component in wanted:
            self.told.append(f"start {component.name}")
            self.running[component.name] = component

    async def stop(self, names: Iterable[str]) -> None:
        for name in names:
            self.told.append(f"stop {name}")
            del self.running[name]


Play = Callable[[Client, Processes], Awaitable[Any]]


def play(story: Play) -> None:
    """Tell a story in virtual time while the hollow nodes of a cluster are kept."""

    async def main() -> None:
        clock = LoopClock(asyncio.get_running_loop())
        client = Client(InProcess(new_api(clock=clock, seed=0), clock=clock), clock=clock)
        processes: Any = Processes(clock)
        activity = hollow_nodes.activity(site(), after=("kube-apiserver",))
        assert activity.programs == ("kubemark",)
        async with tasks.owning() as group:
            ground = Ground(client=client, clock=clock, seed=0, supervisor=processes)
            keeping = group.create_task(activity.run(ground))
            await story(client, processes)
            keeping.cancel()

    tasks.run(main, virtual=True)


def node(name: str, runtime: str = "", **allocatable: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "status": {
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"containerRuntimeVersion": runtime} if runtime else {},
        },
    }


async def write(client: Client, document: dict[str, Any]) -> None:
    """Create a node with its status, or write its status anew; taints are taken off."""
    name = document["metadata"]["name"]
    if not any(found["metadata"]["name"] == name for found in (await client.list_all(NODES)).items):
        await client.create(NODES, document)
    await client.patch(NODES, name, {"spec": {"taints": None}}, kind="merge")
    await client.patch(NODES, name, {"status": document["status"]}, kind="merge", subresource="status")


@pytest.mark.parametrize(("profile", "qps", "burst"), [("production", "50", "100"), ("scale", "5000", "10000")])
def test_a_hollow_node_shows_what_the_node_has_and_listens_on_loopback(profile: str, qps: str, burst: str) -> None:
    resources = {"pods": "110", "cpu": "32", "memory": "256Gi", "nvidia.com/gpu": "8"}
    made = kubemark.hollow_node(site(profile), node="p-3", resources=resources, after=("kube-apiserver",))
    assert (made.name, made.program, made.role, made.after) == (
        "hollow-p-3",
        "kubemark",
        "kubelet",
        ("kube-apiserver",),
    )
    assert flag_values(made.args) == {
        "morph": "kubelet",
        "name": "p-3",
        "kubeconfig": "/lab/kubeconfigs/hollow-nodes.yaml",
        "kubelet-port": "10000",
        "kubelet-read-only-port": "0",
        "use-host-image-service": "false",
        "extended-resources": "cpu=32,memory=256Gi,nvidia.com/gpu=8",
        "max-pods": "110",
        "kube-api-qps": qps,
        "kube-api-burst": burst,
    }
    assert made.ready is not None
    assert made.ready.url == "http://127.0.0.1:10000/healthz"


def test_processes_come_and_go_with_their_nodes_some_at_a_time() -> None:
    async def story(client: Client, processes: Processes) -> None:
        for index in range(20):
            await client.create(NODES, node(f"n-{index}", cpu="1"))
        await client.clock.sleep(5)
        assert sorted(processes.running) == sorted(f"hollow-n-{index}" for index in range(20))
        assert processes.most_at_once == 8
        await client.delete(NODES, "n-7")
        await client.clock.sleep(1)
        assert "hollow-n-7" not in processes.running
        assert len(processes.running) == 19

    play(story)


def test_a_node_that_changes_keeps_its_process_and_another_of_its_name_gets_one_of_its_own() -> None:
    async def story(client: Client, processes: Processes) -> None:
        await write(client, node("a", cpu="1"))
        await client.clock.sleep(3)
        await client.patch(NODES, "a", {"metadata": {"labels": {"seen": "yes"}}}, kind="merge")
        await client.clock.sleep(3)
        assert processes.told == ["start hollow-a"]
        await client.delete(NODES, "a")
        await client.create(NODES, node("a"))
        await client.clock.sleep(3)
        assert processes.told == ["start hollow-a", "stop hollow-a", "start hollow-a"]

    play(story)


def test_a_node_that_is_gone_before_its_turn_never_gets_a_process() -> None:
    async def story(client: Client, processes: Processes) -> None:
        for index in range(10):
            await client.create(NODES, node(f"n-{index}"))
        await client.clock.sleep(0.5)
        first = {name.removeprefix("start hollow-") for name in processes.told}
        await client.delete(NODES, "n-9")
        await client.clock.sleep(5)
        assert "n-9" in first or "hollow-n-9" not in processes.running
        assert len(processes.running) == 9

    play(story)


def test_a_node_counts_when_its_hollow_kubelet_has_spoken() -> None:
    async def story(client: Client, processes: Processes) -> None:
        del processes
        for name in ("a", "b"):
            await write(client, node(name, "containerd://2.1.4"))
        waiting = asyncio.ensure_future(hollow_nodes.awaited(client, ["a", "b"]))
        await write(client, node("a", "fakeRuntime://0.1.0"))
        await client.clock.sleep(3)
        assert not waiting.done()
        await write(client, node("b", "fakeRuntime://0.1.0"))
        await waiting

    play(story)


def test_a_hollow_kubelet_that_stays_silent_is_named_with_its_log() -> None:
    async def story(client: Client, processes: Processes) -> None:
        del processes
        await write(client, node("a", "containerd://2.1.4"))
        with pytest.raises(Overdue) as caught:
            await hollow_nodes.awaited(client, ["a"])
        assert str(caught.value) == (
            "1 hollow nodes to be ready did not happen within 62 s (1 are not, a is one): its log is "
            "logs/hollow-a.log in the folder of the lab"
        )

    play(story)
