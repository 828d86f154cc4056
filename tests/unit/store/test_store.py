from typing import Any

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import decode, encode
from kubedyno.kube.selectors import FieldSelector, LabelSelector
from kubedyno.store import invariants
from kubedyno.store.errors import AlreadyExists, Conflict, Expired, NotFound, StoreError, TooLarge
from kubedyno.store.ordering import SortedKeys
from kubedyno.store.records import Field
from kubedyno.store.selecting import Selection
from kubedyno.store.store import Store

pytestmark = pytest.mark.unit


def pod(name: str, *, node: str = "", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", **metadata},
        "spec": {"nodeName": node},
    }


@pytest.fixture
def store() -> Store:
    made = Store(keep_events=100)
    made.declare("pods", [Field("spec.nodeName")])
    made.declare("nodes", [Field("spec.unschedulable", absent="false")])
    return made


def selected(store: Store, resource: str, *, labels: str = "", fields: str = "") -> Selection:
    return store.selection(resource, labels=LabelSelector.parse(labels), fields=FieldSelector.parse(fields))


def names(store: Store, resource: str, *, labels: str = "", fields: str = "") -> list[str]:
    return [
        record.name for record in store.page(resource, selected(store, resource, labels=labels, fields=fields)).items
    ]


def test_an_empty_store_is_at_the_first_revision_and_the_first_write_takes_the_next(store: Store) -> None:
    assert store.revision == store.page("pods").revision == 1
    assert store.create("pods", pod("a")).revision == store.revision == 2
    assert store.create("nodes", {"metadata": {"name": "n"}}).revision == 3


def test_everybody_gets_the_same_bytes(store: Store) -> None:
    record = store.create("pods", pod("a"))
    assert record.data == encode(pod("a", resourceVersion="2"))
    readers = [
        store.get("pods", "default", "a"),
        store.page("pods").items[0],
        store.events("pods", 1)[0].record,
        store.get("pods", "default", "a", revision=2),
    ]
    assert all(reader.data is record.data for reader in readers)


def test_a_replacement_keeps_the_creation_and_shares_what_stayed(store: Store) -> None:
    first = store.create("pods", pod("a", labels={"app": "web"}, ownerReferences=[{"uid": "job"}]))
    second = store.replace("pods", decode(first.data), revision=2, uid="uid-a")
    assert (second.created, second.revision) == (2, 3)
    assert second.labels is first.labels
    assert second.owners is first.owners
    assert second.fields is first.fields


REFUSALS = [
    (
        lambda store: store.create("pods", pod("a")),
        AlreadyExists,
        "pods 'default/a' exists since revision 2: replace it",
    ),
    (lambda store: store.replace("pods", pod("b")), NotFound, "pods 'default/b' does not exist"),
    (lambda store: store.delete("pods", "default", "b"), NotFound, "pods 'default/b' does not exist"),
    (lambda store: store.get("pods", "default", "b"), NotFound, "pods 'default/b' does not exist"),
    (lambda store: store.get("nodes", "", "a"), NotFound, "nodes 'a' does not exist"),
    (
        lambda store: store.replace("pods", pod("a"), revision=2),
        Conflict,
        "pods 'default/a' is at revision 3, not 2: read it again",
    ),
    (
        lambda store: store.delete("pods", "default", "a", uid="old", revision=3),
        Conflict,
        "pods 'default/a' has uid 'uid-a', not 'old': read it again",
    ),
    (
        lambda store: store.get("pods", "default", "a", revision=1),
        Expired,
        "revision 1 of pods is compacted: the oldest one left is 2",
    ),
    (lambda store: store.events("pods", 0), Expired, "revision 0 of pods is compacted: the oldest one left is 2"),
    (lambda store: store.page("pods", revision=4), TooLarge, "revision 4 has not happened: the newest one is 3"),
    (lambda store: store.compact(4), TooLarge, "revision 4 has not happened: the newest one is 3"),
]


@pytest.mark.parametrize(("ask", "kind", "sentence"), REFUSALS)
def test_what_is_refused_is_said_and_changes_nothing(
    store: Store, ask: Any, kind: type[StoreError], sentence: str
) -> None:
    store.create("pods", pod("a"))
    newest = store.replace("pods", pod("a"))
    store.compact(2)
    with pytest.raises(kind) as caught:
        ask(store)
    assert str(caught.value) == sentence
    assert store.revision == 3
    assert store.page("pods").items == (newest,)
    if isinstance(caught.value, AlreadyExists | Conflict):
        assert caught.value.record is newest
    invariants.validate(store)


