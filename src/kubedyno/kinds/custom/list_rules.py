"""Which lists and maps of a schema may be of which type."""

from collections.abc import Iterator, Mapping
from typing import Any

from kubedyno.kube.problems import Problem, forbidden, invalid, not_supported, required

Raw = Mapping[str, Any]

_MAP, _LIST, _KEYS = "x-kubernetes-map-type", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_MAP_TYPES, _LIST_TYPES = ("atomic", "granular"), ("atomic", "set", "map")


def collection_problems(raw: Raw, path: str) -> list[Problem]:
    """What is wrong with the map type, list type and list keys at a place."""
    return [
        *_type_problems(raw, path, _MAP, "object", _MAP_TYPES),
        *_type_problems(raw, path, _LIST, "array", _LIST_TYPES),
        *_key_problems(raw, path),
        *(_list_map_problems(raw, path) if raw.get(_LIST) == "map" else ()),
        *_item_problems(raw, path),
    ]


def _type_problems(raw: Raw, path: str, name: str, wanted: str, known: tuple[str, ...]) -> Iterator[Problem]:
    value, type_ = raw.get(name), raw.get("type") or ""
    if value is None:
        return
    if type_ != wanted:
        detail = f"must be {wanted} if {name} is specified"
        yield invalid(f"{path}.type", type_, detail) if type_ else required(f"{path}.type", detail)
    elif value == "set":
        yield from _set_problems(raw.get("items"), f"{path}.items")
    if value not in known:
        yield not_supported(f"{path}.{name}", value, known)


def _set_problems(items: Any, path: str) -> Iterator[Problem]:
    """Items of a set are compared as a whole."""
    if not isinstance(items, Mapping):
        return
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get(_LIST) not in {None, "atomic"}:
        yield invalid(f"{path}.{_LIST}", items[_LIST], detail)
    if items.get("type") == "object" and items.get(_MAP) != "atomic":
        # The list type is shown for the map type: so it stands in Kubernetes.
        yield invalid(f"{path}.{_MAP}", items.get(_LIST), detail)


def _key_problems(raw: Raw, path: str) -> Iterator[Problem]:
    if raw.get(_KEYS) and raw.get(_LIST) != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        value = raw.get(_LIST)
        yield required(f"{path}.{_LIST}", detail) if value is None else invalid(f"{path}.{_LIST}", value, detail)


def _list_map_problems(raw: Raw, path: str) -> Iterator[Problem]:
    keys, items = raw.get(_KEYS) or [], raw.get("items")
    if not keys:
        yield required(f"{path}.{_KEYS}", "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
    if not isinstance(items, Mapping):
        return
    type_ = items.get("type") or ""
    if type_ != "object":
        yield invalid(f"{path}.items.type", type_, "must be object if parent array's x-kubernetes-list-type is map")
        return
    for index, key in enumerate(keys):
        member = (items.get("properties") or {}).get(key)
        if member is None:
            yield invalid(f"{path}.{_KEYS}", keys, "entries must all be names of item properties")
        elif member.get("type") in {"array", "object"}:
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(f"{path}.items.properties[{key}].type", type_, detail)
        if key in keys[:index]:
            yield invalid(f"{path}.{_KEYS}", keys, "must not contain duplicate entries")


def _item_problems(raw: Raw, path: str) -> Iterator[Problem]:
    """Items must be there, and so must be their keys."""
    items, list_type = raw.get("items"), raw.get(_LIST)
    if not isinstance(items, Mapping) or list_type not in {"set", "map"}:
        return
    if items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {list_type}")
    if list_type == "set":
        return
    for key in raw.get(_KEYS) or ():
        member = (items.get("properties") or {}).get(key)
        if member is None:
            continue
        at = f"{path}.items.properties[{key}]"
        if key not in (items.get("required") or ()) and member.get("default") is None:
            detail = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            )
            yield required(f"{at}.default", detail)
        if member.get("nullable"):
            detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            yield forbidden(f"{at}.nullable", detail)
