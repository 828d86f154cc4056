"""`kwok-dra`: fake nodes with GPUs that pods claim through DRA.

What others install KWOK for is a pool of simulated nodes here. Names, labels, taints and devices are those that configs
for it expect; attributes are spelt with underscores, since Kubernetes refuses dashes in the names of attributes.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

import msgspec

from kubedyno.client.errors import Overdue
from kubedyno.client.informer import Informer
from kubedyno.clusterloader.dependencies.controller import NAME, NAMESPACE, Signpost
from kubedyno.clusterloader.dependencies.depending import Kind, Surroundings
from kubedyno.clusterloader.dependencies.device_classes import OwnDeviceClass
from kubedyno.clusterloader.loading.versions import first_served
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.kube.codec import Object
from kubedyno.sim import marks
from kubedyno.sim.devices.inventory import Plain
from kubedyno.sim.devices.publishing import publish_devices
from kubedyno.sim.devices.versions import V1, V1BETA2, slices_of
from kubedyno.sim.kubelet.plans import USUAL_TIMES, JobTimes
from kubedyno.sim.kubelet.settings import KubeletSettings
from kubedyno.sim.pools import Gpus, Pool, Taint, applying
from kubedyno.sim.pools.nodes import node_name

DRIVER: Final = "cl2-gpu.kwok.x-k8s.io"
POOL: Final = "kwok-node"
"""Nodes are kwok-node-0, kwok-node-1, ..."""
_VERSIONS: Final = (V1BETA2, V1)
"""Of what is written, where nobody asks for one: the first that is served."""
_NODES_AT_MOST: Final = 50_000
_GPUS_AT_MOST: Final = 1024
_GONE_WITHIN_S: Final = 60.0
_SHOWN_WITHIN_S: Final = 5.0
"""A simulator of ours publishes the first devices within tenths of a second; KWOK publishes none."""


def pool(nodes: int, gpus: int, *, api_version: str = "", job_times: JobTimes = USUAL_TIMES) -> Pool:
    """The nodes and their devices; `api_version` is that of their ResourceSlices."""
    return Pool(
        name=POOL,
        count=nodes,
        cpu="32",
        memory="256Gi",
        pods=110,
        labels={"type": "kwok", "kubernetes.io/role": "agent", "node-role.kubernetes.io/agent": ""},
        annotations={"node.alpha.kubernetes.io/ttl": "0"},
        taints=(Taint(key=marks.FAKE, value="fake", effect="NoSchedule"),),
        # On the nodes themselves: whoever plays them may have been started before, by others, with other times.
        kubelet=KubeletSettings(work=job_times.by_label),
        gpus=Gpus(
            plain=Plain(
                attributes={"gpu_type": "kwok-gpu", "memory": "8Gi", "compute_capability": "7.5"},
                capacity={f"{DRIVER}/gpu": "1"},
                api_version=api_version,
            ),
            count=gpus,
            show=("dra",),
            driver=DRIVER,
        ),
    )


class KwokDra:
    """The dependency of one test."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._around = surroundings
        self._client = surroundings.client
        self._class = OwnDeviceClass(surroundings, DRIVER)
        self._signpost = Signpost(surroundings)
        self._version = ""
        self._is_begun = False
        """From then on the pool is ours to take away."""
        self._publishing: asyncio.Task[None] | None = None

    async def set_up(self, params: Params) -> None:
        """Nodes, devices and DeviceClass; returns when all nodes are ready and all devices are published."""
        asked = _read(params)
        names = frozenset(node_name(POOL, index) for index in range(asked.nodes))
        try:
            async with asyncio.timeout(asked.timeout_s):
                self._version = await self._served(asked.api_version)
                await self._refuse_others_pool()
                self._is_begun = True
                if self._around.is_foreign and self._around.drives_nodes:
                    await self._signpost.put()
                await self._class.put(self._version)
                self._around.own_nodes(names)
                wanted = pool(asked.nodes, asked.gpus, api_version=self._version, job_times=self._around.job_times)
                await applying.apply(self._client, [wanted])
        except TimeoutError:
            raise EngineError(self._late(asked.nodes, asked.timeout_s, "the nodes were not ready")) from None
        await self._published(names, asked.gpus, asked.timeout_s)

    async def tear_down(self) -> None:
        """Nodes, slices and DeviceClass go; returns when they are gone."""
        if not self._is_begun:
            return
        if POOL in await applying.defined(self._client):
            await applying.delete(self._client, [POOL])
        await self._class.remove()
        await self._signpost.remove()
        async with Informer(self._client, slices_of(self._version)) as slices:
            await slices.wait_until(
                lambda known: not any(map(_is_ours, known.items)),
                timeout_s=_GONE_WITHIN_S,
                what=f"the end of all ResourceSlices of driver {DRIVER}",
            )
        if self._publishing is not None:
            self._publishing.cancel()

    async def _served(self, asked: str) -> str:
        """The version to write; the one that is asked for, where it is served."""
        version = await first_served(self._client, (asked, *_VERSIONS) if asked else _VERSIONS, needed_by="kwok-dra")
        if asked and version != asked:
            self._around.remarks.append(f"kwok-dra: the cluster does not serve {asked}: {version} is written")
        return version

    async def _refuse_others_pool(self) -> None:
        """UsageError when the cluster has a pool of that name that is something else; one of an earlier run is ours."""
        known = (await applying.defined(self._client)).get(POOL)
        if known is not None and not (isinstance(known.pool.gpus, Gpus) and known.pool.gpus.driver == DRIVER):
            raise UsageError(
                f"kwok-dra: the cluster has a pool {POOL} of its own: take another cluster, or "
                f"`kubedyno nodes delete {POOL}`"
            )

    async def _published(self, names: frozenset[str], gpus: int, timeout_s: float) -> None:
        nodes, wanted = len(names), len(names) * gpus
        async with Informer(self._client, slices_of(self._version)) as slices:
            if self._around.is_foreign and not self._around.drives_nodes:
                await self._see_to_devices(slices, names, timeout_s)
            try:
                await slices.wait_until(
                    lambda known: _devices(known.items) == (nodes, wanted), timeout_s=timeout_s, what="ResourceSlices"
                )
            except Overdue:
                pools, devices = _devices(slices.items)
                seen = f"{devices} of {wanted} devices were published, of {pools} nodes"
                raise EngineError(self._late(nodes, timeout_s, seen)) from None

    async def _see_to_devices(self, slices: Informer, names: frozenset[str], timeout_s: float) -> None:
        """Publish devices from here where whoever plays the nodes does not: KWOK knows nodes and pods alone."""
        try:
            await slices.wait_until(
                lambda known: not names or any(map(_is_ours, known.items)),
                timeout_s=min(_SHOWN_WITHIN_S, timeout_s),
                what="the first ResourceSlice",
            )
        except Overdue:
            self._publishing = self._around.background.start(
                publish_devices(
                    self._client.known_as("kubedyno-devices"),
                    clock=self._client.clock,
                    seed=0,
                    manages=names.__contains__,
                ),
                name="publish the devices of kwok-dra",
            )
            self._around.remarks.append(
                "kwok-dra: the nodes are played by what runs on the cluster already, KWOK or the like: how long pods "
                "work is what its stages say, not CL2_JOB_RUNNING_TIME_MS"
            )

    def _late(self, nodes: int, timeout_s: float, seen: str) -> str:
        return (
            f"kwok-dra: {nodes} nodes with GPUs were not there within {timeout_s:g} s: {seen}; {self._look()}, or give "
            "it more time (params.timeout)"
        )

    def _look(self) -> str:
        """Where somebody finds out why nodes do not get ready."""
        if self._around.drives_nodes:
            return "they are driven by this command: see what it tells with --debug"
        if self._around.is_foreign:
            return (
                "they are driven by what runs on the cluster already: see its log "
                f"(of KWOK: kubectl -n {NAMESPACE} logs deployment/{NAME})"
            )
        return "see whether somebody plays the kubelets of the cluster's nodes"


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What its parameters say."""

    nodes: int
    gpus: int
    """Of each node."""
    timeout_s: float
    api_version: str
    """Empty: whatever is served."""


def _read(params: Params) -> _Asked:
    asked = _Asked(
        nodes=params.whole("nodes", 2),
        gpus=params.whole("gpusPerNode", 8),
        timeout_s=params.duration_s("timeout", "5m"),
        api_version=params.text("apiVersion", ""),
    )
    for name, value, most in (("nodes", asked.nodes, _NODES_AT_MOST), ("gpusPerNode", asked.gpus, _GPUS_AT_MOST)):
        if not 0 <= value <= most:
            raise UsageError(f"kwok-dra: {name} is {value}: write 0 to {most}")
    if asked.api_version not in {"", *_VERSIONS}:
        raise UsageError(f"kwok-dra: apiVersion is {asked.api_version!r}: write {' or '.join(_VERSIONS)}")
    return asked


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


KWOK_DRA = Kind(
    make=KwokDra,
    params=("nodes", "gpusPerNode", "timeout", "apiVersion"),
    brings_nodes=lambda params: _read(params).nodes,
)
