"""Rules of claims of devices: what is asked for, and what was allocated."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kubedyno.kinds.rules.affinity import node_selector_problems
from kubedyno.kinds.rules.conditions import condition_problems
from kubedyno.kinds.rules.device_lists import (
    binding_condition_problems,
    configuration_problems,
    fully_qualified_name_problems,
    listed,
    name_of,
    pool_name_problems,
    raw_problems,
    toleration_problems,
    uid_problems,
    unique,
)
from kubedyno.kinds.rules.drivers import driver_name_problems
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.internals import go_json, immutable, invalid_printed
from kubedyno.kinds.rules.texts import byte_length, dns1123_label, dns1123_subdomain
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid, not_supported, required, too_long, too_many

_MOST: Final = 32
_MOST_ALTERNATIVES: Final = 8
_MOST_CONSUMERS: Final = 256
_MOST_CONDITIONS: Final = 8
_MOST_ADDRESSES: Final = 16
_INTERFACE_NAME_LIMIT: Final = 256
_HARDWARE_ADDRESS_LIMIT: Final = 128
_EXPRESSION_LIMIT: Final = 10 * 1024
_NO_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_MOST_SEGMENTS: Final = 2

RequestNames = Mapping[str, frozenset[str]]
"""The names of requests, and of each the names of its alternatives."""


# --- what is asked for ----------------------------------------------------------------------------------------


def claim_spec_problems(spec: Object, path: str) -> Iterator[Problem]:
    """What is wrong with the spec of a claim or of a claim template."""
    devices = spec.get("devices") or {}
    names = _request_names(devices)
    path = f"{path}.devices"

    def constraint(item: Object, at: str) -> Iterator[Problem]:
        yield from _request_references(item.get("requests"), names, f"{at}.requests")
        if item.get("matchAttribute") is not None:
            yield from fully_qualified_name_problems(item["matchAttribute"], f"{at}.matchAttribute")
        elif item.get("distinctAttribute") is not None:
            yield from fully_qualified_name_problems(item["distinctAttribute"], f"{at}.distinctAttribute")
        else:
            # The server says so although none is set.
            yield required(
                at,
                'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
            )

    def configuration(item: Object, at: str) -> Iterator[Problem]:
        yield from _request_references(item.get("requests"), names, f"{at}.requests")
        yield from configuration_problems(item, at, stored=False)

    yield from unique(devices.get("requests"), _MOST, _request, f"{path}.requests", name_of)
    yield from listed(devices.get("constraints"), _MOST, constraint, f"{path}.constraints")
    yield from listed(devices.get("config"), _MOST, configuration, f"{path}.config")


def _request_names(devices: Object) -> RequestNames:
    return {
        name_of(request): frozenset(map(name_of, request.get("firstAvailable") or ()))
        for request in devices.get("requests") or ()
    }


def _request_references(references: Any, names: RequestNames, path: str) -> Iterator[Problem]:
    return unique(references, _MOST, lambda item, at: _request_reference(item, names, at), path)


def _request_reference(reference: str, names: RequestNames, path: str) -> Iterator[Problem]:
    segments = reference.split("/")
    if len(segments) > _MOST_SEGMENTS:
        yield invalid(path, reference, _NO_REQUEST)
        return
    for segment in segments:
        yield from formatted(segment, path, dns1123_label)
    request, *alternative = segments
    if request not in names or (alternative and alternative[0] not in names[request]):
        yield invalid(path, reference, _NO_REQUEST)


def _request(request: Object, path: str) -> Iterator[Problem]:
    yield from formatted(name_of(request), f"{path}.name", dns1123_label)
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable")
    if exactly is None and not alternatives:
        yield required(path, "exactly one of `exactly` or `firstAvailable` is required")
    elif exactly is not None and alternatives:
        said = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
        yield invalid(path, None, said)
    elif exactly is not None:
        yield from _device_request(exactly, f"{path}.exactly")
    else:
        yield from unique(alternatives, _MOST_ALTERNATIVES, _alternative, f"{path}.firstAvailable", name_of)


def _alternative(request: Object, path: str) -> Iterator[Problem]:
    yield from formatted(name_of(request), f"{path}.name", dns1123_label)
    yield from _device_request(request, path)


def _device_request(request: Object, path: str) -> Iterator[Problem]:
    class_name = request.get("deviceClassName", "")
    if class_name:
        yield from formatted(class_name, f"{path}.deviceClassName", dns1123_subdomain)
    else:
        yield required(f"{path}.deviceClassName")
    yield from device_selector_problems(request.get("selectors"), f"{path}.selectors")
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    if mode == "All":
        if count:
            yield invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount":
        if count <= 0:
            yield invalid(f"{path}.count", count, "must be greater than zero")
    else:
        yield not_supported(f"{path}.allocationMode", mode, ["All", "ExactCount"])
    yield from listed(request.get("tolerations"), -1, toleration_problems, f"{path}.tolerations")


def device_selector_problems(selectors: Any, path: str) -> Iterator[Problem]:
    """What is wrong with selectors of devices; whether an expression makes sense is not looked at here."""
    return listed(selectors, _MOST, _device_selector, path)


def _device_selector(selector: Object, path: str) -> Iterator[Problem]:
    if selector.get("cel") is None:
        yield required(f"{path}.cel")
    elif byte_length(selector["cel"].get("expression", "")) > _EXPRESSION_LIMIT:
        yield too_long(f"{path}.cel.expression", _EXPRESSION_LIMIT)


# --- what was allocated ---------------------------------------------------------------------------------------


def claim_status_problems(new: Object, old: Object) -> Iterator[Problem]:
    """What is wrong with the new status of a claim."""
    status, before = new.get("status") or {}, old.get("status") or {}
    names = _request_names((new.get("spec") or {}).get("devices") or {})
    allocation, former = status.get("allocation"), before.get("allocation")
    yield from unique(
        status.get("reservedFor"), _MOST_CONSUMERS, _consumer, "status.reservedFor", lambda item: item.get("uid", "")
    )
    allocated = {_device_id(result) for result in ((allocation or {}).get("devices") or {}).get("results") or ()}
    yield from _device_statuses(status.get("devices") or (), allocated)
    yield from _reservation_problems(new, status, before)
    if allocation is not None and former is not None:
        yield from immutable("status.allocation", allocation, former, "resource.AllocationResult")
    elif allocation is not None:
        yield from _allocation(allocation, names)


def _reservation_problems(new: Object, status: Object, before: Object) -> Iterator[Problem]:
    if not status.get("reservedFor"):
        return
    if status.get("allocation") is None:
        yield forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
    elif (new.get("metadata") or {}).get("deletionTimestamp"):
        known = before.get("reservedFor") or ()
        if any(consumer not in known for consumer in status["reservedFor"]):
            said = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
            yield forbidden("status.reservedFor", said)


def _consumer(consumer: Object, path: str) -> Iterator[Problem]:
    for name in ("resource", "name", "uid"):
        if not consumer.get(name):
            yield required(f"{path}.{name}")


def _device_id(device: Object) -> str:
    """Driver, pool and name of a device and its share, as the server prints them."""
    names = ("driver", "pool", "device", "shareID")
    return "{" + ",".join(f'"{name[0].upper()}{name[1:]}":{go_json(device.get(name) or "")}' for name in names) + "}"


def _device_statuses(devices: Sequence[Object], allocated: set[str]) -> Iterator[Problem]:
    yield from listed(devices, -1, lambda item, at: _device_status(item, allocated, at), "status.devices")
    seen: set[str] = set()
    for index, device in enumerate(devices):
        if _device_id(device) in seen:
            yield Problem(f"status.devices[{index}]", "FieldValueDuplicate", f"Duplicate value: {_device_id(device)}")
        seen.add(_device_id(device))


def _device_status(device: Object, allocated: set[str], path: str) -> Iterator[Problem]:
    yield from driver_name_problems(device.get("driver", ""), f"{path}.driver")
    yield from pool_name_problems(device.get("pool", ""), f"{path}.pool")
    yield from formatted(device.get("device", ""), f"{path}.device", dns1123_label)
    if device.get("shareID") is not None:
        yield from uid_problems(device["shareID"], f"{path}.shareID")
    if _device_id(device) not in allocated:
        yield invalid_printed(path, _device_id(device), "must be an allocated device in the claim")
    conditions = device.get("conditions") or ()
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many(f"{path}.conditions", len(conditions), _MOST_CONDITIONS)
    yield from condition_problems(conditions, f"{path}.conditions")
    if device.get("data") is not None:
        yield from raw_problems(device["data"], f"{path}.data")
    yield from _network_data(device.get("networkData") or {}, f"{path}.networkData")


def _network_data(data: Object, path: str) -> Iterator[Problem]:
    if byte_length(data.get("interfaceName", "")) > _INTERFACE_NAME_LIMIT:
        yield too_long(f"{path}.interfaceName", _INTERFACE_NAME_LIMIT)
    if byte_length(data.get("hardwareAddress", "")) > _HARDWARE_ADDRESS_LIMIT:
        yield too_long(f"{path}.hardwareAddress", _HARDWARE_ADDRESS_LIMIT)
    yield from unique(data.get("ips"), _MOST_ADDRESSES, _interface_address, f"{path}.ips")


def _interface_address(text: str, path: str) -> Iterator[Problem]:
    try:
        address, slash, _ = text.partition("/")
        canonical = str(ipaddress.ip_interface(text)) if address and slash else None
    except ValueError:
        canonical = None
    if canonical is None:
        said = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        yield invalid(path, text, said)
    elif canonical != text:
        yield invalid(path, text, f'must be in canonical form ("{canonical}")')


def _allocation(allocation: Object, names: RequestNames) -> Iterator[Problem]:
    devices = allocation.get("devices") or {}
    path = "status.allocation"

    def result(item: Object, at: str) -> Iterator[Problem]:
        yield from _request_reference(item.get("request", ""), names, f"{at}.request")
        yield from driver_name_problems(item.get("driver", ""), f"{at}.driver")
        yield from pool_name_problems(item.get("pool", ""), f"{at}.pool")
        yield from formatted(item.get("device", ""), f"{at}.device", dns1123_label)
        yield from binding_condition_problems(item, at)
        if item.get("shareID") is not None:
            yield from uid_problems(item["shareID"], f"{at}.shareID")

    def configuration(item: Object, at: str) -> Iterator[Problem]:
        source = item.get("source", "")
        if not source:
            yield required(f"{at}.source")
        elif source not in {"FromClaim", "FromClass"}:
            yield not_supported(f"{at}.source", source, ["FromClaim", "FromClass"])
        yield from _request_references(item.get("requests"), names, f"{at}.requests")
        yield from configuration_problems(item, at, stored=False)

    yield from listed(devices.get("results"), _MOST, result, f"{path}.devices.results")
    # As many as a class and a claim can have together.
    yield from listed(devices.get("config"), 2 * _MOST, configuration, f"{path}.devices.config")
    if allocation.get("nodeSelector") is not None:
        yield from node_selector_problems(allocation["nodeSelector"], f"{path}.nodeSelector")
