"""What KWOK cannot play: asked for on a lab with KWOK, it is refused with the reason, before it would do nothing."""

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


def refuse_pool(pool: Pool) -> None:
    """UsageError for a pool whose nodes KWOK would play otherwise than it says."""
    if pool.kubelet != DEFAULTS:
        raise UsageError(
            f"pool {pool.name}: KWOK has no kubelet settings: neither topology manager nor start, stop and work times "
            f"of its own; {_INSTEAD}"
        )


def refuse_trouble(trouble: Trouble) -> None:
    """UsageError for a fault that KWOK's nodes would not show."""
    if not isinstance(trouble, _WITHOUT_KUBELET):
        raise UsageError(f"{kind_of(trouble)}: KWOK's nodes do not know this fault; {_INSTEAD}")
