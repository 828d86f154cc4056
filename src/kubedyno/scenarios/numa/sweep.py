"""All cases of latency and overload over several sizes of cluster in one trial, within a budget of time.

The cluster grows from size to size. On each size all cases run without awareness of NUMA zones first, then with it.
Every case gets an equal part of the time that is left; what does not fit is a row that says so.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import CheckFailed, EngineError
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.measure.knee import Effort, Goal
from kubedyno.scenarios.numa import (
    apiserver_latency,
    apiserver_overload,
    framework,
    kubelet_overload,
    loading,
    requesting,
    scheduler_overload,
)
from kubedyno.scenarios.numa import scales as sizes
from kubedyno.scenarios.numa.arriving import Admissions, Arrivals, Numbers, Times
from kubedyno.scenarios.numa.framework import PerformanceCase
from kubedyno.scenarios.numa.loading import Taken
from kubedyno.scenarios.numa.matching import Cache
from kubedyno.scenarios.numa.scales import Cluster
from kubedyno.scenarios.parameters import Seconds

PRECISION: Final = 0.15
CONFIRMATIONS: Final = 2

_STATES: Final = (False, True)
"""Unaware and aware."""
_NODE_S: Final = 0.05
"""What a node takes to be made, before any was."""
_STEPS_AT_LEAST: Final = 2
"""A case for which there is no time for so many steps is not begun."""
_BESIDE_STEP_S: Final = 5.0
"""What a step takes beside its load: waiting, deleting, looking."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is done on each size."""

    pod_rates: tuple[float, ...]
    request_rates: tuple[float, ...]
    step_s: float
    patience_s: float

    @property
    def least_s(self) -> float:
        """What a case takes at least."""
        return _STEPS_AT_LEAST * (self.step_s + _BESIDE_STEP_S)


@scenario("numa/sweep", tags=("numa", "performance", "overload"), needs=("numa",), settings=sizes.settings_of_both)
async def sweep(
    lab: Lab,
    *,
    budget_s: Seconds = 5400.0,
    scales: str = "toy,small",
    cache: Cache = "passthrough",
    pod_rates: str = "5,20,50",
    request_rates: str = "50,200",
    step_s: Seconds = 5.0,
    patience_s: Seconds = 15.0,
) -> None:
    """All cases of latency and overload, aware of NUMA zones and not, on one size of cluster after another.

    Unaware, nothing is exported, and pods of a real scheduler go by a profile without the plugin; the reference
    scheduler is the same, and finds no zones to heed.

    Parameters:
        budget_s: what all of it may take; what does not fit is said in its row
        scales: sizes of the cluster, with commas between: toy, small, medium, large, huge
        cache: how NodeResourceTopologyMatch knows the zones; without a meaning for others
        pod_rates: arriving pods a second of the latency case, with commas between
        request_rates: requests a second of the latency case, with commas between
        step_s: how long each rate is kept up
        patience_s: how long is waited for the last pods of a step
    """
    del cache  # the lab was started with it
    wanted = sizes.parsed(scales)
    plan = Plan(
        pod_rates=loading.rates_of(pod_rates, name="pod_rates"),
        request_rates=loading.rates_of(request_rates, name="request_rates"),
        step_s=step_s,
        patience_s=patience_s,
    )
    with lab.timed():
        await Sweep(lab, plan, budget_s=budget_s, rounds=len(wanted) * len(_STATES)).over(wanted)


