"""Who was held back by the limit of his own client: from metrics, from rates, from logs. Pure.

A client of Kubernetes may send `qps` requests a second after a burst. Some programs tell how long requests waited for
that; KAI's do not, and print a line only when a single wait is longer than a second. But the limiter is arithmetic: so
many calls take so long at least. Where the work took no longer than that, the limiter was what it waited for.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from kubedyno.measure.audit.histories import History
from kubedyno.measure.records import AuditLine, Finding

Evidence: TypeAlias = Literal["limiter", "binds", "served", "methods"]
"""How throttling shows: `limiter`: the program has a metric of it; `binds`: KAI's scheduler, one call for each pod it
binds, one after another; `served`: calls that the API server took and that only this program makes; `methods`: any
other controller, whose most used method of writing goes through one limiter."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a program's client."""

    qps_field: str = "qps"
    burst_field: str = "burst"
    qps: float
    """What it has if nobody says otherwise."""
    burst: float
    evidence: Evidence
    served: tuple[str, ...] = ()
    """The calls, as the API server's figures name them."""
    calls_each: int = 1
    """Calls through the limiter for each of them."""


_KUBE_SCHEDULER: Final = Program(
    qps_field="clientConnection.qps", burst_field="clientConnection.burst", qps=50, burst=100, evidence="limiter"
)
_CONTROLLER: Final = Program(qps=50, burst=300, evidence="methods")

PROGRAMS: Final[Mapping[str, Program]] = {
    "kai-scheduler": Program(qps=50, burst=300, evidence="binds"),
    # An annotation before each binding; the requests of the status and of events do not share that limiter.
    "kai-binder": Program(qps=50, burst=300, evidence="served", served=("POST pods/binding",), calls_each=2),
    "kai-podgrouper": _CONTROLLER,
    "kai-podgroupcontroller": _CONTROLLER,
    "kai-queuecontroller": _CONTROLLER,
    "kube-scheduler": _KUBE_SCHEDULER,
    "scheduler-plugins": _KUBE_SCHEDULER,
    "kueue": Program(
        qps_field="clientConnection.qps",
        burst_field="clientConnection.burst",
        qps=20,
        burst=30,
        evidence="served",
        served=(
            "POST workloads",
            "APPLY workloads/status",
            "PATCH workloads/status",
            "PATCH jobs",
            "PUT clusterqueues/status",
            "PUT localqueues/status",
        ),
    ),
    "kube-controller-manager": Program(
        qps_field="kube-api-qps", burst_field="kube-api-burst", qps=20, burst=30, evidence="limiter"
    ),
}
"""By name in the catalogue of programs. What is not here has no limit of its own, or none that is known."""

LIMITED_FROM: Final = 0.8
"""The part of the working time from which on the limiter's arithmetic explains it."""
_AT_LEAST_S: Final = 1.0
"""Less waiting than this is nobody's bottleneck."""
_WAITED_SHARE: Final = 0.6
"""The part of the time that calls took without the API server having anything to do with them."""
_AT_RATE: Final = (0.5, 1.3)
"""Calls went at the limiter's rate if they did at so much of it."""
_LATE_SHARE: Final = 0.1
"""Of requests that waited for the limiter."""
_POSTED: Final = ("POST bindrequests",)
_BOUND: Final = ("PATCH pods", "POST pods/binding")
_WRITES: Final = ("POST", "PUT", "PATCH", "DELETE")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits that a client runs with."""

    field: str
    """As `--set` names it: `binder.qps`."""
    qps: float
    burst: float
    declared: bool
    """Whether somebody asked for them."""
    source: str
    """Who says so."""


class Watched(msgspec.Struct, kw_only=True):
    """All that is known of one component's client during the part of the run that counts."""

    component: str
    program: Program
    limits: Limits
    history: History
    server: History
    """Of the API server, which is asked at the ends of the run only."""
    part: float = 1.0
    """The part of the client's requests that was in the part of the run that counts."""
    logged: int = 0
    """Lines of its log that speak of client-side throttling."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What a client did, and what its limiter alone makes of that."""

    calls: float
    took_s: float
    floor_s: float
    served_s: float | None = None
    """What the API server needed for calls that were made one after another; None: they were not, or it is unknown."""

    @property
    def share(self) -> float:
        """The part of the time that the limiter explains."""
        return self.floor_s / self.took_s if self.took_s > 0 else 0.0

    def is_limited(self, limits: Limits) -> bool:
        """Whether the limiter explains the time; or calls went at its rate, and the API server does not explain it."""
        if self.floor_s < _AT_LEAST_S:
            return False
        if self.share >= LIMITED_FROM:
            return True
        waited = self.served_s is not None and self.served_s < (1 - _WAITED_SHARE) * self.took_s
        return waited and _AT_RATE[0] <= self.calls / self.took_s / limits.qps <= _AT_RATE[1]


class Items(msgspec.Struct, frozen=True, kw_only=True):
    """How a controller's items fared, on the average."""

    controller: str
    work_s: float
    wait_s: float


def items_of(history: History) -> Items | None:
    """Of the controller that had most work; None: there is none, or it had none."""
    took = history.gained_by_name("work.took_s ")
    controller = max(took, key=lambda name: took[name], default="")
    count, queued = history.gained(f"work.count {controller}"), history.gained(f"queue.count {controller}")
    if not count:
        return None
    wait_s = history.gained(f"queue.wait_s {controller}")
    return Items(controller=controller, work_s=took[controller] / count, wait_s=wait_s / queued if queued else 0.0)


