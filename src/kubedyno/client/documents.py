"""The OpenAPI documents of an API server, one per group and version."""

from collections.abc import Iterable
from typing import Any

import msgspec

from kubedyno.client.rest import Client


async def openapi_documents(client: Client, api_versions: Iterable[str]) -> list[dict[str, Any]]:
    """The OpenAPI v3 documents of those of the versions that the server serves, in the given order."""
    index = await _get(client, "/openapi/v3")
    documents = []
    for api_version in api_versions:
        path = f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"
        if path in index["paths"]:
            documents.append(await _get(client, f"/openapi/v3/{path}"))
    return documents


async def _get(client: Client, path: str) -> dict[str, Any]:
    response = await client.request_raw("GET", path, accept="application/json")
    return msgspec.json.decode(response.body, type=dict[str, Any])
