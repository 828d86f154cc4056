"""The store against a naive model: a list of all past states, decoded, and nothing else."""

from collections.abc import Mapping
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kubedyno.kube import meta
from kubedyno.kube.codec import decode
from kubedyno.kube.selectors import FieldSelector, LabelSelector
from kubedyno.store import invariants
from kubedyno.store.errors import AlreadyExists, Conflict, Expired, NotFound, TooLarge
from kubedyno.store.log import EventType
from kubedyno.store.records import Field, Record
from kubedyno.store.selecting import Selection
from kubedyno.store.store import Store

pytestmark = pytest.mark.unit

Objects = Mapping[str, dict[str, Any]]

PODS, QUEUES = "pods", "queues.scheduling.example"
# "a-b/x" comes before "a/x": keys are ordered as texts, not namespace by namespace.
PLACES = [(namespace, name) for namespace in ("", "a", "a-b", "ab") for name in ("x", "x-1", "x.1", "y")]
LABEL_SELECTORS = [
    "",
    "",
    "app=web",
    "app!=web",
    "app in (web,db)",
    "app",
    "!app",
    "gpus>4",
    "app==db,gpus=8",
    "zone=q",
]
FIELD_SELECTORS = [
    *[""] * 6,
    "metadata.name=x",
    "metadata.namespace=a",
    "metadata.namespace=,metadata.name!=y",
    "spec.nodeName=n1",
    "spec.nodeName=",
    "spec.nodeName!=,status.phase=Running",
    "spec.nodeName=n1,spec.nodeName=n2",
]

