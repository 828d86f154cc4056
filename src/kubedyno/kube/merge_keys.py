"""How strategic merge patches merge the lists of Kubernetes' own kinds, from the table of types.

What has no rule here is merged as JSON is: objects member by member, lists replaced (tolerations, taints, envFrom,
container statuses). The strategy `retainKeys` is not in the table: it tells clients how to write a patch, not how to
apply one.
"""

import functools
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from kubedyno.kube import schema
from kubedyno.kube.schema import Field


class MergeKeys(msgspec.Struct, frozen=True):
    """How one field is merged, and the fields below it: of the object, or of each item of the list.

    `merge` is for lists: items with equal `key` are merged, lists of plain values (no key) are united. `replace`
    takes an object from the patch as a whole. Without strategy, objects are merged and lists replaced.
    """

    strategy: Literal["", "merge", "replace"] = ""
    key: str = ""
    fields: Mapping[str, "MergeKeys"] = {}

    def below(self, name: str) -> "MergeKeys":
        """The rule for a field of this object or list item; a plain one where nothing is said."""
        return self.fields.get(name, _PLAIN)


_PLAIN: Final = MergeKeys()


@functools.cache
def merge_keys_for(api_version: str, kind: str) -> MergeKeys | None:
    """The rules of one of Kubernetes' own kinds; None for others, which have no strategic merge patch (415)."""
    found = schema.type_of(api_version, kind)
    return None if found is None else MergeKeys(fields=_rules(found.name, frozenset()))


def _rules(type_name: str, above: frozenset[str]) -> dict[str, MergeKeys]:
    """The rules of a type's fields that have any; a type inside itself (JSON Schema) has none there."""
    if type_name in above:
        return {}
    rules = {}
    for name, field in schema.type_named(type_name).fields.items():
        rule = _rule(field, above | {type_name})
        if rule != _PLAIN:
            rules[name] = rule
    return rules


def _rule(field: Field, above: frozenset[str]) -> MergeKeys:
    if field.shape == "list" and field.merge_key is None:
        return _PLAIN  # replaced as a whole: rules inside never take effect
    below = _rules(field.of, above) if field.of_objects else {}
    if field.merge_key is not None:
        return MergeKeys("merge", field.merge_key, below)
    return MergeKeys("replace" if field.replace else "", "", below)