class Sweep:
    """One sweep."""

    def __init__(self, lab: Lab, plan: Plan, *, budget_s: float, rounds: int) -> None:
        self._lab = lab
        self._plan = plan
        self._budget_s = budget_s
        self._begun_ns = lab.clock.monotonic_ns()
        self._jobs_left = rounds * sum(not self._not_applicable(case) for case in framework.CASES)
        self._numbers = Numbers()
        self._node_s = _NODE_S
        self._begin_at: dict[tuple[str, bool], float] = {}
        """Where to look for a knee first, by case and awareness: at a rate that was good on this size or the last."""

    @property
    def left_s(self) -> float:
        """Of the budget."""
        return self._budget_s - (self._lab.clock.monotonic_ns() - self._begun_ns) / NS_PER_S

    async def over(self, scales: tuple[str, ...]) -> None:
        """All sizes, one after another."""
        cluster: Cluster | None = None
        for scale in scales:
            why_not = self._no_time_for(scale, cluster)
            if why_not:
                for aware in _STATES:
                    self._skip_all(Cluster(scale=scale, aware=aware), why_not)
                continue
            if cluster is not None:
                await sizes.made_unaware(self._lab, cluster)
            cluster = await self._grown(cluster, scale)
            await self._cases(sizes.described(self._lab, cluster))
            await self._aware(cluster)

    def _no_time_for(self, scale: str, cluster: Cluster | None) -> str:
        missing = sizes.NODES[scale] - (0 if cluster is None else cluster.nodes)
        needs_s = missing * self._node_s + self._plan.least_s
        if needs_s <= self.left_s:
            return ""
        return f"did not fit: {missing} nodes more and a case take about {needs_s:.0f} s, {self._left_told}"

    async def _grown(self, cluster: Cluster | None, scale: str) -> Cluster:
        before_s, had = self.left_s, 0 if cluster is None else cluster.nodes
        found = await sizes.grown(self._lab, cluster, scale)
        took_s = before_s - self.left_s
        self._lab.record(f"time to {found.nodes} nodes from {had}", "s", took_s)
        self._node_s = took_s / max(1, found.nodes - had)
        return found

    async def _aware(self, cluster: Cluster) -> None:
        if why_not := self._no_time():
            self._skip_all(msgspec.structs.replace(cluster, aware=True), why_not)
            return
        before_s = self.left_s
        try:
            aware = await sizes.made_aware(self._lab, cluster)
        except EngineError as error:
            # That exporters do not get through at this size is a result.
            await self._lab.exporters.stop()
            self._skip_all(msgspec.structs.replace(cluster, aware=True), f"did not fit: {error}")
            return
        self._lab.record(f"time until {cluster.nodes} exporters had written", "s", before_s - self.left_s)
        await self._cases(aware)

    async def _cases(self, cluster: Cluster) -> None:
        jobs: tuple[tuple[PerformanceCase, Callable[[Cluster, float], Awaitable[None]]], ...] = (
            (framework.SCHEDULER_LATENCY, self._scheduler_latency),
            (framework.API_SERVER_LATENCY, self._apiserver_latency),
            (framework.API_SERVER_OVERLOAD, self._apiserver_overload),
            (framework.SCHEDULER_OVERLOAD, self._scheduler_overload),
            (framework.KUBELET_OVERLOAD, self._kubelet_overload),
        )
        for case, job in jobs:
            if why_not := self._not_applicable(case) or self._no_time():
                self._skip(cluster, case, why_not)
                continue
            # Where there is not enough for all, the small sizes are done in earnest.
            part_s = max(self._plan.least_s, self.left_s / max(1, self._jobs_left))
            self._jobs_left -= 1
            try:
                await job(cluster, part_s)
            except CheckFailed as error:
                self._row(cluster, case, str(error))
                self._lab.expect(f"{case.name} at {cluster.scale} comes to its end", holds=False, detail=str(error))

    def _no_time(self) -> str:
        least_s = self._plan.least_s
        return "" if self.left_s >= least_s else f"did not fit: it takes {least_s:.0f} s at least, {self._left_told}"

    def _not_applicable(self, case: PerformanceCase) -> str:
        if case.component == framework.API_SERVER_LATENCY.component and sizes.is_embedded(self._lab):
            return f"not applicable: {framework.EMBEDDED_NOTE}"
        return ""

    # The cases.

    async def _scheduler_latency(self, cluster: Cluster, time_s: float) -> None:
        load = Arrivals(self._lab, cluster, framework.SCHEDULER_LATENCY, self._times, numbers=self._numbers)
        taken = await loading.draw(self._lab, cluster, load, self._plan.pod_rates, time_s=time_s)
        self._begin_near(taken, framework.SCHEDULER_OVERLOAD, cluster, slo_s=scheduler_overload.SLO_S)

    async def _apiserver_latency(self, cluster: Cluster, time_s: float) -> None:
        async with requesting.mixing(self._lab, cluster) as mix:
            load = requesting.Requests(
                self._lab,
                mix,
                framework.API_SERVER_LATENCY,
                over_s=self._plan.step_s,
                slo_s=apiserver_latency.SLO_S,
            )
            taken = await loading.draw(self._lab, cluster, load, self._plan.request_rates, time_s=time_s)
        self._begin_near(taken, framework.API_SERVER_OVERLOAD, cluster, slo_s=apiserver_latency.SLO_S)

    async def _apiserver_overload(self, cluster: Cluster, time_s: float) -> None:
        slo_s = apiserver_latency.SLO_S
        async with requesting.mixing(self._lab, cluster) as mix:
            case = framework.API_SERVER_OVERLOAD
            load = requesting.Requests(self._lab, mix, case, over_s=self._plan.step_s, slo_s=slo_s)
            await self._knee(cluster, load, start=apiserver_overload.START, slo_s=slo_s, time_s=time_s)

    async def _scheduler_overload(self, cluster: Cluster, time_s: float) -> None:
        load = Arrivals(self._lab, cluster, framework.SCHEDULER_OVERLOAD, self._times, numbers=self._numbers)
        start, slo_s = scheduler_overload.START, scheduler_overload.SLO_S
        await self._knee(cluster, load, start=start, slo_s=slo_s, time_s=time_s)

    async def _kubelet_overload(self, cluster: Cluster, time_s: float) -> None:
        load = Admissions(self._lab, cluster, framework.KUBELET_OVERLOAD, self._times, numbers=self._numbers)
        start, slo_s = kubelet_overload.START, kubelet_overload.SLO_S
        await self._knee(cluster, load, start=start, slo_s=slo_s, time_s=time_s)

    async def _knee(self, cluster: Cluster, load: loading.Load, *, start: float, slo_s: float, time_s: float) -> None:
        key = load.case.name, cluster.aware
        effort = Effort(
            precision=PRECISION,
            confirmations=CONFIRMATIONS,
            time_s=time_s,
            step_s=self._plan.step_s + _BESIDE_STEP_S,
        )
        begin = min(load.most, self._begin_at.get(key, start))
        found = await loading.search(
            self._lab, cluster, load, start=begin, goal=Goal(slo_s=slo_s), effort=effort, is_checked=False
        )
        if found.rate is not None:
            self._begin_at[key] = found.rate / effort.factor

    def _begin_near(self, taken: Sequence[Taken], case: PerformanceCase, cluster: Cluster, *, slo_s: float) -> None:
        """What its latency case has shown spares a search the rates that are far from the knee."""
        good = [one.rate for one in taken if not one.errors and one.p99_s is not None and one.p99_s <= slo_s]
        if taken:
            self._begin_at[case.name, cluster.aware] = max(good) if good else min(one.rate for one in taken) / 2

    # What is said.

    @property
    def _times(self) -> Times:
        return Times(over_s=self._plan.step_s, patience_s=self._plan.patience_s)

    @property
    def _left_told(self) -> str:
        return f"{max(0.0, self.left_s):.0f} of {self._budget_s:.0f} s are left"

    def _skip_all(self, cluster: Cluster, why: str) -> None:
        for case in framework.CASES:
            self._skip(cluster, case, self._not_applicable(case) or why)

    def _skip(self, cluster: Cluster, case: PerformanceCase, why: str) -> None:
        if not self._not_applicable(case):
            self._jobs_left -= 1
        self._row(cluster, case, why)

    def _row(self, cluster: Cluster, case: PerformanceCase, why: str) -> None:
        """A row for what there is not: a point of a latency case, a knee of an overload case."""
        nodes = cluster.nodes or sizes.NODES[cluster.scale]
        if case in {framework.SCHEDULER_LATENCY, framework.API_SERVER_LATENCY}:
            point = loading.missing_point(cluster, case, why)
            self._lab.curves.append(msgspec.structs.replace(point, nodes=nodes))
        else:
            knee = loading.missing_knee(cluster, case, why)
            self._lab.knees.append(msgspec.structs.replace(knee, nodes=nodes))
