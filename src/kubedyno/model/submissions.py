"""What was submitted: `submitted.json`, field by field."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

FORMAT = 1

WorkloadType: TypeAlias = Literal["training", "distributed", "interactive"]


class SubmittedWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """One workload that was submitted, or refused."""

    name: Annotated[str, Meta(description="Its name.")]
    kind: Annotated[str, Meta(description="Kind of its main object.")]
    namespace: Annotated[str, Meta(description="Its namespace.")]
    project: Annotated[str | None, Meta(description="The project it was submitted to; null: none.")]
    queue: Annotated[str | None, Meta(description="The queue that the project is in this dialect; null: none.")]
    gpus: Annotated[int, Meta(description="GPUs per pod.")]
    workers: Annotated[int, Meta(description="Worker pods that were asked for.")]
    template_hash: Annotated[str, Meta(description="SHA-256 of the template's text, in hexadecimal.")]
    planned_ns: Annotated[int, Meta(description="When it was to be submitted, ns since the epoch.")]
    t_submit: Annotated[int, Meta(description="When its first request was sent, ns since the epoch.")]
    t_accepted: Annotated[int | None, Meta(description="When its main object's creation was answered; null: never.")]
    uid: Annotated[str | None, Meta(description="uid of its main object; null: it was refused.")]
    error: Annotated[str | None, Meta(description="Why it was refused; null: it was not.")]


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How well the submitter kept to its plan."""

    asked_per_s: Annotated[float | None, Meta(description="The rate that was asked for; null: as fast as it goes.")]
    achieved_per_s: Annotated[float, Meta(description="Submissions per second from the first to the last.")]
    late_p99_s: Annotated[float, Meta(description="99th percentile of start after plan.")]
    limited: Annotated[bool, Meta(description="Whether the submitter, not the plan, set the pace.")]


class SubmittedFile(msgspec.Struct, frozen=True, kw_only=True):
    """`submitted.json`."""

    format: Annotated[int, Meta(description="Version of this format.")]
    kubedyno: Annotated[str, Meta(description="Version of kubedyno.")]
    id: Annotated[str, Meta(description="Id of the submission: the label `kubedyno/submission` of its objects.")]
    dialect: Annotated[str, Meta(description="The dialect that the workloads are written in.")]
    workload_type: Annotated[WorkloadType, Meta(description="Type of all its workloads.")]
    server: Annotated[str, Meta(description="Address of the API server.")]
    asked: Annotated[dict[str, Any], Meta(description="The options that decide what is submitted, defaults included.")]
    started_at: Annotated[str, Meta(description="When the submission began, RFC 3339, UTC.")]
    ended_at: Annotated[str | None, Meta(description="When it ended; null: it was interrupted, or goes on.")]
    simulated: Annotated[tuple[str, ...], Meta(description="Operators of the lab that are simulations.")]
    pace: Annotated[Pace | None, Meta(description="How well the submitter kept to its plan; null: not over yet.")]
    workloads: Annotated[tuple[SubmittedWorkload, ...], Meta(description="One per workload, by time of submission.")]
