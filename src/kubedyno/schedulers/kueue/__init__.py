"""Kueue with kube-scheduler: the manager admits Jobs by quota, kube-scheduler places their pods."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from kubedyno.model.dialects import Dialect
from kubedyno.model.features import Feature
from kubedyno.model.settings import Setting
from kubedyno.plane.activity import Activity
from kubedyno.plane.component import Component
from kubedyno.plane.identities import Identity
from kubedyno.plane.site import Site
from kubedyno.schedulers.dialects import kueue as dialect
from kubedyno.schedulers.kube import KUBE_SCHEDULER
from kubedyno.schedulers.kueue import manager, objects, readback
from kubedyno.schedulers.scheduler import Reader


class Kueue:
    """The job queueing of the Kubernetes batch group. Pausing it stops the manager: nothing more is admitted."""

    name = manager.NAME
    feature_gates: Mapping[str, bool] = MappingProxyType({})
    runtime_config: Mapping[str, str] = MappingProxyType({})
    asset_groups: tuple[str, ...] = ("kueue",)
    identities: tuple[Identity, ...] = (*KUBE_SCHEDULER.identities, manager.IDENTITY)
    dialect: Dialect = dialect.KUEUE
    lacks: Mapping[Feature, str] = MappingProxyType(
        {
            "elastic-gangs": "a Job that it starts with fewer pods never grows",
            "sub-groups": "a Job has one set of pods",
            "non-preemptible": "whoever has a higher priority, or gets its quota back, may preempt any workload",
            "consolidation": "it never moves a workload to make room",
            "fractions": "it counts whole GPUs",
            "numa": "it does not look at NUMA zones",
        }
    )
    engines: tuple[str, ...] = ("local",)  # its clients speak protobuf, and the API server must call its webhooks

    def lacks_with(self, definitions: Iterable[dict[str, Any]]) -> Mapping[Feature, str]:
        """The same everywhere."""
        del definitions
        return self.lacks

    def activities(self, site: Site, *, cycle_s: float) -> tuple[Activity, ...]:
        """Both are processes."""
        del site, cycle_s
        return ()

    def definitions(self) -> list[dict[str, Any]]:
        """Its CRDs come with its program."""
        return []

    def base_objects(self) -> list[dict[str, Any]]:
        """A namespace, rights, priorities and the default queue."""
        return [*KUBE_SCHEDULER.base_objects(), *objects.base()]

    def components(self, site: Site, *, after: tuple[str, ...], config: Mapping[str, Any]) -> tuple[Component, ...]:
        """kube-scheduler, as it is without Kueue, and the manager; `config` is for the manager."""
        placing = (
            msgspec.structs.replace(component, decides=False)
            for component in KUBE_SCHEDULER.components(site, after=after, config={})
        )
        return (*placing, manager.component(site, after=after, config=config))

    async def read_back(self, running: Iterable[Component], reader: Reader, site: Site) -> list[Setting]:
        """What kube-scheduler reports, and what the manager says that it has loaded."""
        there = tuple(running)
        placing = [component for component in there if component.program == KUBE_SCHEDULER.program]
        found = await KUBE_SCHEDULER.read_back(placing, reader, site)
        for component in there:
            if component.program == manager.NAME:
                found += readback.reported(component, site)
        return found


KUEUE = Kueue()
