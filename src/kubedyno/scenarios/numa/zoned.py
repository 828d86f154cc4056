"""Nodes of two NUMA zones, pods that need one of them, and the cluster that every NUMA scenario begins with.

A node has 32 CPUs, of which the system has two: 14 for pods on the first zone and 16 on the second. So a pod of ten
takes more than half of any zone: two fit a node, though by its 30 CPUs there seems to be room for three.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kubedyno.kube.resources import NODE_RESOURCE_TOPOLOGIES
from kubedyno.lab.handles import Nodes, Workloads
from kubedyno.lab.lab import Lab
from kubedyno.model.workloads import Workload
from kubedyno.scenarios.numa import matching
from kubedyno.scenarios.numa.matching import Knows
from kubedyno.sim.exporters.settings import Settings
from kubedyno.sim.kubelet.settings import KubeletSettings, Numa
from kubedyno.sim.pools import Pool
from kubedyno.sim.pools.nodes import HOSTNAME

TOPOLOGIES: Final = NODE_RESOURCE_TOPOLOGIES[0]

LARGE: Final = 10
"""CPUs of a pod that takes more than half of any zone."""
FITTING: Final = 2
"""Pods of that size that a node holds."""
SEEMING: Final = 3
"""Pods of that size that a node seems to hold, by the CPUs of all its zones."""
WIDE: Final = 18
"""CPUs of a pod that no zone has, though every node does."""

EXPORT_S: Final = 2.0
"""An exporter looks as often as this, beside its waking up when something happens."""
EXPORTERS: Final = Settings(interval_s=EXPORT_S)

POOL: Final = "numa"
"""Name of the nodes' pool."""
_CPUS: Final = 32
_RESERVED_CPUS: Final = 2
NODE_CPUS: Final = _CPUS - _RESERVED_CPUS
"""CPUs of a node that are for pods."""
_IMAGE: Final = "simulated"


class World(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster that a scenario begins with."""

    nodes: Nodes
    knows: Knows
    """How its scheduler knows the zones."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its nodes."""
        return self.nodes.names


def pool(count: int, *, name: str = POOL, counts_memory: bool = True, **kubelet: Any) -> Pool:
    """So many nodes under `single-numa-node`; `kubelet` are other settings of their kubelets."""
    memory: dict[str, Any] = {"memory_manager_policy": "Static", "reserved_memory": {"0": "1Gi", "1": "1Gi"}}
    settings = {
        "topology_manager_policy": "single-numa-node",
        "cpu_manager_policy": "static",
        "reserved_cpus": _RESERVED_CPUS,
        "numa": Numa(sockets=2),
        **(memory if counts_memory else {}),
        **kubelet,
    }
    return Pool(
        name=name,
        count=count,
        cpu=_CPUS,
        memory="64Gi",
        reserved={"cpu": _RESERVED_CPUS, "memory": "2Gi"},
        kubelet=KubeletSettings(**settings),
    )


async def begin(
    lab: Lab, nodes: int, *, exporters: Settings | None = EXPORTERS, fillers: bool = True, **kubelet: Any
) -> World:
    """Make the nodes, start a small pod on each, and exporters; the scheduler knows all zones when it returns.

    The small pods are there because the over-reserving cache never looks again at a node without any pod.
    """
    made = await lab.nodes(pool(nodes, **kubelet))
    if fillers:
        await fill(lab, made.names)
    world = World(nodes=made, knows=matching.knows(lab))
    if exporters is not None:
        await lab.exporters.start(exporters)
        await reread(lab, world)
    return world


async def fill(lab: Lab, names: tuple[str, ...]) -> None:
    """Start a pod on each node that asks for nothing, as a daemon would."""
    made = [
        await lab.submit(bare(name="filler", spec={"nodeName": name, "containers": [_container({})]})) for name in names
    ]
    for one in made:
        await lab.running(one)


async def reread(lab: Lab, world: World) -> None:
    """Let a scheduler that lists the zones only when it starts know what is written now."""
    if world.knows == "over-reserve":
        await lab.scheduler.restart()


def exclusive(cpus: int | str = LARGE, memory: str = "1Gi", **more: Any) -> Workload:
    """A pod that is guaranteed its CPUs and memory."""
    return bare(cpu=str(cpus), memory=memory, **more)


def bare(**more: Any) -> Workload:
    """A pod of no Job: one that was refused stays refused, and is counted once."""
    return Workload(**{"name": "pod", "gpus": 0, **more})


def best_effort(**more: Any) -> Workload:
    """A pod that asks for nothing."""
    return containers({"main": {}}, **{"name": "best-effort", **more})


def burstable(cpu: str = "1", memory: str = "1Gi", **more: Any) -> Workload:
    """A pod that asks for something and is limited in nothing."""
    asked = {"requests": {"cpu": cpu, "memory": memory}}
    return containers({"main": asked}, **{"name": "burstable", **more})


def containers(
    resources: Mapping[str, Mapping[str, Any]], sidecars: Mapping[str, Mapping[str, Any]] | None = None, **more: Any
) -> Workload:
    """A pod of containers with these resources, by name; sidecars are init containers that go on running."""
    spec: dict[str, Any] = {"containers": [_container(asked, name) for name, asked in resources.items()]}
    if sidecars:
        spec["initContainers"] = [
            {**_container(asked, name), "restartPolicy": "Always"} for name, asked in sidecars.items()
        ]
    return bare(spec={**spec, **more.pop("spec", {})}, **more)


def whole(container: Mapping[str, Any], **more: Any) -> Workload:
    """A pod that is guaranteed its CPUs and memory as a whole; its container asks for these resources."""
    return containers({"main": container}, **{"name": "whole", "spec": {"resources": guaranteed(LARGE)}, **more})


def guaranteed(cpu: int | str, memory: str = "1Gi") -> dict[str, dict[str, str]]:
    """The resources of a container that is guaranteed them."""
    amounts = {"cpu": str(cpu), "memory": memory}
    return {"requests": amounts, "limits": dict(amounts)}


def on(shape: Workload, node: str) -> Workload:
    """The same for one node alone; the scheduler still has to let it."""
    return msgspec.structs.replace(shape, node_selector={**shape.node_selector, HOSTNAME: node})


async def submit_on(lab: Lab, shape: Workload, node: str, *, count: int = 1, name: str | None = None) -> Workloads:
    """Create pods that only one node may take."""
    return await lab.submit(on(shape, node), count=count, name=name or f"{shape.name}-{node}")


def _container(resources: Mapping[str, Any], name: str = "main") -> dict[str, Any]:
    return {"name": name, "image": _IMAGE, **({"resources": dict(resources)} if resources else {})}
