"""What a lab asks of a scheduler, whichever it is."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from kubedyno.model.dialects import Dialect
from kubedyno.model.features import Feature
from kubedyno.model.settings import Setting
from kubedyno.plane.activity import Activity
from kubedyno.plane.component import Component, Probe
from kubedyno.plane.identities import Identity
from kubedyno.plane.site import Site


class Reader(Protocol):
    """Reads what a running component serves."""

    async def fetch(self, probe: Probe) -> bytes:
        """The body at the probe's URL; anything but 200 is an EngineError."""
        ...


class Scheduler(Protocol):
    """A scheduler that can be mounted on a lab."""

    @property
    def name(self) -> str:
        """Its name on the command line."""
        ...

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """Gates that it needs on the control plane."""
        ...

    @property
    def runtime_config(self) -> Mapping[str, str]:
        """APIs that it needs the API server to serve."""
        ...

    @property
    def asset_groups(self) -> tuple[str, ...]:
        """Groups of programs whose CRDs must be installed."""
        ...

    @property
    def identities(self) -> tuple[Identity, ...]:
        """Who its processes are to the API server."""
        ...

    @property
    def dialect(self) -> Dialect:
        """How workloads are written for it."""
        ...

    @property
    def lacks(self) -> Mapping[Feature, str]:
        """What it cannot express, and why; scenarios that need it are not applicable."""
        ...

    def lacks_with(self, definitions: Iterable[dict[str, Any]]) -> Mapping[Feature, str]:
        """What it cannot express on a server that has these CustomResourceDefinitions; `lacks` and more."""
        ...

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines it can be mounted on."""
        ...

    def activities(self, site: Site, *, cycle_s: float) -> tuple[Activity, ...]:
        """What of it runs in the lab's own process; `cycle_s` is what a cycle of its decisions costs there.

        `site.settings` are understood under the names of those that are `settable`.
        """
        ...

    def definitions(self) -> list[dict[str, Any]]:
        """CustomResourceDefinitions of our own that must be served; those of `asset_groups` aside."""
        ...

    def base_objects(self) -> list[dict[str, Any]]:
        """Objects that must exist before its processes start, CRDs aside."""
        ...

    def components(self, site: Site, *, after: tuple[str, ...], config: Mapping[str, Any]) -> tuple[Component, ...]:
        """Its processes. `config` is the user's part of its configuration file, `site.settings` come on top."""
        ...

    async def read_back(self, running: Iterable[Component], reader: Reader, site: Site) -> list[Setting]:
        """The settings that its running processes report or show, beyond their command lines."""
        ...
