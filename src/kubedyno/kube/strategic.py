"""Strategic merge patch: a merge patch that knows which lists are keyed.

    merge_keys = merge_keys_for(api_version, kind)    # None: a custom resource, answer 415
    patched = apply_strategic_patch(obj, patch, merge_keys)

Besides plain members (null deletes) a patch may hold directives:

    $patch: replace | delete             in an object: take it as written, or empty it
    $patch: replace | delete             in an item of a keyed list: the other items are the list; drop the item
    $retainKeys: [a, b]                  drop the members of the object that are not listed
    $deleteFromPrimitiveList/<list>      drop these values from a list of plain values
    $setElementOrder/<list>              the order of the items; unlisted ones keep their place around them

The behaviour is that of apimachinery's strategicpatch, proven case by case in `strategic_cases.json` of the tests.
Its API server then decodes the result into typed structs, which drops directives that were left over in values
taken as they are; here the result is the object, so they are dropped while they are taken.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kubedyno.kube.merge_keys import MergeKeys
from kubedyno.kube.meta import copied
from kubedyno.kube.patches import MalformedPatch, PatchDoesNotApply

_PATCH: Final = "$patch"
_RETAIN_KEYS: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_SET_ORDER: Final = "$setElementOrder"

_Object = dict[str, Any]
_Identity = Callable[[Any], Any]


def apply_strategic_patch(original: Mapping[str, Any], patch: Mapping[str, Any], merge_keys: MergeKeys) -> _Object:
    """The object after the patch; neither argument is changed, and the result shares what stayed with the original.

    `merge_keys` are the rules of the object's kind, from `merge_keys_for` for Kubernetes' own kinds. A patch with
    wrong directives is `MalformedPatch`; one that does not fit the object's lists is `PatchDoesNotApply`.
    """
    return _merged_object(original, copied(patch), merge_keys, "")


def _merged_object(before: Mapping[str, Any], patch: _Object, keys: MergeKeys, where: str) -> _Object:
    """A new object with `patch` merged into the one before; the patch is ours to change."""
    if _PATCH in patch:
        return _replaced_object(patch, where)
    original = dict(before)
    _retain_keys(original, patch, where)
    _merge_ordered_lists(original, patch, keys, where)
    # Deletions first: the order is random in Go, and this one lets a value be deleted and added anew.
    for name in sorted(patch, key=lambda name: not name.startswith(_DELETE_FROM)):
        value = patch[name]
        if name.startswith(_DELETE_FROM):
            _delete_from_list(original, _directed_field(name, where), value, where)
        elif value is None:
            original.pop(name, None)
        else:
            _merge_member(original, name, value, keys.below(name), f"{where}.{name}".lstrip("."))
    return original


def _merge_member(original: _Object, name: str, value: Any, keys: MergeKeys, where: str) -> None:
    current = original.get(name)
    if isinstance(current, dict) and isinstance(value, dict):
        if keys.strategy == "replace":
            original[name] = _without_directives(value)
        else:
            original[name] = _merged_object(current, value, keys, where)
    elif isinstance(current, list) and isinstance(value, list):
        original[name] = _merged_list(list(current), value, keys, where)
    elif _is_directive(value):
        original.pop(name, None)
    elif _is_plain(value):
        original[name] = value
    else:
        original[name] = _without_nulls(_without_directive_objects(value))


def _replaced_object(patch: _Object, where: str) -> _Object:
    match patch[_PATCH]:
        case "replace":
            return {name: _without_directives(value) for name, value in patch.items() if name != _PATCH}
        case "delete":
            return {}
        case other:
            raise MalformedPatch(
                f"$patch at {where or 'the top'} is {other!r}: in an object it may be replace or delete",
                told=f"unknown patch type: {other} in map: {_go(patch)}",
                code=500,
            )


def _retain_keys(original: _Object, patch: _Object, where: str) -> None:
    if _RETAIN_KEYS not in patch:
        return
    retained = patch.pop(_RETAIN_KEYS)
    if not isinstance(retained, list):
        raise MalformedPatch(
            f"$retainKeys at {where or 'the top'} must be a list of member names",
            told="invalid patch format of retainKeys",
        )
    for name, value in patch.items():
        if value is not None and not name.startswith((_DELETE_FROM, _SET_ORDER)) and name not in retained:
            raise MalformedPatch(
                f"$retainKeys at {where or 'the top'} does not list {name!r}, which the patch sets",
                told="invalid patch format of retainKeys",
            )
    for name in [name for name in original if name not in retained]:
        del original[name]


def _delete_from_list(original: _Object, name: str, values: Any, where: str) -> None:
    if values is None:
        original.pop(name, None)
        return
    current = original.get(name)
    if isinstance(current, list) and isinstance(values, list):
        if (current or values) and _item_type([*current, *values], f"{where}.{name}") is dict:
            raise MalformedPatch(f"{_DELETE_FROM}/{name} is for lists of plain values, not of objects")
        original[name] = [value for value in current if value not in values]


def _merge_ordered_lists(original: _Object, patch: _Object, keys: MergeKeys, where: str) -> None:
    """Merge the lists that come with `$setElementOrder`, and take them out of the patch."""
    for directive in [name for name in patch if name.startswith(_SET_ORDER)]:
        order = patch.pop(directive)
        name = _directed_field(directive, where)
        place = f"{where}.{name}".lstrip(".")
        live, wanted = original.get(name, []), patch.get(name, [])
        if not (isinstance(order, list) and isinstance(live, list) and isinstance(wanted, list)):
            raise MalformedPatch(f"{directive} at {place} is for lists only")
        live = list(live)
        if name not in original and name not in patch:
            continue
        rule = keys.below(name)
        identity = _identity_in(rule, [*live, *wanted], place)
        order_ids = [identity(entry) for entry in order]
        _check_order(wanted, order, identity, place)
        length = len(live)
        if name not in patch:
            merged = live
        elif name not in original:
            merged = _without_directive_objects(wanted)
        else:
            merged = _merged_list(live, wanted, rule, place)
        # apimachinery deletes from and appends to the live list in place, and then takes the order of server-only
        # items from its first `length` places: an item that fills the place of a deleted one counts as live.
        live_ids = [identity(item) for item in live[:length]]
        original[name] = _ordered(merged, order_ids, live_ids, identity)
        patch.pop(name, None)


def _check_order(wanted: list[Any], order: list[Any], identity: _Identity, where: str) -> None:
    """The items of the patch must be in the order list, in the same order; directives are not items.

    apimachinery also refuses a `$patch: replace` that stands behind the last ordered item; that is not imitated.
    """
    if not order:
        return
    rest = iter([identity(entry) for entry in order])
    for item in wanted:
        # `in` consumes the iterator up to the match, so the next item must come later.
        if not _is_directive(item) and identity(item) not in rest:
            told = f"The order in patch list:\n{_go(wanted)}\n doesn't match {_SET_ORDER} list:\n{_go(order)}\n"
            raise PatchDoesNotApply(
                f"the items at {where} are not, in this order, in {_SET_ORDER}", told=told, code=500
            )


def _merged_list(live: list[Any], patch: list[Any], keys: MergeKeys, where: str) -> list[Any]:
    """Merge `patch` into `live`, which is changed in place for keyed lists; its items are not."""
    if keys.strategy != "merge":
        return [_without_directives(item) for item in patch]
    if not live and not patch:
        return live
    identity = _identity_in(keys, [*live, *patch], where)
    if _item_type([*live, *patch], where) is not dict:
        united = list(dict.fromkeys([*live, *patch]))
        return _ordered(united, patch, live, identity)
    items = [item for item in patch if not _is_directive(item)]
    replaces = _apply_item_directives(live, patch, identity, where)
    if replaces:
        return [_without_directives(item) for item in items]
    live_ids = [identity(item) for item in live]
    for item in items:
        _merge_item(live, item, keys, identity, where)
    return _ordered(list(live), [identity(item) for item in items], live_ids, identity)


def _apply_item_directives(live: list[_Object], patch: list[_Object], identity: _Identity, where: str) -> bool:
    """Delete what the patch's items say; whether it says that the list is to be replaced."""
    replaces = False
    for item in filter(_is_directive, patch):
        match item[_PATCH]:
            case "delete":
                gone = identity(item)
                live[:] = [entry for entry in live if identity(entry) != gone]
            case "replace":
                replaces = True
            case other:
                raise MalformedPatch(
                    f"$patch in an item of {where} is {other!r}: it may be replace or delete",
                    told=f"unknown patch type: {other} in map: {_go(item)}",
                    code=500,
                )
    return replaces


