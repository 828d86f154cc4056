"""Kinds that a server may have in one of several versions."""

from collections.abc import Sequence

from kubedyno.client.rest import Client
from kubedyno.kube.resources import Resource, UnknownResource


async def first_served(client: Client, versions: Sequence[Resource]) -> Resource | None:
    """The first of these versions of a kind that the server has; None: it has none of them."""
    for one in versions:
        try:
            return await client.resource(one.api_version, one.kind)
        except UnknownResource:
            continue
    return None
