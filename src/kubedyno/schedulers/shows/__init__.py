"""What each kind shows: all phases that one state of an object says it has reached.

Pure functions on objects as the API server sends them, called for each change of each object. They read `metadata`
(creationTimestamp, ownerReferences, annotations of events), `spec` and `status`; never managedFields.
"""

from kubedyno.schedulers.shows.claims import resource_claim, volume_claim
from kubedyno.schedulers.shows.coscheduling import coscheduling_pod_group
from kubedyno.schedulers.shows.events import eviction, subject
from kubedyno.schedulers.shows.gangs import bind_request, first_owner, kai_pod_group, native_pod_group
from kubedyno.schedulers.shows.jobs import job, job_set, pytorch_job, runai_workload
from kubedyno.schedulers.shows.kueue import kueue_workload
from kubedyno.schedulers.shows.pods import pod

__all__ = [
    "bind_request",
    "coscheduling_pod_group",
    "eviction",
    "first_owner",
    "job",
    "job_set",
    "kai_pod_group",
    "kueue_workload",
    "native_pod_group",
    "pod",
    "pytorch_job",
    "resource_claim",
    "runai_workload",
    "subject",
    "volume_claim",
]
