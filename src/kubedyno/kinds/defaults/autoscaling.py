"""Defaults of HorizontalPodAutoscalers."""

import copy
from typing import Any

from kubedyno.kinds.defaults.walking import Constants, Functions
from kubedyno.kube.codec import Object

_CPU_PERCENT = 80
_CPU: dict[str, Any] = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": _CPU_PERCENT}},
}
_UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_DOWN = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}

CONSTANTS: Constants = {
    "autoscaling.v2.HorizontalPodAutoscalerSpec": {"minReplicas": 1, "metrics": [_CPU]},
    # Other metrics are told by annotations in v1; they are not looked at.
    "autoscaling.v1.HorizontalPodAutoscalerSpec": {"minReplicas": 1, "targetCPUUtilizationPercentage": _CPU_PERCENT},
}


def _behavior(behavior: Object) -> None:
    for direction, rules in (("scaleUp", _UP), ("scaleDown", _DOWN)):
        behavior[direction] = {**copy.deepcopy(rules), **(behavior.get(direction) or {})}


FUNCTIONS: Functions = {"autoscaling.v2.HorizontalPodAutoscalerBehavior": _behavior}
