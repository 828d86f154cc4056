"""How long a pod waits for the scheduler, by the size of the cluster and the rate at which pods come."""

from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.scenarios.numa import loading, scales
from kubedyno.scenarios.numa.arriving import Arrivals, Numbers, Times
from kubedyno.scenarios.numa.framework import SCHEDULER_LATENCY
from kubedyno.scenarios.numa.matching import Cache
from kubedyno.scenarios.numa.scales import Scale
from kubedyno.scenarios.parameters import Seconds


@scenario("numa/scheduler-latency", tags=("numa", "performance"), needs=("numa",), settings=scales.settings)
async def scheduler_latency(
    lab: Lab,
    *,
    scale: Scale = "toy",
    aware: bool = True,
    cache: Cache = "passthrough",
    rates: str = "5,20,50",
    over_s: Seconds = 10.0,
) -> None:
    """Pods with CPUs of their own come at several rates: the seconds from creation to binding, for each rate.

    Parameters:
        scale: size of the cluster: 10, 100, 500, 1000 or 5000 nodes
        aware: whether zones are exported and heeded; else nothing is exported, and the plugin for it is not loaded
        cache: how NodeResourceTopologyMatch knows the zones; without a meaning for others
        rates: pods a second, with commas between
        over_s: how long pods come at each rate
    """
    del cache  # the lab was started with it
    wanted = loading.rates_of(rates)
    cluster = await scales.begin(lab, scale, aware=aware)
    load = Arrivals(lab, cluster, SCHEDULER_LATENCY, Times(over_s=over_s), numbers=Numbers())
    with lab.timed():
        await loading.draw(lab, cluster, load, wanted)
