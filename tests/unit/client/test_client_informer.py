import asyncio

import pytest
from api_stub import JumpClock, Stub, Wire, failing, pod, pod_list, reply

from kubedyno.client.access import Access
from kubedyno.client.errors import ApiError, Overdue
from kubedyno.client.informer import Change, Informer
from kubedyno.client.rest import Client
from kubedyno.kit.clock import VirtualClock
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS

pytestmark = pytest.mark.unit

PATH = "/api/v1/namespaces/ns/pods"


def by_phase(obj: Object) -> list[str]:
    phase: str = obj["status"]["phase"]
    return [phase] if phase else []


def names(informer: Informer) -> set[str]:
    return {item["metadata"]["name"] for item in informer.items}


@pytest.fixture
def wire(stub: Stub) -> Wire:
    wire = Wire()
    stub.on("WATCH", PATH, wire)
    return wire


async def test_it_is_complete_on_entry(client: Client, stub: Stub, wire: Wire) -> None:
    stub.on("GET", PATH, reply(pod_list(pod("a"), pod("b"), version=5)))
    async with Informer(client, PODS, namespace="ns") as informer:
        assert names(informer) == {"a", "b"}
        assert informer.get(("ns", "a")) == pod("a")
        assert informer.get(("ns", "c")) is None
        assert informer.counts.lists == 1


async def test_changes_are_stored_indexed_and_told(stub: Stub, wire: Wire) -> None:
    stub.on("GET", PATH, reply(pod_list(pod("a", phase="Pending"), version=5)))
    async with Client.connect(Access(server=stub.url), clock=VirtualClock()) as client:
        told: list[Change] = []
        informer = Informer(client, PODS, namespace="ns", indexes={"phase": by_phase})
        informer.subscribe(told.append)
        async with informer:
            wire.send(("ADDED", pod("b", version=6, phase="Pending")))
            await informer.wait_until(lambda it: len(it.items) == 2, timeout_s=9, what="b")
            assert len(informer.by_index("phase", "Pending")) == 2
            wire.send(("MODIFIED", pod("a", version=7, phase="Running")))
            await informer.wait_until(lambda it: bool(it.by_index("phase", "Running")), timeout_s=9, what="a runs")
            assert [item["metadata"]["name"] for item in informer.by_index("phase", "Pending")] == ["b"]
            wire.send(("DELETED", pod("a", version=8, phase="Failed")))
            await informer.wait_until(lambda it: it.get(("ns", "a")) is None, timeout_s=9, what="a goes")
            assert informer.by_index("phase", "Running") == []
            assert informer.by_index("phase", "Failed") == []
    assert [(change.type, change.key[1]) for change in told] == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
    ]
    modified, deleted = told[2], told[3]
    assert (modified.old or {})["status"]["phase"] == "Pending"
    assert modified.object["status"]["phase"] == "Running"
    assert deleted.new is None
    assert deleted.object["status"]["phase"] == "Failed"


async def test_after_a_relist_what_was_missed_is_told_as_changes(stub: Stub) -> None:
    first, second = Wire(), Wire()
    before = pod_list(pod("gone"), pod("same"), pod("new", uid="u1"), pod("mod"), version=5)
    after = pod_list(
        pod("same"), pod("new", uid="u2", version=30), pod("mod", version=31), pod("add", version=32), version=50
    )
    stub.on("GET", PATH, reply(before), reply(after))
    stub.on("WATCH", PATH, first, second)
    clock = JumpClock()
    async with Client.connect(Access(server=stub.url), clock=VirtualClock()) as client:
        client.clock = clock
        told: list[tuple[str, str]] = []
        async with Informer(client, PODS, namespace="ns") as informer:
            informer.subscribe(lambda change: told.append((change.type, change.key[1])))
            relisted = asyncio.Event()
            informer.subscribe(lambda change: relisted.set() if change.key[1] == "last" else None)
            first.send(("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "m"}))
            second.send(("ADDED", pod("last", version=51)))
            await relisted.wait()
            assert names(informer) == {"same", "new", "mod", "add", "last"}
            assert informer.counts.relists == 1
    assert told == [
        ("DELETED", "gone"),
        ("DELETED", "new"),
        ("ADDED", "new"),
        ("MODIFIED", "mod"),
        ("ADDED", "add"),
        ("ADDED", "last"),
    ]


async def test_subscribing_can_be_ended(stub: Stub, wire: Wire) -> None:
    stub.on("GET", PATH, reply(pod_list(version=5)))
    async with Client.connect(Access(server=stub.url), clock=VirtualClock()) as client:
        told: list[Change] = []
        async with Informer(client, PODS, namespace="ns") as informer:
            informer.subscribe(told.append)()
            wire.send(("ADDED", pod("a", version=6)))
            await informer.wait_until(lambda it: bool(it.items), timeout_s=9, what="a")
    assert told == []


async def test_waiting_names_what_did_not_come(client: Client, stub: Stub, wire: Wire) -> None:
    stub.on("GET", PATH, reply(pod_list(pod("a"), version=5)))
    async with Informer(client, PODS, namespace="ns") as informer:
        await informer.wait_until(lambda it: len(it.items) == 1, timeout_s=0, what="what is there already")
        with pytest.raises(Overdue, match=r"3 pods of job j did not happen within 30 s \(1 pods are known\)"):
            await informer.wait_until(lambda it: len(it.items) == 3, timeout_s=30, what="3 pods of job j")


async def test_a_first_list_that_fails_is_raised_as_itself(client: Client, stub: Stub) -> None:
    stub.on("GET", PATH, failing(403, "not you"))
    with pytest.raises(ApiError, match="not you"):
        async with Informer(client, PODS, namespace="ns"):
            pytest.fail("the block must not begin")


async def test_a_failure_later_on_ends_the_block(client: Client, stub: Stub, wire: Wire) -> None:
    stub.on("GET", PATH, reply(pod_list(version=5)))
    wire.send(("ERROR", {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "m"}))
    with pytest.raises(ApiError, match="403"):
        async with Informer(client, PODS, namespace="ns"):
            await asyncio.Event().wait()


async def test_waiters_in_other_tasks_learn_of_the_end(stub: Stub, wire: Wire) -> None:
    stub.on("GET", PATH, reply(pod_list(version=5)))
    async with Client.connect(Access(server=stub.url), clock=VirtualClock()) as client:
        informer = Informer(client, PODS, namespace="ns")
        async with informer:
            waiting = asyncio.ensure_future(informer.wait_until(lambda _: False, timeout_s=9, what="what never comes"))
            await asyncio.sleep(0)
        with pytest.raises(EngineError, match="ended while what never comes was waited for"):
            await waiting


async def test_the_blocks_own_error_stays_what_it_was(client: Client, stub: Stub, wire: Wire) -> None:
    stub.on("GET", PATH, reply(pod_list(version=5)))
    with pytest.raises(UsageError, match="mine"):
        async with Informer(client, PODS, namespace="ns"):
            raise UsageError("mine")


async def test_a_subscriber_that_fails_ends_the_block(client: Client, stub: Stub, wire: Wire) -> None:
    stub.on("GET", PATH, reply(pod_list(version=5)))

    def fail(_: Change) -> None:
        raise UsageError("subscriber")

    wire.send(("ADDED", pod("a", version=6)))
    informer = Informer(client, PODS, namespace="ns")
    informer.subscribe(fail)
    with pytest.raises(UsageError, match="subscriber"):
        async with informer:
            await asyncio.Event().wait()
