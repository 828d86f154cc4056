"""All trials of a run: scenarios x parameters x schedulers x repeats, in the order in which they are run. Pure."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.lab import thresholds
from kubedyno.lab.scenario import Scenario
from kubedyno.lab.spec import LabSpec
from kubedyno.measure.records import Threshold, subject

_NODES = "nodes"
_NUMA = "numa"


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be run: a scenario with all its parameters, on a lab."""

    scenario: Scenario
    parameters: Mapping[str, Any]
    spec: LabSpec
    """Of its lab, with the scenario's own settings."""
    repeat: int = 1
    run_id: str = "none"
    thresholds: tuple[Threshold, ...] = ()
    """Beside those of the scenario itself."""

    @property
    def seed(self) -> int:
        """Of all randomness: repetitions differ, but are the same for every scheduler."""
        return self.spec.seed

    @property
    def title(self) -> str:
        """In a few words."""
        repeat = f", repeat {self.repeat}" if self.repeat > 1 else ""
        return f"{self.scenario.name} on {subject(self.spec.scheduler, self.spec.ha)}{repeat}"


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """How often, in which order, and on whose behalf."""

    repeat: int = 1
    interleave: bool = False
    """A B A B over the schedulers, not A A B B: what changes on the machine meanwhile meets all alike."""
    run_id: str = "none"


def chosen_parameters(
    scenario: Scenario, given: Mapping[str, str], *, nodes: int | None, node_count: str | None
) -> list[dict[str, Any]]:
    """All parameters of each trial of a scenario. A value with commas is several: one trial for each.

    `nodes` is `--nodes`; `node_count` is NODE_COUNT, which is the default where nothing else says it.
    """
    texts = dict(given)
    takes_nodes = any(parameter.name == _NODES for parameter in scenario.parameters)
    if nodes is not None:
        if _NODES in given:
            raise UsageError("--nodes and -p nodes=...: give one of them")
        if not takes_nodes:
            raise UsageError(f"--nodes {nodes}: scenario {scenario.name} has no parameter `nodes`")
        texts[_NODES] = str(nodes)
    elif node_count is not None and takes_nodes:
        texts.setdefault(_NODES, node_count)
    axes = [_values(scenario, name, text) for name, text in texts.items()]
    return [scenario.with_defaults(dict(zip(texts, values, strict=True))) for values in itertools.product(*axes)]


def trials(
    chosen: Iterable[tuple[Scenario, Sequence[Mapping[str, Any]]]],
    specs: Sequence[LabSpec],
    order: Order,
    found: Mapping[str, tuple[Threshold, ...]],
) -> list[Trial]:
    """The trials in their order: one scenario and set of parameters after another, and of each all schedulers."""
    if order.repeat < 1:
        raise UsageError(f"--repeat {order.repeat}: write 1 or more")
    repeats = range(1, order.repeat + 1)
    if order.interleave:
        pairs = [(spec, repeat) for repeat in repeats for spec in specs]
    else:
        pairs = [(spec, repeat) for spec in specs for repeat in repeats]
    return [
        Trial(
            scenario=scenario,
            parameters=parameters,
            spec=for_scenario(msgspec.structs.replace(spec, seed=spec.seed + repeat - 1), scenario, parameters),
            repeat=repeat,
            run_id=order.run_id,
            thresholds=thresholds.of(scenario, found),
        )
        for scenario, several in chosen
        for parameters in several
        for spec, repeat in pairs
    ]


def for_scenario(spec: LabSpec, scenario: Scenario, parameters: Mapping[str, Any] | None = None) -> LabSpec:
    """The lab with what a scenario needs with these parameters (None: its defaults); the user's wishes come on top."""
    known = scenario.with_defaults({}) if parameters is None else parameters
    if scenario.heartbeats and not spec.heartbeats:
        spec = msgspec.structs.replace(spec, heartbeats=scenario.heartbeats)
    if is_communicating(scenario, spec) and spec.engine == "local" and not spec.audit_log:
        # Who asks the API server for what is only told there.
        spec = msgspec.structs.replace(spec, audit_log=True, keeps_audit_log=False)
    own = scenario.settings_for(spec.scheduler, known)
    if not own:
        return spec
    merged: dict[str, dict[str, str]] = {}
    for path, value in own.items():
        component, _, field = path.partition(".")
        merged.setdefault(component, {})[field] = value
    for component, fields in spec.settings.items():
        merged.setdefault(component, {}).update(fields)
    return msgspec.structs.replace(spec, settings=merged)


def is_communicating(scenario: Scenario, spec: LabSpec) -> bool:
    """Whether the record of a trial tells who asked whom."""
    return _NUMA in scenario.tags or spec.audit_log


def _values(scenario: Scenario, name: str, text: str) -> list[str]:
    """Several values with commas between; a text that may be anything keeps its commas."""
    parameter = scenario.parameter(name)
    if parameter.type == "str" and not parameter.choices:
        return [text]
    return list(dict.fromkeys(text.split(",")))
