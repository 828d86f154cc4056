"""The plan of a local control plane: which processes, in which order, behind which address.

`plan` is pure: options and a source of ports in, data out. `--dry-run` prints what it returns, golden files test it,
and `plane.local` starts it.
"""

from collections.abc import Mapping

import msgspec

from kubedyno.plane import apiserver, controller_manager, etcd
from kubedyno.plane.component import Component
from kubedyno.plane.identities import Identity
from kubedyno.plane.ports import LOOPBACK
from kubedyno.plane.site import Site

ADMIN = Identity(name="admin", user="kubedyno-admin", groups=("system:masters",))

# Kubernetes serves only v1 of the DRA API unless told otherwise; ClusterLoader2's and KWOK's examples use v1beta2.
_ALWAYS_SERVED: Mapping[str, str] = {"resource.k8s.io/v1beta2": "true"}

_HA_SERVERS = 3
_HA_MANAGERS = 2


class Balancer(msgspec.Struct, frozen=True, kw_only=True):
    """One loopback address before several API servers."""

    port: int
    backends: tuple[int, ...]
    """Ports of the API servers."""


class ControlPlane(msgspec.Struct, frozen=True, kw_only=True):
    """etcd, API servers and controller-managers of a lab."""

    components: tuple[Component, ...]
    balancer: Balancer | None
    url: str
    """The one address that every kubeconfig holds."""
    identities: tuple[Identity, ...]
    embedded_port: int | None = None
    """Where the API server of this very process listens; None: the servers are processes."""

    @property
    def servers(self) -> tuple[str, ...]:
        """Names of the API servers: what every client process comes after."""
        return tuple(c.name for c in self.components if c.program == "kube-apiserver")


def plan(site: Site, *, runtime_config: Mapping[str, str], audit_log: bool) -> ControlPlane:
    """The control plane for `site`; with high availability three servers on three stores behind a balancer."""
    several = site.ha != "none"
    stores = etcd.members(site, _HA_SERVERS if several else 1)
    servers = apiserver.servers(
        site,
        stores=stores,
        count=len(stores),
        runtime_config={**_ALWAYS_SERVED, **runtime_config},
        audit_log=audit_log,
    )
    balancer = None
    url = apiserver.url(servers[0])
    if several:
        balancer = Balancer(port=site.draw_port(), backends=tuple(server.ports["secure"] for server in servers))
        url = f"https://{LOOPBACK}:{balancer.port}"
    managers = controller_manager.managers(
        site, after=tuple(server.name for server in servers), count=_HA_MANAGERS if several else 1
    )
    return ControlPlane(
        components=(*stores, *servers, *managers),
        balancer=balancer,
        url=url,
        identities=(ADMIN, etcd.SERVER, etcd.CLIENT, apiserver.SERVER, controller_manager.IDENTITY),
    )
