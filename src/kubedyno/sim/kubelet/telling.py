"""Events of a kubelet about its pods: written for what users must see, and lost rather than waited for."""

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit.logs import Log
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CORE_EVENTS
from kubedyno.sim.kubelet import sending

_COMPONENT = "kubelet"
_log = Log("sim.kubelet")


def event(about: Object, reason: str, message: str, *, host: str, now_ns: int) -> Object:
    """A warning about an object, as the kubelet of node `host` writes it."""
    metadata = about["metadata"]
    now = seconds_text(now_ns)
    namespace = metadata.get("namespace") or "default"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata['name']}.{now_ns:x}", "namespace": namespace},
        "involvedObject": {
            "apiVersion": about.get("apiVersion", "v1"),
            "kind": about.get("kind", "Pod"),
            "name": metadata["name"],
            "namespace": metadata.get("namespace", ""),
            "uid": metadata["uid"],
        },
        "type": "Warning",
        "reason": reason,
        "message": message,
        "source": {"component": _COMPONENT, "host": host},
        "reportingComponent": _COMPONENT,
        "reportingInstance": host,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


async def tell(client: Client, told: Object) -> None:
    """Write an event once; as with a kubelet, one that the server does not take is lost: its namespace may end."""
    try:
        await sending.send(client, "POST", CORE_EVENTS.path(namespace=told["metadata"]["namespace"]), told)
    except ApiError as error:
        _log.debug("an event was refused", name=told["metadata"]["name"], error=error)
