"""What exporters did and how it went: counts and samples, as a report and in Prometheus' text format."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.sim.kubelet.lag import Spread

Operation = Literal["create", "update", "patch", "apply"]
_SHARES: Final = (0.5, 0.9, 0.99, 1.0)
_MOST_NOTES: Final = 100


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All exporters together since they began. Samples are in the order of time."""

    exporters: int = 0
    """Nodes that have one now."""
    looks: int = 0
    writes: Mapping[str, int] = {}
    """Done, by operation: create, update, patch, apply."""
    failures: Mapping[str, int] = {}
    """Requests to the API server that failed for good, by HTTP code; `unreachable` without an answer."""
    retries: int = 0
    """Requests that were repeated because the server asked for it."""
    view_failures: Mapping[str, int] = {}
    """Questions to kubelets that failed, by the code of gRPC that tells why."""
    write_s: tuple[float, ...] = ()
    """Seconds of each write, with the reading before it where there is one."""
    view_s: tuple[float, ...] = ()
    """Seconds until each question to a kubelet was answered."""
    wake_up_s: tuple[float, ...] = ()
    """Seconds from each event or tick until the exporter looked."""
    dropped_events: int = 0
    restarts: int = 0
    """Of exporters that had ended: after an error, or because they were made to."""
    notes: tuple[str, ...] = ()
    """What is not as it should be, each once."""
    age_s: Mapping[str, float] = {}
    """Seconds since the last write of each node's object; nodes without any are missing."""
    steered: Mapping[str, str] = {}
    """What each exporter that is steered heeds now: the annotation of its node."""


class Tally:
    """What exporters count."""

    def __init__(self) -> None:
        self.looks = 0
        self.writes: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.view_failures: Counter[str] = Counter()
        self.write_s = array("d")
        self.view_s = array("d")
        self.wake_up_s = array("d")
        self.dropped_events = 0
        self.restarts = 0
        self.notes: dict[str, None] = {}

    def note(self, sentence: str) -> bool:
        """Keep a sentence; False: it is known, or there are enough."""
        if sentence in self.notes or len(self.notes) >= _MOST_NOTES:
            return False
        self.notes[sentence] = None
        return True

    def report(
        self, *, exporters: int, retries: int, written_ns: Mapping[str, int], steered: Mapping[str, str], now_ns: int
    ) -> Report:
        """All of it, now."""
        return Report(
            exporters=exporters,
            looks=self.looks,
            writes=dict(self.writes),
            failures=dict(self.failures),
            retries=retries,
            view_failures=dict(self.view_failures),
            write_s=tuple(self.write_s),
            view_s=tuple(self.view_s),
            wake_up_s=tuple(self.wake_up_s),
            dropped_events=self.dropped_events,
            restarts=self.restarts,
            notes=tuple(self.notes),
            age_s={node: (now_ns - at_ns) / NS_PER_S for node, at_ns in written_ns.items()},
            steered=dict(steered),
        )


def metrics(report: Report) -> Iterator[str]:
    """Lines in Prometheus' text format; the names of the resource-topology-exporter where they mean the same.

    All nodes are in one process here, so figures are of all of them.
    """
    stages = {"podresources_scan": report.view_s, "node_resource_object_update": report.write_s}
    yield from _counts(
        "rte_podresource_api_call_failures_total",
        "Questions to kubelets that failed.",
        [(f'code="{code}"', count) for code, count in sorted(report.view_failures.items())],
    )
    yield from _counts(
        "rte_noderesourcetopology_writes_total",
        "Writes of NodeResourceTopology objects.",
        [(f'operation="{operation}"', count) for operation, count in sorted(report.writes.items())],
    )
    yield from _counts(
        "kubedyno_exporter_write_failures_total",
        "Requests to the API server that failed for good.",
        [(f'code="{code}"', count) for code, count in sorted(report.failures.items())],
    )
    for name, what, value in (
        ("kubedyno_exporter_dropped_events_total", "Events that came while too many waited.", report.dropped_events),
        ("kubedyno_exporter_restarts_total", "Exporters that began anew.", report.restarts),
        (
            "kubedyno_exporter_request_retries_total",
            "Requests that the API server asked to be repeated.",
            report.retries,
        ),
    ):
        yield from _counts(name, what, [("", value)])
    yield from _summary(
        "kubedyno_exporter_operation_delay_milliseconds",
        "How long each stage takes.",
        {f'operation_name="{name}"': samples for name, samples in stages.items()},
    )
    yield from _summary(
        "kubedyno_exporter_wakeup_delay_milliseconds",
        "From an event or tick until the exporter looks.",
        {"": report.wake_up_s},
    )
    yield "# HELP kubedyno_exporter_age_seconds Since the last write of a node's object."
    yield "# TYPE kubedyno_exporter_age_seconds gauge"
    for node, age_s in report.age_s.items():
        yield f'kubedyno_exporter_age_seconds{{node="{node}"}} {age_s:.3f}'


def _counts(name: str, what: str, values: Iterable[tuple[str, int]]) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} counter"
    for label, value in values:
        yield f"{name}{{{label}}} {value}" if label else f"{name} {value}"


def _summary(name: str, what: str, samples: Mapping[str, Iterable[float]]) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} summary"
    for label, seconds in samples.items():
        spread = Spread()
        for one in seconds:
            spread.add(one)
        for share in _SHARES:
            labels = ",".join(filter(None, (label, f'quantile="{share:g}"')))
            yield f"{name}{{{labels}}} {spread.quantile_s(share) * 1000:.3f}"
        suffix = f"{{{label}}}" if label else ""
        yield f"{name}_sum{suffix} {spread.total_s * 1000:.3f}"
        yield f"{name}_count{suffix} {spread.count}"
