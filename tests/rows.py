"""Rows of recordings and submitted workloads that never were. Times are seconds after `BEGAN_NS`."""

from typing import Any, Final

from kubedyno.measure.columns import ObjectRow
from kubedyno.model.submissions import FORMAT, SubmittedFile, SubmittedWorkload

NS: Final = 1_000_000_000
BEGAN_NS: Final = 1_767_323_045 * NS
"""2026-01-02T03:04:05Z."""


def ns(at_s: float) -> int:
    """Seconds after the beginning, in ns since the epoch."""
    return BEGAN_NS + round(at_s * NS)


def seconds(at_ns: int) -> float:
    """And back."""
    return (at_ns - BEGAN_NS) / NS


def workload(name: str = "w-0", *, uid: str | None = "job-0", at_s: float = 0.0, **fields: Any) -> SubmittedWorkload:
    """A workload that was submitted at that time, and accepted 10 ms later."""
    known: dict[str, Any] = {
        "name": name,
        "kind": "Job",
        "namespace": "default",
        "project": None,
        "queue": None,
        "gpus": 1,
        "workers": 1,
        "template_hash": "0",
        "planned_ns": ns(at_s),
        "t_submit": ns(at_s),
        "t_accepted": ns(at_s + 0.01) if uid is not None else None,
        "uid": uid,
        "error": None,
    }
    return SubmittedWorkload(**{**known, **fields})


def submission(*workloads: SubmittedWorkload, workload_type: str = "training", **fields: Any) -> SubmittedFile:
    """A submission of these workloads that has ended."""
    known: dict[str, Any] = {
        "format": FORMAT,
        "kubedyno": "0",
        "id": "abc",
        "dialect": "job",
        "workload_type": workload_type,
        "server": "https://127.0.0.1:1",
        "asked": {},
        "started_at": "2026-01-02T03:04:05Z",
        "ended_at": "2026-01-02T03:04:06Z",
        "simulated": (),
        "pace": None,
        "workloads": workloads,
    }
    return SubmittedFile(**{**known, **fields})


def row(
    uid: str,
    phase: str,
    at_s: float,
    *,
    role: str = "pod",
    bound_s: float = 0.005,
    owner: str | None = None,
    **fields: Any,
) -> ObjectRow:
    """What a watch saw at that time, exact to `bound_s` seconds."""
    known: dict[str, Any] = {
        "uid": uid,
        "kind": {"pod": "Pod", "job": "Job", "podgroup": "PodGroup", "decision": "BindRequest"}.get(role, role.title()),
        "role": role,
        "namespace": "default",
        "name": uid,
        "owner": owner,
        "workload": None,
        "node": None,
        "phase": phase,
        "detail": None,
        "arrival_ns": ns(at_s),
        "server_ns": None,
        "lower_ns": ns(at_s - bound_s),
        "upper_ns": ns(at_s),
        "source": "watch",
    }
    return ObjectRow(**{**known, **fields})


def stamped(uid: str, phase: str, second: int, *, seen_s: float = 3600.0, **fields: Any) -> ObjectRow:
    """What a list showed an hour later: the server's stamp, which is cut to the second."""
    return row(
        uid,
        phase,
        seen_s,
        **{"lower_ns": ns(second), "upper_ns": ns(second + 1), "server_ns": ns(second), "source": "server", **fields},
    )


def pods(*uids: str, owner: str = "job-0", **phases_s: float) -> list[ObjectRow]:
    """Pods of an owner that reach the phases one after the other, 10 ms between two pods."""
    return [
        row(uid, phase, at_s + place / 100, owner=owner)
        for place, uid in enumerate(uids)
        for phase, at_s in phases_s.items()
    ]
