"""What a queue is meant to be, before any scheduler's dialect writes it down."""

from typing import Final

import msgspec

UNLIMITED: Final = -1.0


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A queue's part of one resource; `UNLIMITED` quota or limit means all there is."""

    quota: float = UNLIMITED
    """What it deserves: nobody may keep it from having that much."""
    over_quota_weight: float = 1.0
    """Its part of what nobody deserves, or deserves but does not use, in proportion to its siblings' weights."""
    limit: float = UNLIMITED
    """It never gets more."""


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """A queue in a hierarchy; workloads go to leaves."""

    name: str
    parent: str | None = None
    """None: below the lab's root."""
    gpu: Share = Share()
    """In GPUs."""
    cpu: Share = Share()
    """In thousandths of a CPU."""
    memory: Share = Share()
    """In millions of bytes."""
    priority: int = 100
    """Of two queues the one of higher priority gets first what is over quota."""

    @property
    def is_plain(self) -> bool:
        """Whether it asks for nothing that a scheduler without quotas could not give."""
        return self.gpu == self.cpu == self.memory == Share() and self.parent is None
