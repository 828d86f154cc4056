"""Containers of the system that were started anew."""

from typing import Any

import pytest

from kubedyno.clusterloader.measurements.system_pods import restarts_since, system_pod, violations
from kubedyno.clusterloader.reporting.pods import SystemContainer, SystemPod, system_pods_json

pytestmark = pytest.mark.unit

KILLED = {
    "exitCode": 137,
    "reason": "OOMKilled",
    "startedAt": "2026-01-02T03:04:05Z",
    "finishedAt": "2026-01-02T04:04:05Z",
    "containerID": "containerd://a",
}


def pod(name: str, **restarts: int) -> Any:
    statuses = [{"name": one, "image": f"{one}:1", "restartCount": count} for one, count in restarts.items()]
    return {"metadata": {"name": name}, "status": {"containerStatuses": statuses}}


def test_a_pod_tells_of_its_containers_and_how_they_ended_last() -> None:
    killed = pod("dns", main=2)
    killed["status"]["containerStatuses"][0]["lastState"] = {"terminated": KILLED}
    (container,) = system_pod(killed).containers
    assert container == SystemContainer(
        "main",
        "main:1",
        2,
        "&ContainerStateTerminated{ExitCode:137,Signal:0,Reason:OOMKilled,Message:,"
        "StartedAt:2026-01-02 03:04:05 +0000 UTC,FinishedAt:2026-01-02 04:04:05 +0000 UTC,ContainerID:containerd://a,}",
    )
    assert system_pod({"metadata": {"name": "new"}}) == SystemPod("new")


def test_restarts_count_from_the_start_and_all_of_a_pod_that_came_later() -> None:
    before = [system_pod(pod("dns", main=2, side=1))]
    now = [system_pod(pod("dns", main=5, side=1)), system_pod(pod("late", main=1))]
    counted = {
        (one.name, each.name): each.restart_count for one in restarts_since(now, before) for each in one.containers
    }
    assert counted == {("dns", "main"): 3, ("dns", "side"): 0, ("late", "main"): 1}


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({}, ["dns: main was restarted 3 times, and 0 is the limit"]),
        ({"default": 2}, ["dns: main was restarted 3 times, and 2 is the limit"]),
        ({"default": 2, "main": 3}, []),
        ({"main": 1, "default": 9}, ["dns: main was restarted 3 times, and 1 is the limit"]),
    ],
)
def test_a_container_has_its_own_limit_or_the_one_of_all_or_none(limits: dict[str, int], told: list[str]) -> None:
    assert list(violations([system_pod(pod("dns", main=3, side=0))], limits)) == told


def test_none_is_an_empty_list() -> None:
    assert system_pods_json(()) == '{\n  "pods": []\n}\n'
