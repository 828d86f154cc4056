"""What a kubelet says of single containers."""

from typing import Any

import pytest

from kubedyno.sim.kubelet import containers
from kubedyno.sim.kubelet.containers import SIGTERMED, Container
from kubedyno.sim.kubelet.plans import Plan

pytestmark = pytest.mark.unit

NOW = "2026-01-02T03:04:05Z"
LATER = "2026-01-02T03:04:35Z"
MUCH_LATER = "2026-01-02T03:14:06Z"
ID = "containerd://" + "b0d1e3ab6e3d7d6d0ed5ed6ad4b1cd6d"
SECOND = 1_000_000_000
NOW_NS = containers.stamp_ns(NOW)
NEVER = Plan(0.0, None, 0.0, 0)


def spec(**changes: Any) -> dict[str, Any]:
    return {
        "containers": [
            {"name": "b", "image": "nginx", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}},
            {"name": "a", "image": "i"},
        ],
        "initContainers": [
            {"name": "first", "image": "x"},
            {"name": "side", "image": "y", "restartPolicy": "Always"},
        ],
        **changes,
    }


def container(name: str = "a") -> Container:
    shape = containers.shape_of(spec())
    return next(one for one in (*shape.regular, *shape.initial) if one.name == name)


def ended(code: int = 1, began: str = NOW, at: str = LATER) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "startedAt": began, "finishedAt": at}}


def status(state: dict[str, Any], restarts: int = 0, last: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"name": "a", "state": state, "restartCount": restarts, "lastState": last or {}}


def pod(policy: str = "Always") -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "namespace": "team", "uid": "u"},
        "spec": {**spec(), "restartPolicy": policy},
        "status": {},
    }


def test_a_shape_lists_containers_as_specs_and_statuses_do() -> None:
    shape = containers.shape_of(spec())
    assert [one.name for one in shape.regular] == ["b", "a"]
    assert [one.name for one in shape.listed] == ["a", "b"]
    assert [(one.name, one.is_sidecar) for one in shape.initial] == [("first", False), ("side", True)]
    assert shape.serving == ("side", "b", "a")
    assert shape.creating == "PodInitializing"
    assert containers.shape_of(spec(initContainers=None)).creating == "ContainerCreating"


def test_pods_of_one_template_share_a_shape_whatever_their_tokens_are_called() -> None:
    mounts = [{"name": f"kube-api-access-{number}", "mountPath": "/token"} for number in range(2)]
    shapes = [
        containers.shape_of({"containers": [{"name": "a", "image": "i", "volumeMounts": [one]}]}) for one in mounts
    ]
    assert shapes[0] is shapes[1]


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("nginx", "nginx@sha256:"),
        ("nginx:1.29", "nginx@sha256:"),
        ("team/app:v1", "team/app@sha256:"),
        ("images.example/pause:3.10", "images.example/pause@sha256:"),
        ("localhost/app", "localhost/app@sha256:"),
        ("registry:5000/team/app:v1", "registry:5000/team/app@sha256:"),
    ],
)
def test_an_image_has_an_id_with_a_digest(image: str, name: str) -> None:
    found = containers.image_id(image)
    assert found.startswith(name)
    assert len(found) == len(name) + 64
    assert found == containers.image_id(image)


def test_an_image_with_a_digest_keeps_it() -> None:
    assert containers.image_id("nginx:1@sha256:abc") == "nginx@sha256:abc"


def test_each_run_of_a_container_has_an_id_of_its_own() -> None:
    ids = {containers.container_id(uid, name, restarts) for uid in "uv" for name in "ab" for restarts in (0, 1)}
    assert len(ids) == 8
    assert {len(one) for one in ids} == {len("containerd://") + 64}
    assert containers.container_id("u", "a", 0) in ids


def test_a_container_that_never_ran_has_no_id_and_no_resources() -> None:
    assert containers.waiting(container("b"), "u", "ContainerCreating") == {
        "name": "b",
        "image": "nginx",
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "state": {"waiting": {"reason": "ContainerCreating"}},
    }


def test_a_running_container_repeats_its_resources() -> None:
    assert containers.running(container("b"), "u", NOW) == {
        "name": "b",
        "image": "nginx",
        "imageID": containers.image_id("nginx"),
        "containerID": containers.container_id("u", "b", 0),
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": NOW}},
        "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
        "allocatedResources": {"cpu": "1"},
    }
    assert "allocatedResources" not in containers.running(container("a"), "u", NOW)
    assert containers.running(container("a"), "u", NOW)["resources"] == {}


def test_a_container_that_prepares_is_ready_when_it_ended_well() -> None:
    running = containers.running(container("first"), "u", NOW)
    assert (running["ready"], running["started"]) == (False, True)
    completed = containers.completed(container("first"), "u", NOW, LATER)
    assert (completed["ready"], completed["started"]) == (True, False)
    assert completed["state"]["terminated"] == {
        "exitCode": 0,
        "reason": "Completed",
        "startedAt": NOW,
        "finishedAt": LATER,
        "containerID": completed["containerID"],
    }
    assert containers.running(container("side"), "u", NOW)["ready"]


def test_what_others_said_of_its_devices_stays() -> None:
    health = [{"name": "nvidia.com/gpu", "resources": [{"resourceID": "gpu-0", "health": "Healthy"}]}]
    before = {**containers.running(container(), "u", NOW), "allocatedResourcesStatus": health}
    assert containers.again(container(), "u", before) == before
    stopped = containers.stopped(container(), "u", before, code=SIGTERMED, now=LATER, has_turn=True)
    assert stopped["allocatedResourcesStatus"] == health


