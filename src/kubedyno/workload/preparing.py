"""From an order to the objects of each workload: values, names, labels, fields, and the bytes that are sent.

Workloads of one order mostly differ in name and number only. What a template makes of a workload is worked out once
for each project with marks in their place; from then on a workload whose rendered text differs from that in nothing
but the marks is filled in as bytes, which is fifty times cheaper than reading its YAML.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import UnknownResource, by_kind
from kubedyno.model.dialects import Dialect, Place
from kubedyno.model.keys import WORKLOAD_LABEL
from kubedyno.workload import fields
from kubedyno.workload.order import Order
from kubedyno.workload.templating import Template

SUBMISSION_LABEL: Final = "kubedyno/submission"

_LONGEST_NAME: Final = 63
"""Of a label's value, and of a Job's name."""
_NAME_MARK: Final = "kubedyno-marks-a-name"
_INDEX_MARK: Final = 918273645
_INDEX_TEXT: Final = str(_INDEX_MARK)
_NAME_BYTES: Final = _NAME_MARK.encode()
_INDEX_BYTES: Final = _INDEX_TEXT.encode()

IsNamespaced = Callable[[str, str], bool]
"""Whether objects of an apiVersion and kind live in namespaces."""


class Document(msgspec.Struct, frozen=True):
    """One object, as it is sent."""

    api_version: str
    kind: str
    name: str
    namespace: str | None
    """None: it is cluster-wide."""
    body: bytes


class Prepared(msgspec.Struct, frozen=True):
    """A workload that can be sent."""

    index: int
    name: str
    project: str | None
    queue: str | None
    documents: tuple[Document, ...]
    """In the order in which they are created."""
    main: int
    """Which of them is the workload itself."""

    @property
    def main_document(self) -> Document:
        """The workload itself."""
        return self.documents[self.main]


class _Shape(msgspec.Struct, frozen=True):
    """What the templates make of a workload whose name and number are marks."""

    texts: tuple[str, ...]
    workload: Prepared


def known_scopes(api_version: str, kind: str) -> bool:
    """As far as the table of built-in kinds tells; custom resources mostly are namespaced."""
    try:
        return by_kind(api_version, kind).namespaced
    except UnknownResource:
        return True


def template_hash(template: Template) -> str:
    """SHA-256 of the template's text."""
    return hashlib.sha256(template.text.encode()).hexdigest()


