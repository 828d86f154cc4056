import pytest

from kubedyno.kube.resources import PODS
from kubedyno.measure import proving
from kubedyno.measure.proving import Standing
from kubedyno.measure.recorder import Recorder, Track
from kubedyno.model.lifecycles import Followed, Shown
from kubedyno.model.samples import Followed as Went

pytestmark = pytest.mark.unit

QUIET = Went(resource="pods", changes=5, cuts=0, relists=0)
CUT = Went(resource="pods", changes=5, cuts=3, relists=0)
RELISTED = Went(resource="pods", changes=5, cuts=3, relists=2)
GOOD = Standing("pods", 7, 0, 0)


def track(**versions: str) -> Track:
    made = Recorder().track(Followed(PODS, "pod", lambda _: [Shown("created")]))
    for uid, version in versions.items():
        made.change("ADDED", {"metadata": {"uid": uid, "name": uid, "resourceVersion": version}}, 1)
    return made


@pytest.mark.parametrize(
    ("listed", "missing"),
    [
        ({}, []),
        ({"a": "5", "b": "7"}, []),
        ({"a": "5"}, []),
        ({"a": "4"}, []),  # known at a later version: it has changed since the list
        ({"a": "6"}, ["a"]),
        ({"c": "3"}, ["c"]),
        ({"gone": "3"}, []),
    ],
)
def test_what_is_listed_must_be_known_at_that_version(listed: dict[str, str], missing: list[str]) -> None:
    known = track(a="5", b="7")
    known.gone = {"gone"}
    assert list(proving.unseen(listed, known)) == missing


def test_a_version_that_cannot_be_compared_must_be_the_same() -> None:
    assert proving.unseen({"a": "x"}, track(a="x")) == {}
    assert proving.unseen({"a": "y"}, track(a="x")) == {"a": "y"}


@pytest.mark.parametrize(("version", "stale"), [(4, []), (5, ["a"]), (6, ["a"]), (7, ["a", "b"])])
def test_what_is_known_and_older_than_the_list_must_be_listed(version: int, stale: list[str]) -> None:
    known = track(a="5", b="7", c="3")
    assert proving.overstayed(known.uids(), {"c": "3"}, version, known) == stale
    assert proving.overstayed(["gone"], {}, version, known) == []


@pytest.mark.parametrize(
    ("watches", "absences", "standings", "whole", "proof"),
    [
        (
            [QUIET],
            {"widgets": proving.NOT_SERVED},
            [GOOD, Standing("jobs", 2, 0, 0)],
            True,
            "All 9 objects that the server lists are known at the version that it lists, and no stream broke.",
        ),
        ([CUT], {}, [GOOD], True, "3 broken streams were resumed at the version where they ended."),
        ([CUT], {}, None, False, "Nothing was proven: the recording goes on, or was broken off."),
        ([RELISTED], {}, [GOOD], False, "and all were listed anew (2 times)."),
        ([CUT], {"jobs": "it may not be read"}, [GOOD], False, "jobs were not recorded: it may not be read."),
        (
            [CUT],
            {},
            [Standing("pods", 7, 1, 2)],
            False,
            "Of pods 1 objects or versions that the server lists never arrived, nor did the end of 2.",
        ),
        ([CUT], {}, [Standing("pods", 0, 0, 0, "it is away")], False, "pods could not be listed: it is away."),
    ],
)
def test_the_verdict_says_why(
    watches: list[Went], absences: dict[str, str], standings: list[Standing] | None, whole: bool, proof: str
) -> None:
    found, told = proving.verdict(watches, absences, standings)
    assert found is whole
    assert told.endswith(proof)
