"""The records of a run, as data: what `run.json` and `trial.json` hold, field by field.

The descriptions below are exported as JSON Schema and make the reference page; a change of meaning needs a new
`FORMAT`.
"""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kubedyno.model.settings import Setting

FORMAT = 1


class Verdict(StrEnum):
    """How a trial or a run ended."""

    PASSED = "passed"
    FAILED = "failed"
    """A check, a threshold or an invariant did not hold."""
    INVALID = "invalid"
    """The instrument was the limit."""
    SUSPECT = "suspect"
    """A setting that nobody declared was the limit."""
    NOT_APPLICABLE = "not applicable"
    """The scheduler cannot express what the scenario needs."""
    ERROR = "error"
    INTERRUPTED = "interrupted"
    CRASHED = "crashed"


class Percentile(msgspec.Struct, frozen=True, kw_only=True):
    """A percentile of samples with its confidence interval."""

    percent: Annotated[float, Meta(description="Which: 50 is the median.")]
    value: Annotated[float, Meta(description="Its estimate.")]
    lower: Annotated[float, Meta(description="Lower end of the 95 % confidence interval.")]
    upper: Annotated[float, Meta(description="Upper end of the 95 % confidence interval.")]


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """A measured value with its error."""

    name: Annotated[str, Meta(description="What was measured, unique in its trial.")]
    unit: Annotated[str, Meta(description="Unit of the value, its bounds and the samples.")]
    value: Annotated[float, Meta(description="The value; of several samples their median.")]
    lower: Annotated[float, Meta(description="The true value is not below this.")]
    upper: Annotated[float, Meta(description="The true value is not above this.")]
    samples: Annotated[tuple[float, ...], Meta(description="The raw samples.")]
    percentiles: Annotated[tuple[Percentile, ...], Meta(description="Of the samples, where there are several.")] = ()


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """What a measurement had to keep to."""

    measurement: Annotated[str, Meta(description="Name of the measurement.")]
    at_most: Annotated[float | None, Meta(description="Its value must not be above this; null: no such bound.")] = None
    at_least: Annotated[float | None, Meta(description="Its value must not be below this; null: no such bound.")] = None
    percent: Annotated[float | None, Meta(description="The percentile that is meant; null: the value itself.")] = None
    source: Annotated[str, Meta(description="Who asked for it: `scenario`, or the file.")] = "scenario"


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of the cluster that the scheduler broke."""

    invariant: Annotated[str, Meta(description="Name of the rule.")]
    object: Annotated[str, Meta(description="Who broke it or suffered: kind, namespace and name.")]
    node: Annotated[str | None, Meta(description="Where; null: on no node in particular.")]
    at_ns: Annotated[int, Meta(description="When it was seen, ns since the epoch.")]
    evidence: Annotated[str, Meta(description="The figures that show it.")]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What limited the system under test, or makes its numbers doubtful."""

    name: Annotated[str, Meta(description="In a few words: `limited by binder.qps`.")]
    component: Annotated[str | None, Meta(description="Whose limit it is; null: of no component.")]
    declared: Annotated[bool, Meta(description="Whether somebody asked for the setting, or it is the host's limit.")]
    evidence: Annotated[str, Meta(description="The figures that show it.")]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """Something that had to hold."""

    name: Annotated[str, Meta(description="What had to hold.")]
    passed: Annotated[bool, Meta(description="Whether it held.")]
    detail: Annotated[str, Meta(description="The evidence: objects, nodes, figures.")]
    skipped: Annotated[
        bool, Meta(description="Whether nobody could look, so that it says nothing; `detail` says why.")
    ] = False


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A test case of a trial: what was made to fail, what had to come of it, and what did."""

    target: Annotated[str, Meta(description="What is tested.")]
    component: Annotated[str, Meta(description="Who is made to fail, or is looked at.")]
    failure: Annotated[str, Meta(description="The state that it was brought into.")]
    expected: Annotated[str, Meta(description="What is right here, or what the component is known to do instead.")]
    observed: Annotated[str, Meta(description="What was seen.")]
    passed: Annotated[bool, Meta(description="Whether what was seen is what was expected.")] = True
    finding: Annotated[str, Meta(description="The known fault of a component that was expected; empty: none.")] = ""
    breaks: Annotated[
        tuple[int, ...], Meta(description="Numbers of the communications between components that it disturbs, 1 to 6.")
    ] = ()


class AuditLine(msgspec.Struct, frozen=True, kw_only=True):
    """The instrument looking at itself."""

    name: Annotated[str, Meta(description="What was looked at.")]
    value: Annotated[float, Meta(description="What was seen.")]
    unit: Annotated[str, Meta(description="Its unit.")]
    limit: Annotated[float | None, Meta(description="Above this the numbers cannot be believed; null: no limit.")]

    @property
    def acceptable(self) -> bool:
        """Whether the value is within its limit."""
        return self.limit is None or self.value <= self.limit


class Communication(msgspec.Struct, frozen=True, kw_only=True):
    """What one component asked of another during a trial: one of the six of resource-topology-aware scheduling."""

    number: Annotated[int, Meta(description="Which, from 1 to 6.")]
    name: Annotated[str, Meta(description="Who asks whom: `exporter to kubelet`.")]
    requests: Annotated[int | None, Meta(description="How many requests were answered; null: nobody counted.")] = None
    watches: Annotated[int, Meta(description="How many of them were for a watch.")] = 0
    errors: Annotated[
        dict[str, int], Meta(description="Requests that failed, by code; `error` where no code is known.")
    ] = {}
    latency: Annotated[
        tuple[Percentile, ...], Meta(description="Percentiles of the time to the answer, seconds; watches aside.")
    ] = ()
    source: Annotated[str, Meta(description="Who counted; empty: nobody.")] = ""
    note: Annotated[str, Meta(description="Why there is nothing, or how the figures are meant.")] = ""


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """What something took at one size of the cluster and one rate: a point of a curve."""

    case: Annotated[str, Meta(description="Whose curve: `scheduler latency`.")]
    scale: Annotated[str, Meta(description="Name of the size: `toy`, `small`, `medium`, `large`, `huge`.")]
    nodes: Annotated[int, Meta(description="Nodes of the cluster.")]
    rate: Annotated[float | None, Meta(description="What was asked for a second; null: no rate was kept to.")] = None
    aware: Annotated[bool, Meta(description="Whether NUMA zones were exported and heeded.")]
    ha: Annotated[bool, Meta(description="Whether the control plane was replicated.")]
    metric: Annotated[str, Meta(description="What was measured, with its unit: `PATCH, s`.")]
    p50: Annotated[Percentile | None, Meta(description="The median with its interval; null: no samples.")] = None
    p90: Annotated[Percentile | None, Meta(description="The 90th percentile; null: no samples.")] = None
    p99: Annotated[Percentile | None, Meta(description="The 99th percentile; null: no samples.")] = None
    n: Annotated[int, Meta(description="Samples.")] = 0
    achieved: Annotated[float | None, Meta(description="The rate that there really was; null: as was meant.")] = None
    errors: Annotated[dict[str, int], Meta(description="What failed at this rate, by code.")] = {}
    note: Annotated[str, Meta(description="How it is meant: who was measured, what did not fit.")] = ""


class KneeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The highest rate that kept its limits at one size of the cluster, and what gave way above it."""

    case: Annotated[str, Meta(description="Which load: `API server overload`.")]
    scale: Annotated[str, Meta(description="Name of the size: `toy`, `small`, `medium`, `large`, `huge`.")]
    nodes: Annotated[int, Meta(description="Nodes of the cluster.")]
    aware: Annotated[bool, Meta(description="Whether NUMA zones were exported and heeded.")]
    ha: Annotated[bool, Meta(description="Whether the control plane was replicated.")]
    unit: Annotated[str, Meta(description="Of the rates: `requests/s`.")] = "1/s"
    slo_s: Annotated[float | None, Meta(description="The p99 that was allowed, seconds; null: nothing was tried.")] = (
        None
    )
    rate: Annotated[float | None, Meta(description="The highest good rate; null: there was none.")] = None
    lower: Annotated[float | None, Meta(description="Up to here no step was bad.")] = None
    upper: Annotated[float | None, Meta(description="From here on no step was good.")] = None
    broke: Annotated[tuple[str, ...], Meta(description="What broke first above it: `latency`, `errors`.")] = ()
    component: Annotated[str, Meta(description="Who gave way, by its own figures; empty: nobody is known.")] = ""
    evidence: Annotated[str, Meta(description="The figures that show it.")] = ""
    first_error: Annotated[str, Meta(description="The first error, in the words of whoever gave it.")] = ""
    errors: Annotated[dict[str, int], Meta(description="Errors of all steps that broke a limit, by code.")] = {}
    recovery_s: Annotated[
        float | None, Meta(description="From the end of too high a load until all was as before, the median.")
    ] = None
    confirmed: Annotated[bool, Meta(description="Whether both sides of it were tried as often as was asked.")] = False
    steps: Annotated[int, Meta(description="How many steps were made.")] = 0
    unfit: Annotated[str, Meta(description="What did not fit, or why there is no knee; empty: all was done.")] = ""
    note: Annotated[str, Meta(description="What stands for whom here, and what it cannot show.")] = ""


