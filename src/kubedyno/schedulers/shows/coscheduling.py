"""What the PodGroup of scheduler-plugins shows."""

from kubedyno.kube.codec import Object
from kubedyno.model.lifecycles import Shown
from kubedyno.schedulers.shows.conditions import created


def coscheduling_pod_group(obj: Object) -> list[Shown]:
    """Created, with how many of its pods must start together.

    Its scheduler writes no status: what it waits for is told by the conditions of its pods.
    """
    return [created(obj, str(obj["spec"].get("minMember") or 1))]
