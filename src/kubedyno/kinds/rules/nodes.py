"""Rules of nodes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.addresses import cidr_problems, is_dual_stack
from kubedyno.kinds.rules.amounts import amount_problems
from kubedyno.kinds.rules.fields import positive, required_fields, required_formatted
from kubedyno.kinds.rules.internals import invalid_printed
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.tolerations import taint_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, forbidden, invalid

_FEATURE: Final = r"[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*"
_TWO_FAMILIES: Final = 2
_KEPT: Final = 'node updates may not change {} except from "" to valid'


def _create(node: Object) -> Iterator[Problem]:
    spec, status = node.get("spec") or {}, node.get("status") or {}
    # The server tells taints as if they were metadata.
    yield from taint_problems(spec.get("taints") or (), "metadata.taints")
    yield from _amounts_problems(status)
    swap = (status.get("nodeInfo") or {}).get("swap") or {}
    if swap.get("capacity") is not None:
        yield from positive(swap["capacity"], "metadata.nodeSwapStatus.capacity")
    yield from _feature_problems(status.get("declaredFeatures") or (), "status.declaredFeatures")
    cidrs = spec.get("podCIDRs") or []
    for index, cidr in enumerate(cidrs):
        yield from cidr_problems(f"spec.podCIDRs[{index}]", cidr)
    if len(cidrs) > 1 and (not is_dual_stack(cidrs) or len(cidrs) > _TWO_FAMILIES):
        yield invalid("spec.podCIDRs", cidrs, "may specify no more than one CIDR for each IP family")


def _amounts_problems(status: Object) -> Iterator[Problem]:
    for part in ("capacity", "allocatable"):
        for name, amount in (status.get(part) or {}).items():
            yield from amount_problems(name, amount, f"status.{part}.{name}")


def _feature_problems(features: Sequence[str], path: str) -> Iterator[Problem]:
    for index, feature in enumerate(features):
        if told := _feature_complaint(feature):
            yield invalid(f"{path}[{index}]", feature, f'invalid feature name "{feature}": {told}')
        if index + 1 == len(features):
            return
        following = features[index + 1]
        if feature == following:
            yield duplicate(f"{path}[{index + 1}]", following)
        elif feature > following:
            yield invalid(f"{path}[{index + 1}]", following, "list must be sorted alphabetically")


def _feature_complaint(feature: str) -> str:
    if texts.byte_length(feature) > texts.SUBDOMAIN_LIMIT:
        return texts.too_long_text(texts.SUBDOMAIN_LIMIT)
    if not re.fullmatch(_FEATURE, feature):
        return (
            "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
            "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
        )
    return ""


def _change(new: Object, old: Object) -> Iterator[Problem]:
    """What an update may not do, of the node or of its status."""
    spec, before, status = new.get("spec") or {}, old.get("spec") or {}, new.get("status") or {}
    yield from _amounts_problems(status)
    yield from _feature_problems(status.get("declaredFeatures") or (), "status.declaredFeatures")
    seen: list[tuple[str, str]] = []
    for index, address in enumerate(status.get("addresses") or ()):
        told = address.get("type", ""), address.get("address", "")
        if told in seen:
            yield duplicate(f"status.addresses[{index}]", {"Type": told[0], "Address": told[1]})
        seen.append(told)
    cidrs, had = spec.get("podCIDRs") or [], before.get("podCIDRs") or []
    if had and len(cidrs) != len(had):
        yield forbidden("spec.podCIDRs", _KEPT.format("podCIDR"))
    elif had:
        changes = sum(cidr != was for cidr, was in zip(cidrs, had, strict=True))
        yield from (forbidden("spec.podCIDRs", _KEPT.format("podCIDR")) for _ in range(changes))
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        yield forbidden("spec.providerID", _KEPT.format("providerID"))
    if spec.get("configSource") is not None:
        yield from _config_source_problems(spec["configSource"], "spec.configSource", in_spec=True)
    for part in ("assigned", "active", "lastKnownGood"):
        if (source := (status.get("config") or {}).get(part)) is not None:
            yield from _config_source_problems(source, f"status.config.{part}", in_spec=False)
    yield from taint_problems(spec.get("taints") or (), "metadata.taints")
    if spec.get("externalID", "") != before.get("externalID", ""):
        yield forbidden("spec.externalID", "may not be updated")


def _config_source_problems(source: Mapping[str, Any], path: str, *, in_spec: bool) -> Iterator[Problem]:
    config_map = source.get("configMap")
    if config_map is None:
        yield invalid_printed(path, '{"ConfigMap":null}', "exactly one reference subfield must be non-nil")
        return
    at = f"{path}.configMap"
    for name in ("uid", "resourceVersion"):
        if in_spec and config_map.get(name):
            yield forbidden(f"{at}.{name}", f"{name} must not be set in spec")
    if not in_spec:
        yield from required_fields(config_map, at, "uid", "resourceVersion")
    yield from required_formatted(config_map.get("namespace"), f"{at}.namespace", texts.dns1123_label)
    yield from required_formatted(config_map.get("name"), f"{at}.name", texts.dns1123_subdomain)
    yield from required_formatted(config_map.get("kubeletConfigKey"), f"{at}.kubeletConfigKey", texts.config_key)


def _update(new: Object, old: Object) -> Iterator[Problem]:
    yield from _create(new)
    yield from _change(new, old)


RULES: Final = {("", "Node"): Rules(create=_create, update=_update, update_status=_change)}
