"""`DRATestDriver`: devices of the DRA example driver on the nodes that are there, by simulation.

Where others run its kubelet plugin as a DaemonSet, the simulated nodes of the cluster publish the same devices.
"""

from typing import Final

import msgspec

from kubedyno.client.errors import Overdue
from kubedyno.client.informer import Informer
from kubedyno.clusterloader.dependencies.depending import Kind, Surroundings
from kubedyno.clusterloader.dependencies.device_classes import OwnDeviceClass
from kubedyno.clusterloader.loading.versions import first_served
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.kit.errors import EngineError
from kubedyno.kube.codec import Object
from kubedyno.sim.devices.inventory import Plain
from kubedyno.sim.devices.versions import V1, V1BETA2, slices_of
from kubedyno.sim.pools import Gpus, Pool, applying

DRIVER: Final = "gpu.example.com"
_DEVICES: Final = 8
"""Of each node, as the driver's own manifests have it."""


def with_devices(pool: Pool) -> Pool:
    """The pool with the driver's devices."""
    plain = Plain(prefix="gpu-", attributes={"model": "LATEST-GPU-MODEL"}, capacity={"memory": "80Gi"})
    return msgspec.structs.replace(pool, gpus=Gpus(plain=plain, count=_DEVICES, show=("dra",), driver=DRIVER))


class DraTestDriver:
    """The dependency of one test."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._client = surroundings.client
        self._class = OwnDeviceClass(surroundings, DRIVER)
        self._before: list[Pool] = []

    async def set_up(self, params: Params) -> None:
        """Devices on all simulated nodes, and their class; returns when all of them are published."""
        timeout_s = params.duration_s("timeout", "10m")
        extended_resource = params.text("ExtendedResourceName", "")
        pools = [definition.pool for definition in (await applying.defined(self._client)).values()]
        if not pools:
            raise EngineError(
                "DRATestDriver: the cluster has no simulated nodes to put devices on: give --nodes, or make some with "
                "`kubedyno nodes`"
            )
        version = await first_served(self._client, (V1, V1BETA2), needed_by="DRATestDriver")
        await self._class.put(version, extended_resource=extended_resource)
        self._before = [pool for pool in pools if pool.gpus == 0]
        await applying.apply(self._client, [with_devices(pool) for pool in self._before])
        nodes = sum(pool.size for pool in self._before)
        async with Informer(self._client, slices_of(version)) as slices:
            try:
                await slices.wait_until(
                    lambda known: sum(map(_is_ours, known.items)) >= nodes, timeout_s=timeout_s, what="ResourceSlices"
                )
            except Overdue:
                found = sum(map(_is_ours, slices.items))
                raise EngineError(
                    f"DRATestDriver: {found} of {nodes} nodes had published devices after {timeout_s:g} s; see whether "
                    "somebody plays the kubelets of the cluster's nodes"
                ) from None

    async def tear_down(self) -> None:
        """Devices and class go; the nodes stay."""
        await applying.apply(self._client, self._before)
        await self._class.remove()


def _is_ours(piece: Object) -> bool:
    return bool(piece["spec"].get("driver") == DRIVER)


DRA_TEST_DRIVER = Kind(
    make=DraTestDriver,
    params=("Namespace", "Manifests", "DaemonsetName", "WorkerNodeCount", "ExtendedResourceName", "timeout"),
    brings_nodes=lambda _: 0,
)
