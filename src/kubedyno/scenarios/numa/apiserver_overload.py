"""The rate of requests at which the API server gives way."""

from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.measure.knee import Effort, Goal
from kubedyno.scenarios.numa import loading, requesting, scales
from kubedyno.scenarios.numa.apiserver_latency import SLO_S
from kubedyno.scenarios.numa.framework import API_SERVER_OVERLOAD
from kubedyno.scenarios.numa.scales import Scale
from kubedyno.scenarios.parameters import Count, Rate, Seconds

START = 100.0


@scenario(
    "numa/apiserver-overload", tags=("numa", "performance", "overload"), needs=("numa",), settings=scales.settings
)
async def apiserver_overload(
    lab: Lab,
    *,
    scale: Scale = "toy",
    aware: bool = True,
    start: Rate = START,
    slo_s: Seconds = SLO_S,
    step_s: Seconds = 10.0,
    budget_s: Seconds = 600.0,
    clients: Count = requesting.CLIENTS,
) -> None:
    """Requests of a whole cluster come faster and faster: the highest rate whose p99 and errors keep their limits.

    Parameters:
        scale: size of the cluster: 10, 100, 500, 1000 or 5000 nodes
        aware: whether zones are exported and heeded; else nothing is exported, and the plugin for it is not loaded
        start: requests a second to begin with
        slo_s: the p99 that is allowed; one request of a hundred may fail
        step_s: how long each rate is kept up
        budget_s: what the search may take
        clients: how many clients with connections of their own there are
    """
    scales.refuse_embedded(lab, API_SERVER_OVERLOAD.name)
    cluster = await scales.begin(lab, scale, aware=aware)
    async with requesting.mixing(lab, cluster, clients=clients) as mix:
        load = requesting.Requests(lab, mix, API_SERVER_OVERLOAD, over_s=step_s, slo_s=slo_s)
        with lab.timed():
            await loading.search(
                lab,
                cluster,
                load,
                start=start,
                goal=Goal(slo_s=slo_s),
                effort=Effort(time_s=budget_s, step_s=step_s),
            )
