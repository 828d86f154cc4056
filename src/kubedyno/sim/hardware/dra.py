"""GPUs and their partitions as devices of NVIDIA's DRA driver (`resource.k8s.io/v1`).

GPUs are whole, or cut for good (`dra_device`, `dra_mig_device`), or partitionable: then every possible partition is a
device beside the whole GPU, and one set of counters per GPU says which of them go together.
"""

import functools
import re
from typing import Any, Final

from kubedyno.kit.errors import UsageError
from kubedyno.kube.quantities import Quantity
from kubedyno.sim.hardware.catalogue import FAMILIES, Gpu, MigProfile
from kubedyno.sim.hardware.labels import CUDA, DRIVER

_ENGINE_CAPACITIES: Final = ("copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines")


def dra_device(gpu: Gpu, index: int, *, uuid: str, driver: str = DRIVER, cuda: str = CUDA) -> dict[str, Any]:
    """The device of a whole GPU in a ResourceSlice; `index` is its place in the server."""
    return {
        "name": f"gpu-{index}",
        "attributes": {"type": {"string": "gpu"}, "uuid": {"string": uuid}, **_attributes(gpu, index, driver, cuda)},
        "capacity": {"memory": {"value": _mebibytes(gpu.memory_mib)}},
    }


def dra_mig_device(
    gpu: Gpu,
    index: int,
    profile: MigProfile,
    start: int,
    *,
    uuid: str,
    parent_uuid: str,
    driver: str = DRIVER,
    cuda: str = CUDA,
) -> dict[str, Any]:
    """The device of a partition that begins at memory slice `start` of the server's GPU `index`."""
    slices = {f"memorySlice{number}": {"value": "1"} for number in range(start, start + profile.size)}
    return {
        "name": _partition_name(index, profile, start),
        "attributes": {
            "uuid": {"string": uuid},
            **_partition_attributes(gpu, index, profile, parent_uuid, driver=driver, cuda=cuda),
        },
        "capacity": {**_values(_amounts(profile)), **slices},
    }


def dra_partitionable_devices(
    gpu: Gpu, index: int, *, uuid: str, driver: str = DRIVER, cuda: str = CUDA
) -> list[dict[str, Any]]:
    """The GPU and all that it can be cut into, sorted by name as the driver announces them.

    Partitions that do not exist yet have no UUID. Whoever takes one device takes its counters from `dra_counter_set`.
    """
    amounts, slices = _all_amounts(gpu), _memory_slices(gpu)
    whole = dra_device(gpu, index, uuid=uuid, driver=driver, cuda=cuda)
    whole["capacity"] = _values(amounts)
    whole["consumesCounters"] = [_consumption(index, amounts, range(slices))]
    parts = [
        {
            "name": _partition_name(index, profile, start),
            "attributes": _partition_attributes(gpu, index, profile, uuid, driver=driver, cuda=cuda),
            "capacity": _values(_amounts(profile)),
            "consumesCounters": [_consumption(index, _amounts(profile), range(start, start + profile.size))],
        }
        for profile in gpu.mig
        for start in profile.starts
    ]
    return sorted([whole, *parts], key=lambda device: str(device["name"]))


def dra_counter_set(gpu: Gpu, index: int) -> dict[str, Any]:
    """What all partitions of GPU `index` share: one counter per kind of capacity, and one per memory slice."""
    consumed = _consumption(index, _all_amounts(gpu), range(_memory_slices(gpu)))
    return {"name": consumed["counterSet"], "counters": consumed["counters"]}


def _partition_name(index: int, profile: MigProfile, start: int) -> str:
    return f"gpu-{index}-mig-{profile.name.replace('.', '').replace('+', '-')}-{profile.id}-{start}"


def _partition_attributes(
    gpu: Gpu, index: int, profile: MigProfile, parent_uuid: str, *, driver: str, cuda: str
) -> dict[str, Any]:
    return {
        "type": {"string": "mig"},
        "parentUUID": {"string": parent_uuid},
        "profile": {"string": profile.name},
        **_attributes(gpu, index, driver, cuda),
    }


def _attributes(gpu: Gpu, index: int, driver: str, cuda: str) -> dict[str, Any]:
    server = gpu.server
    if not 0 <= index < server.gpus:
        raise UsageError(f"a {server.machine} has GPUs 0 to {server.gpus - 1}, none with the number {index}")
    return {
        "productName": {"string": gpu.product},
        "brand": {"string": gpu.brand},
        "architecture": {"string": FAMILIES[gpu.compute][1]},
        "cudaComputeCapability": {"version": _semver(gpu.compute)},
        "driverVersion": {"version": _semver(driver)},
        "cudaDriverVersion": {"version": _semver(cuda)},
        "addressingMode": {"string": gpu.addressing},
        "resource.kubernetes.io/pciBusID": {"string": server.buses[index]},
        "resource.kubernetes.io/pcieRoot": {"string": server.roots[index]},
    }


def _amounts(profile: MigProfile) -> dict[str, int]:
    """Capacities of a partition; memory in MiB."""
    engines = dict(zip(_ENGINE_CAPACITIES, profile.engines, strict=True))
    return {"multiprocessors": profile.sm, **engines, "memory": profile.memory_mib}


def _all_amounts(gpu: Gpu) -> dict[str, int]:
    """Of a partitionable GPU: the driver takes the largest of any profile for each kind."""
    every = [_amounts(profile) for profile in gpu.mig]
    return {name: max(amounts[name] for amounts in every) for name in every[0]}


def _memory_slices(gpu: Gpu) -> int:
    return max(profile.size for profile in gpu.mig)


def _values(amounts: dict[str, int]) -> dict[str, Any]:
    return {
        name: {"value": _mebibytes(number) if name == "memory" else str(number)} for name, number in amounts.items()
    }


def _consumption(index: int, amounts: dict[str, int], slices: range) -> dict[str, Any]:
    counters = {_dashed(name): value for name, value in _values(amounts).items()}
    return {
        "counterSet": f"gpu-{index}-counter-set",
        "counters": {**counters, **{f"memory-slice-{number}": {"value": "1"} for number in slices}},
    }


@functools.cache
def _dashed(name: str) -> str:
    """`copyEngines` is `copy-engines`: counters are named like DNS labels."""
    return re.sub("([a-z])([A-Z])", r"\1-\2", name).lower()


@functools.cache
def _mebibytes(count: int) -> str:
    """As the API server prints it: 15360Mi is 15Gi."""
    return str(Quantity.parse(f"{count}Mi"))


@functools.cache
def _semver(version: str) -> str:
    """`580.95.05` is `580.95.5`, `13.0` is `13.0.0`: three numbers without leading zeros."""
    return ".".join(str(int(part)) for part in (*version.split("."), "0", "0")[:3])
