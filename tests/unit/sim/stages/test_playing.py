"""Stages played on an embedded API server in virtual time."""

from typing import Any

import pytest
from tests.unit.sim.stages.conftest import Play, World

from kubedyno.client.errors import Unreachable
from kubedyno.client.transport import Response
from kubedyno.kit.errors import UsageError
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
)
from kubedyno.kube.status import failure
from kubedyno.sim.stages.cluster import STAGES, install_definition
from kubedyno.sim.stages.sets import default_stages

pytestmark = pytest.mark.unit

# The stages that come with us, by file name.
SETS = {path.name: path.read_text() for path in default_stages()}
FAST = "\n---\n".join(SETS.values())


def stage(name: str, spec: str, kind: str = "ConfigMap") -> str:
    lines = "\n".join(f"  {line}" for line in spec.strip("\n").splitlines())
    head = f"apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {{name: {name}}}\nspec:\n"
    return f"{head}  resourceRef: {{kind: {kind}}}\n{lines}\n---\n"


def labelled(name: str, before: str, after: str, more: str = "") -> str:
    """A stage that turns the label `step` of config maps from one value into another."""
    match = "matchExpressions: [{key: .metadata.labels.step, operator: DoesNotExist}]"
    selector = f"matchLabels: {{step: {before}}}" if before else match
    patch = f"patch: {{root: metadata, template: 'labels: {{step: {after}}}'}}"
    return stage(name, f"selector: {{{selector}}}\nsteps: [{{{patch}}}]\n{more}")


def slowly(name: str, before: str, template: str, more: str = "") -> str:
    """A stage of pods whose message is `before`, after 1 to 5 s or what the annotation `wait` says."""
    operator = f"In, values: [{before}]" if before else "DoesNotExist"
    spec = f"""
selector: {{matchExpressions: [{{key: .status.message, operator: {operator}}}]}}
delay:
  durationMilliseconds: 1000
  durationFrom: {{expressionFrom: .metadata.annotations.wait}}
  jitterDurationMilliseconds: 5000
  jitterDurationFrom: {{expressionFrom: .metadata.annotations.wait}}
next: {{{more}statusTemplate: {codec.encode(template).decode()}}}
"""
    return stage(name, spec, "Pod")


PREPARED = """
message: prepared
initContainerStatuses:
{{ range .spec.initContainers }}
- {name: {{ .name }}, image: {{ .image }}, state: {terminated: {exitCode: 0, reason: Completed}}}
{{ end }}
"""
SLOW = (
    slowly("makes", "", "message: made", "event: {type: Normal, reason: Made, message: it is made}, ")
    + slowly("prepares", "made", PREPARED)
    + slowly("runs", "prepared", "{message: runs, phase: Running}")
)
# A claim gets a volume; when it goes, the volume goes.
VOLUMES = (
    stage(
        "provides",
        """
selector: {matchExpressions: [{cel: {expression: "self.spec.storageClassName == 'own' && !has(self.spec.volumeName)"}}]}
steps:
- apply:
    template: |
      apiVersion: v1
      kind: PersistentVolume
      metadata: {name: of-{{ .metadata.name }}}
      spec:
        storageClassName: own
        {{ YAML .spec.accessModes 1 | printf "accessModes:\\n%s" }}
        capacity: {storage: {{ .spec.resources.requests.storage | Quote }}}
        claimRef:
          apiVersion: {{ .apiVersion }}
          kind: {{ .kind }}
          name: {{ .metadata.name }}
          namespace: {{ .metadata.namespace }}
          uid: {{ .metadata.uid }}
        hostPath: {path: /nowhere}
- patch: {root: spec, template: "volumeName: of-{{ .metadata.name }}"}
- patch: {root: status, subresource: status, template: "phase: Bound"}
""",
        "PersistentVolumeClaim",
    )
    + stage(
        "releases",
        """
selector: {matchExpressions: [{cel: {expression: has(self.metadata.deletionTimestamp)}}]}
steps:
- apply:
    type: merge
    subresource: status
    template: |
      apiVersion: v1
      kind: PersistentVolume
      metadata: {name: {{ .spec.volumeName }}}
      status: {phase: Released}
- finalizers: {empty: true}
""",
        "PersistentVolumeClaim",
    )
    + stage(
        "binds",
        """
selector:
  matchExpressions:
  - cel: {expression: self.spec.storageClassName == 'own'}
  - cel: {expression: "!(self.status.phase in ['Bound', 'Released'])"}
steps: [{patch: {root: status, subresource: status, template: "phase: Bound"}}]
""",
        "PersistentVolume",
    )
    + stage(
        "goes",
        """
selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Released]}]}
steps: [{finalizers: {empty: true}, delete: true}]
""",
        "PersistentVolume",
    )
)


