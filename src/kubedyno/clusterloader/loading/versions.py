"""Versions of kinds that a cluster no longer serves: objects for DRA's beta are written as v1 there."""

from typing import Final

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource

_BETA: Final = "resource.k8s.io/v1beta2"
_STABLE: Final = "resource.k8s.io/v1"
"""The two write objects alike; beta1 does not, and is left as it is."""


class Versions:
    """Which version of a kind a cluster is told of; `remarks` get what is told otherwise than it was written."""

    def __init__(self, client: Client, remarks: list[str]) -> None:
        self._client = client
        self._serves_beta: bool | None = None
        self._remarks = remarks

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The resource to write an object of this kind to."""
        if api_version == _BETA and not await self._has_beta():
            api_version = _STABLE
        return await self._client.resource(api_version, kind)

    async def served(self, obj: Object) -> tuple[Resource, Object]:
        """The object as the cluster takes it, and where it belongs."""
        resource = await self.resource(obj["apiVersion"], obj["kind"])
        return resource, {**obj, "apiVersion": resource.api_version}

    async def _has_beta(self) -> bool:
        if self._serves_beta is None:
            # The table of built-in kinds knows both: whether the server has them only it can say.
            resource = await self._client.resource(_BETA, "ResourceClaimTemplate")
            try:
                await self._client.list(resource, limit=1, resource_version="0")
                self._serves_beta = True
            except ApiError as error:
                if not error.is_not_found:
                    raise
                self._serves_beta = False
                self._remarks.append(f"the cluster does not serve {_BETA}: such objects are written as {_STABLE}")
        return self._serves_beta