class Writer:
    """Writes the workloads of one submission. Wrong templates and fields show when it is made."""

    def __init__(
        self,
        order: Order,
        submission: str,
        *,
        dialect: Dialect,
        template: Template,
        claims: Template | None,
        is_namespaced: IsNamespaced = known_scopes,
    ) -> None:
        self._order = order
        self._submission = submission
        self._dialect = dialect
        self._template = template
        self._claims = claims
        self._is_namespaced = is_namespaced
        self._fields = tuple(fields.parse(text) for text in order.fields)
        self._fixed = self._fixed_names()
        self._shapes: dict[str | None, _Shape | None] = {}
        self._check()

    def values(self, index: int, name: str) -> dict[str, Any]:
        """What the templates may use for a workload."""
        order, place = self._order, self.place(index)
        return {
            "name": name,
            "namespace": place.namespace,
            "project": order.project(index) or "",
            "queue": place.queue or "",
            "gpus": order.num_gpus,
            "workers": order.num_workers,
            "index": index,
            "scheduler_name": order.scheduler_name,
            "pvc": name if order.pvc else "",
            "image": order.image,
            "submission": self._submission,
            "workload_type": order.workload_type,
        }

    def place(self, index: int) -> Place:
        """Where a workload goes."""
        place = self._dialect.place(self._order.project(index))
        namespace = self._order.namespace
        return place if namespace is None else msgspec.structs.replace(place, namespace=namespace)

    def name(self, index: int) -> str:
        """The name that a workload gets, unless its template says otherwise."""
        return f"{self._order.workload_type}-{self._submission}-{index}"

    def given(self, index: int) -> dict[str, Any]:
        """The values of a workload under its own name."""
        return self.values(index, self.name(index))

    def objects(self, index: int) -> list[Object]:
        """The objects of a workload."""
        return self._written(self.given(index))[1]

    def prepared(self, index: int) -> Prepared:
        """A workload as it is sent."""
        project = self._order.project(index)
        if project not in self._shapes:
            self._shapes[project] = self._trusted_shape(index)
        shape = self._shapes[project]
        return (self._filled(shape, index) if shape is not None else None) or self._at_length(index)

    def _at_length(self, index: int) -> Prepared:
        return self._encoded(index, *self._written(self.given(index)))

    def _trusted_shape(self, index: int) -> _Shape | None:
        """The shape of the workloads of a project, if filling it in gives what the long way gives."""
        # The mark's number is no place among the projects, so the values come from the index and the mark over them.
        values = {**self.values(index, _NAME_MARK), "index": _INDEX_MARK}
        texts = self._texts(values)
        shape = _Shape(texts, self._encoded(index, *self._written(values)))
        filled = self._filled(shape, index)
        return shape if filled is not None and _decoded(filled) == _decoded(self._at_length(index)) else None

    def _filled(self, shape: _Shape, index: int) -> Prepared | None:
        """The shape with a workload's name and number; None if its text differs in more than that."""
        name, number = self.name(index), str(index)

        def fill(text: str) -> str:
            return text.replace(_NAME_MARK, name).replace(_INDEX_TEXT, number)

        for text, rendered in zip(shape.texts, self._texts(self.values(index, name)), strict=True):
            if fill(text) != rendered:
                return None
        name_bytes, number_bytes = name.encode(), number.encode()
        documents = tuple(
            Document(
                document.api_version,
                document.kind,
                fill(document.name),
                document.namespace,
                document.body.replace(_NAME_BYTES, name_bytes).replace(_INDEX_BYTES, number_bytes),
            )
            for document in shape.workload.documents
        )
        marked = shape.workload
        return Prepared(index, fill(marked.name), marked.project, marked.queue, documents, marked.main)

    def _texts(self, values: dict[str, Any]) -> tuple[str, ...]:
        """What the templates are rendered to: the claim's first, if there is one."""
        templates = (self._template,) if self._claims is None else (self._claims, self._template)
        return tuple(template.render(values) for template in templates)

    def _written(self, values: dict[str, Any]) -> tuple[int, list[Object]]:
        """The objects of a workload, and which of them is the main one."""
        claims = [] if self._claims is None else self._claims.objects(self._claims.render(values))
        objects = self._template.objects(self._template.render(values))
        if self._fixed:
            objects = [_suffixed(obj, self._fixed, f"-{values['index']}") for obj in objects]
        for field in self._fields:
            for obj in [obj for obj in objects if obj["kind"] == field.kind] if field.kind else objects[:1]:
                fields.assign(obj, field)
        name = _named(objects[0]["metadata"]["name"], values["name"])
        for obj in (*claims, *objects):
            self._mark(obj, name, values["namespace"])
        return len(claims), [*claims, *objects]

    def _mark(self, obj: Object, workload: str, namespace: str) -> None:
        """Put the object where it belongs, and say on it whose it is."""
        metadata = obj["metadata"]
        if "namespace" not in metadata and self._is_namespaced(obj["apiVersion"], obj["kind"]):
            metadata["namespace"] = namespace
        _relabel(obj, workload)
        labels = metadata.get("labels") or {}
        metadata["labels"] = {**labels, WORKLOAD_LABEL: workload, SUBMISSION_LABEL: self._submission}

    def _encoded(self, index: int, main: int, objects: list[Object]) -> Prepared:
        place = self.place(index)
        documents = tuple(
            Document(
                obj["apiVersion"],
                obj["kind"],
                obj["metadata"]["name"],
                obj["metadata"].get("namespace"),
                codec.encode(obj),
            )
            for obj in objects
        )
        name = objects[main]["metadata"]["labels"][WORKLOAD_LABEL]
        return Prepared(index, name, self._order.project(index), place.queue, documents, main)

    def _fixed_names(self) -> frozenset[str]:
        """Names that the template gives whatever the workload: those of a plain YAML."""
        first, second = (
            {obj["metadata"]["name"] for obj in self._template.objects(self._template.render(values))}
            for values in (self.values(0, self.name(0)), {**self.values(0, _NAME_MARK), "index": _INDEX_MARK})
        )
        return frozenset(first & second)

    def _check(self) -> None:
        """Refuse what would be refused with every workload."""
        for index in self.samples():
            _, objects = self._written(self.given(index))
            kinds = {obj["kind"] for obj in objects}
            for field in self._fields:
                if field.kind is not None and field.kind not in kinds:
                    raise UsageError(f"--field {field.text}: there is no {field.kind} among {', '.join(sorted(kinds))}")
        longest = self.prepared(self._order.total - 1).name
        if len(longest) > _LONGEST_NAME:
            raise UsageError(
                f"{self._template.source}: the name {longest} has {len(longest)} characters; "
                f"the name of a workload is also a label, which may have {_LONGEST_NAME}"
            )

    def samples(self) -> Iterator[int]:
        """Workloads that between them have all places that there are."""
        return iter(range(min(self._order.total, max(1, len(self._order.projects)))))


def _named(main: str, given: str) -> str:
    """The name of a workload whose main object is called so: the given one where the template made use of it."""
    return given if given in main else main


def _suffixed(value: Any, names: Iterable[str], suffix: str) -> Any:
    """The value with the suffix wherever one of the names stands alone: as a name, or where somebody refers to it."""
    match value:
        case str():
            return f"{value}{suffix}" if value in names else value
        case dict():
            return {key: item if key == "namespace" else _suffixed(item, names, suffix) for key, item in value.items()}
        case list():
            return [_suffixed(item, names, suffix) for item in value]
    return value


def _relabel(value: Any, workload: str) -> None:
    """Let templates of pods say the workload's real name, where a template names its objects in its own way."""
    match value:
        case dict():
            if isinstance(value.get(WORKLOAD_LABEL), str):
                value[WORKLOAD_LABEL] = workload
            for item in value.values():
                _relabel(item, workload)
        case list():
            for item in value:
                _relabel(item, workload)


def _decoded(workload: Prepared) -> list[Object]:
    return [codec.decode(document.body) for document in workload.documents]
