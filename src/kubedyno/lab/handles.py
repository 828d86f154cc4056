"""What a scenario gets back from its Lab, as data: nodes, workloads, times, victims."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import msgspec

from kubedyno.model.workloads import Closeness, Workload


class Stamp(msgspec.Struct, frozen=True):
    """When something happened: the best estimate and its bounds, ns since the epoch."""

    at_ns: int
    lower_ns: int
    upper_ns: int

    @classmethod
    def exactly(cls, at_ns: int) -> "Stamp":
        """A moment that is known."""
        return cls(at_ns, at_ns, at_ns)


class Nodes(msgspec.Struct, frozen=True, kw_only=True):
    """A pool of nodes."""

    pool: str
    names: tuple[str, ...]
    gpus: int
    """Of each node."""
    topology: str | None = None
    """Name of its Topology object."""
    levels: Mapping[str, str] = {}
    """Keys of the labels of its topology's levels, by the names of the levels, outermost first."""

    def close(self, *, required: str | None = None, preferred: str | None = None) -> Closeness:
        """How close together pods are to be, by names of levels (`rack`)."""
        if self.topology is None:
            raise ValueError(f"pool {self.pool} has no topology")
        return Closeness(
            topology=self.topology,
            required=None if required is None else self.levels[required],
            preferred=None if preferred is None else self.levels[preferred],
        )


class Workloads(msgspec.Struct, frozen=True, kw_only=True):
    """Workloads of one shape that were submitted together."""

    names: frozenset[str]
    pods: int
    """Of all of them."""
    submitted: Stamp
    """From the first request to the last answer."""
    shape: Workload = Workload(name="unknown")

    def part(self, names: AbstractSet[str]) -> "Workloads":
        """Those of these names."""
        return msgspec.structs.replace(
            self, names=self.names & names, pods=self.shape.pod_count * len(self.names & names)
        )

    def __or__(self, other: "Workloads") -> "Workloads":
        """Both together, to be waited for at once; the shape is that of the first."""
        both = self.submitted, other.submitted
        return Workloads(
            names=self.names | other.names,
            pods=self.pods + other.pods,
            submitted=Stamp(
                min(one.at_ns for one in both), min(one.lower_ns for one in both), max(one.upper_ns for one in both)
            ),
            shape=self.shape,
        )


class Evicted(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that the scheduler took away from its node."""

    name: str
    workload: str
    gpus: float
    node: str
    at: Stamp
    by: str = ""
    """What the scheduler says of it: which action, for whom; empty: nothing."""
