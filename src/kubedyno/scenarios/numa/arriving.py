"""Loads of pods: they arrive for the scheduler, or bound already for the kubelets; all are gone after a step."""

import functools
import itertools
import operator
from collections import Counter
from typing import Final

import msgspec

from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import UsageError
from kubedyno.lab.handles import Workloads
from kubedyno.lab.lab import Lab
from kubedyno.scenarios.numa import scales, truth
from kubedyno.scenarios.numa.framework import PerformanceCase
from kubedyno.scenarios.numa.loading import Taken, Watch
from kubedyno.scenarios.numa.scales import Cluster

UNDECIDED: Final = "not in time"
"""The code of pods that nobody had decided on when their time was over."""

_LOOK_EVERY_S: Final = 0.1
_REPORTED_S: Final = 2.0
"""Exporters hear of so many events a second that all is reported after this time."""


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """How long a step takes."""

    over_s: float
    """Pods arrive for so long."""
    patience_s: float = 30.0
    """After the last one came, those that are not decided on have failed."""


class Arrivals:
    """Pods come evenly, and the scheduler decides on them."""

    metric = "creation to bound, s"

    def __init__(self, lab: Lab, cluster: Cluster, case: PerformanceCase, times: Times, *, numbers: "Numbers") -> None:
        self.case = case
        self._lab = lab
        self._cluster = cluster
        self._times = times
        self._numbers = numbers

    @property
    def most(self) -> float:
        """Beyond it a step would fill the cluster."""
        return self._cluster.most_pods / self._times.over_s

    async def at(self, rate: float) -> Taken:
        """Let pods come at this rate, wait for them, and delete them."""
        if rate <= 0:
            raise UsageError(f"{self.case.name}: a rate of {rate:g}/s: write more than 0")
        watch = Watch(self._lab)
        await watch.look()
        count = max(2, round(rate * self._times.over_s))
        pods = await self._submit(count, count / rate)
        submitted_ns = self._lab.clock.wall_ns()
        sending_s = (pods.submitted.upper_ns - pods.submitted.lower_ns) / NS_PER_S
        all_s = await self._decided(pods, submitted_ns)
        seen = await watch.look()
        samples = self._samples(pods)
        errors = await self._errors(pods, decided=len(samples))
        await self._lab.delete(pods)
        await self._reported()
        return Taken(
            rate=rate,
            samples={self.metric: samples},
            requests=count,
            errors=errors,
            first_error=_first(errors, self._times.patience_s),
            recovery_s=all_s,
            # The last one is sent one pause before the end.
            achieved=count / max(sending_s, count / rate),
            duration_s=watch.passed_s,
            seen=seen,
        )

    async def _submit(self, count: int, over_s: float) -> Workloads:
        profile = self._cluster.profile
        shape = scales.pod(self._numbers.name(), spec={"schedulerName": profile} if profile else {})
        return await self._lab.submit(shape, count=count, over_s=over_s)

    def _samples(self, pods: Workloads) -> tuple[float, ...]:
        return self._lab.latencies(pods, since="created", until="scheduled")

    def _is_decided(self, pods: Workloads) -> bool:
        return all(pod.node is not None or pod.end is not None for pod in self._lab.standing.pods(pods.names))

    async def _decided(self, pods: Workloads, since_ns: int) -> float | None:
        """The seconds from the last arrival until all were decided on; None: their time was over before."""
        clock = self._lab.clock
        while True:
            known = sum(1 for _ in self._lab.standing.pods(pods.names))
            passed_s = (clock.wall_ns() - since_ns) / NS_PER_S
            if known >= pods.pods and self._is_decided(pods):
                return passed_s
            if passed_s > self._times.patience_s:
                return None
            await clock.sleep(_LOOK_EVERY_S)

    async def _errors(self, pods: Workloads, *, decided: int) -> dict[str, int]:
        """Pods that nobody decided on in time, and those that kubelets refused, by reason."""
        found: Counter[str] = Counter()
        if decided < pods.pods:
            found[UNDECIDED] = pods.pods - decided
        if any(pod.end == "failed" for pod in self._lab.standing.pods(pods.names)):
            refused = (await truth.ends_of(self._lab, pods)).refused
            found.update({reason: len(names) for reason, names in refused.items()})
        return dict(found.most_common())

    async def _reported(self) -> None:
        """Wait until exporters have told that the pods are gone: the next step begins with an empty cluster."""
        if self._cluster.aware:
            await self._lab.clock.sleep(_REPORTED_S)


class Admissions(Arrivals):
    """Pods come with their nodes, in turn: the kubelets alone decide."""

    metric = "bound to admitted or refused, s"

    async def _submit(self, count: int, over_s: float) -> Workloads:
        lab, names, name = self._lab, self._cluster.names[:count], self._numbers.name()
        pause_s = over_s / count

        async def onto(place: int) -> Workloads:
            """Every so-manieth pod: the nodes of pods that come one after another are others."""
            own = len(range(place, count, len(names)))
            await lab.clock.sleep(place * pause_s)
            shape = scales.pod(f"{name}-{place}", spec={"nodeName": names[place]})
            return await lab.submit(shape, count=own, over_s=own * len(names) * pause_s)

        async with tasks.owning() as group:
            made = [group.create_task(onto(place), name=f"pods of {one}") for place, one in enumerate(names)]
        return functools.reduce(operator.or_, (one.result() for one in made))

    def _samples(self, pods: Workloads) -> tuple[float, ...]:
        lab = self._lab
        return (
            *lab.latencies(pods, since="created", until="running"),
            *lab.latencies(pods, since="created", until="failed"),
        )

    def _is_decided(self, pods: Workloads) -> bool:
        return all(pod.is_running or pod.end is not None for pod in self._lab.standing.pods(pods.names))


class Numbers:
    """Names for the pods of one step after another."""

    def __init__(self) -> None:
        self._next = itertools.count()

    def name(self) -> str:
        """Another one."""
        return f"step-{next(self._next)}"


def _first(errors: dict[str, int], patience_s: float) -> str:
    if not errors:
        return ""
    refused = next((code for code in errors if code != UNDECIDED), None)
    if refused is not None:
        return f"a kubelet refused a pod: {refused}"
    return f"a pod was not decided on within {patience_s:g} s"