def _merge_item(live: list[_Object], item: _Object, keys: MergeKeys, identity: _Identity, where: str) -> None:
    wanted = identity(item)
    for position, current in enumerate(live):
        if identity(current) == wanted:
            live[position] = _merged_object(current, item, keys, f"{where}[{wanted}]")
            return
    live.append(item if _is_plain(item) else _without_directives(item))


def _ordered(merged: list[Any], patch_ids: list[Any], live_ids: list[Any], identity: _Identity) -> list[Any]:
    """The items of the patch in its order, and the others in theirs, put before what they preceded live."""
    from_patch = sorted((item for item in merged if identity(item) in patch_ids), key=_rank(patch_ids, identity))
    live_rank = _rank(live_ids, identity)
    server_only = sorted((item for item in merged if identity(item) not in patch_ids), key=live_rank)
    result: list[Any] = []
    for item in from_patch:
        rank = live_rank(item)
        while server_only and 0 <= live_rank(server_only[0]) < rank:
            result.append(server_only.pop(0))
        result.append(item)
    return result + server_only


def _rank(ids: list[Any], identity: _Identity) -> Callable[[Any], int]:
    """The place of an item in a list of identities; -1 for one that is not there."""

    def rank(item: Any) -> int:
        wanted = identity(item)
        return ids.index(wanted) if wanted in ids else -1

    return rank