def phase(obj: Object) -> str:
    return str(obj.get("status", {}).get("phase", ""))


def is_running(obj: Object) -> bool:
    return phase(obj) == "Running"


def is_ready(node: Object) -> bool:
    conditions = node.get("status", {}).get("conditions") or ()
    return any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)


def step(obj: Object) -> str:
    return str((obj["metadata"].get("labels") or {}).get("step", ""))


async def config(world: World, name: str = "m", **metadata: Any) -> Object:
    return await world.client.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default", **metadata}})


def refusal(code: int, reason: str = "InternalError") -> Response:
    return Response(code, {}, codec.encode(failure(code, "not now", reason=reason)))


def test_the_stages_that_come_with_us_make_nodes_ready_and_pods_run_end_and_go(play: Play) -> None:
    async def story(world: World) -> None:
        async with world.playing(FAST):
            await world.node()
            node = await world.until(is_ready, "n", NODES)
            assert node["status"]["addresses"][0] == {"type": "InternalIP", "address": "127.0.0.1"}
            await world.pod()
            pod = await world.until(is_running)
            assert (pod["status"]["hostIP"], pod["status"]["podIP"]) == ("127.0.0.1", "10.1.0.1")
            await world.pod("worker", metadata={"annotations": {"kubedyno/duration": "30s"}})
            await world.until(lambda pod: phase(pod) == "Succeeded", "worker")
            assert 30 <= world.passed_s() < 31
            await world.client.delete(PODS, "p", namespace="default")
            await world.gone()
        assert world.said == []

    play(story)


def test_stages_take_their_time_and_tell_events(play: Play) -> None:
    async def story(world: World) -> None:
        async with world.playing(SLOW):
            await world.node()
            await world.pod(initContainers=[{"name": "i", "image": "i"}])
            pod = await world.until(is_running)
            assert 3 <= world.passed_s() <= 15.5
            assert pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"
            await world.settle()
            (event,) = (await world.client.list_all(CORE_EVENTS)).items
            assert (event["reason"], event["message"], event["type"]) == ("Made", "it is made", "Normal")
            assert event["source"] == {"component": "kwok_controller"}
            about = {"kind": "Pod", "namespace": "default", "name": "p", "uid": pod["metadata"]["uid"]}
            assert event["involvedObject"] == about
        assert world.said == []

    play(story)


def test_annotations_decide_delays(play: Play) -> None:
    async def story(world: World) -> None:
        async with world.playing(SLOW):
            await world.node()
            await world.pod(metadata={"annotations": {"wait": "100s"}})
            await world.until(is_running)
            assert 300 <= world.passed_s() < 301

    play(story)


def test_an_unrelated_change_does_not_begin_a_delay_anew(play: Play) -> None:
    async def story(world: World) -> None:
        async with world.playing(labelled("a", "", "done", "delay: {durationMilliseconds: 10000}")):
            await config(world)
            for number in range(18):
                await world.settle(0.5)
                await world.label("m", CONFIG_MAPS, number=str(number))
            await world.until(lambda obj: step(obj) == "done", "m", CONFIG_MAPS)
            assert 10 <= world.passed_s() < 10.1

    play(story)


