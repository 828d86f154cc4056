"""What a kubelet does next about a pod, played to its end in virtual time."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.controllers.stamps import seconds_text
from kubedyno.kube.codec import Object
from kubedyno.kube.merge_keys import merge_keys_for
from kubedyno.kube.meta import copied
from kubedyno.kube.strategic import apply_strategic_patch
from kubedyno.sim.kubelet import podstates
from kubedyno.sim.kubelet.containers import container_id, stamp_ns
from kubedyno.sim.kubelet.lifecycle import Decision, Delete, Wait, Write, decide, is_final
from kubedyno.sim.kubelet.plans import Plan

pytestmark = pytest.mark.unit

SECOND = 1_000_000_000
START = "2026-01-02T03:04:05Z"
T0 = stamp_ns(START) + SECOND // 4
AT_ONCE = Plan(0.0, None, 0.0, 0)
MERGE_KEYS = merge_keys_for("v1", "Pod")
OWN = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
NOT_OURS = {"PodScheduled", "DisruptionTarget", "example.com/warm"}


class Addresses:
    def __init__(self) -> None:
        self.asked = 0

    @property
    def host_ips(self) -> tuple[str, ...]:
        return ("192.168.0.7",)

    def pod_ips(self) -> tuple[str, ...]:
        self.asked += 1
        return ("10.1.0.2", "fd00::2")


def pod(*, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod as the scheduler leaves it."""
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-02T03:04:00Z"}
    return {
        "metadata": {"name": "p", "namespace": "team", "uid": "u", "generation": 1, **(metadata or {})},
        "spec": {
            "nodeName": "n",
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "b", "image": "i"}, {"name": "a", "image": "j"}],
            **spec,
        },
        "status": {"phase": "Pending", "qosClass": "BestEffort", "conditions": [bound]},
    }


INITS = [
    {"name": "first", "image": "x"},
    {"name": "side", "image": "y", "restartPolicy": "Always"},
    {"name": "last", "image": "z"},
]


class Play:
    """A kubelet that does at once what is decided, and an API server that applies it; time jumps from wait to wait."""

    def __init__(self, start: dict[str, Any], plan: Plan, *, exact: bool = True, forgets: bool = False) -> None:
        self.pod: dict[str, Any] | None = start
        self.plan = plan
        self.now_ns = T0
        self.writes: list[tuple[float, dict[str, Any]]] = []
        self.addresses = Addresses()
        self._exact = exact
        self._forgets = forgets
        self._step_ns: int | None = None

    def decide(self) -> Decision:
        assert self.pod is not None
        seen = copied(self.pod)
        if self._forgets:
            podstates.forget_unneeded(seen)
        before = copied(seen)
        step_ns = self._step_ns if self._exact else None
        decision = decide(seen, self.plan, now_ns=self.now_ns, addresses=self.addresses, step_ns=step_ns)
        assert seen == before
        return decision

    def run(self, until_s: float = 1e6) -> "Play":
        """Go on until nothing is left to do, or until so many seconds after the beginning."""
        for _ in range(1000):
            if self.pod is None:
                return self
            match self.decide():
                case Write(status, is_step):
                    self._write(status)
                    if is_step:
                        self._step_ns = self.now_ns
                case Delete():
                    self._delete()
                case Wait(at_ns):
                    assert at_ns > self.now_ns
                    if at_ns > T0 + round(until_s * SECOND):
                        self.now_ns = T0 + round(until_s * SECOND)
                        return self
                    self.now_ns = at_ns
                case None:
                    return self
        raise AssertionError("it never ends")

    def _write(self, status: dict[str, Any]) -> None:
        assert self.pod is not None
        assert MERGE_KEYS is not None
        assert not NOT_OURS & {one["type"] for one in status.get("conditions", ())}
        assert not {"nominatedNodeName", "qosClass", "resourceClaimStatuses"} & set(status)
        after = apply_strategic_patch(self.pod, {"status": status}, MERGE_KEYS)
        assert after != self.pod, "a write that changes nothing would be written for ever"
        self.writes.append(((self.now_ns - T0) / SECOND, status))
        # As Go's structs are printed.
        for which in ("containerStatuses", "initContainerStatuses"):
            for one in after["status"].get(which, ()):
                one.setdefault("lastState", {})
        self.pod = after

    def _delete(self) -> None:
        assert self.pod is not None
        metadata = self.pod["metadata"]
        assert metadata.get("deletionGracePeriodSeconds") != 0, "it was asked already"
        if metadata.get("finalizers"):
            metadata["deletionGracePeriodSeconds"] = 0
        else:
            self.pod = None

    def ask_to_go(self, grace_s: int = 30) -> "Play":
        """As a client's DELETE does."""
        assert self.pod is not None
        metadata = self.pod["metadata"]
        metadata["deletionTimestamp"] = seconds_text(self.now_ns + grace_s * SECOND)
        metadata["deletionGracePeriodSeconds"] = grace_s
        metadata["generation"] += 1
        self._step_ns = self.now_ns
        return self

    @property
    def status(self) -> dict[str, Any]:
        assert self.pod is not None
        found: dict[str, Any] = self.pod["status"]
        return found

    @property
    def seconds(self) -> list[float]:
        """When it wrote."""
        return [round(at, 3) for at, _ in self.writes]

    @property
    def phases(self) -> list[str]:
        return [status["phase"] for _, status in self.writes if "phase" in status]

    def condition(self, type_: str) -> tuple[str, str, str]:
        (found,) = (one for one in self.status["conditions"] if one["type"] == type_)
        return found["status"], found.get("reason", ""), found.get("message", "")

    def states(self, which: str = "containerStatuses") -> dict[str, str]:
        return {one["name"]: "+".join(one["state"]) for one in self.status[which]}


