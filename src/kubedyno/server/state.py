"""What all handlers share: the store, the kinds that are served, time and randomness."""

import random
from collections.abc import Iterable

from kubedyno.kit.clock import Clock
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import RESOURCE_QUOTAS, Resource
from kubedyno.server.addresses import Addresses
from kubedyno.server.catalogue import Catalogue
from kubedyno.server.changes import Changes
from kubedyno.server.newcomers import Newcomers
from kubedyno.server.renewals import Renewals
from kubedyno.server.rewrites import Rewrites
from kubedyno.server.stamping import Stamps
from kubedyno.server.templates import Templates
from kubedyno.store.errors import AlreadyExists, NotFound
from kubedyno.store.records import Record
from kubedyno.store.store import Store


class State:
    """One server's world. It belongs to one event loop."""

    def __init__(self, *, store: Store, catalogue: Catalogue, clock: Clock, rng: random.Random) -> None:
        self.store = store
        self.catalogue = catalogue
        self.clock = clock
        self.rng = rng
        self.changes = Changes(store)
        self.addresses = Addresses(store)
        self.stamps = Stamps(clock, rng)
        self.templates = Templates(store, self.stamps)
        self.newcomers = Newcomers(store, self.stamps)
        self.rewrites = Rewrites(store, self.stamps)
        self.renewals = Renewals(store, self.stamps)

    def now(self) -> str:
        """The time as objects carry it: `2026-01-02T03:04:05Z`."""
        return self.stamps.now()

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """An object as it is kept, None when there is none: for `kinds.admission.Lookup`."""
        try:
            return codec.decode(self.store.get(resource.full_name, namespace, name).data)
        except NotFound:
            return None

    def list(self, resource: Resource, namespace: str) -> Iterable[Object]:
        """The objects of a namespace, or of all, as they are kept: for `kinds.admission.Lookup`."""
        selection = self.store.selection(resource.full_name, namespace=namespace)
        return (codec.decode(record.data) for record in self.store.page(resource.full_name, selection).items)

    def dry_record(self, obj: Object, before: Record | None) -> Record:
        """A record that is stored nowhere: of a dry run, or of a last state that nobody keeps."""
        metadata = obj["metadata"]
        return Record(
            before.key if before else metadata["name"],
            metadata.get("uid", ""),
            {},
            (),
            (metadata["name"], metadata.get("namespace", "")),
            before.created if before else 0,
            before.revision if before else 0,
            bool(metadata.get("deletionTimestamp")),
            codec.encode(obj),
        )

    def refuse_existing(self, resource: str, obj: Object) -> None:
        """Raise what a create would, where the object is there already."""
        metadata = obj["metadata"]
        try:
            existing = self.store.get(resource, metadata.get("namespace", ""), metadata["name"])
        except NotFound:
            return
        raise AlreadyExists(resource, existing)

    def charge(self, quotas: Iterable[Object]) -> None:
        """Keep what quotas have been charged with."""
        for quota in quotas:
            self.store.replace(RESOURCE_QUOTAS.full_name, quota)
