"""What people do to nodes: cordon them, drain them, and put them back, as kubectl does it."""

import msgspec

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.controllers.podfacts import is_finished
from kubedyno.kit.clock import Clock
from kubedyno.kit.tasks import owning
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PODS

_RETRY_S = 5.0
"""How long kubectl waits before it asks a disruption budget again."""
_LOOK_S = 1.0
"""How often kubectl looks whether a pod is gone."""
_MIRROR = "kubernetes.io/config.mirror"


class Cordon(msgspec.Struct, frozen=True, tag="cordon", tag_field="kind"):
    """No new pods."""


class Drain(msgspec.Struct, frozen=True, kw_only=True, tag="drain", tag_field="kind", rename="camel"):
    """No new pods, and those that are there are evicted."""

    grace_s: int | None = msgspec.field(default=None, name="graceSeconds")
    """Seconds that pods get to end; None: what they ask for themselves."""


Maintenance = Cordon | Drain


async def set_unschedulable(client: Client, name: str, *, unschedulable: bool) -> None:
    """Cordon a node, or lift that."""
    await client.patch(NODES, name, {"spec": {"unschedulable": unschedulable or None}}, kind="merge")


async def evict_all(client: Client, clock: Clock, name: str, *, grace_s: int | None) -> None:
    """Evict the pods of a node and wait until they are gone.

    As `kubectl drain --ignore-daemonsets --delete-emptydir-data --force`: pods of daemon sets and of the node's own
    files stay; disruption budgets are asked until they allow it. Waits without end: the caller knows how long.
    """
    listing = await client.list_all(PODS, field_selector=f"spec.nodeName={name}")
    pods = [pod for pod in listing.items if leaves(pod)]
    async with owning() as group:
        for pod in pods:
            group.create_task(_evict(client, clock, pod, grace_s))


def leaves(pod: Object) -> bool:
    """Whether a drain concerns the pod."""
    owner = meta.controller_owner(pod)
    of_daemon_set = owner is not None and owner.get("kind") == "DaemonSet"
    return _MIRROR not in meta.annotations(pod) and (is_finished(pod) or not of_daemon_set)


async def _evict(client: Client, clock: Clock, pod: Object, grace_s: int | None) -> None:
    namespace, name = meta.key(pod)
    eviction: Object = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": {
            "preconditions": {"uid": pod["metadata"]["uid"]},
            **({} if grace_s is None else {"gracePeriodSeconds": grace_s}),
        },
    }
    while True:
        try:
            await client.create(PODS, eviction, namespace=namespace, name=name, subresource="eviction")
        except ApiError as error:
            if error.is_not_found or error.is_conflict:
                return  # gone, or another pod has its name now
            if not error.is_too_many_requests and not _is_ending(error):
                raise
            await clock.sleep(_RETRY_S)
        else:
            break
    while await _is_there(client, pod):
        await clock.sleep(_LOOK_S)


def _is_ending(error: ApiError) -> bool:
    """Whether the pod's namespace is being deleted, and the pod with it."""
    return any(cause.reason == "NamespaceTerminating" for cause in error.causes)


async def _is_there(client: Client, pod: Object) -> bool:
    namespace, name = meta.key(pod)
    try:
        found = await client.get(PODS, name, namespace=namespace)
    except ApiError as error:
        if error.is_not_found:
            return False
        raise
    return bool(found["metadata"]["uid"] == pod["metadata"]["uid"])
