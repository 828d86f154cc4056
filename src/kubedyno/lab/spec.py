"""What a lab is asked to be: the options of `up` and `run`, checked, as data."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.lab import operating
from kubedyno.plane.site import PROFILES, HighAvailability, with_heartbeats
from kubedyno.schedulers import SCHEDULERS
from kubedyno.sim import limits, pools
from kubedyno.sim.kubelet.plans import USUAL_TIMES, JobTimes

ENGINES = ("embedded", "local")
TIMES = ("real", "virtual")
KUBELETS = ("builtin", "kwok", "kubemark", "none")
HIGH_AVAILABILITY: tuple[HighAvailability, ...] = ("none", "stacked", "external")
NO_SCHEDULER = "none"
OPERATORS = tuple(operating.NAMES)

DEFAULT_SCHEDULERS = {"embedded": "reference", "local": "kube-scheduler"}
"""The scheduler of a lab that does not say which."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_NODES_AT_MOST = 50_000


class LabSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides what a lab is."""

    name: str
    engine: str = "embedded"
    scheduler: str = NO_SCHEDULER
    kubelet: str = "builtin"
    """Who plays the kubelets: we, KWOK, a process of kubemark for each node, or nobody."""
    profile: str = "scale"
    heartbeats: str = ""
    """Duration of node leases, or `off`; empty: the profile's."""
    time: str = "real"
    seed: int = 0
    nodes: int = 0
    """Size of the pool `default`."""
    ha: HighAvailability = "none"
    settings: Mapping[str, Mapping[str, str]] = {}
    feature_gates: Mapping[str, bool] = {}
    runtime_config: Mapping[str, str] = {}
    audit_log: bool = False
    keeps_audit_log: bool = True
    """Whether it is left in the logs; else it goes when its figures are known."""
    stages: tuple[str, ...] = ()
    """Stage files to play by; none: KWOK gets our own set, and the builtin kubelet needs none."""
    cluster_stages: bool = False
    """The builtin kubelet plays by the Stage objects of the cluster."""
    job_times: JobTimes = USUAL_TIMES
    """How long pods work on our own kubelets by the label `job-type`."""
    operators: tuple[str, ...] = OPERATORS
    """The simulated operators."""
    scheduler_config: Mapping[str, Any] = {}
    """Laid over the scheduler's configuration file."""
    bin_dir: str | None = None
    debug: bool = False
    """The owner logs what it does."""


def check(spec: LabSpec) -> LabSpec:
    """The spec, or a usage error that names the option and what to write instead."""
    if not _NAME.fullmatch(spec.name):
        raise UsageError(
            f"--name {spec.name}: a lab's name has up to 40 lower-case letters, digits and dashes, like my-lab"
        )
    _one_of("--engine", spec.engine, ENGINES)
    _one_of("--kubelet", spec.kubelet, KUBELETS)
    _one_of("--time", spec.time, TIMES)
    _one_of("--profile", spec.profile, PROFILES)
    _one_of("--ha", spec.ha, HIGH_AVAILABILITY)
    _one_of("--scheduler", spec.scheduler, (NO_SCHEDULER, *SCHEDULERS))
    for operator in spec.operators:
        _one_of("--operators", operator, OPERATORS)
    if spec.engine == "embedded":
        _check_embedded(spec)
    if spec.time == "virtual":
        _check_virtual(spec)
    if spec.heartbeats:
        with_heartbeats(PROFILES[spec.profile], spec.heartbeats)
    if not 0 <= spec.nodes <= _NODES_AT_MOST:
        raise UsageError(f"--nodes {spec.nodes}: a lab has 0 to {_NODES_AT_MOST} nodes")
    for path in (*spec.stages, *((spec.bin_dir,) if spec.bin_dir else ())):
        if not Path(path).exists():
            raise UsageError(f"{path} does not exist: --stages names files, --bin-dir a folder of programs")
    _refuse_without_effect(spec)
    return spec


