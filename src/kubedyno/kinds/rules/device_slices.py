"""Rules of ResourceSlices: the devices that a driver offers, and where they are."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from kubedyno.kinds.rules.affinity import node_selector_problems
from kubedyno.kinds.rules.device_capacities import capacity_problems
from kubedyno.kinds.rules.device_lists import (
    DEVICE_ID_LIMIT,
    binding_condition_problems,
    listed,
    name_of,
    pool_name_problems,
    qualified_name_problems,
    taint_problems,
    unique,
)
from kubedyno.kinds.rules.drivers import driver_name_problems
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.internals import immutable, internal, invalid_printed
from kubedyno.kinds.rules.texts import byte_length, dns1123_label, dns1123_subdomain
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, invalid, required, too_long, too_many

_MOST_DEVICES: Final = 128
_MOST_ADVANCED_DEVICES: Final = 64
_MOST_COUNTER_SETS: Final = 8
_MOST_COUNTERS: Final = 32
_MOST_CONSUMPTIONS: Final = 2
_MOST_PROPERTIES: Final = 32
_MOST_VALUES: Final = 48
_MOST_TAINTS: Final = 16
_DOMAIN_LIMIT: Final = 63
_KEY_LIMIT: Final = _DOMAIN_LIMIT + 1 + DEVICE_ID_LIMIT
_VALUE_LIMIT: Final = 64
_SCALARS: Final = ("bool", "int", "string", "version")
_LISTS: Final = ("bools", "ints", "strings", "versions")
_NUMBER: Final = r"(0|[1-9]\d*)"
_PRE_RELEASE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_SEMVER: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRE_RELEASE}(\.{_PRE_RELEASE})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
_SLICE_PLACES: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_DEVICE_PLACES: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to "
    "true in the ResourceSlice spec"
)


def slice_problems(obj: Object) -> Iterator[Problem]:
    """What is wrong with a new slice."""
    return _slice_spec(obj.get("spec") or {}, None)


def slice_update_problems(new: Object, old: Object) -> Iterator[Problem]:
    """What is wrong with a changed slice."""
    return _slice_spec(new.get("spec") or {}, old.get("spec") or {})


def _slice_spec(spec: Object, before: Object | None) -> Iterator[Problem]:
    yield from driver_name_problems(spec.get("driver", ""), "spec.driver")
    pool = spec.get("pool") or {}
    yield from _pool(pool)
    if before is not None:
        yield from immutable("spec.pool.name", pool.get("name", ""), (before.get("pool") or {}).get("name", ""))
        yield from immutable("spec.driver", spec.get("driver", ""), before.get("driver", ""))
        yield from immutable("spec.nodeName", spec.get("nodeName"), before.get("nodeName"))
    yield from _slice_place(spec)
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        yield invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    devices = spec.get("devices") or ()
    former = {name_of(device): device for device in reversed((before or {}).get("devices") or ())}
    per_device = bool(spec.get("perDeviceNodeSelection"))
    yield from unique(
        devices,
        _MOST_ADVANCED_DEVICES if any(map(_is_advanced, devices)) else _MOST_DEVICES,
        lambda item, at: _device(item, former.get(name_of(item)), at, per_device=per_device),
        "spec.devices",
        name_of,
    )
    counters = spec.get("sharedCounters")
    yield from unique(counters, _MOST_COUNTER_SETS, _counter_set, "spec.sharedCounters", name_of)


def _is_advanced(device: Object) -> bool:
    """Whether the device costs the server more: fewer of such fit into a slice."""
    if device.get("taints") or device.get("consumesCounters"):
        return True
    attributes = (device.get("attributes") or {}).values()
    return any(attribute.get(name) is not None for attribute in attributes for name in _LISTS)


def _pool(pool: Object) -> Iterator[Problem]:
    yield from pool_name_problems(pool.get("name", ""), "spec.pool.name")
    if pool.get("resourceSliceCount", 0) <= 0:
        yield invalid("spec.pool.resourceSliceCount", pool.get("resourceSliceCount", 0), "must be greater than zero")
    if pool.get("generation", 0) < 0:
        yield invalid("spec.pool.generation", pool["generation"], "must be greater than or equal to zero")


# --- where the devices are ------------------------------------------------------------------------------------


def _slice_place(spec: Object) -> Iterator[Problem]:
    given = []
    node, selector = spec.get("nodeName"), spec.get("nodeSelector")
    if node:
        given.append("`nodeName`")
        yield from formatted(node, "spec.nodeName", dns1123_subdomain)
    elif node is not None:
        yield invalid("spec.nodeName", node, "must be either unset or set to a non-empty string")
    if selector is not None:
        given.append("`nodeSelector`")
        yield from node_selector_problems(selector, "spec.nodeSelector")
        terms = selector.get("nodeSelectorTerms")
        if len(terms or ()) != 1:
            printed = "null" if terms is None else f"[{','.join(internal('NodeSelectorTerm', term) for term in terms)}]"
            said = "must have exactly one node selector term"
            yield invalid_printed("spec.nodeSelector.nodeSelectorTerms", printed, said)
    for name in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(name):
            given.append(f"`{name}`")
        elif spec.get(name) is not None:
            yield invalid(f"spec.{name}", spec[name], "must be either unset or set to true")
    if not given:
        yield required("spec", _SLICE_PLACES)
    elif len(given) > 1:
        yield invalid("spec", f"{{{', '.join(given)}}}", f"{_SLICE_PLACES}, but multiple fields are set")


def _device_place(device: Object, path: str) -> Iterator[Problem]:
    given = []
    node, selector = device.get("nodeName"), device.get("nodeSelector")
    if node:
        given.append("`nodeName`")
        yield from formatted(node, f"{path}.nodeName", dns1123_subdomain)
    elif node is not None:
        yield invalid(f"{path}.nodeName", node, "must not be empty")
    if selector is not None:
        given.append("`nodeSelector`")
        yield from node_selector_problems(selector, f"{path}.nodeSelector")
    if device.get("allNodes"):
        given.append("`allNodes`")
    elif device.get("allNodes") is not None:
        yield invalid(f"{path}.allNodes", device["allNodes"], "must be either unset or set to true")
    if not given:
        yield required(path, _DEVICE_PLACES)
    elif len(given) > 1:
        yield invalid(path, f"{{{', '.join(given)}}}", _DEVICE_PLACES)


# --- one device -----------------------------------------------------------------------------------------------


def _device(device: Object, before: Object | None, path: str, *, per_device: bool) -> Iterator[Problem]:
    yield from formatted(name_of(device), f"{path}.name", dns1123_label)
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    yield from _device_size(attributes, capacity, path)
    yield from _properties(attributes, _attribute, f"{path}.attributes")
    shared = bool(device.get("allowMultipleAllocations"))
    yield from _properties(capacity, lambda item, at: capacity_problems(item, at, shared=shared), f"{path}.capacity")
    taints = device.get("taints") or []
    if before is None or (before.get("taints") or []) != taints:
        yield from listed(taints, _MOST_TAINTS, lambda item, at: taint_problems(item, None, at), f"{path}.taints")
    yield from unique(
        device.get("consumesCounters"),
        _MOST_CONSUMPTIONS,
        _consumption,
        f"{path}.consumesCounters",
        lambda item: item.get("counterSet", ""),
    )
    if per_device:
        yield from _device_place(device, path)
    elif any(device.get(name) is not None for name in ("nodeName", "nodeSelector", "allNodes")):
        said = (
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in "
            "the ResourceSlice spec"
        )
        yield invalid(path, None, said)
    yield from binding_condition_problems(device, path)


def _device_size(attributes: Object, capacity: Object, path: str) -> Iterator[Problem]:
    properties = len(attributes) + len(capacity)
    if properties > _MOST_PROPERTIES:
        said = f"the total number of attributes and capacities must not exceed {_MOST_PROPERTIES}"
        yield invalid(path, properties, said)
    values = sum(sum(len(entry.get(name) or ()) for name in _LISTS) or 1 for entry in attributes.values())
    if values > _MOST_VALUES:
        yield invalid(path, values, f"the total number of attribute values must not exceed {_MOST_VALUES}")


def _attribute(attribute: Object, path: str) -> Iterator[Problem]:
    if attribute.get("string") is not None:
        yield from _string(attribute["string"], f"{path}.string")
    if attribute.get("version") is not None:
        yield from _version(attribute["version"], f"{path}.version")
    for name in _LISTS:
        values = attribute.get(name)
        if values is not None and not values:
            yield invalid(f"{path}.{name}", values, "must not be empty if specified")
        check = {"strings": _string, "versions": _version}.get(name)
        for index, value in enumerate(values or () if check else ()):
            yield from check(value, f"{path}.{name}[{index}]") if check else ()
    given = sum(attribute.get(name) is not None for name in (*_SCALARS, *_LISTS))
    if not given:
        yield invalid(path, "", "exactly one value must be specified")
    elif given > 1:
        yield invalid_printed(
            path, internal("resource.DeviceAttribute", attribute), "exactly one value must be specified"
        )


def _string(text: str, path: str) -> Iterator[Problem]:
    if byte_length(text) > _VALUE_LIMIT:
        yield too_long(path, _VALUE_LIMIT)


def _version(text: str, path: str) -> Iterator[Problem]:
    if not _SEMVER.fullmatch(text):
        yield invalid(path, text, "must be a string compatible with semver.org spec 2.0.0")
    yield from _string(text, path)


def _properties(
    entries: Mapping[str, Any], check: Callable[[Any, str], Iterable[Problem]], path: str
) -> Iterator[Problem]:
    """Attributes or capacities by name. The server tells them in no order; here it is that of the names."""
    for name in sorted(entries):
        yield from qualified_name_problems(name, path)
        yield from check(entries[name], f"{path}[{_shortened(name, _KEY_LIMIT)}]")


def _shortened(key: str, limit: int) -> str:
    """A long key without its middle."""
    if len(key) <= limit:
        return key
    left = limit - len("...")
    return f"{key[: (left + 1) // 2]}...{key[len(key) - left // 2 :]}"


# --- counters -------------------------------------------------------------------------------------------------


def _counter_set(counters: Object, path: str) -> Iterator[Problem]:
    yield from _counter_owner(name_of(counters), f"{path}.name")
    yield from _counters(counters.get("counters") or {}, f"{path}.counters")


def _consumption(consumption: Object, path: str) -> Iterator[Problem]:
    yield from _counter_owner(consumption.get("counterSet", ""), f"{path}.counterSet")
    yield from _counters(consumption.get("counters") or {}, f"{path}.counters")


def _counter_owner(name: str, path: str) -> Iterator[Problem]:
    if name:
        yield from formatted(name, path, dns1123_label)
    else:
        yield required(path)


def _counters(counters: Object, path: str) -> Iterator[Problem]:
    if not counters:
        yield required(path)
    elif len(counters) > _MOST_COUNTERS:
        yield too_many(path, len(counters), _MOST_COUNTERS)
    else:
        for name in sorted(counters):
            yield from formatted(name, path, dns1123_label)
