"""Widgets: the custom resource of the tests, in a group of each behaviour's own."""

from typing import Any

from tests.conformance.api import Api
from tests.conformance.objects import of

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource


def widget_crd(group: str, **version: Any) -> Object:
    """A CRD of widgets in a group of its own; keyword arguments are fields of its one version."""
    return of(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        f"widgets.{group}",
        spec={
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "size": {"type": "integer", "minimum": 1, "maximum": 9},
                                        "colour": {"type": "string", "enum": ["red", "green"], "default": "green"},
                                        "parts": {
                                            "type": "array",
                                            "items": {
                                                "type": "object",
                                                "required": ["id"],
                                                "properties": {"id": {"type": "string"}, "text": {"type": "string"}},
                                            },
                                            "x-kubernetes-list-type": "map",
                                            "x-kubernetes-list-map-keys": ["id"],
                                        },
                                    },
                                },
                                "status": {
                                    "type": "object",
                                    "properties": {
                                        "ready": {"type": "integer"},
                                        "selector": {"type": "string"},
                                    },
                                },
                            },
                        }
                    },
                    **version,
                }
            ],
        },
    )


def widgets(group: str, version: str = "v1") -> Resource:
    return Resource(group, version, "Widget", "widgets", namespaced=True, subresources=("status", "scale"))


def widget(group: str, name: str = "widget", version: str = "v1", **spec: Any) -> Object:
    return of(f"{group}/{version}", "Widget", name, spec=spec)


def group(api: Api) -> str:
    return f"{api.namespace}.example.com"


async def define(api: Api, crd: Object | None = None, **version: Any) -> Resource:
    """Create the CRD of widgets and wait until it is served."""
    made = await api.create(crd or widget_crd(group(api), **version), recorded=False)
    assert made.code == 201, made.body
    at = widgets(group(api))

    async def served() -> bool:
        listed = await api.list(at, recorded=False)
        probe = await api.create(widget(group(api), "probe", size=1), at=at, dryRun="All", recorded=False)
        return listed.code == 200 and probe.code in {201, 422}

    await api.until(served)
    return at


def schema(**spec: Any) -> Object:
    """A version whose spec has these properties."""
    properties = {"spec": {"type": "object", "properties": spec}, "status": {"type": "object"}}
    return {"openAPIV3Schema": {"type": "object", "properties": properties}}
