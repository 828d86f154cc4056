"""Exporters at work, in virtual time: when they look, how they write, what they do when something fails."""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
import pytest
from tests.numanodes import kubelet, node
from tests.yard import Connection, Yard, failing, lost, run_in_yard

from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CRDS, NODE_RESOURCE_TOPOLOGIES, NODES
from kubedyno.model.numa.podresources import Host, View
from kubedyno.schedulers import SCHEDULERS
from kubedyno.sim.exporters import reporting
from kubedyno.sim.exporters.exporting import Exporters
from kubedyno.sim.exporters.settings import Settings
from kubedyno.sim.exporters.viewing import host_of, view_of
from kubedyno.sim.exporters.views import OwnViews, ViewUnavailable
from kubedyno.sim.exporters.writing import FIELD_MANAGER
from kubedyno.sim.kubelet.fleet import Fleet
from kubedyno.sim.kubelet.ledger import NodeLedger

pytestmark = pytest.mark.unit

NRTS = NODE_RESOURCE_TOPOLOGIES[0]
EVENTS = Settings(trigger="events")
TIMED = Settings(trigger="timed")


class Told:
    """Kubelets that tell what the test wants; `events` are nodes that something happened on."""

    def __init__(self) -> None:
        self.ledger = NodeLedger(node(kubelet(), gpus=0))
        self.asked: list[tuple[float, str]] = []
        self.trouble: Exception | float | None = None
        self.events: asyncio.Queue[Sequence[str]] = asyncio.Queue()
        self.loop = asyncio.get_running_loop()

    async def view(self, name: str) -> tuple[View, Host]:
        self.asked.append((self.loop.time(), name))
        if isinstance(self.trouble, Exception):
            raise self.trouble
        if self.trouble is not None:
            await asyncio.sleep(self.trouble)
        return view_of(self.ledger), host_of(self.ledger)

    async def changes(self, since: str) -> tuple[str, Sequence[str]]:
        return ("1", ()) if not since else ("1", await self.events.get())

    def times(self, name: str = "n") -> list[float]:
        return [round(at_s, 6) for at_s, asked in self.asked if asked == name]


class Work:
    """Exporters that are at work."""

    def __init__(self, world: Yard, exporters: Exporters, connection: Connection, told: Told) -> None:
        self.world = world
        self.exporters = exporters
        self.connection = connection
        self.told = told

    @property
    def methods(self) -> list[str]:
        """Of all writes of objects so far."""
        return [method for _, method, path in self.connection.writes if "noderesourcetopologies" in path]

    async def written(self, name: str = "n") -> Object:
        return await self.world.client.get(NRTS, name)

    async def steer(self, text: str | None, name: str = "n") -> None:
        await self.world.annotate(name, exporter=text)
        await self.world.sleep(0.001)

    def refuse(self, *codes: int | Exception) -> None:
        """Answer the next writes so."""
        left = list(codes)

        def fate(method: str, path: str) -> Any:
            if method == "GET" or "noderesourcetopologies" not in path or not left:
                return None
            answer = left.pop(0)
            return answer if isinstance(answer, Exception) else failing(answer)

        self.connection.fate = fate


async def add_node(world: Yard, name: str = "n", **more: Any) -> Object:
    wanted = node(kubelet(), name=name, gpus=0, **more)
    del wanted["metadata"]["uid"]
    return await world.client.create(NODES, wanted)


@contextlib.asynccontextmanager
async def working(
    world: Yard, settings: Settings, *, names: Sequence[str] = ("n",), **more: Any
) -> AsyncIterator[Work]:
    for definition in SCHEDULERS.get("reference").definitions():
        await world.client.create(CRDS, definition)
    await world.sleep(2)  # until the kind is served
    for name in names:
        await add_node(world, name)
    client, connection = world.connect()
    told = more.pop("views", None) or Told()
    exporters = Exporters(client, told, settings, clock=world.clock, seed=1, **more)
    async with tasks.owning() as group:
        await asyncio.sleep(-asyncio.get_running_loop().time() % 100)  # times are easy to read
        task = group.create_task(exporters.run())
        await world.sleep(0.001)
        yield Work(world, exporters, connection, told)
        task.cancel()


