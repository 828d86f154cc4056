"""What a dependency is: something that a test needs around it, set up before its steps and torn down after them."""

from collections.abc import Callable, Collection
from typing import Protocol

import msgspec

from kubedyno.client.rest import Client
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.kube.codec import Object


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What dependencies work with."""

    client: Client


class Dependency(Protocol):
    """One dependency of a test. Whatever it has made when its set-up ends or is ended, it can take away again."""

    async def set_up(self, params: Params) -> None:
        """Make the cluster have it; re-runs change what is there. UsageError when the parameters are wrong."""
        ...

    async def tear_down(self) -> None:
        """Take all of it away, and return when it is gone."""
        ...


def device_class(driver: str, *, extended_resource: str = "") -> Object:
    """The class of all devices of a driver, by its name; pods may ask for them by an extended resource as well."""
    extended = {"extendedResourceName": extended_resource} if extended_resource else {}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": driver},
        "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{driver}'"}}], **extended},
    }


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of dependency by what it takes and what makes one."""

    make: Callable[[Surroundings], Dependency]
    params: Collection[str]
    brings_nodes: Callable[[Params], int]
    """How many nodes it makes with these parameters."""
