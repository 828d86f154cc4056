"""Custom objects as the real API server treats them: what it keeps, fills in and refuses, and ours beside it."""

import contextlib
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import msgspec
import pytest
from tests.definitions import defined

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kinds.custom.kinds import CustomKind, kinds_of
from kubedyno.kube import meta
from kubedyno.kube.problems import Problem, invalid_status
from kubedyno.kube.resources import by_plural
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local

NAMESPACE = "default"
GROUP = "customs.kubedyno.example"
DEFINITIONS = by_plural("customresourcedefinitions.apiextensions.k8s.io")

_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}
_CONDITION = {
    "type": "object",
    "required": ["type"],
    "properties": {"type": _STRING, "status": {"type": "string", "enum": ["True", "False", "Unknown"]}},
}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


_BY_NAME = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}

SPEC = {
    **_object(
        replicas={"type": "integer", "format": "int32", "minimum": 0, "maximum": 100, "default": 1},
        big={"type": "integer", "format": "int64"},
        count=_INTEGER,
        ratio={"type": "number", "minimum": 0.5, "exclusiveMinimum": True, "maximum": 2.5},
        single={"type": "number", "format": "float"},
        step={"type": "integer", "multipleOf": 5},
        fraction={"type": "number", "multipleOf": 0.25},
        below={"type": "integer", "maximum": 10, "exclusiveMaximum": True},
        name={"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
        color={"type": "string", "enum": ["red", "green"], "default": "red"},
        level={"type": "integer", "enum": [1, 2, 3]},
        choice={"enum": [1, "a", True], "x-kubernetes-preserve-unknown-fields": True},
        enabled={"type": "boolean", "default": False},
        port={"x-kubernetes-int-or-string": True},
        limit={"anyOf": [_INTEGER, _STRING], "x-kubernetes-int-or-string": True, "pattern": "^[0-9]+%?$"},
        date={"type": "string", "format": "date"},
        time={"type": "string", "format": "date-time"},
        duration={"type": "string", "format": "duration"},
        address={"type": "string", "format": "ipv4"},
        six={"type": "string", "format": "ipv6"},
        range={"type": "string", "format": "cidr"},
        id={"type": "string", "format": "uuid"},
        site={"type": "string", "format": "uri"},
        host={"type": "string", "format": "hostname"},
        mail={"type": "string", "format": "email"},
        data={"type": "string", "format": "byte"},
        odd={"type": "string", "format": "nobody-knows"},
        short={"type": "string", "format": "k8s-short-name"},
        maybe={"type": "string", "nullable": True},
        maybeDefault={"type": "string", "nullable": True, "default": "x"},
        labels={"type": "object", "additionalProperties": _STRING},
        amounts={"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}, "maxProperties": 2},
        nested={
            "type": "object",
            "additionalProperties": _object(a={"type": "integer", "default": 7}, b=_STRING),
            "minProperties": 1,
        },
        anything={"type": "object", "additionalProperties": True},
        nothing={"type": "object", "additionalProperties": False},
        free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        half={**_object(known=_object(a=_INTEGER)), "x-kubernetes-preserve-unknown-fields": True},
        wild={"x-kubernetes-preserve-unknown-fields": True},
        freeList=_list({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        names=_list(_STRING, **{"x-kubernetes-list-type": "set", "maxItems": 3}),
        numbers=_list(_INTEGER, minItems=2),
        points=_list(
            {**_object(x=_INTEGER, y=_INTEGER), "x-kubernetes-map-type": "atomic"}, **{"x-kubernetes-list-type": "set"}
        ),
        ports=_list(
            {
                **_object(port=_INTEGER, protocol={"type": "string", "default": "TCP"}, note=_STRING),
                "required": ["port"],
            },
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]},
        ),
        items=_list(
            {**_object(name=_STRING, value=_STRING, size={"type": "integer", "maximum": 9}), "required": ["name"]},
            **_BY_NAME,
        ),
        atomic={**_object(a=_STRING, b=_STRING), "x-kubernetes-map-type": "atomic"},
        template={
            **_object(spec=_object(image=_STRING)),
            "x-kubernetes-embedded-resource": True,
        },
        resources=_list(
            {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
        ),
        inner={
            **_object(deep={**_object(a={"type": "string", "default": "deep"}), "default": {}}, other=_INTEGER),
            "required": ["other"],
        },
        oneOf={
            **_object(a=_STRING, b=_STRING),
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        anyOf={
            **_object(a=_INTEGER, b=_INTEGER),
            "anyOf": [
                {"required": ["a"], "properties": {"a": {"minimum": 5}}},
                {"required": ["b"], "properties": {"b": {"maximum": 3}}},
            ],
        },
        allOf={"type": "integer", "allOf": [{"minimum": 3}, {"maximum": 5}]},
        never={"type": "string", "not": {"enum": ["bad"]}},
    ),
    "required": ["count"],
}

STATUS = _object(
    replicas=_INTEGER,
    selector=_STRING,
    phase={"type": "string", "enum": ["Up", "Down"]},
    conditions=_list(_CONDITION, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}),
)


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


GADGET = definition(
    "Gadget",
    version(
        "v1",
        _object(spec=SPEC, status=STATUS),
        subresources={
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        selectableFields=[{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.count"}],
    ),
    version("v2", _object(spec=_object(count=_INTEGER, extra={"type": "string", "default": "two"})), storage=False),
    shortNames=["gdg"],
)

RULED = definition(
    "Ruled",
    version(
        "v1",
        _object(
            spec={
                **_object(a=_INTEGER, b={"type": "string", "minLength": 3}),
                "x-kubernetes-validations": [{"rule": "self.a >= 0", "message": "a is negative"}],
            },
            status=_object(a=_INTEGER),
        ),
    ),
)


def gadget(**spec: Any) -> dict[str, Any]:
    """A gadget with a count and these fields."""
    return _gadget({"count": 1, **spec})


def _gadget(spec: Any, **more: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": spec, **more}


def _with_metadata(**metadata: Any) -> dict[str, Any]:
    return {**gadget(), "metadata": {"name": "g", **metadata}}


POD = {"apiVersion": "v1", "kind": "Pod"}

OBJECTS: list[dict[str, Any]] = [
    gadget(),
    _gadget({}),
    _gadget("text"),
    _gadget(None),
    _gadget([]),
    {"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": {"name": "g"}},
    gadget(unknown=1, color="green"),
    gadget(nested={"m": {"a": 1, "zzz": 2}, "n": {}}, foo={"bar": [1]}),
    _gadget({"count": 1}, extra={"a": 1}, other=[1]),
    _gadget({"count": 1}, status={"phase": "Sideways", "unknown": 1}),
    # Numbers.
    gadget(replicas="3"),
    gadget(replicas=3.0),
    gadget(replicas=3.5),
    gadget(replicas=-1),
    gadget(replicas=101),
    gadget(replicas=2**31),
    gadget(replicas=True),
    gadget(replicas=None),
    gadget(replicas=[1]),
    gadget(replicas={"a": 1}),
    gadget(big=2**62),
    gadget(big=2**63),
    gadget(big=1e30),
    gadget(count=None),
    gadget(count="one"),
    gadget(ratio=0.5),
    gadget(ratio=0.75),
    gadget(ratio=1),
    gadget(ratio=0),
    gadget(ratio=2.75),
    gadget(ratio=3),
    gadget(ratio="1"),
    gadget(single=1e39),
    gadget(single="1"),
    gadget(step=7),
    gadget(step=10),
    gadget(step=7.0),
    gadget(fraction=0.3),
    gadget(fraction=0.75),
    gadget(fraction=3),
    gadget(below=10),
    gadget(below=9),
    # Texts.
    gadget(name="a"),
    gadget(name="abcdef"),
    gadget(name="ABC"),
    gadget(name="äöü"),
    gadget(name="abc\n"),
    gadget(name=5),
    gadget(color="blue"),
    gadget(color=None),
    gadget(color=5),
    gadget(level=4),
    gadget(level=2.0),
    gadget(level="2"),
    gadget(choice=1),
    gadget(choice="b"),
    gadget(choice=True),
    gadget(choice=False),
    gadget(choice={"z": 1, "a": [1, 2]}),
    gadget(enabled="true"),
    gadget(enabled=None),
    gadget(never="bad"),
    gadget(never="good"),
    # Either numbers or texts.
    gadget(port=80),
    gadget(port="http"),
    gadget(port=1.5),
    gadget(port=[80]),
    gadget(port=None),
    gadget(limit="5%"),
    gadget(limit=5),
    gadget(limit="x"),
    gadget(limit=True),
    gadget(limit=2.5),
    # Formats.
    gadget(date="2026-02-30"),
    gadget(date="2026-02-28"),
    gadget(date=5),
    gadget(date=True),
    gadget(date=[1]),
    gadget(date={}),
    gadget(time="2026-01-02T03:04:05Z"),
    gadget(time="2026-01-02 03:04:05"),
    gadget(time="2026-01-02T24:04:05Z"),
    gadget(time="2026-01-02t03:04:05.123+01:00"),
    gadget(duration="5m3s"),
    gadget(duration="5 minutes"),
    gadget(duration="5"),
    gadget(duration="soon"),
    gadget(address="10.0.0.1"),
    gadget(address="10.0.0.256"),
    gadget(address="010.0.0.1"),
    gadget(address="::1"),
    gadget(six="::1"),
    gadget(six="10.0.0.1"),
    gadget(range="10.0.0.0/8"),
    gadget(range="10.0.0.0/33"),
    gadget(range="10.0.0.0"),
    gadget(id="123e4567-e89b-12d3-a456-426614174000"),
    gadget(id="123"),
    gadget(site="https://example.com/a?b=c"),
    gadget(site="example"),
    gadget(site="/path"),
    gadget(host="example.com"),
    gadget(host="-bad-"),
    gadget(host="a_b"),
    gadget(mail="a@example.com"),
    gadget(mail="nobody"),
    gadget(data="aGVsbG8="),
    gadget(data="?"),
    gadget(odd="anything", short="Not-Short"),
    gadget(short="short-1"),
    # Null.
    gadget(maybe=None, maybeDefault=None),
    gadget(name=None, labels=None, names=None),
    gadget(labels={"a": None, "b": "c"}),
    gadget(names=[None, "a"]),
    gadget(nested={"m": None}),
    # Objects.
    gadget(labels={"a": 1, "b": "x"}),
    gadget(labels=["a"]),
    gadget(amounts={"cpu": 1, "memory": "1Gi"}),
    gadget(amounts={"cpu": 1, "memory": "1Gi", "gpu": 1}),
    gadget(nested={}),
    gadget(anything={"a": 1, "b": {"c": 1}, "d": [{"e": 1}]}),
    gadget(nothing={"a": 1}),
    gadget(nothing={}),
    gadget(free={"a": {"b": [1, {"c": None}]}}),
    gadget(half={"x": {"y": 1}, "known": {"a": 1, "b": 2}}),
    gadget(wild={"a": 1}),
    gadget(wild=[1, "a"]),
    gadget(wild="x"),
    gadget(freeList=[{"a": 1}, {"b": {"c": 2}}]),
    gadget(freeList=["x"]),
    gadget(inner={"other": 1}),
    gadget(inner={}),
    gadget(inner={"deep": {}, "other": "x"}),
    gadget(inner={"deep": {"a": 1, "q": 1}, "other": 1}),
    # Lists.
    gadget(names=["a", "b", "a", "a"]),
    gadget(names=["a", "b", "c", "d"]),
    gadget(names=["a", "b", "b"]),
    gadget(names="a"),
    gadget(numbers=[1]),
    gadget(numbers=[1, "b", 2.5]),
    gadget(points=[{"x": 1, "y": 2}, {"y": 2, "x": 1}, {"x": 3}]),
    gadget(ports=[{"port": 80}, {"port": 80, "protocol": "UDP"}]),
    gadget(ports=[{"port": 80}, {"port": 80, "protocol": "TCP"}]),
    gadget(ports=[{"note": "x"}, {"port": 1, "extra": 2}]),
    gadget(items=[{"name": "a"}, {"name": "b"}, {"name": "a"}]),
    gadget(items=[{"value": "a"}, {"value": "b"}]),
    gadget(items=["a"]),
    gadget(items=[{"name": "a", "size": 10, "zzz": 1}]),
    # Resources inside.
    gadget(template={**POD, "metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"image": "i", "x": 1}}),
    gadget(template={"spec": {"image": "i"}}),
    gadget(template={**POD, "metadata": {"name": "p", "unknown": 1, "labels": {}}, "extra": 1}),
    gadget(template={**POD, "metadata": {"labels": {"a b": "c"}, "name": "a/b"}}),
    gadget(template={**POD, "metadata": {"labels": {"a": 1}}}),
    gadget(template={"apiVersion": "a/b/c", "kind": "No Kind"}),
    gadget(template={"apiVersion": "", "kind": ""}),
    gadget(template={"apiVersion": 1, "kind": "Pod"}),
    gadget(template={**POD, "metadata": {"namespace": "UP", "finalizers": ["x y"]}}),
    gadget(resources=[{**POD, "any": {"thing": 1}}, {"kind": "Pod"}]),
    # Alternatives.
    gadget(oneOf={"a": "x"}),
    gadget(oneOf={"a": "x", "b": "y"}),
    gadget(oneOf={}),
    gadget(anyOf={"a": 5}),
    gadget(anyOf={"a": 1}),
    gadget(anyOf={"b": 9}),
    gadget(anyOf={"a": 1, "b": 9}),
    gadget(anyOf={}),
    gadget(allOf=4),
    gadget(allOf=2),
    gadget(allOf=9),
    gadget(allOf="x"),
    # Several at once.
    gadget(replicas=-5, name="A", color="blue", labels={"a": 1}),
    _gadget({"replicas": "x", "inner": {}, "unknown": 1}),
    # Metadata.
    _with_metadata(unknown=1, labels={}, annotations=None),
    _with_metadata(labels={"a": 1}),
    _with_metadata(labels=[]),
    _with_metadata(finalizers=["example.com/a"], ownerReferences=[]),
    _with_metadata(generation="x"),
    {**gadget(), "metadata": "x"},
]

RULED_OBJECTS = [
    {"apiVersion": f"{GROUP}/v1", "kind": "Ruled", "metadata": {"name": "r"}, "spec": spec}
    for spec in ({"a": 1}, {"a": "x"}, {"a": 1, "b": "x"}, {"a": "x", "b": "x"})
]

SCALES = [{"count": 1}, {"count": 1, "replicas": 7}, {"count": 1, "replicas": 0}]

STATUSES: list[Any] = [
    {},
    None,
    "x",
    {"replicas": 3, "selector": "a=b", "phase": "Up"},
    {"phase": "Odd"},
    {"replicas": "x", "selector": 5, "zzz": 1},
    {"replicas": -1},
    {"conditions": [{"type": "a"}, {"type": "a"}]},
    {"conditions": [{"status": "Maybe"}]},
]

LOOSE = _object(spec={"type": "object", "x-kubernetes-preserve-unknown-fields": True})
TIGHT = _object(
    spec={
        **_object(
            name={"type": "string", "maxLength": 3},
            other={"type": "string", "maxLength": 3},
            map={"type": "object", "additionalProperties": _INTEGER},
            items=_list({**_object(name=_STRING, v=_INTEGER, w=_STRING), "required": ["name"]}, **_BY_NAME),
            plain=_list({"type": "string", "maxLength": 3}),
            either={**_object(a=_STRING, b=_STRING), "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        ),
        "required": ["needed"],
    }
)
BEFORE = {
    "name": "too long",
    "map": {"a": "x", "b": 1},
    "items": [{"name": "a", "v": "x"}, {"name": "b", "v": 1}],
    "plain": ["too long", "ok"],
    "either": {},
}
"""What the loose schema lets in and the tight one does not."""

AFTER: list[dict[str, Any]] = [
    BEFORE,
    {**BEFORE, "name": "longer still"},
    {**BEFORE, "name": "ok"},
    {**BEFORE, "needed": 1},
    {**BEFORE, "other": "too long"},
    {**BEFORE, "map": {"a": "x", "b": "y"}},
    {**BEFORE, "map": {"a": "x", "b": 2, "c": 1}},
    {**BEFORE, "items": [{"name": "b", "v": 1}, {"name": "a", "v": "x"}]},
    {**BEFORE, "items": [{"name": "a", "v": "x", "w": "new"}]},
    {**BEFORE, "items": [{"name": "a", "v": "y"}]},
    {**BEFORE, "items": [{"name": "c", "v": "x"}]},
    {**BEFORE, "plain": ["too long", "ok", "yes"]},
    {**BEFORE, "either": {"a": "x"}},
    {**BEFORE, "either": {"a": "x", "b": "y"}},
    {},
]


@pytest.fixture(scope="module")
async def gadgets(shared_lab: RunningLab) -> AsyncIterator[dict[str, CustomKind]]:
    async with defined(shared_lab.client, GADGET) as found:
        yield kinds_of(found)


@pytest.fixture(scope="module")
async def ruled(shared_lab: RunningLab) -> AsyncIterator[CustomKind]:
    async with defined(shared_lab.client, RULED) as found:
        yield kinds_of(found)["v1"]


def ours(kind: CustomKind, document: dict[str, Any]) -> tuple[str, Any]:
    """What our functions make of a create."""
    reading = kind.read(meta.copied(document))
    if reading.error:
        return "unreadable", reading.error
    made = kind.prepared_for_create(reading.obj)
    found = kind.create_problems(made)
    if found:
        resource = kind.resource
        status = invalid_status(resource.kind, resource.group, made["metadata"]["name"], found)
        return "invalid", sorted((cause.field, cause.reason, cause.message) for cause in status.causes)
    return "made", comparable(made)


async def theirs(client: Client, kind: CustomKind, document: dict[str, Any]) -> tuple[str, Any]:
    """What the server makes of it."""
    try:
        made = await client.create(
            kind.resource, document, namespace=NAMESPACE, field_validation="Ignore", dry_run=True
        )
    except ApiError as refused:
        if refused.code == 400:
            return "unreadable", refused.message.partition(f"cannot be handled as a {kind.resource.kind}: ")[2]
        if refused.code != 422:
            raise
        return "invalid", sorted((cause.field, cause.reason, cause.message) for cause in refused.causes)
    return "made", comparable(made)


def comparable(obj: dict[str, Any]) -> dict[str, Any]:
    """Without what the server writes into metadata by itself."""
    kept = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in {"uid", "creationTimestamp", "managedFields", "namespace", "resourceVersion"}
    }
    return msgspec.convert({**obj, "metadata": kept}, dict[str, Any])


@pytest.mark.parametrize("document", OBJECTS, ids=lambda document: str(document.get("spec", document))[:80])
async def test_ours_makes_of_an_object_what_the_server_makes_of_it(
    shared_lab: RunningLab, gadgets: dict[str, CustomKind], document: dict[str, Any]
) -> None:
    assert ours(gadgets["v1"], document) == await theirs(shared_lab.client, gadgets["v1"], document)


@pytest.mark.parametrize("document", RULED_OBJECTS, ids=lambda document: str(document["spec"]))
async def test_rules_that_could_not_be_asked_are_told(
    shared_lab: RunningLab, ruled: CustomKind, document: dict[str, Any]
) -> None:
    assert ours(ruled, document) == await theirs(shared_lab.client, ruled, document)


async def unknown_of(client: Client, kind: CustomKind, document: dict[str, Any]) -> str | None:
    """What the server says of unknown fields, if it complains of anything else in no way that hides them."""
    try:
        await client.create(kind.resource, document, namespace=NAMESPACE, field_validation="Strict", dry_run=True)
    except ApiError as refused:
        return refused.message.partition(": ")[2] if refused.code == 400 else ""
    return ""


@pytest.mark.parametrize("document", OBJECTS, ids=lambda document: str(document.get("spec", document))[:80])
async def test_unknown_fields_are_told_in_the_same_words(
    shared_lab: RunningLab, gadgets: dict[str, CustomKind], document: dict[str, Any]
) -> None:
    assert our_unknown(gadgets["v1"], document) == await unknown_of(shared_lab.client, gadgets["v1"], document)


def our_unknown(kind: CustomKind, document: dict[str, Any]) -> str:
    reading = kind.read(meta.copied(document))
    unknown = ", ".join(f'unknown field "{name}"' for name in reading.unknown)
    return reading.error or (f"strict decoding error: {unknown}" if unknown else "")


@contextlib.asynccontextmanager
async def existing(client: Client, kind: CustomKind, document: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    made = await client.create(kind.resource, document, namespace=NAMESPACE)
    try:
        yield made
    finally:
        await client.delete(kind.resource, made["metadata"]["name"], namespace=NAMESPACE)


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


async def compare_statuses(client: Client, kind: CustomKind) -> AsyncIterator[tuple[Any, Any, Any]]:
    async with existing(client, kind, gadget()) as live:
        for status in STATUSES:
            wanted = {**live, "spec": {"count": 9}, "status": status}
            wanted["metadata"] = {**live["metadata"], "labels": {"not": "written"}}
            read = kind.read(meta.copied(wanted)).obj
            made = kind.prepared_for_status_update(read, live)
            put = client.update(kind.resource, wanted, subresource="status", dry_run=True)
            yield status, verdict(made, kind.status_problems(made, live)), await answer(put)


async def test_status_is_written_alone_and_checked(shared_lab: RunningLab, gadgets: dict[str, CustomKind]) -> None:
    async for status, mine, real in compare_statuses(shared_lab.client, gadgets["v1"]):
        assert mine == real, status


async def compare_updates(client: Client) -> AsyncIterator[tuple[Any, Any, Any]]:
    """Updates of an object that was made before its schema became tight."""
    async with defined(client, definition("Ratchet", version("v1", LOOSE))) as found:
        kind = kinds_of(found)["v1"]
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Ratchet", "metadata": {"name": "r"}, "spec": BEFORE}
        async with existing(client, kind, body) as live:
            found["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = TIGHT
            kind = kinds_of(await client.update(DEFINITIONS, found))["v1"]
            new = {**body, "metadata": {"name": "new"}, "spec": {"other": "too long"}}
            while await answer(client.create(kind.resource, new, namespace=NAMESPACE, dry_run=True)) == comparable(new):
                await client.clock.sleep(0.1)  # the new schema is not in use yet
            for after in AFTER:
                wanted = {**live, "spec": after}
                read = kind.read(meta.copied(wanted)).obj
                made = kind.prepared_for_update(read, live)
                put = client.update(kind.resource, wanted, dry_run=True)
                yield after, verdict(made, kind.update_problems(made, live)), await answer(put)


async def test_what_was_wrong_before_and_has_not_changed_is_let_through(shared_lab: RunningLab) -> None:
    async for after, mine, real in compare_updates(shared_lab.client):
        assert mine == real, after


@pytest.mark.parametrize("spec", SCALES, ids=str)
async def test_the_scale_of_an_object_is_read_and_written(
    shared_lab: RunningLab, gadgets: dict[str, CustomKind], spec: dict[str, Any]
) -> None:
    client, kind = shared_lab.client, gadgets["v1"]
    async with existing(client, kind, _gadget(spec)) as live:
        scale = await client.get(kind.resource, "g", namespace=NAMESPACE, subresource="scale")
        assert kind.scale_of(live) == scale
        await client.update(kind.resource, {**scale, "spec": {"replicas": 42}}, subresource="scale")
        written = await client.get(kind.resource, "g", namespace=NAMESPACE)
        made = kind.prepared_for_update(kind.with_replicas(live, 42), live)
        assert comparable(made) == comparable(written)


async def test_another_version_is_the_same_object_with_what_that_version_knows(
    shared_lab: RunningLab, gadgets: dict[str, CustomKind]
) -> None:
    client, first, second = shared_lab.client, gadgets["v1"], gadgets["v2"]
    async with existing(client, first, gadget(color="green", labels={"a": "b"})) as live:
        seen = await client.get(second.resource, "g", namespace=NAMESPACE)
        assert comparable(second.converted(live)) == comparable(seen)
    body = {**gadget(), "apiVersion": f"{GROUP}/v2"}
    async with existing(client, second, body) as live:
        read = second.read(body).obj
        stored = first.converted(second.prepared_for_create(read))
        assert comparable(live) == comparable(second.converted(first.read(stored).obj))
        assert comparable(first.read(stored).obj) == comparable(
            await client.get(first.resource, "g", namespace=NAMESPACE)
        )
