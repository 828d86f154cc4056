"""From a path to what it names."""

import msgspec

from kubedyno.server.catalogue import Catalogue, Kind
from kubedyno.server.messages import no_such_resource, not_found

_CORE = "api"
_GROUPS = "apis"
_PROXY = "proxy"
_ROUTES_AT_MOST = 4096


class Route(msgspec.Struct, frozen=True, gc=False):
    """A collection (without a name), an object, or a subresource of one."""

    kind: Kind
    namespace: str
    """Empty: all namespaces, or a cluster-wide resource."""
    name: str
    subresource: str
    watch: bool = False
    """Whether the path itself asks for a watch."""


class Routes:
    """The ways to collections that were found, remembered until the catalogue changes: most requests go there."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._generation = -1
        self._known: dict[str, Route] = {}

    def find(self, path: str) -> Route | None:
        """As `find_route` does."""
        if self._generation != self._catalogue.generation or len(self._known) > _ROUTES_AT_MOST:
            self._generation = self._catalogue.generation
            self._known.clear()
        found = self._known.get(path)
        if found is None:
            found = find_route(path, self._catalogue)
            if found is not None and not found.name:
                self._known[path] = found
        return found


def find_route(path: str, catalogue: Catalogue) -> Route | None:
    """What a path of the API's groups names; None for paths of no group that is served.

    A path of one of Kubernetes' own groups that names nothing is refused with 404, as a Status; one of a custom group
    is as one of no group.
    """
    group, version, rest = _split(path)
    if not rest or not catalogue.serves_group(group):
        return None
    found = _found(group, version, rest, catalogue)
    if found is None and catalogue.has_own_group(group):
        raise no_such_resource()
    return found


def _found(group: str, version: str, rest: list[str], catalogue: Catalogue) -> Route | None:
    # The first way to ask for a watch: a path of its own. It is still served.
    is_watch = rest[0] == "watch" and len(rest) > 1
    if is_watch:
        rest = rest[1:]
    namespace = ""
    # `namespaces/x` names a namespace, `namespaces/x/status` its status; `namespaces/x/pods` is a collection in it.
    if rest[0] == "namespaces" and len(rest) > 2:  # noqa: PLR2004 - namespaces, name, plural
        kind = catalogue.find(group, version, rest[2])
        if kind is not None and kind.resource.namespaced:
            namespace, rest = rest[1], rest[2:]
        elif group or rest[2] not in {"status", "finalize"}:
            return None
    kind = catalogue.find(group, version, rest[0])
    if kind is None or not all(rest):
        return None
    name, subresource = (rest[1] if len(rest) > 1 else ""), "/".join(rest[2:])
    if name and kind.resource.namespaced and not namespace:
        return None
    first, _, more = subresource.partition("/")
    if subresource and (first not in kind.resource.subresources or (more and first != _PROXY)):
        if kind.is_custom:
            raise not_found(kind.resource, name)
        return None
    return Route(kind, namespace, name, subresource, watch=is_watch)


def _split(path: str) -> tuple[str, str, list[str]]:
    """Group, version, and what follows; nothing follows where a path is not of any group."""
    parts = path.removeprefix("/").rstrip("/").split("/")
    if parts[0] == _CORE:
        return "", "".join(parts[1:2]), parts[2:]
    if parts[0] == _GROUPS and len(parts) > 1 and parts[1]:
        return parts[1], "".join(parts[2:3]), parts[3:]
    return "", "", []
