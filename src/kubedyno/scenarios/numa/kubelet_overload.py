"""The rate of pods at which kubelets give way that have to admit them."""

from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.measure.knee import Effort, Goal
from kubedyno.scenarios.numa import loading, scales
from kubedyno.scenarios.numa.arriving import Admissions, Numbers, Times
from kubedyno.scenarios.numa.framework import KUBELET_OVERLOAD
from kubedyno.scenarios.numa.scales import Scale
from kubedyno.scenarios.parameters import Rate, Seconds

START = 20.0
SLO_S = 5.0
"""What Kubernetes promises of the start of a pod whose image is there, 99 times of 100."""


@scenario("numa/kubelet-overload", tags=("numa", "performance", "overload"), needs=("numa",), settings=scales.settings)
async def kubelet_overload(
    lab: Lab,
    *,
    scale: Scale = "toy",
    aware: bool = True,
    start: Rate = START,
    slo_s: Seconds = SLO_S,
    step_s: Seconds = 10.0,
    patience_s: Seconds = 30.0,
    budget_s: Seconds = 600.0,
) -> None:
    """Pods that are bound already come faster and faster: the highest rate at which kubelets take them in time.

    The kubelets are simulated, and so is their topology manager: the figures are those of the simulation. Hollow nodes
    (--kubelet kubemark, toy scale) are real kubelets, but without a topology manager; nothing is exported there.

    Parameters:
        scale: size of the cluster: 10, 100, 500, 1000 or 5000 nodes
        aware: whether zones are exported meanwhile
        start: pods a second to begin with
        slo_s: the p99 from creation to admission or refusal that is allowed; one pod of a hundred may fail
        step_s: how long pods come at each rate
        patience_s: how long is waited for the last ones
        budget_s: what the search may take
    """
    cluster = await scales.begin(lab, scale, aware=aware)
    times = Times(over_s=step_s, patience_s=patience_s)
    load = Admissions(lab, cluster, KUBELET_OVERLOAD, times, numbers=Numbers())
    with lab.timed():
        await loading.search(
            lab,
            cluster,
            load,
            start=start,
            goal=Goal(slo_s=slo_s),
            effort=Effort(time_s=budget_s, step_s=step_s),
        )
