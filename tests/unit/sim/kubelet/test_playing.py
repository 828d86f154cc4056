"""Pods on simulated nodes as a user of the API sees them, in virtual time."""

from typing import Any

import pytest
from tests.yard import NAMESPACE, Simulator, Yard, failing, lost, run_in_yard

from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PODS, RESOURCE_CLAIMS
from kubedyno.sim.kubelet.plans import JobTimes

pytestmark = pytest.mark.unit


def condition_types(pod: Object) -> list[str]:
    return [one["type"] for one in pod["status"].get("conditions") or ()]


def phases(changes: list[tuple[float, str, Object]], name: str = "p") -> list[tuple[float, str]]:
    """When the pod's phase became what, from its creation to its end."""
    found: list[tuple[float, str]] = []
    for at_s, type_, pod in changes:
        if pod["metadata"]["name"] != name:
            continue
        phase = "gone" if type_ == "DELETED" else pod["status"].get("phase", "")
        if not found or found[-1][1] != phase:
            found.append((round(at_s, 3), phase))
    return found


def test_a_node_is_ready_and_its_pods_run_with_addresses_of_its_range() -> None:
    async def story(world: Yard) -> None:
        async with world.playing():
            await world.node()
            node = await world.until(lambda node: meta.is_condition_true(node, "Ready"), "n", NODES)
            for name in ("a", "b"):
                await world.pod(name)
            await world.until_ready("a", "b")
            pods = [await world.get(name) for name in ("a", "b")]
            assert [pod["status"]["podIP"] for pod in pods] == ["10.1.0.2", "10.1.0.3"]
            internal = next(one["address"] for one in node["status"]["addresses"] if one["type"] == "InternalIP")
            assert {pod["status"]["hostIP"] for pod in pods} == {internal}
            on_host = await world.pod("h", hostNetwork=True)
            await world.until_ready("h")
            assert (await world.get("h"))["status"]["podIP"] == internal
            assert on_host["spec"]["hostNetwork"]

    run_in_yard(story)


def test_a_pod_that_is_bound_before_its_node_is_known_runs_when_the_node_comes() -> None:
    async def story(world: Yard) -> None:
        async with world.playing() as simulator:
            await world.pod()
            await world.sleep(30)
            assert (await world.get())["status"]["phase"] == "Pending"
            assert "startTime" not in (await world.get())["status"]
            await world.node()
            await world.until_ready()
            # It waited for its node, not for the simulator.
            assert simulator.lag.start.count == 0

    run_in_yard(story)


def test_a_pod_runs_that_was_bound_before_its_node_said_what_it_has() -> None:
    async def story(world: Yard) -> None:
        await world.client.create(NODES, {"metadata": {"name": "n"}})
        await world.pod(cpu="32")
        async with world.playing() as simulator:
            # The pod is looked at while the node's first report is on its way.
            simulator.connection.fate = lambda _method, path: failing(500) if "/nodes/" in path else None
            await world.until_ready()
            simulator.connection.fate = None
            node = await world.until(lambda node: meta.is_condition_true(node, "Ready"), "n", NODES)
            assert node["status"]["allocatable"]["cpu"] == "32"

    run_in_yard(story)


def test_a_node_that_is_deleted_and_made_again_goes_on_with_its_pods() -> None:
    async def story(world: Yard) -> None:
        async with world.playing() as simulator:
            await world.node()
            await world.pod("first", gpu="2")
            await world.until_ready("first")
            await world.delete("n", NODES)
            await world.sleep(10)
            assert simulator.fleet.nodes == {}
            node = await world.node()
            await world.until(lambda node: meta.is_condition_true(node, "Ready"), "n", NODES)
            await world.sleep(1)
            assert simulator.fleet.nodes["n"].uid == node["metadata"]["uid"]
            # What ran has its GPUs on the new node, too.
            await world.pod("second", gpu="1")
            await world.until_phase("Failed", "second")
            assert (await world.get("first"))["status"]["phase"] == "Running"
            await world.delete("first")
            await world.gone("first")
            await world.pod("third", gpu="2")
            await world.until_ready("third")

    run_in_yard(story)


