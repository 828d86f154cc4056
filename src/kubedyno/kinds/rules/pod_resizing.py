"""Rules of the resize of a pod: cpu and memory of its containers may change while it runs."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubedyno.kinds.rules.fields import NO_FIELD
from kubedyno.kinds.rules.pod_annotations import MIRROR
from kubedyno.kinds.strategies.qos import qos_class
from kubedyno.kube.codec import Object
from kubedyno.kube.meta import annotations
from kubedyno.kube.problems import Problem, forbidden, invalid

_RESIZED: Final = ("cpu", "memory")
_OTHERS: Final = "only cpu and memory resources are mutable"


def resize_problems(new: Object, old: Object, state_problems: Sequence[Problem]) -> Iterator[Problem]:
    """What is wrong with a resize; `state_problems` are those of the new state itself."""
    if MIRROR in annotations(old):
        yield forbidden(NO_FIELD, "static pods cannot be resized")
        return
    if ((old.get("spec") or {}).get("os") or {}).get("name") == "windows":
        yield forbidden(NO_FIELD, "windows pods cannot be resized")
        return
    found = [*state_problems, *_pod_problems(new, old)]
    misplaced = list(_order_problems(new, old))
    found += misplaced
    if not misplaced:
        found += _container_problems(new, old)
    yield from found
    if not found and _without_resized(new) != _without_resized(old):
        yield forbidden("spec", _OTHERS)


def _pod_problems(new: Object, old: Object) -> Iterator[Problem]:
    status = old.get("status") or {}
    if (status.get("qosClass") or qos_class(old)) != qos_class(new):
        shown = (new.get("status") or {}).get("qosClass", "")
        yield invalid("spec", shown, "Pod QOS Class may not change as a result of resizing")
    if not _supports_resize(status):
        yield forbidden("spec", "Pod running on node without support for resize")
    of_pod, before = (new.get("spec") or {}).get("resources"), (old.get("spec") or {}).get("resources")
    if _is_set(of_pod) or _is_set(before):
        yield from _pod_level_problems(of_pod, before)
    if status.get("nodeAllocatableResourceClaimStatuses"):
        yield forbidden("spec", "pods with node allocatable resource claims cannot be resized")


def _supports_resize(status: Object) -> bool:
    running = (entry for entry in status.get("containerStatuses") or () if (entry.get("state") or {}).get("running"))
    first = next(running, None)
    return first is None or first.get("resources") is not None


def _is_set(resources: Object | None) -> bool:
    return bool((resources or {}).get("requests") or (resources or {}).get("limits"))


def _pod_level_problems(new: Object | None, old: Object | None) -> Iterator[Problem]:
    if old is not None and new is None:
        yield forbidden("spec.resources", "pod-level resources cannot be removed")
        return
    for part in ("requests", "limits"):
        if old is not None and _removed(new, old, part):
            yield forbidden(f"spec.resources.{part}", f"pod-level resource {part} cannot be removed")
    if _others(new) != _others(old):
        yield forbidden("spec", f"{_OTHERS} at pod-level")


def _order_problems(new: Object, old: Object) -> Iterator[Problem]:
    for part in ("containers", "initContainers"):
        containers, before = _containers(new, part), _containers(old, part)
        if len(containers) != len(before):
            yield forbidden(f"spec.{part}", f"{part} may not be added or removed on resize")
            continue
        for index, (container, was) in enumerate(zip(containers, before, strict=True)):
            if container.get("name") != was.get("name"):
                yield forbidden(f"spec.{part}[{index}].name", f"{part} may not be renamed or reordered on resize")


def _container_problems(new: Object, old: Object) -> Iterator[Problem]:
    for part in ("initContainers", "containers"):
        for index, (container, before) in enumerate(_pairs(new, old, part)):
            for amounts in ("requests", "limits"):
                if _removed(container.get("resources"), before.get("resources"), amounts):
                    at = f"spec.{part}[{index}].resources.{amounts}"
                    yield forbidden(at, f"resource {amounts} cannot be removed")
    for container, before in _pairs(new, old, "containers"):
        if _changed_otherwise(container, before):
            yield forbidden("spec", _OTHERS)
    for index, (container, before) in enumerate(_pairs(new, old, "initContainers")):
        yield from _init_container_problems(container, before, f"spec.initContainers[{index}]")


def _init_container_problems(container: Object, before: Object, path: str) -> Iterator[Problem]:
    if _changed_otherwise(container, before):
        yield forbidden(path, "only cpu and memory resources for init or sidecar containers are mutable")
    if container != before and container.get("restartPolicy") != "Always":
        detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
        for policy in container.get("resizePolicy") or ():
            if policy.get("restartPolicy") == "RestartContainer":
                yield forbidden(path, detail)


def _pairs(new: Object, old: Object, part: str) -> Iterator[tuple[Object, Object]]:
    return zip(_containers(new, part), _containers(old, part), strict=True)


def _changed_otherwise(container: Object, before: Object) -> bool:
    # As in Kubernetes, the resources that are compared have lost their claims on the new side only.
    claims = (before.get("resources") or {}).get("claims")
    return bool(claims) or _stripped(container) != _stripped(before)


def _stripped(container: Object) -> Object:
    return {**container, "resources": {**_others(container.get("resources")), "claims": None}}


def _others(resources: Object | None) -> dict[str, Any]:
    """Requests and limits of what no resize may change, and the claims."""
    given = resources or {}
    parts = ("requests", "limits")
    others = {
        part: {name: amount for name, amount in (given.get(part) or {}).items() if name not in _RESIZED}
        for part in parts
    }
    return {**others, "claims": given.get("claims") or None}


def _removed(new: Object | None, old: Object | None, part: str) -> bool:
    return bool(((old or {}).get(part) or {}).keys() - ((new or {}).get(part) or {}).keys())


def _containers(pod: Object, part: str) -> Sequence[Object]:
    containers: Sequence[Object] = (pod.get("spec") or {}).get(part) or ()
    return containers


def _without_resized(pod: Object) -> Object:
    spec = dict(pod.get("spec") or {})
    for part in ("containers", "initContainers"):
        spec[part] = [_stripped(container) for container in _containers(pod, part)]
    spec["resources"] = _others(spec.get("resources"))
    return spec
