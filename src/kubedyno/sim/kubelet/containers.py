"""What a kubelet says of one container: waiting, running, ended, and when it is started again.

Containers of equal specs share what is the same in all their statuses: `shape_of` remembers it. What it gives out is
shared, so nobody may change it.

Of a container's present status only its name, `state`, `lastState`, `restartCount` and `allocatedResourcesStatus` are
read; all else follows from the spec, the pod's uid and these.
"""

import functools
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit.clock import NS_PER_S, parse_rfc3339_ns
from kubedyno.kube.codec import Object
from kubedyno.sim.kubelet.plans import Plan

SIGKILLED: Final = 137
SIGTERMED: Final = 143

_BACK_OFF_FIRST_S: Final = 10
_BACK_OFF_MOST_S: Final = 300
_STABLE_S: Final = 600  # a run of more than this forgives all ends before it
_LOST: Final = {
    "terminated": {
        "exitCode": SIGKILLED,
        "reason": "ContainerStatusUnknown",
        "message": "The container could not be located when the pod was terminated",
    }
}


_Parts = tuple[str, str, Any, str | None]
"""Name, image, resources and restart policy."""


class Container(msgspec.Struct, frozen=True):
    """What is the same in all statuses of containers of one spec."""

    name: str
    is_initial: bool
    is_sidecar: bool
    waiting: Mapping[str, Any]
    """Members of the status before the container ran for the first time."""
    ran: Mapping[str, Any]
    """Members of the status from then on."""


class Shape(msgspec.Struct, frozen=True):
    """The containers of a pod."""

    regular: tuple[Container, ...]
    """As in the spec."""
    initial: tuple[Container, ...]
    """As in the spec; they run one after another, except sidecars, which run on."""
    listed: tuple[Container, ...]
    """The regular ones as they are listed in statuses: by name."""
    creating: str
    """Why containers wait that have not run yet."""
    serving: tuple[str, ...]
    """Names of all that must run for the pod to be ready: sidecars, then regular ones."""


def shape_of(spec: Object) -> Shape:
    """The containers of a pod's spec; pods of one template have one shape."""
    return _shape(_encode([_parts(spec["containers"]), _parts(spec.get("initContainers") or ())]))


_encode = msgspec.json.Encoder().encode


def _parts(specs: Iterable[Object]) -> list[_Parts]:
    """What statuses follow from: not all of the spec, since mounts of tokens are named differently in each pod."""
    return [(one["name"], one.get("image", ""), one.get("resources"), one.get("restartPolicy")) for one in specs]


@functools.lru_cache(maxsize=1024)
def _shape(text: bytes) -> Shape:
    regular_parts, initial_parts = msgspec.json.decode(text)
    regular = tuple(_container(parts, is_initial=False) for parts in regular_parts)
    initial = tuple(_container(parts, is_initial=True) for parts in initial_parts)
    return Shape(
        regular=regular,
        initial=initial,
        listed=tuple(sorted(regular, key=lambda container: container.name)),
        creating="PodInitializing" if initial else "ContainerCreating",
        serving=tuple(container.name for container in (*initial, *regular) if is_serving(container)),
    )


def _container(parts: _Parts, *, is_initial: bool) -> Container:
    name, image, resources, policy = parts
    asked = (resources or {}).get("requests")
    return Container(
        name=name,
        is_initial=is_initial,
        is_sidecar=is_initial and policy == "Always",
        waiting={"name": name, "image": image, "imageID": ""},
        # A kubelet repeats what it gave to the container, so that resizing in place can be followed.
        ran={
            "name": name,
            "image": image,
            "imageID": image_id(image),
            "resources": resources or {},
            **({"allocatedResources": asked} if asked else {}),
        },
    )


def is_serving(container: Container) -> bool:
    """Whether it must run for the pod to be ready: all but those that only prepare."""
    return container.is_sidecar or not container.is_initial


def image_id(image: str) -> str:
    """The image by its digest, which follows from the name here: `nginx:1` is `nginx@sha256:...`."""
    repository, at, digest = image.partition("@")
    folder, slash, last = repository.rpartition("/")
    found = digest if at else f"sha256:{hashlib.sha256(image.encode()).hexdigest()}"
    return f"{folder}{slash}{last.partition(':')[0]}@{found}"


def container_id(uid: str, name: str, restarts: int) -> str:
    """The id of a container's run: always the same for the same run."""
    return f"containerd://{hashlib.sha256(f'{uid}/{name}/{restarts}'.encode()).hexdigest()}"


def told(
    container: Container,
    uid: str,
    state: Object,
    *,
    restarts: int = 0,
    last: Object | None = None,
    before: Object | None = None,
) -> Object:
    """The status of a container in a state, after so many restarts and with that `lastState`.

    Without probes, whatever runs is started and ready; a container that prepares is ready when it ended well.
    """
    runs = "running" in state
    ready = runs if is_serving(container) else has_ended_well(state)
    status = {"ready": ready, "started": runs, "restartCount": restarts, "state": state}
    if not last and not runs and "terminated" not in state:
        return {**container.waiting, **status}
    if last:
        status["lastState"] = last
    if before and "allocatedResourcesStatus" in before:
        status["allocatedResourcesStatus"] = before["allocatedResourcesStatus"]
    return {**container.ran, "containerID": container_id(uid, container.name, restarts), **status}


def has_ended_well(state: Object) -> bool:
    """Whether this is the state of a container that ended with exit code 0."""
    return "terminated" in state and state["terminated"]["exitCode"] == 0


