"""Queues as scenarios write them: anew whenever what they are made of has changed, and no more than that."""

from types import SimpleNamespace
from typing import Any

import pytest

from kubedyno.kit.clock import RealClock
from kubedyno.kube.codec import Object
from kubedyno.lab.lab import Lab
from kubedyno.measure.recorder import Recorder
from kubedyno.model.dialects import Dialect
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects.kai import KAI
from kubedyno.schedulers.dialects.kueue import KUEUE
from kubedyno.sim.pools import applying

pytestmark = pytest.mark.unit


class Server:
    """Keeps what is written, and knows some nodes."""

    def __init__(self) -> None:
        self.written: list[Object] = []
        self.nodes: list[Object] = []

    async def apply(self, document: Object, **_: Any) -> None:
        self.written.append(document)

    async def create(self, _: Any, document: Object, **__: Any) -> None:
        self.written.append(document)

    async def resource_of(self, document: Object) -> Any:
        return document["kind"]

    async def list_all(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(items=self.nodes)

    def taken(self) -> dict[tuple[str, str], Object]:
        """What was written since the last time, each object once."""
        found = {(one["kind"], one["metadata"]["name"]): one for one in self.written}
        assert len(found) == len(self.written)
        self.written.clear()
        return found


def lab(server: Server, dialect: Dialect) -> Lab:
    unused: Any = None
    client: Any = server
    following: Any = SimpleNamespace(recorder=Recorder())
    return Lab(
        client=client,
        following=following,
        dialect=dialect,
        scheduler=unused,
        namespace="trial",
        clock=RealClock(),
        run_id="7",
    )


async def test_a_queue_is_written_where_the_workloads_are_with_the_label_of_its_run() -> None:
    server = Server()
    await lab(server, KUEUE).queue("team", quota=8)
    found = server.taken()
    assert found["LocalQueue", "team"]["metadata"]["namespace"] == "trial"
    assert {one["metadata"]["labels"]["kubedyno/run"] for one in found.values()} == {"7"}


async def test_only_what_changed_is_written_again() -> None:
    server = Server()
    mine = lab(server, KAI)
    for name in ("a", "b"):
        await mine.queue(name, quota=8)
    server.taken()
    await mine.queue("a", quota=8)
    assert server.taken() == {}
    await mine.queue("b", quota=9)
    assert list(server.taken()) == [("Queue", "b")]


async def test_a_queue_becomes_a_cohort_when_another_is_below_it() -> None:
    server = Server()
    mine = lab(server, KUEUE)
    await mine.queue("org", quota=16)
    server.taken()
    await mine.queue("team", quota=8, parent="org")
    assert set(server.taken()) == {
        ("Cohort", "org"),
        ("ClusterQueue", "org"),
        ("ClusterQueue", "team"),
        ("LocalQueue", "team"),
    }


async def test_nodes_that_come_later_count(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any) -> None:
        return None

    monkeypatch.setattr(applying, "apply", nothing)
    server = Server()
    server.nodes = [{"metadata": {"name": f"gpu-{index}", "labels": {}}} for index in range(4)]
    mine = lab(server, KUEUE)
    await mine.queue("all")
    server.taken()
    await mine.nodes("gpu", count=4, gpus=8, topology={"rack": 2, "node": 2})
    found = server.taken()
    assert found["ResourceFlavor", "default-flavor-gpu"]["spec"]["topologyName"] == "gpu"
    [flavor] = found["ClusterQueue", "all"]["spec"]["resourceGroups"][0]["flavors"]
    assert {"name": "nvidia.com/gpu", "nominalQuota": "32"} in flavor["resources"]


async def test_pods_that_are_held_back_are_not_awaited() -> None:
    server = Server()
    mine = lab(server, KUEUE)
    jobs = await mine.submit(Workload(name="w"), count=2, queue="team")
    assert [one["kind"] for one in server.written] == ["Job", "Job"]
    assert await mine.created(jobs) == jobs.submitted
