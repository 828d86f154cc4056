"""Amounts of resources: lists of them added up, and what a pod as a whole asks for and may use."""

from collections.abc import Iterable, Mapping

from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity

Amounts = dict[str, Quantity]
"""Quantities by resource name."""


def parsed(written: Mapping[str, str] | None) -> Amounts:
    """The amounts of a resource list."""
    return {name: Quantity.parse(amount) for name, amount in (written or {}).items()}


def add(total: Amounts, more: Amounts) -> None:
    """Add to the total, in place."""
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def raise_to(total: Amounts, least: Amounts) -> None:
    """Have at least these amounts, in place."""
    for name, amount in least.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def pod_requests(pod: Object, *, with_status: bool = True) -> Amounts:
    """What a pod asks for: all containers at once, but at least what initialising takes; then its overhead.

    `with_status` counts what running containers really hold while they are being resized.
    """
    total = _aggregated(pod, "requests", with_status=with_status)
    _override(total, pod, "requests")
    add(total, parsed(pod["spec"].get("overhead")))
    return total


def pod_limits(pod: Object) -> Amounts:
    """What a pod may use at most; overhead counts where there is a limit."""
    total = _aggregated(pod, "limits", with_status=True)
    _override(total, pod, "limits")
    for name, amount in parsed(pod["spec"].get("overhead")).items():
        if name in total and not total[name].is_zero():
            total[name] += amount
    return total


def without_overhead(pod: Object, kind: str) -> Amounts:
    """Requests or limits as LimitRanger adds them up: neither overhead nor status, and fewer resources of the pod."""
    total = _aggregated(pod, kind, with_status=False)
    amounts = parsed((pod["spec"].get("resources") or {}).get(kind))
    total.update({name: amount for name, amount in amounts.items() if name in ("cpu", "memory")})
    return total


def is_pod_level(name: str) -> bool:
    """Whether the resource can be asked for by the pod as a whole."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _override(total: Amounts, pod: Object, kind: str) -> None:
    amounts = parsed((pod["spec"].get("resources") or {}).get(kind))
    total.update({name: amount for name, amount in amounts.items() if is_pod_level(name)})


def _aggregated(pod: Object, kind: str, *, with_status: bool) -> Amounts:
    spec = pod["spec"]
    held = _held(pod, kind) if with_status and pod.get("status") else {}
    total: Amounts = {}
    for container in spec.get("containers") or ():
        add(total, _of_container(container, kind, held))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            amounts = _of_container(container, kind, held)
            add(total, amounts)
            add(sidecars, amounts)
            raise_to(peak, sidecars)
        else:
            # It runs beside the sidecars that were started before it.
            amounts = _of_container(container, kind, {})
            add(amounts, sidecars)
            raise_to(peak, amounts)
    raise_to(total, peak)
    return total


def _of_container(container: Object, kind: str, held: Mapping[str, list[Amounts]]) -> Amounts:
    amounts = parsed((container.get("resources") or {}).get(kind))
    for more in held.get(container["name"], ()):
        raise_to(amounts, more)
    return amounts


def _held(pod: Object, kind: str) -> dict[str, list[Amounts]]:
    """What the containers hold according to their statuses, by name."""
    statuses: Iterable[Object] = (
        *(pod["status"].get("containerStatuses") or ()),
        *(pod["status"].get("initContainerStatuses") or ()),
    )
    held = {}
    for status in statuses:
        if "resources" in status:
            amounts = [parsed(status["resources"].get(kind))]
            if kind == "requests":
                amounts.append(parsed(status.get("allocatedResources")))
            held[status["name"]] = amounts
    return held
