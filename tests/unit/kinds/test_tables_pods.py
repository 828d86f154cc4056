"""The row of a pod in the states that people look for."""

from typing import Any

import pytest

from kubedyno.kinds.tables.table import printer_of, table
from kubedyno.kube.resources import PODS

pytestmark = pytest.mark.unit

Json = dict[str, Any]

NOW_NS = 100 * 10**9
CREATED = "1970-01-01T00:00:40Z"


def pod(status: Json, **spec: Any) -> Json:
    containers = [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]
    return {
        "metadata": {"name": "p", "creationTimestamp": CREATED, "resourceVersion": "7"},
        "spec": {"containers": containers, **spec},
        "status": {"phase": "Running", **status},
    }


def cells(status: Json, *, is_deleted: bool = False, **spec: Any) -> list[Any]:
    obj = pod(status, **spec)
    if is_deleted:
        obj["metadata"]["deletionTimestamp"] = CREATED
    made = table(printer_of(PODS), [obj], now_ns=NOW_NS)
    return list(made["rows"][0]["cells"])


def container(name: str = "a", *, ready: bool = False, restarts: int = 0, **state: Json) -> Json:
    return {"name": name, "ready": ready, "restartCount": restarts, "state": state}


RUNNING: Json = {"running": {}}
DONE: Json = {"terminated": {"exitCode": 0, "reason": "Completed"}}
FAILED: Json = {"terminated": {"exitCode": 1, "reason": "Error"}}
READY = {"type": "Ready", "status": "True"}
SIDECAR = {"name": "side", "image": "s", "restartPolicy": "Always"}
INIT: Json = {"initContainers": [{"name": "i1"}, {"name": "i2"}]}


@pytest.mark.parametrize(
    ("status", "ready", "said"),
    [
        ({"phase": "Pending"}, "0/2", "Pending"),
        ({"phase": "Failed", "reason": "Evicted"}, "0/2", "Evicted"),
        ({"conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}, "0/2", "SchedulingGated"),
        ({"containerStatuses": [container(ready=True, **RUNNING)]}, "1/2", "Running"),
        ({"containerStatuses": [container(waiting={"reason": "CrashLoopBackOff"})]}, "0/2", "CrashLoopBackOff"),
        ({"containerStatuses": [container(**DONE), container("b", **DONE)]}, "0/2", "Completed"),
        ({"containerStatuses": [container(**DONE), container("b", **FAILED)]}, "0/2", "Error"),
        ({"containerStatuses": [container(**DONE), container("b", ready=True, **RUNNING)]}, "1/2", "NotReady"),
        (
            {"containerStatuses": [container(**DONE), container("b", ready=True, **RUNNING)], "conditions": [READY]},
            "1/2",
            "Running",
        ),
        ({"containerStatuses": [container(terminated={"exitCode": 3})]}, "0/2", "ExitCode:3"),
        ({"containerStatuses": [container(terminated={"exitCode": 3, "signal": 9})]}, "0/2", "Signal:9"),
    ],
)
def test_one_word_says_how_the_containers_are(status: Json, ready: str, said: str) -> None:
    assert cells(status)[1:3] == [ready, said]


@pytest.mark.parametrize(
    ("statuses", "said"),
    [
        ([container("i1", **RUNNING)], "Init:0/2"),
        ([container("i1", **DONE), container("i2", waiting={"reason": "PodInitializing"})], "Init:1/2"),
        ([container("i1", waiting={"reason": "ImagePullBackOff"})], "Init:ImagePullBackOff"),
        ([container("i1", **FAILED)], "Init:Error"),
        ([container("i1", terminated={"exitCode": 2})], "Init:ExitCode:2"),
        ([container("i1", terminated={"exitCode": 2, "signal": 6})], "Init:Signal:6"),
        ([container("i1", **DONE), container("i2", **DONE)], "Pending"),
    ],
)
def test_init_containers_are_told_first(statuses: list[Json], said: str) -> None:
    assert cells({"phase": "Pending", "initContainerStatuses": statuses}, **INIT)[2] == said


def test_a_sidecar_counts_as_a_container() -> None:
    status = {
        "initContainerStatuses": [{**container("side", ready=True, restarts=2, **RUNNING), "started": True}],
        "containerStatuses": [container(ready=True, **RUNNING), container("b", ready=True, **RUNNING)],
    }
    assert cells(status, initContainers=[SIDECAR])[1:4] == ["3/3", "Running", "2"]


def test_restarts_tell_when_the_last_was() -> None:
    ended = {"lastState": {"terminated": {"finishedAt": "1970-01-01T00:01:00Z"}}}
    status = {"containerStatuses": [{**container(restarts=3, **RUNNING), **ended}, container("b", restarts=1)]}
    assert cells(status)[3] == "4 (40s ago)"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({}, "Terminating"),
        ({"phase": "Succeeded"}, "Succeeded"),
        ({"reason": "NodeLost"}, "Unknown"),
    ],
)
def test_a_deleted_pod(status: Json, said: str) -> None:
    assert cells(status, is_deleted=True)[2] == said


def test_wide_columns() -> None:
    assert cells({})[4:] == ["60s", "<none>", "<none>", "<none>", "<none>"]
    gates = [{"conditionType": "x"}, {"conditionType": "y"}]
    status = {
        "podIPs": [{"ip": "10.0.0.1"}],
        "nominatedNodeName": "n2",
        "conditions": [{"type": "x", "status": "True"}, {"type": "y", "status": "False"}],
    }
    assert cells(status, nodeName="n1", readinessGates=gates)[5:] == ["10.0.0.1", "n1", "n2", "1/2"]


def test_a_pod_that_is_done_is_marked() -> None:
    made = table(printer_of(PODS), [pod({"phase": "Failed"}), pod({})], now_ns=NOW_NS)
    assert made["rows"][0]["conditions"] == [
        {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}
    ]
    assert "conditions" not in made["rows"][1]
