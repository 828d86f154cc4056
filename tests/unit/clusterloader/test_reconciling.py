"""What phases do with the replicas that the phases before have left."""

from collections.abc import Collection, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.clusterloader.config import NamespaceRange, ObjectBundle, Phase, Place
from kubedyno.clusterloader.loading import reconciling
from kubedyno.clusterloader.loading.reconciling import Identity, Key, Known, Listing, Plan, State
from kubedyno.kit.errors import ExitCode, UsageError

pytestmark = pytest.mark.unit

HERE = Place("config.yaml", 12)
WEB = Identity("web", "Deployment", "apps")
FRONT = Identity("front", "Service", "")
CLAIM = Identity("data-db", "PersistentVolumeClaim", "")


def phase(
    replicas: int,
    *identities: Identity,
    namespaces: NamespaceRange | tuple[str, ...] | None = ("a",),
    selector: str = "",
) -> Phase:
    return Phase(
        namespaces=namespaces,
        replicas=replicas,
        tuning_set="set",
        bundle=tuple(
            ObjectBundle(
                basename=identity.basename,
                template_path=f"{identity.basename}.yaml",
                unknown_selector=selector,
                place=HERE,
            )
            for identity in identities
        ),
        place=HERE,
    )


def planned(
    replicas: int,
    *identities: Identity,
    state: State | None = None,
    namespaces: tuple[str, ...] = ("a",),
    found: Mapping[Key, Collection[str]] | None = None,
) -> Plan:
    return reconciling.plan(
        phase(replicas, *identities, namespaces=namespaces), namespaces, state or State(), identities, found or {}
    )


def deeds(plan: Plan) -> list[tuple[str, str, int, list[str]]]:
    return [
        (action.operation, action.namespace, action.index, [member.name for member in action.members])
        for action in plan.actions
    ]


def test_missing_replicas_are_created_in_each_namespace_with_their_whole_bundle() -> None:
    state = State({("a", WEB): Known(1), ("a", FRONT): Known(1)})
    plan = planned(3, FRONT, WEB, state=state, namespaces=("a", "b"))
    assert deeds(plan) == [
        ("create", "a", 1, ["front-1", "web-1"]),
        ("create", "a", 2, ["front-2", "web-2"]),
        ("create", "b", 0, ["front-0", "web-0"]),
        ("create", "b", 1, ["front-1", "web-1"]),
        ("create", "b", 2, ["front-2", "web-2"]),
    ]
    assert [member.bundle.template_path for member in plan.actions[0].members] == ["front.yaml", "web.yaml"]
    assert plan.outcome == {(name, identity): Known(3) for name in ("a", "b") for identity in (FRONT, WEB)}


def test_surplus_replicas_are_deleted_with_their_bundle_in_reverse() -> None:
    state = State({("a", WEB): Known(4), ("a", FRONT): Known(4)})
    plan = planned(2, FRONT, WEB, state=state)
    assert deeds(plan) == [("delete", "a", 2, ["web-2", "front-2"]), ("delete", "a", 3, ["web-3", "front-3"])]
    assert plan.outcome == {("a", FRONT): Known(2), ("a", WEB): Known(2)}


def test_as_many_as_wanted_are_patched() -> None:
    state = State({("a", WEB): Known(2), ("a", FRONT): Known(2)})
    assert deeds(planned(2, FRONT, WEB, state=state)) == [
        ("patch", "a", 0, ["front-0", "web-0"]),
        ("patch", "a", 1, ["front-1", "web-1"]),
    ]


def test_none_of_none_is_nothing_to_do() -> None:
    assert deeds(planned(0, WEB)) == []
    assert deeds(planned(3)) == []
    assert deeds(planned(3, WEB, namespaces=())) == []


def test_counts_are_of_a_namespace_a_basename_a_kind_and_a_group() -> None:
    state = State().after(planned(2, WEB))
    others = [
        Identity("other", "Deployment", "apps"),
        Identity("web", "Job", "apps"),
        Identity("web", "Deployment", "x"),
    ]
    for identity in others:
        assert [action.operation for action in planned(2, identity, state=state).actions] == ["create", "create"]
    assert [action.operation for action in planned(2, WEB, state=state, namespaces=("b",)).actions] == ["create"] * 2
    assert [action.operation for action in planned(2, WEB, state=state, namespaces=("",)).actions] == ["create"] * 2
    assert [action.operation for action in planned(2, WEB, state=state).actions] == ["patch", "patch"]


@pytest.mark.parametrize(("api_version", "group"), [("v1", ""), ("apps/v1", "apps"), ("a.b/v1beta2", "a.b")])
def test_an_identity_has_the_group_without_its_version(api_version: str, group: str) -> None:
    assert Identity.of("web", api_version, "Kind") == Identity("web", "Kind", group)


def test_phases_side_by_side_do_not_undo_each_other() -> None:
    start = State({("a", WEB): Known(1)})
    one, two = planned(5, WEB, state=start), planned(3, FRONT, state=start)
    assert start.after(one).after(two) == start.after(two).after(one)
    assert start.after(one).after(two).known == {("a", WEB): Known(5), ("a", FRONT): Known(3)}
    assert start.known == {("a", WEB): Known(1)}