def after_s(seconds: float) -> str:
    return seconds_text(T0 + round(seconds * SECOND))


def test_a_pod_without_delay_runs_after_one_write() -> None:
    play = Play(pod(), AT_ONCE).run()
    assert play.seconds == [0.0]
    status = play.status
    assert (status["phase"], status["startTime"], status["observedGeneration"]) == ("Running", START, 1)
    assert (status["hostIP"], status["hostIPs"]) == ("192.168.0.7", [{"ip": "192.168.0.7"}])
    assert (status["podIP"], status["podIPs"]) == ("10.1.0.2", [{"ip": "10.1.0.2"}, {"ip": "fd00::2"}])
    assert status["qosClass"] == "BestEffort"
    assert [one["type"] for one in status["conditions"]] == [*OWN, "PodScheduled"]
    for one in status["conditions"][:-1]:
        assert one == {
            "type": one["type"],
            "status": "True",
            "observedGeneration": 1,
            "lastTransitionTime": START,
        }
    assert status["conditions"][-1]["lastTransitionTime"] == "2026-01-02T03:04:00Z"
    assert [one["name"] for one in status["containerStatuses"]] == ["a", "b"]
    for one in status["containerStatuses"]:
        assert one["state"] == {"running": {"startedAt": START}}
        assert one["containerID"] == container_id("u", one["name"], 0)
    assert "initContainerStatuses" not in status


def test_a_pod_with_a_delay_is_accepted_first() -> None:
    play = Play(pod(), Plan(2.5, None, 0.0, 0)).run(until_s=2.0)
    assert (play.seconds, play.phases) == ([0.0], ["Pending"])
    assert (play.status["startTime"], play.status["hostIP"]) == (START, "192.168.0.7")
    assert "podIP" not in play.status
    assert play.addresses.asked == 0
    unready = ("False", "ContainersNotReady", "containers with unready status: [b a]")
    assert {type_: play.condition(type_) for type_ in OWN} == {
        "PodReadyToStartContainers": ("False", "", ""),
        "Initialized": ("True", "", ""),
        "ContainersReady": unready,
        "Ready": unready,
    }
    assert [one["state"] for one in play.status["containerStatuses"]] == [
        {"waiting": {"reason": "ContainerCreating"}}
    ] * 2
    play.run()
    assert (play.seconds, play.phases) == ([0.0, 2.5], ["Pending", "Running"])
    assert {type_: play.condition(type_) for type_ in OWN} == dict.fromkeys(OWN, ("True", "", ""))
    times = {one["type"]: one["lastTransitionTime"] for one in play.status["conditions"]}
    assert times["Initialized"] == START
    assert {times[type_] for type_ in OWN if type_ != "Initialized"} == {after_s(2.5)}
    assert play.status["startTime"] == START
    assert play.status["podIP"] == "10.1.0.2"


