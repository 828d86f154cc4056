"""From files to a config: rendered, decoded, changed as the command line says, modules taken in, checked."""

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

import msgspec

from kubedyno.clusterloader.config import Config, Step
from kubedyno.clusterloader.language import generating, modifying, unused, validating
from kubedyno.clusterloader.language.decoding import Draft, DraftStep, ModuleUse, decode_config, decode_module
from kubedyno.clusterloader.language.findings import Findings
from kubedyno.clusterloader.language.located import read
from kubedyno.clusterloader.language.unused import Mentions
from kubedyno.clusterloader.language.validating import Known
from kubedyno.kit.errors import UsageError

Render = Callable[[str, Mapping[str, Any]], str]
"""A path as it is written in a config, relative to the folder of the root config, and values: the text."""

_NAMED_AT_MOST: Final = 3


def compile_config(
    path: str,
    values: Mapping[str, Any],
    render: Render,
    *,
    identifier: str = "",
    methods: Collection[str],
    dependencies: Collection[str],
    is_file: Callable[[str], bool],
    mentions: Mentions,
    skip_steps: Collection[str] = (),
    overwrites: Sequence[str] = (),
) -> Config:
    """The config of a file, ready to be run; a usage error lists all that is wrong with it, one a line.

    `render`, `is_file` and `mentions` take paths relative to the file's folder: the file itself is its bare name.
    `skip_steps` and `overwrites` are the options `--skip-steps` and `--overwrite-test-config`.
    """
    findings = Findings()
    name = PurePath(path).name
    draft = decode_config(read(render(name, values), path), findings)
    draft = modifying.overwrite(modifying.skip(draft, skip_steps, findings), overwrites)
    modules = _Modules(PurePath(path).parent, render, values, findings)
    config = _assembled(draft, tuple(modules.steps(draft.steps, (name,))), path, identifier, values)
    validating.check(config, draft, Known(methods, dependencies, is_file), findings)
    findings.stop_at_problems(path)
    unused.note(config, draft, modules.used, mentions, findings)
    return msgspec.structs.replace(config, remarks=findings.remarks, generated=generating.yaml_text(config))


def _assembled(draft: Draft, steps: tuple[Step, ...], path: str, identifier: str, values: Mapping[str, Any]) -> Config:
    """With defaults."""
    number = max(draft.namespaces.number, 1)
    if number == 1 and draft.automanaged > 1:
        number = draft.automanaged
    return Config(
        name=draft.name,
        path=path,
        identifier=identifier,
        namespaces=msgspec.structs.replace(draft.namespaces, number=number),
        tuning_sets={named.name: named.tuning_set for named in draft.tuning_sets if named.tuning_set},
        dependencies=draft.dependencies,
        chaos=draft.chaos,
        steps=steps,
        values=dict(values),
    )


class _Modules:
    """Takes modules in: the steps of a module stand where the step was that names it."""

    def __init__(self, folder: PurePath, render: Render, values: Mapping[str, Any], findings: Findings) -> None:
        """`folder` is that of the root config: where places of a module are told to be."""
        self.used: list[ModuleUse] = []
        self._folder = folder
        self._render = render
        self._values = values
        self._findings = findings

    def steps(self, drafts: Sequence[DraftStep], way: tuple[str, ...]) -> Iterator[Step]:
        """All steps, in order; `way` are the files that led to these."""
        for draft in drafts:
            if draft.module is not None:
                yield from self.steps(self._taken_in(draft.module, way), (*way, _normal(draft.module.path)))
            elif draft.phases or draft.measurements:
                yield Step(
                    name=draft.name or _name_for(draft),
                    phases=draft.phases,
                    measurements=draft.measurements,
                    place=draft.place,
                )

    def _taken_in(self, use: ModuleUse, way: tuple[str, ...]) -> tuple[DraftStep, ...]:
        path = _normal(use.path)
        if path in way:
            circle = " -> ".join((*way[way.index(path) :], path))
            self._findings.problem(use.place, f"the module {use.path} takes itself in: {circle}; break the circle")
            return ()
        self.used.append(use)
        try:
            # Params are for this module alone: those that it takes in, and objects, see the config's values only.
            document = read(self._render(use.path, {**self._values, **use.params}), str(self._folder / path))
        except UsageError as error:
            self._findings.problem(use.place, f"the module {use.path} cannot be taken in: {error}")
            return ()
        return decode_module(document, self._findings)


def _normal(path: str) -> str:
    """One spelling of a path: a leading slash means the root config's folder too."""
    return posixpath.normpath(path.lstrip("/"))


def _name_for(step: DraftStep) -> str:
    """What a step without a name is called: what it does, so that reports tell it from others."""
    if step.phases:
        kind, found = "phases of", [member.basename for phase in step.phases for member in phase.bundle]
    else:
        kind, found = "measurements", [measurement.method for measurement in step.measurements]
    distinct = list(dict.fromkeys(found))
    more = f" and {len(distinct) - _NAMED_AT_MOST} more" if len(distinct) > _NAMED_AT_MOST else ""
    return f"unnamed: {kind} {', '.join(distinct[:_NAMED_AT_MOST])}{more}"
