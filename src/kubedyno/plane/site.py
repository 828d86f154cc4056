"""What every builder of components is told: where the lab lies, its ports, its profile, what the user set."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from kubedyno.plane.identities import Pki
from kubedyno.plane.ports import PortSource

HighAvailability = Literal["none", "stacked", "external"]

Settings = Mapping[str, Mapping[str, str]]
"""What the user set with `--set component.field=value`, by component."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """How much of production's brakes a lab keeps."""

    name: str
    durable: bool
    """etcd waits for the disk."""
    fair: bool
    """API priority and fairness, and the limits on requests in flight."""
    client_qps: int | None
    """Client limits of controllers and schedulers, requests a second; None leaves each program its default."""
    client_burst: int | None
    lease_s: int
    """Duration of node leases; they are renewed four times as often."""
    node_grace_s: int | None
    """How long the controller-manager waits for a lease; None is its default."""
    tuned: bool = False
    """The scheduler's own tuning for scale tests (KAI: consolidation off, binder concurrency 100)."""


_PRODUCTION = Profile(
    name="production", durable=True, fair=True, client_qps=None, client_burst=None, lease_s=40, node_grace_s=None
)
# Leases are stretched with the grace that watches them: renewals of 5,000 nodes at 40 s cost the API server more than
# a core, which would be measured as the scheduler's slowness.
_UNTHROTTLED = Profile(
    name="unthrottled", durable=False, fair=False, client_qps=5000, client_burst=10000, lease_s=200, node_grace_s=200
)
_SCALE = msgspec.structs.replace(_UNTHROTTLED, name="scale", tuned=True)

PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in (_PRODUCTION, _UNTHROTTLED, _SCALE)}


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """The ground that the components of one lab stand on."""

    folder: Path
    draw_port: PortSource
    profile: Profile
    ha: HighAvailability = "none"
    settings: Settings = {}
    feature_gates: Mapping[str, bool] = {}
    """The user's and the scheduler's together; given to API server, controller-manager and kube-scheduler alike."""

    speaks_json: bool = False
    """Whether the API server reads JSON only: the embedded one does."""

    @property
    def pki(self) -> Pki:
        """The lab's certificates."""
        return Pki(folder=self.folder / "pki")

    def kubeconfig(self, identity: str) -> Path:
        """The kubeconfig file of an identity."""
        return self.folder / "kubeconfigs" / f"{identity}.yaml"

    def replica_names(self, name: str, count: int) -> list[str]:
        """`name`, or `name-0`, `name-1`, ... of several."""
        return [name] if count == 1 else [f"{name}-{index}" for index in range(count)]

    def gates_flag(self) -> str | None:
        """The value of `--feature-gates`; None when there are none."""
        if not self.feature_gates:
            return None
        return ",".join(f"{gate}={str(on).lower()}" for gate, on in sorted(self.feature_gates.items()))
