"""From YAML to what a config says: each field of the right type and in its bounds, before modules are taken in."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kubedyno.clusterloader.config import (
    ChaosMonkey,
    Dependency,
    Measurement,
    Namespaces,
    Phase,
    Place,
)
from kubedyno.clusterloader.language.fields import Fields, expect, filled, names, plain_text
from kubedyno.clusterloader.language.findings import Findings
from kubedyno.clusterloader.language.loads import NamedSet, decode_tuning_set
from kubedyno.clusterloader.language.located import Document, Node
from kubedyno.clusterloader.language.phases import decode_phase
from kubedyno.kube.gotemplate.jsonvalues import with_floats

_CONFIG: Final = names(
    "name",
    "automanagedNamespaces",
    "namespace",
    "dependencies",
    "dependencyConfigs",
    "tuningSets",
    "chaosMonkey",
    "steps",
)
_NAMESPACES: Final = names(
    "number",
    "prefix",
    "deleteStaleNamespaces",
    "deleteAutomanagedNamespaces",
    "enableExistingNamespaces",
    "deleteNamespaceTimeout",
)
_DEPENDENCY: Final = names("name", "method", "timeout", "params")
_CHAOS: Final = names("nodeFailure", "excludedNodes")
_NODE_FAILURE: Final = names("failureRate", "interval", "jitterFactor", "simulatedDowntime")
_STEP: Final = names("name", "phases", "measurements", "module")
_MODULE_USE: Final = names("path", "params")
_MODULE: Final = names("steps")
_MEASUREMENT: Final = names("method", "identifier", "params", "instances")
_INSTANCE: Final = names("identifier", "params")
_KINDS_OF_STEP: Final = ("phases", "measurements", "module")

_METHODS_BY_NAME: Final = {"kwok-dra": "DRAKWOKDriver"}
"""Dependencies that `dependencyConfigs` names without a method."""


class ModuleUse(msgspec.Struct, frozen=True):
    """A module that a step stands for."""

    path: str
    """As it is written; relative to the folder of the root config."""
    params: Mapping[str, Any]
    place: Place


class DraftStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step as it is written."""

    name: str
    phases: tuple[Phase, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    module: ModuleUse | None = None
    place: Place


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A config as it is written."""

    name: str
    namespaces: Namespaces
    """Their number 0: not written; -1: wrong, which is told already."""
    automanaged: int = 0
    """The number of namespaces by its old name; 0: not written."""
    namespaces_place: Place
    tuning_sets: tuple[NamedSet, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    chaos: ChaosMonkey | None = None
    steps: tuple[DraftStep, ...] = ()
    place: Place


def decode_config(document: Document, findings: Findings) -> Draft:
    """What a config says."""
    _note_repeated(document, findings)
    fields = Fields(document.root, _CONFIG, findings)
    namespace = fields.below("namespace") or msgspec.structs.replace(document.root, value=None, path="namespace")
    return Draft(
        name=fields.text("name"),
        namespaces=_decode_namespaces(namespace, findings),
        automanaged=fields.whole("automanagedNamespaces", least=0),
        namespaces_place=namespace.place,
        tuning_sets=tuple(decode_tuning_set(node, findings) for node in fields.items("tuningSets")),
        dependencies=(
            *(_decode_dependency(node, findings, names_method=False) for node in fields.items("dependencies")),
            *(_decode_dependency(node, findings, names_method=True) for node in fields.items("dependencyConfigs")),
        ),
        chaos=_decode_chaos(fields.below("chaosMonkey"), findings),
        steps=tuple(_decode_step(node, findings) for node in fields.items("steps")),
        place=document.root.place,
    )


def decode_module(document: Document, findings: Findings) -> tuple[DraftStep, ...]:
    """The steps of a module; that is all a module has."""
    _note_repeated(document, findings)
    fields = Fields(document.root, _MODULE, findings)
    return tuple(_decode_step(node, findings) for node in fields.items("steps"))


def _note_repeated(document: Document, findings: Findings) -> None:
    for place, key in document.repeated:
        findings.remark(place, f"{key} stands here for the second time; the last one counts")


def _decode_namespaces(node: Node, findings: Findings) -> Namespaces:
    fields = Fields(node, _NAMESPACES, findings)
    usual = Namespaces()
    number = fields.below("number")
    if number is not None and number.value == 0:
        findings.remark(number.place, f"{number.path}: 0 is taken as 1, as in ClusterLoader2")
    return Namespaces(
        number=fields.whole("number", -1, least=0) if number else 0,
        prefix=fields.text("prefix"),
        deletes_stale=fields.flag("deleteStaleNamespaces", default=usual.deletes_stale),
        deletes_own=fields.flag("deleteAutomanagedNamespaces", default=usual.deletes_own),
        takes_existing=fields.flag("enableExistingNamespaces", default=usual.takes_existing),
        delete_timeout_s=fields.duration_s("deleteNamespaceTimeout", usual.delete_timeout_s),
    )


def _decode_dependency(node: Node, findings: Findings, *, names_method: bool) -> Dependency:
    """`names_method`: the name alone says what it is."""
    fields = Fields(node, _DEPENDENCY, findings)
    name = fields.required_text("name", "kwok-dra")
    method = fields.text("method")
    if not method and names_method:
        method = _METHODS_BY_NAME.get(name, name)
    elif not method:
        method = fields.required_text("method", "DRAKWOKDriver")
    return Dependency(
        name=name,
        method=method,
        timeout_s=fields.duration_s("timeout"),
        params=fields.mapping("params"),
        place=node.place,
    )


def _decode_chaos(node: Node | None, findings: Findings) -> ChaosMonkey | None:
    """None as well when no nodes are to fail."""
    if node is None:
        return None
    fields = Fields(node, _CHAOS, findings)
    failure = fields.below("nodeFailure")
    excluded = _decode_excluded(fields.below("excludedNodes"), findings)
    if failure is None:
        return None
    below = Fields(failure, _NODE_FAILURE, findings)
    if not isinstance(failure.value, dict):
        return None
    below.required_text("interval", '"5m"')
    below.required_text("failureRate", "0.01")
    rate = below.number("failureRate")
    if not 0 <= rate <= 1:
        below.problem("failureRate", f"{rate:g} is no share of all nodes; write a number from 0 to 1")
    jitter = below.number("jitterFactor")
    if jitter < 0:
        below.problem("jitterFactor", f"{jitter:g} is too small; write 0 or more")
    return ChaosMonkey(
        failure_rate=rate,
        interval_s=below.duration_s("interval", can_be_zero=False),
        jitter_factor=jitter,
        simulated_downtime_s=below.duration_s("simulatedDowntime"),
        excluded_nodes=excluded,
    )


def _decode_excluded(node: Node | None, findings: Findings) -> tuple[str, ...]:
    """Names of nodes, sorted: a list, or a mapping whose keys they are, as Go writes a set."""
    if node is None:
        return ()
    if isinstance(node.value, dict):
        return tuple(sorted(node.value))
    if isinstance(node.value, list):
        return tuple(sorted({plain_text(item, findings) for item in filled(node, findings)}))
    expect(node, "a list of names of nodes", findings)
    return ()


def _decode_step(node: Node, findings: Findings) -> DraftStep:
    """A step: one of phases, measurements and a module."""
    fields = Fields(node, _STEP, findings)
    present = [kind for kind in _KINDS_OF_STEP if fields.has(kind)]
    if isinstance(node.value, dict) and len(present) != 1:
        there = " and ".join(present) or "none of them"
        findings.problem(
            node.place, f"{node.path}: a step has one of phases, measurements and module, but there is {there}"
        )
    module = fields.below("module") if fields.has("module") else None
    return DraftStep(
        name=fields.text("name"),
        phases=tuple(decode_phase(item, findings) for item in fields.items("phases")),
        measurements=tuple(
            measurement for item in fields.items("measurements") for measurement in _decode_measurement(item, findings)
        ),
        module=_decode_module_use(module, findings) if module else None,
        place=node.place,
    )


def _decode_module_use(node: Node, findings: Findings) -> ModuleUse | None:
    """None without a path, which is a problem."""
    fields = Fields(node, _MODULE_USE, findings)
    path = fields.required_text("path", "modules/measurements.yaml")
    return ModuleUse(path, with_floats(fields.mapping("params")), node.place) if path else None


def _decode_measurement(node: Node, findings: Findings) -> list[Measurement]:
    """One measurement, or one for each of its instances, whose parameters win."""
    fields = Fields(node, _MEASUREMENT, findings)
    if not isinstance(node.value, dict):
        return []
    method = fields.required_text("method", "PodStartupLatency")
    params = fields.mapping("params")
    instances = fields.items("instances")
    if not instances:
        identifier = fields.text("identifier")
        if not identifier and not fields.has("identifier"):
            advice = f"write identifier: {method or 'Name'}"
            findings.problem(node.place, f"{node.path}: it has neither identifier nor instances; {advice}")
        return [Measurement(method=method, identifier=identifier, params=params, place=node.place)]
    if fields.has("identifier"):
        fields.problem("identifier", "there are instances too, which have identifiers of their own; leave this one out")
    return [_decode_instance(item, method, params, findings) for item in instances]


def _decode_instance(node: Node, method: str, params: Mapping[str, Any], findings: Findings) -> Measurement:
    fields = Fields(node, _INSTANCE, findings)
    return Measurement(
        method=method,
        identifier=fields.required_text("identifier", method or "Name"),
        params={**params, **fields.mapping("params")},
        place=node.place,
    )
