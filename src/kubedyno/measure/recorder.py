"""The recorder: every pod's way, stamped on arrival, with bounds for when it truly happened.

Pure in what it decides: `phases` compares two states of an object; `Recorder` only keeps what it says.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kubedyno.client.informer import Change
from kubedyno.kit.clock import NS_PER_S, parse_rfc3339_ns
from kubedyno.kube import meta
from kubedyno.measure.columns import ObjectRow

WORKLOAD_LABEL = "kubedyno/workload"

_ENDED = {"Succeeded": "succeeded", "Failed": "failed"}


class Recorder:
    """Keeps a row for each phase of each pod that it is told of; give `note` to an informer."""

    def __init__(self) -> None:
        self.rows: list[ObjectRow] = []

    def note(self, change: Change) -> None:
        """Record what the change shows."""
        for phase, server_ns in phases(change.old, change.new):
            obj = change.object
            metadata = obj.get("metadata", {})
            lower_ns, upper_ns = bounds(server_ns, change.wall_ns)
            self.rows.append(
                ObjectRow(
                    uid=metadata.get("uid", ""),
                    kind=obj.get("kind", "Pod"),
                    namespace=metadata.get("namespace", ""),
                    name=metadata.get("name", ""),
                    workload=meta.labels(obj).get(WORKLOAD_LABEL),
                    node=obj.get("spec", {}).get("nodeName"),
                    phase=phase,
                    arrival_ns=change.wall_ns,
                    server_ns=server_ns,
                    lower_ns=lower_ns,
                    upper_ns=upper_ns,
                )
            )

    def in_phase(self, phase: str, workloads: frozenset[str]) -> list[ObjectRow]:
        """The rows of one phase of these workloads."""
        return [row for row in self.rows if row.phase == phase and row.workload in workloads]


def phases(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[tuple[str, int | None]]:
    """What happened to a pod between two states, with the server's stamp (ns) where it gives one."""
    if new is None:
        yield "deleted", None
        return
    if old is None:
        yield "created", _stamp(new.get("metadata", {}).get("creationTimestamp"))
    if _bound(new) and not _bound(old):
        scheduled = meta.condition(new, "PodScheduled")
        is_true = scheduled is not None and scheduled.get("status") == "True"
        yield "scheduled", _stamp(scheduled.get("lastTransitionTime")) if scheduled and is_true else None
    before, after = _phase(old), _phase(new)
    if before != after:
        if after == "Running":
            yield "running", _stamp(new.get("status", {}).get("startTime"))
        elif after in _ENDED:
            yield _ENDED[after], None


def bounds(server_ns: int | None, arrival_ns: int) -> tuple[int | None, int]:
    """Not before the server's stamp, which is truncated to the second, and not after the arrival of the news."""
    if server_ns is None:
        return None, arrival_ns
    return server_ns, min(arrival_ns, server_ns + NS_PER_S)


def _bound(pod: Mapping[str, Any] | None) -> bool:
    return bool(pod and pod.get("spec", {}).get("nodeName"))


def _phase(pod: Mapping[str, Any] | None) -> str:
    return str(pod.get("status", {}).get("phase", "")) if pod else ""


def _stamp(text: str | None) -> int | None:
    return parse_rfc3339_ns(text) if text else None
