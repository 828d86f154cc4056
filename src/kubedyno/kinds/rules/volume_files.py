"""Rules of the files that config maps, secrets and the downward API put into a volume."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kubedyno.kinds.rules.environment import VOLUME_FIELDS, field_ref_problems, resource_ref_problems
from kubedyno.kinds.rules.fields import required_fields
from kubedyno.kinds.rules.paths import unreserved_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, invalid, required

_LARGEST_MODE: Final = 0o777


def mode_problems(mode: int | None, path: str) -> Iterator[Problem]:
    """Permission bits of a file."""
    if mode is not None and not 0 <= mode <= _LARGEST_MODE:
        yield invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive")


def item_problems(item: Object, path: str) -> Iterator[Problem]:
    """One key that becomes a file."""
    yield from required_fields(item, path, "key", "path")
    yield from unreserved_problems(item.get("path", ""), f"{path}.path")
    yield from mode_problems(item.get("mode"), f"{path}.mode")


def keyed_problems(source: Mapping[str, Any], path: str, name: str) -> Iterator[Problem]:
    """A secret or a config map as a volume; `name` is the field that tells which."""
    yield from required_fields(source, path, name)
    yield from mode_problems(source.get("defaultMode"), f"{path}.defaultMode")
    for index, item in enumerate(source.get("items") or ()):
        yield from item_problems(item, f"{path}.items[{index}]")


def downward_problems(source: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Fields of the pod as files."""
    yield from mode_problems(source.get("defaultMode"), f"{path}.defaultMode")
    yield from downward_file_problems(source.get("items") or (), path)


def downward_file_problems(files: Iterable[Object], path: str) -> Iterator[Problem]:
    """Files of the downward API; the server tells them without their place in the list."""
    for file in files:
        yield from required_fields(file, path, "path")
        yield from unreserved_problems(file.get("path", ""), f"{path}.path")
        field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
        if field is not None:
            yield from field_ref_problems(field, VOLUME_FIELDS, f"{path}.fieldRef")
            if resource is not None:
                yield invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
        elif resource is not None:
            yield from resource_ref_problems(resource, f"{path}.resourceFieldRef", in_volume=True)
        else:
            yield required(path, "one of fieldRef and resourceFieldRef is required")
        yield from mode_problems(file.get("mode"), f"{path}.mode")
