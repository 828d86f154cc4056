"""Playing the kubelets of all nodes, as a client of the API: one watch of nodes, one of pods, some workers.

Everything that is done follows from the objects as they are: after an outage, or when another simulator takes over,
the next list shows what is left to do.
"""

import asyncio
from collections.abc import Callable

from kubedyno.client.rest import Client
from kubedyno.client.watching import Event
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import Clock
from kubedyno.kube import meta
from kubedyno.kube.resources import NODES, PODS
from kubedyno.sim.following import follow, present
from kubedyno.sim.kubelet.fleet import Fleet
from kubedyno.sim.kubelet.heartbeats import Heartbeats
from kubedyno.sim.kubelet.lag import Lag
from kubedyno.sim.kubelet.plans import USUAL_TIMES, JobTimes
from kubedyno.sim.kubelet.tending_nodes import NodeTender
from kubedyno.sim.kubelet.tending_pods import PodTender, in_turn

Manages = Callable[[str], bool]
Listener = Callable[[Event], None]

_WORKERS = 24
_NODE_WORKERS = 16
_READERS = 4


async def play_kubelets(
    client: Client,
    *,
    clock: Clock,
    seed: int,
    lease_s: int,
    lease_client: Client | None = None,
    lag: Lag | None = None,
    fleet: Fleet | None = None,
    manages: Manages | None = None,
    left_alone: frozenset[str] = frozenset(),
    job_times: JobTimes = USUAL_TIMES,
) -> None:
    """Play until cancelled.

    `lease_s` 0: no leases. `lease_client` has connections of its own for them. `manages` says by name which nodes are
    ours; without it all are. `left_alone` are kinds (`Pod`, `Node`) that somebody else drives by stages.
    """
    lag = lag or Lag()
    fleet = fleet if fleet is not None else Fleet()
    rng = randomness.stream(seed, "kubelets")
    async with tasks.owning() as group:
        heartbeats = None
        if lease_s:
            heartbeats = Heartbeats(
                lease_client or client, clock=clock, group=group, lease_s=lease_s, seed=seed, lag=lag
            )
            group.create_task(heartbeats.run(), name="leases")
        pods = PodTender(client, fleet, clock=clock, group=group, seed=seed, lag=lag, job_times=job_times)
        nodes = NodeTender(
            client,
            fleet,
            clock=clock,
            group=group,
            heartbeats=heartbeats,
            lag=lag,
            revisit=pods.revisit,
            reports="Node" not in left_alone,
        )
        for number in range(_NODE_WORKERS):
            group.create_task(nodes.work(), name=f"nodes {number}")
        group.create_task(nodes.follow_turns(), name="turns of nodes")
        known = asyncio.Event()
        heard = _hear_nodes(nodes, fleet, manages, known)
        group.create_task(follow(client, NODES, heard, rng=rng), name="see nodes")
        await known.wait()
        if "Pod" not in left_alone:
            for number in range(_WORKERS):
                group.create_task(pods.work(), name=f"pods {number}")
            for number in range(_READERS):
                group.create_task(pods.look_again(), name=f"look again {number}")
            group.create_task(pods.follow_turns(), name="turns of pods")
            heard = _hear_pods(pods, fleet, manages)
            bound = follow(client, PODS, heard, rng=rng, field_selector="spec.nodeName!=", heeds=pods.heeds)
            group.create_task(bound, name="see pods")


def _hear_nodes(nodes: NodeTender, fleet: Fleet, manages: Manages | None, known: asyncio.Event) -> Listener:
    def hear(event: Event) -> None:
        for node in present(event, fleet.nodes, nodes.gone, lambda node: str(node["metadata"]["name"])):
            if manages is None or manages(node["metadata"]["name"]):
                nodes.seen(node)
        known.set()

    return hear


def _hear_pods(pods: PodTender, fleet: Fleet, manages: Manages | None) -> Listener:
    first = True

    def hear(event: Event) -> None:
        nonlocal first
        # Of pods that were there before us nobody knows how long they have waited.
        seen_ns = 0 if first else event.wall_ns
        first = False
        for pod in in_turn(present(event, fleet.pods, pods.gone, meta.key)):
            if manages is None or manages(pod["spec"]["nodeName"]):
                pods.seen(pod, seen_ns)

    return hear
