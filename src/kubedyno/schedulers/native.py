"""What gangs of Kubernetes itself need of a control plane: PodGroups of scheduling.k8s.io.

The gates switch on what 1.36 has behind them: gangs, topology-aware placement and preemption of whole groups. An API
server serves PodGroups only with the gate and the API version both on; either alone is ignored in silence.

`SchedulerPopFromBackoffQ` is left on, as it is shipped, though with it an unschedulable gang is tried dozens of times a
second while nothing else waits: what is measured is the scheduler that people run.
"""

from collections.abc import Mapping
from types import MappingProxyType

FEATURE_GATES: Mapping[str, bool] = MappingProxyType(
    {
        "GenericWorkload": True,
        "GangScheduling": True,
        "TopologyAwareWorkloadScheduling": True,
        "WorkloadAwarePreemption": True,
    }
)
RUNTIME_CONFIG: Mapping[str, str] = MappingProxyType({"scheduling.k8s.io/v1alpha2": "true"})
