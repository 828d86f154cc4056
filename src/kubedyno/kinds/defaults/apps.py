"""Defaults of Deployments, ReplicaSets, StatefulSets and DaemonSets."""

from kubedyno.kinds.defaults.walking import Constants, Functions
from kubedyno.kube.codec import Object

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"

CONSTANTS: Constants = {
    "apps.v1.DeploymentSpec": {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
    "apps.v1.DeploymentStrategy": {"type": "RollingUpdate"},
    "apps.v1.DaemonSetSpec": {"revisionHistoryLimit": 10},
    "apps.v1.DaemonSetUpdateStrategy": {"type": "RollingUpdate"},
    "apps.v1.StatefulSetSpec": {
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "podManagementPolicy": "OrderedReady",
        "persistentVolumeClaimRetentionPolicy": {},
    },
    "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    "apps.v1.ReplicaSetSpec": {"replicas": 1},
}


def _deployment_strategy(strategy: Object) -> None:
    _rolling(strategy, unavailable="25%", surge="25%")


def _daemon_set_strategy(strategy: Object) -> None:
    _rolling(strategy, unavailable=1, surge=0)


def _rolling(strategy: Object, *, unavailable: int | str, surge: int | str) -> None:
    if strategy["type"] != "RollingUpdate":
        unavailable = surge = 0  # inside the server they are no pointers
        if "rollingUpdate" not in strategy:
            return
    rolling = strategy.setdefault("rollingUpdate", {})
    rolling.setdefault("maxUnavailable", unavailable)
    rolling.setdefault("maxSurge", surge)


def _stateful_set_strategy(strategy: Object) -> None:
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    # One that names its type and says no more stays without.
    if "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)


def _stateful_set_spec(spec: Object) -> None:
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"


def _daemon_set(daemon_set: Object) -> None:
    """A number that only an older API had as a field is carried in an annotation, which is always written."""
    annotations = daemon_set["metadata"].get("annotations") or {}
    if TEMPLATE_GENERATION not in annotations:
        daemon_set["metadata"]["annotations"] = {**annotations, TEMPLATE_GENERATION: "0"}


FUNCTIONS: Functions = {
    "apps.v1.DaemonSet": _daemon_set,
    "apps.v1.DeploymentStrategy": _deployment_strategy,
    "apps.v1.DaemonSetUpdateStrategy": _daemon_set_strategy,
    "apps.v1.StatefulSetUpdateStrategy": _stateful_set_strategy,
    "apps.v1.StatefulSetSpec": _stateful_set_spec,
}