def test_pods_on_the_network_of_the_host_have_its_addresses_from_the_beginning() -> None:
    play = Play(pod(hostNetwork=True), Plan(2.0, None, 0.0, 0)).run(until_s=1.0)
    assert play.status["podIPs"] == [{"ip": "192.168.0.7"}]
    assert play.run().status["podIP"] == "192.168.0.7"
    assert play.addresses.asked == 0


def test_addresses_that_a_pod_has_stay() -> None:
    start = pod()
    start["status"] |= {
        "startTime": START,
        "podIP": "10.9.9.9",
        "podIPs": [{"ip": "10.9.9.9"}],
        "hostIPs": [{"ip": "h"}],
    }
    play = Play(start, AT_ONCE).run()
    assert play.status["podIPs"] == [{"ip": "10.9.9.9"}]
    assert play.status["hostIPs"] == [{"ip": "h"}]
    assert play.addresses.asked == 0


def test_init_containers_take_their_turns_within_the_start() -> None:
    play = Play(pod(initContainers=INITS), Plan(8.0, None, 0.0, 0)).run(until_s=1.0)
    incomplete = "containers with incomplete status: [first side last]"
    assert play.condition("Initialized") == ("False", "ContainersNotInitialized", incomplete)
    assert play.condition("Ready")[2] == "containers with unready status: [side b a]"
    for which in ("containerStatuses", "initContainerStatuses"):
        assert {one["state"]["waiting"]["reason"] for one in play.status[which]} == {"PodInitializing"}
    play.run(until_s=7.0)
    assert play.seconds == [0.0, 2.0]
    assert play.condition("PodReadyToStartContainers")[0] == "True"
    assert play.condition("Initialized")[2] == incomplete
    assert play.states("initContainerStatuses") == {"first": "running", "side": "waiting", "last": "waiting"}
    play.run()
    assert (play.seconds, play.phases) == ([0.0, 2.0, 8.0], ["Pending", "Pending", "Running"])
    assert play.condition("Initialized") == ("True", "", "")
    first, side, last = play.status["initContainerStatuses"]
    ended = {"exitCode": 0, "reason": "Completed"}
    assert first["state"] == {
        "terminated": {**ended, "startedAt": after_s(2), "finishedAt": after_s(4), "containerID": first["containerID"]}
    }
    assert side["state"] == {"running": {"startedAt": after_s(4)}}
    assert last["state"] == {
        "terminated": {**ended, "startedAt": after_s(6), "finishedAt": after_s(8), "containerID": last["containerID"]}
    }
    assert [(one["ready"], one["started"]) for one in (first, side, last)] == [
        (True, False),
        (True, True),
        (True, False),
    ]


@pytest.mark.parametrize(("start_s", "seconds"), [(0.0, [0.0]), (0.8, [0.0, 0.8]), (1.0, [0.0, 0.25, 1.0])])
def test_short_starts_do_not_show_init_containers_at_work(start_s: float, seconds: list[float]) -> None:
    play = Play(pod(initContainers=INITS), Plan(start_s, None, 0.0, 0)).run()
    assert play.seconds == seconds
    assert play.states("initContainerStatuses") == {"first": "terminated", "side": "running", "last": "terminated"}


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [("Never", 0, "Succeeded"), ("OnFailure", 0, "Succeeded"), ("Never", 3, "Failed")],
)
def test_a_pod_ends_after_its_work(policy: str, code: int, phase: str) -> None:
    play = Play(pod(restartPolicy=policy, initContainers=INITS), Plan(0.0, 30.0, 0.0, code)).run()
    assert (play.seconds, play.phases) == ([0.0, 30.0], ["Running", phase])
    reason = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}[phase]
    assert play.condition("Ready") == play.condition("ContainersReady") == ("False", reason, "")
    assert play.condition("Initialized") == ("True", "PodCompleted" if phase == "Succeeded" else "", "")
    assert play.condition("PodReadyToStartContainers") == ("False", "", "")
    for one in play.status["containerStatuses"]:
        assert (one["ready"], one["started"], one["restartCount"]) == (False, False, 0)
        assert one["state"]["terminated"] == {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "startedAt": START,
            "finishedAt": after_s(30),
            "containerID": one["containerID"],
        }
    assert play.status["podIP"] == "10.1.0.2"
    assert play.states("initContainerStatuses")["side"] == "terminated"


