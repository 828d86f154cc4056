"""The named columns of the tables of a trial: `objects`, `series`, `pods`, `nodes`, `claims`, and `times.csv`."""

from typing import Literal

import msgspec

ColumnType = Literal["int64", "float64", "string"]


class Column(msgspec.Struct, frozen=True):
    """One column: nullable unless its description says otherwise."""

    name: str
    type: ColumnType
    description: str


OBJECTS: tuple[Column, ...] = (
    Column("uid", "string", "uid of the object; never null."),
    Column("kind", "string", "Kind of the object; never null."),
    Column(
        "role",
        "string",
        "What it is to its workload: `workload`, `job`, `podgroup`, `pod`, `decision`, `claim`, `volume`, `event`; "
        "never null.",
    ),
    Column("namespace", "string", "Its namespace; empty for cluster-wide objects."),
    Column("name", "string", "Its name; never null."),
    Column("owner", "string", "uid of its controller, or of the object that it speaks of."),
    Column("workload", "string", "The workload that it says it belongs to; else that of its owner."),
    Column("node", "string", "The node that it is bound to, from phase `scheduled` on."),
    Column(
        "phase",
        "string",
        "What happened: `created`, `scheduled`, `running`, `ready`, `evicted`, `deleted`, ...; never null.",
    ),
    Column("detail", "string", "By whom, why, how many."),
    Column("arrival_ns", "int64", "When the news arrived here, ns since the epoch; never null."),
    Column("server_ns", "int64", "The server's own stamp, ns since the epoch; it is truncated to the second."),
    Column("lower_ns", "int64", "It did not happen before this, ns since the epoch."),
    Column("upper_ns", "int64", "It did not happen after this, ns since the epoch; never null."),
    Column(
        "source",
        "string",
        "Who says so: `watch`, which saw it happen, or `server`, whose stamp is all that is known; never null.",
    ),
)

SERIES: tuple[Column, ...] = (
    Column("time_ns", "int64", "When, ns since the epoch; never null."),
    Column(
        "series",
        "string",
        "What: `cpu_s` (CPU seconds used so far), `memory_bytes` (resident), `watch_lag_s` (seconds from the writing "
        "of a probe until the news of it arrived), `host_busy_s` (CPU seconds used by everybody so far), `host_busy` "
        "(part of the cores that was busy), `bound_per_s` (pods bound a second), `devices_allocated` (devices that "
        "claims have, by driver), `gpu_utilisation` (part of the GPUs that is used), `gpu_fragmentation` (part of the "
        "free GPUs that a pod of a whole node cannot use), "
        "`fair_share_error` (what queues have too much and too little, as a part of all GPUs); never null.",
    ),
    Column("component", "string", "Of which component, or driver; `kubedyno` is the instrument itself."),
    Column("value", "float64", "The value; never null."),
)

PODS: tuple[Column, ...] = (
    Column("uid", "string", "uid of the pod, by which `objects` has the bounds of its times; never null."),
    Column("namespace", "string", "Its namespace; never null."),
    Column("name", "string", "Its name; never null."),
    Column("workload", "string", "The workload that it says it belongs to."),
    Column("gang", "string", "Its PodGroup: `kind/namespace/name`."),
    Column("job", "string", "The Job that made it: `kind/namespace/name`."),
    Column("queue", "string", "The queue of its gang, or its own."),
    Column("gpus", "float64", "GPUs that it holds: whole ones, fractions, devices of claims; never null."),
    Column("priority", "int64", "Its priority; never null."),
    Column("node", "string", "The node that it was bound to."),
    Column("created_ns", "int64", "When the news of its creation arrived, ns since the epoch; never null."),
    Column("unschedulable_ns", "int64", "When its scheduler first said that it fits nowhere, ns since the epoch."),
    Column("bound_ns", "int64", "When the news of its binding arrived, ns since the epoch."),
    Column("running_ns", "int64", "When the news arrived that it runs, ns since the epoch."),
    Column("ended_ns", "int64", "When the news arrived that it finished or was gone, ns since the epoch."),
    Column(
        "end",
        "string",
        "How: `succeeded`, `failed`, `evicted` (its scheduler took it away) or `deleted` (somebody else did).",
    ),
)

