"""The strategies of all built-in kinds, by group and plural: versions of a kind share theirs."""

from collections.abc import Mapping
from typing import Any

from kubedyno.kinds.strategies import certificates, core, definitions, devices, pods, services, storage, workloads
from kubedyno.kinds.strategies.strategy import KEPT_FOR_STATUS, Strategy

_PLAIN = Strategy(starts_at_1=False, bumped_by=(), has_status=False)
_UPSERTED = Strategy(starts_at_1=False, bumped_by=(), has_status=False, creates_on_update=True)
_CONDITIONAL = Strategy(starts_at_1=False, bumped_by=(), has_status=False, updates_unconditionally=False)
_COUNTED = Strategy()
_COUNTED_WITHOUT_STATUS = Strategy(has_status=False)
_STATUS_ONLY = Strategy(starts_at_1=False, bumped_by=())
_NEWER_STATUS_ONLY = Strategy(starts_at_1=False, bumped_by=(), kept_by_status=KEPT_FOR_STATUS)
_HOOKS = Strategy(bumped_by=("webhooks",), has_status=False, updates_unconditionally=False)
_POLICY = Strategy(has_status=False, updates_unconditionally=False)
_FLOW = Strategy(kept_by_status=(*KEPT_FOR_STATUS, "deletionGracePeriodSeconds", "generateName"))

STRATEGIES: Mapping[tuple[str, str], Strategy] = {
    ("", "pods"): pods.PODS,
    ("", "nodes"): core.NODES,
    ("", "namespaces"): core.NAMESPACES,
    ("", "services"): services.SERVICES,
    ("", "serviceaccounts"): core.ACCOUNTS,
    ("", "configmaps"): _PLAIN,
    ("", "secrets"): _PLAIN,
    ("", "events"): _UPSERTED,
    ("", "endpoints"): _UPSERTED,
    ("", "persistentvolumes"): storage.VOLUMES,
    ("", "persistentvolumeclaims"): storage.CLAIMS,
    ("", "replicationcontrollers"): _COUNTED,
    ("", "resourcequotas"): _STATUS_ONLY,
    ("", "limitranges"): _UPSERTED,
    ("", "podtemplates"): Strategy(bumped_by=("template",), has_status=False),
    ("apps", "deployments"): Strategy(bumped_by=("spec", "metadata.annotations"), kept_by_status=("labels",)),
    ("apps", "replicasets"): _COUNTED,
    ("apps", "statefulsets"): _COUNTED,
    ("apps", "daemonsets"): workloads.DAEMON_SETS,
    ("apps", "controllerrevisions"): _PLAIN,
    ("batch", "jobs"): workloads.JOBS,
    ("batch", "cronjobs"): _COUNTED,
    ("autoscaling", "horizontalpodautoscalers"): _STATUS_ONLY,
    ("certificates.k8s.io", "certificatesigningrequests"): certificates.REQUESTS,
    ("coordination.k8s.io", "leases"): Strategy(
        starts_at_1=False, bumped_by=(), has_status=False, creates_on_update=True, updates_unconditionally=False
    ),
    ("policy", "poddisruptionbudgets"): Strategy(updates_unconditionally=False),
    ("scheduling.k8s.io", "priorityclasses"): Strategy(bumped_by=(), has_status=False),
    ("scheduling.k8s.io", "workloads"): _PLAIN,
    ("scheduling.k8s.io", "podgroups"): _NEWER_STATUS_ONLY,
    ("resource.k8s.io", "resourceclaims"): devices.CLAIMS,
    ("resource.k8s.io", "resourceclaimtemplates"): _PLAIN,
    ("resource.k8s.io", "resourceslices"): _COUNTED_WITHOUT_STATUS,
    ("resource.k8s.io", "deviceclasses"): _COUNTED_WITHOUT_STATUS,
    ("resource.k8s.io", "devicetaintrules"): devices.TAINT_RULES,
    ("storage.k8s.io", "storageclasses"): _PLAIN,
    ("storage.k8s.io", "volumeattachments"): Strategy(
        starts_at_1=False, bumped_by=(), kept_by_status=KEPT_FOR_STATUS, updates_unconditionally=False
    ),
    ("storage.k8s.io", "volumeattributesclasses"): _PLAIN,
    ("storage.k8s.io", "csidrivers"): Strategy(starts_at_1=False, has_status=False, updates_unconditionally=False),
    ("storage.k8s.io", "csinodes"): _CONDITIONAL,
    ("storage.k8s.io", "csistoragecapacities"): _CONDITIONAL,
    ("rbac.authorization.k8s.io", "roles"): _UPSERTED,
    ("rbac.authorization.k8s.io", "rolebindings"): _UPSERTED,
    ("rbac.authorization.k8s.io", "clusterroles"): _UPSERTED,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _UPSERTED,
    ("events.k8s.io", "events"): _UPSERTED,
    ("apiextensions.k8s.io", "customresourcedefinitions"): definitions.DEFINITIONS,
    ("apiregistration.k8s.io", "apiservices"): definitions.API_SERVICES,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): _HOOKS,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): _HOOKS,
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): Strategy(
        kept_by_status=KEPT_FOR_STATUS, updates_unconditionally=False
    ),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): _POLICY,
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): _POLICY,
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): _POLICY,
    ("discovery.k8s.io", "endpointslices"): Strategy(
        bumped_by=("addressType", "endpoints", "ports", "metadata.labels"), has_status=False
    ),
    ("networking.k8s.io", "networkpolicies"): _COUNTED_WITHOUT_STATUS,
    ("networking.k8s.io", "ingresses"): _COUNTED,
    ("networking.k8s.io", "ingressclasses"): _COUNTED_WITHOUT_STATUS,
    ("networking.k8s.io", "ipaddresses"): _PLAIN,
    ("networking.k8s.io", "servicecidrs"): _NEWER_STATUS_ONLY,
    ("node.k8s.io", "runtimeclasses"): Strategy(
        starts_at_1=False, bumped_by=(), has_status=False, creates_on_update=True, updates_unconditionally=False
    ),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): _FLOW,
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): _FLOW,
}

# What Go writes of a status that nobody has set yet: numbers that are never left out.
FRESH_STATUS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("v1", "services"): {"loadBalancer": {}},
    ("v1", "replicationcontrollers"): {"replicas": 0},
    ("apps/v1", "replicasets"): {"replicas": 0},
    ("apps/v1", "statefulsets"): {"replicas": 0, "availableReplicas": 0},
    ("autoscaling/v1", "horizontalpodautoscalers"): {"currentReplicas": 0, "desiredReplicas": 0},
    ("autoscaling/v2", "horizontalpodautoscalers"): {"desiredReplicas": 0, "currentMetrics": None},
    ("policy/v1", "poddisruptionbudgets"): {
        "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0,
    },
    ("storage.k8s.io/v1", "volumeattachments"): {"attached": False},
    ("networking.k8s.io/v1", "ingresses"): {"loadBalancer": {}},
}  # fmt: skip
