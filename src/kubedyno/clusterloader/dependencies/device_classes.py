"""The DeviceClass that a dependency brings: all devices of a driver, by the driver's name."""

from kubedyno.client.errors import ApiError
from kubedyno.clusterloader.dependencies.depending import Surroundings
from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.lab.creating import RUN_LABEL
from kubedyno.sim.pools.sending import delete_object


class OwnDeviceClass:
    """The class, made and taken away again. One that others made on a cluster of theirs is used, and stays."""

    def __init__(self, around: Surroundings, driver: str) -> None:
        self._around = around
        self._driver = driver
        self._made: Object | None = None

    async def put(self, api_version: str, *, extended_resource: str = "") -> None:
        """Make the cluster have it; pods may ask for the devices by an extended resource as well.

        UsageError when others have a class of that name which is not the same.
        """
        wanted = self._wanted(api_version, extended_resource)
        found = await self._found(wanted) if self._around.is_foreign else None
        if found is not None and RUN_LABEL not in meta.labels(found):
            if any(found["spec"].get(field) != value for field, value in wanted["spec"].items()):
                raise UsageError(
                    f"the cluster has a DeviceClass {self._driver} that says something else: delete it, or take "
                    "another cluster"
                )
            return
        self._made = wanted
        await self._around.client.apply(wanted, field_manager="kubedyno", force=True)

    async def remove(self) -> None:
        """Take it away, if it was made here."""
        if self._made is not None:
            await delete_object(self._around.client, self._made)

    async def _found(self, wanted: Object) -> Object | None:
        client = self._around.client
        try:
            return await client.get(await client.resource_of(wanted), self._driver)
        except ApiError as error:
            if not error.is_not_found:
                raise
            return None

    def _wanted(self, api_version: str, extended_resource: str) -> Object:
        extended = {"extendedResourceName": extended_resource} if extended_resource else {}
        return {
            "apiVersion": api_version,
            "kind": "DeviceClass",
            "metadata": {"name": self._driver, "labels": {RUN_LABEL: self._around.run_id}},
            "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{self._driver}'"}}], **extended},
        }