@pytest.mark.parametrize("metadata", [None, {}, {"name": ""}, {"name": "a/b"}, {"name": "a", "namespace": "b/c"}])
def test_an_object_without_a_usable_name_is_refused(store: Store, metadata: dict[str, str] | None) -> None:
    with pytest.raises(UsageError, match=r"pods '.*' cannot be stored: metadata.name must be set"):
        store.create("pods", {"metadata": metadata})
    assert store.revision == 1


@pytest.mark.parametrize(
    "broken", [{"labels": {"app": 1}}, {"ownerReferences": [{"uid": 1}]}, {"annotations": {"a": object()}}]
)
def test_an_object_that_cannot_be_recorded_leaves_the_store_as_it_was(store: Store, broken: dict[str, Any]) -> None:
    store.create("pods", pod("a"))
    for write in (lambda: store.create("pods", pod("b", **broken)), lambda: store.replace("pods", pod("a", **broken))):
        with pytest.raises(TypeError):
            write()
    assert store.revision == 2
    assert names(store, "pods") == ["a"]
    invariants.validate(store)


def test_resources_are_declared_once(store: Store) -> None:
    store.declare("pods", [Field("spec.nodeName")])
    with pytest.raises(UsageError, match="pods is declared with other fields already"):
        store.declare("pods", [Field("status.phase")])
    with pytest.raises(UsageError, match=r"twice among metadata\.name, metadata\.namespace, metadata\.name:"):
        store.declare("jobs.batch", [Field("metadata.name")])
    with pytest.raises(KeyError):
        store.page("jobs.batch")
    assert store.resources == ("pods", "nodes")


def test_a_store_keeps_at_least_one_event() -> None:
    with pytest.raises(UsageError, match="keep_events is 0"):
        Store(keep_events=0)


def test_a_resource_that_comes_late_was_empty_before_and_shares_the_compaction(store: Store) -> None:
    store.create("pods", pod("a"))
    store.create("pods", pod("b"))
    store.compact(2)
    store.declare("jobs.batch")
    assert store.page("jobs.batch", revision=2).items == ()
    with pytest.raises(Expired):
        store.events("jobs.batch", 1)
    invariants.validate(store)


def test_a_resource_that_starts_now_has_no_history_before(store: Store) -> None:
    store.create("pods", pod("a"))
    store.create("pods", pod("b"))
    store.declare("jobs.batch", starts_now=True)
    with pytest.raises(Expired):
        store.events("jobs.batch", 1)
    assert list(store.events("jobs.batch", store.revision)) == []
    invariants.validate(store)


def test_the_bound_holds_for_each_resource_by_itself() -> None:
    store = Store(keep_events=2)
    store.declare("pods")
    store.declare("nodes")
    store.create("nodes", {"metadata": {"name": "n"}})
    for name in "abcd":
        store.create("pods", pod(name))
    assert [event.revision for event in store.events("pods", 4)] == [5, 6]
    with pytest.raises(Expired) as caught:
        store.events("pods", 3)
    assert caught.value.oldest == 4
    assert [event.revision for event in store.events("nodes", 1)] == [2]
    assert names(store, "pods") == ["a", "b", "c", "d"]


def test_absent_fields_have_the_declared_text(store: Store) -> None:
    for name, spec in (("n1", {}), ("n2", {"unschedulable": True}), ("n3", {"unschedulable": False})):
        store.create("nodes", {"metadata": {"name": name}, "spec": spec})
    assert names(store, "nodes", fields="spec.unschedulable=false") == ["n1", "n3"]
    assert names(store, "nodes", fields="spec.unschedulable!=false") == ["n2"]


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), (3, "3"), (True, "true"), (None, "?"), ("", "?"), ([], "?"), ({"deep": 1}, "?")],
)
def test_fields_are_texts_read_at_their_path(value: Any, text: str) -> None:
    store = Store(keep_events=1)
    store.declare("jobs.batch", [Field("status.successful", "status.succeeded", absent="?")])
    record = store.create("jobs.batch", {"metadata": {"name": "j"}, "status": {"succeeded": value}})
    assert record.fields == ("j", "", text)
    assert store.replace("jobs.batch", {"metadata": {"name": "j"}, "status": "none"}).fields == ("j", "", "?")


def test_an_unknown_field_cannot_be_selected_by(store: Store) -> None:
    with pytest.raises(UsageError) as caught:
        selected(store, "pods", fields="spec.hostname=x")
    assert str(caught.value) == (
        "pods cannot be selected by the field 'spec.hostname': use metadata.name, metadata.namespace, spec.nodeName"
    )