@pytest.mark.parametrize(
    ("restarts", "ran", "pause_s"),
    [
        (0, LATER, 0),
        (1, LATER, 10),
        (2, LATER, 20),
        (3, LATER, 40),
        (4, LATER, 80),
        (5, LATER, 160),
        (6, LATER, 300),
        (7, LATER, 300),
        (1000, LATER, 300),
        (1000, "2026-01-02T03:14:05Z", 300),
        (1000, MUCH_LATER, 0),
    ],
)
def test_a_kubelet_waits_longer_each_time_and_forgives_long_runs(restarts: int, ran: str, pause_s: int) -> None:
    assert containers.back_off_s(restarts, ended(at=ran)["terminated"]) == pause_s


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [
        ("Always", 0, True),
        ("Always", 1, True),
        ("OnFailure", 0, False),
        ("OnFailure", 1, True),
        ("Never", 0, False),
        ("Never", 1, False),
    ],
)
def test_the_restart_policy_decides_who_is_started_again(policy: str, code: int, again: bool) -> None:
    assert containers.is_restarted(code, policy) is again
    due = containers.changes_ns(status(ended(code)), NEVER, policy, None)
    assert (due is not None) is again


@pytest.mark.parametrize(
    ("given", "plan", "due_s"),
    [
        (status({"running": {"startedAt": NOW}}), NEVER, None),
        (status({"running": {"startedAt": NOW}}), Plan(0.0, 2.5, 0.0, 0), 2.5),
        (status(ended(), 0), NEVER, 30),
        (status(ended(), 1), NEVER, 40),
        (status({"waiting": {"reason": "CrashLoopBackOff"}}, 2, ended()), NEVER, 50),
    ],
)
def test_when_a_container_changes_by_itself(given: dict[str, Any], plan: Plan, due_s: float | None) -> None:
    due_ns = containers.changes_ns(given, plan, "Always", None)
    assert due_ns == (None if due_s is None else NOW_NS + due_s * SECOND)


@pytest.mark.parametrize(
    "given", [status({"waiting": {}}), status({}), status({"terminated": {"exitCode": 137, "finishedAt": None}})]
)
def test_a_container_that_has_no_reason_to_wait_is_started_at_once(given: dict[str, Any]) -> None:
    assert containers.changes_ns(given, NEVER, "Always", None) == 0


@pytest.mark.parametrize(
    ("step_ns", "exact_ns"),
    [
        (None, NOW_NS),
        (NOW_NS, NOW_NS),
        (NOW_NS + 1, NOW_NS + 1),
        (NOW_NS + SECOND - 1, NOW_NS + SECOND - 1),
        (NOW_NS + SECOND, NOW_NS),
        (NOW_NS - 1, NOW_NS),
    ],
)
def test_a_remembered_time_is_taken_where_it_is_the_one_that_was_cut_off(step_ns: int | None, exact_ns: int) -> None:
    assert containers.exactly_ns(NOW, step_ns) == exact_ns


def test_the_first_end_is_told_and_the_container_started_again_at_once() -> None:
    crashes = Plan(0.0, 30.0, 0.0, 3)
    first = containers.changed(container(), pod(), containers.running(container(), "u", NOW), crashes, now=LATER)
    assert (first["ready"], first["started"], first["restartCount"]) == (False, False, 0)
    assert first["state"]["terminated"] == {
        "exitCode": 3,
        "reason": "Error",
        "startedAt": NOW,
        "finishedAt": LATER,
        "containerID": containers.container_id("u", "a", 0),
    }
    second = containers.changed(container(), pod(), first, crashes, now=LATER)
    assert second["state"] == {"running": {"startedAt": LATER}}
    assert second["lastState"] == first["state"]
    assert (second["ready"], second["restartCount"]) == (True, 1)
    assert second["containerID"] == containers.container_id("u", "a", 1)


@pytest.mark.parametrize(
    ("restarts", "pause"),
    [(1, "10s"), (2, "20s"), (3, "40s"), (4, "1m20s"), (5, "2m40s"), (6, "5m0s"), (7, "5m0s")],
)
def test_later_ends_wait_in_a_crash_loop(restarts: int, pause: str) -> None:
    before = containers.told(container(), "u", {"running": {"startedAt": NOW}}, restarts=restarts, last=ended())
    after = containers.changed(container(), pod(), before, Plan(0.0, 30.0, 0.0, 0), now=LATER)
    message = f"back-off {pause} restarting failed container=a pod=p_team(u)"
    assert after["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    assert after["lastState"]["terminated"]["reason"] == "Completed"
    assert (after["restartCount"], after["ready"]) == (restarts, False)
    assert after["containerID"] == containers.container_id("u", "a", restarts)


def test_containers_that_will_not_run_again() -> None:
    one, lost = container(), {"terminated": containers._LOST["terminated"]}
    never_ran = containers.waiting(one, "u", "ContainerCreating")
    crashed = containers.told(one, "u", {"waiting": {"reason": "CrashLoopBackOff"}}, restarts=2, last=ended(4))
    well = containers.told(one, "u", ended(0))

    def stopped(before: dict[str, Any], *, has_turn: bool = True) -> dict[str, Any]:
        return containers.stopped(one, "u", before, code=SIGTERMED, now=LATER, has_turn=has_turn)

    assert stopped(never_ran)["state"] == lost
    assert stopped(never_ran, has_turn=False) == never_ran
    assert stopped(crashed)["state"] == ended(4)
    assert "lastState" not in stopped(crashed)
    assert stopped(well) == well
    assert stopped(containers.running(one, "u", NOW))["state"]["terminated"]["exitCode"] == 143
