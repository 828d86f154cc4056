"""etcd as components: one member, or three that form a cluster; TLS and client certificates as kubeadm sets it up."""

from kubedyno.plane.component import Component, Probe, flags
from kubedyno.plane.identities import Identity
from kubedyno.plane.ports import LOOPBACK
from kubedyno.plane.site import Site

_BACKEND_QUOTA_BYTES = 8 * 1024**3  # etcd's own upper recommendation; its default of 2 GiB is too small for 5,000 nodes

SERVER = Identity(name="etcd", user="etcd", server=True)
CLIENT = Identity(name="etcd-client", user="kube-apiserver-etcd-client")


def members(site: Site, count: int) -> tuple[Component, ...]:
    """`count` members that know each other."""
    names = site.replica_names("etcd", count)
    client_ports = {name: site.draw_port() for name in names}
    peer_ports = {name: site.draw_port() for name in names}
    metrics_ports = {name: site.draw_port() for name in names}
    cluster = ",".join(f"{name}=https://{LOOPBACK}:{port}" for name, port in peer_ports.items())
    pki = site.pki
    return tuple(
        Component(
            name=name,
            program="etcd",
            called="etcd",
            role="control-plane",
            replicated=count > 1,
            args=flags(
                {
                    "name": name,
                    "data-dir": str(site.folder / "data" / name),
                    "listen-client-urls": client_url(client_ports[name]),
                    "advertise-client-urls": client_url(client_ports[name]),
                    "listen-peer-urls": f"https://{LOOPBACK}:{peer_ports[name]}",
                    "initial-advertise-peer-urls": f"https://{LOOPBACK}:{peer_ports[name]}",
                    "initial-cluster": cluster,
                    "initial-cluster-token": "kubedyno",
                    "listen-metrics-urls": f"http://{LOOPBACK}:{metrics_ports[name]}",
                    "cert-file": str(pki.cert(SERVER.name)),
                    "key-file": str(pki.key(SERVER.name)),
                    "trusted-ca-file": str(pki.ca),
                    "client-cert-auth": True,
                    "peer-cert-file": str(pki.cert(SERVER.name)),
                    "peer-key-file": str(pki.key(SERVER.name)),
                    "peer-trusted-ca-file": str(pki.ca),
                    "peer-client-cert-auth": True,
                    "quota-backend-bytes": _BACKEND_QUOTA_BYTES,
                    "unsafe-no-fsync": None if site.profile.durable else True,
                }
            ),
            ports={"client": client_ports[name], "peer": peer_ports[name], "metrics": metrics_ports[name]},
            ready=Probe(url=f"http://{LOOPBACK}:{metrics_ports[name]}/readyz"),
        )
        for name in names
    )


def client_url(port: int) -> str:
    """Where a member serves clients."""
    return f"https://{LOOPBACK}:{port}"
