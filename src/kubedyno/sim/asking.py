"""Pages of a simulator for questions about one node: what its kubelet tells, what has changed, and the truth."""

import uuid
from collections.abc import Mapping

import msgspec

from kubedyno.kit.clock import Clock
from kubedyno.sim.exporters import views
from kubedyno.sim.exporters.views import NodesChanged, OwnViews, Told, Untold, ViewUnavailable
from kubedyno.sim.exposing import Question, Refused
from kubedyno.sim.kubelet.fleet import Fleet
from kubedyno.sim.ledgers import LEDGER_PAGE, state_of

_MISSING = 404
_SILENT = 503


def questions(fleet: Fleet, clock: Clock) -> Mapping[str, Question]:
    """The pages by path. They cost nothing while nobody asks."""
    own = OwnViews(fleet, clock)
    # Versions of another process mean nothing here, whatever their numbers.
    epoch = uuid.uuid4().hex[:8]

    async def view(query: Mapping[str, str]) -> bytes:
        node = _known(fleet, query)
        try:
            told, host = await own.view(node)
        except ViewUnavailable as error:
            raise Refused(_SILENT, msgspec.json.encode(Untold(str(error), error.code))) from error
        return msgspec.json.encode(Told(told, host))

    async def changes(query: Mapping[str, str]) -> bytes:
        before, _, number = query.get("since", "").partition(".")
        version, nodes = await own.changes_within(number if before == epoch else "", views.HELD_S)
        return msgspec.json.encode(NodesChanged(f"{epoch}.{version}", tuple(nodes)))

    async def ledger(query: Mapping[str, str]) -> bytes:
        return msgspec.json.encode(state_of(fleet.nodes[_known(fleet, query)].ledger))

    return {views.VIEW_PAGE: view, views.CHANGES_PAGE: changes, LEDGER_PAGE: ledger}


def _known(fleet: Fleet, query: Mapping[str, str]) -> str:
    node = query.get("node", "")
    if node not in fleet.nodes:
        said = f"there is no simulated node {node!r}" if node else "of which node? Write ?node=NAME"
        raise Refused(_MISSING, msgspec.json.encode(Untold(said, "NotFound")))
    return node
