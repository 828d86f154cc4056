"""What was seen of submitted workloads: `sampled.json`, field by field."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

FORMAT = 1

Source: TypeAlias = Literal["submitter", "watch", "server"]
"""Who says so: the submitter's own clock, a watch as the news arrived, or a stamp that the server keeps."""


class Instant(msgspec.Struct, frozen=True, gc=False):
    """When something happened, ns since the epoch: the best estimate, and what it cannot have been before or after."""

    at_ns: Annotated[int, Meta(description="The best estimate, ns since the epoch.")]
    lower_ns: Annotated[int, Meta(description="It did not happen before this.")]
    upper_ns: Annotated[int, Meta(description="It did not happen after this.")]
    source: Annotated[Source, Meta(description="Who says so.")]


class WorkloadSample(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of one workload's way."""

    name: Annotated[str, Meta(description="Its name.")]
    namespace: Annotated[str, Meta(description="Its namespace.")]
    kind: Annotated[str, Meta(description="Kind of its main object.")]
    uid: Annotated[str | None, Meta(description="uid of its main object.")]
    project: Annotated[str | None, Meta(description="Its project.")]
    pods: Annotated[int, Meta(description="How many pods were seen.")]
    gang: Annotated[int, Meta(description="How many of them must run together; 1: each for itself.")]
    steps: Annotated[dict[str, Instant], Meta(description="When each step was reached, by name.")]
    evictions: Annotated[int, Meta(description="How many of its pods were evicted.")]
    evicted_by: Annotated[tuple[str, ...], Meta(description="By whom, each once.")]
    errors: Annotated[tuple[str, ...], Meta(description="What is wrong with its times; empty: nothing.")]
    backend: Annotated[
        dict[str, int], Meta(description="Times that a backend keeps of it, by their names, ns since the epoch.")
    ] = {}


class Lag(msgspec.Struct, frozen=True, kw_only=True):
    """How late news arrives, seen with a probe object that the recorder writes and sees come back."""

    probes: Annotated[int, Meta(description="How many came back.")]
    p50_s: Annotated[float, Meta(description="Median.")]
    p99_s: Annotated[float, Meta(description="99th percentile.")]
    max_s: Annotated[float, Meta(description="The longest.")]


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """What the watch of one kind went through."""

    resource: Annotated[str, Meta(description="The resource, with its group.")]
    changes: Annotated[int, Meta(description="Changes that arrived.")]
    cuts: Annotated[int, Meta(description="Streams that the server cut off, and that were resumed where they ended.")]
    relists: Annotated[int, Meta(description="Times that states were lost and all objects listed anew.")]


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """How a recording was made: whether it can be believed to be whole."""

    began_ns: Annotated[int, Meta(description="From when on changes were seen, ns since the epoch.")]
    ended_ns: Annotated[int, Meta(description="Until when, ns since the epoch.")]
    lag: Annotated[Lag | None, Meta(description="How late news arrived; null: nothing came back.")]
    watches: Annotated[tuple[Followed, ...], Meta(description="One per kind.")]
    whole: Annotated[bool, Meta(description="Whether nothing can have been missed between its begin and its end.")]
    proof: Annotated[str, Meta(description="Why that is so, or what may be missing.")]


class SampledFile(msgspec.Struct, frozen=True, kw_only=True):
    """`sampled.json`."""

    format: Annotated[int, Meta(description="Version of this format.")]
    kubedyno: Annotated[str, Meta(description="Version of kubedyno.")]
    submission: Annotated[str, Meta(description="Id of the submission that was sampled.")]
    dialect: Annotated[str, Meta(description="Its dialect.")]
    workload_type: Annotated[str, Meta(description="Type of its workloads.")]
    sampled_at: Annotated[str, Meta(description="When, RFC 3339, UTC.")]
    samples: Annotated[int, Meta(description="How many times it was sampled so far, this one included.")]
    simulated: Annotated[tuple[str, ...], Meta(description="Operators of the lab that are simulations.")]
    recordings: Annotated[tuple[Recording, ...], Meta(description="What recorded beside the submission.")]
    general: Annotated[tuple[str, ...], Meta(description="Steps of the general plot, in order.")]
    detailed: Annotated[tuple[str, ...], Meta(description="Steps of the detailed plot, in order.")]
    workloads: Annotated[tuple[WorkloadSample, ...], Meta(description="One per submitted workload, in its order.")]
