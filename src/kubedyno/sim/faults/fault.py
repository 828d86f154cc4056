"""Faults of a node as data, and what they mean to whoever plays the node.

Faults stand on the node as a JSON list (`marks.FAULTS`), so they reach its kubelet wherever that runs:
`kubectl annotate node gpu-7 kubedyno/faults='[{"kind": "crash"}]'` works as well as `kubedyno nodes fail`. A fault may
name when it begins and ends; then nobody has to come back to take it away. All questions below take the present time
in nanoseconds since the epoch, and a node without faults answers them with nothing being wrong.
"""

import functools
from collections.abc import Collection, Sequence
from typing import Final, Literal, get_args

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.draws import Draw, unit
from kubedyno.kit.errors import UsageError, located
from kubedyno.kit.nearest import suggestion
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.sim import marks
from kubedyno.sim.faults.lasting import MOST_S, Lasting, check_share
from kubedyno.sim.faults.misbehaving import Misreport, SlowStatus, ViewsUnavailable, WrongAdmission

Cause = Literal["network", "runtime"]
State = Literal["kept", "lost"]
PodWork = Literal["all", "no starts", "none"]

UNREADY_MESSAGES: Final[dict[Cause, str]] = {
    "network": (
        "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
        "message:Network plugin returns error: cni plugin not initialized"
    ),
    "runtime": "container runtime is down",
}
"""What a kubelet says in its Ready condition; the end of the first one is containerd's."""


class Crash(Lasting, frozen=True, tag="crash"):
    """The node is silent: no lease, no status, no work on pods. Its containers run on, unseen."""


class NotReady(Lasting, frozen=True, tag="not-ready"):
    """The kubelet renews its lease and says that it is not ready.

    Without `network`, containers run on and pods may end, but none starts that does not use the host's network.
    Without `runtime`, the kubelet works on no pod at all.
    """

    cause: Cause = "network"


class Flapping(Lasting, frozen=True, tag="flapping"):
    """Not ready and ready by turns: the first `down_share` of every period it is not."""

    period_s: float = msgspec.field(default=60.0, name="periodSeconds")
    down_share: float = 0.5
    cause: Cause = "network"

    def is_down(self, now_ns: int) -> bool:
        """Whether it is in the first part of its period."""
        return (now_ns - self.since_ns) % self._period_ns < self._down_ns

    def edges_ns(self, now_ns: int) -> tuple[int, ...]:
        """Also the two turns of the present period."""
        if now_ns < self.since_ns:
            return super().edges_ns(now_ns)
        begun_ns = now_ns - (now_ns - self.since_ns) % self._period_ns
        return (*super().edges_ns(now_ns), begun_ns + self._down_ns, begun_ns + self._period_ns)

    def check(self) -> None:
        """A period in which something changes."""
        super().check()
        if not _LEAST_PERIOD_S <= self.period_s <= MOST_S:
            raise UsageError(f"periodSeconds {self.period_s:g} must be {_LEAST_PERIOD_S:g} to {MOST_S:g}")
        if not 0 < self.down_share < 1:
            raise UsageError(f"downShare {self.down_share:g} must be between 0 and 1")

    @property
    def _period_ns(self) -> int:
        return round(self.period_s * NS_PER_S)

    @property
    def _down_ns(self) -> int:
        return round(self.period_s * self.down_share * NS_PER_S)


class SlowStart(Lasting, frozen=True, tag="slow-start"):
    """Pods that are accepted meanwhile take `factor` times as long to start, and `extra` (a distribution) on top."""

    factor: float = 1.0
    extra: str = "0s"

    def slowed_s(self, start_s: float, at: float) -> float:
        """How long a start takes; `at` (0 to 1) places the draw."""
        return start_s * self.factor + Draw.parse(self.extra).at(at)

    def check(self) -> None:
        """Slower, not faster, and a distribution that can be read."""
        super().check()
        if not 1 <= self.factor <= MOST_S:
            raise UsageError(f"factor {self.factor:g} must be 1 to {MOST_S:g}")
        with located("extra"):
            Draw.parse(self.extra)


