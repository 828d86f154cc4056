"""The truth about the nodes of a lab: who holds what, asked of the simulated kubelets wherever they run."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec

from kubedyno.client.rest import Client
from kubedyno.kit.errors import EngineError, NotApplicable, UsageError
from kubedyno.lab.starting import RunningLab
from kubedyno.model.numa.zones import Amount
from kubedyno.plane.ports import LOOPBACK
from kubedyno.sim import mounting
from kubedyno.sim.kubelet.fleet import Fleet
from kubedyno.sim.ledgers import LEDGER_PAGE, LedgerState, PodHolding, state_of
from kubedyno.sim.simulating import Instruments

_OTHERS: Final = {
    "kwok": "KWOK plays the kubelets, and knows of no NUMA zones",
    "kubemark": "hollow nodes are kubelets that tell nobody what they give out",
    "none": "nobody plays the kubelets",
}
_FOREIGN: Final = "it is another's cluster: who plays its kubelets does not tell what they give out"
NOBODY: Final = "the kubelets of this lab cannot be asked"


class Kubelets(msgspec.Struct, frozen=True, kw_only=True):
    """Where the simulated kubelets of a trial can be asked: in this process, or at a simulator's pages."""

    fleet: Fleet | None = None
    url: str = ""
    why_not: str = ""
    """Why they cannot be asked at all; empty: they can."""


def kubelets_of(running: RunningLab | None, url: str = "") -> Kubelets:
    """Those of a lab of this process; without one, of another lab whose simulator has its pages at `url`."""
    if running is None:
        return Kubelets(url=url) if url else Kubelets(why_not=_FOREIGN)
    kubelet = running.plan.spec.kubelet
    if kubelet in _OTHERS:
        return Kubelets(why_not=f"{_OTHERS[kubelet]}: use --kubelet builtin")
    activity = running.activities.running.get(mounting.NAME)
    if activity is not None and isinstance(activity.instruments, Instruments):
        port = activity.ports.get("metrics")
        return Kubelets(fleet=activity.instruments.fleet, url=_url(port) if port else "")
    ports = [one.ports["metrics"] for one in running.plan.kubelet_components if one.name == mounting.NAME]
    return Kubelets(url=_url(ports[0])) if ports else Kubelets(why_not=NOBODY)


def _url(port: int) -> str:
    return f"http://{LOOPBACK}:{port}"


class Ledgers:
    """What the nodes' ledgers say. `pages` is a client of the simulator's pages, where it is another process."""

    def __init__(self, kubelets: Kubelets, pages: Client | None = None) -> None:
        self._kubelets = kubelets
        self._pages = pages

    async def state(self, name: str) -> LedgerState:
        """All of it; UsageError for a node that is not simulated, NotApplicable where there are no ledgers."""
        if self._kubelets.why_not:
            raise NotApplicable(f"there are no ledgers of nodes here: {self._kubelets.why_not}")
        if self._kubelets.fleet is not None:
            entry = self._kubelets.fleet.nodes.get(name)
            if entry is None:
                raise _unknown(name)
            return state_of(entry.ledger)
        return await self._read(name)

    async def zones(self, name: str) -> Mapping[int, Mapping[str, Amount]]:
        """What each NUMA node of a node has, by its number and by resource."""
        return (await self.state(name)).zones

    async def pods(self, name: str) -> Mapping[tuple[str, str], PodHolding]:
        """The pods that a node's kubelet has taken, by namespace and name, with what they hold."""
        return {(pod.namespace, pod.name): pod for pod in (await self.state(name)).pods}

    async def overlaps(self, name: str) -> list[str]:
        """What two pods of a node hold at once, as sentences."""
        return list((await self.state(name)).overlaps)

    async def _read(self, name: str) -> LedgerState:
        if self._pages is None:
            raise EngineError(f"the ledger of node {name} cannot be read: {NOBODY}")
        response = await self._pages.request_raw("GET", LEDGER_PAGE, query={"node": name})
        if response.status == HTTPStatus.NOT_FOUND:
            raise _unknown(name)
        if response.status != HTTPStatus.OK:
            raise EngineError(f"{self._pages.transport.server}{LEDGER_PAGE} answered {response.status}")
        return msgspec.json.decode(response.body, type=LedgerState)


def _unknown(name: str) -> UsageError:
    return UsageError(f"node {name} has no ledger: no such node is simulated")