def floor_s(calls: float, limits: Limits, *, gaps_s: Iterable[float] = ()) -> float:
    """How long so many calls take at least; while a client pauses its burst comes back."""
    tokens = limits.burst + sum(min(limits.burst, limits.qps * gap_s) for gap_s in gaps_s)
    return max(0.0, calls - tokens) / limits.qps if limits.qps > 0 else 0.0


def work_of(watched: Watched) -> Work | None:
    """What is known from rates; None where the program's own metric says more, or nothing was done."""
    history, evidence = watched.history, watched.program.evidence
    served_s = None
    if evidence == "limiter":
        return None
    if evidence == "binds":
        calls, busy = history.gained("binds.count"), history.busy_by("binds.took_s")
        mean_s = _served_s(watched, _POSTED)
        served_s = None if mean_s is None else calls * mean_s
    else:
        busy = history.busy()
        if evidence == "served":
            taken = sum(watched.server.gained(f"served.count {asked}") for asked in watched.program.served)
            calls = taken * watched.program.calls_each * watched.part
        else:
            requests = history.gained_by_name("requests.")
            calls = max((requests.get(method, 0.0) for method in _WRITES), default=0.0)
    if not calls:
        return None
    least_s = floor_s(calls, watched.limits, gaps_s=busy.gaps_s)
    return Work(calls=calls, took_s=busy.busy_s, floor_s=least_s, served_s=served_s)


def lines(watched: Watched) -> list[AuditLine]:
    """What was seen of a client; nothing of one that did nothing."""
    name, history = watched.component, watched.history
    found: list[tuple[str, float, str]] = []
    if watched.program.evidence == "limiter" and history.gained("limiter.count"):
        found.append(("requests that waited for the client's limiter", history.gained("limiter.late"), "requests"))
        found.append(("waiting for the client's limiter", history.gained("limiter.wait_s"), "s"))
    if (work := work_of(watched)) is not None:
        found.append(("working time that the client's limiter explains", work.share, "share"))
    if (items := items_of(history)) is not None:
        found.append((f"work on a {items.controller}, mean", items.work_s, "s"))
        found.append((f"wait of a {items.controller} in the work queue, mean", items.wait_s, "s"))
    if refused := history.gained("refused"):
        found.append(("requests that the API server put off (429)", refused, "requests"))
    if watched.logged:
        found.append(("log lines of client-side throttling", float(watched.logged), "lines"))
    return [AuditLine(name=f"{name}: {what}", value=value, unit=unit, limit=None) for what, value, unit in found]


def throttling(watched: Watched) -> Finding | None:
    """The finding that a client's limit held its component back; None: it did not."""
    evidence = _by_metric(watched) or _by_rate(watched) or _by_log(watched)
    if evidence is None:
        return None
    limits = watched.limits
    return Finding(
        name=f"limited by {limits.field}",
        component=watched.component,
        declared=limits.declared,
        evidence=f"{evidence}; {limits.source} says {limits.qps:g} a second and a burst of {limits.burst:g}",
    )


def _by_metric(watched: Watched) -> str | None:
    history = watched.history
    count, late, wait_s = (history.gained(f"limiter.{what}") for what in ("count", "late", "wait_s"))
    if not count or late < _LATE_SHARE * count or wait_s < _AT_LEAST_S:
        return None
    return f"{late:.0f} of {count:.0f} requests waited for the client's own limiter, {wait_s:.1f} s in all"


def _by_rate(watched: Watched) -> str | None:
    work, limits, history = work_of(watched), watched.limits, watched.history
    if work is None or not work.is_limited(limits):
        return None
    told = (
        f"{work.calls:.0f} calls took {work.took_s:.1f} s, of which the limiter alone explains {work.floor_s:.1f} s; "
        f"that is {work.calls / work.took_s:.1f} calls a second"
    )
    if watched.program.evidence == "binds":
        told += f"; a bind took {work.took_s / work.calls:.3f} s{_own(watched, _POSTED)}"
    elif (items := items_of(history)) is not None:
        told += f"; a {items.controller} was {items.wait_s:.2f} s in the queue and {items.work_s:.2f} s in work"
        if watched.program is PROGRAMS["kai-binder"]:
            told += _own(watched, _BOUND)
    return f"{told}; {_log_words(watched.logged)}"


def _own(watched: Watched, asked: Sequence[str]) -> str:
    """What the API server itself needed for calls, in words; empty where it does not say."""
    needed_s = _served_s(watched, asked)
    return "" if needed_s is None else f", of which the API server needed {needed_s:.3f} s"


def _served_s(watched: Watched, asked: Sequence[str]) -> float | None:
    """How long the API server needed for one call of each kind, on the average; None: it does not say."""
    needed_s = 0.0
    for what in asked:
        count = watched.server.gained(f"served.count {what}")
        if not count:
            return None
        needed_s += watched.server.gained(f"served.took_s {what}") / count
    return needed_s


def _log_words(logged: int) -> str:
    if not logged:
        return "no line in its log says so"
    return "a line in its log says so" if logged == 1 else f"{logged} lines in its log say so"


def _by_log(watched: Watched) -> str | None:
    if not watched.logged:
        return None
    return f"requests waited for the client's own limiter: {_log_words(watched.logged)}"
