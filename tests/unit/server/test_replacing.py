"""States of Jobs that are told as a whole come out the short way as they would by the long one, byte for byte."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins import Twins

from kubedyno.kube import codec
from kubedyno.kube.codec import Object

pytestmark = pytest.mark.unit

JOBS = "/apis/batch/v1/namespaces/default/jobs"
NOW = "2023-11-14T22:13:{:02}Z"
UID = "0f812128-0342-4d90-b23c-8269d68407{:02x}"


def job(number: int) -> Object:
    pods = {"metadata": {"labels": {"job": f"j-{number}"}}, "spec": {"restartPolicy": "Never"}}
    pods["spec"] |= {"containers": [{"name": "main", "image": "x"}]}
    metadata: Object = {"name": f"j-{number}", "labels": {"job": f"j-{number}"}}
    if number % 7 == 3:
        metadata["annotations"] = {"kubernetes.io/x": "y", "a": str(number)}
    return {"metadata": metadata, "spec": {"template": pods, "completions": 1 + (number % 5 == 4)}}


def condition(kind: str, second: int, **more: str) -> Object:
    return {"type": kind, "status": "True", "lastProbeTime": NOW.format(second), **more}


def statuses(number: int, second: int) -> Iterator[Object]:
    """What a Job may be told, good and bad."""
    begun: Object = {"startTime": NOW.format(second % 3), "uncountedTerminatedPods": {}}
    yield {}
    yield {**begun, "active": 1, "ready": 0, "terminating": 0}
    yield {**begun, "active": 1, "ready": 1, "terminating": 0}
    yield {**begun, "active": -1}
    yield {**begun, "active": 1, "uncountedTerminatedPods": {"succeeded": [UID.format(number)]}}
    yield {**begun, "uncountedTerminatedPods": {"succeeded": [UID.format(one) for one in (number, 200 - number)]}}
    yield {**begun, "uncountedTerminatedPods": {"succeeded": [UID.format(1)], "failed": [UID.format(1)]}}
    done = {**begun, "succeeded": 1, "ready": 0, "terminating": 0, "completionTime": NOW.format(second)}
    yield {**done, "conditions": [condition("SuccessCriteriaMet", second), condition("Complete", second)]}
    yield {**done, "conditions": [condition("Complete", second, lastTransitionTime=NOW.format(second % 5))]}
    yield {**begun, "failed": 1, "conditions": [condition("FailureTarget", second, reason="X", message=f"j-{number}")]}
    yield {**begun, "failed": 1, "conditions": [condition("Failed", second), condition("FailureTarget", second)]}
    yield {"startTime": "x", "active": 1}
    yield {"startTime": None, "unknown": number}
    yield {"active": 1, "completedIndexes": "0"}


COUNT = sum(1 for _ in statuses(1, 1))


def ways(found: Object, status: Object) -> Iterator[Any]:
    """How a new state may be told."""
    metadata = found["metadata"]
    yield {**found, "status": status}
    yield {
        **found,
        "metadata": {name: one for name, one in metadata.items() if name != "managedFields"},
        "status": status,
    }
    yield {"status": status, **{name: found[name] for name in ("spec", "metadata")}}
    yield {**found, "status": status, "metadata": {**metadata, "resourceVersion": "1"}}
    yield {**found, "status": status, "metadata": {**metadata, "resourceVersion": ""}}
    yield {**found, "status": status, "metadata": {**metadata, "labels": {"other": "x"}}}
    yield {**found, "status": status, "metadata": {**metadata, "managedFields": []}}
    yield {**found, "status": status, "metadata": {**metadata, "uid": UID.format(7)}}
    yield {**found, "status": status, "spec": {**found["spec"], "parallelism": 7}}
    yield codec.encode({**found, "status": status}).replace(b'":', b'": ')
    yield codec.encode({**found, "status": status}).replace(b'"status":', b'"status":{},"status":')


WAYS = sum(1 for _ in ways(job(1), {}))


def tell(twins: Twins, number: int, chosen: int, way: int, **query: str) -> int:
    """Tell a Job a status that it did not have."""
    found = twins.get(f"{JOBS}/j-{number}")
    second = twins.clock.wall_ns() // 10**9 % 60
    body = list(ways(found, list(statuses(number, second))[chosen]))[way]
    return twins.send("PUT", f"{JOBS}/j-{number}/status", body, **query).status


def test_the_states_of_jobs_are_the_same_either_way() -> None:
    twins = Twins()
    for number in (1, 2, 5, 6, 8, 11, 12, 13):
        twins.send("POST", JOBS, job(number))
        assert [tell(twins, number, chosen, 1) for chosen in (1, 2, 4, 7)] == [200] * 4
        twins.pass_time(0.2)
    twins.send("GET", JOBS, fieldSelector="status.successful=1")
    twins.compare()
    assert twins.patched.taken >= 16


@pytest.mark.parametrize("way", range(WAYS))
def test_every_status_told_in_every_way_does_the_same_to_job_after_job(way: int) -> None:
    twins = Twins()
    for chosen in range(COUNT):
        for number in range(5):
            twins.send("POST", JOBS, job(number))
            tell(twins, number, 1, 0)
            tell(twins, number, chosen, way)
            twins.send("DELETE", f"{JOBS}/j-{number}", {"propagationPolicy": "Background"})
            twins.pass_time(0.4)
    twins.compare()
    assert twins.patched.taken > COUNT


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, COUNT - 1), st.integers(0, WAYS - 1)), min_size=1, max_size=5),
    st.sampled_from([{}, {"fieldValidation": "Strict"}, {"dryRun": "All"}, {"fieldManager": "x"}]),
)
def test_any_states_do_the_same_to_job_after_job(turns: list[tuple[int, int]], query: Mapping[str, str]) -> None:
    twins = Twins()
    for number in range(6):
        twins.send("POST", JOBS, job(number))
        for chosen, way in turns:
            tell(twins, number, chosen, way, **query)
            twins.pass_time(0.3)
    twins.compare()


def test_a_job_that_goes_or_is_gone_is_refused_however_well_the_state_is_known() -> None:
    twins = Twins()
    for number in (1, 2, 5, 6):
        twins.send("POST", JOBS, job(number))
        tell(twins, number, 1, 1)
    twins.send("POST", JOBS, job(8))
    found = twins.get(f"{JOBS}/j-8")
    twins.send("DELETE", f"{JOBS}/j-8", {"propagationPolicy": "Foreground"})
    assert tell(twins, 8, 1, 1) == 200
    assert twins.send("PUT", f"{JOBS}/j-8/status", {**found, "status": {"active": 1}}).status == 409
    twins.send("POST", JOBS, job(11))
    gone = twins.get(f"{JOBS}/j-11")
    twins.send("DELETE", f"{JOBS}/j-11", {"propagationPolicy": "Background"})
    assert twins.send("PUT", f"{JOBS}/j-11/status", {**gone, "status": {"active": 1}}).status == 404
    twins.compare()
