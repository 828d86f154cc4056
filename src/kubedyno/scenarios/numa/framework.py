"""The five cases of latency and overload as data: the frameworks thought of for each, and what stands for them here."""

from collections.abc import Mapping
from typing import Final

import msgspec


class Framework(msgspec.Struct, frozen=True, kw_only=True):
    """One way to have a cluster of many nodes."""

    name: str
    stands_for_it: str
    """What takes its place here."""
    cannot_show: str


FRAMEWORKS: Final[Mapping[str, Framework]] = {
    one.name: one
    for one in (
        Framework(
            name="Kubemark",
            stands_for_it="the simulated kubelet beside a real control plane (--engine local); at toy scale hollow "
            "nodes of Kubernetes' own kubemark (--kubelet kubemark)",
            cannot_show="what containers cost a node; hollow nodes have no topology manager, and admit every pod",
        ),
        Framework(
            name="Schedperf",
            stands_for_it="the scheduler alone on the embedded API server (--engine embedded)",
            cannot_show="what the real API server and etcd cost a scheduler",
        ),
        Framework(
            name="DinD",
            stands_for_it="a user's own cluster (--kubeconfig)",
            cannot_show="more nodes than the machines of that cluster have room for",
        ),
        Framework(
            name="VMs",
            stands_for_it="a user's own cluster (--kubeconfig)",
            cannot_show="more nodes than the machines of that cluster have room for",
        ),
        Framework(
            name="Kubelet, e2e tests",
            stands_for_it="the simulated kubelet with its topology manager; at toy scale hollow nodes of Kubernetes' "
            "own kubemark (--kubelet kubemark), which have none",
            cannot_show="how long a real kubelet's topology manager takes: the times are those of the simulated one",
        ),
    )
}


class PerformanceCase(msgspec.Struct, frozen=True, kw_only=True):
    """A test case of latency or overload."""

    number: int
    name: str
    component: str
    metric: str
    """What gets worse."""
    unit: str
    """Of its rates."""
    frameworks: tuple[str, ...]
    """Those that were thought of for it."""

    @property
    def stands_for(self) -> dict[str, str]:
        """What stands here for each framework."""
        return {name: FRAMEWORKS[name].stands_for_it for name in self.frameworks}

    @property
    def cannot_show(self) -> tuple[str, ...]:
        """What none of it shows, each once."""
        return tuple(dict.fromkeys(FRAMEWORKS[name].cannot_show for name in self.frameworks))


SCHEDULER_LATENCY: Final = PerformanceCase(
    number=1,
    name="scheduler latency",
    component="scheduler",
    metric="scheduling time",
    unit="pods/s",
    frameworks=("Kubemark", "DinD", "Schedperf"),
)
API_SERVER_LATENCY: Final = PerformanceCase(
    number=2,
    name="API server latency",
    component="API server",
    metric="response time",
    unit="requests/s",
    frameworks=("Kubemark", "DinD"),
)
API_SERVER_OVERLOAD: Final = PerformanceCase(
    number=3,
    name="API server overload",
    component="API server",
    metric="response errors",
    unit="requests/s",
    frameworks=("Kubemark", "DinD"),
)
SCHEDULER_OVERLOAD: Final = PerformanceCase(
    number=4,
    name="scheduler overload",
    component="scheduler",
    metric="scheduling time and failures",
    unit="pods/s",
    frameworks=("Kubemark", "DinD", "Schedperf"),
)
KUBELET_OVERLOAD: Final = PerformanceCase(
    number=5,
    name="kubelet overload",
    component="kubelet",
    metric="pod admission time",
    unit="pods/s",
    frameworks=("Kubelet, e2e tests",),
)

CASES: Final = (SCHEDULER_LATENCY, API_SERVER_LATENCY, API_SERVER_OVERLOAD, SCHEDULER_OVERLOAD, KUBELET_OVERLOAD)

HA_NOTE: Final = "three processes on one machine stand for three control-plane machines"
"""What `--ha` is here."""
EMBEDDED_NOTE: Final = "the API server is ours, not Kubernetes'"
VIRTUAL_NOTE: Final = "time is virtual: what is computed costs none"
SIMULATED_NOTE: Final = "the kubelets are simulated"
HOLLOW_NOTE: Final = "the kubelets are hollow nodes: real ones without a topology manager, and nothing is exported"
UNLOADED_NOTE: Final = "unaware: nothing is exported, and the plugin is not loaded"
ASIDE_NOTE: Final = "unaware: nothing is exported, and pods are scheduled by a profile without the plugin"
UNTOLD_NOTE: Final = "unaware: nothing is exported; the scheduler would heed zones, and finds none"