def test_pods_are_played_on_managed_nodes_only_once_the_node_is_there(play: Play) -> None:
    async def story(world: World) -> None:
        async with world.playing(FAST, manages=lambda name: name != "other"):
            await world.node("other")
            await world.pod("stranger", node="other")
            await world.pod("unbound", node=None)
            await world.pod("early", node="late")
            await world.settle(5)
            assert phase(await world.get("early")) == "Pending"
            await world.node("late")
            await world.until(is_running, "early")
            assert phase(await world.get("stranger")) == "Pending"
            assert phase(await world.get("unbound")) == "Pending"
            assert not is_ready(await world.get("other", NODES))

    play(story)


def test_pods_alone_can_be_played(play: Play) -> None:
    async def story(world: World) -> None:
        async with world.playing(SETS["pod.yaml"]):
            await world.node()
            await world.pod()
            await world.until(is_running)
            assert not is_ready(await world.get("n", NODES))

    play(story)


def test_addresses_come_back_and_end_with_the_nodes_range(play: Play) -> None:
    async def story(world: World) -> None:
        async with world.playing(FAST):
            await world.node(podCIDR="10.9.0.0/30")
            for name in ("a", "b", "c"):
                await world.pod(name)
            await world.until(is_running, "b")
            await world.settle(5)
            assert phase(await world.get("c")) == "Pending"
            assert [text.partition("stage pod-runs: ")[2] for text in world.said] == [
                (
                    "spec.next.patches[0].template: all addresses of 10.9.0.0/30 are taken: "
                    "give the node a larger podCIDR, or fewer pods"
                )
            ]
            taken = (await world.get("a"))["status"]["podIP"]
            await world.client.delete(PODS, "a", namespace="default")
            pod = await world.until(is_running, "c")
            assert pod["status"]["podIP"] == taken
            await world.pod("d", hostNetwork=True)
            pod = await world.until(is_running, "d")
            assert pod["status"]["podIP"] == "127.0.0.1"

    play(story)


def test_an_address_that_a_pod_had_before_is_given_to_nobody_else(play: Play) -> None:
    async def story(world: World) -> None:
        await world.node()
        await world.pod("a")
        async with world.playing(FAST):
            await world.until(is_running, "a")
        async with world.playing(FAST):
            await world.pod("b")
            pod = await world.until(is_running, "b")
        assert ((await world.get("a"))["status"]["podIP"], pod["status"]["podIP"]) == ("10.1.0.1", "10.1.0.2")

    play(story)


def test_every_pod_gets_an_address_of_its_own_however_the_steps_of_many_alternate(play: Play) -> None:
    async def story(world: World) -> None:
        text = stage(
            "s",
            "selector: {matchExpressions: [{key: .status.podIP, operator: DoesNotExist}]}\n"
            "steps: [{finalizers: {add: [{value: example.com/a}]}, "
            "patch: {root: status, subresource: status, template: 'podIP: {{ PodIP }}'}}]",
            "Pod",
        )
        async with world.playing(text):
            await world.node()
            for number in range(30):
                await world.pod(f"p{number}")
            await world.settle(5)
        pods = (await world.client.list_all(PODS)).items
        assert len({pod["status"]["podIP"] for pod in pods}) == 30

    play(story)


CIRCLES = {
    "two stages": (labelled("a", "", "one") + labelled("b", "one", "two") + labelled("c", "two", "one"), {"b", "c"}),
    "a stage that matches its own result": (
        stage(
            "again",
            "selector: {}\nimmediateNextStage: true\n"
            "steps: [{patch: {root: metadata, template: 'annotations: {now: {{ Now | Quote }}}'}}]",
        ),
        {"again"},
    ),
    "a stage whose every result is new": (
        stage(
            "longer",
            "selector: {}\nsteps: [{patch: {root: data, template: 'a: x{{ if .data }}{{ .data.a }}{{ end }}'}}]",
        ),
        {"longer"},
    ),
}