def test_a_pod_that_is_made_again_under_its_name_is_another_pod() -> None:
    async def story(world: Yard) -> None:
        async with world.playing() as simulator:
            await world.node()
            stop = {"kubedyno/stop": "20s"}
            before = await world.pod(annotations=stop)
            await world.until_ready()
            await world.delete(grace_s=0)
            after = await world.pod(annotations=stop)
            await world.until_ready()
            found = await world.get()
            assert found["metadata"]["uid"] == after["metadata"]["uid"] != before["metadata"]["uid"]
            assert simulator.fleet.nodes["n"].ledger.held()["pods"] == 1
            await world.sleep(60)
            assert (await world.get())["metadata"]["uid"] == after["metadata"]["uid"]

    run_in_yard(story)


def test_no_write_meant_for_a_pod_reaches_the_next_one_of_its_name() -> None:
    async def story(world: Yard) -> None:
        async with world.playing() as simulator:
            await world.node()
            await world.pod(annotations={"kubedyno/duration": "10s"}, restartPolicy="Never")
            await world.until_ready()
            replaced = False

            async def replace() -> None:
                await world.delete(grace_s=0)
                await world.pod(restartPolicy="Never")

            answer = simulator.connection.request

            async def between(method: str, path: str, **more: Any) -> Any:
                nonlocal replaced
                if method == "PATCH" and path.endswith("/pods/p/status") and not replaced:
                    replaced = True
                    await replace()
                return await answer(method, path, **more)

            simulator.connection.request = between  # type: ignore[method-assign] # the moment before it arrives
            await world.sleep(60)
            assert replaced
            pod = await world.get()
            assert pod["status"]["phase"] == "Running"
            assert meta.is_condition_true(pod, "Ready")

    run_in_yard(story)


def test_a_deletion_just_before_the_last_write_to_a_pod_is_heeded() -> None:
    async def story(world: Yard) -> None:
        async with world.playing() as simulator:
            await world.node()
            await world.sleep(5)
            answer = simulator.connection.request
            is_asked = False

            async def between(method: str, path: str, **more: Any) -> Any:
                nonlocal is_asked
                if method == "PATCH" and b'"phase":"Running"' in (more.get("body") or b"") and not is_asked:
                    is_asked = True
                    await world.delete(grace_s=5)
                return await answer(method, path, **more)

            simulator.connection.request = between  # type: ignore[method-assign] # the moment before it arrives
            await world.pod()
            await world.sleep(60)
            assert is_asked
            assert simulator.fleet.pods == {}
            assert simulator.fleet.nodes["n"].ledger.held() == {"pods": 0}

    run_in_yard(story)


def test_times_of_a_pod_are_those_that_were_asked_for() -> None:
    async def story(world: Yard) -> None:
        async with world.playing() as simulator, world.seen() as changes:
            await world.node()
            await world.sleep(0.25)
            annotations = {"kubedyno/start": "3s", "kubedyno/duration": "10s", "kubedyno/stop": "1500ms"}
            await world.pod(annotations=annotations, restartPolicy="Never")
            await world.pod("q", annotations={"kubedyno/start": "3s", "kubedyno/stop": "1500ms"})
            await world.until_phase("Succeeded")
            await world.delete("q")
            await world.gone("q")
            assert simulator.lag.start.most_s < 0.001
            assert simulator.lag.stop.most_s < 0.001
            assert (simulator.lag.start.count, simulator.lag.stop.count) == (2, 1)
        assert phases(changes) == [(0.25, "Pending"), (3.25, "Running"), (13.25, "Succeeded")]
        assert phases(changes, "q") == [(0.25, "Pending"), (3.25, "Running"), (14.75, "Failed"), (14.75, "gone")]

    run_in_yard(story)


def test_distributions_of_a_node_hold_for_its_pods_and_repeat() -> None:
    async def story(world: Yard) -> dict[str, list[tuple[float, str]]]:
        settings = '{"start": "uniform(1s, 5s)", "duration": "choice(10s, 20s)", "stop": "2s"}'
        async with world.playing(), world.seen() as changes:
            await world.node(annotations={"kubedyno/kubelet": settings})
            for number in range(8):
                await world.pod(f"p-{number}", restartPolicy="Never")
            await world.sleep(60)
        return {f"p-{number}": phases(changes, f"p-{number}") for number in range(8)}

    first, second = run_in_yard(story), run_in_yard(story)
    assert first == second
    starts, works = set(), set()
    for (_, pending), (runs_s, running), (ends_s, ended) in first.values():
        assert (pending, running, ended) == ("Pending", "Running", "Succeeded")
        assert 1 <= runs_s <= 5
        starts.add(runs_s)
        works.add(round(ends_s - runs_s, 2))
    assert len(starts) == 8
    assert works == {10.0, 20.0}


