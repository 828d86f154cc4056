"""What all faults have: an id, and a time from which and until which they are there."""

import functools
from typing import Final

import msgspec

from kubedyno.kit.clock import parse_rfc3339_ns
from kubedyno.kit.errors import UsageError

MOST_S: Final = 1e9
"""No time of a fault is longer."""


class Lasting(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="kind",
    rename="camel",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """A fault of any kind; times are RFC 3339, and those that are asked are nanoseconds since the epoch."""

    id: str = ""
    """Tells faults of one kind apart; recovery takes faults away by it."""
    since: str = ""
    """When it begins; without it, always there."""
    until: str = ""
    """When it ends by itself; without it, when it is taken away."""

    @property
    def kind(self) -> str:
        """`crash`, `not-ready`, ..."""
        return str(self.__struct_config__.tag)

    @property
    def since_ns(self) -> int:
        """When it begins; 0 without a time."""
        return _ns(self.since) if self.since else 0

    @property
    def until_ns(self) -> int | None:
        """When it ends; None without a time."""
        return _ns(self.until) if self.until else None

    def is_active(self, now_ns: int) -> bool:
        """Whether it is there now."""
        until_ns = self.until_ns
        return self.since_ns <= now_ns and (until_ns is None or now_ns < until_ns)

    def edges_ns(self, now_ns: int) -> tuple[int, ...]:
        """The times near `now_ns` at which its meaning changes by itself, in any order."""
        del now_ns
        until_ns = self.until_ns
        return (self.since_ns,) if until_ns is None else (self.since_ns, until_ns)

    def check(self) -> None:
        """Raise UsageError for values that make no sense."""
        for field in ("since", "until"):
            text = getattr(self, field)
            try:
                if text:
                    _ns(text)
            except ValueError:
                raise UsageError(f"{field} {text!r} is no time: write it like 2026-01-02T03:04:05Z") from None


def check_share(share: float) -> None:
    """Raise UsageError for a share that takes none, or more than all."""
    if not 0 < share <= 1:
        raise UsageError(f"share {share:g} must be more than 0 and at most 1")


@functools.lru_cache(maxsize=4096)
def _ns(text: str) -> int:
    return parse_rfc3339_ns(text)