def test_a_timed_exporter_looks_at_once_and_at_every_tick() -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED) as work:
            await world.sleep(185)
            assert work.told.times() == [100, 160, 220, 280]
            assert work.methods == ["POST", "PATCH", "PATCH", "PATCH"]
            await work.told.events.put(("n",))
            await world.sleep(10)
            assert len(work.told.asked) == 4

    run_in_yard(story)


def test_jitter_makes_intervals_longer_for_each_node_otherwise_and_the_same_for_the_same_seed() -> None:
    async def story(world: Yard) -> list[list[float]]:
        async with working(world, msgspec.structs.replace(TIMED, jitter=0.5), names=("a", "b")) as work:
            await world.sleep(400)
            times = [work.told.times(name) for name in ("a", "b")]
            for own in times:
                assert all(60 <= later - sooner <= 90 for sooner, later in itertools.pairwise(own))
            assert times[0][1:] != times[1][1:]
            return times

    assert run_in_yard(story) == run_in_yard(story)


def test_an_event_driven_exporter_looks_when_something_happens_and_drops_what_is_too_much() -> None:
    async def story(world: Yard) -> None:
        async with working(world, EVENTS) as work:
            await world.sleep(0.5)
            for _ in range(20):
                await work.told.events.put(("n", "unknown"))
            await world.sleep(200)
            # One look at the start; then six events wait for the limiter, and the others are lost.
            assert work.told.times() == [100, 101, 102, 103, 104, 105, 106]
            assert work.exporters.report().dropped_events == 14

    run_in_yard(story)


def test_both_kinds_of_reasons_are_told_apart_in_the_object() -> None:
    async def story(world: Yard) -> None:
        async with working(world, Settings()) as work:
            reason = "k8stopoawareschedwg/rte-update"
            await world.sleep(1)
            assert (await work.written())["metadata"]["annotations"][reason] == "reactive"
            await world.sleep(60)
            assert (await work.written())["metadata"]["annotations"][reason] == "periodic"
            await work.told.events.put(("n",))
            await world.sleep(1)
            assert (await work.written())["metadata"]["annotations"][reason] == "reactive"

    run_in_yard(story)


def test_events_during_a_look_lead_to_another_one_after_it() -> None:
    async def story(world: Yard) -> None:
        async with working(world, msgspec.structs.replace(EVENTS, events_per_s=0)) as work:
            await world.sleep(1)
            work.told.trouble = 5.0
            await work.told.events.put(("n",))
            await world.sleep(1)
            await work.told.events.put(("n",))
            await world.sleep(20)
            first, second, third = work.told.times()
            assert (first, second, third - second) == (100, 101.001, 5)

    run_in_yard(story)


@pytest.mark.parametrize(
    ("settings", "methods"),
    [
        (Settings(full_every=2), ["POST", "PATCH", "PATCH", "PUT", "PATCH", "PATCH", "PUT"]),
        (Settings(full_every=0), ["POST", *["PATCH"] * 6]),
        (Settings(update="full"), ["POST", *["PUT"] * 6]),
        (Settings(update="apply", style="nfd"), ["PATCH"] * 7),
    ],
)
def test_objects_are_written_in_the_way_that_is_asked_for(settings: Settings, methods: list[str]) -> None:
    async def story(world: Yard) -> None:
        async with working(world, settings) as work:
            await world.sleep(370)
            assert work.methods == methods
            counted = Counter(work.exporters.report().writes)
            assert counted.total() == 7

    run_in_yard(story)


