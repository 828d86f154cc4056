"""kube-apiserver as components, configured as in production: TLS, client certificates, Node and RBAC authorisation."""

from collections.abc import Mapping
from pathlib import Path

from kubedyno.plane import etcd
from kubedyno.plane.component import Component, File, Probe, flags
from kubedyno.plane.identities import Identity
from kubedyno.plane.ports import LOOPBACK
from kubedyno.plane.site import Site

SERVER = Identity(name="kube-apiserver", user="kube-apiserver", server=True)

# A loopback address is refused as an endpoint of the `kubernetes` service, and a machine without a default route has
# no other: an address reserved for documentation is advertised, and endpoints are not reconciled.
_ADVERTISED = "192.0.2.1"

_AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
"""


def servers(
    site: Site,
    *,
    stores: tuple[Component, ...],
    count: int,
    runtime_config: Mapping[str, str],
    audit_log: bool,
) -> tuple[Component, ...]:
    """`count` API servers; stacked ones each use their own etcd member, others use all."""
    made = []
    for index, name in enumerate(site.replica_names("kube-apiserver", count)):
        own_stores = (stores[index],) if site.ha == "stacked" else stores
        made.append(_server(site, name, own_stores, runtime_config, audit_log=audit_log))
    return tuple(made)


def url(component: Component) -> str:
    """Where an API server serves."""
    return f"https://{LOOPBACK}:{component.ports['secure']}"


def audit_log_of(site: Site, name: str) -> Path:
    """Where an API server keeps its audit log, if it does."""
    return site.folder / "logs" / f"{name}-audit.jsonl"


def _server(
    site: Site, name: str, stores: tuple[Component, ...], runtime_config: Mapping[str, str], *, audit_log: bool
) -> Component:
    pki, port = site.pki, site.draw_port()
    policy = site.folder / "audit-policy.yaml"
    options: dict[str, str | int | bool | None] = {
        "etcd-servers": ",".join(etcd.client_url(store.ports["client"]) for store in stores),
        "etcd-cafile": str(pki.ca),
        "etcd-certfile": str(pki.cert(etcd.CLIENT.name)),
        "etcd-keyfile": str(pki.key(etcd.CLIENT.name)),
        "bind-address": LOOPBACK,
        "secure-port": port,
        "advertise-address": _ADVERTISED,
        "endpoint-reconciler-type": "none",
        "tls-cert-file": str(pki.cert(SERVER.name)),
        "tls-private-key-file": str(pki.key(SERVER.name)),
        "client-ca-file": str(pki.ca),
        "token-auth-file": str(pki.tokens),
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": str(pki.service_account_public_key),
        "service-account-signing-key-file": str(pki.service_account_key),
        "service-cluster-ip-range": "10.96.0.0/16",
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "allow-privileged": True,
        "runtime-config": ",".join(f"{key}={value}" for key, value in sorted(runtime_config.items())),
        "feature-gates": site.gates_flag(),
    }
    if not site.profile.fair:
        # With fairness off, the two limits count requests; 0 means none.
        options |= {
            "enable-priority-and-fairness": False,
            "max-requests-inflight": 0,
            "max-mutating-requests-inflight": 0,
        }
    if audit_log:
        options |= {
            "audit-policy-file": str(policy),
            "audit-log-path": str(audit_log_of(site, name)),
            "audit-log-maxsize": 1000,
        }
    return Component(
        name=name,
        program="kube-apiserver",
        called="kube-apiserver",
        role="control-plane",
        replicated=site.ha != "none",
        args=flags(options),
        files=(File(path=policy, text=_AUDIT_POLICY),) if audit_log else (),
        ports={"secure": port},
        ready=Probe(url=f"https://{LOOPBACK}:{port}/readyz"),
        after=tuple(store.name for store in stores),
        start_timeout_s=120.0,
    )
