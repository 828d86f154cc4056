"""The six communications of resource-topology-aware scheduling: who asked whom, how often, with which errors. Pure.

Requests to the API server are told apart by who sends them: by user, which the audit log knows, or by the program that
the user agent names. The topology plugin is a part of its scheduler's process, with its user, its user agent and its
connection; what it asks for is the NodeResourceTopology objects, which nothing else in a scheduler does.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from kubedyno.measure import statistics
from kubedyno.measure.auditlog import Served
from kubedyno.measure.histograms import Histogram, Page, together
from kubedyno.measure.records import Communication

EXPORTER_TO_KUBELET: Final = 1
EXPORTER_TO_SERVER: Final = 2
KUBELET_TO_SERVER: Final = 3
PLUGIN_TO_SERVER: Final = 4
SCHEDULER_TO_SERVER: Final = 5
SERVER_TO_ETCD: Final = 6

NAMES: Final[Mapping[int, str]] = {
    EXPORTER_TO_KUBELET: "exporter to kubelet",
    EXPORTER_TO_SERVER: "exporter to API server",
    KUBELET_TO_SERVER: "kubelet to API server",
    PLUGIN_TO_SERVER: "topology plugin to API server",
    SCHEDULER_TO_SERVER: "scheduler to API server",
    SERVER_TO_ETCD: "API server to etcd",
}
TO_SERVER: Final = (EXPORTER_TO_SERVER, KUBELET_TO_SERVER, PLUGIN_TO_SERVER, SCHEDULER_TO_SERVER)

EXPORTER: Final = "kubedyno-exporter"
"""The program that our own exporters say they are."""
_EXPORTERS: Final = frozenset({EXPORTER, "resource-topology-exporter", "nfd-topology-updater"})
_KUBELETS: Final = frozenset({"kubelet", "hollow-kubelet"})
_SCHEDULERS: Final = frozenset({"kube-scheduler"})
_TOPOLOGIES: Final = "noderesourcetopologies"
_NODES_OWN: Final = "system:node:"
_REFUSED_FROM: Final = 400
NO_CODE: Final = "error"

_ETCD_LATENCY: Final = "etcd_request_duration_seconds"
_ETCD_ERRORS: Final = "etcd_request_errors_total"


class Parties(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a lab's kubelets and its scheduler are known by: users, and programs as user agents name them."""

    kubelets: frozenset[str] = frozenset()
    schedulers: frozenset[str] = frozenset()

    def number_of(self, user: str, agent: str, resource: str) -> int | None:
        """The communication that a request to the API server belongs to; None: to none of them."""
        program = agent.partition("/")[0]
        if program in _EXPORTERS:
            return EXPORTER_TO_SERVER
        if _is_any(user, program, self.schedulers | _SCHEDULERS):
            return PLUGIN_TO_SERVER if resource == _TOPOLOGIES else SCHEDULER_TO_SERVER
        if user.startswith(_NODES_OWN) or _is_any(user, program, self.kubelets | _KUBELETS):
            return KUBELET_TO_SERVER
        return None


def _is_any(user: str, program: str, known: frozenset[str]) -> bool:
    return user in known or program in known


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """What a client of ours counted itself."""

    requests: int
    errors: Mapping[str, int] = {}
    """By code or in a word."""
    latencies_s: Sequence[float] = ()

    def since(self, before: "Counted") -> "Counted":
        """What came later; whoever was started anew counts from zero again."""
        if self.requests < before.requests or len(self.latencies_s) < len(before.latencies_s):
            return self
        errors = {code: count - before.errors.get(code, 0) for code, count in self.errors.items()}
        return Counted(
            requests=self.requests - before.requests,
            errors={code: count for code, count in errors.items() if count},
            latencies_s=self.latencies_s[len(before.latencies_s) :],
        )


class Kept:
    """Of one communication: every latency but those of watches, and the codes of what failed."""

    __slots__ = ("errors", "latencies_s", "watches")

    def __init__(self) -> None:
        self.errors: Counter[str] = Counter()
        self.latencies_s = array("d")
        self.watches = 0


class Tally:
    """Counts requests to the API server by communication."""

    def __init__(self, parties: Parties) -> None:
        self.parties = parties
        self.kept = {number: Kept() for number in TO_SERVER}
        self._known: dict[tuple[str, str, str], int | None] = {}

    def note(self, served: Served) -> None:
        """A request that was answered."""
        key = served.user, served.agent, served.resource
        try:
            number = self._known[key]
        except KeyError:
            number = self._known[key] = self.parties.number_of(*key)
        if number is None:
            return
        kept = self.kept[number]
        if served.is_watch:
            kept.watches += 1
        else:
            kept.latencies_s.append(served.took_s)
        if served.code >= _REFUSED_FROM or not served.code:
            kept.errors[str(served.code) if served.code else NO_CODE] += 1

    def add(self, other: "Tally") -> None:
        """All that another one counted, as well."""
        for number, theirs in other.kept.items():
            own = self.kept[number]
            own.latencies_s.extend(theirs.latencies_s)
            own.errors.update(theirs.errors)
            own.watches += theirs.watches

    def communications(self, *, source: str, note: str = "", is_timed: bool = True) -> list[Communication]:
        """The four that go to the API server; without latency where time is not real."""
        return [
            Communication(
                number=number,
                name=NAMES[number],
                requests=len(kept.latencies_s) + kept.watches,
                watches=kept.watches,
                errors=_sorted(kept.errors),
                latency=statistics.percentiles(kept.latencies_s) if is_timed else (),
                source=source,
                note=note,
            )
            for number, kept in self.kept.items()
        ]


class Etcd(msgspec.Struct, frozen=True):
    """What API servers have asked of etcd so far, as they tell themselves."""

    latency: Histogram = Histogram()
    errors: int = 0

    def since(self, before: "Etcd") -> "Etcd":
        """What came later."""
        gained = self.errors - before.errors
        return Etcd(self.latency.since(before.latency), gained if gained >= 0 else self.errors)


def etcd_of(pages: Iterable[Page]) -> Etcd:
    """Of all API servers together."""
    read = tuple(pages)
    errors = sum(page.counter(_ETCD_ERRORS) for page in read)
    return Etcd(together(page.histogram(_ETCD_LATENCY) for page in read), round(errors))


def of_etcd(asked: Etcd) -> Communication:
    """The sixth."""
    return Communication(
        number=SERVER_TO_ETCD,
        name=NAMES[SERVER_TO_ETCD],
        requests=asked.latency.count,
        errors={NO_CODE: asked.errors} if asked.errors else {},
        latency=asked.latency.percentiles(),
        source=f"{_ETCD_LATENCY} of the API server",
        note="percentiles are interpolated in the buckets of a histogram; watches are not in it",
    )


def of_exporters(counted: Counted | None, *, is_timed: bool = True) -> Communication:
    """The first; None: no exporter ran."""
    if counted is None:
        return unknown(EXPORTER_TO_KUBELET, "no exporter ran")
    return Communication(
        number=EXPORTER_TO_KUBELET,
        name=NAMES[EXPORTER_TO_KUBELET],
        requests=counted.requests,
        errors=_sorted(counted.errors),
        latency=statistics.percentiles(counted.latencies_s) if is_timed else (),
        source="the exporters",
    )


def unknown(number: int, why: str) -> Communication:
    """One of which nothing is known."""
    return Communication(number=number, name=NAMES[number], note=why)


def _sorted(errors: Mapping[str, int]) -> dict[str, int]:
    """Most first."""
    return dict(sorted(errors.items(), key=lambda entry: (-entry[1], entry[0])))
