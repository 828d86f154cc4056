"""GPUs and the servers they come in: what a node says about them in labels, extended resources and DRA devices.

The catalogue (`hardware.yaml`) knows the usual ones; `custom` describes any other in the same words. Labels are those
of NVIDIA's GPU feature discovery, devices those of NVIDIA's DRA driver (`gpu.nvidia.com`).
"""

import difflib
import functools
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any, Final, Literal

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import read_yaml
from kubedyno.kube.quantities import Quantity

MigStrategy = Literal["none", "single", "mixed"]
Sharing = Literal["none", "time-slicing", "mps"]
DRIVER: Final = "580.95.05"
CUDA: Final = "13.0"
_GPU: Final = "nvidia.com/gpu"
# From the compute capability, as GPU feature discovery tells the family; the DRA driver writes the second form.
_FAMILIES: Final = {
    "7.0": ("volta", "Volta"),
    "7.5": ("turing", "Turing"),
    "8.0": ("ampere", "Ampere"),
    "8.6": ("ampere", "Ampere"),
    "8.9": ("ada-lovelace", "Ada Lovelace"),
    "9.0": ("hopper", "Hopper"),
    "10.0": ("blackwell", "Blackwell"),
    "10.3": ("blackwell", "Blackwell"),
    "12.0": ("blackwell", "Blackwell"),
}
_ENGINES: Final = ("copy", "decoder", "encoder", "jpeg", "ofa")
_ENGINE_CAPACITIES: Final = ("copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines")


class UnknownGpu(UsageError):
    """The catalogue has no such GPU; the message names the nearest ones."""


class MigProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A way to cut a part off a GPU: `3g.40gb` has three of seven compute slices and four of eight memory slices."""

    name: str
    id: int
    count: int
    starts: tuple[int, ...]
    size: int
    memory_mib: int
    sm: int
    engines: tuple[int, int, int, int, int]

    @property
    def resource(self) -> str:
        """The extended resource of such devices: `nvidia.com/mig-1g.10gb`, `nvidia.com/mig-1g.10gb.me`."""
        return f"nvidia.com/mig-{self.name.replace('+', '.')}"

    @property
    def slices(self) -> int:
        """Compute slices."""
        return int(self.name.partition("g.")[0])


class Server(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A machine and where its GPUs sit; `numa`, `buses` and `roots` have one entry for each GPU."""

    machine: str
    gpus: int
    cpu: int
    memory_gib: int
    numa: tuple[int, ...]
    buses: tuple[str, ...]
    roots: tuple[str, ...]
    nics: tuple[str, ...] = ()
    nic_gbps: int = 0
    architecture: str = "amd64"

    def __post_init__(self) -> None:
        """Every GPU has its place."""
        for field in ("numa", "buses", "roots"):
            if len(getattr(self, field)) != self.gpus:
                raise ValueError(f"`{field}` must have one entry for each of the {self.gpus} GPUs")


