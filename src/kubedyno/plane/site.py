"""What every builder of components is told: where the lab lies, its ports, its profile, what the user set."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kit.units import parse_duration_s
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
    """Duration of node leases, which are renewed four times in it; 0: there are none."""
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


NO_HEARTBEATS = "off"
_ENDLESS_GRACE_S = 10 * 24 * 3600
_GRACE_BEYOND_LEASE = 1.25  # as Kubernetes' own 50 s to its 40 s


def with_heartbeats(profile: Profile, heartbeats: str) -> Profile:
    """The profile with leases of another duration (`80s`), or without any (`off`); the grace goes with them.

    Without leases nodes would be declared dead, so the controller is told to wait for them practically for ever.
    """
    if heartbeats == NO_HEARTBEATS:
        return msgspec.structs.replace(profile, lease_s=0, node_grace_s=_ENDLESS_GRACE_S)
    try:
        lease_s = round(parse_duration_s(heartbeats))
    except UsageError as error:
        raise UsageError(f"--heartbeats {heartbeats}: {error}; or {NO_HEARTBEATS}") from None
    if lease_s < 1:
        raise UsageError(f"--heartbeats {heartbeats}: a lease lasts at least 1s; {NO_HEARTBEATS} means none")
    return msgspec.structs.replace(profile, lease_s=lease_s, node_grace_s=math.ceil(lease_s * _GRACE_BEYOND_LEASE))


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