def has_run(status: Object) -> bool:
    """Whether the container runs or ever did."""
    state = status["state"]
    return "running" in state or "terminated" in state or bool(status.get("lastState"))


def waiting(container: Container, uid: str, reason: str) -> Object:
    """The status of a container that has not run yet."""
    return told(container, uid, {"waiting": {"reason": reason}})


def running(container: Container, uid: str, now: str) -> Object:
    """The status of a container that runs for the first time."""
    return told(container, uid, {"running": {"startedAt": now}})


def completed(container: Container, uid: str, began: str, now: str) -> Object:
    """The status of a container that prepared and ended well."""
    return told(container, uid, {"terminated": _ended(container, uid, 0, began, now)})


def again(container: Container, uid: str, before: Object) -> Object:
    """The status as it was, with what the spec says now."""
    restarts, last = before.get("restartCount", 0), before.get("lastState")
    return told(container, uid, before["state"], restarts=restarts, last=last, before=before)


def stopped(container: Container, uid: str, before: Object, *, code: int, now: str, has_turn: bool) -> Object:
    """The status of a container that will not run again; what runs ends with the exit code.

    One that waits to be started again has ended already. One that never ran though it was its turn is told to be
    lost, as kubelets do for fear of taking it for a success.
    """
    state, restarts, last = before["state"], before.get("restartCount", 0), before.get("lastState")
    if began := state.get("running"):
        ended = _ended(container, uid, code, began["startedAt"], now, restarts=restarts)
        return told(container, uid, {"terminated": ended}, restarts=restarts, last=last, before=before)
    if "terminated" not in state and last:
        return told(container, uid, last, restarts=restarts, before=before)
    if "terminated" not in state and has_turn:
        return {**again(container, uid, before), "state": _LOST}
    return again(container, uid, before)


def _ended(container: Container, uid: str, code: int, began: str, now: str, *, restarts: int = 0) -> Object:
    return {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": began,
        "finishedAt": now,
        "containerID": container_id(uid, container.name, restarts),
    }


def changes_ns(status: Object, plan: Plan, policy: str, step_ns: int | None) -> int | None:
    """When a regular container ends or is started again; None: never by itself."""
    state = status["state"]
    if began := state.get("running"):
        if plan.work_s is None:
            return None
        return exactly_ns(began["startedAt"], step_ns) + round(plan.work_s * NS_PER_S)
    last = state.get("terminated") or (status.get("lastState") or {}).get("terminated")
    if last is None:
        return 0  # the others run: it should, too
    if "terminated" in state and not is_restarted(last["exitCode"], policy):
        return None
    if not last.get("finishedAt"):
        return 0  # nobody knows when it ended: it has waited long enough
    return exactly_ns(last["finishedAt"], step_ns) + back_off_s(status.get("restartCount", 0), last) * NS_PER_S


def changed(container: Container, pod: Object, before: Object, plan: Plan, *, now: str) -> Object:
    """The status after the change that `changes_ns` told the time of."""
    uid, policy = pod["metadata"]["uid"], pod["spec"].get("restartPolicy", "Always")
    state, restarts, last = before["state"], before.get("restartCount", 0), before.get("lastState")
    if began := state.get("running"):
        ended = {"terminated": _ended(container, uid, plan.exit_code, began["startedAt"], now, restarts=restarts)}
        pause_s = back_off_s(restarts, ended["terminated"]) if is_restarted(plan.exit_code, policy) else 0
        if not pause_s:
            return told(container, uid, ended, restarts=restarts, last=last, before=before)
        waits = _crash_loop(container, pod, pause_s)
        return told(container, uid, waits, restarts=restarts, last=ended, before=before)
    last = {"terminated": state["terminated"]} if "terminated" in state else last
    if not last:
        return running(container, uid, now)
    return told(container, uid, {"running": {"startedAt": now}}, restarts=restarts + 1, last=last, before=before)


def is_restarted(exit_code: int, policy: str) -> bool:
    """Whether a container that ended so is started again."""
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def back_off_s(restarts: int, last: Object) -> int:
    """How long a kubelet waits before it starts a container again that ended as `last` tells.

    The first time it does not; then 10 s, doubled each time up to five minutes.
    """
    if restarts == 0 or not (last.get("startedAt") and last.get("finishedAt")):
        return 0
    if stamp_ns(last["finishedAt"]) - stamp_ns(last["startedAt"]) > _STABLE_S * NS_PER_S:
        return 0
    return min(_BACK_OFF_FIRST_S << min(restarts - 1, 5), _BACK_OFF_MOST_S)


def _crash_loop(container: Container, pod: Object, pause_s: int) -> Object:
    minutes, seconds = divmod(pause_s, 60)
    pause = f"{minutes}m{seconds}s" if minutes else f"{seconds}s"
    metadata = pod["metadata"]
    named = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
    message = f"back-off {pause} restarting failed container={container.name} pod={named}"
    return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}


stamp_ns = functools.lru_cache(maxsize=4096)(parse_rfc3339_ns)
"""Nanoseconds of a stamp; pods of one second have the same ones."""


def exactly_ns(stamp: str, step_ns: int | None) -> int:
    """The time that was cut off to a stamp of whole seconds: `step_ns` where it is that, else the stamp itself."""
    second_ns = stamp_ns(stamp)
    return step_ns if step_ns is not None and 0 <= step_ns - second_ns < NS_PER_S else second_ns


@functools.lru_cache(maxsize=64)
def second_text(second: int) -> str:
    """The stamp of a second since the epoch."""
    return seconds_text(second * NS_PER_S)