def test_patches_change_what_changed_and_leave_what_others_wrote() -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED) as work:
            await world.client.patch(NRTS, "n", {"metadata": {"labels": {"others": "yes"}}}, kind="merge")
            before = await work.written()
            work.told.ledger.admit(
                {
                    "metadata": {"name": "p", "namespace": "d", "uid": "u"},
                    "spec": {"containers": [{"name": "c", "resources": _four_cpus()}]},
                    "status": {"qosClass": "Guaranteed"},
                }
            )
            await world.sleep(61)
            after = await work.written()
            assert after["metadata"]["labels"] == {"others": "yes"}
            assert _available(before) == ["14", "16"]
            assert _available(after) == ["10", "16"]
            assert after["metadata"]["ownerReferences"][0]["uid"] == (await world.get("n", NODES))["metadata"]["uid"]

    run_in_yard(story)


def _four_cpus() -> Object:
    return {"requests": {"cpu": "4", "memory": "1Gi"}, "limits": {"cpu": "4", "memory": "1Gi"}}


def _available(obj: Object, resource: str = "cpu") -> list[str]:
    return [one["available"] for zone in obj["zones"] for one in zone["resources"] if one["name"] == resource]


def test_node_feature_discovery_applies_under_its_name_and_belongs_to_its_namespace() -> None:
    async def story(world: Yard) -> None:
        async with working(world, Settings(style="nfd", update="apply")) as work:
            metadata = (await work.written())["metadata"]
            assert {entry["manager"] for entry in metadata["managedFields"]} == {FIELD_MANAGER}
            assert [(owner["kind"], owner["name"]) for owner in metadata["ownerReferences"]] == [
                ("Namespace", "kube-system")
            ]

    run_in_yard(story)


@pytest.mark.parametrize(
    ("answer", "counted", "methods"),
    [
        # A patch that fails is followed by the whole object at once.
        (409, {"409": 1}, ["PUT"]),
        (503, {"503": 1}, ["PUT"]),
        (lost(), {"unreachable": 1}, ["PUT"]),
    ],
)
def test_a_patch_that_fails_is_followed_by_the_whole_object(
    answer: int | Exception, counted: dict[str, int], methods: list[str]
) -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED) as work:
            work.refuse(answer)
            await world.sleep(61)
            report = work.exporters.report()
            assert report.failures == counted
            assert work.methods == ["POST", *methods]
            assert report.writes == {"create": 1, "update": 1}
            assert report.age_s["n"] < 2

    run_in_yard(story)


def test_what_cannot_be_written_at_all_is_tried_at_the_next_look() -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED) as work:
            work.refuse(500, 500)
            await world.sleep(61)
            report = work.exporters.report()
            assert report.failures == {"500": 2}
            assert report.age_s["n"] == pytest.approx(61, abs=0.01)
            assert "node n: its object could not be written as it should: " in report.notes[0]
            await world.sleep(60)
            report = work.exporters.report()
            assert (report.writes, report.restarts) == ({"create": 1, "patch": 1}, 0)

    run_in_yard(story)


def test_node_feature_discovery_ends_when_it_cannot_write_and_is_started_after_a_back_off() -> None:
    async def story(world: Yard) -> None:
        settings = Settings(style="nfd", update="apply", trigger="timed")
        async with working(world, settings) as work:
            work.refuse(500, 500, 500, 500)
            await world.sleep(150)
            # The tick fails; it starts at once, after 10 s, after 20 s and after 40 s; then its timer begins anew.
            assert work.told.times() == [100, 160, 160, 170, 190, 230]
            report = work.exporters.report()
            assert (report.restarts, report.failures) == (4, {"500": 4})
            assert report.writes == {"apply": 2}

    run_in_yard(story)


@pytest.mark.parametrize(
    ("trouble", "code"),
    [(ViewUnavailable("rpc error", "ResourceExhausted"), "ResourceExhausted"), (15.0, "DeadlineExceeded")],
)
def test_a_kubelet_that_does_not_tell_leaves_the_object_as_it_was(trouble: Exception | float, code: str) -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED) as work:
            before = (await work.written())["metadata"]["resourceVersion"]
            work.told.trouble = trouble
            await world.sleep(75)
            report = work.exporters.report()
            assert report.view_failures == {code: 1}
            assert (await work.written())["metadata"]["resourceVersion"] == before
            assert report.age_s["n"] == pytest.approx(75, abs=0.01)
            assert max(report.view_s) == (10.0 if code == "DeadlineExceeded" else 0.0)
            work.told.trouble = None
            await world.sleep(60)
            assert work.exporters.report().age_s["n"] < 20

    run_in_yard(story)


