"""What a node says of its GPUs without DRA: extended resources, and the labels of NVIDIA's GPU feature discovery."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from kubedyno.kit.errors import UsageError
from kubedyno.sim.hardware.catalogue import Gpu, MigProfile, placed

MigStrategy = Literal["none", "single", "mixed"]
Sharing = Literal["none", "time-slicing", "mps"]

DRIVER: Final = "580.95.05"
CUDA: Final = "13.0"

GPU: Final = "nvidia.com/gpu"
"""The resource of whole GPUs, and what the names of their labels begin with."""
_ENGINES: Final = ("copy", "decoder", "encoder", "jpeg", "ofa")


def gpu_resources(
    gpu: Gpu,
    count: int,
    *,
    strategy: MigStrategy = "none",
    layout: Mapping[str, int] | None = None,
    whole: int = 0,
    replicas: int = 1,
) -> dict[str, int]:
    """The extended resources of a node with `count` GPUs, as the device plugin advertises them.

    With a MIG strategy, all GPUs but `whole` ones are cut by `layout`. `single` shows partitions of one kind as
    `nvidia.com/gpu` (of several kinds: nothing); `mixed` shows each kind by its own name. `replicas` is time-slicing.
    """
    devices = _mig_devices(gpu, count, strategy, layout, whole)
    if not devices:
        return {GPU: count * replicas} if count else {}
    if strategy == "single":
        return {GPU: sum(devices.values()) * replicas} if len(devices) == 1 and not whole else {}
    named = {gpu.profile(name).resource: number for name, number in devices.items()}
    return {**({GPU: whole * replicas} if whole else {}), **named}


def _mig_devices(
    gpu: Gpu, count: int, strategy: MigStrategy, layout: Mapping[str, int] | None, whole: int
) -> dict[str, int]:
    """Partitions of the whole node by profile."""
    if not layout:
        return {}
    if strategy == "none":
        raise UsageError("a MIG layout needs the MIG strategy `single` or `mixed`")
    if not 0 <= whole <= count:
        raise UsageError(f"{whole} whole GPUs of {count} cannot be: `whole` is 0 to {count}")
    placed(gpu, layout)
    devices = {gpu.profile(name).name: number * (count - whole) for name, number in layout.items()}
    return {name: number for name, number in devices.items() if number}


def gpu_feature_labels(
    gpu: Gpu,
    count: int,
    *,
    strategy: MigStrategy = "none",
    layout: Mapping[str, int] | None = None,
    whole: int = 0,
    sharing: Sharing = "none",
    replicas: int = 1,
    driver: str = DRIVER,
    cuda: str = CUDA,
    machine: str | None = None,
    clique: str = "",
    timestamp: int | None = None,
) -> dict[str, str]:
    """The labels that GPU feature discovery puts on a node with `count` GPUs; MIG as in `gpu_resources`.

    `clique` is `<cluster uuid>.<clique id>` of an NVLink domain over several nodes; `timestamp` (Unix seconds) is when
    the labels were made, left out when None. `nvidia.com/gpu.present` is the GPU operator's, and always there.
    """
    if not count:
        return {}
    devices = _mig_devices(gpu, count, strategy, layout, whole)
    shared = sharing if replicas > 1 else "none"
    labels = {
        **_version_labels(driver, cuda),
        "nvidia.com/gpu.machine": (gpu.server.machine if machine is None else machine).replace(" ", "-"),
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/mig.capable": _yes(bool(gpu.mig)),
        "nvidia.com/mps.capable": _yes(shared == "mps"),
        # GPUs in MIG mode cannot be shared as a whole, which zero replicas say.
        **_base_labels(GPU, [gpu.product], count, "none", 0 if devices and not whole else 1),
        f"{GPU}.memory": str(gpu.memory_mib),
        f"{GPU}.family": gpu.family,
        f"{GPU}.compute.major": gpu.compute.partition(".")[0],
        f"{GPU}.compute.minor": gpu.compute.partition(".")[2],
    }
    if not devices or whole:
        labels |= _base_labels(GPU, [gpu.product], count, shared, replicas)
    if strategy != "none":
        labels["nvidia.com/mig.strategy"] = strategy
    if strategy == "single" and devices and (len(devices) > 1 or whole):
        labels |= _invalid_labels(gpu)
    else:
        for name, number in devices.items():
            labels |= _mig_labels(gpu, gpu.profile(name), number, strategy, shared=shared, replicas=replicas)
    labels |= {"nvidia.com/gpu.clique": clique} if clique else {}
    return labels | ({"nvidia.com/gfd.timestamp": str(timestamp)} if timestamp is not None else {})


def _yes(answer: bool) -> str:
    return "true" if answer else "false"


def _version_labels(driver: str, cuda: str) -> dict[str, str]:
    major, minor, revision = (*driver.split("."), "", "")[:3]
    cuda_major, cuda_minor = (*cuda.split("."), "0")[:2]
    return {
        "nvidia.com/cuda.driver.major": major,
        "nvidia.com/cuda.driver.minor": minor,
        "nvidia.com/cuda.driver.rev": revision,
        "nvidia.com/cuda.runtime.major": cuda_major,
        "nvidia.com/cuda.runtime.minor": cuda_minor,
        "nvidia.com/cuda.driver-version.major": major,
        "nvidia.com/cuda.driver-version.minor": minor,
        "nvidia.com/cuda.driver-version.revision": revision,
        "nvidia.com/cuda.driver-version.full": driver,
        "nvidia.com/cuda.runtime-version.major": cuda_major,
        "nvidia.com/cuda.runtime-version.minor": cuda_minor,
        "nvidia.com/cuda.runtime-version.full": f"{cuda_major}.{cuda_minor}",
    }


def _base_labels(resource: str, parts: Iterable[str], count: int, shared: Sharing, replicas: int) -> dict[str, str]:
    product = "-".join(part.replace(" ", "-") for part in parts)
    return {
        f"{resource}.product": f"{product}-SHARED" if replicas > 1 else product,
        f"{resource}.count": str(count),
        f"{resource}.replicas": str(replicas),
        f"{resource}.sharing-strategy": shared,
    }


def _mig_labels(
    gpu: Gpu, profile: MigProfile, count: int, strategy: MigStrategy, *, shared: Sharing, replicas: int
) -> dict[str, str]:
    resource = GPU if strategy == "single" else profile.resource
    name = profile.name.replace("+", ".")
    # Time-slicing is set up by resource name: here for `nvidia.com/gpu`, which only `single` gives to partitions.
    base = _base_labels(
        resource, [gpu.product, "MIG", name], count, *((shared, replicas) if strategy == "single" else ("none", 1))
    )
    return {
        **base,
        f"{resource}.memory": str(profile.memory_mib),
        f"{resource}.multiprocessors": str(profile.sm),
        f"{resource}.slices.gi": str(profile.slices),
        f"{resource}.slices.ci": str(profile.slices),
        **{
            f"{resource}.engines.{engine}": str(number)
            for engine, number in zip(_ENGINES, profile.engines, strict=True)
        },
    }


def _invalid_labels(gpu: Gpu) -> dict[str, str]:
    """Strategy `single` on a node whose partitions are not all alike."""
    return {
        **_base_labels(GPU, [gpu.product, "MIG", "INVALID"], 0, "none", 0),
        f"{GPU}.memory": "0",
        f"{GPU}.sharing-strategy": "",
    }