@pytest.mark.parametrize(
    ("namespace", "where"), [("a", "namespace 'a' has"), ("", "the cluster has")], ids=["namespace", "cluster"]
)
def test_a_bundle_of_unequal_counts_is_refused(namespace: str, where: str) -> None:
    state = State({(namespace, WEB): Known(3), (namespace, CLAIM): Known(3)})
    with pytest.raises(UsageError) as raised:
        planned(3, WEB, CLAIM, FRONT, state=state, namespaces=(namespace,))
    assert str(raised.value) == (
        f"config.yaml, line 12: the objects of a bundle must be equally many, but {where} 3 of 'web' (Deployment), "
        "3 of 'data-db' (PersistentVolumeClaim) and 0 of 'front' (Service): give each of them a phase of its own, "
        "or first bring them to the same number"
    )
    assert raised.value.exit_code == ExitCode.USAGE


def test_objects_of_others_are_looked_for_where_no_phase_has_been() -> None:
    state = State({("a", CLAIM): Known(0)})
    claims = phase(0, CLAIM, namespaces=("a", "b", "c"), selector="name = db")
    assert reconciling.listings(claims, ("a", "b", "c"), state, [CLAIM]) == (
        Listing("b", CLAIM, "name = db"),
        Listing("c", CLAIM, "name = db"),
    )
    assert reconciling.listings(phase(0, CLAIM), ("a", "b"), state, [CLAIM]) == ()


def test_objects_of_others_are_deleted_by_their_own_names() -> None:
    found = {("a", CLAIM): ["data-db-10", "stray", "data-db-2", "data-db-x", "data-db-1"]}
    plan = planned(0, CLAIM, found=found)
    assert deeds(plan) == [
        ("delete", "a", 0, ["data-db-1"]),
        ("delete", "a", 1, ["data-db-2"]),
        ("delete", "a", 2, ["data-db-10"]),
        ("delete", "a", 3, ["data-db-x"]),
        ("delete", "a", 4, ["stray"]),
    ]
    assert plan.outcome == {("a", CLAIM): Known(0)}


def test_claims_of_a_stateful_set_stand_at_their_indices() -> None:
    plan = planned(2, CLAIM, found={("a", CLAIM): [f"data-db-{n}" for n in (3, 1, 0, 2)]})
    assert deeds(plan) == [("delete", "a", 2, ["data-db-2"]), ("delete", "a", 3, ["data-db-3"])]


def test_objects_of_others_keep_their_names_over_later_phases() -> None:
    state = State().after(planned(3, CLAIM, found={("a", CLAIM): ["x", "y"]}))
    assert state.known == {("a", CLAIM): Known(3, ("x", "y"))}
    patching = planned(3, CLAIM, state=state, found={("a", CLAIM): ["what", "is", "known", "already"]})
    assert deeds(patching) == [("patch", "a", 0, ["x"]), ("patch", "a", 1, ["y"]), ("patch", "a", 2, ["data-db-2"])]
    assert deeds(planned(1, CLAIM, state=state)) == [("delete", "a", 1, ["y"]), ("delete", "a", 2, ["data-db-2"])]
    fewer = state.after(planned(1, CLAIM, state=state))
    assert deeds(planned(2, CLAIM, state=fewer)) == [("create", "a", 1, ["data-db-1"])]


@pytest.mark.parametrize(
    ("namespaces", "expected"),
    [
        (None, ("",)),
        (NamespaceRange(1, 3), ("test-abc-1", "test-abc-2", "test-abc-3")),
        (NamespaceRange(2, 2, "mine"), ("mine-2",)),
        (("x", "y"), ("x", "y")),
        ((), ()),
    ],
)
def test_a_phase_is_of_its_namespaces(
    namespaces: NamespaceRange | tuple[str, ...] | None, expected: tuple[str, ...]
) -> None:
    assert reconciling.namespaces_of(phase(1, WEB, namespaces=namespaces), "test-abc") == expected


@given(
    wants=st.lists(st.integers(min_value=0, max_value=12), min_size=1, max_size=8),
    found=st.integers(min_value=0, max_value=15).map(lambda count: {f"data-db-{n}" for n in range(count)})
    | st.sets(st.text("abc", min_size=1), max_size=15),
)
def test_after_each_phase_there_are_as_many_as_it_wants(wants: list[int], found: set[str]) -> None:
    live, state = set(found), State()
    for want in wants:
        plan = planned(want, CLAIM, state=state, found={("a", CLAIM): found})
        names = {action.members[0].name for action in plan.actions}
        assert len(names) == len(plan.actions)
        operations = {action.operation for action in plan.actions}
        if operations == {"delete"}:
            assert names <= live
            live -= names
        elif operations == {"patch"}:
            assert names == live
        elif operations == {"create"}:
            assert not names & live
            live |= names
        assert len(live) == want
        state = state.after(plan)
        assert state.known["a", CLAIM].count == want
