"""What exporters ask kubelets: in the same process, and from a simulator's pages over HTTP."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import msgspec
import pytest
from tests.numanodes import kubelet, node, pod

from kubedyno.client.access import Access
from kubedyno.client.rest import Client
from kubedyno.kit.clock import RealClock
from kubedyno.kube.codec import Object
from kubedyno.sim import asking, exposing, ledgers
from kubedyno.sim.exporters.views import CHANGES_PAGE, VIEW_PAGE, OwnViews, ServedViews, ViewUnavailable
from kubedyno.sim.faults.misbehaving import ViewsUnavailable
from kubedyno.sim.kubelet.changes import Changes
from kubedyno.sim.kubelet.fleet import Fleet
from kubedyno.sim.kubelet.settings import KubeletSettings, Numa
from kubedyno.sim.ledgers import LEDGER_PAGE, LedgerState

pytestmark = pytest.mark.unit


def fleet(*names: str) -> Fleet:
    found = Fleet()
    for name in names:
        found.node_seen(simulated(name), 0)
    return found


def simulated(name: str) -> Object:
    made = node(kubelet(), name=name)
    made["metadata"]["resourceVersion"] = "1"
    return made


def admit(found: Fleet, name: str, on: str) -> None:
    assert found.nodes[on].ledger.admit(pod(name, {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "1"})) is None
    found.changes.note(on)


@contextlib.asynccontextmanager
async def pages(found: Fleet) -> AsyncIterator[Client]:
    """A client of the pages of a simulator with these nodes."""
    async with (
        exposing.serving({}, questions=asking.questions(found, RealClock())) as url,
        Client.connect(Access(server=url)) as client,
    ):
        yield client


async def test_pages_tell_the_same_as_the_process_itself() -> None:
    found = fleet("a", "b")
    admit(found, "p", "a")
    own = OwnViews(found, RealClock())
    async with pages(found) as client:
        served = ServedViews(client)
        for name in ("a", "b"):
            assert await served.view(name) == await own.view(name)
        view, host = await served.view("a")
    assert [one.name for one in view.pods] == ["p"]
    assert sorted(host.cpus) == [0, 1]


async def test_changes_are_all_nodes_at_first_and_then_those_that_changed() -> None:
    found = fleet("a", "b", "c")
    async with pages(found) as client:
        for views in (OwnViews(found, RealClock()), ServedViews(client)):
            version, names = await views.changes("")
            assert sorted(names) == ["a", "b", "c"]
            found.changes.note("c")
            found.changes.note("a")
            found.changes.note("c")
            later, names = await views.changes(version)
            assert list(names) == ["a", "c"]
            assert sorted((await views.changes("of another time"))[1]) == ["a", "b", "c"]
            asking_again = asyncio.ensure_future(views.changes(later))
            await asyncio.sleep(0.02)
            assert not asking_again.done()
            found.node_gone("b")
            assert list((await asking_again)[1]) == ["b"]
            found.node_seen(simulated("b"), 0)


async def test_versions_of_another_simulator_mean_nothing() -> None:
    found = fleet("a")
    async with pages(found) as client:
        version, _ = await ServedViews(client).changes("")
        found.changes.note("a")
    async with pages(found) as client:
        assert (await ServedViews(client).changes(version))[1] == ("a",)


async def test_nothing_is_kept_before_somebody_asks_for_changes() -> None:
    changes = Changes()
    for _ in range(3):
        changes.note("a")
    first = await changes.since(0, ("a",))
    assert await changes.since(first.version, ("a",), within_s=0.01) == type(first)(first.version, ())


async def test_what_changes_a_ledger_is_noted_and_what_does_not_is_not() -> None:
    found = fleet("a")
    version = (await found.changes.since(0, ())).version

    async def noted() -> tuple[str, ...]:
        nonlocal version
        changed = await found.changes.since(version, (), within_s=0.001)
        version = changed.version
        return changed.nodes

    same = simulated("a")
    same["metadata"] |= {"resourceVersion": "2", "labels": {"some": "label"}}
    found.node_seen(same, 0)
    assert await noted() == ()
    other = simulated("a")
    other["metadata"]["resourceVersion"] = "3"
    other["status"]["allocatable"]["cpu"] = "30"
    found.node_seen(other, 0)
    assert await noted() == ("a",)
    found.node_gone("a")
    assert await noted() == ("a",)


async def test_a_node_that_is_not_simulated_tells_nothing() -> None:
    found = fleet("a")
    with pytest.raises(ViewUnavailable, match="node gone is not simulated here: it is gone, or its settings are wrong"):
        await OwnViews(found, RealClock()).view("gone")
    async with pages(found) as client:
        with pytest.raises(ViewUnavailable, match="there is no simulated node 'gone'") as raised:
            await ServedViews(client).view("gone")
    assert raised.value.code == "NotFound"


async def test_a_kubelet_with_faults_says_so_through_pages_as_well() -> None:
    found = fleet("a")
    found.nodes["a"].faults = (ViewsUnavailable(how="error"),)
    async with pages(found) as client:
        for views in (OwnViews(found, RealClock()), ServedViews(client)):
            with pytest.raises(ViewUnavailable, match="rejected by rate limit") as raised:
                await views.view("a")
            assert raised.value.code == "ResourceExhausted"


async def test_pages_that_are_not_there_are_one_sentence() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        async with Client.connect(Access(server=url)) as client:
            with pytest.raises(ViewUnavailable, match=rf"the simulator's pages at {url} cannot be read: it "):
                await ServedViews(client).view("a")


async def test_pages_of_somebody_else_are_not_believed() -> None:
    async def other() -> tuple[str]:
        return ("hello",)

    async with (
        exposing.serving({VIEW_PAGE: other}) as url,
        Client.connect(Access(server=url)) as client,
    ):
        for path, views in ((VIEW_PAGE, 200), (CHANGES_PAGE, 404)):
            served = ServedViews(client)
            with pytest.raises(ViewUnavailable, match=f"{path} answers {views} with something that no simulator"):
                await (served.view("a") if path == VIEW_PAGE else served.changes(""))


async def test_the_ledger_is_a_page_too() -> None:
    found = fleet("a")
    admit(found, "p", "a")
    async with pages(found) as client:
        response = await client.request_raw("GET", LEDGER_PAGE, query={"node": "a"})
        state = msgspec.json.decode(response.body, type=LedgerState)
        missing = await client.request_raw("GET", LEDGER_PAGE)
    assert state == ledgers.state_of(found.nodes["a"].ledger)
    assert state.zones[0]["cpu"].available == 12
    assert (state.pods[0].name, state.pods[0].amounts["cpu"], state.overlaps) == ("p", 2000, ())
    assert len(state.pods[0].containers["app0"].cpus) == 2
    assert (missing.status, missing.body) == (
        404,
        b'{"error":"of which node? Write ?node=NAME","code":"NotFound"}',
    )


async def test_a_node_whose_machine_cannot_have_zones_says_so() -> None:
    found = Fleet()
    odd = node(KubeletSettings(numa=Numa(sockets=2)), name="odd", cpus=3, gpus=0)
    odd["metadata"]["resourceVersion"] = "1"
    found.node_seen(odd, 0)
    with pytest.raises(ViewUnavailable, match="node odd has no machine with NUMA zones: ") as raised:
        await OwnViews(found, RealClock()).view("odd")
    assert raised.value.code == "FailedPrecondition"
