"""How exporters work: when they look, and how they write."""

from typing import Literal

import msgspec

Style = Literal["rte", "nfd"]
"""The resource-topology-exporter, or the topology updater of node-feature-discovery."""
Trigger = Literal["timed", "events", "both"]
Update = Literal["patch", "full", "apply"]
Fingerprint = Literal["with-exclusive-resources", "all", "none"]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Settings of all exporters of a lab; the defaults are those of the resource-topology-exporter."""

    style: Style = "rte"
    trigger: Trigger = "both"
    interval_s: float = msgspec.field(default=60.0, name="intervalSeconds")
    """Between two looks of a timed exporter."""
    jitter: float = 0.0
    """Each interval is longer by a random share of itself, up to this one."""
    events_per_s: float = 1.0
    """An exporter wakes up for so many events a second; more are dropped."""
    update: Update = "patch"
    full_every: int = 10
    """After so many patches the whole object is written."""
    fingerprint: Fingerprint = "with-exclusive-resources"
    clients: Literal["one", "per-node"] = "one"
    """Whether all share a client, or each has its own with connections of its own."""
    api_version: Literal["v1alpha2", "v1alpha1"] = "v1alpha2"
