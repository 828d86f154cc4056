"""How strategic merge patches merge the lists of Kubernetes' own kinds.

The facts are the `patchStrategy` and `patchMergeKey` tags of k8s.io/api v0.36. What is not named here has no tag:
objects are merged member by member, lists are replaced (tolerations, taints, envFrom, readinessGates, container
statuses). The strategy `retainKeys` is left out: it tells clients how to write a patch, not how to apply one.
"""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec


class MergeKeys(msgspec.Struct, frozen=True):
    """How one field is merged, and the fields below it: of the object, or of each item of the list.

    `merge` is for lists: items with equal `key` are merged, lists of plain values (no key) are united. `replace`
    takes an object from the patch as a whole. Without strategy, objects are merged and lists replaced.
    """

    strategy: Literal["", "merge", "replace"] = ""
    key: str = ""
    fields: Mapping[str, "MergeKeys"] = {}

    def below(self, name: str) -> "MergeKeys":
        """The rule for a field of this object or list item; a plain one where nothing is said."""
        return self.fields.get(name, _PLAIN)


_PLAIN: Final = MergeKeys()


def _by(key: str, /, **fields: MergeKeys) -> MergeKeys:
    return MergeKeys("merge", key, fields)


def _object(**fields: MergeKeys) -> MergeKeys:
    return MergeKeys(fields=fields)


_UNITED: Final = MergeKeys("merge")
_METADATA: Final = _object(ownerReferences=_by("uid"), finalizers=_UNITED)
_CONDITIONS: Final = _object(conditions=_by("type"))

_CONTAINERS: Final = _by(
    "name",
    ports=_by("containerPort"),
    env=_by("name"),
    volumeMounts=_by("mountPath"),
    volumeDevices=_by("devicePath"),
)
_POD_SPEC: Final = _object(
    containers=_CONTAINERS,
    initContainers=_CONTAINERS,
    ephemeralContainers=_CONTAINERS,
    volumes=_by(
        "name",
        ephemeral=_object(volumeClaimTemplate=_object(metadata=_METADATA)),
    ),
    imagePullSecrets=_by("name"),
    hostAliases=_by("ip"),
    topologySpreadConstraints=_by("topologyKey"),
    schedulingGates=_by("name"),
    resourceClaims=_by("name"),
)
# Container statuses are replaced as whole lists, so the tags inside ContainerStatus never take effect.
_POD_STATUS: Final = _object(
    conditions=_by("type"),
    podIPs=_by("ip"),
    hostIPs=_by("ip"),
    resourceClaimStatuses=_by("name"),
)
_POD_TEMPLATE: Final = _object(metadata=_METADATA, spec=_POD_SPEC)
_POD_OWNER: Final = _object(template=_POD_TEMPLATE)
_WEBHOOKS: Final = _by("name", matchConditions=_by("name"))

_FIELDS_OF_KINDS: Final[Mapping[tuple[str, str], Mapping[str, MergeKeys]]] = {
    ("", "ComponentStatus"): {"conditions": _by("type")},
    ("", "Namespace"): {"status": _CONDITIONS},
    ("", "Node"): {
        "spec": _object(podCIDRs=_UNITED),
        "status": _object(conditions=_by("type"), addresses=_by("type")),
    },
    ("", "PersistentVolumeClaim"): {"status": _CONDITIONS},
    ("", "Pod"): {"spec": _POD_SPEC, "status": _POD_STATUS},
    ("", "PodTemplate"): {"template": _POD_TEMPLATE},
    ("", "ReplicationController"): {"spec": _POD_OWNER, "status": _CONDITIONS},
    ("", "Service"): {"spec": _object(ports=_by("port")), "status": _CONDITIONS},
    # The tag is on `secrets` only; `imagePullSecrets` of a service account is replaced, unlike a pod's.
    ("", "ServiceAccount"): {"secrets": _by("name")},
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): {"spec": _object(matchConditions=_by("name"))},
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): {"webhooks": _WEBHOOKS},
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): {
        "spec": _object(matchConditions=_by("name"), variables=_by("name"))
    },
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): {"webhooks": _WEBHOOKS},
    ("apiregistration.k8s.io", "APIService"): {"status": _CONDITIONS},
    ("apps", "DaemonSet"): {"spec": _POD_OWNER, "status": _CONDITIONS},
    ("apps", "Deployment"): {"spec": _POD_OWNER, "status": _CONDITIONS},
    ("apps", "ReplicaSet"): {"spec": _POD_OWNER, "status": _CONDITIONS},
    ("apps", "StatefulSet"): {"spec": _POD_OWNER, "status": _CONDITIONS},
    ("autoscaling", "HorizontalPodAutoscaler"): {"status": _CONDITIONS},
    ("batch", "CronJob"): {"spec": _object(jobTemplate=_object(metadata=_METADATA, spec=_POD_OWNER))},
    ("batch", "Job"): {"spec": _POD_OWNER, "status": _CONDITIONS},
    ("certificates.k8s.io", "PodCertificateRequest"): {"status": _CONDITIONS},
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): {"status": _CONDITIONS},
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): {"status": _CONDITIONS},
    ("networking.k8s.io", "ServiceCIDR"): {"status": _CONDITIONS},
    ("policy", "PodDisruptionBudget"): {"spec": _object(selector=MergeKeys("replace")), "status": _CONDITIONS},
    ("resource.k8s.io", "DeviceTaintRule"): {"status": _CONDITIONS},
    ("resource.k8s.io", "ResourceClaim"): {"status": _object(reservedFor=_by("uid"))},
    ("resource.k8s.io", "ResourceClaimTemplate"): {"spec": _object(metadata=_METADATA)},
    ("resource.k8s.io", "ResourcePoolStatusRequest"): {"status": _CONDITIONS},
    ("scheduling.k8s.io", "PodGroup"): {
        "spec": _object(resourceClaims=_by("name")),
        "status": _object(conditions=_by("type"), resourceClaimStatuses=_by("name")),
    },
    ("storage.k8s.io", "CSINode"): {"spec": _object(drivers=_by("name"))},
    ("storagemigration.k8s.io", "StorageVersionMigration"): {"status": _CONDITIONS},
}

_OTHER_GROUPS: Final = {
    "apiextensions.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "internal.apiserver.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
}
_GROUPS: Final = {group for group, _ in _FIELDS_OF_KINDS} | _OTHER_GROUPS


def merge_keys_for(api_version: str, kind: str) -> MergeKeys | None:
    """The rules for objects of that kind; None when strategic merge patches are not for it.

    They are for the kinds that Kubernetes itself serves. To one for a custom resource the API server answers 415
    (Unsupported Media Type), and so must who gets None here. The version does not matter: the tags of a kind are
    the same in all versions that are still served.
    """
    group = api_version.rpartition("/")[0]
    if group not in _GROUPS:
        return None
    return MergeKeys(fields={"metadata": _METADATA, **_FIELDS_OF_KINDS.get((group, kind), {})})
