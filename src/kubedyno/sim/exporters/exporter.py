"""One exporter: what it remembers, and in which of its lives it is."""

from kubedyno.sim.exporters.drafting import NO_PAST, Past
from kubedyno.sim.exporters.pacing import Pace
from kubedyno.sim.exporters.publishing import Kept
from kubedyno.sim.exporters.steering import USUAL, Steering


class Exporter:
    """The exporter of one node. Times are monotonic."""

    __slots__ = ("begun_with", "ends", "is_busy", "is_due", "is_up", "kept", "life", "name", "pace", "past", "started_ns", "steering", "text", "ticks", "uid", "written_ns")  # fmt: skip  # noqa: E501 # one table

    def __init__(self, name: str, uid: str) -> None:
        self.name = name
        self.uid = uid
        self.steering: Steering = USUAL
        self.text = ""
        """The annotation that it heeds."""
        self.begun_with = ""
        """The one that it heeded when it began its look."""
        self.life = 0
        """Grows whenever it starts or ends: what was begun in another life is not finished."""
        self.is_up = False
        self.started_ns = 0
        self.ends = 0
        """How often it has ended of late."""
        self.written_ns: int | None = None
        self.renew(is_up=False)

    def renew(self, *, is_up: bool) -> None:
        """Another life, without memory of the last one."""
        self.life += 1
        self.is_up = is_up
        self.ticks = 0
        self.is_busy = False
        self.is_due = False
        """Whether the next look is to begin when this one is over."""
        self.pace = Pace()
        self.past: Past = NO_PAST
        self.kept = Kept()