resources = st.sampled_from([PODS, PODS, PODS, QUEUES])
owners = st.lists(st.sampled_from(["job-1", "job-2", ""]), max_size=3)
uids = st.sampled_from(["u1", "u2"])


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    """All but name and namespace; now and then with a reference that looks like an own resourceVersion."""
    labels = draw(st.dictionaries(st.sampled_from(["app", "gpus"]), st.sampled_from(["web", "db", "8", "2", ""])))
    obj: dict[str, Any] = {
        "metadata": {
            "uid": draw(uids),
            "ownerReferences": [{"uid": uid} for uid in draw(owners)],
            "labels": draw(st.sampled_from([labels, labels, None])),
        },
        "spec": {"nodeName": draw(st.sampled_from([None, "", "n1", "n2", "n3", "n4"]))},
        "status": {"phase": draw(st.sampled_from(["Pending", "Running"]))},
    }
    if draw(st.booleans()):
        obj["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    if draw(st.booleans()):
        obj["spec"]["ref"] = {"resourceVersion": str(draw(st.integers(2, 30)))}
        obj["spec"]["text"] = '{"resourceVersion":"3"}'
    return obj


def order(obj: dict[str, Any]) -> bytes:
    namespace, name = meta.key(obj)
    return f"{namespace}/{name}".encode() if namespace else name.encode()


def decoded(records: tuple[Record, ...] | list[Record]) -> list[dict[str, Any]]:
    return [decode(record.data) for record in records]


class Narrowed:
    """A selection, and how the model understands it."""

    def __init__(self, store: Store, resource: str, namespace: str, labels: str, fields: str) -> None:
        if resource == QUEUES:
            fields = ",".join(term for term in fields.split(",") if term.startswith("metadata."))
        self.namespace = namespace
        self.labels = LabelSelector.parse(labels)
        self.fields = FieldSelector.parse(fields)
        self.selection: Selection = store.selection(
            resource, namespace=namespace, labels=self.labels, fields=self.fields
        )

    def matches(self, obj: dict[str, Any] | None) -> bool:
        return (
            obj is not None
            and self.namespace in {"", meta.key(obj)[0]}
            and self.labels.matches(meta.labels(obj))
            and self.fields.matches(obj)
        )

    def of(self, state: Objects) -> list[dict[str, Any]]:
        return sorted(filter(self.matches, state.values()), key=order)

    @property
    def is_counted(self) -> bool:
        return not str(self.labels) and not str(self.fields)


class Watcher:
    """A client's cache: what it was told, nothing else."""

    def __init__(self, resource: str, narrowed: Narrowed, revision: int, known: list[dict[str, Any]]) -> None:
        self.resource = resource
        self.narrowed = narrowed
        self.revision = revision
        self.known = {order(obj): obj for obj in known}


class Paging:
    def __init__(
        self, resource: str, narrowed: Narrowed, limit: int, revision: int, left: list[dict[str, Any]]
    ) -> None:
        self.resource = resource
        self.narrowed = narrowed
        self.limit = limit
        self.revision = revision
        self.left = left
        self.after = ""


class StoreMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.past: list[dict[str, Objects]] = [{}, {PODS: {}, QUEUES: {}}]
        self.compacted = 1
        self.watchers: list[Watcher] = []
        self.pagings: list[Paging] = []

    @initialize(keep=st.sampled_from([2, 10, 100, 100]), first=st.lists(objects(), min_size=8, max_size=14))
    def begin(self, keep: int, first: list[dict[str, Any]]) -> None:
        self.keep = keep
        self.store = Store(keep_events=keep)
        self.store.declare(PODS, [Field("spec.nodeName"), Field("status.phase")])
        self.store.declare(QUEUES)
        self.told: list[str] = []
        self.store.on_change(self.told.append)
        for place, obj in zip(PLACES, first, strict=False):
            self.create(PODS, place, obj)
        for fields in ("spec.nodeName=", "spec.nodeName=n1"):
            narrowed = Narrowed(self.store, PODS, "", "", fields)
            self.watchers.append(Watcher(PODS, narrowed, self.store.revision, narrowed.of(self.now(PODS))))

    # What the model knows.

    def now(self, resource: str) -> Objects:
        return self.past[-1][resource]

    def floor(self, resource: str) -> int:
        changes = [
            revision
            for revision in range(2, len(self.past))
            if self.past[revision][resource] != self.past[revision - 1][resource]
        ]
        dropped = changes[: -self.keep]
        return max([self.compacted, *dropped[-1:]])

    def committed(self, resource: str, key: str, obj: dict[str, Any] | None) -> None:
        state = dict(self.now(resource))
        state.pop(key, None)
        if obj is not None:
            state[key] = obj
        self.past.append({**self.past[-1], resource: state})
        assert self.store.revision == len(self.past) - 1
        assert self.told.pop() == resource
        assert not self.told

    def expect_reading(self, resource: str, revision: int) -> type[Exception] | None:
        if revision >= len(self.past):
            return TooLarge
        return Expired if revision < self.floor(resource) else None

    def place(self, data: st.DataObject, resource: str) -> tuple[str, str]:
        """Mostly one that is taken: the others only teach that there is nothing."""
        taken = [meta.key(self.now(resource)[key]) for key in sorted(self.now(resource))]
        return data.draw(st.sampled_from([*taken * 3, *PLACES[::3]]), label="place")

    def moment(self, data: st.DataObject, resource: str) -> int | None:
        """Mostly one that can be read."""
        available = st.integers(self.floor(resource), self.store.revision)
        any_ = st.integers(0, self.store.revision + 1)
        return data.draw(st.one_of(available, available, st.none(), any_), label="revision")

    # Writes.

    @rule(resource=resources, place=st.sampled_from(PLACES), obj=objects())
    def create(self, resource: str, place: tuple[str, str], obj: dict[str, Any]) -> None:
        obj["metadata"] |= {"namespace": place[0], "name": place[1]}
        key = "/".join(filter(None, place))
        if key in self.now(resource):
            with pytest.raises(AlreadyExists) as caught:
                self.store.create(resource, obj)
            assert decode(caught.value.record.data) == self.now(resource)[key]
            return
        record = self.store.create(resource, obj)
        assert record.created == record.revision == self.store.revision
        self.committed(resource, key, {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(record.revision)}})

    @rule(resource=resources, number=st.integers(0, 30), obj=objects())
    def fill(self, resource: str, number: int, obj: dict[str, Any]) -> None:
        """Numbers, so that an index can leave few of many."""
        for index in range(number, number + 4):
            if f"c/{index}" not in self.now(resource):
                self.create(resource, ("c", str(index)), meta.copied(obj))

    @rule(
        resource=resources,
        obj=objects(),
        age=st.sampled_from([None, 0, 0, 1]),
        uid=st.sampled_from([None, None, "u1"]),
        data=st.data(),
    )
    def replace(
        self, *, resource: str, obj: dict[str, Any], age: int | None, uid: str | None, data: st.DataObject
    ) -> None:
        place = self.place(data, resource)
        obj["metadata"] |= {"namespace": place[0], "name": place[1], "resourceVersion": "ignored"}
        key = "/".join(filter(None, place))
        old = self.now(resource).get(key)
        wanted = None if age is None else (int(old["metadata"]["resourceVersion"]) if old else 1) - age
        if old is None or age or (uid and old["metadata"]["uid"] != uid):
            with pytest.raises(NotFound if old is None else Conflict) as caught:
                self.store.replace(resource, obj, revision=wanted, uid=uid)
            if isinstance(caught.value, Conflict):
                assert decode(caught.value.record.data) == old
            return
        record = self.store.replace(resource, obj, revision=wanted, uid=uid)
        self.committed(resource, key, {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(record.revision)}})

    @rule(
        resource=resources,
        age=st.sampled_from([None, None, 0, 1]),
        uid=st.sampled_from([None, None, "u1"]),
        data=st.data(),
    )
    def delete(self, resource: str, age: int | None, uid: str | None, data: st.DataObject) -> None:
        place = self.place(data, resource)
        key = "/".join(filter(None, place))
        old = self.now(resource).get(key)
        wanted = None if age is None else (int(old["metadata"]["resourceVersion"]) if old else 1) - age
        if old is None or age or (uid and old["metadata"]["uid"] != uid):
            with pytest.raises(NotFound if old is None else Conflict):
                self.store.delete(resource, *place, revision=wanted, uid=uid)
            return
        record = self.store.delete(resource, *place, revision=wanted, uid=uid)
        last = {**old, "metadata": {**old["metadata"], "resourceVersion": str(len(self.past))}}
        assert decode(record.data) == last
        self.committed(resource, key, None)

    @rule(node=st.sampled_from(["", "n1", "n2"]), every=st.integers(1, 5))
    def bind(self, node: str, every: int) -> None:
        """Moves pods into selections by node and out of them."""
        for key in sorted(self.now(PODS))[::every]:
            old = self.now(PODS)[key]
            obj = {**old, "metadata": {**old["metadata"]}, "spec": {**old["spec"], "nodeName": node}}
            record = self.store.replace(PODS, obj)
            new = {**old["metadata"], "resourceVersion": str(record.revision)}
            self.committed(PODS, key, {**obj, "metadata": new})

    @rule(back=st.sampled_from([-1, 3, 9, 20, 20]))
    def compact(self, back: int) -> None:
        revision = self.store.revision - back
        if back < 0:
            with pytest.raises(TooLarge):
                self.store.compact(revision)
            return
        self.store.compact(revision)
        self.compacted = max(self.compacted, revision)

    # Reads.

    @rule(resource=resources, data=st.data())
    def get(self, resource: str, data: st.DataObject) -> None:
        place, revision = self.place(data, resource), self.moment(data, resource)
        refusal = None if revision is None else self.expect_reading(resource, revision)
        expected = None
        if not refusal:
            expected = self.past[-1 if revision is None else revision][resource].get("/".join(filter(None, place)))
        if expected is None:
            with pytest.raises(refusal or NotFound):
                self.store.get(resource, *place, revision=revision)
            return
        record = self.store.get(resource, *place, revision=revision)
        assert decode(record.data) == expected
        assert (record.namespace, record.name, record.uid) == (*place, expected["metadata"]["uid"])
        assert record.deleting == ("deletionTimestamp" in expected["metadata"])

    @rule(
        resource=resources,
        namespace=st.sampled_from(["", "", "a", "a-b", "c", "nowhere"]),
        labels=st.sampled_from(LABEL_SELECTORS),
        fields=st.sampled_from(FIELD_SELECTORS),
        limit=st.sampled_from([0, 1, 3]),
        watch=st.booleans(),
        data=st.data(),
    )
    def start_list(
        self, *, resource: str, namespace: str, labels: str, fields: str, limit: int, watch: bool, data: st.DataObject
    ) -> None:
        narrowed = Narrowed(self.store, resource, namespace, labels, fields)
        revision = self.moment(data, resource)
        if revision is not None and (refusal := self.expect_reading(resource, revision)):
            for read in (
                lambda: self.store.page(resource, narrowed.selection, revision=revision),
                lambda: self.store.events(resource, revision),
            ):
                with pytest.raises(refusal):
                    read()
            return
        at = self.store.revision if revision is None else revision
        known = narrowed.of(self.past[at][resource])
        paging = Paging(resource, narrowed, limit, at, known)
        self.turn(paging, revision=revision)
        if watch:
            self.watchers.append(Watcher(resource, narrowed, at, known))

    @precondition(lambda self: self.pagings)
    @rule(data=st.data())
    def next_page(self, data: st.DataObject) -> None:
        paging = self.pagings.pop(data.draw(st.integers(0, len(self.pagings) - 1)))
        if self.expect_reading(paging.resource, paging.revision):
            with pytest.raises(Expired) as caught:
                self.turn(paging, revision=paging.revision)
            assert caught.value.oldest == self.floor(paging.resource)
            return
        self.turn(paging, revision=paging.revision)

    def turn(self, paging: Paging, *, revision: int | None) -> None:
        page = self.store.page(
            paging.resource, paging.narrowed.selection, limit=paging.limit, after=paging.after, revision=revision
        )
        limit = paging.limit or len(paging.left)
        expected, left = paging.left[:limit], paging.left[limit:]
        assert decoded(page.items) == expected
        assert page.revision == paging.revision
        if paging.narrowed.is_counted:
            assert (page.next is not None) == bool(left)
        else:
            # As in etcd, who reads on with selectors may find nothing.
            assert page.next is not None or not left
        assert page.remaining == (len(left) if left and paging.narrowed.is_counted else None)
        if page.next is not None:
            paging.after, paging.left = page.next, left
            self.pagings.append(paging)

    @rule(
        resource=resources,
        namespace=st.sampled_from(["", "", "a"]),
        labels=st.sampled_from(LABEL_SELECTORS),
        fields=st.sampled_from(FIELD_SELECTORS),
    )
    def look_back(self, resource: str, namespace: str, labels: str, fields: str) -> None:
        narrowed = Narrowed(self.store, resource, namespace, labels, fields)
        for revision in range(self.floor(resource), len(self.past)):
            expected = narrowed.of(self.past[revision][resource])
            assert decoded(self.store.page(resource, narrowed.selection, revision=revision).items) == expected
            page = self.store.page(resource, narrowed.selection, revision=revision, limit=2)
            assert decoded(page.items) == expected[:2]
            assert page.remaining == (len(expected[2:]) or None if narrowed.is_counted else None)

    @rule(resource=resources)
    def dependents(self, resource: str) -> None:
        for uid in ("job-1", "job-2", "nobody"):
            owned = [
                obj
                for obj in sorted(self.now(resource).values(), key=order)
                if any(owner["uid"] == uid for owner in obj["metadata"]["ownerReferences"])
            ]
            assert decoded(self.store.dependents(resource, uid)) == owned

    @rule()
    def poll(self) -> None:
        for watcher in list(self.watchers):
            self.catch_up(watcher)

    def catch_up(self, watcher: Watcher) -> None:
        if self.expect_reading(watcher.resource, watcher.revision):
            with pytest.raises(Expired):
                self.store.events(watcher.resource, watcher.revision)
            self.watchers.remove(watcher)
            return
        for event in self.store.events(watcher.resource, watcher.revision):
            assert watcher.revision < event.revision
            watcher.revision = event.revision
            translated = watcher.narrowed.selection.translated(event)
            before = self.past[event.revision - 1][watcher.resource]
            after = self.past[event.revision][watcher.resource]
            key = event.record.key
            was, is_ = (watcher.narrowed.matches(state.get(key)) for state in (before, after))
            if translated is None:
                assert not was
                assert not is_
                continue
            sent = decode(translated.record.data)
            assert sent["metadata"]["resourceVersion"] == str(event.revision) == str(translated.revision)
            if is_:
                assert translated.type is (EventType.MODIFIED if was else EventType.ADDED)
                assert sent == after[key]
                watcher.known[order(sent)] = sent
            else:
                assert was
                assert translated.type is EventType.DELETED
                old = before[key]
                assert sent == {**old, "metadata": {**old["metadata"], "resourceVersion": str(event.revision)}}
                del watcher.known[order(sent)]
        watcher.revision = self.store.revision
        expected = watcher.narrowed.of(self.now(watcher.resource))
        assert [watcher.known[key] for key in sorted(watcher.known)] == expected

    def teardown(self) -> None:
        self.poll()

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "store"):
            invariants.validate(self.store)
            newest = sorted(self.now(PODS).values(), key=order)
            assert decoded(self.store.page(PODS).items) == newest


StoreMachine.TestCase.settings = hypothesis.settings(max_examples=60, stateful_step_count=40)
TestStoreMachine = StoreMachine.TestCase
