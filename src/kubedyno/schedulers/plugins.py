"""scheduler-plugins: a kube-scheduler that brings Coscheduling and NodeResourceTopologyMatch."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kubedyno.model.dialects import Dialect
from kubedyno.model.features import Feature
from kubedyno.plane.identities import Identity
from kubedyno.schedulers.dialects.coscheduling import COSCHEDULING, SCHEDULER_NAME
from kubedyno.schedulers.kube import KubeScheduler

_NAME = "plugins"
_USER = "system:kube-scheduler"

# Coscheduling must be the one that orders the queue. It gives a gang up when one of its pods waited so long for the
# others. It has no backoff for gangs, as by default: when one is over, nothing wakes the gang before another pod comes.
# NodeResourceTopologyMatch keeps its defaults: it has no cache, and believes what the NodeResourceTopology objects say.
_PROFILE: Mapping[str, Any] = {
    "schedulerName": SCHEDULER_NAME,
    "plugins": {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}, {"name": "NodeResourceTopologyMatch"}]},
        "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
    },
    "pluginConfig": [
        {"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}},
        {"name": "NodeResourceTopologyMatch", "args": {}},
    ],
}


class Plugins(KubeScheduler):
    """The out-of-tree plugins of the Kubernetes scheduling group, in one kube-scheduler."""

    name = _NAME
    program = "scheduler-plugins"
    profiles: Mapping[str, Any] = MappingProxyType({"profiles": [_PROFILE]})
    feature_gates: Mapping[str, bool] = MappingProxyType({})
    runtime_config: Mapping[str, str] = MappingProxyType({})
    asset_groups: tuple[str, ...] = ("scheduler-plugins",)
    identities: tuple[Identity, ...] = (Identity(name=_NAME, user=_USER),)
    dialect: Dialect = COSCHEDULING
    lacks: Mapping[Feature, str] = MappingProxyType(
        {
            "sub-groups": "its PodGroups have no parts",
            "quotas": "it has no queues",
            "reclaim": "it has no queues to reclaim for",
            "non-preemptible": "whoever has a higher priority may preempt any pod",
            "consolidation": "it never moves a pod to make room",
            "required-topology": "its PodGroups know no topology",
            "preferred-topology": "its PodGroups know no topology",
            "fractions": "it counts whole GPUs",
        }
    )
    engines: tuple[str, ...] = ("embedded", "local")

    def base_objects(self) -> list[dict[str, Any]]:
        """What a kube-scheduler has, and the right to read the kinds of its plugins."""
        return [*super().base_objects(), *_rights()]


def _rights() -> list[dict[str, Any]]:
    """Kubernetes' own rules for a kube-scheduler do not speak of PodGroups and NodeResourceTopologies."""
    group = "rbac.authorization.k8s.io"
    read = ["get", "list", "watch"]
    return [
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": SCHEDULER_NAME},
            "rules": [
                {
                    "apiGroups": ["scheduling.x-k8s.io"],
                    "resources": ["podgroups", "podgroups/status"],
                    "verbs": [*read, "update", "patch"],
                },
                {"apiGroups": ["topology.node.k8s.io"], "resources": ["noderesourcetopologies"], "verbs": read},
            ],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": SCHEDULER_NAME},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": SCHEDULER_NAME},
            "subjects": [{"apiGroup": group, "kind": "User", "name": _USER}],
        },
    ]


PLUGINS = Plugins()
