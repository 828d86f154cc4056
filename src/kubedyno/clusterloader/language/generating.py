"""A compiled config as YAML, in ClusterLoader2's spelling: what `generatedConfig` and `--dry-run` show.

It compiles to the same config again: modules are taken in, defaults are filled in, names are given. The prefix of
namespaces is left out where it is drawn.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import yaml

from kubedyno.clusterloader.config import (
    ChaosMonkey,
    Config,
    Dependency,
    Measurement,
    NamespaceRange,
    Namespaces,
    ObjectBundle,
    Phase,
    Step,
    TuningSet,
)
from kubedyno.clusterloader.language.loads import KINDS
from kubedyno.kube.selectors import LabelSelector, Operator, Requirement

_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_NO_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_ONE_LINE_CHARS: Final = 1 << 20
_EXACT_WHOLE: Final = 2.0**53
_OPERATORS: Final = {
    Operator.IN: "In",
    Operator.NOT_IN: "NotIn",
    Operator.EXISTS: "Exists",
    Operator.DOES_NOT_EXIST: "DoesNotExist",
}


def yaml_text(config: Config) -> str:
    """The config as YAML."""
    text: str = yaml.dump(_document(config), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_ONE_LINE_CHARS)
    return text


def _document(config: Config) -> dict[str, Any]:
    return _without_empty(
        {
            "name": config.name,
            "namespace": _namespaces(config.namespaces),
            "dependencies": [_dependency(dependency) for dependency in config.dependencies],
            "tuningSets": [_tuning_set(tuning_set) for tuning_set in config.tuning_sets.values()],
            "chaosMonkey": _chaos(config.chaos) if config.chaos else None,
            "steps": [_step(step) for step in config.steps],
        }
    )


def _namespaces(namespaces: Namespaces) -> dict[str, Any]:
    return _without_empty(
        {
            "number": namespaces.number,
            "prefix": namespaces.prefix,
            "deleteStaleNamespaces": namespaces.deletes_stale,
            "deleteAutomanagedNamespaces": namespaces.deletes_own,
            "enableExistingNamespaces": namespaces.takes_existing,
            "deleteNamespaceTimeout": _duration(namespaces.delete_timeout_s),
        }
    )


def _dependency(dependency: Dependency) -> dict[str, Any]:
    return _without_empty(
        {
            "name": dependency.name,
            "method": dependency.method,
            "timeout": _duration(dependency.timeout_s),
            "params": dependency.params,
        }
    )


def _tuning_set(tuning_set: TuningSet) -> dict[str, Any]:
    kind = next(kind for kind in KINDS if kind.make is type(tuning_set.load))
    values = {field.name: (field.kind, getattr(tuning_set.load, field.attribute)) for field in kind.fields}
    return {
        "name": tuning_set.name,
        kind.name: {
            name: _duration(value) if kind_ == "duration" else _number(value) for name, (kind_, value) in values.items()
        },
    }


def _chaos(chaos: ChaosMonkey) -> dict[str, Any]:
    failure = {
        "failureRate": _number(chaos.failure_rate),
        "interval": _duration(chaos.interval_s),
        "jitterFactor": _number(chaos.jitter_factor),
        "simulatedDowntime": _duration(chaos.simulated_downtime_s),
    }
    return _without_empty({"nodeFailure": failure, "excludedNodes": {name: {} for name in chaos.excluded_nodes}})


def _step(step: Step) -> dict[str, Any]:
    return _without_empty(
        {
            "name": step.name,
            "phases": [_phase(phase) for phase in step.phases],
            "measurements": [_measurement(measurement) for measurement in step.measurements],
        }
    )


def _phase(phase: Phase) -> dict[str, Any]:
    span: dict[str, Any] = {}
    if isinstance(phase.namespaces, NamespaceRange):
        span = {"min": phase.namespaces.first, "max": phase.namespaces.last}
        span |= {"basename": phase.namespaces.basename} if phase.namespaces.basename else {}
    return _without_empty(
        {
            "namespaceRange": span,
            "namespaceList": list(phase.namespaces) if isinstance(phase.namespaces, tuple) else None,
            "replicasPerNamespace": phase.replicas,
            "tuningSet": phase.tuning_set,
            "objectBundle": [_object(member) for member in phase.bundle],
        }
    )


def _object(member: ObjectBundle) -> dict[str, Any]:
    return _without_empty(
        {
            "basename": member.basename,
            "objectTemplatePath": member.template_path,
            "templateFillMap": _numbers(member.fill_map),
            "listUnknownObjectOptions": _unknown(member.unknown_selector) if member.unknown_selector else None,
        }
    )


def _unknown(selector: str) -> dict[str, Any]:
    requirements = LabelSelector.parse(selector).requirements
    labels = {entry.key: entry.values[0] for entry in requirements if entry.operator is Operator.EQUALS}
    expressions = [_expression(entry) for entry in requirements if entry.operator is not Operator.EQUALS]
    return {"labelSelector": _without_empty({"matchLabels": labels, "matchExpressions": expressions})}


def _expression(entry: Requirement) -> dict[str, Any]:
    return _without_empty({"key": entry.key, "operator": _OPERATORS[entry.operator], "values": list(entry.values)})


def _measurement(measurement: Measurement) -> dict[str, Any]:
    return _without_empty(
        {"method": measurement.method, "identifier": measurement.identifier, "params": measurement.params}
    )


def _without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None and value not in ("", [], {})}


def _duration(duration_s: float) -> str:
    """As Go prints it for whole seconds, else in seconds to the last digit."""
    if not duration_s.is_integer():
        return f"{Decimal(repr(duration_s)):f}s"
    minutes, seconds = divmod(int(duration_s), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{seconds}s"
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"


def _numbers(value: Any) -> Any:
    """Whole floats without a point: whoever reads them makes floats of all numbers."""
    match value:
        case Mapping():
            return {name: _numbers(below) for name, below in value.items()}
        case list():
            return [_numbers(below) for below in value]
        case float():
            return _number(value)
    return value


def _number(value: float) -> float | int:
    return int(value) if abs(value) < _EXACT_WHOLE and value == int(value) else value


class _Dumper(yaml.CSafeDumper):
    """Writes what is equal in two places twice, and in quotes what is not plainly a text."""

    def ignore_aliases(self, data: Any) -> bool:
        """Always."""
        del data
        return True


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    is_plain = _WORDS.fullmatch(text) and text.lower() not in _NO_WORDS
    return dumper.represent_scalar(_TEXT_TAG, text, style=None if is_plain else '"')


_Dumper.add_representer(str, _represent_text)