NODES: tuple[Column, ...] = (
    Column("name", "string", "Name of the node; never null."),
    Column("gpus", "float64", "GPUs that it has, devices of slices included; never null."),
    Column(
        "place",
        "string",
        "Where it stands by the levels of the topology, outermost first, joined by slashes: `zone-1/block-2/rack-3`.",
    ),
    Column("seen_ns", "int64", "When the news of it arrived, ns since the epoch; never null."),
    Column("gone_ns", "int64", "When the news arrived that it was gone, ns since the epoch."),
)

CLAIMS: tuple[Column, ...] = (
    Column("uid", "string", "uid of the claim, by which `objects` has the bounds of its times; never null."),
    Column("namespace", "string", "Its namespace; never null."),
    Column("name", "string", "Its name; never null."),
    Column("pod", "string", "Name of the first pod that was allowed to use it."),
    Column("node", "string", "The node that this pod was bound to."),
    Column("driver", "string", "Driver of its devices; several are joined by commas."),
    Column(
        "devices",
        "string",
        "`pool/device` of each that it was first given, joined by commas; without those that it may only look at.",
    ),
    Column("count", "int64", "How many devices these are; never null."),
    Column(
        "created_ns",
        "int64",
        "When the news of its creation arrived, or of itself if it was there before the trial, ns since the epoch; "
        "never null.",
    ),
    Column("allocated_ns", "int64", "When the news arrived that it was first given its devices, ns since the epoch."),
    Column("reserved_ns", "int64", "When the news arrived that a pod may use it, ns since the epoch."),
    Column("released_ns", "int64", "When the news arrived that these devices were free again, ns since the epoch."),
)

TIMES: tuple[Column, ...] = (
    Column(
        "workload",
        "string",
        "Name of the workload; of pods that say of none, `namespace/name` of their Job, else of the pod itself.",
    ),
    Column("pods", "int64", "How many pods it has."),
    Column("created", "float64", "Arrival of its last pod's creation, seconds since the epoch."),
    Column("scheduled", "float64", "Arrival of its last pod's binding, seconds since the epoch."),
    Column("running", "float64", "Arrival of its last pod's start, seconds since the epoch."),
    Column("scheduled_delta", "float64", "Seconds from created to scheduled."),
    Column("running_delta", "float64", "Seconds from scheduled to running."),
    Column("total", "float64", "Seconds from created to running."),
)


class ObjectRow(msgspec.Struct, frozen=True):
    """A row of `objects`: the columns of OBJECTS, in order."""

    uid: str
    kind: str
    role: str
    namespace: str
    name: str
    owner: str | None
    workload: str | None
    node: str | None
    phase: str
    detail: str | None
    arrival_ns: int
    server_ns: int | None
    lower_ns: int | None
    upper_ns: int
    source: str = "watch"


class SeriesRow(msgspec.Struct, frozen=True):
    """A row of `series`: the columns of SERIES, in order."""

    time_ns: int
    series: str
    component: str | None
    value: float


class PodRow(msgspec.Struct, frozen=True, gc=False):
    """A row of `pods`: the columns of PODS, in order."""

    uid: str
    namespace: str
    name: str
    workload: str | None
    gang: str | None
    job: str | None
    queue: str | None
    gpus: float
    priority: int
    node: str | None
    created_ns: int
    unschedulable_ns: int | None
    bound_ns: int | None
    running_ns: int | None
    ended_ns: int | None
    end: str | None


class NodeRow(msgspec.Struct, frozen=True, gc=False):
    """A row of `nodes`: the columns of NODES, in order."""

    name: str
    gpus: float
    place: str | None
    seen_ns: int
    gone_ns: int | None


class ClaimRow(msgspec.Struct, frozen=True):
    """A row of `claims`: the columns of CLAIMS, in order."""

    uid: str
    namespace: str
    name: str
    pod: str | None
    node: str | None
    driver: str | None
    devices: str | None
    count: int
    created_ns: int
    allocated_ns: int | None
    reserved_ns: int | None
    released_ns: int | None


class Lived(msgspec.Struct, frozen=True, kw_only=True):
    """What lived during a trial: the rows of three tables."""

    pods: tuple[PodRow, ...] = ()
    nodes: tuple[NodeRow, ...] = ()
    claims: tuple[ClaimRow, ...] = ()
