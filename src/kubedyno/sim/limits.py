"""What others than our own kubelets cannot play: asked for, it is refused with the reason, before it does nothing."""

from typing import Final

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.sim.faults.aiming import AnyGpus
from kubedyno.sim.faults.fault import GpuLost
from kubedyno.sim.faults.injecting import Trouble, kind_of
from kubedyno.sim.faults.maintaining import Cordon, Drain
from kubedyno.sim.kubelet.settings import DEFAULTS
from kubedyno.sim.pools.pool import Pool

_INSTEAD = "use --kubelet builtin"

# These are done through the API, or by what publishes devices, whoever plays the kubelets.
_WITHOUT_KUBELET = (Cordon, Drain, GpuLost, AnyGpus)


class _Player(msgspec.Struct, frozen=True, kw_only=True):
    """Who plays the kubelets, and what it lacks."""

    nodes: str
    without_settings: str
    nodes_at_most: int | None = None
    because: str = ""


_PLAYERS: Final = {
    "kwok": _Player(
        nodes="KWOK's nodes",
        without_settings="KWOK has no kubelet settings: neither topology manager nor start, stop and work times of "
        "its own",
    ),
    "kubemark": _Player(
        nodes="hollow nodes",
        without_settings="hollow nodes have no kubelet settings: their topology, CPU, memory and device managers are "
        "stubs that admit every pod, and containers start at once and never end",
        nodes_at_most=100,
        because="each of them is a process that takes half a second of CPU to start and 20 MiB",
    ),
}


def refuse_pool(pool: Pool, kubelet: str) -> None:
    """UsageError for a pool whose nodes `kubelet` (as in `--kubelet`) would play otherwise than it says."""
    player = _PLAYERS.get(kubelet)
    if player is None:
        return
    if pool.kubelet != DEFAULTS:
        raise UsageError(f"pool {pool.name}: {player.without_settings}; {_INSTEAD}")
    if player.nodes_at_most is not None and pool.size > player.nodes_at_most:
        raise UsageError(
            f"pool {pool.name}: {pool.size} {player.nodes} are more than {player.nodes_at_most}, and {player.because}; "
            f"{_INSTEAD}"
        )


def refuse_trouble(trouble: Trouble, kubelet: str) -> None:
    """UsageError for a fault that the nodes of `kubelet` would not show."""
    player = _PLAYERS.get(kubelet)
    if player is not None and not isinstance(trouble, _WITHOUT_KUBELET):
        raise UsageError(f"{kind_of(trouble)}: {player.nodes} do not know this fault; {_INSTEAD}")
