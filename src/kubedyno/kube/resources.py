"""The resources of the API: how a kind is named in URLs, and whether it lives in a namespace.

The table holds the built-in kinds, so that the common case needs no discovery. What it does not know raises
`UnknownResource`; the client then asks the server.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion


class UnknownResource(UsageError, LookupError):
    """The table has no such kind or plural: a custom resource, or a slip of the pen."""


class Resource(msgspec.Struct, frozen=True):
    """One kind in one version: what a URL needs to know of it. `group` is empty for core kinds."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    subresources: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects: `v1`, `batch/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def full_name(self) -> str:
        """The plural with its group, as in `kubectl get`: `pods`, `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def root(self) -> str:
        """The path of its group and version: `/api/v1`, `/apis/batch/v1`."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, *, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """URL path of one object, of the collection in a namespace, or (without both) of all objects.

        Names are quoted. A namespaced object needs its namespace; a cluster-wide kind must not have one.
        """
        if namespace:
            if not self.namespaced:
                raise UsageError(f"{self.full_name} are cluster-wide: leave out the namespace {namespace!r}")
            path = f"{self.root}/namespaces/{_quoted(namespace)}/{self.plural}"
        elif self.namespaced and name is not None:
            raise UsageError(f"{self.full_name} are namespaced: the namespace of {name!r} is missing")
        else:
            path = f"{self.root}/{self.plural}"
        if name is not None:
            if not name:
                raise UsageError(f"the name of an object of {self.full_name} is empty")
            path = f"{path}/{_quoted(name)}"
        if subresource is not None:
            if name is None:
                raise UsageError(f"{self.full_name}/{subresource} needs the name of an object")
            path = f"{path}/{subresource}"
        return path


_PLAIN = re.compile(r"[a-z0-9.:-]*")


def _quoted(name: str) -> str:
    """`name` as one path segment; colons stay, because RBAC names are full of them (`system:node`)."""
    return name if _PLAIN.fullmatch(name) else quote(name, safe=":")


def _group(group: str, version: str, *rows: str) -> list[Resource]:
    """Resources of one group version; a row reads `Kind plural scope [subresource ...]`."""
    resources = []
    for row in rows:
        kind, plural, scope, *subresources = row.split()
        resources.append(Resource(group, version, kind, plural, scope == "namespaced", tuple(subresources)))
    return resources


_SCALABLE = "namespaced status scale"

BUILT_IN: tuple[Resource, ...] = (
    *_group(
        "",
        "v1",
        "Pod pods namespaced status binding eviction ephemeralcontainers resize log exec attach portforward proxy",
        "Node nodes cluster status proxy",
        "Namespace namespaces cluster status finalize",
        "Service services namespaced status proxy",
        "ServiceAccount serviceaccounts namespaced token",
        "ConfigMap configmaps namespaced",
        "Secret secrets namespaced",
        "Event events namespaced",
        "Endpoints endpoints namespaced",
        "PersistentVolume persistentvolumes cluster status",
        "PersistentVolumeClaim persistentvolumeclaims namespaced status",
        f"ReplicationController replicationcontrollers {_SCALABLE}",
        "ResourceQuota resourcequotas namespaced status",
        "LimitRange limitranges namespaced",
        "PodTemplate podtemplates namespaced",
        "Binding bindings namespaced",
        "ComponentStatus componentstatuses cluster",
    ),
    *_group(
        "apps",
        "v1",
        f"Deployment deployments {_SCALABLE}",
        f"ReplicaSet replicasets {_SCALABLE}",
        f"StatefulSet statefulsets {_SCALABLE}",
        "DaemonSet daemonsets namespaced status",
        "ControllerRevision controllerrevisions namespaced",
    ),
    *_group("batch", "v1", "Job jobs namespaced status", "CronJob cronjobs namespaced status"),
    *_group("autoscaling", "v2", "HorizontalPodAutoscaler horizontalpodautoscalers namespaced status"),
    *_group("autoscaling", "v1", "HorizontalPodAutoscaler horizontalpodautoscalers namespaced status"),
    *_group(
        "certificates.k8s.io", "v1", "CertificateSigningRequest certificatesigningrequests cluster status approval"
    ),
    *_group("coordination.k8s.io", "v1", "Lease leases namespaced"),
    *_group("policy", "v1", "PodDisruptionBudget poddisruptionbudgets namespaced status"),
    *_group("scheduling.k8s.io", "v1", "PriorityClass priorityclasses cluster"),
    *_group(
        "scheduling.k8s.io",
        "v1alpha2",
        "Workload workloads namespaced",
        "PodGroup podgroups namespaced status",
    ),
    *_group(
        "resource.k8s.io",
        "v1",
        "ResourceClaim resourceclaims namespaced status",
        "ResourceClaimTemplate resourceclaimtemplates namespaced",
        "ResourceSlice resourceslices cluster",
        "DeviceClass deviceclasses cluster",
    ),
    *_group(
        "resource.k8s.io",
        "v1beta2",
        "ResourceClaim resourceclaims namespaced status",
        "ResourceClaimTemplate resourceclaimtemplates namespaced",
        "ResourceSlice resourceslices cluster",
        "DeviceClass deviceclasses cluster",
        "DeviceTaintRule devicetaintrules cluster status",
    ),
    *_group(
        "storage.k8s.io",
        "v1",
        "StorageClass storageclasses cluster",
        "VolumeAttachment volumeattachments cluster status",
        "VolumeAttributesClass volumeattributesclasses cluster",
        "CSIDriver csidrivers cluster",
        "CSINode csinodes cluster",
        "CSIStorageCapacity csistoragecapacities namespaced",
    ),
    *_group(
        "rbac.authorization.k8s.io",
        "v1",
        "Role roles namespaced",
        "RoleBinding rolebindings namespaced",
        "ClusterRole clusterroles cluster",
        "ClusterRoleBinding clusterrolebindings cluster",
    ),
    *_group("events.k8s.io", "v1", "Event events namespaced"),
    *_group("apiextensions.k8s.io", "v1", "CustomResourceDefinition customresourcedefinitions cluster status"),
    *_group("apiregistration.k8s.io", "v1", "APIService apiservices cluster status"),
    *_group(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration validatingwebhookconfigurations cluster",
        "MutatingWebhookConfiguration mutatingwebhookconfigurations cluster",
        "ValidatingAdmissionPolicy validatingadmissionpolicies cluster status",
        "ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings cluster",
        "MutatingAdmissionPolicy mutatingadmissionpolicies cluster",
        "MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings cluster",
    ),
    *_group("discovery.k8s.io", "v1", "EndpointSlice endpointslices namespaced"),
    *_group(
        "networking.k8s.io",
        "v1",
        "NetworkPolicy networkpolicies namespaced",
        "Ingress ingresses namespaced status",
        "IngressClass ingressclasses cluster",
        "IPAddress ipaddresses cluster",
        "ServiceCIDR servicecidrs cluster status",
    ),
    *_group("node.k8s.io", "v1", "RuntimeClass runtimeclasses cluster"),
    *_group(
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "FlowSchema flowschemas cluster status",
        "PriorityLevelConfiguration prioritylevelconfigurations cluster status",
    ),
    *_group(
        "authentication.k8s.io",
        "v1",
        "TokenReview tokenreviews cluster",
        "SelfSubjectReview selfsubjectreviews cluster",
    ),
    *_group(
        "authorization.k8s.io",
        "v1",
        "SubjectAccessReview subjectaccessreviews cluster",
        "SelfSubjectAccessReview selfsubjectaccessreviews cluster",
        "SelfSubjectRulesReview selfsubjectrulesreviews cluster",
        "LocalSubjectAccessReview localsubjectaccessreviews namespaced",
    ),
)

_BY_KIND: Mapping[tuple[str, str], Resource] = {(item.api_version, item.kind): item for item in BUILT_IN}

# `resourceclaims.resource.k8s.io` names a group, not a version: the first, preferred version in the table wins.
_BY_PLURAL: Mapping[str, Resource] = {item.full_name: item for item in reversed(BUILT_IN)}


def by_kind(api_version: str, kind: str) -> Resource:
    """The resource of a kind, or `UnknownResource` naming the nearest kind."""
    try:
        return _BY_KIND[api_version, kind]
    except KeyError:
        known = {name for version, name in _BY_KIND if version == api_version} or {name for _, name in _BY_KIND}
        raise UnknownResource(f"kind {kind!r} of {api_version!r} is not built in: {suggestion(kind, known)}") from None


def known_kind(api_version: str, kind: str) -> Resource | None:
    """The resource of a kind, or None where the table has no such kind."""
    return _BY_KIND.get((api_version, kind))


def by_plural(name: str) -> Resource:
    """The resource of `pods` or `jobs.batch`; a plural that only one group has needs no group (`jobs`)."""
    found = _BY_PLURAL.get(name)
    if found is None and "." not in name:
        found = next((item for item in BUILT_IN if item.plural == name), None)
    if found is None:
        raise UnknownResource(f"resource {name!r} is not built in: {suggestion(name, _BY_PLURAL)}")
    return found


def for_object(obj: Mapping[str, Any]) -> Resource:
    """The resource of an object by its `apiVersion` and `kind`."""
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        raise UsageError("an object without apiVersion and kind cannot be sent: write both")
    return by_kind(api_version, kind)


PODS = by_kind("v1", "Pod")
NODES = by_kind("v1", "Node")
NAMESPACES = by_kind("v1", "Namespace")
SERVICES = by_kind("v1", "Service")
SERVICE_ACCOUNTS = by_kind("v1", "ServiceAccount")
CONFIG_MAPS = by_kind("v1", "ConfigMap")
SECRETS = by_kind("v1", "Secret")
CORE_EVENTS = by_kind("v1", "Event")
PERSISTENT_VOLUMES = by_kind("v1", "PersistentVolume")
PERSISTENT_VOLUME_CLAIMS = by_kind("v1", "PersistentVolumeClaim")
RESOURCE_QUOTAS = by_kind("v1", "ResourceQuota")
DEPLOYMENTS = by_kind("apps/v1", "Deployment")
REPLICA_SETS = by_kind("apps/v1", "ReplicaSet")
REPLICATION_CONTROLLERS = by_kind("v1", "ReplicationController")
STATEFUL_SETS = by_kind("apps/v1", "StatefulSet")
DAEMON_SETS = by_kind("apps/v1", "DaemonSet")
JOBS = by_kind("batch/v1", "Job")
CRON_JOBS = by_kind("batch/v1", "CronJob")
LEASES = by_kind("coordination.k8s.io/v1", "Lease")
POD_DISRUPTION_BUDGETS = by_kind("policy/v1", "PodDisruptionBudget")
PRIORITY_CLASSES = by_kind("scheduling.k8s.io/v1", "PriorityClass")
WORKLOADS = by_kind("scheduling.k8s.io/v1alpha2", "Workload")
POD_GROUPS = by_kind("scheduling.k8s.io/v1alpha2", "PodGroup")
RESOURCE_CLAIMS = by_kind("resource.k8s.io/v1", "ResourceClaim")
RESOURCE_CLAIM_TEMPLATES = by_kind("resource.k8s.io/v1", "ResourceClaimTemplate")
RESOURCE_SLICES = by_kind("resource.k8s.io/v1", "ResourceSlice")
DEVICE_CLASSES = by_kind("resource.k8s.io/v1", "DeviceClass")
STORAGE_CLASSES = by_kind("storage.k8s.io/v1", "StorageClass")
CSI_NODES = by_kind("storage.k8s.io/v1", "CSINode")
EVENTS = by_kind("events.k8s.io/v1", "Event")
CRDS = by_kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
API_SERVICES = by_kind("apiregistration.k8s.io/v1", "APIService")
ROLES = by_kind("rbac.authorization.k8s.io/v1", "Role")
ROLE_BINDINGS = by_kind("rbac.authorization.k8s.io/v1", "RoleBinding")
CLUSTER_ROLES = by_kind("rbac.authorization.k8s.io/v1", "ClusterRole")
CLUSTER_ROLE_BINDINGS = by_kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")
VALIDATING_WEBHOOKS = by_kind("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")
MUTATING_WEBHOOKS = by_kind("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")

# Kinds of others: a server has them only with their definitions, so the table must not know them.
KAI_QUEUES = Resource("scheduling.run.ai", "v2", "Queue", "queues", namespaced=False, subresources=("status",))
KAI_POD_GROUPS = Resource(
    "scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups", namespaced=True, subresources=("status",)
)
KAI_BIND_REQUESTS = Resource(
    "scheduling.run.ai", "v1alpha2", "BindRequest", "bindrequests", namespaced=True, subresources=("status",)
)
KUEUE_LOCAL_QUEUES = Resource(
    "kueue.x-k8s.io", "v1beta1", "LocalQueue", "localqueues", namespaced=True, subresources=("status",)
)
KUEUE_WORKLOADS = Resource(
    "kueue.x-k8s.io", "v1beta1", "Workload", "workloads", namespaced=True, subresources=("status",)
)
COSCHEDULING_POD_GROUPS = Resource(
    "scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups", namespaced=True, subresources=("status",)
)
KUEUE_TOPOLOGIES = tuple(
    Resource("kueue.x-k8s.io", version, "Topology", "topologies", namespaced=False)
    for version in ("v1beta2", "v1beta1", "v1alpha1")
)
"""The newest version first."""
KAI_TOPOLOGIES = (Resource("kai.scheduler", "v1alpha1", "Topology", "topologies", namespaced=False),)
NODE_RESOURCE_TOPOLOGIES = tuple(
    Resource("topology.node.k8s.io", version, "NodeResourceTopology", "noderesourcetopologies", namespaced=False)
    for version in ("v1alpha2", "v1alpha1")
)
"""The newest version first."""
JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", namespaced=True, subresources=("status",))
PYTORCH_JOBS = Resource("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs", namespaced=True, subresources=("status",))
TRAINING_WORKLOADS = Resource(
    "run.ai", "v2alpha1", "TrainingWorkload", "trainingworkloads", namespaced=True, subresources=("status",)
)
INTERACTIVE_WORKLOADS = Resource(
    "run.ai", "v2alpha1", "InteractiveWorkload", "interactiveworkloads", namespaced=True, subresources=("status",)
)
DISTRIBUTED_WORKLOADS = Resource(
    "run.ai", "v2alpha1", "DistributedWorkload", "distributedworkloads", namespaced=True, subresources=("status",)
)


def api_versions() -> tuple[str, ...]:
    """All groups and versions of the table, in its order."""
    return tuple(dict.fromkeys(resource.api_version for resource in BUILT_IN))