class Gpu(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model of GPU in its usual server."""

    name: str
    product: str
    memory_mib: int
    compute: str
    server: Server
    nvlink: int = 1
    brand: str = "Nvidia"
    addressing: str = "HMM"
    aliases: tuple[str, ...] = ()
    mig: tuple[MigProfile, ...] = ()

    def __post_init__(self) -> None:
        """The compute capability decides the family, so it must be one that has a name."""
        if self.compute not in _FAMILIES:
            raise ValueError(f"compute capability {self.compute!r} is unknown: write one of {', '.join(_FAMILIES)}")

    @property
    def family(self) -> str:
        """`hopper`, as the label `nvidia.com/gpu.family` says it."""
        return _FAMILIES[self.compute][0]

    def profile(self, name: str) -> MigProfile:
        """The MIG profile of that name (`1g.10gb`, also `1g.10gb.me`)."""
        for profile in self.mig:
            if name.replace(".me", "+me") == profile.name:
                return profile
        if not self.mig:
            raise UsageError(f"GPU {self.name} has no MIG: {name!r} cannot be cut from it; leave MIG out")
        known = ", ".join(profile.name for profile in self.mig)
        raise UsageError(f"GPU {self.name} has no MIG profile {name!r}: write one of {known}")


@functools.cache
def catalogue() -> Mapping[str, Gpu]:
    """All GPUs by their catalogue names."""
    text = (resources.files("kubedyno.sim") / "hardware.yaml").read_text(encoding="utf-8")
    (document,) = read_yaml(text, source="hardware.yaml")
    return {name: msgspec.convert({"name": name, **fields}, Gpu) for name, fields in document["gpus"].items()}


def gpu(name: str) -> Gpu:
    """The GPU of a catalogue name or alias, in any case, with spaces or dashes (`GB200 NVL72`)."""
    known = {_folded(alias): found for found in catalogue().values() for alias in (found.name, *found.aliases)}
    if found := known.get(_folded(name)):
        return found
    near = difflib.get_close_matches(_folded(name), known, n=1, cutoff=0.4)
    meant = f"did you mean {known[near[0]].name}? " if near else ""
    raise UnknownGpu(f"unknown GPU {name!r}: {meant}The catalogue has {', '.join(catalogue())}; others are `custom`")


def _folded(name: str) -> str:
    return name.strip().replace(" ", "-").replace("_", "-").lower().removeprefix("nvidia-")


def custom(fields: Mapping[str, Any]) -> Gpu:
    """A GPU that the catalogue does not have, described as there; `like` names one to take the other fields from."""
    given = dict(fields)
    base: dict[str, Any] = {"name": "custom"}
    if (like := given.pop("like", None)) is not None:
        base = {**msgspec.to_builtins(gpu(str(like))), "name": "custom", "aliases": []}
    try:
        return msgspec.convert({**base, **given}, Gpu)
    except msgspec.ValidationError as error:
        raise UsageError(f"custom GPU: {error}; `like: H100` takes what is not given from the catalogue") from None


def placed(gpu: Gpu, layout: Mapping[str, int]) -> tuple[tuple[MigProfile, int], ...]:
    """Where the partitions of one GPU lie: each with its first memory slice.

    `layout` counts partitions by profile; UsageError when they do not fit together on one GPU.
    """
    wanted = [(gpu.profile(name), count) for name, count in layout.items()]
    for profile, count in wanted:
        if not 0 <= count <= profile.count:
            raise UsageError(f"GPU {gpu.name} holds at most {profile.count} of MIG profile {profile.name}, not {count}")
    # The large ones first: they have the fewest places.
    flat = [profile for profile, count in sorted(wanted, key=lambda pair: -pair[0].size) for _ in range(count)]
    found = _fitted(flat, frozenset())
    if found is None:
        told = ", ".join(f"{count} x {profile.name}" for profile, count in wanted)
        raise UsageError(f"GPU {gpu.name} cannot hold {told} at once: ask for fewer or smaller partitions")
    return found


def _fitted(profiles: list[MigProfile], taken: frozenset[int]) -> tuple[tuple[MigProfile, int], ...] | None:
    if not profiles:
        return ()
    profile, rest = profiles[0], profiles[1:]
    for start in profile.starts:
        slices = frozenset(range(start, start + profile.size))
        if not slices & taken and (others := _fitted(rest, taken | slices)) is not None:
            return ((profile, start), *others)
    return None


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
        return {_GPU: count * replicas} if count else {}
    if strategy == "single":
        return {_GPU: sum(devices.values()) * replicas} if len(devices) == 1 and not whole else {}
    named = {gpu.profile(name).resource: number for name, number in devices.items()}
    return {**({_GPU: whole * replicas} if whole else {}), **named}


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
        **_base_labels(_GPU, [gpu.product], count, "none", 0 if devices and not whole else 1),
        f"{_GPU}.memory": str(gpu.memory_mib),
        f"{_GPU}.family": gpu.family,
        f"{_GPU}.compute.major": gpu.compute.partition(".")[0],
        f"{_GPU}.compute.minor": gpu.compute.partition(".")[2],
    }
    if not devices or whole:
        labels |= _base_labels(_GPU, [gpu.product], count, shared, replicas)
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
    resource = _GPU if strategy == "single" else profile.resource
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
        **_base_labels(_GPU, [gpu.product, "MIG", "INVALID"], 0, "none", 0),
        f"{_GPU}.memory": "0",
        f"{_GPU}.sharing-strategy": "",
    }


def dra_device(gpu: Gpu, index: int, *, uuid: str, driver: str = DRIVER, cuda: str = CUDA) -> dict[str, Any]:
    """The device of a whole GPU in a ResourceSlice (`resource.k8s.io/v1`); `index` is its place in the server."""
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
    own = {
        "type": {"string": "mig"},
        "uuid": {"string": uuid},
        "parentUUID": {"string": parent_uuid},
        "profile": {"string": profile.name},
    }
    engines = {name: {"value": str(number)} for name, number in zip(_ENGINE_CAPACITIES, profile.engines, strict=True)}
    slices = {f"memorySlice{number}": {"value": "1"} for number in range(start, start + profile.size)}
    return {
        "name": f"gpu-{index}-mig-{profile.id}-{start}-{profile.size}",
        "attributes": {**own, **_attributes(gpu, index, driver, cuda)},
        "capacity": {
            "multiprocessors": {"value": str(profile.sm)},
            **engines,
            "memory": {"value": _mebibytes(profile.memory_mib)},
            **slices,
        },
    }


def _attributes(gpu: Gpu, index: int, driver: str, cuda: str) -> dict[str, Any]:
    server = gpu.server
    if not 0 <= index < server.gpus:
        raise UsageError(f"a {server.machine} has GPUs 0 to {server.gpus - 1}, none with the number {index}")
    return {
        "productName": {"string": gpu.product},
        "brand": {"string": gpu.brand},
        "architecture": {"string": _FAMILIES[gpu.compute][1]},
        "cudaComputeCapability": {"version": _semver(gpu.compute)},
        "driverVersion": {"version": _semver(driver)},
        "cudaDriverVersion": {"version": _semver(cuda)},
        "pcieBusID": {"string": server.buses[index]},
        "addressingMode": {"string": gpu.addressing},
        "resource.kubernetes.io/pcieRoot": {"string": server.roots[index]},
    }


def _mebibytes(count: int) -> str:
    """As the API server prints it: 15360Mi is 15Gi."""
    return str(Quantity.parse(f"{count}Mi"))


def _semver(version: str) -> str:
    """`580.95.05` is `580.95.5`, `13.0` is `13.0.0`: three numbers without leading zeros."""
    return ".".join(str(int(part)) for part in (*version.split("."), "0", "0")[:3])