def subject(scheduler: str, ha: str) -> str:
    """What the trials of a run are told apart by: the scheduler, and how its control plane was replicated."""
    return scheduler if ha == "none" else f"{scheduler} ({ha})"


class TrialRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario on one scheduler with one set of parameters: `trial.json`."""

    format: Annotated[int, Meta(description="Version of this format.")]
    scenario: Annotated[str, Meta(description="Name of the scenario.")]
    description: Annotated[str, Meta(description="What it shows: the first line of its docstring.")]
    tags: Annotated[tuple[str, ...], Meta(description="Its tags.")]
    parameters: Annotated[dict[str, Any], Meta(description="Its parameters, defaults included.")]
    seed: Annotated[int, Meta(description="Seed of all randomness.")]
    time: Annotated[str, Meta(description="`real`, or `virtual` for simulated time.")]
    engine: Annotated[str, Meta(description="Engine that the trial ran on.")]
    scheduler: Annotated[str, Meta(description="Scheduler under test.")]
    kubelet: Annotated[str, Meta(description="What played the kubelets.")]
    ha: Annotated[str, Meta(description="Replicas of the control plane: `none`, `stacked`, `external`.")] = "none"
    profile: Annotated[str, Meta(description="Profile of the lab.")]
    simulated: Annotated[tuple[str, ...], Meta(description="Operators of the lab that are simulations.")]
    started_at: Annotated[str, Meta(description="When the trial began, RFC 3339, UTC.")]
    setup_s: Annotated[float, Meta(description="Seconds to bring the lab up; in no measurement.")]
    duration_s: Annotated[float, Meta(description="Seconds that the scenario itself took.")]
    timed_s: Annotated[float | None, Meta(description="Seconds of its timed part; null: it named none.")] = None
    repeat: Annotated[int, Meta(description="Which repetition of the same trial this is, from 1 on.")] = 1
    settings: Annotated[tuple[Setting, ...], Meta(description="Effective settings with their evidence.")]
    measurements: Annotated[tuple[Measurement, ...], Meta(description="What was measured.")]
    quality: Annotated[
        tuple[Measurement, ...], Meta(description="How good the outcome was: what every trial is measured by.")
    ] = ()
    thresholds: Annotated[tuple[Threshold, ...], Meta(description="What measurements had to keep to.")] = ()
    violations: Annotated[tuple[Violation, ...], Meta(description="Rules that were broken; most runs have none.")] = ()
    findings: Annotated[tuple[Finding, ...], Meta(description="What limited the system under test.")] = ()
    checks: Annotated[tuple[Check, ...], Meta(description="What had to hold, and whether it did.")]
    cases: Annotated[
        tuple[Case, ...], Meta(description="Test cases; each is a check, too. Most scenarios have none.")
    ] = ()
    audit: Annotated[tuple[AuditLine, ...], Meta(description="The instrument looking at itself.")]
    communications: Annotated[
        tuple[Communication, ...],
        Meta(description="Who asked whom, how often, how long it took: of NUMA trials, and of labs with an audit log."),
    ] = ()
    curves: Annotated[
        tuple[CurvePoint, ...], Meta(description="Percentiles by size of cluster and rate: of latency cases.")
    ] = ()
    knees: Annotated[
        tuple[KneeRecord, ...], Meta(description="Highest rates that kept their limits: of overload cases.")
    ] = ()
    verdict: Annotated[Verdict, Meta(description="How the trial ended.")]
    message: Annotated[str, Meta(description="Why, if it did not pass.")]

    @property
    def subject(self) -> str:
        """The scheduler with its control plane; see `subject`."""
        return subject(self.scheduler, self.ha)


class TrialSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A trial as its run lists it."""

    folder: Annotated[str, Meta(description="Folder of the trial, relative to the run.")]
    scenario: Annotated[str, Meta(description="Name of the scenario.")]
    scheduler: Annotated[str, Meta(description="Scheduler under test.")]
    verdict: Annotated[Verdict, Meta(description="How the trial ended.")]
    duration_s: Annotated[float, Meta(description="Seconds that the scenario itself took.")]
    message: Annotated[str, Meta(description="Why, if it did not pass.")]


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine that a run was made on."""

    cores: Annotated[int, Meta(description="Processors that the run may use.")]
    memory_bytes: Annotated[int, Meta(description="Main memory.")]
    kernel: Annotated[str, Meta(description="Kernel and its version.")]
    architecture: Annotated[str, Meta(description="Processor architecture.")]
    python: Annotated[str, Meta(description="Version of Python.")]


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A program of the lab."""

    version: Annotated[str, Meta(description="What the program itself says.")]
    source: Annotated[str, Meta(description="Where it came from: a folder option, PATH, cache, download, build.")]
    path: Annotated[str, Meta(description="The file that ran.")]


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One invocation of `run`: `run.json`."""

    format: Annotated[int, Meta(description="Version of this format.")]
    id: Annotated[str, Meta(description="Id of the run, and name of its folder.")]
    kubedyno: Annotated[str, Meta(description="Version of kubedyno.")]
    command: Annotated[tuple[str, ...], Meta(description="The command line.")]
    started_at: Annotated[str, Meta(description="When it began, RFC 3339, UTC.")]
    ended_at: Annotated[str | None, Meta(description="When it ended; null while it runs or when it crashed.")]
    host: Annotated[Host, Meta(description="The machine.")]
    programs: Annotated[dict[str, Program], Meta(description="Programs of the lab by name.")]
    trials: Annotated[tuple[TrialSummary, ...], Meta(description="Its trials, in order.")]
    verdict: Annotated[Verdict | None, Meta(description="The worst verdict of its trials; null while it runs.")]
    exit_code: Annotated[int | None, Meta(description="Exit code of the command; null while it runs.")]
