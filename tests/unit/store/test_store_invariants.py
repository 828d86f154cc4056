"""That the check of the store finds what it is for."""

from collections.abc import Callable

import msgspec
import pytest

from kubedyno.kube.selectors import LabelSelector
from kubedyno.store import invariants
from kubedyno.store.log import Event, EventType
from kubedyno.store.records import Field
from kubedyno.store.shelf import Shelf
from kubedyno.store.store import Store

pytestmark = pytest.mark.unit


@pytest.fixture
def store() -> Store:
    made = Store(keep_events=4)
    made.declare("pods", [Field("spec.nodeName")])
    made.declare("nodes")
    for name in ("a", "b", "c"):
        obj = {"metadata": {"name": name, "labels": {"app": name}, "ownerReferences": [{"uid": "j"}]}}
        made.create("pods", obj)
    made.create("nodes", {"metadata": {"name": "n"}})
    made.delete("pods", "", "b")
    made.page("pods", made.selection("pods", labels=LabelSelector.parse("app=a")))
    return made


def forge(shelf: Shelf, key: str, **changes: object) -> None:
    shelf.objects[key] = msgspec.structs.replace(shelf.objects[key], **changes)


def relog(shelf: Shelf, index: int, **changes: object) -> None:
    shelf.log._events[index] = msgspec.structs.replace(shelf.log._events[index], **changes)


def forget_event(shelf: Shelf) -> None:
    del shelf.log._events[1]


def log_twice(shelf: Shelf) -> None:
    record = shelf.objects["a"]
    shelf.log._events.append(Event(EventType.ADDED, record, None))


DAMAGES: list[tuple[Callable[[Shelf], object], str]] = [
    (lambda shelf: shelf.keys.remove("a"), "the ordered keys"),
    (lambda shelf: shelf.objects.pop("a"), "the ordered keys"),
    (lambda shelf: shelf.keys._lasts.__setitem__(0, "b"), r"the 2 ordered keys are found at \[0, 2\]"),
    (lambda shelf: forge(shelf, "a", labels={"app": "x"}), "the record of a at 2 is not that of its JSON"),
    (lambda shelf: forge(shelf, "a", revision=3), "the record of a at 3 is not that of its JSON"),
    (lambda shelf: forge(shelf, "a", created=3), "a changed at 2, before its creation at 3"),
    (lambda shelf: shelf.indexes.labels["app"].pop("a"), r"the index \('label app', 'a'\) holds None"),
    (lambda shelf: shelf.indexes.owners["j"].add("x"), r"the index \('owner', 'j'\) holds"),
    (lambda shelf: shelf.indexes.fields[2].clear(), r"the index \('field 2', ''\) holds None"),
    (forget_event, "after 1 there should be one event per revision up to 6"),
    (log_twice, "a revision is taken twice"),
    (log_twice, "the log is not in order"),
    (log_twice, "5 events are kept, more than 4"),
    (lambda shelf: setattr(shelf.log, "floor", 9), "the floor 9 lies after the revision 6"),
    (lambda shelf: shelf.log._events.popleft(), r"changes of \['a'\] after the floor 1 are not in the log"),
    (
        lambda shelf: relog(shelf, 0, type=EventType.DELETED),
        "DELETED of a at 2 does not lead to the state that follows",
    ),
    (
        lambda shelf: relog(shelf, 0, type=EventType.MODIFIED),
        "MODIFIED of a at 2 does not follow from its previous state",
    ),
    (lambda shelf: relog(shelf, -1, previous=None), "DELETED of b at 6 does not follow from its previous state"),
]


def test_a_healthy_store_is_valid(store: Store) -> None:
    invariants.validate(store)
    assert len(store.shelves["pods"].log) == 4


@pytest.mark.parametrize(("damage", "sentence"), DAMAGES)
def test_damage_is_found(store: Store, damage: Callable[[Shelf], object], sentence: str) -> None:
    damage(store.shelves["pods"])
    with pytest.raises(invariants.Inconsistent, match=sentence):
        invariants.validate(store)
