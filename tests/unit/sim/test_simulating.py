"""Several simulators that share the nodes of one cluster, in virtual time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from tests.yard import Connection, Yard, failing, lost, run_in_yard

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Listing
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, parse_rfc3339_ns
from kubedyno.kube import meta
from kubedyno.kube.resources import LEASES, NODES, RESOURCE_SLICES
from kubedyno.sim.devices import inventory
from kubedyno.sim.devices.inventory import Inventory
from kubedyno.sim.kubelet import sharding
from kubedyno.sim.simulating import Instruments, Simulation, simulate

pytestmark = pytest.mark.unit

SHARDS = 8
LEASE_S = 40
NODE_COUNT = 24
SPACE = "kube-node-lease"


class Member:
    """One simulator."""

    def __init__(self, name: str, connection: Connection, instruments: Instruments, task: "asyncio.Task[None]") -> None:
        self.name = name
        self.connection = connection
        self.instruments = instruments
        self.task = task

    @property
    def nodes(self) -> set[str]:
        """The nodes that it plays now."""
        return set(self.instruments.fleet.nodes)

    @property
    def shards(self) -> set[int]:
        return {sharding.shard_of(node, SHARDS) for node in self.nodes}

    def renewed(self, since_s: float) -> set[str]:
        """The nodes whose leases it has written since then."""
        writes = self.connection.writes
        puts = (path for at_s, method, path in writes if at_s >= since_s and method == "PUT" and f"/{SPACE}/" in path)
        return {path.rpartition("/")[2] for path in puts}

    async def leave(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])

    async def die(self) -> None:
        """As by SIGKILL: nothing that it still wants to say arrives."""
        self.connection.fate = lambda _method, _path: lost()
        await self.leave()


class Team:
    """Simulators on one API."""

    def __init__(self, world: Yard, group: asyncio.TaskGroup) -> None:
        self.world = world
        self._group = group
        self.members: dict[str, Member] = {}

    def join(self, name: str) -> Member:
        client, connection = self.world.connect(cost_s=0.002)
        instruments = Instruments()
        simulation = Simulation(shards=SHARDS, member=name, lease_s=LEASE_S)
        task = self._group.create_task(simulate(client, simulation, instruments, clock=self.world.clock))
        member = self.members[name] = Member(name, connection, instruments, task)
        return member

    @property
    def playing(self) -> list[str]:
        """All nodes that are played, as often as they are."""
        return [node for member in self.members.values() for node in member.nodes if not member.task.done()]

    async def watch(self, for_s: float) -> None:
        """Let time pass, and see all the while that no node is played twice."""
        until_s = self.world.passed_s() + for_s
        while self.world.passed_s() < until_s:
            await self.world.sleep(0.1)
            assert len(self.playing) == len(set(self.playing))

    async def until_all_are_played(self, within_s: float) -> float:
        """Seconds until every node has its simulator."""
        began_s = self.world.passed_s()
        while len(self.playing) < NODE_COUNT:
            await self.watch(0.1)
            assert self.world.passed_s() - began_s < within_s
        return self.world.passed_s() - began_s


@contextlib.asynccontextmanager
async def team(world: Yard, *names: str) -> AsyncIterator[Team]:
    for number in range(NODE_COUNT):
        await world.node(f"n-{number}")
    async with tasks.owning() as group:
        made = Team(world, group)
        for name in names:
            made.join(name)
        yield made
        for member in made.members.values():
            member.task.cancel()


def test_three_simulators_share_all_nodes_and_each_lease_is_written_by_one() -> None:
    async def story(world: Yard) -> None:
        async with team(world, "a", "b", "c") as simulators:
            await simulators.watch(30)
            assert sorted(simulators.playing) == sorted(f"n-{number}" for number in range(NODE_COUNT))
            since_s = world.passed_s()
            await simulators.watch(25)
            written = [member.renewed(since_s) for member in simulators.members.values()]
            assert [len(member.shards) for member in simulators.members.values()].count(3) == 2
            assert sum(map(len, written)) == NODE_COUNT
            assert set.union(*written) == set(simulators.playing)
            for member in simulators.members.values():
                assert member.instruments.lag.contested == set()
                assert member.instruments.lag.late_leases == 0
            nodes = (await world.client.list_all(NODES)).items
            assert all(meta.is_condition_true(node, "Ready") for node in nodes)

    run_in_yard(story)


def test_the_shards_of_a_simulator_that_dies_are_taken_over_and_its_pods_go_on() -> None:
    async def story(world: Yard) -> None:
        async with team(world, "a", "b", "c") as simulators:
            await simulators.watch(30)
            victim = simulators.members["b"]
            nodes = sorted(victim.nodes)
            for number, node in enumerate(nodes):
                annotations = {"kubedyno/start": "20s", "kubedyno/duration": "60s"}
                await world.pod(f"p-{number}", node=node, annotations=annotations, restartPolicy="Never")
            await simulators.watch(10)
            await victim.die()
            died_s = world.passed_s()
            took_s = await simulators.until_all_are_played(within_s=60)
            assert took_s <= sharding.LEASE_S + 2 * sharding.RETRY_S
            assert took_s > sharding.RENEW_WITHIN_S
            for number in range(len(nodes)):
                await world.until_phase("Succeeded", f"p-{number}")
            assert world.passed_s() - died_s < 90
            assert victim.renewed(died_s) == set()
            await simulators.watch(20)
            held = [member.shards for member in simulators.members.values() if member is not victim]
            assert [len(shards) for shards in held] == [4, 4]
            # Nothing is left of it.
            leases = await world.client.list_all(LEASES, namespace=sharding.NAMESPACE, label_selector=sharding.LABEL)
            holders = {lease["spec"]["holderIdentity"] for lease in leases.items}
            assert holders == {"a", "c"}
            assert _late(await world.client.list_all(LEASES, namespace=SPACE), world) == []

    run_in_yard(story)


def _late(listing: Listing, world: Yard) -> list[str]:
    """Nodes whose leases have run out."""
    now_ns = world.clock.wall_ns()
    return [
        lease["metadata"]["name"]
        for lease in listing.items
        if now_ns - parse_rfc3339_ns(lease["spec"]["renewTime"]) > LEASE_S * NS_PER_S
    ]


def test_a_simulator_that_leaves_gives_its_shards_away_at_once() -> None:
    async def story(world: Yard) -> None:
        async with team(world, "a", "b") as simulators:
            await simulators.watch(30)
            await simulators.members["a"].leave()
            assert await simulators.until_all_are_played(within_s=60) <= 2 * sharding.RETRY_S
            assert simulators.members["b"].shards == set(range(SHARDS))

    run_in_yard(story)


def test_a_simulator_that_joins_gets_its_share_and_pods_go_on() -> None:
    async def story(world: Yard) -> None:
        async with team(world, "a") as simulators:
            await simulators.watch(10)
            assert simulators.members["a"].shards == set(range(SHARDS))
            for number in range(NODE_COUNT):
                await world.pod(f"p-{number}", node=f"n-{number}", gpu="2", annotations={"kubedyno/start": "20s"})
            await simulators.watch(5)
            newcomer = simulators.join("b")
            await simulators.watch(30)
            assert len(newcomer.shards) == len(simulators.members["a"].shards) == SHARDS // 2
            assert len(simulators.playing) == NODE_COUNT
            await world.until_ready(*(f"p-{number}" for number in range(NODE_COUNT)))
            # Who plays a node now knows what its pods hold.
            node = min(newcomer.nodes)
            await world.pod("late", node=node, gpu="1")
            await world.until_phase("Failed", "late")
            addresses = [(await world.get(f"p-{number}"))["status"]["podIP"] for number in range(NODE_COUNT)]
            assert all(addresses)

    run_in_yard(story)


def test_devices_are_published_by_whoever_plays_their_node() -> None:
    async def story(world: Yard) -> None:
        gpus = inventory.written(Inventory(count=4, model="H100", show=("extended", "dra")))
        async with team(world, "a", "b") as simulators:
            await simulators.watch(20)
            for number in range(NODE_COUNT):
                await world.annotate(f"n-{number}", devices=gpus)
            await simulators.watch(20)
            nodes = (await world.client.list_all(NODES)).items
            assert {node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes} == {"4"}
            slices = (await world.client.list_all(RESOURCE_SLICES)).items
            assert sorted(one["spec"]["nodeName"] for one in slices) == sorted(simulators.playing)
            for member in simulators.members.values():
                changed = {
                    path.split("/")[4]
                    for _, method, path in member.connection.writes
                    if method == "PATCH" and path.startswith("/api/v1/nodes/")
                }
                assert changed >= member.nodes
            busy = min(simulators.members["b"].nodes)
            await world.pod("user", node=busy, gpu="3")
            await world.until_ready("user")
            assert len(simulators.members["b"].instruments.given(busy)) == 3

    run_in_yard(story)


def test_a_simulator_that_cannot_renew_stops_before_others_begin() -> None:
    async def story(world: Yard) -> None:
        async with team(world, "a", "b") as simulators:
            await simulators.watch(30)
            cut = simulators.members["a"]
            cut.connection.fate = lambda _method, path: lost() if sharding.NAMESPACE in path else None
            before_s = world.passed_s()
            while cut.nodes:
                await simulators.watch(0.1)
            assert world.passed_s() - before_s <= sharding.RENEW_WITHIN_S + 2 * sharding.RETRY_S
            await simulators.until_all_are_played(within_s=60)
            assert simulators.members["b"].shards == set(range(SHARDS))
            cut.connection.fate = None
            await simulators.watch(30)
            assert len(cut.shards) == SHARDS // 2

    run_in_yard(story)


def test_a_server_that_hangs_counts_as_one_that_fails() -> None:
    async def story(world: Yard) -> None:
        async with team(world, "a", "b") as simulators:
            await simulators.watch(30)
            cut = simulators.members["a"]
            answer = cut.connection.request

            async def hang(method: str, path: str, **more: object) -> object:
                if sharding.NAMESPACE in path:
                    await world.sleep(600)
                return await answer(method, path, **more)  # type: ignore[arg-type] # as they came

            cut.connection.request = hang  # type: ignore[assignment] # as above
            await simulators.watch(40)
            assert cut.nodes == set()
            assert simulators.members["b"].shards == set(range(SHARDS))

    run_in_yard(story)


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_server_that_fails_for_a_moment_moves_no_shard(code: int) -> None:
    async def story(world: Yard) -> None:
        async with team(world, "a", "b") as simulators:
            await simulators.watch(30)
            before = {name: (member.nodes, member.task) for name, member in simulators.members.items()}
            fleets = {name: dict(member.instruments.fleet.nodes) for name, member in simulators.members.items()}
            for member in simulators.members.values():
                member.connection.fate = lambda method, _path: failing(code) if method != "GET" else None
            await simulators.watch(5)
            for member in simulators.members.values():
                member.connection.fate = None
            await simulators.watch(20)
            for name, member in simulators.members.items():
                assert (member.nodes, member.task) == before[name]
                # The same entries: nothing was started anew.
                assert member.instruments.fleet.nodes == fleets[name]

    run_in_yard(story)


def test_a_simulator_that_may_not_hold_leases_says_so() -> None:
    async def story(world: Yard) -> None:
        client, connection = world.connect()
        connection.fate = lambda _method, path: failing(403) if sharding.NAMESPACE in path else None
        with pytest.raises(ApiError, match="failed with 403"):
            await simulate(client, Simulation(shards=2, member="a"), Instruments(), clock=world.clock)

    run_in_yard(story)