class PodFailure(Lasting, frozen=True, tag="pod-failure"):
    """Containers of a `share` of the node's pods end with `exit_code`, `after_s` from their start or the fault's."""

    share: float = 1.0
    exit_code: int = 1
    after_s: float = msgspec.field(default=0.0, name="afterSeconds")

    def meets(self, uid: str) -> bool:
        """Whether a pod is among those that fail: the same answer every time, in every process."""
        return unit(0, f"pod-failure:{self.id}:{uid}") < self.share

    def fails_at_ns(self, started_ns: int) -> int:
        """When containers end that started at `started_ns`."""
        return max(started_ns, self.since_ns) + round(self.after_s * NS_PER_S)

    def check(self) -> None:
        """A share that takes some, and an exit code that is a failure."""
        super().check()
        check_share(self.share)
        if not 1 <= self.exit_code <= _EXIT_CODE_MAX:
            raise UsageError(f"exitCode {self.exit_code} must be 1 to {_EXIT_CODE_MAX}")
        if not 0 <= self.after_s <= MOST_S:
            raise UsageError(f"afterSeconds {self.after_s:g} must be 0 to {MOST_S:g}")


class GpuLost(Lasting, frozen=True, tag="gpu-lost"):
    """GPUs by index that the node has, but that nobody can use."""

    gpus: tuple[int, ...] = ()

    def check(self) -> None:
        """At least one GPU."""
        super().check()
        if not self.gpus or min(self.gpus) < 0:
            raise UsageError("gpus must name at least one GPU by its index, like [0, 3]")


class KubeletRestart(Lasting, frozen=True, tag="kubelet-restart"):
    """The kubelet is gone for `down_s` seconds while containers run on, and comes back with its state or without.

    `lost` state is the files below /var/lib/kubelet: which CPUs, memory and devices its pods were given.
    """

    state: State = "kept"
    down_s: float = msgspec.field(default=5.0, name="downSeconds")

    def is_down(self, now_ns: int) -> bool:
        """Whether the kubelet is on its way."""
        return self.since_ns <= now_ns < self.back_ns

    @property
    def back_ns(self) -> int:
        """When the kubelet is there again."""
        return self.since_ns + round(self.down_s * NS_PER_S)

    def edges_ns(self, now_ns: int) -> tuple[int, ...]:
        """Also when it is back."""
        return (*super().edges_ns(now_ns), self.back_ns)

    def check(self) -> None:
        """No restart that ends before it begins."""
        super().check()
        if not 0 <= self.down_s <= MOST_S:
            raise UsageError(f"downSeconds {self.down_s:g} must be 0 to {MOST_S:g}")


Fault = (
    Crash
    | NotReady
    | Flapping
    | SlowStart
    | PodFailure
    | GpuLost
    | KubeletRestart
    | Misreport
    | ViewsUnavailable
    | WrongAdmission
    | SlowStatus
)
Faults = tuple[Fault, ...]

KINDS: Final[dict[str, type[Fault]]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Fault)}
_EXIT_CODE_MAX: Final = 255
_LEAST_PERIOD_S: Final = 1.0
_decoder: Final = msgspec.json.Decoder(tuple[Fault, ...])
_encoder: Final = msgspec.json.Encoder()


def written(faults: Sequence[Fault]) -> str:
    """The annotation's text."""
    return _encoder.encode(faults).decode()


@functools.lru_cache(maxsize=4096)
def read(text: str) -> Faults:
    """Faults from the annotation's text; nodes that fail together share one object."""
    with located(f"annotation {marks.FAULTS}", msgspec.MsgspecError):
        for entry in msgspec.json.decode(text, type=list[dict[str, msgspec.Raw]]):
            _check_kind(entry)
        faults = _decoder.decode(text)
        for fault in faults:
            fault.check()
    return faults


def of(node: Object) -> Faults:
    """The faults of a node."""
    text = meta.annotations(node).get(marks.FAULTS)
    return read(text) if text else ()


def check_kind(kind: str, known: Collection[str] = KINDS) -> None:
    """Raise UsageError for a kind that does not exist."""
    if kind not in known:
        raise UsageError(f"there is no fault {kind!r}: {suggestion(kind, known)}")


def _check_kind(entry: dict[str, msgspec.Raw]) -> None:
    if "kind" in entry:
        check_kind(msgspec.json.decode(entry["kind"], type=str))