def test_pods_of_a_job_do_not_end_because_of_their_owner() -> None:
    owner = {"kind": "Job", "name": "j", "uid": "x", "controller": True}
    assert Play(pod(metadata={"ownerReferences": [owner]}, restartPolicy="Never"), AT_ONCE).run().phases == ["Running"]


@pytest.mark.parametrize(("policy", "code"), [("Always", 0), ("Always", 1), ("OnFailure", 1)])
def test_containers_are_started_again_with_growing_pauses(policy: str, code: int) -> None:
    start = pod(restartPolicy=policy, containers=[{"name": "a", "image": "i"}], initContainers=INITS[1:2])
    play = Play(start, Plan(0.0, 5.0, 0.0, code)).run(until_s=100)
    # It runs 5 s each time; pauses are 0 (told as ended, then running), 10, 20 and 40 s.
    assert play.seconds == [0, 5, 5, 10, 20, 25, 45, 50, 90, 95]
    assert set(play.phases) == {"Running"}
    (one,) = play.status["containerStatuses"]
    assert one["state"]["waiting"]["message"] == "back-off 1m20s restarting failed container=a pod=p_team(u)"
    assert (one["restartCount"], one["lastState"]["terminated"]["exitCode"]) == (4, code)
    assert play.condition("Ready") == ("False", "ContainersNotReady", "containers with unready status: [a]")
    assert play.condition("Initialized") == ("True", "", "")
    assert play.condition("PodReadyToStartContainers") == ("True", "", "")
    assert play.states("initContainerStatuses") == {"side": "running"}
    assert [status["containerStatuses"][0]["restartCount"] for _, status in play.writes] == [
        0,
        0,
        1,
        1,
        2,
        2,
        3,
        3,
        4,
        4,
    ]


def test_times_are_a_second_early_at_most_for_who_comes_later() -> None:
    plan = Plan(2.0, 3.5, 0.0, 0)
    assert Play(pod(restartPolicy="Never"), plan).run().seconds == [0.0, 2.0, 5.5]
    assert Play(pod(restartPolicy="Never"), plan, exact=False).run().seconds == [0.0, 1.75, 5.25]


def test_a_deadline_ends_a_pod() -> None:
    play = Play(pod(restartPolicy="Never", activeDeadlineSeconds=20), Plan(0.0, 60.0, 0.0, 0)).run()
    # The clock of a deadline is the start time, which has whole seconds.
    assert (play.seconds, play.phases) == ([0.0, 19.75], ["Running", "Failed"])
    assert play.status["reason"] == "DeadlineExceeded"
    assert play.status["message"] == "Pod was active on the node longer than the specified deadline"
    assert {one["state"]["terminated"]["exitCode"] for one in play.status["containerStatuses"]} == {137}
    assert play.condition("Ready") == ("False", "PodFailed", "")


@pytest.mark.parametrize(
    ("plan", "spec", "seconds", "phase"),
    [
        # Containers take their time to end, but no longer than the pod's grace period.
        (Plan(0.0, None, 4.0, 0), {}, [0.0, 23.75], "Failed"),
        (Plan(0.0, None, 40.0, 0), {}, [0.0, 49.75], "Failed"),
        (Plan(0.0, None, 4.0, 0), {"terminationGracePeriodSeconds": 2}, [0.0, 21.75], "Failed"),
        # The deadline counts from acceptance.
        (Plan(60.0, None, 4.0, 0), {}, [0.0, 19.75], "Failed"),
        (Plan(80.0, None, 4.0, 0), {"initContainers": INITS[:1] * 3}, [0.0, 19.75], "Failed"),
        # Work that is done before is done.
        (Plan(0.0, 19.0, 4.0, 0), {}, [0.0, 19.0], "Succeeded"),
        (Plan(0.0, 21.0, 4.0, 0), {}, [0.0, 23.75], "Failed"),
    ],
)
def test_deadlines_and_ends(plan: Plan, spec: dict[str, Any], seconds: list[float], phase: str) -> None:
    play = Play(pod(**{"restartPolicy": "Never", "activeDeadlineSeconds": 20, **spec}), plan).run()
    assert (play.seconds, play.phases[-1]) == (seconds, phase)


