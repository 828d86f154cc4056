"""Profiles that the programs of a lab take of themselves: where they are asked for, and who has none. Pure."""

from typing import Final

import msgspec

from kubedyno.plane import etcd
from kubedyno.plane.component import Component, Probe, flag_values
from kubedyno.plane.controlplane import ADMIN
from kubedyno.plane.ports import LOOPBACK

PROFILED: Final = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
"""Programs that serve profiles."""
_ETCD: Final = "etcd"
_SERVER: Final = "kube-apiserver"
_PATIENCE_S: Final = 20.0
"""For the answer, beside the time that the profile itself takes: heaps of large programs are long."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What one component says where its time, its memory or its waiting goes, for `go tool pprof`; or why not."""

    component: str
    program: str
    data: bytes = b""
    problem: str = ""


def why_not(component: Component) -> str:
    """Why a component serves no profiles; empty: it does."""
    if component.program not in PROFILED:
        return f"{component.name} serves no profiles"
    if component.program == _ETCD and flag_values(component.args).get("enable-pprof") != "true":
        return "etcd serves no profiles unless it is told to; add --set etcd.enable-pprof=true"
    return ""


def profile_probe(component: Component, kind: str, *, takes_s: int) -> Probe:
    """Where a component that serves profiles hands out one of a kind (`heap`, `profile`, ...).

    `takes_s` is the time over which it is taken; 0: it is there at once.
    """
    path = f"/debug/pprof/{kind}" + (f"?seconds={takes_s}" if takes_s else "")
    # Only etcd's port for clients has them, and wants a certificate.
    is_etcd = component.program == _ETCD
    port = component.ports["client" if is_etcd else "secure"]
    return Probe(
        url=f"https://{LOOPBACK}:{port}{path}",
        identity=etcd.CLIENT.name if is_etcd else ADMIN.name,
        self_signed=component.program not in {_ETCD, _SERVER},
        within_s=takes_s + _PATIENCE_S,
    )
