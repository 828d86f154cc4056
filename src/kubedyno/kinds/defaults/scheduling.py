"""Defaults of PriorityClasses; those of PodGroups are in the table of types."""

from kubedyno.kinds.defaults.walking import Constants

CONSTANTS: Constants = {"scheduling.v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"}}
