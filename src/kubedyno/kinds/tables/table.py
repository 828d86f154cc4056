"""Objects to a `Table` of `meta.k8s.io/v1`, which `kubectl get` asks for and prints."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from kubedyno.kinds.tables import cluster, network, pods, policies, storage, workloads
from kubedyno.kinds.tables.printing import Column, Printer, at, columns, name
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource

IncludeObject = Literal["None", "Metadata", "Object"]
"""What a row carries of its object: the query parameter `includeObject`."""

SCALES = Resource("autoscaling", "v1", "Scale", "scales", namespaced=True)
"""The kind of the `scale` subresource: no resource of its own, but a row like any."""

_META = "meta.k8s.io/v1"

_PRINTERS: Mapping[str, Printer] = {
    **pods.PRINTERS,
    **workloads.PRINTERS,
    **cluster.PRINTERS,
    **storage.PRINTERS,
    **network.PRINTERS,
    **policies.PRINTERS,
}


def _plain_cells(obj: Object, now_ns: int) -> list[Any]:
    # An object that never was created has Go's zero time.
    return [name(obj, now_ns), at(obj, "metadata.creationTimestamp") or "0001-01-01T00:00:00Z"]


_PLAIN = Printer(columns=columns("Name", "Created At:date"), cells=_plain_cells)


def printer_of(resource: Resource) -> Printer:
    """The printer of a built-in kind; those without one have name and time of creation."""
    return _PRINTERS.get(resource.full_name, _PLAIN)


def table(
    printer: Printer,
    objects: Sequence[Object],
    *,
    now_ns: int,
    include_object: IncludeObject = "Metadata",
    metadata: Mapping[str, Any] | None = None,
    with_columns: bool = True,
) -> Object:
    """The table of a list, of one object, or of one event of a watch.

    `metadata` is that of the list; for one object it is made from the object. A watch tells the columns with its first
    event only (`with_columns`). `now_ns` is the time since 1970, for ages.
    """
    if metadata is None:
        version = at(objects[0], "metadata.resourceVersion") if objects else None
        metadata = {"resourceVersion": version} if version else {}
    return {
        "kind": "Table",
        "apiVersion": _META,
        "metadata": dict(metadata),
        "columnDefinitions": list(map(_definition, printer.columns)) if with_columns else None,
        "rows": [_row(printer, obj, now_ns, include_object) for obj in printer.order(objects)],
    }


def _row(printer: Printer, obj: Object, now_ns: int, include_object: IncludeObject) -> Object:
    row: Object = {"cells": printer.cells(obj, now_ns)}
    conditions = printer.conditions(obj)
    if conditions:
        row["conditions"] = conditions
    match include_object:
        case "None":
            row["object"] = None
        case "Metadata":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": _META,
                "metadata": obj.get("metadata") or {},
            }
        case "Object":
            row["object"] = obj
    return row


def _definition(column: Column) -> Object:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }
