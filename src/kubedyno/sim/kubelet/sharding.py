"""Several simulators share the nodes of one cluster: shards by the hash of a node's name, each held by a lease.

Every simulator also holds a lease of its own, by which the others count it, so that each takes its part of the shards.
Times are those of client-go's leader election: who does not renew loses its shards, and stops before that. As there,
nobody trusts the clocks of others: a lease has run out when its holder wrote nothing for so long by our own clock.
"""

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube import meta
from kubedyno.kube.codec import Object

NAMESPACE: Final = "kube-system"
LABEL: Final = "kubedyno/simulator"
LEASE_S: Final = 15
RENEW_WITHIN_S: Final = 10.0
RETRY_S: Final = 2.0

_SHARD: Final = "shard"
_MEMBER: Final = "member"


def shard_of(node: str, shards: int) -> int:
    """The shard of a node: the same in every process."""
    return zlib.crc32(node.encode()) % shards


class Held(msgspec.Struct, frozen=True):
    """A lease as it was last seen."""

    name: str
    holder: str
    version: str
    seen_ns: int
    """When this version of it was first seen, on our monotonic counter."""
    transitions: int

    def is_free(self, now_ns: int) -> bool:
        """Whether nobody holds it, or its holder is silent."""
        return not self.holder or now_ns - self.seen_ns > LEASE_S * NS_PER_S


class View(msgspec.Struct, frozen=True):
    """All leases of the simulators of one cluster."""

    leases: Mapping[str, Held] = {}
    """By name."""
    shards: Mapping[int, Held] = {}
    """Those of shards, by number."""
    members: frozenset[str] = frozenset()
    """The simulators that live."""
    silent: tuple[Held, ...] = ()
    """The own leases of simulators that live no more."""
    own: Held | None = None
    """Our own one."""


class Turn(msgspec.Struct, frozen=True):
    """What one simulator does next: shards to hold or renew, and shards to give away."""

    hold: tuple[int, ...]
    release: tuple[int, ...]


def view(leases: Iterable[Object], *, me: str, now_ns: int, before: View) -> View:
    """Read the leases that carry the label; `before` is what was seen the last time."""
    known: dict[str, Held] = {}
    shards: dict[int, Held] = {}
    members: set[str] = set()
    silent = []
    own = None
    for lease in leases:
        held = _read(lease, now_ns, before.leases)
        known[held.name] = held
        kind, _, which = meta.labels(lease).get(LABEL, "").partition(".")
        if kind == _SHARD and which.isdigit():
            shards[int(which)] = held
        elif kind == _MEMBER:
            if held.holder == me:
                own = held
            elif held.is_free(now_ns):
                silent.append(held)
            else:
                members.add(held.holder)
    return View(known, shards, frozenset(members), tuple(silent), own)


def _read(lease: Object, now_ns: int, before: Mapping[str, Held]) -> Held:
    metadata, spec = lease["metadata"], lease.get("spec") or {}
    last = before.get(metadata["name"])
    return Held(
        metadata["name"],
        spec.get("holderIdentity") or "",
        metadata["resourceVersion"],
        last.seen_ns if last is not None and last.version == metadata["resourceVersion"] else now_ns,
        int(spec.get("leaseTransitions") or 0),
    )


def turn(seen: View, *, me: str, shards: int, now_ns: int) -> Turn:
    """Hold our part of the shards: those that we have first, then free ones; what is more goes to others."""
    members = sorted(seen.members | {me})
    each, more = divmod(shards, len(members))
    share = each + (1 if members.index(me) < more else 0)
    ours = shards_of(me, seen, shards=shards, now_ns=now_ns)
    free = shards_of("", seen, shards=shards, now_ns=now_ns)
    # Everybody begins to look at another place, so that they do not all want the same one.
    offset = shard_of(me, shards)
    free = [*(n for n in free if n >= offset), *(n for n in free if n < offset)]
    kept = ours[:share]
    return Turn((*kept, *free[: share - len(kept)]), tuple(ours[share:]))


def shards_of(holder: str, seen: View, *, shards: int, now_ns: int) -> list[int]:
    """The shards that somebody holds; with an empty name, those that are free."""
    return [number for number in range(shards) if _holder(seen, number, now_ns) == holder]


def _holder(seen: View, number: int, now_ns: int) -> str:
    held = seen.shards.get(number)
    return "" if held is None or held.is_free(now_ns) else held.holder


def shard_lease(number: int, known: Held | None, *, holder: str, renewed: str) -> Object:
    """The lease of a shard for its new or old holder; an empty one gives it away."""
    return _lease(f"kubedyno-simulator-{number}", f"{_SHARD}.{number}", known, holder, renewed)


def member_lease(me: str, known: Held | None, *, renewed: str) -> Object:
    """The lease by which a simulator is counted."""
    # Hosts may have names that no object may have.
    digest = hashlib.blake2b(me.encode(), digest_size=8).hexdigest()
    return _lease(f"kubedyno-simulator-{_MEMBER}-{digest}", _MEMBER, known, me, renewed)


def _lease(name: str, label: str, known: Held | None, holder: str, renewed: str) -> Object:
    changed = known is not None and known.holder != holder
    metadata: Object = {"name": name, "namespace": NAMESPACE, "labels": {LABEL: label}}
    if known is not None:
        metadata["resourceVersion"] = known.version
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": LEASE_S,
            "renewTime": renewed,
            "leaseTransitions": (known.transitions if known else 0) + (1 if changed else 0),
        },
    }
