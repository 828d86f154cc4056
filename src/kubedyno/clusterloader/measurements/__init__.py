"""Measurements by the names of their methods."""

from collections.abc import Mapping
from typing import Final

from kubedyno.clusterloader.measurements.api_latency import API_RESPONSIVENESS
from kubedyno.clusterloader.measurements.claims import RESOURCE_CLAIM_ALLOCATION_LATENCY
from kubedyno.clusterloader.measurements.components import ETCD_METRICS, METRICS_FOR_E2E
from kubedyno.clusterloader.measurements.controlled_pods import WAIT_FOR_CONTROLLED_PODS
from kubedyno.clusterloader.measurements.executing import EXEC
from kubedyno.clusterloader.measurements.jobs import JOB_LIFECYCLE_LATENCY, WAIT_FOR_FINISHED_JOBS
from kubedyno.clusterloader.measurements.measuring import Method
from kubedyno.clusterloader.measurements.pod_startup import POD_STARTUP_LATENCY
from kubedyno.clusterloader.measurements.queries import GENERIC_PROMETHEUS_QUERY, SCHEDULING_THROUGHPUT_PROMETHEUS
from kubedyno.clusterloader.measurements.scheduling import PROMETHEUS_SCHEDULING_METRICS, SCHEDULING_METRICS
from kubedyno.clusterloader.measurements.throughput import SCHEDULING_THROUGHPUT
from kubedyno.clusterloader.measurements.timing import SLEEP, TIMER
from kubedyno.clusterloader.measurements.together import TEST_METRICS
from kubedyno.clusterloader.measurements.usage import RESOURCE_USAGE_SUMMARY
from kubedyno.clusterloader.measurements.waits import (
    WAIT_FOR_GENERIC_OBJECTS,
    WAIT_FOR_NODES,
    WAIT_FOR_RUNNING_PODS,
)

_NETWORK: Final = "it measures a real network between real nodes"
_CONTAINERS: Final = "it looks at containers that really run"
REFUSED: Final[Mapping[str, str]] = {
    "CiliumEndpointPropagationDelay": _NETWORK,
    "ClusterOOMsTracker": _CONTAINERS,
    "ContainerRestarts": _CONTAINERS,
    "DNSPerformanceK8sHostnames": _NETWORK,
    "DnsLookupLatency": _NETWORK,
    "DnsPropagation": _NETWORK,
    "InClusterAPIServerRequestLatency": _NETWORK,
    "InClusterNetworkLatency": _NETWORK,
    "LoadBalancerNodeSyncLatency": _NETWORK,
    "MetricsServerPrometheus": _CONTAINERS,
    "NegLatency": _NETWORK,
    "NetworkPerformanceMetrics": _NETWORK,
    "NetworkPolicyEnforcement": _NETWORK,
    "NetworkProgrammingLatency": _NETWORK,
    "NodeLocalDNSLatencyPrometheus": _NETWORK,
    "PodPeriodicCommand": _CONTAINERS,
    "ServiceCreationLatency": _NETWORK,
    "WindowsResourceUsagePrometheus": _CONTAINERS,
}
"""Methods that are known and not offered, since simulated nodes cannot show what they measure."""

METHODS: Final[Mapping[str, Method]] = {
    "APIResponsivenessPrometheus": API_RESPONSIVENESS,
    "EtcdMetrics": ETCD_METRICS,
    "Exec": EXEC,
    "GenericPrometheusQuery": GENERIC_PROMETHEUS_QUERY,
    "JobLifecycleLatency": JOB_LIFECYCLE_LATENCY,
    "MetricsForE2E": METRICS_FOR_E2E,
    "PodStartupLatency": POD_STARTUP_LATENCY,
    "PrometheusSchedulingMetrics": PROMETHEUS_SCHEDULING_METRICS,
    "ResourceClaimAllocationLatency": RESOURCE_CLAIM_ALLOCATION_LATENCY,
    "ResourceUsageSummary": RESOURCE_USAGE_SUMMARY,
    "SchedulingMetrics": SCHEDULING_METRICS,
    "SchedulingThroughput": SCHEDULING_THROUGHPUT,
    "SchedulingThroughputPrometheus": SCHEDULING_THROUGHPUT_PROMETHEUS,
    "Sleep": SLEEP,
    "TestMetrics": TEST_METRICS,
    "Timer": TIMER,
    "WaitForControlledPodsRunning": WAIT_FOR_CONTROLLED_PODS,
    "WaitForFinishedJobs": WAIT_FOR_FINISHED_JOBS,
    "WaitForGenericK8sObjects": WAIT_FOR_GENERIC_OBJECTS,
    "WaitForNodes": WAIT_FOR_NODES,
    "WaitForRunningPods": WAIT_FOR_RUNNING_PODS,
}
