"""Stages from YAML files and from objects of an API; whatever is wrong is said with file, stage, field and place."""

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.kube import codec
from kubedyno.kube.cel import CelSyntaxError, Program
from kubedyno.kube.codec import Object
from kubedyno.kube.gotemplate.kwok import stage_template
from kubedyno.kube.gotemplate.problems import TemplateError
from kubedyno.kube.gotemplate.template import Template
from kubedyno.kube.jq import Query
from kubedyno.kube.jq.kwok import Requirement
from kubedyno.sim.stages import expressions, manifest
from kubedyno.sim.stages.functions import known_functions
from kubedyno.sim.stages.stage import (
    Apply,
    Delay,
    Event,
    Expression,
    Finalizers,
    Kind,
    Patch,
    Selector,
    Stage,
    Step,
)

_NS_PER_MS: Final = 1_000_000
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>[^`]*)`(?: - at `\$(?P<place>.*)`)?")
_PLACED = re.compile(r"(?P<problem>.*?)(?: - at `\$(?P<place>.*)`)?")
_EVENT_TYPES: Final = ("Normal", "Warning")
_KWOK_GROUP: Final = "kwok.x-k8s.io"


def read_files(paths: Iterable[Path]) -> tuple[Stage, ...]:
    """The stages of YAML files, in their order. Objects that are none of KWOK's are passed over, as KWOK does."""
    files = tuple(paths)
    seen: dict[tuple[Kind, str], Stage] = {}
    for stage in (stage for path in files for stage in _read_file(path)):
        before = seen.setdefault((stage.kind, stage.name), stage)
        if before is not stage:
            raise UsageError(
                f"{stage}: another stage of {stage.kind.name} has this name, in {before.source}: "
                "name one of them differently, or leave it out"
            )
    if not seen:
        names = ", ".join(map(str, files)) or "no file"
        raise UsageError(f"{names}: there is no Stage of {manifest.API_VERSION} in it: name files of KWOK's stages")
    return tuple(seen.values())


def _read_file(path: Path) -> list[Stage]:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: the file cannot be read: {error.strerror}") from error
    documents = [
        item
        for document in codec.read_yaml(text, source=str(path))
        for item in (document.get("items") or () if document.get("kind") == "List" else (document,))
    ]
    return [read_object(document, source=str(path)) for document in documents if _is_stage(document, path)]


def _is_stage(document: Mapping[str, Any], path: Path) -> bool:
    """Other kinds may stand beside stages (a StorageClass); a slip of the pen must not make a stage one of them."""
    api_version, kind = document.get("apiVersion"), document.get("kind")
    if (api_version, kind) == (manifest.API_VERSION, manifest.KIND):
        return True
    if kind == manifest.KIND or (str(api_version).partition("/")[0] == _KWOK_GROUP and not _is_known(str(kind))):
        raise UsageError(
            f"{path}: {kind} of {api_version} is not known: write apiVersion {manifest.API_VERSION} and kind Stage"
        )
    return False


def _is_known(kind: str) -> bool:
    """KWOK's other kinds, which say nothing about stages."""
    return kind.removeprefix("Cluster") in {"Attach", "Exec", "Logs", "Metric", "PortForward", "ResourceUsage"}


def read_object(document: Object, *, source: str) -> Stage:
    """The stage of a Stage object; `source` is the file, or where else it comes from."""
    name = (document.get("metadata") or {}).get("name")
    if not isinstance(name, str) or not name:
        raise UsageError(f"{source}: a Stage has no name: write metadata.name")
    return _Reader(source, name).stage(document)


class _Reader:
    """Reads one stage, and names it in errors."""

    def __init__(self, source: str, name: str) -> None:
        self._source = source
        self._name = name

    def stage(self, document: Object) -> Stage:
        unknown = document.keys() - {"apiVersion", "kind", "metadata", "spec", "status"}
        if unknown:
            field = min(unknown)
            raise self._wrong(field, f"there is no such field: {suggestion(field, ('metadata', 'spec'))}")
        spec = self._converted(document.get("spec"))
        kind = Kind(spec.resource_ref.api_group, spec.resource_ref.kind)
        steps = tuple(self._step(field, step, kind) for field, step in manifest.steps(spec))
        return Stage(
            name=self._name,
            source=self._source,
            kind=kind,
            selector=None if spec.selector is None else self._selector(spec.selector),
            weight=spec.weight,
            weight_from=self._expression("spec.weightFrom", spec.weight_from),
            delay=None if spec.delay is None else self._delay(spec.delay),
            steps=steps,
            immediate=bool(spec.immediate_next_stage),
        )

    def _converted(self, spec: Any) -> manifest.Spec:
        if not isinstance(spec, dict):
            raise self._wrong("spec", "it is missing: write resourceRef, selector and steps")
        try:
            return msgspec.convert(spec, manifest.Spec)
        except msgspec.ValidationError as error:
            raise self._wrong(*_problem(str(error))) from None

    def _selector(self, written: manifest.Selector) -> Selector:
        requirements: list[Requirement] = []
        conditions: list[Program] = []
        for index, one in enumerate(written.match_expressions or ()):
            field = f"spec.selector.matchExpressions[{index}]"
            if one.jq is not None:
                requirements.append(self._requirement(f"{field}.jq", one.jq))
            elif one.key:
                requirements.append(self._requirement(field, one))
            elif one.cel is not None:
                conditions.append(self._cel(f"{field}.cel.expression", one.cel.expression))
            else:
                raise self._wrong(field, "it says nothing: write jq with key and operator, or cel with expression")
        return Selector(
            dict(written.match_labels or {}),
            dict(written.match_annotations or {}),
            tuple(requirements),
            tuple(conditions),
        )

    def _requirement(self, field: str, written: manifest.JqMatch) -> Requirement:
        query = self._jq(f"{field}.key", written.key)
        try:
            return Requirement.of(query, written.operator, written.values or ())
        except UsageError as error:
            raise self._wrong(
                field, f"{error}; write the operator In or NotIn with values, Exists or DoesNotExist without"
            ) from None

    def _expression(self, field: str, written: manifest.ExpressionFrom | None) -> Expression | None:
        if written is None:
            return None
        if written.cel is None and written.jq is None and not written.expression_from:
            raise self._wrong(field, "it says nothing: write jq or cel with expression")
        query = None
        if written.jq is not None:
            query = self._jq(f"{field}.jq.expression", written.jq.expression)
        elif written.expression_from:
            query = self._jq(f"{field}.expressionFrom", written.expression_from)
        program = None if written.cel is None else self._cel(f"{field}.cel.expression", written.cel.expression)
        return Expression(program, query)

    def _delay(self, written: manifest.Delay) -> Delay:
        jitter_from = self._expression("spec.delay.jitterDurationFrom", written.jitter_duration_from)
        if jitter_from is not None and jitter_from.jq is None:
            raise self._wrong("spec.delay.jitterDurationFrom", "KWOK takes no cel for it: write jq with expression")
        jitter_ms = written.jitter_duration_milliseconds
        return Delay(
            duration_ns=(written.duration_milliseconds or 0) * _NS_PER_MS,
            duration_from=self._expression("spec.delay.durationFrom", written.duration_from),
            jitter_ns=None if jitter_ms is None else jitter_ms * _NS_PER_MS,
            jitter_from=jitter_from,
        )

    def _step(self, field: str, written: manifest.Step, kind: Kind) -> Step:
        event = None if written.event is None else self._event(f"{field}.event", written.event)
        finalizers = None
        if written.finalizers is not None:
            finalizers = Finalizers(
                add=tuple(item.value for item in written.finalizers.add or ()),
                remove=tuple(item.value for item in written.finalizers.remove or ()),
                empty=written.finalizers.empty,
            )
        patch, apply = None, None
        if written.patch is not None:
            place = self._template_field(field, "patch")
            self._no_impersonation(field, written.patch.impersonation)
            template = self._template(place, written.patch.template, kind)
            patch = Patch(template, written.patch.root, written.patch.subresource, written.patch.type, place)
        if written.apply is not None:
            self._no_impersonation(field, written.apply.impersonation)
            place = f"{field}.apply.template"
            template = self._template(place, written.apply.template, kind)
            apply = Apply(template, written.apply.subresource, written.apply.type or "apply", place)
        return Step(event, finalizers, written.delete, patch, apply)

    @staticmethod
    def _template_field(field: str, part: str) -> str:
        """`next` has its templates in other places than `steps`."""
        if field == "spec.next":
            return f"{field}.statusTemplate"
        return f"{field}.template" if field.startswith("spec.next") else f"{field}.{part}.template"

    def _event(self, field: str, written: manifest.Event) -> Event:
        if written.type not in _EVENT_TYPES:
            raise self._wrong(f"{field}.type", f"{written.type!r} is no type of event: write Normal or Warning")
        return Event(written.type, written.reason, written.message)  # type: ignore[arg-type] # one of the two

    def _no_impersonation(self, field: str, written: manifest.Impersonation | None) -> None:
        if written is not None:
            raise self._wrong(
                field,
                f"patches in the name of another user ({written.username}) are not supported: leave impersonation "
                "(statusPatchAs) out, or let KWOK play the stage (--kubelet kwok)",
            )

    def _jq(self, field: str, text: str) -> Query:
        try:
            return _compiled_jq(text)
        except UsageError as error:
            raise self._wrong(field, str(error)) from None

    def _cel(self, field: str, text: str) -> Program:
        try:
            return _compiled_cel(text)
        except CelSyntaxError as error:
            place = f"line {error.line}, column {error.column} of CEL expression {text!r}"
            raise self._wrong(field, f"{error.problem} at {place}") from None
        except UsageError as error:
            raise self._wrong(field, f"{error} in CEL expression {text!r}") from None

    def _template(self, field: str, text: str, kind: Kind) -> Template:
        try:
            return _compiled_template(text, kind)
        except TemplateError as error:
            problem = str(error).removeprefix("template: _:")
            line, colon, rest = problem.partition(": ")
            raise self._wrong(field, f"{rest} at line {line} of the template" if colon else problem) from None

    def _wrong(self, field: str, problem: str) -> UsageError:
        return UsageError(f"{self._source}: stage {self._name}: {field}: {problem}")


def _problem(error: str) -> tuple[str, str]:
    """Field and problem of what msgspec says."""
    if unknown := _UNKNOWN.fullmatch(error):
        place, name = unknown["place"] or "", unknown["name"]
        return f"spec{place}.{name}", f"there is no such field: {suggestion(name, _field_names(place))}"
    placed = _PLACED.fullmatch(error)
    assert placed is not None  # noqa: S101 - it matches every line
    return f"spec{placed['place'] or ''}", f"{placed['problem'][:1].lower()}{placed['problem'][1:]}"


def _field_names(place: str) -> list[str]:
    """The fields that a part of a stage has, by where it stands in `spec`."""
    part: type[msgspec.Struct] = manifest.Spec
    for name in re.findall(r"\.(\w+)", place):
        field = next(field for field in msgspec.structs.fields(part) if field.encode_name == name)
        part = _struct_in(field.type)
    return [field.encode_name for field in msgspec.structs.fields(part)]


def _struct_in(hint: Any) -> type[msgspec.Struct]:
    """The part that a field holds, alone, in a list, or not at all."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint
    inner = next(one for one in hint.__args__ if one is not type(None) and one is not ...)
    return _struct_in(inner)


@functools.lru_cache(maxsize=1024)
def _compiled_jq(text: str) -> Query:
    return expressions.compile_jq(text)


@functools.lru_cache(maxsize=1024)
def _compiled_cel(text: str) -> Program:
    return expressions.compile_cel(text)


@functools.lru_cache(maxsize=1024)
def _compiled_template(text: str, kind: Kind) -> Template:
    return stage_template(text, known_functions(kind))
