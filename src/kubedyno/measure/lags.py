"""The log of the probes: when each was written, as which version, and how late the news of it came back. Pure."""

from array import array
from bisect import bisect_left, bisect_right

from kubedyno.kit.clock import NS_PER_S
from kubedyno.model.samples import Lag


class Lags:
    """What the probes show. Times are ns since the epoch; probes are told of in the order in which they were sent."""

    def __init__(self) -> None:
        self._versions = array("q")
        self._sent = array("q")
        self._answered = array("q")
        self._lags = array("q")

    def note_answer(self, sent_ns: int, answered_ns: int, version: int) -> None:
        """A probe was written: its version is of a moment between these times."""
        if not self._versions or version > self._versions[-1]:
            self._versions.append(version)
            self._sent.append(sent_ns)
            self._answered.append(answered_ns)

    def note_return(self, sent_ns: int, back_ns: int) -> None:
        """The news of a probe arrived."""
        self._lags.append(back_ns - sent_ns)

    def written_after(self, version: int) -> int | None:
        """When at the earliest this version was written: the last probe before it had been sent; None: unknown."""
        place = bisect_right(self._versions, version)
        return self._sent[place - 1] if place else None

    def written_before(self, version: int) -> int | None:
        """When at the latest this version was written: the first probe after it was answered; None: unknown.

        0 stands for a version that cannot be compared.
        """
        if not version:
            return None
        place = bisect_left(self._versions, version)
        return self._answered[place] if place < len(self._versions) else None

    def summary(self) -> Lag | None:
        """All lags in a few figures; None: nothing came back."""
        if not self._lags:
            return None
        ordered = sorted(self._lags)
        return Lag(
            probes=len(ordered),
            p50_s=_quantile(ordered, 0.5) / NS_PER_S,
            p99_s=_quantile(ordered, 0.99) / NS_PER_S,
            max_s=ordered[-1] / NS_PER_S,
        )


def _quantile(ordered: list[int], share: float) -> int:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