@pytest.mark.parametrize("name", CIRCLES)
def test_stages_that_run_in_a_circle_are_said_once_and_left_alone(name: str, play: Play) -> None:
    text, stages = CIRCLES[name]

    async def story(world: World) -> None:
        async with world.playing(text):
            for number in range(3):
                await config(world, f"m{number}")
            await world.settle(600)
            writes = [path for method, path in world.transport.sent if method == "PATCH"]
            assert len(writes) <= 3 * 101
            (sentence,) = world.said
            head, _, tail = sentence.partition("stages run in a circle without delay (")
            assert head.endswith("stages.yaml: ")
            names, _, rest = tail.partition(")")
            assert set(names.split(" -> ")) == stages
            assert rest.startswith(", as for ConfigMap default/m0: such objects are left alone until somebody else")
            # A stage set that loops for one object does its work for others.
            assert (await world.get("m0", CONFIG_MAPS))["metadata"]["uid"]

    play(story)


def test_an_object_that_was_left_alone_is_looked_at_when_somebody_changes_it(play: Play) -> None:
    async def story(world: World) -> None:
        text = CIRCLES["two stages"][0] + labelled("out", "three", "done")
        async with world.playing(text):
            await config(world)
            await world.settle(100)
            before = len(world.transport.sent)
            await world.label("m", CONFIG_MAPS, step="three")
            await world.until(lambda obj: step(obj) == "done", "m", CONFIG_MAPS)
            assert len(world.transport.sent) - before < 10

    play(story)


def test_stages_with_a_delay_may_go_round_for_ever(play: Play) -> None:
    async def story(world: World) -> None:
        delay = "delay: {durationMilliseconds: 1000}"
        text = labelled("a", "", "one") + labelled("b", "one", "two", delay) + labelled("c", "two", "one", delay)
        async with world.playing(text):
            await config(world)
            await world.settle(300)
            assert world.said == []
            assert 290 <= sum(method == "PATCH" for method, _ in world.transport.sent) <= 302

    play(story)


