"""Versions of `resource.k8s.io`, and which of them a server has."""

import functools
import math
from typing import Final

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kube.resources import Resource, by_kind
from kubedyno.sim.patience import patiently

V1: Final = "resource.k8s.io/v1"
V1BETA2: Final = "resource.k8s.io/v1beta2"

_NEWEST_FIRST: Final = (V1, V1BETA2)


def slices_of(api_version: str) -> Resource:
    """ResourceSlices in one of the versions, which write them alike."""
    return by_kind(api_version, "ResourceSlice")


async def served_version(client: Client) -> str | None:
    """The newest version of ResourceSlices that the server has; None for a server without them."""
    for version in _NEWEST_FIRST:
        look = functools.partial(client.list, slices_of(version), limit=1, resource_version="0")
        try:
            await patiently(client, look, patience_s=math.inf)
        except ApiError as error:
            if not error.is_not_found:
                raise
        else:
            return version
    return None
