"""What is to be submitted: every option that decides it, checked for contradictions.

An order is kept in `submitted.json` (`asked`), so that an interrupted submission goes on as it began.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from kubedyno.kit.errors import UsageError
from kubedyno.kit.units import parse_duration_s
from kubedyno.model.submissions import WorkloadType

Via: TypeAlias = Literal["api", "kubectl", "cli"]
Arrival: TypeAlias = Literal["constant", "poisson", "burst", "stepped", "trace"]

DEFAULT_PROCESSES: Final = 8
DEFAULT_IN_FLIGHT: Final = 64
"""Submissions in flight at most where a plan says when each begins, and nothing else was asked for."""

_NEEDS: Final[Mapping[Arrival, tuple[str, ...]]] = {
    "constant": ("rate_per_s",),
    "poisson": ("rate_per_s",),
    "burst": ("rate_per_s", "burst"),
    "stepped": ("steps",),
    "trace": ("trace",),
}
_OPTIONS: Final = {"rate_per_s": "--rate", "burst": "--burst", "steps": "--steps", "trace": "--trace"}


class Order(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that decides what is submitted, and when."""

    workload_type: WorkloadType = "training"
    num_workloads: Annotated[int, Meta(ge=1)]
    """Exactly so many, with `count_per_project` in each project."""
    num_processes: Annotated[int, Meta(ge=1)] = DEFAULT_PROCESSES
    """Submissions of an iteration, all at once."""
    num_workers: Annotated[int, Meta(ge=1)] = 1
    num_gpus: Annotated[int, Meta(ge=0)] = 1
    delay_s: Annotated[float, Meta(ge=0)] = 0.0
    """From the end of an iteration to the next one."""
    pvc: bool = False
    projects: tuple[str, ...] = ()
    """Workloads go to them in turn."""
    count_per_project: bool = False
    namespace: str | None = None
    """Instead of the one that the dialect has for a project."""
    dialect: str
    scheduler_name: str
    image: str
    template: str | None = None
    """File of the template; None: the dialect's own."""
    template_hash: str
    fields: tuple[str, ...] = ()
    via: Via = "api"
    batch: Annotated[int, Meta(ge=1)] = 1
    """Workloads that one process of kubectl submits."""
    arrival: Arrival | None = None
    """None: iterations, or with `parallelism` as fast as it goes."""
    rate_per_s: float | None = None
    burst: Annotated[int, Meta(ge=1)] | None = None
    steps: tuple[tuple[float, float], ...] = ()
    """Rates per second, and for how many seconds each."""
    trace: str | None = None
    """File with the seconds from the begin at which workloads are submitted."""
    parallelism: Annotated[int, Meta(ge=1)] | None = None
    duration_s: float | None = None
    """No submission begins later than this after the first."""
    seed: int = 0

    @property
    def total(self) -> int:
        """How many workloads it makes."""
        return self.num_workloads * max(1, len(self.projects)) if self.count_per_project else self.num_workloads

    @property
    def in_flight(self) -> int:
        """How many submissions there are at once, at most."""
        if self.arrival is None and self.parallelism is None:
            return self.num_processes
        return self.parallelism or DEFAULT_IN_FLIGHT

    def project(self, index: int) -> str | None:
        """The project of a workload."""
        return self.projects[index % len(self.projects)] if self.projects else None


def check(order: Order, given: frozenset[str]) -> Order:
    """The order, with the arrival that a rate implies; contradictions are usage errors.

    `given` are the names of the fields that somebody asked for: defaults contradict nothing.
    """
    if order.arrival is None:
        order = _implied(order)
    _check_arrival(order)
    planned = order.arrival is not None
    if planned and given & {"delay_s", "num_processes"}:
        which = "--delay" if "delay_s" in given else "-p/--num-processes"
        raise UsageError(
            f"{which} belongs to iterations, which begin when the one before has ended; --rate and --arrival say when "
            "each workload is submitted: leave one of them out (--parallelism limits how many are in flight)"
        )
    if not planned and order.parallelism is not None and given & {"delay_s", "num_processes"}:
        raise UsageError(
            "--parallelism keeps so many submissions in flight, -p/--num-processes and --delay make iterations: "
            "leave one of them out"
        )
    if order.batch > 1 and (order.via != "kubectl" or planned):
        raise UsageError(
            "kubectl_batch: many workloads go into one process only with --via kubectl and without --rate and --arrival"
        )
    if order.count_per_project and not order.projects:
        raise UsageError("--count-per-project: name the projects with --project")
    if len(set(order.projects)) < len(order.projects):
        twice = next(name for name in order.projects if order.projects.count(name) > 1)
        raise UsageError(f"--project {twice} is named twice; leave one out")
    if order.duration_s is not None and not order.duration_s > 0:
        raise UsageError(f"--duration {order.duration_s:g}: it must be more than nothing")
    if order.via == "cli" and (order.fields or order.template or order.pvc):
        option = "--field" if order.fields else "--template" if order.template else "--pvc"
        raise UsageError(
            f"{option} is about objects, and --via cli sends none: put what it needs into `cli` in the settings"
        )
    return order


def _implied(order: Order) -> Order:
    """A rate, steps or a trace say how workloads arrive."""
    for arrival, field in (("stepped", "steps"), ("trace", "trace"), ("burst", "burst"), ("constant", "rate_per_s")):
        if getattr(order, field) not in (None, ()):
            return msgspec.structs.replace(order, arrival=arrival)
    return order


def _check_arrival(order: Order) -> None:
    if order.arrival is None:
        return
    needs = _NEEDS[order.arrival]
    for field, option in _OPTIONS.items():
        there = getattr(order, field) not in (None, ())
        if field in needs and not there:
            raise UsageError(f"--arrival {order.arrival} needs {option}")
        if there and field not in needs:
            raise UsageError(f"{option} means nothing to --arrival {order.arrival}: leave one of them out")
    rates = [rate for rate, _ in order.steps] if order.steps else [order.rate_per_s]
    for rate in rates:
        if rate is not None and not (rate > 0 and math.isfinite(rate)):
            option = "--steps" if order.steps else "--rate"
            raise UsageError(f"{option}: {rate:g} is no rate; write how many workloads a second, more than 0")


def parse_steps(text: str) -> tuple[tuple[float, float], ...]:
    """`5:60s,10:60s`: five a second for a minute, then ten. The last rate stays until all are submitted."""
    steps = []
    for part in text.split(","):
        rate, colon, duration = part.strip().partition(":")
        try:
            step = (float(rate), parse_duration_s(duration))
        except (ValueError, UsageError):
            step = (math.nan, math.nan)
        if not colon or not step[1] > 0 or not math.isfinite(step[0]):
            raise UsageError(f"--steps {text}: write rates a second and for how long, like 5:60s,10:60s")
        steps.append(step)
    return tuple(steps)


def restored(asked: Mapping[str, Any], *, source: str) -> Order:
    """The order that `asked` of a submission is."""
    try:
        return msgspec.convert(asked, Order)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{source}: `asked` is not what this version of kubedyno writes ({error}); begin a submission of its own"
        ) from error
