"""Which resources a server has now, with their verbs: for those who must look after all of them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kubedyno.client.discovery import AGGREGATED
from kubedyno.client.rest import Client
from kubedyno.kube import codec
from kubedyno.kube.resources import BUILT_IN, Resource

_BUILT_IN = {(entry.api_version, entry.kind, entry.plural): entry for entry in BUILT_IN}


class Served(msgspec.Struct, frozen=True):
    """A resource in the version that its group prefers."""

    resource: Resource
    verbs: frozenset[str]


async def served(client: Client) -> list[Served]:
    """All resources, core first, each in the first version that has it."""
    found: list[Served] = []
    for root in ("/api", "/apis"):
        response = await client.request_raw("GET", root, accept=AGGREGATED)
        found += _resources(codec.decode(response.body))
    return found


def _known(resource: Resource) -> Resource:
    """The entry of our own table for a resource that is in it: servers list subresources in another order."""
    return _BUILT_IN.get((resource.api_version, resource.kind, resource.plural), resource)


def _resources(answer: Mapping[str, Any]) -> list[Served]:
    found: dict[tuple[str, str], Served] = {}
    for group in answer.get("items") or ():
        name = (group.get("metadata") or {}).get("name", "")
        for version in group.get("versions") or ():
            for item in version.get("resources") or ():
                resource = Resource(
                    group=name,
                    version=version["version"],
                    kind=(item.get("responseKind") or {}).get("kind", ""),
                    plural=item["resource"],
                    namespaced=item.get("scope") == "Namespaced",
                    subresources=tuple(sub["subresource"] for sub in item.get("subresources") or ()),
                )
                found.setdefault((name, resource.plural), Served(_known(resource), frozenset(item.get("verbs") or ())))
    return list(found.values())
