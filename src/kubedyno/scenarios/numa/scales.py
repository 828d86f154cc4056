"""Clusters of the five sizes, with and without awareness of NUMA zones; grown from one size to the next.

Nodes are large, so that a small cluster has room for some seconds of arrivals: pods of one CPU of their own each.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

import msgspec

from kubedyno.kit import tasks
from kubedyno.kit.errors import NotApplicable, UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.lab.lab import Lab
from kubedyno.model.workloads import Workload
from kubedyno.scenarios.numa import framework, matching, zoned
from kubedyno.sim.exporters.settings import Settings
from kubedyno.sim.kubelet.settings import KubeletSettings, Numa
from kubedyno.sim.pools import Pool

Scale: TypeAlias = Literal["toy", "small", "medium", "large", "huge"]
NODES: Final[Mapping[str, int]] = {"toy": 10, "small": 100, "medium": 500, "large": 1000, "huge": 5000}

EXPORTERS: Final = Settings(jitter=0.1)
"""As in the field: once a minute, and when a pod comes or goes."""
PODS_PER_NODE: Final = 110

_HANDS: Final = 32
_CPUS: Final = 128
_RESERVED_CPUS: Final = 2
_MEMORY: Final = "256Gi"
_FILLED: Final = 0.9
"""The part of a cluster that a load may fill: a full one would measure something else."""
_PLUGIN: Final = "plugins.profiles.0.plugins.multiPoint.enabled.1.name"
_UNAWARE: Final = "kubedyno-unaware"
_SECOND: Final = "profiles.1"
_HARMLESS: Final = "NodeName"
"""A plugin that every scheduler has anyway, named in the place of the one for NUMA zones."""


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """What a case runs on."""

    scale: str
    names: tuple[str, ...] = ()
    """Of its nodes."""
    aware: bool = True
    ha: bool = False
    profile: str = ""
    """Of the scheduler, that pods ask for; empty: its usual one."""
    note: str = ""
    """What stands for whom here."""

    @property
    def nodes(self) -> int:
        """How many nodes it has."""
        return len(self.names)

    @property
    def most_pods(self) -> int:
        """So many pods a load may bring at a time."""
        return round(_FILLED * PODS_PER_NODE * self.nodes)


def settings(parameters: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Settings of schedulers that follow from parameters: unaware, the plugin for NUMA zones is not loaded."""
    wanted = matching.settings(parameters)
    if not parameters.get("aware", True):
        wanted = {"plugins": {**wanted["plugins"], _PLUGIN: _HARMLESS}}
    return wanted


