"""Which component gave way under a load: decided from its own figures and the CPU that it used. Pure.

Every rule looks for one way of giving way, and says what shows it. Rules are asked in an order in which the surer and
the more particular come first: a client that waits for its own limiter explains a slow scheduler whoever is busy, and
a machine without an idle core explains anything, so it comes last.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal

import msgspec

from kubedyno.measure.audit import hosts
from kubedyno.measure.host import INSTRUMENT
from kubedyno.measure.records import Finding

Way = Literal["client limit", "one core", "refusals", "store", "latency", "loop", "lag", "cpu", "host", "none"]
"""How somebody gave way."""

API_SERVER: Final = "kube-apiserver"
ETCD: Final = "etcd"
HOST: Final = "the host"
NOBODY: Final = "nobody"

REFUSED_FROM: Final = 0.001
"""The part of requests that were put off (429) from which on it is no accident."""
SLOW_SERVER_S: Final = 1.0
"""p99 of requests that are no watches: what Kubernetes promises of its API server."""
SLOW_STORE_S: Final = 0.1
"""p99 of requests to etcd: from here on etcd itself warns."""
SLOW_DISK_S: Final = 0.025
"""p99 of etcd's fsync: more than twice of what its authors ask of a disk."""
_STORE_PART: Final = 0.5
"""Of the API server's p99: so much of it etcd must explain."""
_FULL_CORE: Final = 0.9
"""Of one core: a process that uses one at most has nothing left."""
_FULL_LOOP: Final = 0.8
"""The part of the time that a scheduler was deciding from which on it had no pause."""
_LAG_S: Final = 1.0
"""p99 by which simulated kubelets were late."""
_MOST: Final = 0.5
"""Of the CPU time that was used."""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """The API servers together; watches are not in any of it."""

    requests: int
    refused: int = 0
    """Put off with 429."""
    p99_s: float | None = None
    in_flight: float = 0.0
    """Requests that were being worked on at a time, on the average."""
    in_flight_limit: float | None = None
    """None: there is none."""
    waited_s: float = 0.0
    """In the queues of priority and fairness, on the average of a request."""


class Store(msgspec.Struct, frozen=True, kw_only=True):
    """etcd, as API servers see it, and as it tells of its disk."""

    requests: int
    p99_s: float | None = None
    errors: int = 0
    fsync_p99_s: float | None = None


class Deciding(msgspec.Struct, frozen=True, kw_only=True):
    """The scheduler that decides."""

    component: str
    attempts: int = 0
    deciding_s: float = 0.0
    """All decisions together: one pod is decided on at a time."""
    p99_s: float | None = None
    """Of an attempt, binding and all."""
    pending_before: float = 0.0
    pending_after: float = 0.0
    """Pods that could be decided on at once or after a pause; those that fit nowhere do not count."""