def _identity_in(keys: MergeKeys, items: list[Any], where: str) -> _Identity:
    """What tells the items of a list apart: the merge key of objects, else the value itself."""
    if _item_type(items, where) is not dict:
        return lambda item: item
    if not keys.key:
        raise PatchDoesNotApply(f"the list at {where} has no merge key, so its items cannot be merged or ordered")

    def identity(item: Any) -> Any:
        if not isinstance(item, dict) or keys.key not in item:
            raise PatchDoesNotApply(
                f"an item of the list at {where} has no {keys.key!r}, by which items are merged",
                told=f"map: {_go(item)} does not contain declared merge key: {keys.key}",
                code=500,
            )
        return item[keys.key]

    return identity


def _item_type(items: list[Any], where: str) -> type:
    """The one type of all items; lists that are empty, mixed, or hold lists or nulls cannot be merged."""
    types = {type(item) for item in items}
    if len(types) != 1 or types <= {list, type(None)}:
        raise PatchDoesNotApply(f"the list at {where} is empty or mixed, so it cannot be merged or ordered")
    return types.pop()


def _directed_field(directive: str, where: str) -> str:
    name = directive.partition("/")[2]
    if directive.split("/", 1)[0] not in {_DELETE_FROM, _SET_ORDER} or not name:
        raise MalformedPatch(
            f"{directive!r} at {where or 'the top'} names no list: write it like '{_DELETE_FROM}/finalizers'"
        )
    return name


def _go(value: Any) -> str:
    """A value as Go prints maps and lists in messages."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_go(below)}' for name, below in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_go, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)


def _is_directive(value: Any) -> bool:
    return isinstance(value, dict) and _PATCH in value


def _is_plain(value: Any) -> bool:
    """Whether a value has neither directives nor nulls in it: most have none."""
    if isinstance(value, dict):
        return not any(name.startswith("$") or not _is_plain(entry) for name, entry in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is not None


def _without_directives(value: Any) -> Any:
    """A value that is taken as it is, without the directives that typed decoding would drop."""
    if isinstance(value, dict):
        return {
            name: _without_directives(entry)
            for name, entry in value.items()
            if name not in {_PATCH, _RETAIN_KEYS} and not name.startswith((_DELETE_FROM, _SET_ORDER))
        }
    return [_without_directives(entry) for entry in value] if isinstance(value, list) else value


def _without_directive_objects(value: Any) -> Any:
    """A value for a place where nothing was: objects with `$patch` have nothing to act on and vanish."""
    if isinstance(value, dict):
        kept = {name: entry for name, entry in value.items() if not _is_directive(entry)}
        return _without_directives({name: _without_directive_objects(entry) for name, entry in kept.items()})
    if isinstance(value, list):
        return [_without_directive_objects(entry) for entry in value if not _is_directive(entry)]
    return value


def _without_nulls(value: Any) -> Any:
    """A new value without the null members of its objects: there was nothing that they could delete."""
    if isinstance(value, dict):
        return {name: _without_nulls(entry) for name, entry in value.items() if entry is not None}
    return [_without_nulls(entry) for entry in value] if isinstance(value, list) else value