def test_a_frozen_exporter_looks_and_does_not_write() -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED) as work:
            await work.steer('{"frozen": true}')
            await world.sleep(130)
            assert len(work.told.asked) == 3
            assert work.methods == ["POST"]
            assert work.exporters.report().steered == {"n": '{"frozen": true}'}
            await work.steer(None)
            await world.sleep(60)
            assert work.methods == ["POST", "PATCH"]

    run_in_yard(story)


@pytest.mark.parametrize(
    ("code", "reason", "failures"),
    [
        # A patch and the whole object at each look; after a conflict the whole object alone.
        (409, "Conflict", {"409": 3}),
        (503, "ServiceUnavailable", {"503": 4}),
    ],
)
def test_an_exporter_that_is_refused_leaves_the_object_as_it_was_and_goes_on(
    code: int, reason: str, failures: dict[str, int]
) -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED) as work:
            before = await work.written()
            await work.steer(f'{{"refusedWith": {code}}}')
            await world.sleep(130)
            report = work.exporters.report()
            assert (await work.written()) == before
            assert work.methods == ["POST"]
            assert (report.failures, report.restarts, report.looks) == (failures, 0, 3)
            assert report.age_s["n"] == pytest.approx(130, abs=0.01)
            path = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/n"
            assert report.notes[0] == (
                f"node n: its object could not be written as it should: PATCH {path} failed with {code} {reason}: "
                "refused on purpose"
            )
            await work.steer(None)
            await world.sleep(60)
            assert work.exporters.report().failures == failures
            assert work.methods == ["POST", "PUT" if code == 409 else "PATCH"]

    run_in_yard(story)


def test_too_many_requests_are_repeated_each_second_until_they_are_served() -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED) as work:
            await work.steer('{"refusedWith": 429}')
            await world.sleep(64.5)
            report = work.exporters.report()
            assert (report.retries, report.failures, work.methods) == (5, {}, ["POST"])
            # It is at it, and began when it was refused already.
            assert report.steered == {"n": '{"refusedWith": 429}'}
            await work.steer(None)
            await world.sleep(1)
            assert work.methods == ["POST", "PATCH"]
            assert max(work.exporters.report().write_s) == pytest.approx(5)

    run_in_yard(story)


def test_too_many_requests_for_too_long_fail_the_write_and_are_counted_for_all_clients() -> None:
    async def story(world: Yard) -> None:
        def connect() -> contextlib.AbstractAsyncContextManager[Client]:
            return contextlib.nullcontext(world.connect()[0])

        settings = msgspec.structs.replace(TIMED, clients="per-node")
        async with working(world, settings, names=("a", "b"), connect=connect) as work:
            await work.steer('{"refusedWith": 429}', "a")
            await world.sleep(90)
            report = work.exporters.report()
            # The patch is repeated ten times, then the reading before the whole object.
            assert (report.retries, report.failures) == (20, {"429": 2})
            assert report.writes == {"create": 2, "patch": 1}

    run_in_yard(story)


def test_an_exporter_that_looked_before_it_was_steered_heeds_it_when_it_has_written() -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED) as work:
            work.told.trouble = 5.0
            await world.sleep(61)
            await work.steer('{"refusedWith": 503}')
            assert work.exporters.report().steered == {}
            await world.sleep(5)
            assert work.exporters.report().steered == {"n": '{"refusedWith": 503}'}
            assert (work.exporters.report().failures, work.methods) == ({"503": 2}, ["POST"])

    run_in_yard(story)


