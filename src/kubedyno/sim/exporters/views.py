"""How exporters ask kubelets: in the process that simulates them, or over HTTP from its pages."""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

import msgspec

from kubedyno.client.errors import Unreachable
from kubedyno.client.rest import Client
from kubedyno.kit.clock import Clock
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.model.numa.podresources import Host, View
from kubedyno.sim.exporters.viewing import host_of, view_of
from kubedyno.sim.faults import misreporting
from kubedyno.sim.kubelet.fleet import Fleet

VIEW_PAGE: Final = "/podresources"
CHANGES_PAGE: Final = "/podresources/changes"
HELD_S: Final = 25.0
"""So long a page waits for changes before it says that there are none."""
_PATIENCE_S: Final = 60.0
_OK: Final = 200
_UNAVAILABLE: Final = "Unavailable"

Page = TypeVar("Page", bound=msgspec.Struct)


class ViewUnavailable(EngineError):
    """A kubelet does not tell; `code` is gRPC's word for why."""

    def __init__(self, message: str, code: str = _UNAVAILABLE) -> None:
        self.code = code
        super().__init__(message)


class Views(Protocol):
    """What kubelets tell."""

    async def view(self, node: str) -> tuple[View, Host]:
        """What the kubelet of a node tells now, and what its machine shows; raises `ViewUnavailable`."""
        ...

    async def changes(self, since: str) -> tuple[str, Sequence[str]]:
        """The nodes whose pods hold something else than before, and the version to ask with next; empty at first.

        It waits until there are some, or for a while; raises `ViewUnavailable`.
        """
        ...


class Told(msgspec.Struct, frozen=True):
    """The page of one kubelet."""

    view: View
    host: Host


class NodesChanged(msgspec.Struct, frozen=True):
    """The page of changes."""

    version: str
    nodes: tuple[str, ...]


class Untold(msgspec.Struct, frozen=True):
    """The page instead, where a kubelet does not tell."""

    error: str
    code: str = _UNAVAILABLE


class OwnViews:
    """Of kubelets that this process simulates. They tell what their faults make of it."""

    def __init__(self, fleet: Fleet, clock: Clock) -> None:
        self._fleet = fleet
        self._clock = clock

    async def view(self, node: str) -> tuple[View, Host]:
        """As the protocol says."""
        entry = self._fleet.nodes.get(node)
        if entry is None:
            raise ViewUnavailable(f"node {node} is not simulated here: it is gone, or its settings are wrong")
        faults = entry.faults
        if faults and (trouble := misreporting.views_trouble(faults, self._clock.wall_ns())) is not None:
            if trouble.delay_s:
                await self._clock.sleep(trouble.delay_s)
            if trouble.error:
                raise ViewUnavailable(trouble.error, trouble.code)
            if self._fleet.nodes.get(node) is not entry:
                raise ViewUnavailable(f"node {node} went while its kubelet was asked")
        ledger = self._fleet.told_ledger(node)
        view = view_of(ledger)
        try:
            host = host_of(ledger)
        except UsageError as error:  # nothing is aligned there, and nothing could be
            raise ViewUnavailable(
                f"node {node} has no machine with NUMA zones: {error}", "FailedPrecondition"
            ) from error
        return misreporting.told(view, faults, self._clock.wall_ns()) if faults else view, host

    async def changes(self, since: str) -> tuple[str, Sequence[str]]:
        """As the protocol says; it waits as long as it takes."""
        return await self.changes_within(since, None)

    async def changes_within(self, since: str, within_s: float | None) -> tuple[str, Sequence[str]]:
        """The same, for so long at most."""
        number = int(since) if since.isascii() and since.isdigit() else 0
        changed = await self._fleet.changes.since(number, self._fleet.nodes, within_s=within_s)
        return str(changed.version), changed.nodes


class ServedViews:
    """Of kubelets that another process simulates, from its pages. `client` is connected to them."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def view(self, node: str) -> tuple[View, Host]:
        """As the protocol says."""
        told = await self._read(VIEW_PAGE, {"node": node}, Told)
        return told.view, told.host

    async def changes(self, since: str) -> tuple[str, Sequence[str]]:
        """As the protocol says; after a while it is told that there are none."""
        changed = await self._read(CHANGES_PAGE, {"since": since}, NodesChanged)
        return changed.version, changed.nodes

    async def _read(self, path: str, query: dict[str, str], kind: type[Page]) -> Page:
        server = self._client.transport.server
        try:
            response = await self._client.request_raw("GET", path, query=query, timeout_s=_PATIENCE_S)
        except Unreachable as error:
            raise ViewUnavailable(f"the simulator's pages at {server} cannot be read: it {error.cause}") from error
        try:
            if response.status != _OK:
                untold = msgspec.json.decode(response.body, type=Untold)
                raise ViewUnavailable(untold.error, untold.code)
            return msgspec.json.decode(response.body, type=kind)
        except msgspec.MsgspecError as error:
            raise ViewUnavailable(
                f"{server}{path} answers {response.status} with something that no simulator of this version says"
            ) from error
