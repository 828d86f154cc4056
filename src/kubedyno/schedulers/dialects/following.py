"""The kinds that are followed for workloads' sake. A kind has one role, whatever dialect a workload is written in."""

from typing import Final

from kubedyno.kube.resources import (
    CORE_EVENTS,
    COSCHEDULING_POD_GROUPS,
    DISTRIBUTED_WORKLOADS,
    INTERACTIVE_WORKLOADS,
    JOB_SETS,
    JOBS,
    KAI_BIND_REQUESTS,
    KAI_POD_GROUPS,
    KUEUE_WORKLOADS,
    PERSISTENT_VOLUME_CLAIMS,
    POD_GROUPS,
    PODS,
    PYTORCH_JOBS,
    RESOURCE_CLAIMS,
    TRAINING_WORKLOADS,
)
from kubedyno.model.lifecycles import Followed
from kubedyno.schedulers import shows
from kubedyno.schedulers.shows.events import KAI_EVICTION, PREEMPTION

_PODS: Final = Followed(PODS, "pod", shows.pod)
_VOLUMES: Final = Followed(PERSISTENT_VOLUME_CLAIMS, "volume", shows.volume_claim)
_CLAIMS: Final = Followed(RESOURCE_CLAIMS, "claim", shows.resource_claim)
_COSCHEDULED_GROUPS: Final = Followed(COSCHEDULING_POD_GROUPS, "podgroup", shows.coscheduling_pod_group)
_NATIVE_GROUPS: Final = Followed(POD_GROUPS, "podgroup", shows.native_pod_group)
_PREEMPTIONS: Final = Followed(CORE_EVENTS, "event", shows.eviction, shows.subject, f"reason={PREEMPTION}")
_KAI_GROUPS: Final = Followed(KAI_POD_GROUPS, "podgroup", shows.kai_pod_group, shows.first_owner)
_DECISIONS: Final = Followed(KAI_BIND_REQUESTS, "decision", shows.bind_request, shows.first_owner)
_KAI_EVICTIONS: Final = Followed(CORE_EVENTS, "event", shows.eviction, shows.subject, f"reason={KAI_EVICTION}")

BATCH_JOBS: Final = Followed(JOBS, "job", shows.job)
TRAINING_JOBS: Final = Followed(PYTORCH_JOBS, "job", shows.pytorch_job)
SETS_OF_JOBS: Final = Followed(JOB_SETS, "workload", shows.job_set)
QUEUED_WORKLOADS: Final = Followed(KUEUE_WORKLOADS, "workload", shows.kueue_workload)
RUNAI_WORKLOADS: Final = tuple(
    Followed(resource, "workload", shows.runai_workload)
    for resource in (TRAINING_WORKLOADS, INTERACTIVE_WORKLOADS, DISTRIBUTED_WORKLOADS)
)

UNDER_KUBE: Final = (_PODS, _VOLUMES, _CLAIMS, _NATIVE_GROUPS, _PREEMPTIONS)
"""What becomes of pods under kube-scheduler, or one that works as it does."""
UNDER_PLUGINS: Final = (_PODS, _VOLUMES, _CLAIMS, _COSCHEDULED_GROUPS, _PREEMPTIONS)
"""What becomes of pods under scheduler-plugins."""
UNDER_KAI: Final = (_PODS, _VOLUMES, _CLAIMS, _KAI_GROUPS, _DECISIONS, _KAI_EVICTIONS)
"""What becomes of pods under KAI."""
UNDER_REFERENCE: Final = (*UNDER_KUBE, _KAI_GROUPS, _KAI_EVICTIONS)
"""What becomes of pods under the reference scheduler, which reads both kinds of groups."""
UNDER_ANY: Final = tuple(dict.fromkeys((*UNDER_KUBE, *UNDER_PLUGINS, *UNDER_KAI)))
"""What becomes of pods, whoever schedules them: a server lacks the kinds of the schedulers that it does not have."""
EVERYTHING: Final = (*UNDER_ANY, BATCH_JOBS, TRAINING_JOBS, SETS_OF_JOBS, QUEUED_WORKLOADS, *RUNAI_WORKLOADS)
"""All kinds of all dialects: for a recorder that does not know what will be submitted."""