@pytest.mark.parametrize(
    ("asked", "reason", "words"),
    [
        ({"cpu": "9"}, "OutOfcpu", "Node didn't have enough resource: cpu, requested: 9000, used: 0, capacity: 8000"),
        ({"memory": "17Gi"}, "OutOfmemory", "Node didn't have enough resource: memory, requested: 18253611008"),
        ({"gpu": "3"}, "OutOfnvidia.com/gpu", "Node didn't have enough resource: nvidia.com/gpu, requested: 3, used: "),
        ({"nodeSelector": {"zone": "a"}}, "NodeAffinity", "Predicate NodeAffinity failed"),
    ],
)
def test_what_does_not_fit_is_refused_with_an_event(asked: dict[str, Any], reason: str, words: str) -> None:
    async def story(world: Yard) -> None:
        async with world.playing():
            await world.node()
            await world.pod(**asked)
            await world.until_phase("Failed")
            status = (await world.get())["status"]
            assert status["reason"] == reason
            assert status["message"].startswith(f"Pod was rejected: {words}")
            [event] = await world.events(reason)
            assert event["message"].startswith(words)
            assert (event["type"], event["source"]) == ("Warning", {"component": "kubelet", "host": "n"})
            assert event["involvedObject"]["name"] == "p"
            # It holds nothing.
            await world.pod("q", cpu="8", gpu="2")
            await world.until_ready("q")

    run_in_yard(story)


def test_a_pod_keeps_its_gpus_until_it_is_gone() -> None:
    async def story(world: Yard) -> None:
        async with world.playing() as simulator:
            await world.node()
            await world.pod("first", gpu="2", annotations={"kubedyno/stop": "20s"})
            await world.until_ready("first")
            await world.delete("first")
            await world.sleep(19)
            await world.pod("early", gpu="1")
            await world.until_phase("Failed", "early")
            assert (await world.get("early"))["status"]["reason"] == "OutOfnvidia.com/gpu"
            assert simulator.fleet.nodes["n"].ledger.held()["nvidia.com/gpu"] == 2
            await world.gone("first")
            await world.pod("late", gpu="2")
            await world.until_ready("late")

    run_in_yard(story)


def test_a_pod_that_has_ended_holds_nothing() -> None:
    async def story(world: Yard) -> None:
        async with world.playing():
            await world.node()
            await world.pod("first", gpu="2", restartPolicy="Never", annotations={"kubedyno/duration": "5s"})
            await world.until_phase("Succeeded", "first")
            await world.pod("second", gpu="2")
            await world.until_ready("second")

    run_in_yard(story)


def test_short_lived_pods_work_for_as_long_as_the_simulator_was_told() -> None:
    async def story(world: Yard) -> None:
        async with world.playing(job_times=JobTimes(7.0)), world.seen() as changes:
            await world.node()
            await world.pod(restartPolicy="Never", metadata={"labels": {"job-type": "short-lived"}})
            await world.until_phase("Succeeded")
        assert phases(changes) == [(0.0, "Pending"), (0.0, "Running"), (7.0, "Succeeded")]

    run_in_yard(story)


def test_a_pod_with_a_readiness_gate_is_ready_when_somebody_opens_it() -> None:
    async def story(world: Yard) -> None:
        async def set_gate(status: str) -> None:
            conditions = [{"type": "example.com/up", "status": status}]
            await world.client.patch(
                PODS,
                "p",
                {"status": {"conditions": conditions}},
                kind="strategic",
                namespace=NAMESPACE,
                subresource="status",
            )

        async with world.playing():
            await world.node()
            await world.pod(readinessGates=[{"conditionType": "example.com/up"}])
            await world.until(lambda pod: meta.is_condition_true(pod, "ContainersReady"))
            pod = await world.get()
            assert (meta.condition(pod, "Ready") or {})["reason"] == "ReadinessGatesNotReady"
            await set_gate("True")
            await world.until_ready()
            await set_gate("False")
            await world.until(lambda pod: (meta.condition(pod, "Ready") or {})["status"] == "False")
            assert meta.is_condition_true(await world.get(), "example.com/up") is False

    run_in_yard(story)


