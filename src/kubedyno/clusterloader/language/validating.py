"""Whether the parts of a config fit each other, and what there is: names that are referred to, files, bounds."""

from collections.abc import Callable, Collection
from typing import Final

import msgspec

from kubedyno.clusterloader.config import Config, NamespaceRange, Phase
from kubedyno.clusterloader.language.decoding import Draft
from kubedyno.clusterloader.language.findings import Findings
from kubedyno.kit.nearest import suggestion
from kubedyno.kube.meta import dns1123_label_problem

NAMESPACES_AT_MOST: Final = 5000


class Known(msgspec.Struct, frozen=True):
    """What configs can refer to beside themselves."""

    methods: Collection[str]
    """Of measurements."""
    dependencies: Collection[str]
    """Methods of dependencies."""
    is_file: Callable[[str], bool]
    """Whether a path, as it is written in a config, is a template."""


def check(config: Config, draft: Draft, known: Known, findings: Findings) -> None:
    """Enter what does not fit; `draft` is what `config` was made from."""
    if not config.steps and not findings.has_problems:
        findings.problem(draft.place, "there are no steps; write at least one, with phases or measurements")
    _check_namespaces(config, draft, findings)
    _check_tuning_sets(draft, findings)
    for dependency in config.dependencies:
        if dependency.method and dependency.method not in known.dependencies:
            advice = suggestion(dependency.method, known.dependencies)
            findings.problem(dependency.place, f"there is no dependency {dependency.method!r}; {advice}")
    for step in config.steps:
        for measurement in step.measurements:
            if measurement.method and measurement.method not in known.methods:
                advice = suggestion(measurement.method, known.methods)
                findings.problem(measurement.place, f"there is no measurement {measurement.method!r}; {advice}")
    _check_phases(config, draft, known, findings)


def _check_namespaces(config: Config, draft: Draft, findings: Findings) -> None:
    prefix = config.namespaces.prefix
    if prefix and (problem := dns1123_label_problem(f"{prefix}-{config.namespaces.number}")):
        findings.problem(draft.namespaces_place, f"namespace.prefix: {problem}")
    if config.namespaces.number > NAMESPACES_AT_MOST:
        findings.problem(
            draft.namespaces_place,
            f"namespace.number: {config.namespaces.number} namespaces are too many; "
            f"write {NAMESPACES_AT_MOST} or fewer",
        )
    if draft.automanaged and draft.automanaged != config.namespaces.number:
        findings.remark(
            draft.place, "automanagedNamespaces: nothing reads it, as namespace.number says otherwise; leave it out"
        )


def _check_tuning_sets(draft: Draft, findings: Findings) -> None:
    seen = set()
    for named in draft.tuning_sets:
        if named.name and named.name in seen:
            findings.problem(named.place, f"there is a tuning set {named.name!r} already; give this one another name")
        seen.add(named.name)


def _check_phases(config: Config, draft: Draft, known: Known, findings: Findings) -> None:
    names = {named.name for named in draft.tuning_sets}
    exists: dict[str, bool] = {}
    for step in config.steps:
        for phase in step.phases:
            if phase.tuning_set and phase.tuning_set not in names:
                advice = suggestion(phase.tuning_set, names - {""})
                findings.problem(phase.place, f"there is no tuning set {phase.tuning_set!r}; {advice}")
            if draft.namespaces.number >= 0:
                _check_range(phase, config, findings)
            members = set()
            for member in phase.bundle:
                path = member.template_path
                if path and path not in exists:
                    exists[path] = known.is_file(path)
                if path and not exists[path]:
                    findings.problem(
                        member.place,
                        f"objectTemplatePath: there is no file {path}; paths begin in the folder of {config.path}",
                    )
                if (member.basename, path) in members:
                    findings.problem(
                        member.place,
                        f"objectBundle: {member.basename!r} of {path} is in this bundle twice; "
                        "give one another basename",
                    )
                members.add((member.basename, path))


def _check_range(phase: Phase, config: Config, findings: Findings) -> None:
    """A range of the test's own namespaces must lie within them."""
    span, own = phase.namespaces, config.namespaces
    if not isinstance(span, NamespaceRange) or span.basename not in {"", own.prefix}:
        return
    if span.first < 1:
        findings.problem(phase.place, "namespaceRange: namespaces are counted from 1; write min: 1")
    if span.last > own.number:
        findings.problem(
            phase.place,
            f"namespaceRange: it goes to {span.last}, but the test has {own.number} "
            f"namespace{'s' if own.number > 1 else ''}; write max: {own.number}, or raise namespace.number",
        )
