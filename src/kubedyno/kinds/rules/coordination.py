"""Rules of the group coordination.k8s.io: Lease.

The fields of coordinated leader election are not looked at: the server drops them unless a gate is on.
"""

from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules.rules import Rules
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, invalid


def _lease(obj: Object) -> Iterator[Problem]:
    spec = obj.get("spec") or {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        yield invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")


def _lease_update(new: Object, _old: Object) -> Iterator[Problem]:
    return _lease(new)


RULES: Final[dict[tuple[str, str], Rules]] = {
    ("coordination.k8s.io", "Lease"): Rules(create=_lease, update=_lease_update),
}
"""By group and kind."""
