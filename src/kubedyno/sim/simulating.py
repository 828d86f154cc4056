"""The whole simulation of a cluster's nodes: kubelets, stages, devices and node pools, as clients of one API.

It runs in the lab's own process, in a process of its own beside a local lab (`kubedyno simulate`), or several times in
a cluster, where each holds some of the shards.
"""

import asyncio
import functools
import itertools
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import Clock
from kubedyno.sim.devices.exporting import GpuExporter
from kubedyno.sim.devices.occupying import Holding
from kubedyno.sim.devices.publishing import publish_devices
from kubedyno.sim.exporters.views import OwnViews
from kubedyno.sim.kubelet.electing import shard_sets, taking_part
from kubedyno.sim.kubelet.fleet import Fleet
from kubedyno.sim.kubelet.lag import Lag
from kubedyno.sim.kubelet.plans import USUAL_TIMES, JobTimes
from kubedyno.sim.kubelet.playing import play_kubelets
from kubedyno.sim.kubelet.sharding import shard_of
from kubedyno.sim.nodepools.reconciling import reconcile_node_pools
from kubedyno.sim.podresources.sockets import serve_sockets

Manages = Callable[[str], bool]


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """What is simulated, and how."""

    seed: int = 0
    lease_s: int = 40
    """Duration of the nodes' leases; 0: none."""
    job_times: JobTimes = USUAL_TIMES
    """How long pods work by their label `job-type`."""
    kubelets: bool = True
    """Whether kubelets are played here; else somebody else does, and we supply what they leave out."""
    stages: tuple[Path, ...] = ()
    """Stage files; kinds with stages are driven by these alone."""
    cluster_stages: bool = False
    """Pods and nodes are driven by the Stage objects of the cluster alone."""
    shards: int = 0
    """Into how many shards the nodes are divided among simulators; 0: all nodes are ours."""
    member: str = ""
    """Our name among the simulators."""
    pod_resources: Path | None = None
    """Where the sockets of the pod-resources API are; None: it is not served. Only where kubelets are played here."""
    pod_resources_nodes: tuple[str, ...] = ()
    """The nodes that have a socket besides those with the label."""


class Instruments:
    """What can be seen of a running simulation: who holds what on which node, and how it keeps up."""

    def __init__(self) -> None:
        self.fleet = Fleet()
        self.lag = Lag()
        self.gpus: GpuExporter | None = None

    def given(self, node: str) -> Mapping[int, Sequence[Holding]]:
        """Who has which of a node's GPUs, as its kubelet gave them out."""
        entry = self.fleet.nodes.get(node)
        return entry.ledger.assignments() if entry is not None else {}

    async def metrics(self) -> Iterator[str]:
        """All of it in Prometheus' text format: how the simulator keeps up, and what GPUs would say of themselves."""
        own = (f"{line}\n" for line in self.lag.metrics())
        return itertools.chain(own, await self.gpus.page() if self.gpus is not None else ())


async def simulate(
    client: Client,
    simulation: Simulation,
    instruments: Instruments,
    *,
    clock: Clock,
    lease_client: Client | None = None,
    manages: Manages | None = None,
) -> None:
    """Simulate until cancelled. `lease_client` has connections of its own, so that leases do not wait for pods.

    `manages` says by name which nodes are ours, where that is not decided by shards; then the rest of the cluster is
    left alone. Without it all are.
    """
    play = functools.partial(_play, client, simulation, instruments, clock=clock, lease_client=lease_client)
    if not simulation.shards:
        await play(manages=manages, leads=manages is None)
        return
    async with (
        taking_part(lease_client or client, me=simulation.member, shards=simulation.shards, clock=clock) as election,
        aclosing(shard_sets(election)) as changes,
        tasks.owning() as group,
    ):
        playing: asyncio.Task[None] | None = None
        async for held in changes:
            if playing is not None:
                playing.cancel()
                await asyncio.wait([playing])
            election.playing = held
            instruments.fleet.clear(shards=simulation.shards)
            if not held:
                playing = None
                continue

            def manages(node: str, held: frozenset[int] = held) -> bool:
                return shard_of(node, simulation.shards) in held

            # What is one for the whole cluster, not for its nodes, is done by whoever holds the first shard.
            playing = group.create_task(play(manages=manages, leads=0 in held), name="play our shards")


async def _play(
    client: Client,
    simulation: Simulation,
    instruments: Instruments,
    *,
    clock: Clock,
    lease_client: Client | None,
    manages: Manages | None,
    leads: bool,
) -> None:
    seed = simulation.seed
    left_alone: frozenset[str] = frozenset()
    staged: Coroutine[Any, Any, None] | None = None
    if simulation.stages or simulation.cluster_stages:
        # Stages bring three languages with them, which take a while to load.
        from kubedyno.sim.stages import cluster, playing, reading, stage  # noqa: PLC0415 - as said

        if simulation.cluster_stages:
            left_alone = frozenset({stage.POD.name, stage.NODE.name})
            staged = cluster.play_cluster_stages(client, clock=clock, seed=seed, manages=manages)
        else:
            # Objects of other kinds belong to no node, and so to one of the simulators.
            stages = [
                one for one in reading.read_files(simulation.stages) if leads or one.kind in {stage.POD, stage.NODE}
            ]
            left_alone = frozenset(kind.name for kind in stage.kinds(stages) if kind.api_version == "v1")
            staged = playing.play_stages(client, stages=stages, clock=clock, seed=seed, manages=manages)
    async with tasks.owning() as group:
        given = instruments.given if simulation.kubelets else None
        instruments.gpus = GpuExporter(client, clock=clock, seed=seed, given=given)
        group.create_task(instruments.gpus.run(), name="metrics of GPUs")
        if leads:
            pools = reconcile_node_pools(client.known_as("kubedyno-pools"), clock=clock, seed=seed)
            group.create_task(pools, name="node pools")
        devices = publish_devices(
            client.known_as("kubedyno-devices"), clock=clock, seed=seed, manages=manages, given=given
        )
        group.create_task(devices, name="devices")
        if simulation.kubelets:
            kubelets = play_kubelets(
                client,
                clock=clock,
                seed=seed,
                lease_s=simulation.lease_s,
                lease_client=lease_client,
                lag=instruments.lag,
                fleet=instruments.fleet,
                manages=manages,
                left_alone=left_alone,
                job_times=simulation.job_times,
            )
            group.create_task(kubelets, name="kubelets")
            if simulation.pod_resources is not None:
                sockets = serve_sockets(
                    client,
                    simulation.pod_resources,
                    OwnViews(instruments.fleet, clock),
                    clock=clock,
                    seed=seed,
                    names=simulation.pod_resources_nodes,
                    manages=manages,
                )
                group.create_task(sockets, name="pod-resources sockets")
        if staged is not None:
            group.create_task(staged, name="stages")
