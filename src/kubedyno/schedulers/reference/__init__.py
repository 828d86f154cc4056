"""The reference scheduler: our own, in the lab's process; small enough to be read, and to be compared with."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from kubedyno.model.dialects import Dialect
from kubedyno.model.features import Feature
from kubedyno.model.settings import Evidence, Setting
from kubedyno.plane.activity import Activity, Ground
from kubedyno.plane.component import Component
from kubedyno.plane.identities import Identity
from kubedyno.plane.site import Site
from kubedyno.schedulers import native
from kubedyno.schedulers.dialects import reference as dialect
from kubedyno.schedulers.dialects.queued import base_queues
from kubedyno.schedulers.priorities import priority_classes
from kubedyno.schedulers.reference import settings
from kubedyno.schedulers.reference.definitions import definitions
from kubedyno.schedulers.scheduler import Reader

_NAME = settings.COMPONENT


class Reference:
    """Our scheduler."""

    name = _NAME
    feature_gates: Mapping[str, bool] = native.FEATURE_GATES
    runtime_config: Mapping[str, str] = native.RUNTIME_CONFIG
    asset_groups: tuple[str, ...] = ()
    identities: tuple[Identity, ...] = ()
    dialect: Dialect = dialect.REFERENCE
    lacks: Mapping[Feature, str] = MappingProxyType({})
    engines: tuple[str, ...] = ("embedded", "local")

    def lacks_with(self, definitions: Iterable[dict[str, Any]]) -> Mapping[Feature, str]:
        """The same everywhere."""
        del definitions
        return self.lacks

    def activities(self, site: Site, *, cycle_s: float) -> tuple[Activity, ...]:
        """One activity."""
        chosen = _settings(site)

        async def run(ground: Ground) -> None:
            # Loading what it computes with takes a while, which commands that schedule nothing can save.
            from kubedyno.schedulers.reference.running import schedule  # noqa: PLC0415 - as said

            await schedule(ground.client, clock=ground.clock, seed=ground.seed, cycle_s=cycle_s, settings=chosen)

        return (
            Activity(name=_NAME, role="scheduler", run=run, program="kubedyno-scheduler", decides=True, settable=True),
        )

    def definitions(self) -> list[dict[str, Any]]:
        """The kinds that it reads."""
        return definitions()

    def base_objects(self) -> list[dict[str, Any]]:
        """Priority classes, and the root of all queues with the default one below."""
        return [*priority_classes(), *base_queues()]

    def components(self, site: Site, *, after: tuple[str, ...], config: Mapping[str, Any]) -> tuple[Component, ...]:
        """It has no process of its own."""
        del site, after, config
        return ()

    async def read_back(self, running: Iterable[Component], reader: Reader, site: Site) -> list[Setting]:
        """What it was made with: it runs in this process."""
        del running, reader
        wanted = site.settings.get(settings.COMPONENT, {})
        return [
            Setting(
                component=settings.COMPONENT,
                field=field,
                wanted=wanted.get(field),
                value=value,
                evidence=Evidence.REPORTED,
                source="the scheduler itself",
            )
            for field, value in settings.told(_settings(site)).items()
        ]


def _settings(site: Site) -> settings.Settings:
    return settings.read(site.settings.get(settings.COMPONENT, {}), tuned=site.profile.tuned)


REFERENCE = Reference()