FAULTS = {
    "a conflict": lambda: refusal(409, "Conflict"),
    "too many requests": lambda: refusal(429, "TooManyRequests"),
    "an internal error": lambda: refusal(500),
    "a timeout": lambda: refusal(504, "Timeout"),
    "a reset": lambda: Unreachable(server="s", cause="reset the connection", remedy="look", sent=True),
    "no JSON": lambda: Response(200, {}, b"<html>"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_no_pod_is_lost_to_a_server_that_fails_for_a_minute(name: str, play: Play) -> None:
    async def story(world: World) -> None:
        def fate(method: str, _path: str) -> Response | Exception | None:
            return FAULTS[name]() if method in {"PATCH", "DELETE"} and world.passed_s() < 60 else None

        world.transport.fate = fate
        async with world.playing(FAST):
            await world.node()
            for number in range(20):
                await world.pod(f"p{number}")
            for number in range(20):
                await world.until(is_running, f"p{number}")
            assert 60 <= world.passed_s() < 75
        assert world.said == []

    play(story)


def test_after_an_outage_of_a_minute_everything_is_caught_up(play: Play) -> None:
    async def story(world: World) -> None:
        away = Unreachable(server="s", cause="refused the connection", remedy="look", sent=True)
        back_ns = world.clock.wall_ns() + 60 * 10**9
        async with world.playing(FAST):
            await world.node()
            await world.pod("before")
            await world.until(is_running, "before")
            for number in range(10):
                await world.pod(f"p{number}")
            world.transport.fate = lambda _method, _path: away if world.clock.wall_ns() < back_ns else None
            await world.settle(60)
            await world.client.delete(PODS, "before", namespace="default")
            await world.gone("before")
            for number in range(10):
                await world.until(is_running, f"p{number}")
            assert world.passed_s() < 90

    play(story)


def test_another_object_of_the_same_name_is_not_touched_by_a_stage_of_the_first(play: Play) -> None:
    async def story(world: World) -> None:
        delay = "delay: {durationMilliseconds: 10000}"
        async with world.playing(labelled("a", "", "done", delay)):
            await config(world)
            await world.settle(5)
            await world.client.delete(CONFIG_MAPS, "m", namespace="default")
            await config(world)
            await world.until(lambda obj: step(obj) == "done", "m", CONFIG_MAPS)
            assert 15 <= world.passed_s() < 16

    play(story)


def test_stages_may_be_about_stages(play: Play) -> None:
    async def story(world: World) -> None:
        async with world.playing(None):
            await world.settle()
            spec = {
                "resourceRef": {"apiGroup": "kwok.x-k8s.io/v1alpha1", "kind": "Stage"},
                "selector": {"matchExpressions": [{"key": ".status.conditions", "operator": "DoesNotExist"}]},
                "next": {
                    "statusTemplate": "conditions:\n- {type: Available, status: 'True', reason: A, message: M, "
                    "lastTransitionTime: {{ Now | Quote }}}"
                },
            }
            await world.client.create(STAGES, custom("available", spec))
            found = await world.until(lambda obj: obj.get("status"), "available", STAGES)
            assert found["status"]["conditions"][0]["type"] == "Available"
        assert world.said == []

    play(story)


def test_what_the_server_refuses_is_said_once_and_tried_again_seldom(play: Play) -> None:
    async def story(world: World) -> None:
        text = stage("s", "selector: {}\nsteps: [{patch: {template: 'immutable: 5'}}]")
        async with world.playing(text):
            await config(world, "m1")
            await config(world, "m2")
            await world.settle(3600)
            (sentence,) = world.said
            assert "stage s: PATCH /api/v1/namespaces/default/configmaps/m" in sentence
            assert sum(method == "PATCH" for method, _ in world.transport.sent) < 60

    play(story)


def test_a_subresource_that_there_is_not_is_said_and_an_object_that_is_gone_is_not(play: Play) -> None:
    async def story(world: World) -> None:
        def fate(method: str, path: str) -> Response | None:
            if method == "PATCH" and path.endswith("/gone"):
                return Response(404, {}, codec.encode(failure(404, 'configmaps "gone" not found', reason="NotFound")))
            return None

        world.transport.fate = fate
        patch = "steps: [{patch: {subresource: status, root: status, template: 'a: b'}}]"
        text = labelled("a", "", "done") + stage("s", f"selector: {{matchLabels: {{step: done}}}}\n{patch}")
        async with world.playing(text):
            await config(world, "gone")
            await config(world, "m")
            await world.settle()
            (sentence,) = world.said
            assert "stage s: PATCH /api/v1/namespaces/default/configmaps/m/status failed with 404 NotFound" in sentence

    play(story)


def test_steps_go_on_where_they_failed(play: Play) -> None:
    async def story(world: World) -> None:
        failures = iter([refusal(500), refusal(500)])

        def fate(method: str, path: str) -> Response | None:
            return next(failures, None) if method == "POST" and path.endswith("/configmaps") and started else None

        text = stage(
            "s",
            """
selector: {matchExpressions: [{key: .metadata.labels.step, operator: DoesNotExist}]}
steps:
- patch: {root: metadata, template: 'labels: {step: begun}'}
- apply:
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: made, labels: {step: done}}
      data: {from: {{ .metadata.name }}}
- patch: {root: metadata, template: 'labels: {step: done}'}
""",
        )
        started = False
        world.transport.fate = fate
        async with world.playing(text):
            await config(world)
            started = True
            await world.until(lambda obj: step(obj) == "done", "m", CONFIG_MAPS)
        assert (await world.get("made", CONFIG_MAPS))["data"] == {"from": "m"}
        writes = [method for method, path in world.transport.sent if path.endswith("configmaps/m") and method != "GET"]
        assert writes == ["PATCH", "PATCH"]

    play(story)


def test_finalizers_and_deletion_with_an_event_after_it(play: Play) -> None:
    async def story(world: World) -> None:
        text = stage(
            "adds",
            "selector: {matchExpressions: [{key: '.metadata.finalizers', operator: DoesNotExist}]}\n"
            "steps: [{finalizers: {add: [{value: example.com/a}]}}]",
        ) + stage(
            "goes",
            "selector: {matchExpressions: [{key: .metadata.deletionTimestamp, operator: Exists}]}\nweight: 1\n"
            "steps: [{finalizers: {remove: [{value: example.com/a}]}}, {delete: true}, "
            "{event: {type: Warning, reason: Gone, message: it went}, patch: {template: 'data: {a: b}'}}]",
        )
        async with world.playing(text):
            await config(world)
            await world.until(lambda obj: obj["metadata"].get("finalizers") == ["example.com/a"], "m", CONFIG_MAPS)
            await world.client.delete(CONFIG_MAPS, "m", namespace="default")
            await world.gone("m", CONFIG_MAPS)
            await world.settle()
            (event,) = (await world.client.list_all(CORE_EVENTS)).items
            assert (event["reason"], event["involvedObject"]["apiVersion"]) == ("Gone", "v1")
        assert world.said == []

    play(story)


def test_volumes_are_provided_and_released(play: Play) -> None:
    async def story(world: World) -> None:
        async with world.playing(VOLUMES):
            claim = {
                "metadata": {"name": "c", "namespace": "default"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "own",
                    "resources": {"requests": {"storage": "5Gi"}},
                },
            }
            await world.client.create(PERSISTENT_VOLUME_CLAIMS, claim)
            found = await world.until(lambda obj: phase(obj) == "Bound", "c", PERSISTENT_VOLUME_CLAIMS)
            assert found["spec"]["volumeName"] == "of-c"
            volume = await world.until(lambda obj: phase(obj) == "Bound", "of-c", PERSISTENT_VOLUMES)
            assert (volume["spec"]["capacity"], volume["spec"]["accessModes"]) == (
                {"storage": "5Gi"},
                ["ReadWriteOnce"],
            )
            about = volume["spec"]["claimRef"]
            assert (about["kind"], about["apiVersion"], about["name"]) == ("PersistentVolumeClaim", "v1", "c")
            await world.client.delete(PERSISTENT_VOLUME_CLAIMS, "c", namespace="default")
            await world.gone("c", PERSISTENT_VOLUME_CLAIMS)
            await world.gone("of-c", PERSISTENT_VOLUMES)
        assert world.said == []

    play(story)


def test_an_object_that_an_expression_fails_on_is_left_alone_and_it_is_said(play: Play) -> None:
    async def story(world: World) -> None:
        async with world.playing(VOLUMES):
            volume = {
                "metadata": {"name": "v"},
                "spec": {
                    "capacity": {"storage": "1Gi"},
                    "accessModes": ["ReadWriteOnce"],
                    "hostPath": {"path": "/tmp"},  # noqa: S108 - a volume's, nobody uses it
                },
            }
            await world.client.create(PERSISTENT_VOLUMES, volume)
            await world.settle()
            (sentence,) = world.said
            assert sentence.endswith(
                "stage binds: spec.selector: no such key: storageClassName in CEL expression "
                "\"self.spec.storageClassName == 'own'\""
            )

    play(story)


def test_a_template_that_fails_on_an_object_is_said_and_others_go_on(play: Play) -> None:
    async def story(world: World) -> None:
        text = stage(
            "s",
            "selector: {matchExpressions: [{key: .data.copied, operator: DoesNotExist}]}\n"
            "steps: [{patch: {root: data, template: 'copied: {{ index .metadata.annotations.list 9 | Quote }}'}}]",
        )
        async with world.playing(text):
            await config(world, "bad")
            await config(world, "good", annotations={"list": "0123456789"})
            await world.until(lambda obj: "copied" in (obj.get("data") or {}), "good", CONFIG_MAPS)
            (sentence,) = world.said
            assert "stage s: spec.steps[0].patch.template: template: _:1:11: executing" in sentence

    play(story)


def test_a_kind_that_is_not_served_is_said_with_its_stage(play: Play) -> None:
    async def story(world: World) -> None:
        text = stage("s", "selector: {}", "Widget")
        with pytest.raises(UsageError) as caught:
            async with world.playing(text):
                await world.settle()
        assert "stage s: spec.resourceRef: the server has no kind 'Widget' in v1: " in str(caught.value)
        assert str(caught.value).endswith("; install what serves it first, or correct apiGroup and kind")

    play(story)


def custom(name: str, spec: Object) -> Object:
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": spec}


def turning(before: str, after: str) -> Object:
    return {
        "resourceRef": {"kind": "ConfigMap"},
        "selector": {"matchLabels": {"step": before}},
        "steps": [{"patch": {"root": "metadata", "template": f"labels: {{step: {after}}}"}}],
    }


def test_stages_of_the_cluster_are_taken_over_as_they_change(play: Play) -> None:
    async def story(world: World) -> None:
        async with world.playing(None):
            await config(world, labels={"step": "one"})
            await world.settle()
            await world.client.create(STAGES, custom("s", turning("one", "two")))
            await world.until(lambda obj: step(obj) == "two", "m", CONFIG_MAPS)
            await world.client.create(
                STAGES, custom("broken", {**turning("two", "x"), "steps": [{"patch": {"template": "{{ end }}"}}]})
            )
            await world.client.create(STAGES, custom("t", turning("two", "three")))
            await world.until(lambda obj: step(obj) == "three", "m", CONFIG_MAPS)
            assert world.said == [
                (
                    "the cluster: stage broken: spec.steps[0].patch.template: unexpected {{end}} at line 1 of the "
                    "template; the stage is left out"
                )
            ]
            for name in ("s", "t"):
                await world.client.delete(STAGES, name)
            await world.settle()
            await world.label("m", CONFIG_MAPS, step="one")
            await world.settle()
            assert step(await world.get("m", CONFIG_MAPS)) == "one"

    play(story)


def test_stages_of_the_cluster_wait_for_a_kind_that_is_not_served_yet(play: Play) -> None:
    async def story(world: World) -> None:
        await install_definition(world.client)
        about_stages = {
            **turning("one", "two"),
            "resourceRef": {"apiGroup": "example.com/v1", "kind": "Widget"},
        }
        await world.client.create(STAGES, custom("s", about_stages))
        async with world.playing(None):
            await world.settle(60)
            (sentence,) = world.said
            assert sentence.startswith("stages of Widget (example.com/v1) wait until the server serves it: ")
            await world.client.create(STAGES, custom("t", {**turning("one", "two")}))
            await config(world, labels={"step": "one"})
            await world.until(lambda obj: step(obj) == "two", "m", CONFIG_MAPS)

    play(story)


def test_the_same_seed_makes_the_same_choices(play: Play) -> None:
    delays: list[list[float]] = []

    async def story(world: World) -> None:
        more = "delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 60000}"
        async with world.playing(labelled("a", "", "done", more)):
            for number in range(5):
                await config(world, f"m{number}")
            found = []
            for number in range(5):
                began = world.passed_s()
                await world.until(lambda obj: step(obj) == "done", f"m{number}", CONFIG_MAPS)
                found.append(began)
            delays.append(found)

    play(story)
    play(story)
    assert delays[0] == delays[1]
