"""Methods that are known and not offered, and why not."""

from collections.abc import Mapping
from typing import Final

_NETWORK: Final = "it measures a real network between real nodes"
_CONTAINERS: Final = "it looks at containers that really run"
_SERVERS: Final = "API servers of a lab are not taken down while it is up"
REFUSED: Final[Mapping[str, str]] = {
    "APIAvailability": _SERVERS,
    "CiliumEndpointPropagationDelay": _NETWORK,
    "ClusterOOMsTracker": _CONTAINERS,
    "ContainerRestarts": _CONTAINERS,
    "DNSPerformanceK8sHostnames": _NETWORK,
    "DnsLookupLatency": _NETWORK,
    "DnsPropagation": _NETWORK,
    "InClusterAPIServerRequestLatency": _NETWORK,
    "InClusterNetworkLatency": _NETWORK,
    "KubeStateMetricsLatency": _CONTAINERS,
    "LoadBalancerNodeSyncLatency": _NETWORK,
    "MetricsServerPrometheus": _CONTAINERS,
    "NegLatency": _NETWORK,
    "NetworkPerformanceMetrics": _NETWORK,
    "NetworkPolicyEnforcement": _NETWORK,
    "NetworkProgrammingLatency": _NETWORK,
    "NodeLocalDNSLatencyPrometheus": _NETWORK,
    "PodPeriodicCommand": _CONTAINERS,
    "RestartApiserver": _SERVERS,
    "ServiceCreationLatency": _NETWORK,
    "WindowsResourceUsagePrometheus": _CONTAINERS,
}
