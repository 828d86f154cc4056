"""The server's metrics under the names that the real API server has for them, in the text format of Prometheus."""

from itertools import accumulate

from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.server.routing import Route
from kubedyno.store.store import Store

_BUCKETS_S = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
)  # fmt: skip


class _Series:
    """A histogram of durations."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BUCKETS_S) + 1)
        self.sum_s = 0.0


_Labels = tuple[str, str, str, str, str, str]
"""verb, group, version, resource, subresource, scope"""


class Metrics:
    """What was asked of a server, and how long it took."""

    def __init__(self, clock: Clock) -> None:
        self._started_ns = clock.wall_ns()
        self._durations: dict[_Labels, _Series] = {}
        self._totals: dict[tuple[_Labels, int], int] = {}
        self.watches = 0
        """Watches that are open."""

    def observe(self, verb: str, route: Route | None, code: int, took_ns: int) -> None:
        """Count a request. A watch counts with the time it took to begin."""
        labels = (verb, "", "", "", "", "") if route is None else _labels(verb, route)
        key = (labels, code)
        self._totals[key] = self._totals.get(key, 0) + 1
        series = self._durations.get(labels)
        if series is None:
            series = self._durations[labels] = _Series()
        took_s = took_ns / NS_PER_S
        series.sum_s += took_s
        index = 0
        while index < len(_BUCKETS_S) and took_s > _BUCKETS_S[index]:
            index += 1
        series.counts[index] += 1

    def text(self, store: Store) -> bytes:
        """The page."""
        lines = ["# TYPE apiserver_request_total counter"]
        for (labels, code), count in sorted(self._totals.items()):
            lines.append(f'apiserver_request_total{{code="{code}",{_named(labels)}}} {count}')
        lines.append("# TYPE apiserver_request_duration_seconds histogram")
        for labels, series in sorted(self._durations.items(), key=lambda entry: entry[0]):
            name, named = "apiserver_request_duration_seconds", _named(labels)
            sums = list(accumulate(series.counts))
            bounds = [*(f"{bound:g}" for bound in _BUCKETS_S), "+Inf"]
            lines += [f'{name}_bucket{{{named},le="{le}"}} {count}' for le, count in zip(bounds, sums, strict=True)]
            lines += [f"{name}_sum{{{named}}} {series.sum_s:.9f}", f"{name}_count{{{named}}} {sums[-1]}"]
        lines.append("# TYPE apiserver_longrunning_requests gauge")
        lines.append(f'apiserver_longrunning_requests{{verb="WATCH"}} {self.watches}')
        lines.append("# TYPE apiserver_storage_objects gauge")
        for resource in store.resources:
            count = len(store.shelves[resource].objects)
            if count:
                lines.append(f'apiserver_storage_objects{{resource="{resource}"}} {count}')
        lines.append("# TYPE process_start_time_seconds gauge")
        lines.append(f"process_start_time_seconds {self._started_ns / NS_PER_S:.3f}")
        return ("\n".join(lines) + "\n").encode()


def _labels(verb: str, route: Route) -> _Labels:
    resource = route.kind.resource
    scope = "resource" if route.name else "namespace" if route.namespace else "cluster"
    return verb, resource.group, resource.version, resource.plural, route.subresource, scope


def _named(labels: _Labels) -> str:
    names = ("verb", "group", "version", "resource", "subresource", "scope")
    return ",".join(f'{name}="{value}"' for name, value in zip(names, labels, strict=True))