def test_a_deadline_ends_a_crash_loop() -> None:
    play = Play(pod(activeDeadlineSeconds=20), Plan(0.0, 6.0, 0.0, 7)).run()
    assert play.seconds == [0.0, 6.0, 6.0, 12.0, 19.75]
    assert play.phases[-1] == "Failed"
    assert {one["state"]["terminated"]["exitCode"] for one in play.status["containerStatuses"]} == {7}


def test_gates_hold_a_pod_until_others_open_them() -> None:
    play = Play(pod(readinessGates=[{"conditionType": "example.com/warm"}, {"conditionType": "x"}]), AT_ONCE).run()
    missing = 'corresponding condition of pod readiness gate "{}" does not exist.'
    told = f"{missing.format('example.com/warm')}, {missing.format('x')}"
    assert play.phases == ["Running"]
    assert play.condition("ContainersReady") == ("True", "", "")
    assert play.condition("Ready") == ("False", "ReadinessGatesNotReady", told)
    play.now_ns += 10 * SECOND
    gate = {"type": "example.com/warm", "status": "False", "lastTransitionTime": START}
    play.status["conditions"] += [gate, {"type": "x", "status": "True", "lastTransitionTime": START}]
    play.run()
    told = 'the status of pod readiness gate "example.com/warm" is not "True", but False'
    assert play.condition("Ready") == ("False", "ReadinessGatesNotReady", told)
    play.now_ns += 10 * SECOND
    next(one for one in play.status["conditions"] if one["type"] == "example.com/warm")["status"] = "True"
    play.run()
    assert play.condition("Ready") == ("True", "", "")
    times = {one["type"]: one["lastTransitionTime"] for one in play.status["conditions"]}
    assert (times["ContainersReady"], times["Ready"]) == (START, after_s(20))
    assert play.seconds == [0.0, 10.0, 20.0]
    play.now_ns += 10 * SECOND
    next(one for one in play.status["conditions"] if one["type"] == "x")["status"] = "Unknown"
    assert play.run().condition("Ready")[2].endswith("but Unknown")


def test_a_pod_is_ready_again_after_its_node_came_back() -> None:
    play = Play(pod(), Plan(0.0, 600.0, 0.0, 0)).run(until_s=50)
    ready = next(one for one in play.status["conditions"] if one["type"] == "Ready")
    ready |= {"status": "False", "lastTransitionTime": after_s(50), "reason": "NodeLost", "message": "gone"}
    play.now_ns = T0 + 70 * SECOND
    decision = play.decide()
    assert decision == Write(
        {
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "observedGeneration": 1,
                    "lastTransitionTime": after_s(70),
                    "reason": None,
                    "message": None,
                }
            ]
        },
        is_step=False,
    )
    play.run(until_s=100)
    assert play.condition("Ready") == ("True", "", "")
    assert play.seconds == [0.0, 70.0]
    # Its work is not shorter for it.
    assert play.run(until_s=601).seconds[2] == 600.0


def test_conditions_of_others_stay() -> None:
    start = pod()
    disrupted = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "lastTransitionTime": START,
    }
    start["status"]["conditions"].append(disrupted)
    play = Play(start, Plan(1.0, 5.0, 1.0, 0)).run(until_s=3).ask_to_go().run(until_s=3.5)
    assert disrupted in play.status["conditions"]


