"""Custom kinds for the duration of a block, on any API server."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kube import meta
from kubedyno.kube.resources import CRDS


@contextlib.asynccontextmanager
async def defined(client: Client, wanted: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """A definition that is established, for the duration of a block."""
    await client.create(CRDS, wanted)
    name = wanted["metadata"]["name"]
    try:
        while True:
            found = await client.get(CRDS, name)
            plural, group = name.split(".", 1)
            version_name = found["spec"]["versions"][0]["name"]
            served = await client.request_raw("GET", f"/apis/{group}/{version_name}/{plural}")
            if meta.is_condition_true(found, "Established") and served.status == 200:
                break
            await client.clock.sleep(0.05)
        yield found
    finally:
        try:
            await client.delete(CRDS, name)
        except ApiError as error:
            if not error.is_not_found:
                raise
