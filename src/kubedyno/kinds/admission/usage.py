"""What an object uses of a quota: the names that quotas know, with amounts."""

from collections.abc import Iterable, Sequence

from kubedyno.kinds.admission import totals
from kubedyno.kinds.admission.storage import claim_class
from kubedyno.kinds.admission.totals import Amounts
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.resources import Resource

_ONE = Quantity.parse(1)
_ZERO = Quantity.parse(0)
_ENDED = ("Succeeded", "Failed")
_PODS = frozenset(
    {"count/pods", "pods"}
    | {f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory", "ephemeral-storage")}
)
_SERVICES = frozenset({"count/services", "services", "services.nodeports", "services.loadbalancers"})
_BY_STORAGE_CLASS = ".storageclass.storage.k8s.io/"
_CLAIM_NAMES = ("persistentvolumeclaims", "requests.storage")
_BY_DEVICE_CLASS = ".deviceclass.resource.k8s.io/devices"
_ALL_DEVICES = 32
_COUNTED_BY_NAME = frozenset({"configmaps", "resourcequotas", "replicationcontrollers", "secrets"})


def count_name(resource: Resource) -> str:
    """What a quota on the number of objects is called: `count/jobs.batch`."""
    return f"count/{resource.full_name}"


def concerned(names: Iterable[str], resource: Resource) -> list[str]:
    """Of the names in a quota, those that objects of this kind use."""
    key = resource.group, resource.plural
    if key == ("", "pods"):
        return [name for name in names if name in _PODS or _is_of_pods(name)]
    if key == ("", "services"):
        return [name for name in names if name in _SERVICES]
    if key == ("", "persistentvolumeclaims"):
        ends = tuple(_BY_STORAGE_CLASS + name for name in _CLAIM_NAMES)
        return [name for name in names if name in (count_name(resource), *_CLAIM_NAMES) or name.endswith(ends)]
    if key == ("resource.k8s.io", "resourceclaims"):
        return [name for name in names if name == count_name(resource) or name.endswith(_BY_DEVICE_CLASS)]
    counted = object_count(resource)
    return [name for name in names if name in counted]


def object_count(resource: Resource) -> Amounts:
    """The usage of kinds of which only the number counts."""
    names = [count_name(resource)]
    if not resource.group and resource.plural in _COUNTED_BY_NAME:
        names.append(resource.plural)
    return dict.fromkeys(names, _ONE)


def usage(obj: Object, resource: Resource) -> Amounts:
    """What the object uses."""
    key = resource.group, resource.plural
    if key == ("", "pods"):
        return pod_usage(obj)
    if key == ("", "services"):
        return _service_usage(obj["spec"])
    if key == ("", "persistentvolumeclaims"):
        return _claim_usage(obj)
    if key == ("resource.k8s.io", "resourceclaims"):
        return _device_usage(obj, resource)
    return object_count(resource)


def pod_usage(pod: Object) -> Amounts:
    """What a pod uses; one that ended is only counted."""
    if (pod.get("status") or {}).get("phase") in _ENDED:
        return {"count/pods": _ONE}
    return {"count/pods": _ONE, **named_for_quota(totals.pod_requests(pod), totals.pod_limits(pod))}


def named_for_quota(requests: Amounts, limits: Amounts) -> Amounts:
    """Requests and limits under the names that quotas have for them."""
    used: Amounts = {"pods": _ONE}
    for name, amount in requests.items():
        if name in ("cpu", "memory", "ephemeral-storage") or name.startswith("hugepages-"):
            used[name] = used[f"requests.{name}"] = amount
        elif is_extended(name):
            used[f"requests.{name}"] = amount
    for name in ("cpu", "memory", "ephemeral-storage"):
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    return used


def is_extended(name: str) -> bool:
    """Whether it is a resource that Kubernetes itself does not know, or a device asked for by its class."""
    if name.startswith("deviceclass.resource.kubernetes.io/"):
        return True
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def _is_of_pods(name: str) -> bool:
    if name.startswith(("hugepages-", "requests.hugepages-")):
        return True
    return name.startswith("requests.") and is_extended(name.removeprefix("requests."))


def _service_usage(spec: Object) -> Amounts:
    ports: Sequence[Object] = spec.get("ports") or ()
    exposed = 0
    if spec.get("type") == "NodePort" or (
        spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True)
    ):
        exposed = len(ports)
    elif spec.get("type") == "LoadBalancer":
        exposed = sum(1 for port in ports if port.get("nodePort"))
    return {
        "count/services": _ONE,
        "services": _ONE,
        "services.nodeports": Quantity.parse(exposed),
        "services.loadbalancers": _ONE if spec.get("type") == "LoadBalancer" else _ZERO,
    }


def _claim_usage(claim: Object) -> Amounts:
    used = {"persistentvolumeclaims": _ONE, "count/persistentvolumeclaims": _ONE}
    name = claim_class(claim)
    if name:
        used[f"{name}{_BY_STORAGE_CLASS}persistentvolumeclaims"] = _ONE
    requested = totals.parsed((claim["spec"].get("resources") or {}).get("requests"))
    if "storage" in requested:
        totals.raise_to(requested, totals.parsed((claim.get("status") or {}).get("allocatedResources")))
        used["requests.storage"] = requested["storage"]
        if name:
            used[f"{name}{_BY_STORAGE_CLASS}requests.storage"] = requested["storage"]
    return used


def _device_usage(claim: Object, resource: Resource) -> Amounts:
    used = {count_name(resource): _ONE}
    for request in ((claim["spec"].get("devices") or {}).get("requests")) or ():
        # Of alternatives, the worst case of each class counts.
        worst: dict[str, int] = {}
        for each in request.get("firstAvailable") or [request.get("exactly") or {}]:
            name = each.get("deviceClassName", "")
            number = _ALL_DEVICES if each.get("allocationMode") == "All" else each.get("count", 0)
            worst[name] = max(worst.get(name, 0), number)
        totals.add(used, {f"{name}{_BY_DEVICE_CLASS}": Quantity.parse(number) for name, number in worst.items()})
    return used
