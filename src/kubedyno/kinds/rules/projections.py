"""Rules of projected volumes: several sources in one directory."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubedyno.kinds.rules.fields import required_fields
from kubedyno.kinds.rules.paths import unreserved_problems
from kubedyno.kinds.rules.volume_files import downward_file_problems, item_problems, mode_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid, required

_SHORTEST_TOKEN_S: Final = 10 * 60
_LONGEST_TOKEN_S: Final = 2**32
# The server drops the others, which belong to features that are off.
_SOURCES: Final = ("secret", "configMap", "downwardAPI", "serviceAccountToken")


class _Taken:
    """The paths of one volume: each may be written once."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._paths: set[str] = set()

    def problems(self, target: str, shown: str) -> Iterator[Problem]:
        if target in self._paths:
            yield invalid(self._path, shown, "conflicting duplicate paths")
        self._paths.add(target)


def projected_problems(volume: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """A projected volume."""
    yield from mode_problems(volume.get("defaultMode"), f"{path}.defaultMode")
    taken = _Taken(path)
    for index, source in enumerate(volume.get("sources") or ()):
        at = f"{path}.sources[{index}]"
        given = [name for name in _SOURCES if source.get(name) is not None]
        for name in given:
            yield from _source_problems(name, source[name], f"{at}.{name}", path, taken)
        if len(given) > 1:
            yield forbidden(at, "may not specify more than 1 volume type per source")


def _source_problems(name: str, source: Object, path: str, volume_path: str, taken: _Taken) -> Iterator[Problem]:
    match name:
        case "secret" | "configMap":
            yield from required_fields(source, path, "name")
            for index, item in enumerate(source.get("items") or ()):
                yield from item_problems(item, f"{path}.items[{index}]")
                if item.get("path"):
                    yield from taken.problems(item["path"], source.get("name", ""))
        case "downwardAPI":
            for file in source.get("items") or ():
                yield from downward_file_problems((file,), path)
                if file.get("path"):
                    yield from taken.problems(file["path"], file["path"])
        case _:
            yield from _token_problems(source, path, volume_path)


def _token_problems(source: Object, path: str, volume_path: str) -> Iterator[Problem]:
    lifetime = source.get("expirationSeconds", 0)
    if lifetime < _SHORTEST_TOKEN_S:
        yield invalid(f"{path}.expirationSeconds", lifetime, "may not specify a duration less than 10 minutes")
    if lifetime > _LONGEST_TOKEN_S:
        yield invalid(f"{path}.expirationSeconds", lifetime, "may not specify a duration larger than 2^32 seconds")
    if not source.get("path"):
        yield required(f"{volume_path}.path")
    else:
        yield from unreserved_problems(source["path"], f"{volume_path}.path")
