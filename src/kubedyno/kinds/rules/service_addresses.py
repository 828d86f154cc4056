"""Rules of the cluster IPs of services and of their families."""

from collections.abc import Container, Iterator
from typing import Final

from kubedyno.kinds.rules.addresses import ip_problems, is_dual_stack, is_ipv6
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, invalid, not_supported, required

_FAMILIES: Final = ("IPv4", "IPv6")
_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_MOST: Final = 2
_ONCE_SET: Final = "may not change once set"


def is_headless(spec: Object) -> bool:
    """Whether the service has no address of its own."""
    return spec.get("clusterIPs") == ["None"]


def cluster_ip_problems(spec: Object, accepted_before: Container[str]) -> Iterator[Problem]:
    """Addresses, their families and the policy, which must fit each other."""
    if spec.get("type") == "ExternalName":
        return
    first, addresses = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    path = "spec.clusterIPs"
    if first and not addresses:
        yield required(path)
    elif first and addresses[0] != first:
        yield invalid(path, addresses, "first value must match `clusterIP`")
    elif not first and addresses:
        yield invalid(path, addresses, "must be empty when `clusterIP` is not specified")
    yield from _family_problems(spec)
    wrong = list(_each_address_problems(addresses, accepted_before))
    yield from wrong
    if len(addresses) > _MOST:
        yield invalid(path, addresses, "may only hold up to 2 values")
    if wrong:
        return
    if len(addresses) > 1 and not is_dual_stack(addresses):
        yield invalid(path, addresses, "may specify no more than one IP for each IP family")
    if not is_headless(spec):
        yield from _family_match_problems(spec)


def _family_problems(spec: Object) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        at = f"spec.ipFamilies[{index}]"
        if family not in _FAMILIES:
            yield not_supported(at, family, _FAMILIES)
        if family in seen:
            yield duplicate(at, family)
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        yield not_supported("spec.ipFamilyPolicy", policy, _POLICIES)


def _each_address_problems(addresses: list[str], accepted_before: Container[str]) -> Iterator[Problem]:
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            if len(addresses) > 1:
                yield invalid("spec.clusterIPs", addresses, "'None' must be the first and only value")
        else:
            yield from ip_problems(f"spec.clusterIPs[{index}]", address, accepted_before)


def _family_match_problems(spec: Object) -> Iterator[Problem]:
    pairs = zip(spec.get("clusterIPs") or (), spec.get("ipFamilies") or (), strict=False)
    for index, (address, family) in enumerate(pairs):
        if family in _FAMILIES and (family == "IPv6") != is_ipv6(address):
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield invalid(f"spec.clusterIPs[{index}]", address, detail)


def cluster_ip_change_problems(spec: Object, before: Object) -> Iterator[Problem]:
    """The first address stays; a second one may come, and go when the service wants one only."""
    if "ExternalName" in {spec.get("type"), before.get("type")} or (is_headless(spec) and is_headless(before)):
        return
    new, old = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    if len(new) == len(old):
        for index, address in enumerate(old):
            if new[index] != address:
                yield invalid(f"spec.clusterIPs[{index}]", new, _ONCE_SET)
        return
    if not new:
        yield invalid("spec.clusterIPs[0]", None, "primary clusterIP can not be unset")
    elif old and new[0] != old[0]:
        yield invalid("spec.clusterIPs[0]", new, _ONCE_SET)
    if len(old) > len(new) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        yield invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), detail)


def family_change_problems(spec: Object, before: Object) -> Iterator[Problem]:
    """The same for families."""
    if "ExternalName" in {spec.get("type"), before.get("type")} or is_headless(spec) or is_headless(before):
        return
    new, old = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
    path = "spec.ipFamilies[0]"
    if len(new) == len(old):
        yield from (invalid(path, new, _ONCE_SET) for was, family in zip(old, new, strict=True) if was != family)
        return
    if len(old) > len(new) and not spec.get("clusterIPs"):
        yield invalid(path, new or None, "primary ipFamily can not be unset")
    if new and old and new[0] != old[0]:
        yield invalid(path, spec.get("clusterIPs"), _ONCE_SET)
    if len(old) > len(new) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        yield invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), detail)
