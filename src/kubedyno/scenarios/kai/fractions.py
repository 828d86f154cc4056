"""Several pods on one GPU, at scale."""

import contextlib

from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.lab.shapes import fraction, training
from kubedyno.model.feasibility import free_gpus
from kubedyno.scenarios import outcomes, sizes
from kubedyno.scenarios.parameters import NodeCount

_HALF = 0.5


@scenario("kai/fractions", tags=("big-cluster", "fractions", "fill"), needs=("fractions",))
async def fractions(lab: Lab, *, nodes: NodeCount = sizes.KAI_NODES, live: bool = False) -> None:
    """Pods with half a GPU share devices in pairs beside pods with whole ones, until every GPU is in use.

    Each node has room for twelve halves and two wholes. Halves that do not find each other leave wholes without place.
    No GPU may hold more than it has: the invariants look at each device, this scenario at each node.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
        live: whether the scheduler works while they are created; else it is paused
    """
    await lab.nodes("gpu", count=nodes, gpus=sizes.GPUS_PER_NODE)
    queue = await lab.queue("team")
    async with contextlib.nullcontext() if live else lab.scheduler.paused():
        halves = await lab.submit(fraction(_HALF), count=nodes * sizes.HALVES_PER_NODE, queue=queue, name="half")
        wholes = await lab.submit(training(gpus=1), count=nodes * sizes.WHOLES_PER_NODE, queue=queue, name="whole")
        await lab.created(wholes)
    since = halves.submitted if live else lab.scheduler.resumed_at
    with lab.timed(since=since):
        scheduled = await lab.scheduled(halves | wholes)
    lab.measure("time to fill", since=since, until=scheduled)
    lab.measure_latency("latency of fractions", halves, since="created", until="scheduled")
    outcomes.expect_all_placed(lab, halves | wholes)
    taken = [(node, _HALF) for node in lab.placement(halves).values()]
    taken += [(node, 1.0) for node in lab.placement(wholes).values()]
    crowded = {node for node, _ in taken}
    free = free_gpus(dict.fromkeys(crowded, sizes.GPUS_PER_NODE), taken)
    wrong = [f"{node} holds {sizes.GPUS_PER_NODE - left:g} GPUs" for node, left in free.items() if left < 0]
    lab.expect("no node holds more GPUs than it has", not wrong, outcomes.told(wrong))
