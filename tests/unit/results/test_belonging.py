import pytest

from kubedyno.results.belonging import Belonging

pytestmark = pytest.mark.unit


def test_objects_belong_to_their_topmost_owner_that_was_seen() -> None:
    belonging = Belonging()
    for uid, role, owner in (
        ("claim", "claim", "pod"),
        ("pod", "pod", "job"),
        ("job", "job", "CronJob, which nobody follows"),
        ("alone", "pod", None),
        ("group", "podgroup", "job"),
        ("event", "event", "pod"),
        ("nobody's", "claim", None),
    ):
        belonging.note(uid, role, owner, "ns", uid)
    belonging.note("pod", "pod", None, "ns", "told again")
    assert {uid: belonging.of(uid) for uid in ("claim", "pod", "job", "alone", "group")} == {
        "claim": "ns/job",
        "pod": "ns/job",
        "job": "ns/job",
        "alone": "ns/alone",
        "group": "ns/job",
    }
    assert [belonging.of(uid) for uid in ("event", "nobody's", "never seen")] == [None, None, None]


def test_owners_that_own_each_other_are_no_endless_way() -> None:
    belonging = Belonging()
    for uid, owner in (("a", "b"), ("b", "c"), ("c", "a"), ("self", "self")):
        belonging.note(uid, "job", owner, "ns", uid)
    assert [belonging.of(uid) for uid in ("a", "b", "self")] == ["ns/c", "ns/a", "ns/self"]
