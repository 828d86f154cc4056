"""GPUs that several pods share: which part of which is taken. Such a GPU is a group, which takes a whole one."""

import math
from collections.abc import Callable
from typing import Final

import msgspec

WHOLE: Final = 1000
"""Thousandths of a GPU."""

MEMORY_LABEL: Final = "nvidia.com/gpu.memory"
"""Label of a node: MiB of each of its GPUs."""


class Group(msgspec.Struct):
    """One shared GPU."""

    slot: int
    staying: int = 0
    """Thousandths that pods hold which stay."""
    going: int = 0
    """Thousandths of those that are about to go."""

    @property
    def left(self) -> int:
        """What is free now; negative where a part was given of which another is still there."""
        return WHOLE - self.staying - self.going


def part_of(fraction: int, memory: int, gpu_memory: str | None) -> int | None:
    """Thousandths of a GPU for a fraction or for so much memory of it; None where no GPU has as much."""
    if fraction:
        return fraction
    if gpu_memory is None or not gpu_memory.isdigit() or int(gpu_memory) == 0:
        return None
    part = math.ceil(WHOLE * memory / int(gpu_memory))
    return part if part <= WHOLE else None


class SharedGpus:
    """All groups, and those with something left by how much it is."""

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}
        self._by_left: dict[int, dict[str, None]] = {}

    def fullest(self, part_on: Callable[[int], int | None], *, later: bool) -> str | None:
        """The group with the least left that is enough; `part_on` tells what is wanted on a slot, None: not there.

        With `later` what is about to go counts as left.
        """
        if later:
            return self._fullest_later(part_on)
        for left in sorted(self._by_left):
            for name in self._by_left[left]:
                part = part_on(self.groups[name].slot)
                if part is not None and part <= left:
                    return name
        return None

    def _fullest_later(self, part_on: Callable[[int], int | None]) -> str | None:
        best: tuple[int, str] | None = None
        for name, group in self.groups.items():
            if group.staying == 0:
                continue  # it is given away as a whole GPU
            part, left = part_on(group.slot), WHOLE - group.staying
            if part is not None and part <= left and (best is None or (left, name) < best):
                best = (left, name)
        return best[1] if best is not None else None

    def add(self, name: str, slot: int, *, staying: int = 0, going: int = 0) -> Group:
        """Take or give back parts of a group, which is made when it is new and gone when nobody holds any of it."""
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = Group(slot)
        else:
            self._unlist(name, group)
        group.staying += staying
        group.going += going
        if group.staying == group.going == 0:
            del self.groups[name]
        elif group.left > 0:
            self._by_left.setdefault(group.left, {})[name] = None
        return group

    def _unlist(self, name: str, group: Group) -> None:
        listed = self._by_left.get(group.left)
        if listed is not None:
            listed.pop(name, None)
            if not listed:
                del self._by_left[group.left]
