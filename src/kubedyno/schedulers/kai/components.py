"""KAI's processes as components. All of their ports default to 8080 and 8081: each gets its own on loopback."""

from collections.abc import Mapping
from typing import Any

import yaml

from kubedyno.plane.component import Component, File, Probe, flags
from kubedyno.plane.identities import Identity
from kubedyno.plane.ports import LOOPBACK
from kubedyno.plane.settings import merged
from kubedyno.plane.site import Site

NAMESPACE = "kai-scheduler"

_PROCESSES = ("scheduler", "binder", "podgrouper", "podgroupcontroller", "queuecontroller")
_HA_REPLICAS = 2

# As in a cluster: a service account each, so that the API server's fairness treats them as it does there.
IDENTITIES = tuple(
    Identity(
        name=f"kai-{process}",
        user=f"system:serviceaccount:{NAMESPACE}:{process}",
        groups=("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}"),
    )
    for process in _PROCESSES
)

# The scheduler's built-in configuration lacks the plugins by which it can be asked for its settings and job order.
CONFIGURATION: Mapping[str, Any] = {
    "actions": "allocate, consolidation, reclaim, preempt, stalegangeviction",
    "tiers": [
        {
            "plugins": [
                *(
                    {"name": name}
                    for name in (
                        "predicates",
                        "proportion",
                        "priority",
                        "nodeavailability",
                        "resourcetype",
                        "podaffinity",
                        "elastic",
                        "kubeflow",
                        "ray",
                        "subgrouporder",
                        "taskorder",
                        "nominatednode",
                        "dynamicresources",
                        "minruntime",
                        "topology",
                        "snapshot",
                        "reflectjoborder",
                        "gpupack",
                    )
                ),
                {"name": "nodeplacement", "arguments": {"cpu": "binpack", "gpu": "binpack"}},
                {"name": "gpusharingorder"},
            ]
        }
    ],
}

# The tuning of KAI's own scale tests.
_TUNED_SCHEDULER: Mapping[str, str | int | bool | None] = {"max-consolidation-preemptees": 0}
_TUNED_BINDER: Mapping[str, str | int | bool | None] = {"max-concurrent-reconciles": 100}


def build(site: Site, *, after: tuple[str, ...], config: Mapping[str, Any]) -> tuple[Component, ...]:
    """All five; two schedulers that elect a leader where the lab is highly available."""
    file = File(
        path=site.folder / "config" / "kai-scheduler.yaml",
        text=yaml.safe_dump(merged(CONFIGURATION, config), sort_keys=False),
    )
    several = site.ha != "none"
    names = site.replica_names("scheduler", _HA_REPLICAS if several else 1)
    return (
        *(_scheduler(site, name, file, after, several=several) for name in names),
        _controller(site, "binder", after, _TUNED_BINDER if site.profile.tuned else {}),
        _controller(site, "podgrouper", after, {}),
        _podgroupcontroller(site, after),
        _queuecontroller(site, after),
    )


def _limits(site: Site) -> dict[str, str | int | bool | None]:
    return {"qps": site.profile.client_qps, "burst": site.profile.client_burst}


def _env(site: Site, process: str) -> dict[str, str]:
    return {"KUBECONFIG": str(site.kubeconfig(f"kai-{process}"))}


def _scheduler(site: Site, name: str, file: File, after: tuple[str, ...], *, several: bool) -> Component:
    metrics, plugins = site.draw_port(), site.draw_port()
    # /metrics answers before the caches are synced; the series of the actions appear with the first cycle. A standby
    # replica has no cycles.
    first_cycle = "" if several else "kai_action_scheduling_latency_milliseconds"
    return Component(
        name=name,
        called="scheduler",
        program="kai-scheduler",
        role="scheduler",
        replicated=several,
        decides=True,
        env=_env(site, "scheduler"),
        args=flags(
            {
                "scheduler-conf": str(file.path),
                "namespace": NAMESPACE,
                "listen-address": f"{LOOPBACK}:{metrics}",
                "plugin-server-port": plugins,
                "leader-elect": True if several else None,
                # Victims tell that they are, and by whom, before they are deleted. KAI's own default is off.
                "update-pod-eviction-condition": None if site.profile.client_qps is None else True,
                **_limits(site),
                **(_TUNED_SCHEDULER if site.profile.tuned else {}),
            }
        ),
        files=(file,),
        ports={"metrics": metrics, "plugins": plugins},
        ready=Probe(url=f"http://{LOOPBACK}:{metrics}/metrics", contains=first_cycle),
        after=after,
    )


def _controller(
    site: Site, process: str, after: tuple[str, ...], own: Mapping[str, str | int | bool | None]
) -> Component:
    """Binder or podgrouper.

    They register no health checks; the series that is looked for appears when their controllers start.
    """
    metrics, health = site.draw_port(), site.draw_port()
    return Component(
        name=process,
        program=f"kai-{process}",
        role="scheduler",
        env=_env(site, process),
        args=flags(
            {
                "metrics-bind-address": f"{LOOPBACK}:{metrics}",
                "health-probe-bind-address": f"{LOOPBACK}:{health}",
                **_limits(site),
                **own,
            }
        ),
        ports={"metrics": metrics, "health": health},
        ready=Probe(
            url=f"http://{LOOPBACK}:{metrics}/metrics", contains="controller_runtime_max_concurrent_reconciles"
        ),
        after=after,
    )


def _podgroupcontroller(site: Site, after: tuple[str, ...]) -> Component:
    # Its metrics flag is not wired to its listener; the build moves the listener to a loopback port of its own choice.
    health = site.draw_port()
    return Component(
        name="podgroupcontroller",
        program="kai-podgroupcontroller",
        role="scheduler",
        env=_env(site, "podgroupcontroller"),
        args=flags(
            {
                "health-probe-bind-address": f"{LOOPBACK}:{health}",
                "enable-podgroup-webhook": False,
                **_limits(site),
            }
        ),
        ports={"health": health},
        ready=Probe(url=f"http://{LOOPBACK}:{health}/readyz"),
        after=after,
    )


def _queuecontroller(site: Site, after: tuple[str, ...]) -> Component:
    metrics = site.draw_port()
    return Component(
        name="queuecontroller",
        program="kai-queuecontroller",
        role="scheduler",
        env=_env(site, "queuecontroller"),
        args=flags(
            {"metrics-listen-address": f"{LOOPBACK}:{metrics}", "enable-webhook": False, **_limits(site)},
        ),
        ports={"metrics": metrics},
        ready=Probe(url=f"http://{LOOPBACK}:{metrics}/metrics"),
        after=after,
    )
