"""How long the API server takes to answer, by the size of the cluster and the rate of requests."""

from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.scenarios.numa import loading, requesting, scales
from kubedyno.scenarios.numa.framework import API_SERVER_LATENCY
from kubedyno.scenarios.numa.scales import Scale
from kubedyno.scenarios.parameters import Count, Seconds

SLO_S = 1.0
"""What Kubernetes promises of its API server, 99 times of 100."""


@scenario("numa/apiserver-latency", tags=("numa", "performance"), needs=("numa",), settings=scales.settings)
async def apiserver_latency(
    lab: Lab,
    *,
    scale: Scale = "toy",
    aware: bool = True,
    rates: str = "50,200",
    over_s: Seconds = 10.0,
    clients: Count = requesting.CLIENTS,
) -> None:
    """Exporters, kubelets, watchers and schedulers ask at several rates: the seconds to the answer, by verb.

    Parameters:
        scale: size of the cluster: 10, 100, 500, 1000 or 5000 nodes
        aware: whether zones are exported and heeded; else nothing is exported, and the plugin for it is not loaded
        rates: requests a second, with commas between
        over_s: how long each rate is kept up
        clients: how many clients with connections of their own there are
    """
    scales.refuse_embedded(lab, API_SERVER_LATENCY.name)
    wanted = loading.rates_of(rates)
    cluster = await scales.begin(lab, scale, aware=aware)
    async with requesting.mixing(lab, cluster, clients=clients) as mix:
        load = requesting.Requests(lab, mix, API_SERVER_LATENCY, over_s=over_s, slo_s=SLO_S)
        with lab.timed():
            await loading.draw(lab, cluster, load, wanted)
