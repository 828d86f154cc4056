"""Bare pods under any scheduler."""

from typing import Any

from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects.following import UNDER_ANY
from kubedyno.schedulers.dialects.ways import DECIDED, way
from kubedyno.schedulers.dialects.written import WrittenDialect, claims


class PodsDialect(WrittenDialect):
    """Pods that nothing makes and nothing holds together."""

    name = "pods"
    folder = "pods"
    lifecycle = way(
        UNDER_ANY,
        made=("first_pod",),
        general=(),
        detailed=("podgroup", "last_pod", "volume_bound", *DECIDED),
    )

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """The pods."""
        return [*claims(workload), *self.pods(workload)]


PODS = PodsDialect()
