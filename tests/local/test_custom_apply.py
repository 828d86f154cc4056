"""Server-side apply to custom objects on the real API server, which follows the schema; ours beside it."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.definitions import defined

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kinds.custom import applying
from kubedyno.kinds.custom.kinds import CustomKind, kinds_of
from kubedyno.kube import meta, ownership
from kubedyno.kube.fieldsets import FieldSet
from kubedyno.kube.fieldsets import field as field_element
from kubedyno.kube.ownership import FieldConflict, Owned, Owner
from kubedyno.kube.resources import by_plural
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local

NAMESPACE = "default"
GROUP = "applying.kubedyno.example"
DEFINITIONS = by_plural("customresourcedefinitions.apiextensions.k8s.io")
STATUS_FIELD: FieldSet = frozenset([(field_element("status"),)])

_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}
_BY_NAME = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
_BY_PORT = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


SPEC = _object(
    count=_INTEGER,
    replicas={"type": "integer", "default": 1},
    name=_STRING,
    color={"type": "string", "default": "red"},
    enabled={"type": "boolean", "default": False},
    date={"type": "string", "format": "date"},
    port={"x-kubernetes-int-or-string": True},
    labels={"type": "object", "additionalProperties": _STRING},
    nested={"type": "object", "additionalProperties": _object(a={"type": "integer", "default": 7}, b=_STRING)},
    free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    half={**_object(known=_object(a=_INTEGER)), "x-kubernetes-preserve-unknown-fields": True},
    names=_list(_STRING, **{"x-kubernetes-list-type": "set"}),
    numbers=_list(_INTEGER),
    ports=_list(
        {**_object(port=_INTEGER, protocol={"type": "string", "default": "TCP"}, note=_STRING), "required": ["port"]},
        **_BY_PORT,
    ),
    items=_list({**_object(name=_STRING, value=_STRING, size=_INTEGER), "required": ["name"]}, **_BY_NAME),
    atomic={**_object(a=_STRING, b=_STRING), "x-kubernetes-map-type": "atomic"},
    template={**_object(spec=_object(image=_STRING)), "x-kubernetes-embedded-resource": True},
    inner=_object(deep={**_object(a={"type": "string", "default": "deep"}), "default": {}}, other=_INTEGER),
)
SCHEMA = _object(spec=SPEC, status=_object(phase=_STRING))

GADGET = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"gadgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {"status": {}},
            }
        ],
    },
}


def gadget(**spec: Any) -> dict[str, Any]:
    """A gadget with a count and these fields."""
    return _gadget({"count": 1, **spec})


def _gadget(spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": spec}


def _with_metadata(**metadata: Any) -> dict[str, Any]:
    return {**gadget(), "metadata": {"name": "g", **metadata}}


POD = {"apiVersion": "v1", "kind": "Pod"}

CONFIGURATIONS: list[dict[str, Any]] = [
    gadget(),
    gadget(unknown=2),
    gadget(count="x"),
    gadget(count=[1]),
    gadget(count=True),
    gadget(name=5),
    gadget(name=[5, "a"]),
    gadget(enabled="x"),
    gadget(date={"a": 1}),
    gadget(items="x"),
    gadget(items=[{"value": "a"}]),
    gadget(items=[{"name": "a"}, {"name": "a"}]),
    gadget(items=[5]),
    gadget(items=[None]),
    gadget(items=[{"name": "a", "zzz": 1}]),
    gadget(names=["a", "a"]),
    gadget(names=[{"a": 1}]),
    gadget(names=[None]),
    gadget(ports=[{"port": 1}, {"port": 1, "protocol": "TCP"}]),
    gadget(ports=[{"note": "x"}]),
    gadget(numbers=[1, "a"]),
    gadget(labels={"a": 1}),
    gadget(labels=["a"]),
    gadget(nested={"a": {"zz": 1}}),
    gadget(free={"a": [1, {"b": 1}]}),
    gadget(half={"x": 1, "known": {"a": 1, "b": 2}}),
    gadget(template={"kind": 1}),
    gadget(atomic={"zz": 1}),
    gadget(port={}),
    _with_metadata(labels={"a": 1}),
    _with_metadata(unknown=1),
    _with_metadata(finalizers=["a", "a"]),
]

History = list[tuple[str, str, dict[str, Any]]]
"""Who does what, with what."""

HISTORIES: dict[str, History] = {
    "a created object belongs to its creator": [
        (
            "maker",
            "create",
            gadget(labels={"a": "b"}, items=[{"name": "a", "value": "1"}], names=["x"], atomic={"a": "1"}),
        ),
        ("other", "merge", {"spec": {"labels": {"c": "d"}, "atomic": {"b": "2"}, "unknown": 1}}),
        ("other", "merge", {"spec": {"items": [{"name": "a", "value": "2"}, {"name": "b"}], "names": ["x", "y"]}}),
        ("third", "merge", {"spec": {"items": [{"name": "b"}], "labels": None}, "metadata": {"labels": {"x": "y"}}}),
    ],
    "an apply owns what it names, items by their keys": [
        ("first", "apply", gadget(items=[{"name": "a", "value": "1"}, {"name": "b"}], names=["x", "y"])),
        ("second", "apply", _gadget({"items": [{"name": "c"}, {"name": "a", "size": 3}], "names": ["z"]})),
        ("first", "apply", gadget(items=[{"name": "a", "value": "1"}], names=["y"])),
        ("second", "apply", _gadget({"items": [{"name": "a", "size": 4}]})),
        ("third", "apply", _gadget({"items": [{"name": "a", "size": 5}]})),
        ("third", "force", _gadget({"items": [{"name": "a", "size": 5}]})),
    ],
    "keys have defaults": [
        ("first", "apply", gadget(ports=[{"port": 80}, {"port": 53, "protocol": "UDP", "note": "dns"}])),
        ("second", "apply", _gadget({"ports": [{"port": 80, "protocol": "TCP", "note": "web"}]})),
        ("first", "apply", gadget(ports=[{"port": 53, "protocol": "UDP"}])),
    ],
    "atomic maps and plain lists go as a whole": [
        ("first", "apply", gadget(atomic={"a": "1"}, numbers=[1, 2], free={"a": {"b": [1]}, "c": 1})),
        ("second", "apply", _gadget({"atomic": {"b": "2"}})),
        ("second", "force", _gadget({"atomic": {"b": "2"}, "numbers": [3, 4], "free": {"a": {"d": 1}}})),
        ("first", "apply", gadget(free={"c": 1})),
    ],
    "maps of objects and resources inside": [
        (
            "first",
            "apply",
            gadget(nested={"m": {"b": "x"}, "n": {"a": 1}}, template={**POD, "metadata": {"labels": {"a": "b"}}}),
        ),
        ("second", "apply", _gadget({"nested": {"m": {"a": 2}}, "template": {**POD, "spec": {"image": "i"}}})),
        ("first", "apply", gadget(nested={"n": {"a": 1}})),
        ("second", "apply", _gadget({})),
    ],
    "defaults that nobody applied belong to nobody": [
        ("first", "apply", gadget(inner={"other": 1})),
        ("second", "apply", _gadget({"replicas": 2, "color": "green"})),
        ("second", "apply", _gadget({"color": "green"})),
        ("editor", "merge", {"spec": {"inner": {"deep": {"a": "changed"}}}}),
    ],
}


@pytest.fixture(scope="module")
async def kind(shared_lab: RunningLab) -> AsyncIterator[CustomKind]:
    async with defined(shared_lab.client, GADGET) as found:
        yield kinds_of(found)["v1"]


def comparable(obj: dict[str, Any]) -> dict[str, Any]:
    """Without what the server writes into metadata by itself."""
    kept = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in {"uid", "creationTimestamp", "managedFields", "namespace", "resourceVersion"}
    }
    return msgspec.convert({**obj, "metadata": kept}, dict[str, Any])


async def refusal(client: Client, kind: CustomKind, config: dict[str, Any]) -> str:
    """Why the server does not take a configuration for its types."""
    try:
        await client.apply(config, field_manager="m", resource=kind.resource, namespace=NAMESPACE, dry_run=True)
    except ApiError as refused:
        return refused.message.partition("Kind=Gadget): ")[2] if refused.code == 500 else ""
    return ""


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=lambda config: str(config["spec"])[:80])
async def test_a_configuration_that_does_not_fit_is_refused_in_the_same_words(
    shared_lab: RunningLab, kind: CustomKind, config: dict[str, Any]
) -> None:
    assert applying.misfit(config, kind.schema) == await refusal(shared_lab.client, kind, config)


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
async def test_ownership_follows_the_schema(shared_lab: RunningLab, kind: CustomKind, history: History) -> None:
    await replay(shared_lab.client, kind, history)


async def replay(client: Client, kind: CustomKind, history: History) -> None:
    """Send each step to the server and compare owners and objects."""
    live: dict[str, Any] = {}
    try:
        for manager, what, document in history:
            before = meta.copied(live)
            owners = ownership.read(before.get("metadata", {}).get("managedFields", []))
            operation = "Apply" if what in {"apply", "force"} else "Update"
            by = Owner(manager=manager, operation=operation, api_version=kind.resource.api_version)
            if operation == "Apply":
                live = await _apply(client, kind, document, before, by=by, force=what == "force")
            else:
                if what == "create":
                    live = await client.create(kind.resource, document, namespace=NAMESPACE, field_manager=manager)
                else:
                    live = await client.patch(
                        kind.resource, "g", document, kind="merge", namespace=NAMESPACE, field_manager=manager
                    )
                after = ownership.after_update(
                    before, live, owners, by=by, view=kind.view, now="", ignored=STATUS_FIELD
                )
                assert _owners(after) == _owners(ownership.read(live["metadata"]["managedFields"]))
    finally:
        if live:
            await client.delete(kind.resource, "g", namespace=NAMESPACE)


async def _apply(
    client: Client,
    kind: CustomKind,
    document: dict[str, Any],
    before: dict[str, Any],
    *,
    by: Owner,
    force: bool,
) -> dict[str, Any]:
    owners = ownership.read(before.get("metadata", {}).get("managedFields", []))

    def mine() -> tuple[dict[str, Any], tuple[Owned, ...]]:
        return ownership.apply(
            before, document, owners, by=by, force=force, view=kind.view, now="", ignored=STATUS_FIELD
        )

    refused: ApiError | None = None
    try:
        live = await client.apply(
            document, field_manager=by.manager, resource=kind.resource, namespace=NAMESPACE, force=force
        )
    except ApiError as error:
        refused = error
    if refused is not None:
        assert refused.is_conflict, refused
        with pytest.raises(FieldConflict) as conflict:
            mine()
        assert {path for _, path in conflict.value.conflicts} == {cause.field for cause in refused.causes}
        return before
    merged, after = mine()
    made = kind.read(merged).obj
    made = kind.prepared_for_update(made, before) if before else kind.prepared_for_create(made)
    assert comparable(made) == comparable(live)
    assert _owners(after) == _owners(ownership.read(live["metadata"]["managedFields"]))
    return live


def _owners(owners: tuple[Owned, ...]) -> dict[Owner, FieldSet]:
    return {owned.owner: owned.fields for owned in owners}
