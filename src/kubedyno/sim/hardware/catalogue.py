"""The catalogue of GPUs: models, their MIG profiles, and the servers they come in."""

import difflib
import functools
from collections.abc import Mapping
from importlib import resources
from typing import Any, Final

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import read_yaml

# From the compute capability, as GPU feature discovery tells the family; the DRA driver writes the second form.
FAMILIES: Final = {
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
        if self.compute not in FAMILIES:
            raise ValueError(f"compute capability {self.compute!r} is unknown: write one of {', '.join(FAMILIES)}")

    @property
    def family(self) -> str:
        """`hopper`, as the label `nvidia.com/gpu.family` says it."""
        return FAMILIES[self.compute][0]

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
    text = (resources.files("kubedyno.sim.hardware") / "catalogue.yaml").read_text(encoding="utf-8")
    (document,) = read_yaml(text, source="catalogue.yaml")
    return {name: msgspec.convert({"name": name, **fields}, Gpu) for name, fields in document["gpus"].items()}


def gpu(name: str) -> Gpu:
    """The GPU of a catalogue name or alias, in any case, with spaces or dashes (`GB200 NVL72`)."""
    known = _by_alias()
    if found := known.get(_folded(name)):
        return found
    near = difflib.get_close_matches(_folded(name), known, n=1, cutoff=0.4)
    meant = f"did you mean {known[near[0]].name}? " if near else ""
    raise UnknownGpu(f"unknown GPU {name!r}: {meant}The catalogue has {', '.join(catalogue())}; others are `custom`")


@functools.cache
def _by_alias() -> Mapping[str, Gpu]:
    return {_folded(alias): found for found in catalogue().values() for alias in (found.name, *found.aliases)}


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
