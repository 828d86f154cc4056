"""Keeping parts of the old object: what no request may change, and what this one may not."""

from typing import Any

from kubedyno.kube.codec import Object


def keep(new: Object, old: Object, field: str) -> None:
    """Have the old value of a field, or its absence."""
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def keep_metadata(new: Object, old: Object) -> None:
    """What no update can change; the generation too, which is bumped afterwards if need be."""
    metadata, before = new["metadata"], old["metadata"]
    keep(metadata, before, "generation")
    if not metadata.get("uid"):
        keep(metadata, before, "uid")
    if before.get("creationTimestamp"):
        metadata["creationTimestamp"] = before["creationTimestamp"]
    if before.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before:
        metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])


def value_at(obj: Object, path: str) -> Any:
    """The value of `spec` or `metadata.labels`; None where it is absent or empty, which Kubernetes takes as equal."""
    first, _, second = path.partition(".")
    value = obj.get(first)
    if second and value:
        value = value.get(second)
    return value or None


def bump_generation(new: Object, old: Object, fields: tuple[str, ...]) -> bool:
    """One more than the old generation if one of the fields differs; whether it does."""
    for path in fields:
        if value_at(new, path) != value_at(old, path):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
            return True
    return False
