"""Asking the server which kinds it has: for custom resources, which no table can know."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from kubedyno.client.errors import ApiError
from kubedyno.client.transport import JSON
from kubedyno.kit.nearest import suggestion
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource, UnknownResource

AGGREGATED = f"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,{JSON}"
"""All groups in one answer (Kubernetes 1.30 and later); older servers answer the plain list of groups."""

Fetch = Callable[[str, str], Awaitable[Object]]
Key = tuple[str, str]


class Discovery:
    """The server's kinds, asked for once and again whenever one is missing: it may have been installed since."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._known: dict[Key, Resource] = {}

    async def find(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind, or `UnknownResource` naming the nearest kind or version that the server has."""
        found = self._known.get((api_version, kind))
        if found is None:
            await self._refresh(api_version)
            found = self._known.get((api_version, kind))
        if found is None:
            raise UnknownResource(self._what_is_missing(api_version, kind))
        return found

    async def named(self, api_version: str, plural: str) -> Resource:
        """The resource of a plural, or `UnknownResource` naming the nearest one that the server has."""
        for is_fresh in (False, True):
            if is_fresh:
                await self._refresh(api_version)
            plurals = {one.plural: one for (version, _), one in self._known.items() if version == api_version}
            if plural in plurals:
                return plurals[plural]
        if not plurals:
            raise UnknownResource(self._what_is_missing(api_version, plural))
        raise UnknownResource(f"the server has no {plural!r} in {api_version}: {suggestion(plural, plurals)}")

    async def _refresh(self, api_version: str) -> None:
        group, slash, version = api_version.rpartition("/")
        root = "/apis" if slash else "/api"
        answer = await self._fetch(root, AGGREGATED)
        if answer.get("kind") == "APIGroupDiscoveryList":
            self._known.update(_from_aggregated(answer))
            return
        path = f"/apis/{group}/{version}" if slash else f"/api/{version}"
        try:
            listed = await self._fetch(path, JSON)
        except ApiError as error:
            if not error.is_not_found:
                raise
            listed = {}
        self._known.update(_from_group_version(group, version, listed))

    def _what_is_missing(self, api_version: str, kind: str) -> str:
        kinds = {name for known_version, name in self._known if known_version == api_version}
        if kinds:
            return f"the server has no kind {kind!r} in {api_version}: {suggestion(kind, kinds)}"
        versions = {known_version for known_version, _ in self._known}
        return (
            f"the server has no API {api_version!r} (for kind {kind!r}); is its custom resource definition installed? "
            f"If the name is wrong: {suggestion(api_version, versions)}"
        )


def _from_aggregated(answer: Mapping[str, Any]) -> dict[Key, Resource]:
    """Resources of an APIGroupDiscoveryList; a group version whose server is away lists none."""
    found: dict[Key, Resource] = {}
    for group in answer.get("items") or []:
        name = (group.get("metadata") or {}).get("name", "")
        for version in group.get("versions") or []:
            for item in version.get("resources") or []:
                resource = Resource(
                    group=name,
                    version=version["version"],
                    kind=(item.get("responseKind") or {}).get("kind", ""),
                    plural=item["resource"],
                    namespaced=item.get("scope") == "Namespaced",
                    subresources=tuple(sub["subresource"] for sub in item.get("subresources") or []),
                )
                found[resource.api_version, resource.kind] = resource
    return found


def _from_group_version(group: str, version: str, answer: Mapping[str, Any]) -> dict[Key, Resource]:
    """Resources of an APIResourceList, where subresources stand as `plural/subresource`."""
    entries = answer.get("resources") or []
    found: dict[Key, Resource] = {}
    for item in entries:
        plural = item["name"]
        if "/" in plural:
            continue
        prefix = f"{plural}/"
        resource = Resource(
            group=group,
            version=version,
            kind=item["kind"],
            plural=plural,
            namespaced=bool(item.get("namespaced")),
            subresources=tuple(
                entry["name"].removeprefix(prefix) for entry in entries if entry["name"].startswith(prefix)
            ),
        )
        found[resource.api_version, resource.kind] = resource
    return found
