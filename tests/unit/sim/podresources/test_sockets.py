"""Which nodes have sockets, and what is told there of a simulated node."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import RealClock
from kubedyno.kit.errors import UsageError
from kubedyno.kube.resources import NODES, PODS, SERVICE_ACCOUNTS
from kubedyno.model.numa.podresources import Host, View
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess
from kubedyno.sim import marks
from kubedyno.sim.exporters.viewing import view_of
from kubedyno.sim.faults import fault
from kubedyno.sim.faults.misbehaving import Misreport, ViewsUnavailable
from kubedyno.sim.podresources import messages, sockets
from kubedyno.sim.podresources.sockets import serve_sockets, socket_of
from kubedyno.sim.simulating import Instruments, Simulation, simulate

pytestmark = pytest.mark.unit

Asks = Callable[[Path], Any]
CAPACITY = {"cpu": "8", "memory": "16Gi", "pods": "10"}
KUBELET = msgspec.json.encode(
    {
        "topologyManagerPolicy": "single-numa-node",
        "cpuManagerPolicy": "static",
        "reservedCpus": 2,
        "numa": {"sockets": 2, "threadsPerCore": 1},
    }
).decode()


class NoViews:
    """Kubelets of which nothing is known."""

    async def view(self, node: str) -> tuple[View, Host]:
        del node
        return View(), Host(cpus={})

    async def changes(self, since: str) -> tuple[str, tuple[str, ...]]:
        del since
        raise NotImplementedError


@pytest.fixture
def client() -> Client:
    clock = RealClock()
    return Client(InProcess(new_api(clock=clock, seed=1), clock=clock), clock=clock)


async def add_node(client: Client, name: str, *, labelled: bool = True) -> None:
    labels = {marks.POD_RESOURCES: "true"} if labelled else {}
    await client.create(
        NODES,
        {
            "metadata": {"name": name, "labels": labels, "annotations": {marks.KUBELET: KUBELET}},
            "status": {"capacity": CAPACITY, "allocatable": CAPACITY},
        },
    )


async def label(client: Client, name: str, text: str | None) -> None:
    await client.patch(NODES, name, {"metadata": {"labels": {marks.POD_RESOURCES: text}}}, kind="merge")


@contextlib.asynccontextmanager
async def served(client: Client, folder: Path, **more: Any) -> AsyncIterator[None]:
    async with tasks.owning() as group:
        serving = serve_sockets(client, folder, NoViews(), clock=client.clock, seed=1, **more)
        task = group.create_task(serving)
        yield
        task.cancel()


async def until(said: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not said():  # noqa: ASYNC110 - files and other tasks' memory tell nobody
            await asyncio.sleep(0.005)


def there(folder: Path) -> set[str]:
    return {path.parent.name for path in folder.glob("*/kubelet.sock")}


async def test_nodes_with_the_label_have_sockets_as_long_as_they_have_it(client: Client, folder: Path) -> None:
    await add_node(client, "a")
    await add_node(client, "b", labelled=False)
    async with served(client, folder):
        await until(lambda: there(folder) == {"a"})
        await label(client, "b", "true")
        await until(lambda: there(folder) == {"a", "b"})
        await label(client, "a", None)
        await until(lambda: there(folder) == {"b"})
        await client.delete(NODES, "b")
        await until(lambda: not there(folder))
        await add_node(client, "b")
        await until(lambda: there(folder) == {"b"})
    assert not list(folder.iterdir())


async def test_named_nodes_have_sockets_before_they_are_there(client: Client, folder: Path) -> None:
    async with served(client, folder, names=("x", "y"), manages=lambda name: name != "y"):
        await until(lambda: there(folder) == {"x"})
        await add_node(client, "x")
        await label(client, "x", None)
        await add_node(client, "y")
        await add_node(client, "z")
        await until(lambda: there(folder) == {"x", "z"})
    assert not list(folder.iterdir())


async def test_a_folder_in_which_no_client_reaches_sockets_is_told(client: Client, folder: Path) -> None:
    deep = folder / ("d" * 90)
    with pytest.raises(UsageError, match=r"has \d+ bytes, and the path of a Unix socket may have 107: name a shorter"):
        async with served(client, deep, names=("x",)):
            await asyncio.sleep(10)
    assert not deep.exists()


async def test_a_labelled_node_without_a_socket_is_told_in_the_log(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(sockets._log, "warning", said.append)
    await add_node(client, "n" * 100)
    async with served(client, folder):
        await until(lambda: bool(said))
        await add_node(client, "a")
        await until(lambda: there(folder) == {"a"})
    assert len(said) == 1
    assert said[0].startswith(f"node {'n' * 100} has no pod-resources socket: the socket ")


async def test_the_longest_path_is_the_longest_that_can_be_bound(folder: Path) -> None:
    room = 107 - len(str(folder / "x" / sockets.SOCKET)) + 1
    assert len(str(socket_of(folder, "n" * room))) == 107
    with pytest.raises(UsageError):
        socket_of(folder, "n" * (room + 1))


async def test_a_simulation_tells_what_its_kubelets_hold_with_their_faults(
    client: Client, folder: Path, asking: Asks
) -> None:
    await add_node(client, "n")
    await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": "default"}})
    instruments = Instruments()
    simulation = Simulation(lease_s=0, pod_resources=folder, pod_resources_nodes=("gone",))
    limits = {"cpu": "2", "memory": "1Gi"}
    containers = [{"name": "c", "image": "i", "resources": {"limits": limits, "requests": limits}}]
    async with tasks.owning() as group:
        task = group.create_task(simulate(client, simulation, instruments, clock=client.clock))
        await until(lambda: there(folder) == {"n", "gone"})
        await client.create(
            PODS,
            {"metadata": {"name": "p", "namespace": "default"}, "spec": {"nodeName": "n", "containers": containers}},
        )
        ledger = instruments.fleet.nodes["n"].ledger
        await until(lambda: len(ledger) == 1)
        ask = asking(folder / "n" / sockets.SOCKET)
        view = view_of(ledger)
        assert view.pods[0].containers["c"].cpus
        assert await ask("List") == messages.listed(view)
        assert await ask("GetAllocatableResources") == messages.allocatable(view)

        await wrong(client, Misreport(id="m", what="hidden-pods"))
        await until(lambda: bool(instruments.fleet.nodes["n"].faults))
        assert await ask("List") == b""

        await wrong(client, ViewsUnavailable(id="v", how="error"))
        await until(lambda: [one.id for one in instruments.fleet.nodes["n"].faults] == ["v"])
        assert await failure(ask("List")) == (Status.RESOURCE_EXHAUSTED, "rejected by rate limit")

        assert await failure(asking(folder / "gone" / sockets.SOCKET)("List")) == (
            Status.UNAVAILABLE,
            "node gone is not simulated here: it is gone, or its settings are wrong",
        )
        task.cancel()
    assert not list(folder.iterdir())


async def wrong(client: Client, one: fault.Fault) -> None:
    await client.patch(NODES, "n", {"metadata": {"annotations": {marks.FAULTS: fault.written([one])}}}, kind="merge")


async def failure(call: Any) -> tuple[Status, str | None]:
    with pytest.raises(GRPCError) as caught:
        await call
    return caught.value.status, caught.value.message
