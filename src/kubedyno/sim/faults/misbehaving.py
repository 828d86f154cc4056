"""Faults of kubelets that are there, but tell, admit or report wrongly."""

from typing import Final, Literal

import msgspec

from kubedyno.kit.draws import Draw, unit
from kubedyno.kit.errors import UsageError, located
from kubedyno.sim.faults.lasting import MOST_S, Lasting, check_share

Wrong = Literal["no-numa", "negative-numa", "several-numa", "stale", "allocatable", "hidden-pods"]
Silence = Literal["error", "timeout", "refused"]
Verdict = Literal["accepts", "rejects"]

_OF_RESOURCES: Final = frozenset({"no-numa", "negative-numa", "several-numa", "allocatable"})
_USUAL_DELAY_S: Final = 15.0
"""Longer than exporters wait for an answer, which is 10 s."""
_MOST_AMOUNT: Final = 2**62


class Misreport(Lasting, frozen=True, kw_only=True, tag="misreport"):
    """What the kubelet tells through its pod-resources API is wrong in one way, while it works as ever.

    `no-numa`, `negative-numa`, `several-numa`: devices (or what `resource` names) are told with no NUMA node, with -1,
    or with all. `stale`: as it was when the fault began. `allocatable`: `by` more or less of `resource` (CPUs without
    it) than the node has. `hidden-pods`: a `share` of the pods is not told.
    """

    what: Wrong
    resource: str = ""
    by: int = 0
    share: float = 1.0

    @property
    def amount_of(self) -> str:
        """The resource whose amount is wrong."""
        return self.resource or "cpu"

    def hides(self, namespace: str, name: str) -> bool:
        """Whether a pod is among those that are not told: the same answer every time, in every process."""
        return unit(0, f"hidden:{self.id}:{namespace}/{name}") < self.share

    def check(self) -> None:
        """Only what belongs to its way of being wrong."""
        super().check()
        check_share(self.share)
        if self.what == "allocatable":
            if not 0 < abs(self.by) <= _MOST_AMOUNT:
                raise UsageError(f"by {self.by}: write how much more or, with a minus, less than there is")
        elif self.by:
            raise UsageError(f"by {self.by}: belongs to allocatable, not to {self.what}")
        if self.resource and self.what not in _OF_RESOURCES:
            raise UsageError(f"resource {self.resource}: {self.what} is not about single resources")
        if self.share != 1.0 and self.what != "hidden-pods":
            raise UsageError(f"share {self.share:g}: belongs to hidden-pods, not to {self.what}")


class ViewsUnavailable(Lasting, frozen=True, kw_only=True, tag="views-unavailable"):
    """The kubelet's pod-resources API does not answer; all else goes on.

    `error`: every call fails. `refused`: nobody listens. `timeout`: the answer comes `delay_s` later, which is too late
    for whoever does not wait so long.
    """

    how: Silence = "error"
    delay_s: float = msgspec.field(default=_USUAL_DELAY_S, name="delaySeconds")

    def check(self) -> None:
        """A delay that is one."""
        super().check()
        if not 0 < self.delay_s <= MOST_S:
            raise UsageError(f"delaySeconds {self.delay_s:g} must be more than 0 and at most {MOST_S:g}")
        if self.how != "timeout" and self.delay_s != _USUAL_DELAY_S:
            raise UsageError(f"delaySeconds {self.delay_s:g}: belongs to timeout, not to {self.how}")


class WrongAdmission(Lasting, frozen=True, kw_only=True, tag="admission"):
    """The kubelet judges a `share` of the pods that come meanwhile wrongly.

    `accepts`: it takes pods for which it has no room, and gives them CPUs and devices that others have already.
    `rejects`: it refuses pods, whether they fit or not, and says `reason`.
    """

    verdict: Verdict
    reason: str = ""
    share: float = 1.0

    def meets(self, uid: str) -> bool:
        """Whether a pod is among those that are judged wrongly: the same answer every time, in every process."""
        return unit(0, f"admission:{self.id}:{uid}") < self.share

    def check(self) -> None:
        """A share that takes some, and a reason only for a refusal."""
        super().check()
        check_share(self.share)
        if self.reason and self.verdict != "rejects":
            raise UsageError(f"reason {self.reason!r}: who accepts gives none; it belongs to rejects")


class SlowStatus(Lasting, frozen=True, kw_only=True, tag="slow-status"):
    """What the kubelet writes of its pods' statuses comes `extra` (a distribution) after it was so."""

    extra: str = "5s"

    def late_s(self, at: float) -> float:
        """How late one write is; `at` (0 to 1) places the draw."""
        return Draw.parse(self.extra).at(at)

    def check(self) -> None:
        """A distribution that can be read."""
        super().check()
        with located("extra"):
            Draw.parse(self.extra)