def test_a_new_generation_is_acknowledged_with_its_resources() -> None:
    play = Play(pod(initContainers=INITS), Plan(0.0, 600.0, 0.0, 0)).run(until_s=10)
    assert play.pod is not None
    play.pod["metadata"]["generation"] = 2
    play.pod["spec"]["containers"][1]["resources"] = {"requests": {"cpu": "3"}}
    play.run(until_s=20)
    assert play.seconds == [0.0, 10.0]
    assert play.status["observedGeneration"] == 2
    by_type = {one["type"]: one for one in play.status["conditions"]}
    assert {by_type[type_]["observedGeneration"] for type_ in OWN} == {2}
    assert {by_type[type_]["lastTransitionTime"] for type_ in OWN} == {START}
    one = play.status["containerStatuses"][0]
    assert (one["name"], one["resources"], one["allocatedResources"]) == ("a", {"requests": {"cpu": "3"}}, {"cpu": "3"})
    assert one["state"] == {"running": {"startedAt": START}}


def test_servers_without_generations_are_not_asked_for_them_again() -> None:
    play = Play(pod(), AT_ONCE).run()
    del play.status["observedGeneration"]
    for one in play.status["conditions"]:
        one.pop("observedGeneration", None)
    assert play.decide() is None
    start = pod()
    del start["metadata"]["generation"]
    assert "observedGeneration" not in str(Play(start, AT_ONCE).run().status)


def test_resources_of_the_whole_pod_are_repeated() -> None:
    containers = [{"name": "a", "image": "i", "resources": {"requests": {"nvidia.com/gpu": "2"}}}]
    play = Play(pod(containers=containers, resources={"requests": {"cpu": "2"}}), AT_ONCE).run()
    assert play.status["resources"] == {"requests": {"cpu": "2"}}
    assert play.status["allocatedResources"] == {"cpu": "2", "nvidia.com/gpu": "2"}


def test_a_pod_that_stops_at_once_is_deleted_at_once() -> None:
    play = Play(pod(), AT_ONCE).run().ask_to_go()
    assert play.decide() == Delete()
    assert play.run().pod is None
    assert play.seconds == [0.0]


def test_a_pod_that_stops_at_once_goes_whatever_the_clocks_say() -> None:
    play = Play(pod(), AT_ONCE).run().ask_to_go()
    play.now_ns -= 60 * SECOND
    assert play.decide() == Delete()


@pytest.mark.parametrize(
    ("stop_s", "grace_s", "ends_s", "code"),
    [(4.0, 30, 14.0, 143), (30.0, 30, 40.0, 143), (45.0, 30, 40.0, 137), (4.0, 1, 11.0, 137)],
)
def test_containers_stop_within_the_grace_period(stop_s: float, grace_s: int, ends_s: float, code: int) -> None:
    start = pod(initContainers=INITS)
    play = Play(start, Plan(0.0, 600.0, stop_s, 0)).run(until_s=10).ask_to_go(grace_s)
    play.run(until_s=ends_s - 0.1)
    assert (play.phases, play.states()) == (["Running"], {"a": "running", "b": "running"})
    play.run()
    assert play.pod is None
    assert (play.seconds, play.phases) == ([0.0, ends_s], ["Running", "Failed"])
    _, status = play.writes[-1]
    sides = [one for one in status["initContainerStatuses"] if one["name"] == "side"]
    for one in (*status["containerStatuses"], *sides):
        assert one["state"]["terminated"]["exitCode"] == code
        assert one["state"]["terminated"]["startedAt"] == START
    assert {one["type"]: one.get("reason") for one in status["conditions"]} == {
        "PodReadyToStartContainers": None,
        "Initialized": None,
        "Ready": "PodFailed",
        "ContainersReady": "PodFailed",
    }


def test_a_shortened_grace_period_counts_from_the_first_request() -> None:
    play = Play(pod(), Plan(0.0, None, 25.0, 0)).run().ask_to_go(30).run(until_s=5)
    assert play.decide() == Wait(T0 + 25 * SECOND)
    assert play.pod is not None
    # The server moves the timestamp back together with the period.
    play.pod["metadata"] |= {"deletionTimestamp": after_s(10), "deletionGracePeriodSeconds": 10}
    assert play.decide() == Wait(T0 + 10 * SECOND)
    assert play.run().seconds == [0.0, 10.0]


@pytest.mark.parametrize("plan", [Plan(60.0, None, 9.0, 0), Plan(60.0, None, 0.0, 0)])
@pytest.mark.parametrize("until_s", [0.0, 20.0])
def test_a_pod_that_never_ran_is_deleted_at_once(plan: Plan, until_s: float) -> None:
    play = Play(pod(), plan)
    if until_s:
        play.run(until_s=until_s)
    writes = len(play.writes)
    assert play.ask_to_go().run().pod is None
    assert len(play.writes) == writes
    assert play.now_ns == T0 + round(until_s * SECOND)


