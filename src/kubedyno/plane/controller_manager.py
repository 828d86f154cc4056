"""kube-controller-manager as components: real controllers, each with its own service account as in production."""

from kubedyno.plane.component import Component, Probe, flags
from kubedyno.plane.identities import Identity
from kubedyno.plane.ports import LOOPBACK
from kubedyno.plane.site import Site

PROGRAM = "kube-controller-manager"

IDENTITY = Identity(name=PROGRAM, user="system:kube-controller-manager")


def managers(site: Site, *, after: tuple[str, ...], count: int) -> tuple[Component, ...]:
    """`count` managers; several elect a leader."""
    return tuple(_manager(site, name, after, several=count > 1) for name in site.replica_names(IDENTITY.name, count))


def _manager(site: Site, name: str, after: tuple[str, ...], *, several: bool) -> Component:
    pki, port, profile = site.pki, site.draw_port(), site.profile
    kubeconfig = str(site.kubeconfig(IDENTITY.name))
    return Component(
        name=name,
        program=PROGRAM,
        called=PROGRAM,
        role="control-plane",
        replicated=several,
        args=flags(
            {
                "kubeconfig": kubeconfig,
                "authentication-kubeconfig": kubeconfig,
                "authorization-kubeconfig": kubeconfig,
                "bind-address": LOOPBACK,
                "secure-port": port,
                "leader-elect": several,
                "use-service-account-credentials": True,
                "service-account-private-key-file": str(pki.service_account_key),
                "root-ca-file": str(pki.ca),
                "client-ca-file": str(pki.ca),
                "cluster-signing-cert-file": str(pki.ca),
                "cluster-signing-key-file": str(pki.ca_key),
                "kube-api-qps": profile.client_qps,
                "kube-api-burst": profile.client_burst,
                "node-monitor-grace-period": f"{profile.node_grace_s}s" if profile.node_grace_s else None,
                "feature-gates": site.gates_flag(),
            }
        ),
        ports={"secure": port},
        ready=Probe(url=f"https://{LOOPBACK}:{port}/healthz", self_signed=True),
        after=after,
    )
