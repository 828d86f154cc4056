"""A compiled config as data: what is to be done, with all templates rendered and all modules taken in."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec


class Place(msgspec.Struct, frozen=True):
    """Where something stands: the file as it was named, and its line in what the template made of it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}"


class Remark(msgspec.Struct, frozen=True):
    """Something that is not wrong enough to stop: an unknown key, a value that nothing uses."""

    place: Place
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


# Tuning sets. An action is one replica in one namespace: all objects of a bundle, one after the other.


class QpsLoad(msgspec.Struct, frozen=True):
    """An action every 1/qps seconds, however long actions take."""

    qps: float


class RandomizedLoad(msgspec.Struct, frozen=True):
    """The same with gaps drawn evenly between 0 and twice the average."""

    average_qps: float


class SteppedLoad(msgspec.Struct, frozen=True):
    """So many actions at once, a pause, and so on."""

    burst_size: int
    step_delay_s: float


class TimeLimitedLoad(msgspec.Struct, frozen=True):
    """All actions evenly within a time."""

    time_limit_s: float


class RandomizedTimeLimitedLoad(msgspec.Struct, frozen=True):
    """Each action at a moment of its own, drawn evenly within a time."""

    time_limit_s: float


class ParallelismLimitedLoad(msgspec.Struct, frozen=True):
    """As fast as it goes, with so many actions at a time."""

    parallelism_limit: int


class GlobalQpsLoad(msgspec.Struct, frozen=True):
    """A token bucket that all phases with this tuning set share for the whole test."""

    qps: float
    burst: int


class PoissonLoad(msgspec.Struct, frozen=True):
    """Actions at times of a Poisson process; whoever is late catches up."""

    expected_actions_per_s: float


Load: TypeAlias = (
    QpsLoad
    | RandomizedLoad
    | SteppedLoad
    | TimeLimitedLoad
    | RandomizedTimeLimitedLoad
    | ParallelismLimitedLoad
    | GlobalQpsLoad
    | PoissonLoad
)


class TuningSet(msgspec.Struct, frozen=True):
    """How fast the actions of a phase begin, by a name."""

    name: str
    load: Load


# What is there before the steps.


class Namespaces(msgspec.Struct, frozen=True, kw_only=True):
    """The namespaces that the test makes: `<prefix>-1` to `<prefix>-<number>`."""

    number: int = 1
    prefix: str = ""
    """Empty: `test-` and six drawn characters."""
    deletes_stale: bool = False
    deletes_own: bool = True
    takes_existing: bool = False
    delete_timeout_s: float = 600.0


class Dependency(msgspec.Struct, frozen=True, kw_only=True):
    """What is set up before the steps, and torn down after them."""

    name: str
    method: str
    timeout_s: float = 0.0
    """Of the whole set-up; 0: as long as it takes."""
    params: Mapping[str, Any] = {}
    place: Place


class ChaosMonkey(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that fail while the steps run."""

    failure_rate: float
    """Of all nodes, at each interval."""
    interval_s: float
    jitter_factor: float = 0.0
    simulated_downtime_s: float = 0.0
    excluded_nodes: tuple[str, ...] = ()


# Steps.


class ObjectBundle(msgspec.Struct, frozen=True, kw_only=True):
    """One object of a phase's bundle: its template, and what fills it."""

    basename: str
    template_path: str
    """As it is written; relative to the folder of the root config."""
    fill_map: Mapping[str, Any] = {}
    unknown_selector: str = ""
    """Of live objects that count as made already; empty: none."""
    place: Place


class NamespaceRange(msgspec.Struct, frozen=True):
    """Namespaces `<basename>-<first>` to `<basename>-<last>`; an empty basename is the test's own prefix."""

    first: int
    last: int
    basename: str = ""


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """So many replicas of a bundle in each namespace from now on."""

    namespaces: NamespaceRange | tuple[str, ...] | None
    """None: objects of the cluster."""
    replicas: int
    tuning_set: str
    bundle: tuple[ObjectBundle, ...]
    place: Place


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a measurement; the same method and identifier are the same instance for the whole test."""

    method: str
    identifier: str
    params: Mapping[str, Any] = {}
    place: Place


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Phases or measurements that run side by side; steps run one after the other."""

    name: str
    phases: tuple[Phase, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    place: Place


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """A whole test."""

    name: str
    path: str
    """Of its file, as it was named."""
    identifier: str = ""
    """That a suite gives it."""
    namespaces: Namespaces = Namespaces()
    tuning_sets: Mapping[str, TuningSet] = {}
    dependencies: tuple[Dependency, ...] = ()
    chaos: ChaosMonkey | None = None
    steps: tuple[Step, ...]
    values: Mapping[str, Any] = {}
    """What templates of objects are filled with beside their own: overrides, environment, Nodes, ImageRegistry."""
    remarks: tuple[Remark, ...] = ()
    generated: str = ""
    """The compiled config as YAML, for `generatedConfig`."""
