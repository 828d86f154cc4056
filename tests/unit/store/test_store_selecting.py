from typing import Any

import pytest

from kubedyno.kube.codec import decode
from kubedyno.kube.selectors import FieldSelector, LabelSelector
from kubedyno.store.log import Event, EventType
from kubedyno.store.records import Field
from kubedyno.store.selecting import Selection
from kubedyno.store.store import Store

pytestmark = pytest.mark.unit

WEB = {"labels": {"app": "web"}, "node": "n1"}
DB = {"labels": {"app": "db"}, "node": "n2"}


def pod(*, labels: dict[str, str], node: str) -> dict[str, Any]:
    return {"metadata": {"name": "p", "namespace": "a", "labels": labels}, "spec": {"nodeName": node}}


def events(*states: dict[str, Any] | None) -> tuple[Store, list[Event]]:
    """What happens when a pod takes these states one after another; None: it is deleted."""
    store = Store(keep_events=10)
    store.declare("pods", [Field("spec.nodeName")])
    alive = False
    for state in states:
        if state is None:
            store.delete("pods", "a", "p")
        else:
            (store.replace if alive else store.create)("pods", pod(**state))
        alive = state is not None
    return store, store.events("pods", 1)


def selections(store: Store) -> dict[str, Selection]:
    """Different ways to select WEB and not DB."""
    return {
        "label": store.selection("pods", labels=LabelSelector.parse("app=web")),
        "label set": store.selection("pods", labels=LabelSelector.parse("app notin (db)")),
        "field": store.selection("pods", fields=FieldSelector.parse("spec.nodeName=n1")),
        "field not": store.selection("pods", fields=FieldSelector.parse("spec.nodeName!=n2")),
        "all": store.selection(
            "pods", namespace="a", labels=LabelSelector.parse("app=web"), fields=FieldSelector.parse("spec.nodeName=n1")
        ),
    }


TRANSLATIONS: list[tuple[str, list[dict[str, Any] | None], EventType | None, int]] = [
    # What happened, the states, what a watch of WEB sees of the last one, and which state (by index) it is sent.
    ("created selected", [WEB], EventType.ADDED, 0),
    ("created elsewhere", [DB], None, 0),
    ("stays", [WEB, WEB], EventType.MODIFIED, 1),
    ("enters", [DB, WEB], EventType.ADDED, 1),
    ("leaves", [WEB, DB], EventType.DELETED, 0),
    ("stays elsewhere", [DB, DB], None, 0),
    ("deleted", [WEB, None], EventType.DELETED, 0),
    ("deleted elsewhere", [DB, None], None, 0),
    ("created again", [WEB, None, WEB], EventType.ADDED, 2),
]


@pytest.mark.parametrize("by", ["label", "label set", "field", "field not", "all"])
@pytest.mark.parametrize(("what", "states", "kind", "sent"), TRANSLATIONS)
def test_a_watch_sees_an_object_enter_change_and_leave_its_selection(
    what: str, states: list[dict[str, Any] | None], kind: EventType | None, sent: int, by: str
) -> None:
    store, happened = events(*states)
    seen = selections(store)[by].translated(happened[-1])
    if kind is None:
        assert seen is None
        return
    assert seen is not None
    state = states[sent]
    assert state is not None
    expected = pod(**state)
    # Whatever is sent carries the revision of the event, also the old state of what left.
    expected["metadata"]["resourceVersion"] = str(store.revision)
    assert (seen.type, seen.revision, decode(seen.record.data)) == (kind, store.revision, expected)


@pytest.mark.parametrize("states", [[WEB], [WEB, WEB], [WEB, None]])
def test_what_happened_within_the_selection_is_passed_on_as_it_is(states: list[dict[str, Any] | None]) -> None:
    store, happened = events(*states)
    assert all(selection.translated(happened[-1]) is happened[-1] for selection in selections(store).values())
    assert Selection().translated(happened[-1]) is happened[-1]


def test_another_namespace_and_the_selector_of_nothing_see_nothing() -> None:
    store, happened = events(WEB, DB, None)
    nothing = store.selection("pods", labels=LabelSelector.from_object(None))
    elsewhere = store.selection("pods", namespace="b")
    assert [nothing.translated(event) or elsewhere.translated(event) for event in happened] == [None, None, None]
    assert store.page("pods", nothing, revision=2).items == ()


@pytest.mark.parametrize("reference", ["2", "3", "77"])
def test_only_the_own_revision_is_rewritten(reference: str) -> None:
    store = Store(keep_events=10)
    store.declare("events")
    obj: dict[str, Any] = {
        "involvedObject": {"resourceVersion": reference},
        "message": '"resourceVersion":"2"',
        "metadata": {"name": "e", "annotations": {"was": '{"resourceVersion":"2"}'}},
    }
    store.create("events", obj)
    deleted = store.delete("events", "", "e")
    expected = {**obj, "metadata": {"name": "e", "annotations": {"was": '{"resourceVersion":"2"}'}}}
    expected["metadata"]["resourceVersion"] = "3"
    assert decode(deleted.data) == expected
