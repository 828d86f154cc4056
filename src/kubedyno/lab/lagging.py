"""How well the simulated kubelets keep up, asked of them wherever they run."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kubedyno.measure.records import AuditLine
from kubedyno.plane.activity import Activity
from kubedyno.plane.component import Component, Probe
from kubedyno.plane.ports import LOOPBACK
from kubedyno.schedulers.scheduler import Reader
from kubedyno.sim import mounting

CONTESTED: Final = "nodes with two simulators"
"""Nothing of such a trial is true, whatever it was for."""

# Name in the simulator's report, name in the audit, unit, limit: beyond it nodes were declared dead that were not, or
# two simulators wrote the same objects.
_LINES: tuple[tuple[str, str, str, float | None], ...] = (
    ("start_p99_s", "lag of kubelets, start p99", "s", None),
    ("stop_p99_s", "lag of kubelets, stop p99", "s", None),
    ("lease_most_s", "lag of kubelets, leases at most", "s", None),
    ("deepest_queue", "pods waiting for kubelets at most", "pods", None),
    ("late_leases", "leases renewed too late", "leases", 0),
    ("contested_nodes", CONTESTED, "nodes", 0),
)


async def lag_of(
    activities: Mapping[str, Activity], components: tuple[Component, ...], reader: Reader
) -> Mapping[str, Any] | None:
    """The report of the builtin kubelets; None where somebody else plays."""
    activity = activities.get(mounting.NAME)
    if activity is not None and activity.audit is not None:
        return activity.audit()
    for component in components:
        if component.name == mounting.NAME:
            url = f"http://{LOOPBACK}:{component.ports['metrics']}/lag"
            report: dict[str, Any] = msgspec.json.decode(await reader.fetch(Probe(url=url)))
            return report
    return None


def audit(lag: Mapping[str, Any] | None) -> list[AuditLine]:
    """The lines of the audit; none where nothing is known."""
    if lag is None:
        return []
    return [
        AuditLine(name=name, value=float(lag[field]), unit=unit, limit=limit) for field, name, unit, limit in _LINES
    ]
