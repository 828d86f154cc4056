"""chaosMonkey: nodes that fail again and again while the steps run, by our own faults."""

import math
import random
from collections.abc import Sequence

from kubedyno.clusterloader.config import ChaosMonkey
from kubedyno.kit import tasks
from kubedyno.kube.resources import NODES
from kubedyno.lab.lab import Lab
from kubedyno.sim.faults.fault import Crash
from kubedyno.sim.faults.scheduling import Timing
from kubedyno.sim.faults.selecting import Selection


async def unleash(monkey: ChaosMonkey, lab: Lab, rng: random.Random) -> None:
    """Let nodes fail until cancelled: at each interval a part of all, each for the simulated downtime."""
    async with tasks.owning() as group:
        while True:
            await lab.clock.sleep(monkey.interval_s * (1 + monkey.jitter_factor * rng.random()))
            names = sorted(node["metadata"]["name"] for node in (await lab.client.list_all(NODES)).items)
            chosen = victims(monkey, names, rng)
            if chosen:
                timing = Timing(for_s=monkey.simulated_downtime_s)
                group.create_task(lab.fail(Crash(), Selection(names=chosen), timing), name="nodes that fail")


def victims(monkey: ChaosMonkey, nodes: Sequence[str], rng: random.Random) -> tuple[str, ...]:
    """Which nodes fail this time: a part of all, rounded up, of those that may."""
    allowed = [name for name in nodes if name not in monkey.excluded_nodes]
    count = min(len(allowed), math.ceil(monkey.failure_rate * len(nodes)))
    return tuple(sorted(rng.sample(allowed, count)))
