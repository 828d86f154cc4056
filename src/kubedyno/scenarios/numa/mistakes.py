"""Ways to count wrongly, and what comes of each on the real plugin and on the reference scheduler: a table."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from kubedyno.model.workloads import Workload
from kubedyno.scenarios.numa import zoned
from kubedyno.scenarios.numa.matching import Knows
from kubedyno.sim.exporters import distorting
from kubedyno.sim.exporters.distorting import Distortion

Outcome: TypeAlias = Literal["runs", "waits", "refused"]
"""What becomes of the pod that is tried: by the scheduler, and if it lets it, by the kubelet."""

TOLD: Final[Mapping[Outcome, str]] = {
    "runs": "the pod runs",
    "waits": "the pod waits, none is refused",
    "refused": "the kubelet of that node refuses the pod",
}


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """One way to count wrongly: what is on the node before, what is tried, and what comes of it."""

    name: str
    distortion: Distortion
    tried: Workload
    before: int = 0
    """Pods of more than half a zone that run on the node, and were reported, before the exporter errs."""
    right: Outcome
    """What becomes of the pod with a true report."""
    on_plugin: Outcome
    on_reference: Outcome
    finding: str = ""
    """What the plugin is known for, where that is no consequence of what it is told."""
    drifts: bool = True
    """Whether the report differs from the truth in zones or amounts."""

    def outcome(self, knows: Knows) -> Outcome:
        """What is expected of a scheduler."""
        return self.on_reference if knows == "reference" else self.on_plugin


def _large(**more: str) -> Workload:
    return zoned.exclusive(name="tried", **more)


_TWO_TENS: Final = zoned.containers({"a": zoned.guaranteed(10), "b": zoned.guaranteed(10)}, name="tried")
"""Container by container they fit the two zones; as a whole they fit none."""

MISTAKES: Final[tuple[Mistake, ...]] = (
    Mistake(
        name="more CPUs than there are",
        distortion=distorting.MoreAvailable(resource="cpu", by="10"),
        tried=_large(),
        before=zoned.FITTING,
        right="waits",
        on_plugin="refused",
        on_reference="refused",
    ),
    Mistake(
        name="fewer CPUs than there are",
        distortion=distorting.LessAvailable(resource="cpu", by="10"),
        tried=_large(),
        right="runs",
        on_plugin="waits",
        on_reference="waits",
    ),
    Mistake(
        name="two zones swapped",
        distortion=distorting.SwappedZones(),
        tried=_large(),
        before=1,
        right="runs",
        on_plugin="runs",
        on_reference="runs",
    ),
    Mistake(
        name="zones of wrong names",
        distortion=distorting.WrongZoneNames(),
        tried=_large(),
        right="runs",
        on_plugin="waits",
        on_reference="runs",
        finding="zones that it cannot read count as zones without anything",
    ),
    Mistake(
        name="zones of a wrong type",
        distortion=distorting.WrongZoneType(),
        tried=_large(),
        right="runs",
        on_plugin="waits",
        on_reference="runs",
        finding="zones that it cannot read count as zones without anything",
    ),
    Mistake(
        name="zones of negative numbers",
        distortion=distorting.NegativeIds(),
        tried=_large(),
        right="runs",
        on_plugin="waits",
        on_reference="runs",
        finding="zones that it cannot read count as zones without anything",
    ),
    Mistake(
        name="no memory",
        distortion=distorting.MissingResource(resource="memory"),
        tried=_large(),
        right="runs",
        on_plugin="waits",
        on_reference="runs",
        finding="memory that no zone lists is memory that no zone has",
    ),
    Mistake(
        name="zones in another order",
        distortion=distorting.ShuffledOrder(),
        tried=_large(),
        before=1,
        right="runs",
        on_plugin="runs",
        on_reference="runs",
        drifts=False,
    ),
    Mistake(
        name="numbers of zones left out",
        distortion=distorting.SparseIds(),
        tried=_large(),
        before=1,
        right="runs",
        on_plugin="runs",
        on_reference="runs",
    ),
    Mistake(
        name="policy none",
        distortion=distorting.WrongPolicy(policy="none"),
        tried=zoned.exclusive(zoned.WIDE, name="tried"),
        right="waits",
        on_plugin="refused",
        on_reference="refused",
        drifts=False,
    ),
    Mistake(
        name="a policy that does not exist",
        distortion=distorting.WrongPolicy(policy="most-numa-nodes"),
        tried=zoned.exclusive(zoned.WIDE, name="tried"),
        right="waits",
        on_plugin="refused",
        on_reference="refused",
        drifts=False,
    ),
    Mistake(
        name="scope pod instead of container",
        distortion=distorting.WrongScope(scope="pod"),
        tried=_TWO_TENS,
        right="runs",
        on_plugin="waits",
        on_reference="waits",
        drifts=False,
    ),
)


class Misprint(msgspec.Struct, frozen=True, kw_only=True):
    """A wrong fingerprint: whether a report is believed that has the first pod on a node, so that a second one runs."""

    name: str
    distortion: Distortion
    believed_by: frozenset[Knows]


_WITHOUT: Final[frozenset[Knows]] = frozenset({"passthrough", "discard-reserved"})
"""Who does not read fingerprints."""

MISPRINTS: Final = (
    Misprint(name="the fingerprint of other pods", distortion=distorting.WrongFingerprint(), believed_by=_WITHOUT),
    Misprint(name="no fingerprint", distortion=distorting.MissingFingerprint(), believed_by=_WITHOUT | {"reference"}),
    Misprint(
        name="the fingerprint of a look before",
        distortion=distorting.LateFingerprint(),
        believed_by=_WITHOUT | {"reference", "over-reserve"},
    ),
)
