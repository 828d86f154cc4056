"""What may be set about the controllers; the defaults are those of kube-controller-manager."""

import msgspec


class ControllerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds throughout.

    `node_grace_s` is how old the last sign of a node may be; `node_period_s` how often nodes are looked at;
    `pod_gc_period_s` and `pod_gc_quarantine_s` are those of the pod garbage collector; `discovery_period_s` is how
    often the garbage collector asks for new kinds; `quota_period_s` how often all quotas are counted again.
    """

    node_grace_s: float = 50.0
    node_startup_grace_s: float = 60.0
    node_period_s: float = 5.0
    pod_gc_period_s: float = 20.0
    pod_gc_quarantine_s: float = 40.0
    discovery_period_s: float = 30.0
    quota_period_s: float = 300.0
