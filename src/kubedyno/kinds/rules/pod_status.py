"""Rules of what the status of a pod may become."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.addresses import ip_problems, is_dual_stack
from kubedyno.kinds.rules.amounts import is_native
from kubedyno.kinds.rules.fields import formatted, immutable
from kubedyno.kinds.rules.restarting import may_restart_all, may_start_again
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, forbidden, invalid, not_supported, required, too_long
from kubedyno.kube.quantities import Quantity

_OWN_CONDITIONS: Final = {"PodScheduled", "Ready", "Initialized"}
_LISTS: Final = (
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
)
_HEALTHS: Final = ("Healthy", "Unhealthy", "Unknown")
_HEALTH_MESSAGE_LIMIT: Final = 1024
_TWO_FAMILIES: Final = 2


def status_problems(new: Object, old: Object) -> Iterator[Problem]:
    """What is wrong with a status update of a pod, its metadata aside."""
    spec, status = new.get("spec") or {}, new.get("status") or {}
    before = old.get("status") or {}
    yield from _condition_problems(status.get("conditions") or ())
    yield from _node_problems(new, old)
    if status.get("observedGeneration", 0) < 0:
        at = "status.observedGeneration"
        yield invalid(at, status["observedGeneration"], "must be a non-negative integer")
    yield from immutable(status.get("qosClass", ""), before.get("qosClass", ""), "status.qosClass")
    for name, part in _LISTS:
        yield from _transition_problems(name, part, status, before, old.get("spec") or {})
    yield from _claim_problems(status.get("resourceClaimStatuses") or (), spec)
    yield from _extended_claim_problems(status.get("extendedResourceClaimStatus"), spec)
    yield from _allocatable_claim_problems(status, spec)
    yield from _address_problems(status, before, "podIPs")
    host_ips = status.get("hostIPs") or ()
    if host_ips and host_ips[0].get("ip", "") != status.get("hostIP", ""):
        yield invalid("status.hostIPs[0].ip", host_ips[0].get("ip", ""), "must be equal to `hostIP`")
    yield from _address_problems(status, before, "hostIPs")
    for name, _ in _LISTS:
        yield from _user_problems(name, status, spec)
    for name, part in _LISTS:
        yield from _health_problems(name, part, status, spec)


def _condition_problems(conditions: Sequence[Object]) -> Iterator[Problem]:
    for index, condition in enumerate(conditions):
        at = f"status.conditions[{index}]"
        generation = condition.get("observedGeneration", 0)
        if generation < 0:
            yield invalid(f"{at}.observedGeneration", generation, "must be a non-negative integer")
        if condition.get("type") not in _OWN_CONDITIONS:
            yield from formatted(condition.get("type", ""), f"{at}.Type", texts.label_key)


def _node_problems(new: Object, old: Object) -> Iterator[Problem]:
    node, before = ((pod.get("spec") or {}).get("nodeName", "") for pod in (new, old))
    if node != before:
        yield forbidden("status.nodeName", "may not be changed directly")
    nominated, earlier = ((pod.get("status") or {}).get("nominatedNodeName", "") for pod in (new, old))
    if nominated and nominated != earlier:
        yield from formatted(nominated, "status.nominatedNodeName", texts.dns1123_subdomain)
        if before:
            detail = "may not be set on pods that are already bound to a node"
            yield forbidden("status.nominatedNodeName", detail)


def _transition_problems(name: str, part: str, status: Object, before: Object, spec: Object) -> Iterator[Problem]:
    """A container that ended stays so, unless the kubelet may start it again."""
    if part != "ephemeralContainers" and may_restart_all(spec):
        return
    states = {entry.get("name", ""): entry.get("state") or {} for entry in reversed(status.get(name) or ())}
    containers = {container.get("name", ""): container for container in spec.get(part) or ()}
    for index, entry in enumerate(before.get(name) or ()):
        ended = (entry.get("state") or {}).get("terminated")
        state = states.get(entry.get("name", ""))
        if ended is None or state is None or state.get("terminated") is not None:
            continue
        container = containers.get(entry.get("name", "")) if part != "ephemeralContainers" else None
        if container is None or not may_start_again(container, spec.get("restartPolicy", ""), ended.get("exitCode", 0)):
            yield forbidden(f"status.{name}[{index}].state", "may not be transitioned to non-terminated state")


def _claim_problems(statuses: Sequence[Object], spec: Object) -> Iterator[Problem]:
    known = {claim.get("name", "") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for index, status in enumerate(statuses):
        at = f"status.resourceClaimStatuses[{index}]"
        name = status.get("name", "")
        if name not in known:
            yield invalid(f"{at}.name", name, "must match the name of an entry in `spec.resourceClaims`")
        if name in seen:
            yield duplicate(f"{at}.name", name)
        seen.add(name)
        if (claim := status.get("resourceClaimName")) is not None:
            yield from formatted(claim, f"{at}.resourceClaimName", texts.dns1123_subdomain)


def _extended_claim_problems(status: Object | None, spec: Object) -> Iterator[Problem]:
    if status is None:
        return
    path = "status.extendedResourceClaimStatus"
    containers = {
        container.get("name", ""): container
        for part in ("initContainers", "containers")
        for container in spec.get(part) or ()
    }
    if not status.get("requestMappings"):
        yield required(f"{path}.requestMappings", "at least one request mapping is required")
    seen: set[tuple[str, ...]] = set()
    for index, mapping in enumerate(status.get("requestMappings") or ()):
        at = f"{path}.requestMappings[{index}]"
        fields = ("containerName", "resourceName", "requestName")
        container, resource, request = values = tuple(mapping.get(field, "") for field in fields)
        where = "spec.initContainers.{0} or spec.containers.{0}"
        if container not in containers:
            detail = f"must match the name of an entry in {where.format('name')}"
            yield invalid(f"{at}.containerName", container, detail)
        elif resource not in ((containers[container].get("resources") or {}).get("requests") or {}):
            detail = f"must match the extended resource name of an entry in {where.format('resources.requests')}"
            yield invalid(f"{at}.resourceName", resource, detail)
        yield from formatted(request, f"{path}.requestName", texts.dns1123_label)
        if values in seen:
            yield from (duplicate(f"{at}.{field}", value) for field, value in zip(fields, values, strict=True))
        seen.add(values)
    if not status.get("resourceClaimName"):
        yield required(f"{path}.resourceClaimName")
    else:
        yield from formatted(status["resourceClaimName"], f"{path}.resourceClaimName", texts.dns1123_subdomain)


def _allocatable_claim_problems(status: Object, spec: Object) -> Iterator[Problem]:
    references = (*(spec.get("resourceClaims") or ()), *(status.get("resourceClaimStatuses") or ()))
    known = {reference.get("resourceClaimName") for reference in references}
    for index, entry in enumerate(status.get("nodeAllocatableResourceClaimStatuses") or ()):
        at = f"status.nodeAllocatableResourceClaimStatuses[{index}]"
        name = entry.get("resourceClaimName", "")
        if not name:
            yield required(f"{at}.resourceClaimName", "must not be empty")
        if name not in known:
            yield invalid(f"{at}.resourceClaimName", name, "no mapping found in pod reference")
        for field in ("containers", "resources"):
            if not entry.get(field):
                yield required(f"{at}.{field}", "must not be empty")
        for resource, written in (entry.get("resources") or {}).items():
            if not is_native(resource):
                yield invalid(f"{at}.resources[{resource}]", resource, "must be a node allocatable resource name")
            amount = Quantity.parse(written)
            if amount.nanos < 0:
                yield invalid(f"{at}.resources[{resource}]", str(amount), "must be non-negative")


def _address_problems(status: Object, before: Object, name: str) -> Iterator[Problem]:
    path = f"status.{name}"
    accepted = [entry.get("ip", "") for entry in before.get(name) or ()]
    addresses = [entry.get("ip", "") for entry in status.get(name) or ()]
    for index, address in enumerate(addresses):
        yield from ip_problems(f"{path}[{index}]", address, accepted)
    if len(addresses) > 1 and (not is_dual_stack(addresses) or len(addresses) > _TWO_FAMILIES):
        shown = [{"IP": address} for address in addresses]
        yield invalid(path, shown, "may specify no more than one IP for each IP family")


def _user_problems(name: str, status: Object, spec: Object) -> Iterator[Problem]:
    system = (spec.get("os") or {}).get("name", "") if spec.get("os") is not None else "linux"
    for index, entry in enumerate(status.get(name) or ()):
        user = (entry.get("user") or {}).get("linux")
        at = f"status.{name}[{index}].user.linux"
        if user is None:
            continue
        if system == "windows":
            yield forbidden(at, "cannot be set for a windows pod")
        elif system == "linux":
            yield from _linux_user_problems(user, at)


def _linux_user_problems(user: Object, path: str) -> Iterator[Problem]:
    numbers: list[tuple[str, Any]] = [("uid", user.get("uid", 0)), ("gid", user.get("gid", 0))]
    numbers += [(f"supplementalGroups[{at}]", group) for at, group in enumerate(user.get("supplementalGroups") or ())]
    for name, number in numbers:
        for told in texts.user_or_group_id(number):
            yield invalid(f"{path}.{name}", number, told)


def _health_problems(name: str, part: str, status: Object, spec: Object) -> Iterator[Problem]:
    containers = {container.get("name", ""): container for container in spec.get(part) or ()}
    for index, entry in enumerate(status.get(name) or ()):
        path = f"status.{name}[{index}].allocatedResourcesStatus"
        allocated = entry.get("allocatedResourcesStatus") or ()
        if part == "ephemeralContainers":
            if allocated:
                yield forbidden(path, "must not be specified in container status")
            continue
        for place, resource in enumerate(allocated):
            at = f"{path}[{place}]"
            if (container := containers.get(entry.get("name", ""))) is not None:
                yield from _allocated_name_problems(resource.get("name", ""), container, f"{at}.name")
            yield from _device_problems(resource.get("resources") or (), f"{at}.resources")


def _allocated_name_problems(name: str, container: Object, path: str) -> Iterator[Problem]:
    resources = container.get("resources") or {}
    if name.startswith("claim:"):
        known = {
            f"claim:{claim.get('name', '')}" + (f"/{claim['request']}" if claim.get("request") else "")
            for claim in resources.get("claims") or ()
        }
        detail = (
            "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' "
            "or 'claim:<claimName>' if request is empty"
        )
    else:
        known = set(resources.get("requests") or ())
        detail = "must match one of the container's resource requests"
    if name not in known:
        yield invalid(path, name, detail)


def _device_problems(devices: Sequence[Object], path: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, device in enumerate(devices):
        at = f"{path}[{index}]"
        if device.get("health", "") not in _HEALTHS:
            yield not_supported(f"{at}.health", device.get("health", ""), _HEALTHS)
        if (message := device.get("message")) is not None:
            if not message:
                yield required(f"{at}.message", "must be non-empty if specified")
            elif texts.byte_length(message) > _HEALTH_MESSAGE_LIMIT:
                yield too_long(f"{at}.message", _HEALTH_MESSAGE_LIMIT)
        identity = device.get("resourceID", "")
        if identity in seen:
            yield duplicate(f"{at}.resourceID", identity)
        seen.add(identity)
