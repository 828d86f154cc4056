"""Rules of the group node.k8s.io: RuntimeClass."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules.fields import formatted, label_problems
from kubedyno.kinds.rules.internals import immutable, internal
from kubedyno.kinds.rules.requirements import container_requirement_problems
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.texts import dns1123_label
from kubedyno.kinds.rules.tolerations import toleration_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, required

_KEYS: Final = ("key", "operator", "value", "effect")


def _runtime_class(obj: Object) -> Iterator[Problem]:
    handler = obj.get("handler", "")
    if not handler:
        yield required("handler")
    else:
        yield from formatted(handler, "handler", dns1123_label)
    overhead, scheduling = obj.get("overhead"), obj.get("scheduling") or {}
    if overhead is not None:
        yield from container_requirement_problems({"limits": overhead.get("podFixed") or {}}, "overhead")
    yield from label_problems(scheduling.get("nodeSelector"), "scheduling.nodeSelector")
    tolerations, path = scheduling.get("tolerations") or (), "scheduling.tolerations"
    yield from toleration_problems(tolerations, path)
    seen: set[tuple[str, ...]] = set()
    for index, toleration in enumerate(tolerations):
        key = tuple(toleration.get(name, "") for name in _KEYS)
        if key in seen:
            told = f"Duplicate value: {internal('Toleration', toleration)}"
            yield Problem(f"{path}[{index}]", "FieldValueDuplicate", told)
        seen.add(key)


def _runtime_class_update(new: Object, old: Object) -> list[Problem]:
    return immutable("handler", new.get("handler", ""), old.get("handler", ""))


RULES: Final[dict[tuple[str, str], Rules]] = {
    ("node.k8s.io", "RuntimeClass"): Rules(create=_runtime_class, update=_runtime_class_update),
}
"""By group and kind."""
