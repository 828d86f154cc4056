"""Rules of resource names and amounts: `cpu`, `hugepages-2Mi`, `example.com/gpu`."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.fields import NOT_NEGATIVE, NOT_POSITIVE, formatted
from kubedyno.kube.problems import Problem, invalid, not_supported
from kubedyno.kube.quantities import Quantity

HUGE_PAGES: Final = "hugepages-"
_REQUESTS: Final = "requests."
_NATIVE_DOMAIN: Final = "kubernetes.io/"

_COUNTED: Final = {
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
}  # fmt: skip
_COMPUTE: Final = {"cpu", "memory", "ephemeral-storage"}
_OF_QUOTAS: Final = _COUNTED | _COMPUTE | {
    "requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage",
    "limits.cpu", "limits.memory", "limits.ephemeral-storage",
}  # fmt: skip
_STANDARD: Final = _OF_QUOTAS | {"storage"}
_OF_PODS: Final = {"cpu", "memory"}


def is_huge_pages(name: str) -> bool:
    """Whether the resource is huge pages of some size."""
    return name.startswith(HUGE_PAGES)


def is_native(name: str) -> bool:
    """Whether the resource is Kubernetes' own: without a domain, or with one of kubernetes.io."""
    return "/" not in name or _NATIVE_DOMAIN in name


def is_extended(name: str) -> bool:
    """Whether the resource is somebody else's, like a device."""
    return not is_native(name) and not name.startswith(_REQUESTS) and not texts.label_key(f"{_REQUESTS}{name}")


def may_overcommit(name: str) -> bool:
    """Whether a limit may be higher than the request."""
    return is_native(name) and not is_huge_pages(name)


def is_standard_of_quotas(name: str) -> bool:
    """Whether a quota may name it without a domain."""
    return name in _OF_QUOTAS or _is_huge_pages_of_quotas(name)


def resource_name_problems(name: str, path: str) -> Iterator[Problem]:
    """The name of any resource."""
    if wrong := list(formatted(name, path, texts.label_key)):
        yield from wrong
    elif "/" not in name and name not in _STANDARD and not _is_huge_pages_of_quotas(name):
        yield invalid(path, name, "must be a standard resource type or fully qualified")


def container_resource_name_problems(name: str, path: str) -> Iterator[Problem]:
    """The name of a resource that a container can ask for."""
    yield from resource_name_problems(name, path)
    if "/" not in name:
        if name not in _COMPUTE and not is_huge_pages(name):
            yield invalid(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield invalid(path, name, "doesn't follow extended resource name standard")


def pod_resource_name_problems(name: str, path: str) -> Iterator[Problem]:
    """The name of a resource that a pod as a whole can ask for."""
    if wrong := list(resource_name_problems(name, path)):
        yield from wrong
    elif name not in _OF_PODS and not is_huge_pages(name):
        yield not_supported(path, name, ("cpu", HUGE_PAGES, "memory"))


def quota_resource_name_problems(name: str, path: str) -> Iterator[Problem]:
    """The name of a resource that a quota can bound."""
    yield from resource_name_problems(name, path)
    if "/" not in name and not is_standard_of_quotas(name):
        yield invalid(path, name, "must be a standard resource for quota")


def nonnegative_amount(written: str, path: str) -> Iterator[Problem]:
    """An amount that is not below nothing."""
    amount = Quantity.parse(written)
    if amount.nanos < 0:
        yield invalid(path, str(amount), NOT_NEGATIVE)


def positive_amount(written: str, path: str) -> Iterator[Problem]:
    """An amount of something."""
    amount = Quantity.parse(written)
    if amount.nanos <= 0:
        yield invalid(path, str(amount), NOT_POSITIVE)


def basic_amount(written: str, path: str) -> Iterator[Problem]:
    """An amount whose whole units are not below nothing."""
    whole = Quantity.parse(written).to_int()
    if whole < 0:
        yield invalid(path, whole, "must be a valid resource quantity")


def amount_problems(name: str, written: str, path: str) -> Iterator[Problem]:
    """An amount of that resource: not negative, and whole where things are counted."""
    yield from nonnegative_amount(written, path)
    amount = Quantity.parse(written)
    if (name in _COUNTED or is_extended(name)) and amount.milli() % 1000 != 0:
        yield invalid(path, str(amount), "must be an integer")


def huge_pages_problems(name: str, written: str, path: str) -> Iterator[Problem]:
    """An amount of huge pages is so many whole pages."""
    amount = Quantity.parse(written)
    if not _is_whole_pages(name, amount):
        yield invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}")


def _is_whole_pages(name: str, amount: Quantity) -> bool:
    try:
        page = Quantity.parse(name.removeprefix(HUGE_PAGES))
    except ValueError:
        return False
    return page.nanos > 0 and page.nanos % 10**9 == 0 and amount.nanos % page.nanos == 0


def _is_huge_pages_of_quotas(name: str) -> bool:
    return name.startswith((HUGE_PAGES, f"{_REQUESTS}{HUGE_PAGES}"))
