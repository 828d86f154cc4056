"""The graph of owners, and what is done about an object."""

from typing import Any

import pytest

from kubedyno.controllers.adopting import claims
from kubedyno.controllers.collecting import deciding
from kubedyno.controllers.collecting.deciding import Decision, Delete, LookAt, OwnerState, Patch
from kubedyno.controllers.collecting.graph import Graph, Node, node_of
from kubedyno.controllers.namespaces import Remains, conditions
from kubedyno.kit.clock import parse_rfc3339_ns
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CONFIG_MAPS
from kubedyno.kube.selectors import LabelSelector

pytestmark = pytest.mark.unit

FOREGROUND = {"finalizers": ["foregroundDeletion"], "deletionTimestamp": "t"}
ORPHAN = {"finalizers": ["orphan"], "deletionTimestamp": "t"}


def node(name: str, *owners: str, block: bool = True, **metadata: Any) -> Node:
    references = [{"kind": "ConfigMap", "name": owner, "uid": owner, "blockOwnerDeletion": block} for owner in owners]
    base = {"name": name, "namespace": "n", "uid": name, "resourceVersion": "5", "ownerReferences": references}
    return node_of(CONFIG_MAPS, {"metadata": {**base, **metadata}})


def graph(*nodes: Node) -> Graph:
    made = Graph()
    for entry in nodes:
        made.put(entry)
    return made


def test_an_object_whose_owner_is_unknown_is_looked_at() -> None:
    assert graph().put(node("child", "nobody")) == ["child"]
    assert graph(node("owner")).put(node("child", "owner")) == []


def test_dependents_are_looked_at_when_their_owner_is_gone() -> None:
    made = graph(node("owner"), node("a", "owner"), node("b", "owner"), node("c"))
    assert made.remove("owner") == ["a", "b"]
    assert made.remove("owner") == []


def test_an_owner_that_waits_is_looked_at_when_a_dependent_is_gone_or_no_longer_blocks() -> None:
    made = graph(node("owner"), node("a", "owner"), node("b", "owner"))
    assert made.put(node("owner", **FOREGROUND)) == ["owner", "a", "b"]
    assert made.put(node("owner", **FOREGROUND, labels={"x": "y"})) == []
    assert made.remove("a") == ["owner"]
    assert made.put(node("b", "owner", block=False)) == ["owner"]
    assert made.put(node("b")) == []
    assert made.put(node("new", "owner")) == ["new"]


def test_what_is_unsettled_at_the_start() -> None:
    made = graph(
        node("lost", "nobody"),
        node("waits", **FOREGROUND),
        node("below", "waits"),
        node("leaves", **ORPHAN),
        node("fine"),
        node("child", "fine"),
    )
    assert made.unsettled() == ["lost", "waits", "below", "leaves"]


@pytest.mark.parametrize(
    ("subject", "states", "dependents", "decision"),
    [
        (node("x", "a"), {"a": "solid"}, [], LookAt()),
        (node("x", "a"), {"a": "dangling"}, [], Delete("Background")),
        (node("x", "a", finalizers=["orphan"]), {"a": "dangling"}, [], Delete("Orphan")),
        (node("x", "a", finalizers=["foregroundDeletion"]), {"a": "dangling"}, [], Delete("Foreground")),
        (node("x", "a"), {"a": "waiting"}, [], Delete("Background")),
        (node("x", "a"), {"a": "waiting"}, [node("d", "x")], Delete("Foreground")),
        (
            node("x", "a", "b"),
            {"a": "solid", "b": "dangling"},
            [],
            Patch({"resourceVersion": "5", "ownerReferences": [node("x", "a").owners[0]]}),
        ),
        (
            node("x", "a"),
            {"a": "waiting"},
            [node("d", "x", **FOREGROUND)],
            Patch(
                {"resourceVersion": "5", "ownerReferences": [node("x", "a", block=False).owners[0]]},
                then=Delete("Foreground"),
            ),
        ),
    ],
)
def test_what_becomes_of_an_object(
    subject: Node, states: dict[str, OwnerState], dependents: list[Node], decision: Decision
) -> None:
    assert deciding.about_owners(subject, states, dependents) == decision


def test_an_owner_goes_when_no_dependent_blocks_it() -> None:
    owner = node("owner", finalizers=["other", "foregroundDeletion"], deletionTimestamp="t")
    blocking, waiting = node("a", "owner"), node("b", "owner", **FOREGROUND)
    assert deciding.about_dependents(owner, [blocking, waiting, node("c", "owner", block=False)]) == LookAt(["a"])
    assert deciding.about_dependents(owner, [node("c", "owner", block=False)]) == Patch(
        {"resourceVersion": "5", "finalizers": ["other"]}
    )


def labelled(name: str, app: str, **metadata: Any) -> Object:
    return {"metadata": {"name": name, "labels": {"app": app}, **metadata}}


def test_who_is_adopted_and_who_is_let_go() -> None:
    selector = LabelSelector.parse("app=x")
    own, strayed = labelled("own", "x"), labelled("strayed", "y")
    orphan, going, foreign = labelled("o", "x"), labelled("g", "x", deletionTimestamp="t"), labelled("f", "y")
    found = claims({"metadata": {}}, selector, [own, strayed], [orphan, going, foreign])
    assert (found.kept, found.adopt, found.release) == ([own], [orphan], [strayed])
    dying = claims({"metadata": {"deletionTimestamp": "t"}}, selector, [own, strayed], [orphan])
    assert (list(dying.kept), list(dying.adopt), list(dying.release)) == ([own], [], [])


def test_the_conditions_of_a_namespace_say_what_is_left() -> None:
    early, late = parse_rfc3339_ns("2026-01-01T00:00:00Z"), parse_rfc3339_ns("2026-01-01T00:01:00Z")
    remains = Remains(instances={"pods.": 2, "jobs.batch": 1}, finalizers={"x": 3}, failures=["b", "a"])
    first = conditions(remains, [], now_ns=early)
    assert {entry["type"]: (entry["status"], entry["message"]) for entry in first} == {
        "NamespaceDeletionDiscoveryFailure": ("False", "All resources successfully discovered"),
        "NamespaceDeletionGroupVersionParsingFailure": ("False", "All legacy kube types successfully parsed"),
        "NamespaceDeletionContentFailure": ("True", "Failed to delete all resource types, 2 remaining: a, b"),
        "NamespaceContentRemaining": (
            "True",
            "Some resources are remaining: jobs.batch has 1 resource instances, pods. has 2 resource instances",
        ),
        "NamespaceFinalizersRemaining": (
            "True",
            "Some content in the namespace has finalizers remaining: x in 3 resource instances",
        ),
    }
    assert conditions(remains, first, now_ns=late) == first
    after = {entry["type"]: entry for entry in conditions(Remains(instances={"pods.": 1}), first, now_ns=late)}
    assert after["NamespaceContentRemaining"]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert after["NamespaceFinalizersRemaining"]["lastTransitionTime"] == "2026-01-01T00:01:00Z"