def test_a_pod_that_ended_is_deleted_at_once() -> None:
    play = Play(pod(restartPolicy="Never"), Plan(0.0, 5.0, 9.0, 0)).run().ask_to_go(0)
    assert play.decide() == Delete()
    crashed = Play(pod(), Plan(0.0, 5.0, 9.0, 1)).run(until_s=12).ask_to_go()
    assert crashed.states() == {"a": "waiting", "b": "waiting"}
    assert crashed.decide() == Delete()


@pytest.mark.parametrize("stop_s", [0.0, 5.0])
def test_who_holds_a_pod_sees_how_it_ended_and_it_is_asked_to_go_once(stop_s: float) -> None:
    play = Play(pod(metadata={"finalizers": ["example.com/hold"]}), Plan(0.0, None, stop_s, 0)).run().ask_to_go().run()
    assert play.pod is not None
    assert play.pod["metadata"]["deletionGracePeriodSeconds"] == 0
    assert (play.seconds, play.phases) == ([0.0, stop_s], ["Running", "Failed"])
    assert play.decide() is None


def test_a_held_pod_that_is_deleted_by_force_ends_at_once() -> None:
    play = Play(pod(metadata={"finalizers": ["x"]}), Plan(0.0, None, 5.0, 0)).run().ask_to_go(0).run()
    assert (play.seconds, play.phases) == ([0.0, 0.0], ["Running", "Failed"])
    assert {one["state"]["terminated"]["exitCode"] for one in play.status["containerStatuses"]} == {137}


LOST = {
    "exitCode": 137,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
}


@pytest.mark.parametrize("is_accepted", [False, True])
def test_a_held_pod_that_never_ran_has_lost_its_containers(is_accepted: bool) -> None:
    held = {"finalizers": ["x"]}
    plain = Play(pod(metadata=held), Plan(60.0, None, 0.0, 0))
    initial = Play(pod(metadata=held, initContainers=INITS), Plan(60.0, None, 0.0, 0))
    for play in (plain, initial):
        if is_accepted:
            play.run(until_s=1)
        play.ask_to_go().run()
        assert play.status["phase"] == "Failed"
        assert play.condition("Ready") == ("False", "PodFailed", "")
    assert [one["state"] for one in plain.status["containerStatuses"]] == [{"terminated": LOST}] * 2
    assert initial.states() == {"a": "waiting", "b": "waiting"}
    assert initial.states("initContainerStatuses") == {"first": "terminated", "side": "waiting", "last": "waiting"}
    assert initial.status["initContainerStatuses"][0]["state"] == {"terminated": LOST}
    assert initial.condition("Initialized")[1] == "ContainersNotInitialized"


def test_a_pod_is_stopped_while_it_initialises() -> None:
    play = Play(pod(initContainers=INITS), Plan(40.0, None, 3.0, 0)).run(until_s=15).ask_to_go().run()
    assert (play.seconds, play.pod) == ([0.0, 10.0, 18.0], None)
    _, status = play.writes[-1]
    first, *others = status["initContainerStatuses"]
    assert first["state"]["terminated"]["exitCode"] == 143
    assert all("waiting" in one["state"] for one in (*others, *status["containerStatuses"]))


def test_whoever_ended_a_pod_has_the_last_word() -> None:
    for phase in ("Failed", "Succeeded"):
        start = pod()
        start["status"] |= {"phase": phase, "reason": "Evicted"}
        assert Play(start, Plan(0.0, 5.0, 0.0, 0)).decide() is None


def test_a_running_pod_without_containers_is_told_anew() -> None:
    start = pod()
    start["status"]["phase"] = "Running"
    assert Play(start, AT_ONCE).run().states() == {"a": "running", "b": "running"}


def test_a_plan_that_ends_the_work_now_is_followed() -> None:
    play = Play(pod(restartPolicy="Never"), AT_ONCE).run()
    assert play.decide() is None
    play.now_ns += 12 * SECOND
    play.plan = Plan(0.0, 7.0, 0.0, 139)
    assert play.run().status["phase"] == "Failed"


