"""A server from nothing: an empty store, all built-in kinds, and the objects that every cluster has."""

import random
from collections.abc import Iterable

from kubedyno.kinds.conversions import selectable_fields as selectable
from kubedyno.kit import randomness
from kubedyno.kit.clock import Clock
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NAMESPACES, PRIORITY_CLASSES, SERVICES, for_object
from kubedyno.server.api import Api
from kubedyno.server.builtin import BuiltIn, built_in_kinds
from kubedyno.server.catalogue import Catalogue
from kubedyno.server.creating import create_object
from kubedyno.server.options import WriteOptions
from kubedyno.server.state import State
from kubedyno.store.records import Field
from kubedyno.store.store import Store

KEEP_EVENTS = 50_000
"""Events per resource that watches and pages can go back to; the real server's cache starts at a hundred and grows
to twice as many."""

_INDEXED = frozenset({"spec.nodeName", "involvedObject.name", "involvedObject.uid"})
"""What is selected by often and by few: the pods of a node, the events about an object."""

_WRITER = WriteOptions(dry_run=False, manager="kube-apiserver", validation="Ignore")

_SYSTEM_CLASSES = (
    ("system-node-critical", 2_000_001_000, "not be moved from their current node"),
    (
        "system-cluster-critical",
        2_000_000_000,
        "run in the cluster, but can be moved to another node if necessary",
    ),
)


def new_api(*, clock: Clock, seed: int, keep_events: int = KEEP_EVENTS) -> Api:
    """An API with what a new cluster has. Everything random in it follows from the seed."""
    kinds = tuple(built_in_kinds())
    store = Store(keep_events=keep_events)
    _declare(store, kinds)
    rng: random.Random = randomness.stream(seed, "server")
    state = State(store=store, catalogue=Catalogue(kinds), clock=clock, rng=rng)
    for obj in _first_objects():
        resource = for_object(obj)
        kind = state.catalogue.of(resource)
        namespace = obj["metadata"].get("namespace", "")
        create_object(state, kind, namespace, kind.read(obj).object, _WRITER)
    store.compact(store.revision)  # nobody has seen what was before the first request
    return Api(state)


def _declare(store: Store, kinds: Iterable[BuiltIn]) -> None:
    for kind in kinds:
        known = {
            field.path: Field(field.path, field.path, field.absent, indexed=field.path in _INDEXED)
            for field in selectable(kind.stored)
        }
        store.declare(kind.stored.full_name, tuple(known.values()))


def _first_objects() -> Iterable[Object]:
    for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
        yield {"apiVersion": "v1", "kind": NAMESPACES.kind, "metadata": {"name": name}}
    for name, value, what in _SYSTEM_CLASSES:
        yield {
            "apiVersion": PRIORITY_CLASSES.api_version,
            "kind": PRIORITY_CLASSES.kind,
            "metadata": {"name": name},
            "value": value,
            "description": f"Used for system critical pods that must {what}.",
        }
    yield {
        "apiVersion": "v1",
        "kind": SERVICES.kind,
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {"ports": [{"name": "https", "port": 443, "targetPort": 6443}], "sessionAffinity": "None"},
    }