def test_a_crashed_exporter_does_nothing_and_comes_back_without_memory() -> None:
    async def story(world: Yard) -> None:
        async with working(world, Settings()) as work:
            await work.steer('{"crashed": true}')
            await work.told.events.put(("n",))
            await world.sleep(200)
            assert len(work.told.asked) == 1
            await work.steer(None)
            await world.sleep(1)
            assert work.methods == ["POST", "PUT"]  # it does not know what it wrote, so it reads first
            assert work.exporters.report().restarts == 1

    run_in_yard(story)


def test_an_exporter_that_crashes_in_a_look_does_not_write_after_it() -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED) as work:
            work.told.trouble = 5.0
            await world.sleep(61)
            await work.steer('{"crashed": true}')
            await world.sleep(10)
            assert work.methods == ["POST"]

    run_in_yard(story)


def test_a_crash_loop_ends_after_each_write() -> None:
    async def story(world: Yard) -> None:
        async with working(world, Settings()) as work:
            await world.sleep(1)
            await work.steer('{"crashLoopSeconds": 10}')
            await world.sleep(25)
            assert [round(at_s) for at_s in work.told.times()] == [100, 111, 121]
            assert work.methods == ["POST", "PUT", "PUT"]
            await work.steer(None)
            await world.sleep(1)
            assert work.exporters.report().restarts == 3
            await world.sleep(60)
            assert work.methods == ["POST", "PUT", "PUT", "PUT", "PATCH"]

    run_in_yard(story)


def test_distortions_are_in_what_is_written_from_the_next_look_on() -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED) as work:
            await work.steer('{"distortions": [{"kind": "more-available", "resource": "cpu", "by": "4"}]}')
            assert _available(await work.written()) == ["14", "16"]
            await world.sleep(60)
            assert _available(await work.written()) == ["18", "20"]
            await work.steer(None)
            await world.sleep(60)
            assert _available(await work.written()) == ["14", "16"]

    run_in_yard(story)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('{"frosen": true}', "there is no field 'frosen': did you mean 'frozen'?"),
        (
            '{"distortions": [{"kind": "missing-resource", "resource": "gold"}]}',
            "what its exporter writes is not distorted: distortion missing-resource: ",
        ),
    ],
)
def test_wrong_steering_is_noted_and_the_exporter_goes_on(text: str, note: str) -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED) as work:
            await work.steer(text)
            await world.sleep(60)
            assert work.methods == ["POST", "PATCH"]
            assert note in work.exporters.report().notes[0]

    run_in_yard(story)


def test_the_exporter_of_a_node_that_is_gone_ends_with_a_note_and_another_begins_with_its_successor() -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED, names=("n", "other")) as work:
            await world.sleep(30)
            await world.client.delete(NODES, "n")
            await world.sleep(1)
            report = work.exporters.report()
            assert report.exporters == 1
            assert report.notes == ("node n is gone: its exporter has ended",)
            assert "n" not in report.age_s
            await world.sleep(60)
            assert work.told.times() == [100]
            assert work.told.times("other") == [100, 160]
            fresh = await add_node(world)
            await world.sleep(1)
            assert (await work.written())["metadata"]["ownerReferences"][0]["uid"] == fresh["metadata"]["uid"]
            assert work.exporters.report().exporters == 2

    run_in_yard(story)


def test_nodes_without_zones_have_no_exporter_and_one_that_gets_zones_does() -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED, names=()) as work:
            await world.node("plain")
            await world.node("wrong", annotations={"kubedyno/kubelet": '{"topologyManagerPolicy": "best"}'})
            await world.sleep(1)
            report = work.exporters.report()
            assert report.exporters == 0
            assert report.notes[0].startswith("node wrong has no exporter: annotation kubedyno/kubelet: ")
            await world.annotate("plain", kubelet='{"topologyManagerPolicy": "restricted"}')
            await world.sleep(1)
            assert work.exporters.report().exporters == 1
            await world.annotate("plain", kubelet=None)
            await world.sleep(1)
            assert work.exporters.report().exporters == 0

    run_in_yard(story)


