"""The smallest scenario: a lab works from end to end."""

from typing import Annotated

from kubedyno.kit.registry import Registry
from kubedyno.lab.lab import Lab, over_committed
from kubedyno.lab.scenario import Range, Scenario, scenario
from kubedyno.lab.shapes import distributed, training

_GPUS_PER_NODE = 8


@scenario("hello", tags=("first-steps",), needs=("gangs",))
async def hello(
    lab: Lab, *, nodes: Annotated[int, Range(1, 50_000)] = 4, patience_s: Annotated[float, Range(0.1)] = 60.0
) -> None:
    """Fill half of a small cluster with one-GPU pods and place one gang beside them.

    Parameters:
        nodes: how many nodes there are, with 8 GPUs each
        patience_s: seconds without any progress after which it gives up
    """
    await lab.nodes("gpu", count=nodes, gpus=_GPUS_PER_NODE)
    queue = await lab.queue("hello")
    singles = await lab.submit(training(gpus=1), count=nodes * _GPUS_PER_NODE // 2, queue=queue)
    scheduled = await lab.scheduled(singles, stalled_after_s=patience_s)
    lab.measure("time to schedule single pods", since=singles.submitted, until=scheduled)
    lab.measure_latency("pod scheduling latency", singles, since="created", until="scheduled")

    gang = await lab.submit(distributed(workers=nodes, gpus=1), queue=queue)
    gang_scheduled = await lab.scheduled(gang, stalled_after_s=patience_s)
    lab.measure("time to schedule a gang", since=gang.submitted, until=gang_scheduled)
    await lab.running(singles, stalled_after_s=patience_s)
    await lab.running(gang, stalled_after_s=patience_s)

    everything = {**lab.placement(singles), **lab.placement(gang)}
    crowded = over_committed(everything, gpus_per_pod=1, gpus_per_node=_GPUS_PER_NODE)
    lab.expect("no node holds more GPUs than it has", not crowded, ", ".join(crowded))
    lab.expect("every pod has a node", len(everything) == singles.pods + gang.pods, f"{len(everything)} have one")


def register(registry: Registry[Scenario]) -> None:
    """Add the scenario to the catalogue."""
    registry.register(hello.name, hello)