class Kubelets(msgspec.Struct, frozen=True, kw_only=True):
    """The simulated kubelets."""

    component: str
    start_p99_s: float = 0.0
    """How much later than planned pods were started."""
    deepest_queue: int = 0


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of everybody while the load was on."""

    duration_s: float
    cores: int
    busy: float
    """The part of all cores that was busy, whoever kept them so."""
    cpu_s: Mapping[str, float] = {}
    """CPU seconds by component, replicas together; `kubedyno` is the instrument itself, with all that runs in it."""
    one_core: frozenset[str] = frozenset({INSTRUMENT})
    """Components that cannot use more than one core."""
    throttling: tuple[Finding, ...] = ()
    """Clients that were held back by their own limits."""
    server: Server | None = None
    store: Store | None = None
    scheduler: Deciding | None = None
    kubelets: Kubelets | None = None

    def cores_of(self, component: str) -> float:
        """How many cores a component used, on the average."""
        return self.cpu_s.get(component, 0.0) / self.duration_s if self.duration_s > 0 else 0.0

    @property
    def is_saturated(self) -> bool:
        """Whether the machine had nothing left."""
        return self.busy > hosts.SATURATED_FROM


class Bottleneck(msgspec.Struct, frozen=True, kw_only=True):
    """Who gave way, and what shows it."""

    component: str
    way: Way
    evidence: str
    besides: tuple[str, ...] = ()
    """What else was seen that alone would have been called so: `etcd (store)`."""

    @property
    def is_instrument(self) -> bool:
        """Whether it was we who were the limit: then nothing is known of the others."""
        return self.component == INSTRUMENT


_NOBODY: Final = Bottleneck(component=NOBODY, way="none", evidence="no component shows that it was at its limit")


def decide(seen: Seen) -> Bottleneck:
    """Who gave way first; nobody, if nothing shows it."""
    found = suspects(seen)
    if not found:
        return _NOBODY
    return msgspec.structs.replace(found[0], besides=tuple(f"{one.component} ({one.way})" for one in found[1:]))


def suspects(seen: Seen) -> list[Bottleneck]:
    """All who show it, the surest first."""
    return [found for rule in _RULES if (found := rule(seen)) is not None]


def _client_limit(seen: Seen) -> Bottleneck | None:
    if not seen.throttling:
        return None
    finding = seen.throttling[0]
    return Bottleneck(
        component=finding.component or finding.name, way="client limit", evidence=f"{finding.name}: {finding.evidence}"
    )


def _one_core(seen: Seen) -> Bottleneck | None:
    full = {name: cores for name in seen.one_core if (cores := seen.cores_of(name)) >= _FULL_CORE}
    if not full:
        return None
    name = max(full, key=lambda one: full[one])
    return Bottleneck(
        component=name, way="one core", evidence=f"it used {full[name]:.2f} cores, and cannot use more than one"
    )


def _refusals(seen: Seen) -> Bottleneck | None:
    server = seen.server
    if server is None or not server.requests or server.refused < REFUSED_FROM * server.requests:
        return None
    limit = "" if server.in_flight_limit is None else f" of {server.in_flight_limit:g}"
    return Bottleneck(
        component=API_SERVER,
        way="refusals",
        evidence=(
            f"{server.refused} of {server.requests} requests were put off with 429, {server.in_flight:.0f}{limit} were "
            f"in work at a time, each waited {server.waited_s:.3f} s in a queue; {_cpu_words(seen, API_SERVER)}"
        ),
    )


def _slow_store(seen: Seen) -> Bottleneck | None:
    """Slow requests to etcd are etcd's own if its disk is slow, or if they explain the API server's latency."""
    store, server = seen.store, seen.server
    if store is None or store.p99_s is None:
        return None
    disk = store.fsync_p99_s is not None and store.fsync_p99_s > SLOW_DISK_S
    explains = server is None or server.p99_s is None or store.p99_s >= _STORE_PART * server.p99_s
    if store.p99_s <= SLOW_STORE_S or not (disk or (explains and not _is_starved(seen, ETCD))):
        return None
    told = f"p99 of {store.requests} requests to it is {store.p99_s:.3f} s"
    if store.fsync_p99_s is not None:
        told += f", of its writes to disk {store.fsync_p99_s:.3f} s"
    if store.errors:
        told += f", {store.errors} requests failed"
    return Bottleneck(component=ETCD, way="store", evidence=f"{told}; {_cpu_words(seen, ETCD)}")


def _slow_server(seen: Seen) -> Bottleneck | None:
    server = seen.server
    if server is None or server.p99_s is None or server.p99_s <= SLOW_SERVER_S or _is_starved(seen, API_SERVER):
        return None
    told = f"p99 of {server.requests} requests is {server.p99_s:.3f} s, {server.in_flight:.1f} were in work at a time"
    return Bottleneck(component=API_SERVER, way="latency", evidence=f"{told}; {_cpu_words(seen, API_SERVER)}")


def _loop(seen: Seen) -> Bottleneck | None:
    deciding = seen.scheduler
    if deciding is None or deciding.deciding_s < _FULL_LOOP * seen.duration_s or not seen.duration_s:
        return None
    if deciding.pending_after <= deciding.pending_before or _is_starved(seen, deciding.component):
        return None  # it kept up, or others took the time that it needed
    p99 = "" if deciding.p99_s is None else f", p99 of an attempt is {deciding.p99_s:.3f} s"
    return Bottleneck(
        component=deciding.component,
        way="loop",
        evidence=(
            f"it was deciding for {min(1.0, deciding.deciding_s / seen.duration_s):.0%} of the time, and waiting pods "
            f"went from {deciding.pending_before:.0f} to {deciding.pending_after:.0f}{p99}; "
            f"{_cpu_words(seen, deciding.component)}"
        ),
    )


def _lag(seen: Seen) -> Bottleneck | None:
    kubelets = seen.kubelets
    if kubelets is None or kubelets.start_p99_s <= _LAG_S or _is_starved(seen, kubelets.component):
        return None
    return Bottleneck(
        component=kubelets.component,
        way="lag",
        evidence=(
            f"pods were started {kubelets.start_p99_s:.2f} s late (p99), {kubelets.deepest_queue} waited at most; "
            f"{_cpu_words(seen, kubelets.component)}"
        ),
    )


def _cpu(seen: Seen) -> Bottleneck | None:
    """On a machine that has nothing left: whoever used most of it."""
    used_s = sum(seen.cpu_s.values())
    if not seen.is_saturated or used_s <= 0:
        return None
    all_s = max(used_s, seen.busy * seen.cores * seen.duration_s)
    name = max(seen.cpu_s, key=lambda one: seen.cpu_s[one])
    if seen.cpu_s[name] <= _MOST * all_s:
        return None
    return Bottleneck(
        component=name,
        way="cpu",
        evidence=f"{_cpu_words(seen, name)}, {seen.cpu_s[name] / all_s:.0%} of what was used; no core was idle",
    )


def _host(seen: Seen) -> Bottleneck | None:
    if not seen.is_saturated:
        return None
    parts = hosts.shares(seen.cpu_s, seen.busy * seen.cores * seen.duration_s)
    who = ", ".join(f"{name} {part:.0%}" for name, part in list(parts.items())[:4])
    told = f"{seen.busy:.0%} of {seen.cores} cores were busy, and nobody had more than half of it: {who}"
    if any(part > _MOST for part in parts.values()):
        told = f"{seen.busy:.0%} of {seen.cores} cores were busy: {who}"
    return Bottleneck(component=HOST, way="host", evidence=told)


def _is_starved(seen: Seen, component: str) -> bool:
    """Whether the machine had nothing left, and others used more of it: then slowness says nothing of its owner."""
    return seen.is_saturated and seen.cpu_s.get(component, 0.0) < max(seen.cpu_s.values(), default=0.0)


def _cpu_words(seen: Seen, component: str) -> str:
    if component not in seen.cpu_s:
        return "its CPU is not known"
    return f"it used {seen.cores_of(component):.2f} of {seen.cores} cores"


_RULES: Final[tuple[Callable[[Seen], Bottleneck | None], ...]] = (
    _one_core,
    _client_limit,
    _slow_store,
    _refusals,
    _loop,
    _slow_server,
    _lag,
    _cpu,
    _host,
)