def test_owners_are_found_once_however_often_they_are_referred_to(store: Store) -> None:
    store.create("pods", pod("b", ownerReferences=[{"uid": "j"}, {"uid": "k"}, {"uid": "j"}, {"uid": ""}]))
    store.create("pods", pod("a", ownerReferences=[{"uid": "j"}]))
    assert [record.name for record in store.dependents("pods", "j")] == ["a", "b"]
    assert [record.name for record in store.dependents("pods", "k")] == ["b"]
    store.delete("pods", "default", "b")
    assert store.dependents("pods", "k") == []
    invariants.validate(store)


@pytest.mark.parametrize(
    ("labels", "fields", "expected"),
    [
        ("", "spec.nodeName=n7", ["p07", "p17", "p27"]),
        ("", "spec.nodeName=n7,metadata.namespace=default", ["p07", "p17", "p27"]),
        ("", "metadata.name=p11", ["p11"]),
        ("job=j4", "", ["p08", "p09"]),
        ("job in (j4,j5)", "spec.nodeName!=n9", ["p08", "p10", "p11"]),
        ("odd", "", ["p03"]),
        ("job=j4", "spec.nodeName=n9", ["p09"]),
        ("job=nothing", "", []),
    ],
)
def test_equality_and_existence_look_at_the_index_only(
    store: Store, monkeypatch: pytest.MonkeyPatch, labels: str, fields: str, expected: list[str]
) -> None:
    for index in range(30):
        odd = {"odd": ""} if index == 3 else {}
        store.create("pods", pod(f"p{index:02}", node=f"n{index % 10}", labels={"job": f"j{index // 2}", **odd}))

    def walk(*_: object) -> None:
        pytest.fail("all objects are looked at")

    monkeypatch.setattr(SortedKeys, "walk", walk)
    assert names(store, "pods", labels=labels, fields=fields) == expected


def test_a_list_goes_on_at_its_revision_while_writes_go_on(store: Store) -> None:
    for name in "abcd":
        store.create("pods", pod(name))
    first = store.page("pods", limit=2)
    assert ([record.name for record in first.items], first.next, first.remaining) == (["a", "b"], "default/b", 2)
    store.delete("pods", "default", "c")
    store.create("pods", pod("bb"))
    store.create("pods", pod("e"))
    second = store.page("pods", limit=1, after=first.next or "", revision=first.revision)
    assert ([record.name for record in second.items], second.remaining) == (["c"], 1)
    last = store.page("pods", limit=1, after=second.next or "", revision=first.revision)
    assert ([record.name for record in last.items], last.next, last.remaining) == (["d"], None, None)
    store.compact(store.revision)
    with pytest.raises(Expired):
        store.page("pods", limit=1, after="default/b", revision=first.revision)


def test_subscribers_hear_of_every_write_until_they_leave(store: Store) -> None:
    heard: list[tuple[str, int]] = []

    def listen(resource: str) -> None:
        heard.append((resource, store.revision))

    leave, leave_too = store.on_change(listen), store.on_change(listen)
    store.create("pods", pod("a"))
    leave()
    leave()
    store.replace("pods", pod("a"))
    leave_too()
    store.delete("pods", "default", "a")
    assert heard == [("pods", 2), ("pods", 2), ("pods", 3)]


def test_a_subscriber_that_fails_neither_undoes_the_write_nor_silences_the_others(store: Store) -> None:
    heard: list[str] = []

    def fail(resource: str) -> None:
        raise ValueError(resource)

    store.on_change(fail)
    store.on_change(heard.append)
    with pytest.raises(ExceptionGroup, match="a write of pods is done, but subscribers failed") as caught:
        store.create("pods", pod("a"))
    assert isinstance(caught.value.exceptions[0], ValueError)
    assert heard == ["pods"]
    assert store.get("pods", "default", "a").revision == store.revision == 2
    invariants.validate(store)


def test_a_subscriber_may_write(store: Store) -> None:
    def follow(resource: str) -> None:
        if resource == "nodes":
            store.create("pods", pod("daemon"))

    store.on_change(follow)
    store.create("nodes", {"metadata": {"name": "n"}})
    assert store.get("pods", "default", "daemon").revision == store.revision == 3
    invariants.validate(store)


def test_namespaces_are_ordered_as_keys_and_kept_apart(store: Store) -> None:
    for namespace in ("ab", "a", "a-b", "a0", "a.b"):
        store.create("pods", pod("p", namespace=namespace))
    assert [record.key for record in store.page("pods").items] == ["a-b/p", "a.b/p", "a/p", "a0/p", "ab/p"]
    assert [record.key for record in store.page("pods", store.selection("pods", namespace="a")).items] == ["a/p"]
