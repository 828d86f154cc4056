"""The priority classes that workloads name, on every scheduler."""

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PRIORITY_CLASSES
from kubedyno.model.workloads import PRIORITIES


def priority_classes() -> list[Object]:
    """One object for each of the known priorities."""
    return [
        {
            "apiVersion": PRIORITY_CLASSES.api_version,
            "kind": PRIORITY_CLASSES.kind,
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in PRIORITIES.items()
    ]
