"""KAI: scheduler, binder, podgrouper, podgroupcontroller and queuecontroller as plain processes."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from kubedyno.model.dialects import Dialect
from kubedyno.model.features import Feature
from kubedyno.model.settings import Setting
from kubedyno.plane.activity import Activity
from kubedyno.plane.component import Component
from kubedyno.plane.identities import Identity
from kubedyno.plane.site import Site
from kubedyno.schedulers.dialects import kai as dialect
from kubedyno.schedulers.kai import capabilities, components, objects, readback
from kubedyno.schedulers.scheduler import Reader


class Kai:
    """NVIDIA's KAI scheduler."""

    name = "kai"
    feature_gates: Mapping[str, bool] = MappingProxyType({})
    runtime_config: Mapping[str, str] = MappingProxyType({})
    asset_groups: tuple[str, ...] = ("kai",)
    identities: tuple[Identity, ...] = components.IDENTITIES
    dialect: Dialect = dialect.KAI
    lacks: Mapping[Feature, str] = MappingProxyType({"numa": "it does not look at NUMA zones"})
    engines: tuple[str, ...] = ("local",)  # its clients speak protobuf

    def lacks_with(self, definitions: Iterable[dict[str, Any]]) -> Mapping[Feature, str]:
        """Also what its kinds have no field for in this release."""
        return {**capabilities.lacking(definitions), **self.lacks}

    def activities(self, site: Site, *, cycle_s: float) -> tuple[Activity, ...]:
        """All of it are processes."""
        del site, cycle_s
        return ()

    def definitions(self) -> list[dict[str, Any]]:
        """Its own come with its programs."""
        return []

    def base_objects(self) -> list[dict[str, Any]]:
        """Namespaces, rights, priority classes and the default queues."""
        return objects.base()

    def components(self, site: Site, *, after: tuple[str, ...], config: Mapping[str, Any]) -> tuple[Component, ...]:
        """The five processes."""
        return components.build(site, after=after, config=config)

    async def read_back(self, running: Iterable[Component], reader: Reader, site: Site) -> list[Setting]:
        """What the scheduler's snapshot and the binder's metrics report."""
        del site
        return await readback.reported(running, reader)


KAI = Kai()
