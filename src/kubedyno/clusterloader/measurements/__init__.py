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
from kubedyno.clusterloader.measurements.monkeys import CHAOS_MONKEY
from kubedyno.clusterloader.measurements.node_health import NODE_HEALTH_TRACKER
from kubedyno.clusterloader.measurements.pod_startup import POD_STARTUP_LATENCY
from kubedyno.clusterloader.measurements.profiles import BLOCK_PROFILE, CPU_PROFILE, MEMORY_PROFILE
from kubedyno.clusterloader.measurements.queries import GENERIC_PROMETHEUS_QUERY, SCHEDULING_THROUGHPUT_PROMETHEUS
from kubedyno.clusterloader.measurements.refused import REFUSED
from kubedyno.clusterloader.measurements.scheduling import PROMETHEUS_SCHEDULING_METRICS, SCHEDULING_METRICS
from kubedyno.clusterloader.measurements.system_pods import SYSTEM_POD_METRICS
from kubedyno.clusterloader.measurements.throughput import SCHEDULING_THROUGHPUT
from kubedyno.clusterloader.measurements.timing import SLEEP, TIMER
from kubedyno.clusterloader.measurements.together import SLO_MEASUREMENT, TEST_METRICS
from kubedyno.clusterloader.measurements.usage import RESOURCE_USAGE_SUMMARY
from kubedyno.clusterloader.measurements.volumes import WAIT_FOR_AVAILABLE_PVS, WAIT_FOR_BOUND_PVCS
from kubedyno.clusterloader.measurements.waits import (
    WAIT_FOR_GENERIC_OBJECTS,
    WAIT_FOR_NODES,
    WAIT_FOR_RUNNING_PODS,
)

__all__ = ["METHODS", "REFUSED"]

METHODS: Final[Mapping[str, Method]] = {
    "APIResponsivenessPrometheus": API_RESPONSIVENESS,
    "BlockProfile": BLOCK_PROFILE,
    "CPUProfile": CPU_PROFILE,
    "ChaosMonkey": CHAOS_MONKEY,
    "EtcdMetrics": ETCD_METRICS,
    "Exec": EXEC,
    "GenericPrometheusQuery": GENERIC_PROMETHEUS_QUERY,
    "JobLifecycleLatency": JOB_LIFECYCLE_LATENCY,
    "MemoryProfile": MEMORY_PROFILE,
    "MetricsForE2E": METRICS_FOR_E2E,
    "NodeHealthTracker": NODE_HEALTH_TRACKER,
    "PodStartupLatency": POD_STARTUP_LATENCY,
    "PrometheusSchedulingMetrics": PROMETHEUS_SCHEDULING_METRICS,
    "ResourceClaimAllocationLatency": RESOURCE_CLAIM_ALLOCATION_LATENCY,
    "ResourceUsageSummary": RESOURCE_USAGE_SUMMARY,
    "SLOMeasurement": SLO_MEASUREMENT,
    "SchedulingMetrics": SCHEDULING_METRICS,
    "SchedulingThroughput": SCHEDULING_THROUGHPUT,
    "SchedulingThroughputPrometheus": SCHEDULING_THROUGHPUT_PROMETHEUS,
    "Sleep": SLEEP,
    "SystemPodMetrics": SYSTEM_POD_METRICS,
    "TestMetrics": TEST_METRICS,
    "Timer": TIMER,
    "WaitForAvailablePVs": WAIT_FOR_AVAILABLE_PVS,
    "WaitForBoundPVCs": WAIT_FOR_BOUND_PVCS,
    "WaitForControlledPodsRunning": WAIT_FOR_CONTROLLED_PODS,
    "WaitForFinishedJobs": WAIT_FOR_FINISHED_JOBS,
    "WaitForGenericK8sObjects": WAIT_FOR_GENERIC_OBJECTS,
    "WaitForNodes": WAIT_FOR_NODES,
    "WaitForRunningPods": WAIT_FOR_RUNNING_PODS,
}