def test_a_kind_that_is_not_served_is_refused_before_anything_is_done() -> None:
    async def story(world: Yard) -> None:
        await add_node(world)
        exporters = Exporters(world.client, Told(), Settings(), clock=world.clock)
        with pytest.raises(
            UsageError,
            match=r"NodeResourceTopology of topology\.node\.k8s\.io/v1alpha2 is not served here: install its "
            "CustomResourceDefinition, or take a scheduler that brings it",
        ):
            await exporters.run()
        assert exporters.report().looks == 0

    run_in_yard(story)


def test_each_exporter_may_have_a_client_of_its_own_which_is_closed_with_it() -> None:
    opened: list[str] = []
    closed: list[str] = []

    async def story(world: Yard) -> None:
        @contextlib.asynccontextmanager
        async def connect() -> AsyncIterator[Client]:
            opened.append("client")
            client, _ = world.connect()
            yield client
            closed.append("client")

        settings = msgspec.structs.replace(TIMED, clients="per-node")
        async with working(world, settings, names=("a", "b"), connect=connect) as work:
            await world.sleep(130)
            assert (len(opened), len(closed)) == (2, 0)
            assert work.exporters.report().writes == {"create": 2, "patch": 4}
            await world.client.delete(NODES, "a")
            await world.sleep(1)
            assert len(closed) == 1

    run_in_yard(story)
    assert len(closed) == 2


def test_events_that_cannot_be_heard_for_a_while_are_noted_and_heard_again() -> None:
    class Broken(Told):
        failures = 3

        async def changes(self, since: str) -> tuple[str, Sequence[str]]:
            if since and self.failures:
                self.failures -= 1
                raise ViewUnavailable("the pages cannot be read")
            return await super().changes(since)

    async def story(world: Yard) -> None:
        async with working(world, EVENTS, views=Broken()) as work:
            await world.sleep(30)
            await work.told.events.put(("n",))
            await world.sleep(1)
            assert len(work.told.asked) == 2
            assert work.exporters.report().notes == ("events are not heard for a while: the pages cannot be read",)

    run_in_yard(story)


def test_what_is_written_is_the_truth_of_the_kubelets_when_they_rest() -> None:
    async def story(world: Yard) -> None:
        async with world.playing() as simulator:
            fleet: Fleet = simulator.fleet
            async with working(world, Settings(), names=("a", "b"), views=OwnViews(fleet, world.clock)) as work:
                for number in range(6):
                    await world.pod(f"p-{number}", node="ab"[number % 2], cpu="3", memory="2Gi")
                await world.until_ready(*(f"p-{number}" for number in range(6)))
                await world.delete("p-0", grace_s=0)
                await world.delete("p-3", grace_s=0)
                await world.sleep(10)
                for name in ("a", "b"):
                    zones = fleet.nodes[name].ledger.zones()
                    assert sum(zone["cpu"].available for zone in zones.values()) == 24
                    for number, zone in enumerate((await work.written(name))["zones"]):
                        told = {one["name"]: int(one["available"]) for one in zone["resources"]}
                        assert told == {resource: amount.available for resource, amount in zones[number].items()}

    run_in_yard(story)


def test_the_metrics_have_the_names_of_the_field_and_the_age_of_every_object() -> None:
    async def story(world: Yard) -> None:
        async with working(world, TIMED) as work:
            work.told.trouble = ViewUnavailable("no", "Unavailable")
            await world.sleep(61)
            lines = list(reporting.metrics(work.exporters.report()))
            assert 'rte_noderesourcetopology_writes_total{operation="create"} 1' in lines
            assert 'rte_podresource_api_call_failures_total{code="Unavailable"} 1' in lines
            assert 'kubedyno_exporter_age_seconds{node="n"} 61.001' in lines
            assert 'kubedyno_exporter_operation_delay_milliseconds_count{operation_name="podresources_scan"} 2' in lines

    run_in_yard(story)
