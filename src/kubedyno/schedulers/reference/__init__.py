"""The reference scheduler: our own, in the lab's process; small enough to be read, and to be compared with."""

from collections.abc import Iterable, Mapping
from typing import Any

from kubedyno.model.dialects import Dialect
from kubedyno.model.settings import Setting
from kubedyno.plane.activity import Activity, Ground
from kubedyno.plane.component import Component
from kubedyno.plane.identities import Identity
from kubedyno.plane.site import Site
from kubedyno.schedulers import native
from kubedyno.schedulers.dialects import kube as dialect
from kubedyno.schedulers.reference.running import schedule
from kubedyno.schedulers.scheduler import Reader

_NAME = "reference"


class Reference:
    """Our scheduler."""

    name = _NAME
    feature_gates: Mapping[str, bool] = native.FEATURE_GATES
    runtime_config: Mapping[str, str] = native.RUNTIME_CONFIG
    asset_groups: tuple[str, ...] = ()
    identities: tuple[Identity, ...] = ()
    dialect: Dialect = dialect.REFERENCE
    engines: tuple[str, ...] = ("embedded", "local")

    def activities(self, *, cycle_s: float) -> tuple[Activity, ...]:
        """One activity."""

        async def run(ground: Ground) -> None:
            await schedule(ground.client, clock=ground.clock, seed=ground.seed, cycle_s=cycle_s)

        return (Activity(name=_NAME, role="scheduler", run=run, program="kubedyno-scheduler", decides=True),)

    def base_objects(self) -> list[dict[str, Any]]:
        """It needs nothing."""
        return []

    def components(self, site: Site, *, after: tuple[str, ...], config: Mapping[str, Any]) -> tuple[Component, ...]:
        """It has no process of its own."""
        del site, after, config
        return ()

    async def read_back(self, running: Iterable[Component], reader: Reader, site: Site) -> list[Setting]:
        """It has no settings."""
        del running, reader, site
        return []


REFERENCE = Reference()