# Properties -----------------------------------------------------------------------------------------------------

seconds_ = st.sampled_from([0.0, 0.001, 0.5, 1.0, 2.5, 10.0, 700.0])
plans_ = st.builds(Plan, seconds_, st.none() | seconds_, seconds_, st.sampled_from([0, 1]))
specs_ = st.fixed_dictionaries(
    {"restartPolicy": st.sampled_from(["Always", "OnFailure", "Never"])},
    optional={
        "initContainers": st.sampled_from([INITS, INITS[:1], INITS[1:2]]),
        "activeDeadlineSeconds": st.sampled_from([1, 15, 1000]),
        "terminationGracePeriodSeconds": st.sampled_from([0, 2, 30]),
        "readinessGates": st.just([{"conditionType": "example.com/warm"}]),
        "hostNetwork": st.just(value=True),
    },
)
finalizers_ = st.sampled_from([{}, {"finalizers": ["x"]}])


@given(
    plan=plans_,
    spec=specs_,
    metadata=finalizers_,
    deletion=st.tuples(st.sampled_from([0.1, 3.0, 30.0, 2000.0]), st.sampled_from([1, 30])),
    exact=st.booleans(),
)
def test_every_pod_comes_to_its_end_by_lawful_steps(
    plan: Plan, spec: dict[str, Any], metadata: dict[str, Any], deletion: tuple[float, int], exact: bool
) -> None:
    deleted_s, grace_s = deletion
    play = Play(pod(metadata=copied(metadata), **copied(spec)), plan, exact=exact).run(until_s=deleted_s)
    play.now_ns = max(play.now_ns, T0 + round(deleted_s * SECOND))
    asked_ns = play.now_ns
    play.ask_to_go(grace_s).run()
    assert (play.pod is None) is not bool(metadata)
    assert play.now_ns <= asked_ns + grace_s * SECOND
    if play.pod is not None:
        assert play.status["phase"] in {"Succeeded", "Failed"}
    order = ["Pending", "Running", "Succeeded", "Failed"]
    assert [order.index(phase) for phase in play.phases] == sorted(order.index(phase) for phase in play.phases)
    told: dict[str, tuple[str, str]] = {}
    for _, status in play.writes:
        for one in status.get("conditions", ()):
            before = told.get(one["type"])
            changes = before is None or before[0] != one["status"]
            assert ("lastTransitionTime" in one) is changes
            if changes:
                assert before is None or before[1] <= one["lastTransitionTime"]
                told[one["type"]] = (one["status"], one["lastTransitionTime"])
    terminal = [phase for phase in play.phases if phase in {"Succeeded", "Failed"}]
    assert len(terminal) <= 1


@given(plan=plans_, spec=specs_, metadata=finalizers_, deleted_s=st.sampled_from([3.0, 30.0]))
def test_nothing_that_is_forgotten_is_needed(
    plan: Plan, spec: dict[str, Any], metadata: dict[str, Any], deleted_s: float
) -> None:
    whole, cut = (
        Play(pod(metadata=copied(metadata), **copied(spec)), plan, forgets=forgets)
        .run(until_s=deleted_s)
        .ask_to_go()
        .run()
        for forgets in (False, True)
    )
    assert whole.writes == cut.writes
    assert whole.pod == cut.pod


@pytest.mark.parametrize(
    ("spec", "plan", "final"),
    [
        ({}, Plan(0.0, None, 0.0, 0), True),
        ({}, Plan(0.0, 5.0, 0.0, 0), False),
        ({"activeDeadlineSeconds": 9}, Plan(0.0, None, 0.0, 0), False),
        ({"readinessGates": [{"conditionType": "a/b"}]}, Plan(0.0, None, 0.0, 0), False),
    ],
)
def test_a_pod_that_runs_is_left_alone_unless_something_follows(spec: Object, plan: Plan, final: bool) -> None:
    pod: Object = {"spec": spec}
    assert is_final(pod, plan, Write({"phase": "Running"})) is final
    assert not is_final(pod, plan, Write({"phase": "Pending"}))
