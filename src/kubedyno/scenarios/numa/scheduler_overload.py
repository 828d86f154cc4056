"""The rate of arriving pods at which the scheduler gives way."""

from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.measure.knee import Effort, Goal
from kubedyno.scenarios.numa import loading, scales
from kubedyno.scenarios.numa.arriving import Arrivals, Numbers, Times
from kubedyno.scenarios.numa.framework import SCHEDULER_OVERLOAD
from kubedyno.scenarios.numa.matching import Cache
from kubedyno.scenarios.numa.scales import Scale
from kubedyno.scenarios.parameters import Rate, Seconds

START = 10.0
SLO_S = 1.0


@scenario(
    "numa/scheduler-overload", tags=("numa", "performance", "overload"), needs=("numa",), settings=scales.settings
)
async def scheduler_overload(
    lab: Lab,
    *,
    scale: Scale = "toy",
    aware: bool = True,
    cache: Cache = "passthrough",
    start: Rate = START,
    slo_s: Seconds = SLO_S,
    step_s: Seconds = 10.0,
    patience_s: Seconds = 30.0,
    budget_s: Seconds = 600.0,
) -> None:
    """Pods with CPUs of their own come faster and faster: the highest rate at which they are bound in time.

    A pod that is not bound within `patience_s` after the last one came has failed, and so has one that a kubelet
    refused (TopologyAffinityError).

    Parameters:
        scale: size of the cluster: 10, 100, 500, 1000 or 5000 nodes
        aware: whether zones are exported and heeded; else nothing is exported, and the plugin for it is not loaded
        cache: how NodeResourceTopologyMatch knows the zones; without a meaning for others
        start: pods a second to begin with
        slo_s: the p99 from creation to binding that is allowed; one pod of a hundred may fail
        step_s: how long pods come at each rate
        patience_s: how long is waited for the last ones
        budget_s: what the search may take
    """
    del cache  # the lab was started with it
    cluster = await scales.begin(lab, scale, aware=aware)
    times = Times(over_s=step_s, patience_s=patience_s)
    load = Arrivals(lab, cluster, SCHEDULER_OVERLOAD, times, numbers=Numbers())
    with lab.timed():
        await loading.search(
            lab,
            cluster,
            load,
            start=start,
            goal=Goal(slo_s=slo_s),
            effort=Effort(time_s=budget_s, step_s=step_s),
        )
