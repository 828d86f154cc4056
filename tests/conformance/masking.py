"""What must differ between two runs of one behaviour, replaced by what must not.

Masks keep all that can be kept: the same uid gets the same mark wherever it stands, versions keep their order, and a
field that is there stays there. What has another form than it should is left as it is, and so shows as a difference.
"""

import datetime as dt
import re
from typing import Any

from tests.conformance.api import Entry

NAMESPACE = "<namespace>"

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_SUFFIX = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5}")
_TOKEN_VOLUME = re.compile(r"kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}")
_CLUSTER_IP = re.compile(r"10\.96\.\d+\.\d+")
_AGE = re.compile(r"\d+(ms|s|m|h|d)\d*s?( ago)?")
_VERSION_IN_TEXT = re.compile(
    r"(?<=Too large resource version: )\d+|(?<=current: )\d+|(?<=in precondition: )\d+|(?<=in object meta: )\d+"
    r"|(?<=too old resource version: )\d+|(?<=\()\d+(?=\)$)|(?<=resourceVersion=)\d+|(?<=precondition \()\d+"
    r'|(?<=record \()\d+|(?<=resourceVersion\\":\\")\d+'
)
_LONGEST_BASE = 58
"""A longer base of a generated name is cut to this many characters."""

_NODE_PORTS = range(30000, 32768)
_REVISION = "deployment.kubernetes.io/revision"
_CONTROLLERS = frozenset({"kube-controller-manager", "kube-scheduler", "kwok"})
_NEAR = dt.timedelta(days=2)


def masked(entries: list[Entry], *, namespace: str, now: dt.datetime, controlled: bool = False) -> list[Entry]:
    """The record of a behaviour without what is accidental in it. `now` tells stamps of the server from literals."""
    mask = _Mask(namespace, now, controlled=controlled)
    for entry in entries:
        mask.collect(entry)
    mask.order()
    return [mask.entry(entry) for entry in entries]