def settings_of_both(parameters: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Settings for trials that are aware and unaware in turn: a second profile that lacks the plugin for NUMA zones.

    All profiles of a kube-scheduler must order their queues alike, so Coscheduling is in both.
    """
    second = {
        "schedulerName": _UNAWARE,
        "plugins.multiPoint.enabled.0.name": "Coscheduling",
        "plugins.queueSort.enabled.0.name": "Coscheduling",
        "plugins.queueSort.disabled.0.name": '"*"',
        "pluginConfig.0.name": "Coscheduling",
        "pluginConfig.0.args.permitWaitingTimeSeconds": "10",
    }
    both = {f"plugins.{_SECOND}.{path}": value for path, value in second.items()}
    return {"plugins": {**matching.settings(parameters)["plugins"], **both}}


def parsed(text: str) -> tuple[Scale, ...]:
    """`toy,small` and its like, the smallest first."""
    asked = list(filter(None, (part.strip() for part in text.split(","))))
    for one in asked:
        if one not in NODES:
            raise UsageError(f"-p scales={text}: {suggestion(one, NODES)}")
    if not asked:
        raise UsageError(f"-p scales={text}: name at least one of {', '.join(NODES)}")
    return tuple(one for one in get_args(Scale) if one in asked)


async def begin(lab: Lab, scale: str, *, aware: bool) -> Cluster:
    """A cluster of one size, whose scheduler knows all zones if it is to be aware of them."""
    cluster = await grown(lab, None, scale)
    return await made_aware(lab, cluster) if aware and not _is_hollow(lab) else described(lab, cluster)


async def grown(lab: Lab, cluster: Cluster | None, scale: str) -> Cluster:
    """The cluster with as many nodes as a size has; nobody exports anything yet."""
    known = () if cluster is None else cluster.names
    missing = NODES[scale] - len(known)
    added = (await lab.nodes(_pool(lab, f"{zoned.POOL}-{scale}", missing))).names if missing > 0 else ()
    ha = lab.spec is not None and lab.spec.ha != "none"
    return Cluster(scale=scale, names=(*known, *added), aware=False, ha=ha)


async def made_aware(lab: Lab, cluster: Cluster) -> Cluster:
    """Start exporters, and let the scheduler know what they write."""
    await lab.exporters.start(EXPORTERS)
    if matching.knows(lab) == "over-reserve":
        await lab.scheduler.restart()
    return described(lab, msgspec.structs.replace(cluster, aware=True))


async def made_unaware(lab: Lab, cluster: Cluster) -> Cluster:
    """Stop exporters, and remove what they wrote."""
    await lab.exporters.stop()
    own = set(cluster.names)
    left = iter([name for name in await _reported(lab) if name in own])

    async def remove() -> None:
        for name in left:
            await lab.client.delete(zoned.TOPOLOGIES, name)

    async with tasks.owning() as group:
        for hand in range(_HANDS):
            group.create_task(remove(), name=f"remove reports with hand {hand}")
    return described(lab, msgspec.structs.replace(cluster, aware=False))


async def _reported(lab: Lab) -> list[str]:
    return [one["metadata"]["name"] for one in (await lab.client.list_all(zoned.TOPOLOGIES)).items]


def described(lab: Lab, cluster: Cluster) -> Cluster:
    """The cluster with what is to be said of it."""
    spec = lab.spec
    notes = [
        framework.HOLLOW_NOTE if _is_hollow(lab) else framework.SIMULATED_NOTE,
        framework.EMBEDDED_NOTE if is_embedded(lab) else "",
        framework.VIRTUAL_NOTE if spec is not None and spec.time == "virtual" else "",
        framework.HA_NOTE if cluster.ha else "",
        "" if cluster.aware or _is_hollow(lab) else _unaware(lab),
    ]
    profile = _UNAWARE if not cluster.aware and _has_second(lab) else ""
    return msgspec.structs.replace(cluster, profile=profile, note="; ".join(filter(None, notes)))


def _unaware(lab: Lab) -> str:
    """What it means here that nobody is aware of zones."""
    if _has_second(lab):
        return framework.ASIDE_NOTE
    return framework.UNLOADED_NOTE if _PLUGIN.partition(".")[2] in _settings(lab) else framework.UNTOLD_NOTE


def _has_second(lab: Lab) -> bool:
    return _settings(lab).get(f"{_SECOND}.schedulerName") == _UNAWARE


def _settings(lab: Lab) -> Mapping[str, str]:
    return {} if lab.spec is None else lab.spec.settings.get("plugins", {})


def is_embedded(lab: Lab) -> bool:
    """Whether the API server is ours."""
    return lab.spec is not None and lab.spec.engine == "embedded"


def refuse_embedded(lab: Lab, case: str) -> None:
    """NotApplicable where the API server is ours: what it takes says nothing of Kubernetes'."""
    if is_embedded(lab):
        raise NotApplicable(f"{case}: {framework.EMBEDDED_NOTE}: use --engine local")


def _is_hollow(lab: Lab) -> bool:
    return lab.spec is not None and lab.spec.kubelet == "kubemark"


def _pool(lab: Lab, name: str, count: int) -> Pool:
    """Nodes of two zones; hollow ones have no settings, and no zones."""
    kubelet = KubeletSettings(
        topology_manager_policy="single-numa-node",
        cpu_manager_policy="static",
        reserved_cpus=_RESERVED_CPUS,
        memory_manager_policy="Static",
        reserved_memory={"0": "1Gi", "1": "1Gi"},
        numa=Numa(sockets=2),
    )
    return Pool(
        name=name,
        count=count,
        cpu=_CPUS,
        memory=_MEMORY,
        pods=PODS_PER_NODE,
        reserved={"cpu": _RESERVED_CPUS, "memory": "2Gi"},
        kubelet=KubeletSettings() if _is_hollow(lab) else kubelet,
    )


def pod(name: str, **more: Any) -> Workload:
    """A pod with a CPU of its own, and so little memory that CPUs alone decide."""
    return zoned.exclusive(1, "64Mi", name=name, **more)
