"""Custom resource definitions as the real API server judges them, and what becomes of them there; ours beside it."""

import os
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import msgspec
import pytest
from tests.definitions import defined

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kinds.custom import definition_rules, definitions
from kubedyno.kinds.custom.kinds import finalizer_warnings, kinds_of
from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.kube import codec, meta, normalizing
from kubedyno.kube.problems import Problem
from kubedyno.kube.resources import by_plural
from kubedyno.lab.starting import RunningLab
from kubedyno.plane import provisioning

pytestmark = pytest.mark.local

NAMESPACE = "default"
GROUP = "definitions.kubedyno.example"
DEFINITIONS = by_plural("customresourcedefinitions.apiextensions.k8s.io")

_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}
_BY_NAME = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def definition(kind: str, *versions: dict[str, Any], scope: str = "Namespaced", **names: Any) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": scope,
            "names": {"plural": plural, "kind": kind, **names},
            "versions": list(versions),
        },
    }


def version(name: str, schema: dict[str, Any], *, storage: bool = True, **more: Any) -> dict[str, Any]:
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}, **more}


def schema_of(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A definition with one version that has this schema."""
    return definition("Widget", version("v1", schema, **more))


def field(**schema: Any) -> dict[str, Any]:
    """A definition whose objects have one field `spec.f` with this schema."""
    return schema_of(_object(spec=_object(f=schema)))


def raw_field(schema: dict[str, Any]) -> dict[str, Any]:
    return field(**schema)


def changed(**spec: Any) -> dict[str, Any]:
    """A good definition with other parts in its spec."""
    good = field(type="string")
    return {**good, "spec": {**good["spec"], **spec}}


def renamed(**names: Any) -> dict[str, Any]:
    good = field(type="string")
    return {**good, "spec": {**good["spec"], "names": {**good["spec"]["names"], **names}}}


def columns(**column: Any) -> dict[str, Any]:
    return schema_of(_object(spec=_object(f=_STRING)), additionalPrinterColumns=[column])


def selecting(*paths: str) -> dict[str, Any]:
    schema = _object(
        spec=_object(f=_STRING, g=_object(h=_INTEGER), m={"type": "object", "additionalProperties": _STRING}),
        metadata={"type": "object", "properties": {"name": _STRING}},
    )
    return schema_of(schema, selectableFields=[{"jsonPath": path} for path in paths])


def scaled(**scale: Any) -> dict[str, Any]:
    return schema_of(_object(spec=_object(f=_INTEGER), status=_object(f=_INTEGER)), subresources={"scale": scale})


def webhook(**client: Any) -> dict[str, Any]:
    hook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    return changed(conversion={"strategy": "Webhook", "webhook": hook})


def approved(**annotations: str) -> dict[str, Any]:
    good = changed(group="customs.k8s.io")
    return {**good, "metadata": {"name": "widgets.customs.k8s.io", "annotations": annotations}}


_NAMED = {**_object(name=_STRING), "required": ["name"]}
_TWO = [version("v1", _object(a=_STRING)), version("v2", _object(b=_STRING), storage=False)]

BODIES: list[dict[str, Any]] = [
    field(type="string"),
    definition("Widget", *_TWO),
    definition("Widget", version("v1", _object(a=_STRING)), version("v2", _object(a=_STRING), storage=False)),
    definition("Widget", *_TWO, scope="Cluster", singular="w", shortNames=["wd"], categories=["all"]),
    # Names and groups.
    {**field(type="string"), "metadata": {"name": "other.example.com"}},
    {**field(type="string"), "metadata": {"name": "Bad_Name"}},
    changed(group=""),
    changed(group="nodots"),
    changed(group="Upper.example.com"),
    changed(scope="Galaxy"),
    changed(scope=""),
    changed(names={}),
    renamed(plural="Widgets"),
    renamed(singular="W_"),
    renamed(kind="no kind"),
    renamed(listKind="Widget"),
    renamed(shortNames=["ok", "NotOk", ""], categories=["all", "a b"]),
    approved(),
    approved(**{"api-approved.kubernetes.io": "maybe"}),
    approved(**{"api-approved.kubernetes.io": "unapproved, test-only"}),
    approved(**{"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"}),
    # Versions.
    changed(versions=[]),
    definition("Widget", version("v1", _object(a=_STRING), storage=False)),
    definition("Widget", version("v1", _object(a=_STRING)), version("v2", _object(a=_STRING))),
    definition("Widget", version("v1", _object(a=_STRING)), version("v2", _object(b=_STRING))),
    definition("Widget", version("v1", _object(a=_STRING)), version("v1", _object(a=_STRING), storage=False)),
    definition("Widget", version("1", _object(a=_STRING))),
    definition("Widget", version("V1beta", _object(a=_STRING))),
    definition("Widget", {"name": "v1", "served": True, "storage": True}),
    definition("Widget", {"name": "v1", "served": True, "storage": True, "schema": {}}),
    definition("Widget", version("v1", _object(a=_STRING)), {"name": "v2", "served": True, "storage": False}),
    definition("Widget", version("v1", _object(a=_STRING), deprecationWarning="old")),
    definition("Widget", version("v1", _object(a=_STRING), deprecated=True, deprecationWarning="")),
    definition("Widget", version("v1", _object(a=_STRING), deprecated=True, deprecationWarning="a\tb" * 100)),
    changed(preserveUnknownFields=True),
    {
        **field(type="string", default="x"),
        "spec": {**field(type="string", default="x")["spec"], "preserveUnknownFields": True},
    },
    # Structural schemas.
    schema_of({}),
    schema_of({"type": "string"}),
    schema_of({"type": "object", "nullable": True}),
    schema_of({"properties": {"a": _STRING}}),
    schema_of({"type": "object", "additionalProperties": _STRING}),
    schema_of({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    field(),
    field(type="text"),
    field(type="null"),
    field(type="array"),
    field(type="array", items={}),
    field(type="array", items=[_STRING]),
    field(type="object", properties={"a": {}}, additionalProperties=_STRING),
    field(type="object", properties={"a": _STRING}, additionalProperties=False),
    field(type="object", properties={"a": _STRING}, additionalProperties=True),
    field(description="nothing", enum=["a"]),
    field(type="string", anyOf=[{"type": "string", "description": "x", "title": "y"}, {"nullable": True}]),
    field(type="object", properties={"a": _STRING}, allOf=[{"properties": {"b": {"minLength": 1}}}]),
    schema_of({**_object(a=_STRING), "oneOf": [{"properties": {"b": {"minLength": 1}}}, {"required": ["a"]}]}),
    schema_of({**_object(a=_STRING), "not": {"properties": {"metadata": {"minProperties": 1}}}}),
    field(type="object", properties={"a": _STRING}, anyOf=[{"additionalProperties": _STRING, "default": {}}]),
    field(**{"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}),
    field(**{"x-kubernetes-int-or-string": True, "anyOf": [_INTEGER, _STRING]}),
    field(**{"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": [_INTEGER, _STRING]}, {"minimum": 1}]}),
    field(**{"x-kubernetes-int-or-string": True, "anyOf": [_STRING, _INTEGER]}),
    field(type="string", **{"x-kubernetes-int-or-string": True}),
    field(type="object", **{"x-kubernetes-preserve-unknown-fields": False}),
    field(type="object", **{"x-kubernetes-embedded-resource": True}),
    field(type="string", **{"x-kubernetes-embedded-resource": True}),
    field(**{"x-kubernetes-embedded-resource": True, "properties": {"kind": _INTEGER, "metadata": _STRING}}),
    field(type="object", additionalProperties=_STRING, **{"x-kubernetes-embedded-resource": True}),
    schema_of(_object(metadata={"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}})),
    schema_of(_object(metadata=_object(labels={"type": "object", "additionalProperties": _STRING}))),
    schema_of(_object(metadata={"type": "object", "description": "x"})),
    schema_of(_object(metadata=_STRING, kind=_INTEGER, apiVersion=_STRING)),
    schema_of(_object(metadata={"type": "object", "default": {}}, kind={"type": "string", "default": "Widget"})),
    field(type="string", pattern="[a"),
    field(type="string", pattern="(?=a)b"),
    field(type="string", allOf=[{"pattern": "a**"}]),
    field(type="array", items=_STRING, uniqueItems=True),
    raw_field({"type": "string", "$ref": "#/definitions/x"}),
    raw_field({"type": "string", "id": "x"}),
    raw_field({"type": "object", "patternProperties": {"a": _STRING}}),
    raw_field({"type": "object", "definitions": {"a": _STRING}, "dependencies": {"a": ["b"]}}),
    raw_field({"type": "array", "items": _STRING, "additionalItems": False}),
    # Lists and maps.
    field(type="object", **{"x-kubernetes-list-type": "set"}),
    field(**{"x-kubernetes-list-type": "set"}),
    field(type="array", items=_STRING, **{"x-kubernetes-list-type": "bag"}),
    field(type="array", items=_NAMED, **{"x-kubernetes-list-type": "map"}),
    field(type="array", items=_NAMED, **{"x-kubernetes-list-map-keys": ["name"]}),
    field(type="array", items=_NAMED, **{"x-kubernetes-list-type": "set", "x-kubernetes-list-map-keys": ["name"]}),
    field(type="array", items=_STRING, **_BY_NAME),
    field(type="array", items=_object(name=_STRING), **_BY_NAME),
    field(type="array", items=_object(name={"type": "string", "default": "x"}), **_BY_NAME),
    field(type="array", items={**_NAMED, "nullable": True}, **_BY_NAME),
    field(type="array", items={**_object(name=_object(a=_STRING)), "required": ["name"]}, **_BY_NAME),
    field(
        type="array",
        items={**_object(name={"type": "string", "nullable": True}), "required": ["name"]},
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "other", "name"]},
    ),
    field(type="array", items=_object(a=_STRING), **{"x-kubernetes-list-type": "set"}),
    field(type="array", items=_list(_STRING, **{"x-kubernetes-list-type": "set"}), **{"x-kubernetes-list-type": "set"}),
    field(type="object", properties={"a": _STRING}, **{"x-kubernetes-map-type": "odd"}),
    field(type="string", **{"x-kubernetes-map-type": "atomic"}),
    # Defaults.
    field(type="string", default=5),
    field(type="integer", default="x", minimum=3),
    field(type="object", properties={"a": _STRING}, default={"b": 1}),
    field(type="object", properties={"a": {"type": "string", "enum": ["x"], "default": "y"}}, default={"a": "z"}),
    field(type="array", items={"type": "string", "default": 1}, default=["a"]),
    field(type="object", additionalProperties={"type": "string", "default": 5}),
    field(type="object", required=["a"], properties={"a": _STRING}, default={}),
    field(**{"x-kubernetes-int-or-string": True, "default": "5%"}),
    # Status, scale, columns, selectable fields.
    schema_of({**_object(a=_STRING), "maxProperties": 3}, subresources={"status": {}}),
    schema_of({"type": "array", "items": _STRING}, subresources={"status": {}}),
    scaled(),
    scaled(specReplicasPath="spec.f", statusReplicasPath=".spec.f"),
    scaled(specReplicasPath=".status.f", statusReplicasPath=".status.f", labelSelectorPath=".metadata.x"),
    scaled(specReplicasPath=".spec.f", statusReplicasPath=".status.f", labelSelectorPath="x"),
    columns(name="F", type="string", jsonPath=".spec.f"),
    columns(name="", type="", jsonPath=""),
    columns(name="F", type="float", format="odd", jsonPath="spec.f"),
    selecting(".spec.f", ".spec.g.h"),
    selecting(".spec.nope", "spec.f", ".spec.g", ".spec.f", ".spec.f"),
    selecting(".spec.f[0]", ".metadata.name", ".spec.m.x", ""),
    selecting(".", ".spec."),
    # Rules.
    field(type="string", **{"x-kubernetes-validations": [{"rule": "self.size() > 1", "message": "short"}]}),
    field(type="string", **{"x-kubernetes-validations": [{"rule": " "}, {"rule": "true", "message": " "}]}),
    field(type="string", **{"x-kubernetes-validations": [{"rule": "true", "message": "a\nb", "reason": "Odd"}]}),
    field(type="string", anyOf=[{"x-kubernetes-validations": [{"rule": "true"}]}]),
    # Conversion.
    changed(conversion={"strategy": "Magic"}),
    changed(conversion={"strategy": ""}),
    changed(conversion={"strategy": "Webhook"}),
    changed(conversion={"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {}}}),
    changed(conversion={"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v7", "v7", "V"]}}),
    webhook(url="https://example.com/convert"),
    webhook(url="http://user@/x?y#z"),
    webhook(url="https://example.com", service={"name": "a", "namespace": "b"}),
    webhook(service={"name": "a", "namespace": "b", "path": "/convert"}),
    webhook(service={"name": "", "namespace": "b", "path": "no//Slash", "port": 0}),
]


def comparable(obj: dict[str, Any]) -> dict[str, Any]:
    """Without what the server writes into metadata by itself."""
    kept = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in {"uid", "creationTimestamp", "managedFields", "namespace", "resourceVersion"}
    }
    return msgspec.convert({**obj, "metadata": kept}, dict[str, Any])


async def answer(awaited: Awaitable[dict[str, Any]]) -> Any:
    """The object that comes back, or the causes why not."""
    try:
        return comparable(await awaited)
    except ApiError as refused:
        if refused.code != 422:
            raise
        return sorted((cause.field, cause.reason, cause.message) for cause in refused.causes)


def verdict(made: dict[str, Any], problems: list[Problem]) -> Any:
    return sorted((one.field, one.reason, one.message) for one in problems) or comparable(made)


def edited(change: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A change of a definition's spec and of its names."""
    return {"names": change, **spec}


EDITS: list[dict[str, Any]] = [
    edited({}),
    edited({}, scope="Cluster"),
    edited({"kind": "Other", "plural": "others"}),
    edited({"shortNames": ["new"], "singular": "single", "categories": ["all"]}),
    edited({}, group="other.example.com"),
    edited({}, preserveUnknownFields=True),
    edited({}, conversion={"strategy": "Webhook"}),
    edited({}, versions=[version("v2", _object(a=_STRING))]),
    edited({}, versions=[version("v1", _object(a=_STRING), storage=False), version("v2", _object(b=_STRING))]),
    edited({}, versions=[version("v1", _object(a={}))]),
    edited({}, versions=[version("v1", _object(a=_INTEGER), served=False)]),
]


def our_edit(live: dict[str, Any], edit: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """The body that is sent, and what ours makes of it."""
    names = {**live["spec"]["names"], **edit["names"]}
    body = {**live, "spec": {**live["spec"], **edit, "names": names}}
    read = normalizing.normalized(body, body["apiVersion"], body["kind"])
    definitions.apply_defaults(read)
    made = definitions.prepared_for_update(read, live)
    return body, verdict(made, definition_rules.update_problems(made, live))


async def compare_edits(client: Client) -> AsyncIterator[tuple[Any, Any, Any]]:
    async with defined(client, definition("Grape", version("v1", _object(a=_STRING)))) as live:
        for edit in EDITS:
            body, mine = our_edit(live, edit)
            yield edit, mine, await answer(client.update(DEFINITIONS, body, dry_run=True))


async def test_ours_judges_the_change_of_a_definition_as_the_server_does(shared_lab: RunningLab) -> None:
    async for edit, mine, real in compare_edits(shared_lab.client):
        assert mine == real, edit


def created_here(body: dict[str, Any]) -> dict[str, Any]:
    """A definition as it is created."""
    read = normalizing.normalized(body, body["apiVersion"], body["kind"])
    definitions.apply_defaults(read)
    return definitions.prepared_for_create(read)


@pytest.mark.parametrize("body", BODIES[:4], ids=lambda body: str(body["spec"])[:80])
async def test_a_definition_is_created_with_the_same_defaults(shared_lab: RunningLab, body: dict[str, Any]) -> None:
    made = await shared_lab.client.create(DEFINITIONS, body, dry_run=True)
    assert comparable(created_here(body)) == comparable(made)


async def warnings_of(client: Client, path: str, body: dict[str, Any]) -> list[str]:
    query = {"dryRun": "All", "fieldValidation": "Ignore"}
    response = await client.request_raw("POST", path, query=query, body=msgspec.json.encode(body))
    assert response.status == 201, response.body
    told = response.headers.getall("Warning", [])
    return [msgspec.json.decode(text.partition("299 - ")[2]) for text in told]


async def test_what_is_warned_of_is_told_in_the_same_words(shared_lab: RunningLab) -> None:
    client = shared_lab.client
    odd = definition(
        "Hazel",
        version("v1beta1", _object(a={"type": "string", "format": "odd"}), storage=False, deprecated=True),
        version("v1", _object(a={"type": "integer", "format": "int8"})),
        version("v1alpha1", _object(b=_STRING), storage=False, deprecated=True, deprecationWarning="go away"),
    )
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert definitions.format_warnings(odd) == await warnings_of(client, path, odd)
    async with defined(client, odd) as live:
        for kind in kinds_of(live).values():
            obj = {"apiVersion": kind.resource.api_version, "kind": "Hazel"}
            obj["metadata"] = {"name": "h", "finalizers": ["plain", "dotted.example", "example.com/fine", "orphan"]}
            found = await warnings_of(client, kind.resource.path(namespace=NAMESPACE), obj)
            mine = [kind.deprecation] if kind.deprecation else []
            assert mine + finalizer_warnings(obj) == found


def our_judgement(body: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What our rules say of a definition that is created."""
    made = created_here(body)
    return sorted((one.field, one.reason, one.message) for one in definition_rules.create_problems(made))


async def their_judgement(client: Client, body: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What the server says of it."""
    try:
        await client.create(DEFINITIONS, body, field_validation="Ignore", dry_run=True)
    except ApiError as refused:
        if refused.code != 422:
            raise
        return sorted((cause.field, cause.reason, cause.message) for cause in refused.causes)
    return []


@pytest.mark.parametrize("body", BODIES, ids=lambda body: str(body["spec"])[:100])
async def test_ours_judges_a_definition_as_the_server_does(shared_lab: RunningLab, body: dict[str, Any]) -> None:
    assert our_judgement(body) == await their_judgement(shared_lab.client, body)


def states(found: dict[str, Any]) -> Any:
    """What a status says, without times."""
    status = found["status"]
    told = [{key: value for key, value in one.items() if key != "lastTransitionTime"} for one in status["conditions"]]
    return sorted(told, key=lambda one: one["type"]), status["acceptedNames"], status["storedVersions"]


async def compare_names(client: Client) -> AsyncIterator[tuple[str, Any, Any]]:
    """Definitions one after the other, whose names collide with those of the first."""
    first = definition("Apple", version("v1", _object(a=_STRING)), shortNames=["ap", "pl"], categories=["all"])
    rivals = [
        definition("Berry", version("v1", _object(a=_STRING)), shortNames=["ap", "pl", "by"]),
        definition("Cherry", version("v1", _object(a=_STRING)), singular="apple", listKind="AppleList"),
        {**definition("Date", version("v1", _object(a=_STRING))), "metadata": {"name": f"ap.{GROUP}"}},
        definition("Elder", version("v1", _object(a=_STRING)), singular="elders"),
    ]
    rivals[2]["spec"]["names"] = {"plural": "ap", "kind": "Apple"}
    async with defined(client, first) as apple:
        for rival in rivals:
            name = rival["metadata"]["name"]
            await client.create(DEFINITIONS, rival)
            try:
                while True:
                    found = await client.get(DEFINITIONS, name)
                    conditions = {one["type"]: one for one in found["status"].get("conditions") or ()}
                    if conditions and conditions["Established"]["reason"] != "Installing":
                        break
                    await client.clock.sleep(0.05)
                mine = definitions.named(created_here(rival), [apple], now="now")
                yield name, states(definitions.established(mine, now="now")), states(found)
            finally:
                await client.delete(DEFINITIONS, name)


async def test_names_are_given_to_whoever_came_first(shared_lab: RunningLab) -> None:
    async for name, mine, real in compare_names(shared_lab.client):
        assert mine == real, name


async def test_a_deleted_definition_stays_until_its_objects_are_gone(shared_lab: RunningLab) -> None:
    client = shared_lab.client
    async with defined(client, definition("Fig", version("v1", _object(a=_STRING)))) as live:
        kind = kinds_of(live)["v1"]
        held = {"apiVersion": f"{GROUP}/v1", "kind": "Fig", "metadata": {"name": "f", "finalizers": ["a.example/b"]}}
        await client.create(kind.resource, held, namespace=NAMESPACE)
        deleted = await client.delete(DEFINITIONS, live["metadata"]["name"])
        mine = definitions.deletion_pending(live, now="now")
        assert states(mine) == states(deleted)
        assert mine["metadata"]["finalizers"] == deleted["metadata"]["finalizers"]
        while True:
            found = await client.get(DEFINITIONS, live["metadata"]["name"])
            terminating = meta.condition(found, "Terminating")
            assert terminating is not None
            if terminating["reason"] != "InstanceDeletionPending":
                break
            await client.clock.sleep(0.05)
        assert states(definitions.deletion_begun(mine, now="now")) == states(found)
        await client.patch(kind.resource, "f", {"metadata": {"finalizers": None}}, kind="merge", namespace=NAMESPACE)


@pytest.mark.parametrize("group", ["kai", "kueue"])
async def test_definitions_of_schedulers_are_accepted(shared_lab: RunningLab, group: str) -> None:
    folder = await provisioning.assets(group, bin_dir=None, cache=cache_dir(), env=os.environ, progress=Quiet())
    files = sorted(folder.glob("*.yaml"))
    bodies = [body for file in files for body in codec.read_yaml(file.read_bytes(), source=file.name)]
    assert bodies
    for body in bodies:
        assert our_judgement(body) == await their_judgement(shared_lab.client, body) == []
        made = await shared_lab.client.create(DEFINITIONS, body, dry_run=True)
        assert comparable(created_here(body)) == comparable(made)
        assert {kind.resource.version for kind in kinds_of(made).values()} == set(kinds_of(body))
