"""Which of several processes of a kube-scheduler leads, as it says itself: the others wait for its end."""

import re
from collections.abc import Iterable
from typing import Final

from kubedyno.kit.errors import EngineError
from kubedyno.plane.component import Component, Probe
from kubedyno.plane.controlplane import ADMIN
from kubedyno.plane.ports import LOOPBACK
from kubedyno.schedulers.scheduler import Reader

_PORT: Final = "secure"
_LEADS: Final = re.compile(rb"^leader_election_master_status\{[^\n]*\} 1$", re.MULTILINE)


async def leader(components: Iterable[Component], reader: Reader) -> str | None:
    """The name of the component that decides, and leads others of its kind; None: none says so.

    One that cannot be asked, because it is gone or just starts, leads nobody.
    """
    for component in components:
        if component.decides and component.replicated and _PORT in component.ports:
            url = f"https://{LOOPBACK}:{component.ports[_PORT]}/metrics"
            try:
                told = await reader.fetch(Probe(url=url, identity=ADMIN.name, self_signed=True))
            except EngineError:
                continue
            if _LEADS.search(told):
                return component.name
    return None
