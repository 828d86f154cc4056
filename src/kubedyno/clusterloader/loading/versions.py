"""Versions of DRA's kinds that a cluster serves or not: objects of the beta are written as v1 where that is gone."""

from collections.abc import Sequence

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kit.errors import EngineError
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource
from kubedyno.sim.devices.versions import V1, V1BETA2

# The two write objects alike; beta1 does not, and is left as it is.


async def serves(client: Client, api_version: str) -> bool:
    """Whether the server has this version of DRA's kinds."""
    # The table of built-in kinds knows all versions: whether the server has them only it can say.
    resource = await client.resource(api_version, "ResourceClaimTemplate")
    try:
        await client.list(resource, limit=1, resource_version="0")
    except ApiError as error:
        if not error.is_not_found:
            raise
        return False
    return True


async def first_served(client: Client, api_versions: Sequence[str], *, needed_by: str) -> str:
    """The first of these versions that the server has; EngineError where it has none of them."""
    for one in api_versions:
        if await serves(client, one):
            return one
    raise EngineError(
        f"{needed_by}: the cluster serves neither {' nor '.join(api_versions)}: it has no dynamic resource allocation, "
        "or it is switched off there (kube-apiserver --runtime-config, feature gate DynamicResourceAllocation)"
    )


class Versions:
    """Which version of a kind a cluster is told of; `remarks` get what is told otherwise than it was written."""

    def __init__(self, client: Client, remarks: list[str]) -> None:
        self._client = client
        self._serves_beta: bool | None = None
        self._remarks = remarks

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The resource to write an object of this kind to."""
        if api_version == V1BETA2 and not await self._has_beta():
            api_version = V1
        return await self._client.resource(api_version, kind)

    async def served(self, obj: Object) -> tuple[Resource, Object]:
        """The object as the cluster takes it, and where it belongs."""
        resource = await self.resource(obj["apiVersion"], obj["kind"])
        return resource, {**obj, "apiVersion": resource.api_version}

    async def _has_beta(self) -> bool:
        if self._serves_beta is None:
            self._serves_beta = await serves(self._client, V1BETA2)
            if not self._serves_beta:
                self._remarks.append(f"the cluster does not serve {V1BETA2}: such objects are written as {V1}")
        return self._serves_beta
