"""What the rules of devices share: bounded lists and sets, names of devices and pools, tolerations, parameters."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from kubedyno.kinds.rules.drivers import driver_name_problems
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.texts import byte_length, c_identifier, dns1123_subdomain, label_key, label_value
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, invalid, not_supported, required, too_long, too_many

DEVICE_ID_LIMIT: Final = 32
_POOL_NAME_LIMIT: Final = 253
_PARAMETERS_LIMIT: Final = 10 * 1024
_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_UUID_LENGTHS: Final = frozenset({32, 36, 38, 45})

Item = Callable[[Any, str], Iterable[Problem]]


def listed(items: Sequence[Any] | None, most: int, check: Item, path: str) -> Iterator[Problem]:
    """A list of at most so many items (-1: any number), each of which is checked. A longer one is told as such only."""
    items = items or ()
    if 0 <= most < len(items):
        yield too_many(path, len(items), most)
        return
    for index, item in enumerate(items):
        yield from check(item, f"{path}[{index}]")


def unique(
    items: Sequence[Any] | None, most: int, check: Item, path: str, key: Callable[[Any], Any] = lambda item: item
) -> Iterator[Problem]:
    """Such a list in which no key stands twice."""
    items = items or ()
    yield from listed(items, most, check, path)
    if 0 <= most < len(items):
        return
    seen: set[Any] = set()
    for index, item in enumerate(items):
        if key(item) in seen:
            yield duplicate(f"{path}[{index}]", key(item))
        seen.add(key(item))


def name_of(item: Object) -> str:
    """The key of items that have a name."""
    return str(item.get("name", ""))


def pool_name_problems(name: str, path: str) -> Iterator[Problem]:
    """DNS names with slashes between them."""
    if not name:
        yield required(path)
        return
    if byte_length(name) > _POOL_NAME_LIMIT:
        yield too_long(path, _POOL_NAME_LIMIT)
    for part in name.split("/"):
        yield from formatted(part, path, dns1123_subdomain)


def qualified_name_problems(name: str, path: str) -> Iterator[Problem]:
    """The name of an attribute or a capacity: an identifier, perhaps behind a domain."""
    domain, slash, identifier = name.partition("/")
    if not slash:
        yield from _identifier(name, path)
    elif "/" not in identifier:
        if domain:
            yield from driver_name_problems(domain, path)
        else:
            yield invalid(path, "", "the domain must not be empty")
        if identifier:
            yield from _identifier(identifier, path)
        else:
            yield invalid(path, "", "the name must not be empty")


def fully_qualified_name_problems(name: str, path: str) -> Iterator[Problem]:
    """Such a name that must have a domain."""
    yield from qualified_name_problems(name, path)
    if "/" not in name:
        yield invalid(path, name, "a fully qualified name must be a domain and a name separated by a slash")


def _identifier(text: str, path: str) -> Iterator[Problem]:
    if byte_length(text) > DEVICE_ID_LIMIT:
        yield too_long(path, DEVICE_ID_LIMIT)
    yield from formatted(text, path, c_identifier)


def taint_problems(taint: Object, before: Object | None, path: str) -> Iterator[Problem]:
    """What is wrong with a taint; an effect that was there before is not looked at again."""
    yield from formatted(taint.get("key", ""), f"{path}.key", label_key)
    if taint.get("value"):
        yield from formatted(taint["value"], f"{path}.value", label_value)
    effect = taint.get("effect", "")
    if before is not None and before.get("effect", "") == effect:
        return
    if not effect:
        yield required(f"{path}.effect")
    elif effect not in _EFFECTS:
        yield not_supported(f"{path}.effect", effect, _EFFECTS)


def toleration_problems(toleration: Object, path: str) -> Iterator[Problem]:
    """What is wrong with a toleration of a device's taints."""
    if toleration.get("key"):
        yield from formatted(toleration["key"], f"{path}.key", label_key)
    value, operator = toleration.get("value", ""), toleration.get("operator", "")
    match operator:
        case "Exists":
            if value:
                yield invalid(f"{path}.value", value, "must be empty for operator `Exists`")
        case "Equal":
            yield from formatted(value, f"{path}.value", label_value)
        case "":
            yield required(f"{path}.operator")
        case _:
            yield not_supported(f"{path}.operator", operator, ["Equal", "Exists"])
    if toleration.get("effect") and toleration["effect"] not in _EFFECTS:
        yield not_supported(f"{path}.effect", toleration["effect"], _EFFECTS)


def configuration_problems(configuration: Object, path: str, *, stored: bool) -> Iterator[Problem]:
    """What is wrong with parameters for a driver; those that are `stored` may be longer than is allowed now."""
    opaque = configuration.get("opaque")
    if opaque is None:
        yield required(f"{path}.opaque")
        return
    yield from driver_name_problems(opaque.get("driver", ""), f"{path}.opaque.driver")
    yield from raw_problems(opaque.get("parameters"), f"{path}.opaque.parameters", stored=stored)


def raw_problems(raw: Any, path: str, *, stored: bool = False) -> Iterator[Problem]:
    """What is wrong with a document that must be some JSON object."""
    if raw is None:
        yield required(path)
    elif not stored and len(msgspec.json.encode(raw)) > _PARAMETERS_LIMIT:
        yield too_long(path, _PARAMETERS_LIMIT)
    elif not isinstance(raw, dict):
        yield invalid(path, "<value omitted>", "must be a valid JSON object")


def uid_problems(uid: str, path: str) -> Iterator[Problem]:
    """What is wrong with a UUID that must be in its usual form."""
    if len(uid) not in _UUID_LENGTHS:
        yield invalid(path, uid, f"error validating uid: invalid UUID length: {len(uid)}")
        return
    bare = uid.removeprefix("urn:uuid:").strip("{}")
    if len(uid) == 32:  # noqa: PLR2004 - a UUID without its hyphens
        bare = "-".join((uid[:8], uid[8:12], uid[12:16], uid[16:20], uid[20:]))
    if not _UUID.fullmatch(bare):
        yield invalid(path, uid, "error validating uid: invalid UUID format")
    elif bare != uid or uid != uid.lower():
        said = (
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal"
        )
        yield invalid(path, uid, f"{said} characters")


def binding_condition_problems(holder: Object, path: str) -> Iterator[Problem]:
    """What is wrong with the conditions that a device must meet before a pod is bound, and those that forbid it."""
    wanted, failing = holder.get("bindingConditions") or [], holder.get("bindingFailureConditions") or []
    most = 4
    for name, items in (("bindingConditions", wanted), ("bindingFailureConditions", failing)):
        yield from listed(items, most, lambda item, at: formatted(item, at, label_key), f"{path}.{name}")
    for index, item in enumerate(wanted):
        if item in wanted[:index]:
            yield duplicate(f"{path}.bindingConditions[{index}]", item)
    for index, item in enumerate(failing):
        at = f"{path}.bindingFailureConditions[{index}]"
        if item in failing[:index]:
            yield duplicate(at, item)
        if item in wanted:
            yield invalid(at, item, "bindingFailureConditions must not overlap with bindingConditions")
    if failing and not wanted:
        said = "bindingConditions are required to use bindingFailureConditions"
        yield invalid(f"{path}.bindingConditions", holder.get("bindingConditions"), said)
    if wanted and not failing:
        said = "bindingFailureConditions are required to use bindingConditions"
        yield invalid(f"{path}.bindingFailureConditions", holder.get("bindingFailureConditions"), said)