class _Mask:
    def __init__(self, namespace: str, now: dt.datetime, *, controlled: bool) -> None:
        self._namespace = namespace
        self._now = now
        self._controlled = controlled
        self._versions: dict[int, int] = {}
        self._newest = 0
        self._uids: dict[str, str] = {}
        self._made_up: dict[str, str] = {}

    def collect(self, value: Any) -> None:
        """Learn the versions of objects and the names that the server made up."""
        if isinstance(value, list):
            for item in value:
                self.collect(item)
        elif isinstance(value, dict):
            if _is_of_many(value):
                self._learn_token(value.get("metadata"))
            else:
                self._learn(value.get("metadata"))
            for key, item in value.items():
                if key != "bookmark":
                    self.collect(item)

    def _learn(self, metadata: Any) -> None:
        if not isinstance(metadata, dict):
            return
        version = metadata.get("resourceVersion", "")
        if isinstance(version, str) and version.isdigit():
            self._versions[int(version)] = 0
        base, name = metadata.get("generateName", "")[:_LONGEST_BASE], metadata.get("name")
        if base and name and name.startswith(base) and _SUFFIX.fullmatch(name[len(base) :]):
            self._made_up.setdefault(name, f"{base}<generated {len(self._made_up) + 1}>")

    def _learn_token(self, metadata: Any) -> None:
        if isinstance(metadata, dict) and metadata.get("continue"):
            self._made_up[metadata["continue"]] = "<token>"

    def order(self) -> None:
        """Number the versions: what matters is which came first and which are the same."""
        self._versions = {version: place + 1 for place, version in enumerate(sorted(self._versions))}

    def entry(self, entry: Entry) -> Entry:
        """One entry of the record, masked."""
        done = {key: self._value(value, key) for key, value in entry.items()}
        if "bookmark" in entry:
            done["bookmark"]["metadata"] = self._metadata(entry["bookmark"]["metadata"], of_many=True)
        return done

    def _value(self, value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return self._list(value, key)
        if isinstance(value, str):
            is_address = key in {"clusterIP", "clusterIPs"} and _CLUSTER_IP.fullmatch(value)
            return "<cluster ip>" if is_address else self._text(value)
        return "<node port>" if key in {"nodePort", "healthCheckNodePort"} and value in _NODE_PORTS else value

    def _list(self, items: list[Any], key: str) -> list[Any]:
        if key == "managedFields":
            return self._managers(items)
        if key == "causes" and all(cause.get("reason") == "FieldManagerConflict" for cause in items):
            # Of several managers the server tells in any order.
            items = sorted(items, key=lambda cause: str(cause["field"]))
        return [self._value(item, key) for item in items]

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        done: dict[str, Any] = {}
        if value.get("kind") == "Table":
            value = _without_ages_and_descriptions(value)
        for key, item in value.items():
            if key == "metadata" and isinstance(item, dict):
                done[key] = self._metadata(item, of_many=_is_of_many(value))
            elif key == "resourceVersion" and isinstance(item, str) and item.isdigit():
                done[key] = self._version(item)
            elif key == "status" and self._controlled and "metadata" in value:
                done[key] = "<of a controller>"
            else:
                done[self._text(key)] = self._value(item, key)
        return done

    def _metadata(self, metadata: dict[str, Any], *, of_many: bool) -> dict[str, Any]:
        if self._controlled and _REVISION in metadata.get("annotations", {}):
            kept = {key: value for key, value in metadata["annotations"].items() if key != _REVISION}
            metadata = {key: value for key, value in metadata.items() if key != "annotations"}
            metadata = {**metadata, "annotations": kept} if kept else metadata
        done = self._object(metadata)
        version = metadata.get("resourceVersion", "")
        if of_many and version.isdigit():
            # Others write in the meantime, so that only a lower bound of it can be told.
            done["resourceVersion"] = "<up to date>" if int(version) >= self._newest else "<older>"
        return done

    def _version(self, version: str) -> str:
        if self._controlled:
            return "<version>"
        place = self._versions.get(int(version))
        if place is None:
            return version
        self._newest = max(self._newest, int(version))
        return f"<version {place}>"

    def _managers(self, entries: list[Any]) -> list[Any]:
        """Sorted, because the server sorts by the second of the write."""
        kept = [entry for entry in entries if not (self._controlled and entry.get("manager") in _CONTROLLERS)]
        done = [self._object(entry) for entry in kept]
        return sorted(done, key=lambda entry: [str(entry.get(key, "")) for key in ("manager", "operation", "fieldsV1")])

    def _text(self, text: str) -> str:
        text = _UID.sub(lambda found: self._uids.setdefault(found[0], f"<uid {len(self._uids) + 1}>"), text)
        text = _TIME.sub(self._time, text)
        text = _TOKEN_VOLUME.sub("kube-api-access-<generated>", text)
        text = _VERSION_IN_TEXT.sub(self._version_in_text, text)
        for name, mark in self._made_up.items():
            text = text.replace(name, mark)
        return text.replace(self._namespace, NAMESPACE)

    def _version_in_text(self, found: re.Match[str]) -> str:
        place = self._versions.get(int(found[0]))
        # Whether a list's version, from which a watch begins, is that of an object depends on who else writes.
        is_of_watch = found.string[: found.start()].endswith("resourceVersion=")
        if place is not None and not is_of_watch:
            return f"<version {place}>"
        # The current version is any number; one that a behaviour wrote is a round one.
        return found[0] if int(found[0]) < 10 or found[0].endswith("0000") else "<some version>"

    def _time(self, found: re.Match[str]) -> str:
        stamp = dt.datetime.fromisoformat(found[0])
        if abs(stamp - self._now) > _NEAR:
            return found[0]
        return f"<time with {len(found[1]) - 1} digits>" if found[1] else "<time>"


def _is_of_many(value: dict[str, Any]) -> bool:
    """Whether its metadata are those of a list or a table, and tell no version of an object."""
    return "items" in value or str(value.get("kind", "")).endswith("List") or value.get("kind") == "Table"


def _without_ages_and_descriptions(table: dict[str, Any]) -> dict[str, Any]:
    """Pages of documentation stand above each column; one behaviour looks at them."""
    # Later tables of a watch have no columns; the first one is the name in all of them.
    names = {at for at, column in enumerate(table.get("columnDefinitions") or ()) if column.get("format") == "name"}
    names = names or {0}
    rows = [
        {**row, "cells": [cell if at in names else _without_age(cell) for at, cell in enumerate(row["cells"])]}
        for row in table.get("rows") or ()
    ]
    columns = [{**column, "description": "<text>"} for column in table.get("columnDefinitions") or ()]
    return {**table, "columnDefinitions": columns, "rows": rows}


def _without_age(cell: Any) -> Any:
    return "<age>" if isinstance(cell, str) and _AGE.fullmatch(cell) else cell
