"""Kueue's manager as a component: its configuration file, and what the API server calls it for.

It always manages the certificate of its webhooks itself, from a Secret and with a CA that it knows by name, and does
not become ready before all that is to call it exists.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import yaml

from kubedyno.plane.component import Component, File, Probe, flags
from kubedyno.plane.controlplane import ADMIN
from kubedyno.plane.identities import Authority, Identity
from kubedyno.plane.ports import LOOPBACK
from kubedyno.plane.settings import assign, merged, typed
from kubedyno.plane.site import Site
from kubedyno.plane.webhooks import Hook, Webhooks

NAME: Final = "kueue"
NAMESPACE: Final = "kueue-system"
_SERVICE: Final = "kueue-webhook-service"
_SECRET: Final = "kueue-webhook-server-cert"  # noqa: S105 - the name of an object

# As in a cluster: a service account, so that the API server's fairness treats it as it does there.
IDENTITY: Final = Identity(
    name=NAME,
    user=f"system:serviceaccount:{NAMESPACE}:kueue-controller-manager",
    groups=("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}"),
)

# What its own manifests configure, where the program's defaults are lower: one worker each, 20 requests a second.
_SHIPPED_WORKERS: Final = {
    "Job.batch": 5,
    "Pod": 5,
    "Workload.kueue.x-k8s.io": 5,
    "LocalQueue.kueue.x-k8s.io": 1,
    "Cohort.kueue.x-k8s.io": 1,
    "ClusterQueue.kueue.x-k8s.io": 1,
    "ResourceFlavor.kueue.x-k8s.io": 1,
}
_SHIPPED_LIMITS: Final = {"qps": 50, "burst": 100}

_AUTHORITY: Final = Authority(
    name=NAME, common_name="kueue-ca", server_names=(f"{_SERVICE}.{NAMESPACE}.svc", f"{_SERVICE}.{NAMESPACE}")
)
# Its /readyz answers before its caches are filled; this series appears when the controllers start, after both caches
# and webhooks.
_STARTED: Final = 'controller_runtime_max_concurrent_reconciles{controller="workload_controller"}'
_CONVERTED: Final = ("localqueues", "clusterqueues", "cohorts", "workloads", "multikueueclusters")
_GROUP: Final = "kueue.x-k8s.io"


def _own(manner: str, kind: str, *, operations: tuple[str, ...], resources: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a hook on one of Kueue's own kinds."""
    verb = {"mutating": "mutate", "validating": "validate"}[manner]
    return {
        "name": f"{manner[0]}{kind}.kb.io",
        "manner": manner,
        "path": f"/{verb}-kueue-x-k8s-io-v1beta2-{kind}",
        "group": _GROUP,
        "version": "v1beta2",
        "resources": resources or (f"{kind}s",),
        "operations": operations,
    }


_CREATED: Final = ("CREATE",)
_WRITTEN: Final = ("CREATE", "UPDATE")
_JOBS: Final[Mapping[str, Any]] = {"group": "batch", "version": "v1", "resources": ("jobs",), "must_answer": False}

# Those of the kinds that are here. While the manager is paused Jobs can still be created, unlike where its manifests
# are used: our Jobs are suspended from the beginning, and none is missed when it is back.
_HOOKS: Final = (
    Hook(name="mjob.kb.io", manner="mutating", path="/mutate-batch-v1-job", operations=_CREATED, **_JOBS),
    Hook(**_own("mutating", "clusterqueue", operations=_CREATED)),
    Hook(**_own("mutating", "resourceflavor", operations=_CREATED)),
    Hook(**_own("mutating", "workload", operations=_CREATED)),
    Hook(name="vjob.kb.io", manner="validating", path="/validate-batch-v1-job", operations=_WRITTEN, **_JOBS),
    Hook(**_own("validating", "clusterqueue", operations=_WRITTEN)),
    Hook(**_own("validating", "cohort", operations=_WRITTEN)),
    Hook(**_own("validating", "resourceflavor", operations=_WRITTEN)),
    Hook(**_own("validating", "workload", operations=_WRITTEN, resources=("workloads", "workloads/status"))),
)


def component(site: Site, *, after: tuple[str, ...], config: Mapping[str, Any]) -> Component:
    """The manager. There is one even where the lab is highly available: the API servers call one address."""
    ports = {purpose: site.draw_port() for purpose in ("health", "metrics", "webhook")}
    file = File(
        path=site.folder / "config" / f"{NAME}.yaml",
        text=yaml.safe_dump(_configuration(site, ports, config), sort_keys=False),
    )
    return Component(
        name=NAME,
        program=NAME,
        configured_by_file=True,
        role="scheduler",
        decides=True,
        args=flags({"config": str(file.path), "kubeconfig": str(site.kubeconfig(NAME))}),
        files=(file,),
        ports=ports,
        ready=msgspec.structs.replace(metrics(ports["metrics"]), contains=_STARTED),
        after=after,
        # It starts twice over, for its certificates and then for good; in the first part it does not hear SIGTERM.
        start_timeout_s=120.0,
        stop_timeout_s=5.0,
        webhooks=Webhooks(
            name=NAME,
            port=ports["webhook"],
            authority=_AUTHORITY,
            secret_namespace=NAMESPACE,
            secret_name=_SECRET,
            hooks=_HOOKS,
            converts=tuple(f"{plural}.{_GROUP}" for plural in _CONVERTED),
        ),
    )


def metrics(port: int) -> Probe:
    """Where its metrics are. It asks the API server who wants them, and signs its certificate itself."""
    return Probe(url=f"https://{LOOPBACK}:{port}/metrics", identity=ADMIN.name, self_signed=True, shows_token=True)


def _configuration(site: Site, ports: Mapping[str, int], config: Mapping[str, Any]) -> dict[str, Any]:
    """The Configuration: ours, the user's file over it, `--set` over both."""
    profile = site.profile
    limits = _SHIPPED_LIMITS
    if profile.client_qps is not None and profile.client_burst is not None:
        limits = {"qps": profile.client_qps, "burst": profile.client_burst}
    document = merged(
        {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "namespace": NAMESPACE,
            "health": {"healthProbeBindAddress": f"{LOOPBACK}:{ports['health']}"},
            "metrics": {"bindAddress": f"{LOOPBACK}:{ports['metrics']}"},
            "webhook": {
                "host": LOOPBACK,
                "port": ports["webhook"],
                "certDir": str(site.pki.authority(_AUTHORITY.name)),
            },
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {
                "enable": True,
                "webhookServiceName": _SERVICE,
                "webhookSecretName": _SECRET,
            },
            "clientConnection": limits,
            "controller": {"groupKindConcurrency": _SHIPPED_WORKERS},
            "integrations": {"frameworks": ["batch/job"]},
            # Weights of queues count only with it.
            "fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]},
            # Its server has a fixed port, and its certificates a fixed folder.
            "featureGates": {"VisibilityOnDemand": False},
        },
        config,
    )
    for path, text in site.settings.get(NAME, {}).items():
        document = assign(document, path, typed(path, text))
    return document