def _check_embedded(spec: LabSpec) -> None:
    if spec.scheduler != NO_SCHEDULER and "embedded" not in SCHEDULERS.get(spec.scheduler).engines:
        raise UsageError(
            f"--scheduler {spec.scheduler}: its clients take protobuf answers only, which the embedded engine does "
            "not give; use --engine local"
        )
    if spec.ha != "none":
        raise UsageError(f"--ha {spec.ha}: the embedded engine is one process; use --engine local")
    for option, given in (("--audit-log", spec.audit_log), ("--runtime-config", spec.runtime_config)):
        if given:
            raise UsageError(f"{option}: this is a setting of the real API server; use --engine local")


def _refuse_without_effect(spec: LabSpec) -> None:
    """An option that nothing in the lab reads would make its user believe that it was set."""
    if spec.cluster_stages and (spec.kubelet != "builtin" or spec.stages):
        raise UsageError("--cluster-stages: for --kubelet builtin, and without --stages")
    if spec.kubelet == "none":
        for option, given in (("--stages", spec.stages), ("--nodes", spec.nodes)):
            if given:
                raise UsageError(f"{option}: with --kubelet none nobody plays nodes; use --kubelet builtin")
    if spec.kubelet == "kubemark":
        _refuse_with_hollow_nodes(spec)
    if spec.scheduler_config and spec.scheduler in {NO_SCHEDULER, "reference"}:
        raise UsageError(f"--scheduler-config: scheduler {spec.scheduler} has no configuration file")
    if spec.feature_gates and spec.engine == "embedded" and spec.scheduler in {NO_SCHEDULER, "reference"}:
        raise UsageError(
            "--feature-gates: nothing in this lab has gates; use --engine local or --scheduler kube-scheduler"
        )


def _refuse_with_hollow_nodes(spec: LabSpec) -> None:
    """Hollow nodes are real kubelets, with options for little."""
    if spec.engine == "embedded":
        raise UsageError(
            "--kubelet kubemark: hollow nodes are real kubelets, which start no pod without a token for its service "
            "account, and the embedded engine gives none; use --engine local"
        )
    if spec.stages:
        raise UsageError("--stages: hollow nodes are real kubelets and know no stages; use --kubelet builtin or kwok")
    if spec.heartbeats:
        raise UsageError(
            f"--heartbeats {spec.heartbeats}: hollow nodes renew leases of 40s, and kubemark has no option for it; "
            "use --kubelet builtin"
        )
    limits.refuse_pool(pools.base("default", spec.nodes), spec.kubelet)


def _check_virtual(spec: LabSpec) -> None:
    if spec.engine != "embedded":
        raise UsageError(f"--time virtual: the processes of --engine {spec.engine} live in real time; use embedded")
    if spec.scheduler not in {NO_SCHEDULER, "reference"}:
        raise UsageError(
            f"--time virtual: {spec.scheduler} is a process of its own and lives in real time; "
            "use --scheduler reference"
        )
    if spec.kubelet != "builtin":
        raise UsageError(f"--time virtual: {spec.kubelet} is a process of its own and lives in real time; use builtin")


def parse_gates(texts: Iterable[str]) -> dict[str, bool]:
    """`A=true,B=false`, any number of times."""
    gates = {}
    for text in texts:
        for part in filter(None, text.split(",")):
            gate, equals, value = part.partition("=")
            if not equals or value.lower() not in {"true", "false"}:
                raise UsageError(f"--feature-gates {part}: write it as Gate=true or Gate=false")
            gates[gate] = value.lower() == "true"
    return gates


def parse_runtime_config(texts: Iterable[str]) -> dict[str, str]:
    """`group/version=true`, any number of times."""
    config = {}
    for text in texts:
        for part in filter(None, text.split(",")):
            key, equals, value = part.partition("=")
            if not (equals and key and value):
                raise UsageError(f"--runtime-config {part}: write it as group/version=true, or api/all=true")
            config[key] = value
    return config


def parse_operators(text: str) -> tuple[str, ...]:
    """`all`, `none`, or names with commas between; names are checked with the rest."""
    if text in {"all", "none"}:
        return OPERATORS if text == "all" else ()
    return tuple(dict.fromkeys(filter(None, text.split(","))))


def _one_of(option: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise UsageError(f"{option} {value}: {suggestion(value, known)}")
