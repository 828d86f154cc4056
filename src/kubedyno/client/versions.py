"""Which version a server is, and kinds that it may have in one of several."""

from collections.abc import Sequence

import msgspec

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


async def server_version(client: Client) -> str:
    """The version of Kubernetes that the server says it is, like v1.36.1; empty: it does not say."""
    answer = await client.request_raw("GET", "/version")
    return str(msgspec.json.decode(answer.body).get("gitVersion") or "")
