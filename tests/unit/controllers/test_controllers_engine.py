"""Expectations, written versions, and what the recorder makes of events."""

import pytest

from kubedyno.client.informer import Change
from kubedyno.controllers.events import Correlator, Creation, Recount
from kubedyno.controllers.expecting import EXPIRY_S, Expectations, Written
from kubedyno.controllers.slimming import SHAPES, slimmed
from kubedyno.kit.clock import NS_PER_S, VirtualClock
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import JOBS, PODS

pytestmark = pytest.mark.unit

JOB: Object = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "j", "namespace": "n", "uid": "u", "resourceVersion": "7"},
}
START_NS = 1_767_225_600 * NS_PER_S


class At:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now_s = 0

    def monotonic_ns(self) -> int:
        return self.now_s * NS_PER_S

    wall_ns = monotonic_ns

    async def sleep(self, delay_s: float) -> None:
        raise NotImplementedError


def test_expectations_are_met_when_all_was_seen() -> None:
    waiting = Expectations(VirtualClock())
    assert waiting.are_met("k")
    waiting.expect_creations("k", 2)
    waiting.expect_deletions("k", ["a", "b"])
    waiting.created("k")
    waiting.created("k")
    waiting.created("k")  # somebody else's pod is no debt
    waiting.deleted("k", "a")
    assert not waiting.are_met("k")
    waiting.deleted("k", "b")
    assert waiting.are_met("k")
    assert waiting.are_met("other")


def test_expecting_nothing_is_met() -> None:
    waiting = Expectations(VirtualClock())
    waiting.expect_creations("k", 0)
    waiting.expect_deletions("k", [])
    assert waiting.are_met("k")


def test_expectations_expire() -> None:
    clock = At()
    waiting = Expectations(clock)
    waiting.expect_creations("k", 1)
    clock.now_s = EXPIRY_S
    assert not waiting.are_met("k")
    clock.now_s = EXPIRY_S + 1
    assert waiting.are_met("k")


@pytest.mark.parametrize(
    ("uid", "version", "is_stale"), [("u", "6", True), ("u", "7", False), ("u", "10", False), ("other", "6", False)]
)
def test_a_copy_from_before_our_write_is_stale(uid: str, version: str, *, is_stale: bool) -> None:
    written = Written()
    written.note("k", JOB)
    assert written.is_newer_than("k", {"metadata": {"uid": uid, "resourceVersion": version}}) is is_stale


def told(correlator: Correlator, message: str, *, at_s: int = 0, reason: str = "R") -> Creation | Recount | None:
    decision = correlator.decide("c", JOB, "Normal", reason, message, now_ns=START_NS + at_s * NS_PER_S)
    if decision is not None:
        count = decision.patch["count"] if isinstance(decision, Recount) else 1
        name = decision.name if isinstance(decision, Recount) else decision.event["metadata"]["name"]
        correlator.written(decision.key, {"metadata": {"namespace": "n", "name": name}, "count": count})
    return decision


def test_an_event_has_the_fields_of_client_go() -> None:
    decision = told(Correlator(), "Created pod: p")
    assert isinstance(decision, Creation)
    assert decision.event == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"j.{START_NS:x}", "namespace": "n"},
        "involvedObject": {
            "kind": "Job",
            "namespace": "n",
            "name": "j",
            "uid": "u",
            "apiVersion": "batch/v1",
            "resourceVersion": "7",
        },
        "reason": "R",
        "message": "Created pod: p",
        "source": {"component": "c"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
        "type": "Normal",
        "eventTime": None,
        "reportingComponent": "c",
        "reportingInstance": "",
    }


def test_the_same_event_again_is_counted() -> None:
    correlator = Correlator()
    told(correlator, "m")
    again = told(correlator, "m", at_s=5)
    assert isinstance(again, Recount)
    assert again.patch == {"count": 2, "lastTimestamp": "2026-01-01T00:00:05Z", "message": "m"}


def test_the_tenth_of_similar_events_stands_for_all_that_follow() -> None:
    correlator = Correlator()
    decisions = [told(correlator, f"Created pod: p{number}") for number in range(12)]
    assert [type(decision) for decision in decisions] == [Creation] * 10 + [Recount] * 2
    assert isinstance(decisions[9], Creation)
    assert decisions[9].event["message"] == "(combined from similar events): Created pod: p9"
    assert decisions[9].event["reportingComponent"] == ""
    assert isinstance(decisions[11], Recount)
    assert decisions[11].patch["count"] == 3


def test_a_flood_is_cut_off_and_trickles_on() -> None:
    correlator = Correlator()
    decisions = [told(correlator, "m", reason=f"R{number}") for number in range(30)]
    assert [decision is not None for decision in decisions] == [True] * 25 + [False] * 5
    assert told(correlator, "m", at_s=299) is None
    assert told(correlator, "m", at_s=301) is not None


def test_two_events_of_one_moment_have_two_names() -> None:
    correlator = Correlator()
    first, second = told(correlator, "a"), told(correlator, "b")
    assert isinstance(first, Creation)
    assert isinstance(second, Creation)
    assert first.event["metadata"]["name"] != second.event["metadata"]["name"]


def test_a_slim_pod_keeps_what_controllers_read() -> None:
    claim = {"name": "c", "persistentVolumeClaim": {"claimName": "c"}}
    pod: Object = {
        "metadata": {"name": "p", "managedFields": [{}], "labels": {"a": "b"}},
        "spec": {
            "nodeName": "n",
            "schedulerName": "s",
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
            "volumes": [{"name": "x", "emptyDir": {}}, claim],
        },
        "status": {"phase": "Running"},
    }
    assert SHAPES[PODS].frame(codec.encode({"type": "ADDED", "object": pod})).object == {
        "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {
            "nodeName": "n",
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}],
            "volumes": [{"name": "x"}, claim],
        },
        "status": {"phase": "Running"},
    }


def test_of_other_objects_only_the_field_managers_go() -> None:
    whole: Object = {"metadata": {"name": "j", "managedFields": [{}]}, "spec": {"template": {"spec": {"x": 1}}}}
    slim = {"metadata": {"name": "j"}, "spec": {"template": {"spec": {"x": 1}}}}
    assert SHAPES[JOBS].frame(codec.encode({"type": "ADDED", "object": whole})).object == slim
    slimmed(Change("ADDED", ("", "j"), None, whole, 0, 0))
    assert whole == slim