def active(faults: Faults, now_ns: int) -> Faults:
    """Those that are there now."""
    return tuple(fault for fault in faults if fault.is_active(now_ns))


def is_over(fault: Fault, now_ns: int) -> bool:
    """Whether it means nothing any more and may be taken away."""
    if isinstance(fault, KubeletRestart) and fault.since and now_ns >= fault.back_ns:
        return True
    until_ns = fault.until_ns
    return until_ns is not None and now_ns >= until_ns


def is_down(faults: Faults, now_ns: int) -> bool:
    """Whether nothing is heard of the node: no lease, no status, nothing done for its pods."""
    return any(
        isinstance(fault, Crash) or (isinstance(fault, KubeletRestart) and fault.is_down(now_ns))
        for fault in active(faults, now_ns)
    )


def unready_cause(faults: Faults, now_ns: int) -> Cause | None:
    """Why the kubelet is not ready; None when it is. Its words are `UNREADY_MESSAGES`."""
    causes = {
        fault.cause
        for fault in active(faults, now_ns)
        if isinstance(fault, NotReady) or (isinstance(fault, Flapping) and fault.is_down(now_ns))
    }
    # The runtime is asked for its network: without it nothing can be known of the latter.
    return "runtime" if "runtime" in causes else next(iter(causes), None)


def is_unready(faults: Faults, now_ns: int) -> bool:
    """Whether the kubelet says that it is not ready, while its lease goes on."""
    return unready_cause(faults, now_ns) is not None


def pod_work(faults: Faults, now_ns: int) -> PodWork:
    """What the kubelet does for pods: `no starts` means none but those that use the host's network."""
    if is_down(faults, now_ns):
        return "none"
    works: dict[Cause | None, PodWork] = {None: "all", "network": "no starts", "runtime": "none"}
    return works[unready_cause(faults, now_ns)]


def start_s(faults: Faults, now_ns: int, *, usual_s: float, at: float) -> float:
    """How long a pod takes to start that usually takes `usual_s`; `at` (0 to 1) places draws."""
    for fault in active(faults, now_ns):
        if isinstance(fault, SlowStart):
            usual_s = fault.slowed_s(usual_s, at)
    return usual_s


def failing(faults: Faults, now_ns: int, uid: str) -> PodFailure | None:
    """The fault by which the pod of that uid ends; None when it works on."""
    return next(
        (fault for fault in active(faults, now_ns) if isinstance(fault, PodFailure) and fault.meets(uid)),
        None,
    )


def wrong_admission(faults: Faults, now_ns: int, uid: str) -> WrongAdmission | None:
    """The fault by which the pod of that uid is judged; None when it is judged rightly."""
    return next(
        (fault for fault in active(faults, now_ns) if isinstance(fault, WrongAdmission) and fault.meets(uid)),
        None,
    )


def status_late_s(faults: Faults, now_ns: int, *, at: float) -> float:
    """How late a status of a pod is written; `at` (0 to 1) places draws."""
    return sum(fault.late_s(at) for fault in active(faults, now_ns) if isinstance(fault, SlowStatus))


def lost_gpus(faults: Faults, now_ns: int) -> frozenset[int]:
    """Indexes of GPUs that cannot be used."""
    return frozenset(index for fault in active(faults, now_ns) if isinstance(fault, GpuLost) for index in fault.gpus)


def restarts(faults: Faults, now_ns: int, seen: Collection[str]) -> tuple[KubeletRestart, ...]:
    """Restarts from which the kubelet is back, but for those whose id is in `seen`.

    A simulator that meets a node for the first time has seen those that it finds: they were another one's.
    """
    return tuple(
        fault
        for fault in faults
        if isinstance(fault, KubeletRestart) and fault.back_ns <= now_ns and fault.id not in seen
    )


def next_change_ns(faults: Faults, now_ns: int) -> int | None:
    """When one of the answers above changes next without anybody writing to the node; None for never."""
    edges = (edge for fault in faults if not is_over(fault, now_ns) for edge in fault.edges_ns(now_ns))
    return min((edge for edge in edges if edge > now_ns), default=None)
