"""`kwok-dra`: fake nodes with GPUs that pods claim through DRA.

What others install KWOK for is a pool of simulated nodes here. Names, labels, taints and devices are those that configs
for it expect; attributes are spelt with underscores, since Kubernetes refuses dashes in the names of attributes.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from kubedyno.client.errors import Overdue
from kubedyno.client.informer import Informer
from kubedyno.clusterloader.dependencies.depending import Kind, Surroundings, device_class
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import RESOURCE_SLICES
from kubedyno.sim import marks
from kubedyno.sim.devices.inventory import Plain
from kubedyno.sim.pools import Gpus, Pool, Taint, applying
from kubedyno.sim.pools.sending import delete_object

DRIVER: Final = "cl2-gpu.kwok.x-k8s.io"
POOL: Final = "kwok-node"
"""Nodes are kwok-node-0, kwok-node-1, ..."""
_NODES_AT_MOST: Final = 50_000
_GPUS_AT_MOST: Final = 1024
_GONE_WITHIN_S: Final = 60.0


def pool(nodes: int, gpus: int) -> Pool:
    """The nodes and their devices."""
    return Pool(
        name=POOL,
        count=nodes,
        cpu="32",
        memory="256Gi",
        pods=110,
        labels={"type": "kwok", "kubernetes.io/role": "agent", "node-role.kubernetes.io/agent": ""},
        annotations={"node.alpha.kubernetes.io/ttl": "0"},
        taints=(Taint(key=marks.FAKE, value="fake", effect="NoSchedule"),),
        gpus=Gpus(
            plain=Plain(
                attributes={"gpu_type": "kwok-gpu", "memory": "8Gi", "compute_capability": "7.5"},
                capacity={f"{DRIVER}/gpu": "1"},
            ),
            count=gpus,
            show=("dra",),
            driver=DRIVER,
        ),
    )


class KwokDra:
    """The dependency of one test."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._client = surroundings.client

    async def set_up(self, params: Params) -> None:
        """Nodes, devices and DeviceClass; returns when all nodes are ready and all devices are published."""
        nodes, gpus = _sizes(params)
        timeout_s = params.duration_s("timeout", "5m")
        try:
            async with asyncio.timeout(timeout_s):
                await self._client.apply(device_class(DRIVER), field_manager="kubedyno", force=True)
                await applying.apply(self._client, [pool(nodes, gpus)])
        except TimeoutError:
            raise EngineError(_late(nodes, timeout_s, "the nodes were not ready")) from None
        await self._published(nodes, gpus, timeout_s)

    async def tear_down(self) -> None:
        """Nodes, slices and DeviceClass go; returns when they are gone."""
        if POOL in await applying.defined(self._client):
            await applying.delete(self._client, [POOL])
        await delete_object(self._client, device_class(DRIVER))
        async with Informer(self._client, RESOURCE_SLICES) as slices:
            await slices.wait_until(
                lambda known: not any(map(_is_ours, known.items)),
                timeout_s=_GONE_WITHIN_S,
                what=f"the end of all ResourceSlices of driver {DRIVER}",
            )

    async def _published(self, nodes: int, gpus: int, timeout_s: float) -> None:
        wanted = nodes * gpus
        async with Informer(self._client, RESOURCE_SLICES) as slices:
            try:
                await slices.wait_until(
                    lambda known: _devices(known.items) == (nodes, wanted), timeout_s=timeout_s, what="ResourceSlices"
                )
            except Overdue:
                pools, devices = _devices(slices.items)
                seen = f"{devices} of {wanted} devices were published, of {pools} nodes"
                raise EngineError(_late(nodes, timeout_s, seen)) from None


def _sizes(params: Params) -> tuple[int, int]:
    nodes, gpus = params.whole("nodes", 2), params.whole("gpusPerNode", 8)
    for name, value, most in (("nodes", nodes, _NODES_AT_MOST), ("gpusPerNode", gpus, _GPUS_AT_MOST)):
        if not 0 <= value <= most:
            raise UsageError(f"kwok-dra: {name} is {value}: write 0 to {most}")
    return nodes, gpus


def _late(nodes: int, timeout_s: float, seen: str) -> str:
    return (
        f"kwok-dra: {nodes} nodes with GPUs were not there within {timeout_s:g} s: {seen}; see whether somebody plays "
        f"the kubelets of the cluster's nodes, or give it more time (params.timeout)"
    )


def _is_ours(piece: Object) -> bool:
    return bool(piece["spec"].get("driver") == DRIVER)


def _devices(slices: Iterable[Object]) -> tuple[int, int]:
    """Nodes whose slices are all there, and the devices of the newest generation."""
    by_node: dict[str, list[Object]] = {}
    for piece in slices:
        if _is_ours(piece):
            by_node.setdefault(piece["spec"]["pool"]["name"], []).append(piece["spec"])
    complete = devices = 0
    for specs in by_node.values():
        newest = max(spec["pool"]["generation"] for spec in specs)
        current = [spec for spec in specs if spec["pool"]["generation"] == newest]
        complete += len(current) == current[0]["pool"]["resourceSliceCount"]
        devices += sum(len(spec.get("devices") or ()) for spec in current)
    return complete, devices


KWOK_DRA = Kind(make=KwokDra, params=("nodes", "gpusPerNode", "timeout"), brings_nodes=lambda params: _sizes(params)[0])