def test_what_others_say_of_a_pod_stays() -> None:
    async def story(world: Yard) -> None:
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
        foreign = {"type": "example.com/seen", "status": "Unknown", "message": "hm"}
        await world.pod(restartPolicy="Never", annotations={"kubedyno/duration": "5s", "kubedyno/start": "2s"})
        await world.client.patch(
            PODS,
            "p",
            {"status": {"conditions": [scheduled, foreign]}},
            kind="strategic",
            namespace=NAMESPACE,
            subresource="status",
        )
        async with world.playing():
            await world.node()
            await world.until_phase("Succeeded")
            pod = await world.get()
            assert (meta.condition(pod, "PodScheduled") or {}).items() >= scheduled.items()
            assert (meta.condition(pod, "example.com/seen") or {})["message"] == "hm"

    run_in_yard(story)


def test_a_pod_waits_until_its_claims_are_allocated_and_reserved() -> None:
    async def story(world: Yard) -> None:
        async with world.playing() as simulator:
            await world.node()
            claim = await world.client.create(
                RESOURCE_CLAIMS,
                {
                    "metadata": {"name": "gpu", "namespace": NAMESPACE},
                    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.example"}}]}},
                },
            )
            pod = await world.pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
            await world.sleep(30)
            found = await world.get()
            assert found["status"]["phase"] == "Pending"
            assert found["status"]["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
            [event] = await world.events("FailedPrepareDynamicResources")
            assert event["message"].startswith("Failed to prepare dynamic resources: prepare dynamic resources: ")
            result = {"request": "r", "driver": "gpu.example", "pool": "n", "device": "gpu-0"}
            uid = pod["metadata"]["uid"]
            claim["status"] = {
                "allocation": {"devices": {"results": [result]}},
                "reservedFor": [{"resource": "pods", "name": "p", "uid": uid}],
            }
            await world.client.update(RESOURCE_CLAIMS, claim, subresource="status")
            await world.until_ready()
            # It waited for its claims, not for the simulator.
            assert simulator.lag.start.count == 0

    run_in_yard(story)


@pytest.mark.parametrize(
    ("annotation", "text", "sentence"),
    [
        ("kubedyno/kubelet", '{"start": "soon"}', "start: 'soon' is no duration: "),
        ("kubedyno/kubelet", '{"start": ""}', "start: '' is no duration: "),
        (
            "kubedyno/kubelet",
            '{"failures": 7}',
            "failures is 7: write a share from 0 to 1",
        ),
        (
            "kubedyno/kubelet",
            '{"cpuManagerPolicy": "best"}',
            "cpuManagerPolicy is 'best': ",
        ),
        ("kubedyno/devices", "{", "Input data was truncated"),
        ("kubedyno/faults", '[{"kind": "crush"}]', "there is no fault 'crush': "),
    ],
)
def test_a_node_that_says_nonsense_is_left_alone_until_it_is_set_right(
    annotation: str, text: str, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(world: Yard) -> None:
        async with world.playing(lease_s=40) as simulator:
            await world.node("well")
            await world.node(annotations={annotation: text})
            await world.pod()
            await world.pod("q", node="well")
            await world.until_ready("q")
            await world.sleep(30)
            assert (await world.get("n", NODES))["status"].get("conditions") is None
            assert (await world.get())["status"]["phase"] == "Pending"
            assert sorted(simulator.fleet.nodes) == ["well"]
            await world.annotate("n", **{annotation.removeprefix("kubedyno/"): None})
            await world.until(lambda node: meta.is_condition_true(node, "Ready"), "n", NODES)
            await world.until_ready()
            # And once more, while it works.
            await world.annotate("n", **{annotation.removeprefix("kubedyno/"): text})
            await world.sleep(1)
            assert sorted(simulator.fleet.nodes) == ["well"]

    run_in_yard(story)
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert told[0].startswith(f"node n is not simulated until it is set right: annotation {annotation}: {sentence}")


@pytest.mark.parametrize(
    ("annotation", "sentence"),
    [
        ({"kubedyno/start": "soon"}, "annotation kubedyno/start: 'soon' is no duration: "),
        ({"kubedyno/start": "1e300"}, "annotation kubedyno/start: '1e300' is more than thirty years"),
        ({"kubedyno/exit-code": "bad"}, "annotation kubedyno/exit-code: 'bad' is no exit code: "),
    ],
)
def test_a_pod_that_says_nonsense_runs_as_if_it_said_nothing(
    annotation: dict[str, str], sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(world: Yard) -> None:
        async with world.playing():
            await world.node()
            await world.pod(annotations=annotation)
            await world.until_ready()

    run_in_yard(story)
    [told] = [record.getMessage() for record in caplog.records]
    assert told.startswith(f"pod default/p: {sentence}")
    assert told.endswith("; it runs as if it said nothing")


def test_a_pod_whose_status_is_refused_for_good_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: Yard) -> None:
        async with world.playing() as simulator:
            simulator.connection.fate = lambda _method, path: failing(422) if path.endswith("/p/status") else None
            await world.node()
            await world.pod()
            await world.pod("q")
            await world.until_ready("q")
            await world.sleep(10)
            assert simulator.lag.refused == 1

    run_in_yard(story)
    [told] = [record.getMessage() for record in caplog.records]
    assert told.startswith("pod default/p is left as it is: PATCH ")


def test_events_that_nobody_wants_are_lost(caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: Yard) -> None:
        async with world.playing() as simulator:
            simulator.connection.fate = lambda _method, path: failing(403) if path.endswith("/events") else None
            await world.node()
            await world.pod(gpu="9")
            await world.until_phase("Failed")
            await world.sleep(1)
            assert simulator.lag.refused == 0

    run_in_yard(story)
    assert caplog.text == ""


def test_a_pod_that_went_while_its_node_was_read_again_does_not_come_back() -> None:
    async def story(world: Yard) -> None:
        async with world.playing() as simulator:
            await world.node()
            await world.pod(gpu="2")
            await world.until_ready()
            answer = simulator.connection.request

            async def slow(method: str, path: str, **more: Any) -> Any:
                response = await answer(method, path, **more)
                if method == "GET" and (more.get("query") or {}).get("fieldSelector") == "spec.nodeName=n":
                    await world.sleep(5)
                return response

            simulator.connection.request = slow  # type: ignore[method-assign] # the list arrives late
            await world.annotate("n", faults='[{"kind": "slow-start", "extra": "1s"}]')
            await world.sleep(1)
            await world.delete(grace_s=0)
            await world.sleep(30)
            assert simulator.fleet.pods == {}
            assert simulator.fleet.nodes["n"].ledger.held() == {"pods": 0}

    run_in_yard(story)


def test_a_node_that_went_while_it_was_read_again_does_not_come_back() -> None:
    async def story(world: Yard) -> None:
        async with world.playing(lease_s=40) as simulator:
            await world.node()
            await world.sleep(15)
            answer = simulator.connection.request

            async def slow(method: str, path: str, **more: Any) -> Any:
                response = await answer(method, path, **more)
                if method == "GET" and path.endswith("/nodes/n"):
                    await world.sleep(5)
                return response

            simulator.connection.request = slow  # type: ignore[method-assign] # the answer arrives late
            await world.annotate("n", faults='[{"kind": "flapping", "periodSeconds": 4}]')
            await world.sleep(3)
            await world.delete("n", NODES)
            await world.sleep(60)
            assert simulator.fleet.nodes == {}
            assert [path for at_s, _, path in simulator.connection.writes if at_s > 40] == []

    run_in_yard(story)


async def busy(world: Yard) -> None:
    """Pods in every state of their lives."""
    await world.node("m")
    slow = {"kubedyno/start": "15s", "kubedyno/duration": "40s", "kubedyno/stop": "15s"}
    for number in range(4):
        await world.pod(f"job-{number}", node="m", annotations=slow, restartPolicy="Never", cpu="1")
    await world.pod("server", node="m", gpu="2", annotations={"kubedyno/stop": "15s"})
    await world.pod("doomed", node="m", gpu="1")
    await world.pod(
        "again", node="m", restartPolicy="OnFailure", annotations={"kubedyno/duration": "5s", "kubedyno/exit-code": "1"}
    )


@pytest.mark.parametrize("every_s", [1.3, 4.0, 11.0])
def test_nothing_is_lost_or_done_twice_when_the_simulator_starts_anew_in_the_middle(every_s: float) -> None:
    async def story(world: Yard) -> None:
        async with world.seen() as changes:
            await world.node()
            await busy(world)
            deleted = False
            while world.passed_s() < 150:
                async with world.playing(lease_s=40):
                    await world.sleep(every_s)
                if not deleted and world.passed_s() > 100:
                    deleted = True
                    await world.delete("server")
            async with world.playing():
                await world.gone("server")
                await world.pod("heir", node="m", gpu="2")
                await world.until_ready("heir")
        for number in range(4):
            name = f"job-{number}"
            (_, first), (runs_s, running), (ends_s, ended) = phases(changes, name)
            assert (first, running, ended) == ("Pending", "Running", "Succeeded")
            # Who comes anew knows whole seconds only.
            assert 13.9 <= runs_s <= 15 + every_s
            assert 38.9 <= ends_s - runs_s <= 40 + every_s
        assert [phase for _, phase in phases(changes, "server")] == ["Pending", "Running", "Failed", "gone"]
        assert [phase for _, phase in phases(changes, "doomed")] == ["Pending", "Failed"]
        assert len(await world.events("OutOfnvidia.com/gpu")) == 1
        restarts = [pod["status"]["containerStatuses"][0]["restartCount"] for _, _, pod in changes if pod["metadata"]["name"] == "again" and pod["status"].get("containerStatuses")]  # fmt: skip  # noqa: E501 # one list
        assert restarts == sorted(restarts)
        assert restarts[-1] >= 3
        addresses = [pod["status"].get("podIP") for pod in (await world.client.list_all(PODS)).items]
        running = [address for address in addresses if address]
        assert len(running) == len(set(running))

    run_in_yard(story)


def test_pods_that_run_have_their_place_before_those_that_wait_when_a_simulator_starts() -> None:
    async def story(world: Yard) -> None:
        async with world.playing():
            await world.node()
            await world.pod("z-old", gpu="2")
            await world.until_ready("z-old")
        # It comes first in the list, and is older than nothing.
        await world.pod("a-new", gpu="2")
        await world.pod("b-new")
        async with world.playing():
            await world.until_phase("Failed", "a-new")
            await world.until_ready("b-new")
            assert (await world.get("z-old"))["status"]["phase"] == "Running"
            assert (await world.get("b-new"))["status"]["podIP"] != (await world.get("z-old"))["status"]["podIP"]

    run_in_yard(story)


def test_every_pod_gets_where_it_should_though_writes_fail_and_answers_are_lost() -> None:
    async def story(world: Yard) -> None:
        async with world.playing(lease_s=40) as simulator:
            _make_unreliable(simulator)
            await world.node()
            for number in range(8):
                await world.pod(f"p-{number}", annotations={"kubedyno/start": "2s"})
            await world.until_ready(*(f"p-{number}" for number in range(8)))
            for number in range(8):
                await world.delete(f"p-{number}")
            for number in range(8):
                await world.gone(f"p-{number}")
            await world.sleep(10)
            assert simulator.fleet.nodes["n"].ledger.held() == {"pods": 0}
            assert simulator.lag.contested == set()
            assert simulator.lag.retries > 8

    run_in_yard(story)


def _make_unreliable(simulator: Simulator) -> None:
    """Of every three writes one fails, and the answer of one is lost."""
    counts = {"before": 0, "after": 0}

    def fail(method: str, _path: str) -> Any:
        counts["before"] += method != "GET"
        return (
            failing((429, 500, 409)[counts["before"] % 9 // 3])
            if method != "GET" and counts["before"] % 3 == 0
            else None
        )

    def lose(method: str, _path: str) -> Any:
        counts["after"] += method != "GET"
        return lost() if method != "GET" and counts["after"] % 2 == 0 else None

    simulator.connection.fate, simulator.connection.after = fail, lose
