"""chaosMonkey: nodes that fail one time after another, by our own faults."""

import math
import random
from collections.abc import Collection, Sequence

from kubedyno.clusterloader.config import ChaosMonkey
from kubedyno.kube.resources import NODES
from kubedyno.lab.lab import Lab
from kubedyno.sim import marks
from kubedyno.sim.faults.fault import Crash
from kubedyno.sim.faults.scheduling import Timing
from kubedyno.sim.faults.selecting import Selection


async def unleash(monkey: ChaosMonkey, lab: Lab, rng: random.Random, failed: set[str]) -> None:
    """Let nodes fail until cancelled: after each interval a part of them, for the simulated downtime.

    As elsewhere, the interval counts from their recovery, and no node fails twice: `failed` are those that did. When
    this is cancelled, nodes that are down recover at once.
    """
    while True:
        await lab.clock.sleep(monkey.interval_s * (1 + monkey.jitter_factor * rng.random()))
        # Of a cluster that is no lab simulated nodes alone can fail: they have a pool.
        simulated = marks.POOL if lab.is_foreign else None
        nodes = (await lab.client.list_all(NODES, label_selector=simulated)).items
        names = sorted(node["metadata"]["name"] for node in nodes)
        chosen = victims(monkey, names, failed, rng)
        if chosen:
            failed.update(chosen)
            await lab.fail(Crash(), Selection(names=chosen), Timing(for_s=monkey.simulated_downtime_s))


def victims(monkey: ChaosMonkey, nodes: Sequence[str], failed: Collection[str], rng: random.Random) -> tuple[str, ...]:
    """Which nodes fail this time: a part, rounded up, of those that may and have not failed yet."""
    allowed = [name for name in nodes if name not in monkey.excluded_nodes and name not in failed]
    return tuple(sorted(rng.sample(allowed, math.ceil(monkey.failure_rate * len(allowed)))))
