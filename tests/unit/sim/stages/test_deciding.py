"""The pure parts: which stage, when, what it sends, and when it is too much."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.clock import NS_PER_S, parse_rfc3339_ns
from kubedyno.kube.codec import Object
from kubedyno.sim.stages import loops, selecting, steps, timing, tracking
from kubedyno.sim.stages.addresses import AddressPool, OutOfAddresses, PodAddresses, host_addresses, ranges_of
from kubedyno.sim.stages.expressions import Moment, at
from kubedyno.sim.stages.functions import known_functions
from kubedyno.sim.stages.loops import Trail
from kubedyno.sim.stages.reading import read_files
from kubedyno.sim.stages.selecting import Unmatchable
from kubedyno.sim.stages.stage import POD, Finalizers, Kind, Stage
from kubedyno.sim.stages.steps import PatchRequest
from kubedyno.sim.stages.tracking import Track

pytestmark = pytest.mark.unit

NOW_NS = parse_rfc3339_ns("2026-01-01T00:00:00Z")


@pytest.fixture
def one(tmp_path: Path) -> Any:
    """A stage from the lines of its spec."""

    def read(spec: str, kind: str = "Pod", name: str = "s") -> Stage:
        path = tmp_path / "stage.yaml"
        head = f"apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {{name: {name}}}\nspec:\n"
        lines = "\n".join(f"  {line}" for line in spec.strip("\n").splitlines())
        path.write_text(f"{head}  resourceRef: {{kind: {kind}}}\n{lines}\n")
        (found,) = read_files([path])
        return found

    return read


def pod(**metadata: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": "u", **metadata}, "spec": {}}


def cel(expression: str) -> str:
    return f'selector: {{matchExpressions: [{{cel: {{expression: "{expression}"}}}}]}}'


SELECTORS = [
    ("", False),
    ("selector: {}", True),
    ("selector: {matchLabels: {a: b}}", True),
    ("selector: {matchLabels: {a: c}}", False),
    ("selector: {matchLabels: {x: ''}}", False),
    ("selector: {matchAnnotations: {k: v}}", True),
    ("selector: {matchLabels: {a: b}, matchAnnotations: {k: w}}", False),
    ("selector: {matchExpressions: [{key: .metadata.name, operator: In, values: [p]}]}", True),
    ("selector: {matchExpressions: [{jq: {key: .metadata.name, operator: NotIn, values: [p]}}]}", False),
    ("selector: {matchExpressions: [{cel: {expression: 'self.metadata.name == \"p\"'}}]}", True),
    ("selector: {matchExpressions: [{cel: {expression: 'SinceSecond(self) == 60.0'}}]}", True),
    ("selector: {matchExpressions: [{cel: {expression: 'self.SinceSecond() > 60.0'}}]}", False),
    ("selector: {matchExpressions: [{cel: {expression: 'Rand() == 0.25'}}]}", True),
    (cel("Now() - self.metadata.creationTimestamp == duration('1m')"), True),
    (cel("UnixSecond(Now()) - self.metadata.creationTimestamp.UnixSecond() == 60.0"), True),
    ('selector: {matchExpressions: [{cel: {expression: \'Quantity("1").isLessThan(Quantity("2"))\'}}]}', True),
]


@pytest.mark.parametrize(("selector", "picked"), SELECTORS, ids=[row[0] for row in SELECTORS])
def test_a_selector_picks_what_fits(selector: str, picked: bool, one: Any) -> None:
    obj = pod(labels={"a": "b"}, annotations={"k": "v"}, creationTimestamp="2025-12-31T23:59:00Z")
    with at(Moment(NOW_NS, lambda: 0.25)):
        assert selecting.matches(one(selector), obj) is picked


UNMATCHABLE = [
    (
        'selector: {matchExpressions: [{cel: {expression: self.spec.nodeName == "n"}}]}',
        "spec.selector: no such key: nodeName in CEL expression 'self.spec.nodeName == \"n\"'",
    ),
    (
        "selector: {matchExpressions: [{cel: {expression: self.metadata.name}}]}",
        "spec.selector: CEL expression 'self.metadata.name' gives no true or false, but 'p'",
    ),
]


@pytest.mark.parametrize(("selector", "sentence"), UNMATCHABLE)
def test_an_expression_that_fails_is_said_with_its_stage(selector: str, sentence: str, one: Any) -> None:
    broken = one(selector)
    with pytest.raises(Unmatchable) as caught:
        selecting.candidates([one("selector: {}", name="t"), broken], pod())
    assert str(caught.value) == f"{broken.source}: stage s: {sentence}"


WEIGHTS = [
    (("weight: 0", "weight: 0"), {}, (1, 1)),
    (("weight: 1", "weight: 3"), {}, (1, 3)),
    (("weight: 0", "weight: 3"), {}, (0, 3)),
    (("weight: 1", "weightFrom: {expressionFrom: .metadata.annotations.w}"), {"w": "7"}, (1, 7)),
    (("weight: 1", "weight: 5\nweightFrom: {expressionFrom: .metadata.annotations.w}"), {}, (1, 5)),
    (("weight: 1", "weight: 5\nweightFrom: {expressionFrom: .metadata.annotations.w}"), {"w": "many"}, (1, 0)),
    (("weight: 0", "weight: 5\nweightFrom: {expressionFrom: .metadata.annotations.w}"), {"w": ""}, (1, 0)),
    (("weight: 1", "weightFrom: {cel: {expression: '2 + 2'}}"), {}, (1, 4)),
    (("weight: 1", "weightFrom: {jq: {expression: .metadata.annotations.w}}"), {"w": "0x10"}, (1, 16)),
    (("weight: 1", "weightFrom: {jq: {expression: .metadata.annotations.w}}"), {"w": "010"}, (1, 8)),
    (
        (
            "weightFrom: {expressionFrom: .metadata.annotations.w}",
            "weightFrom: {expressionFrom: .metadata.annotations.w}",
        ),
        {"w": "no"},
        (1, 1),
    ),
]


@pytest.mark.parametrize(("specs", "annotations", "shares"), WEIGHTS, ids=range(len(WEIGHTS)))
def test_weights_decide_the_shares(
    specs: tuple[str, str], annotations: dict[str, str], shares: tuple[int, int], one: Any
) -> None:
    stages = [one(f"selector: {{}}\n{spec}", name=name) for spec, name in zip(specs, "ab", strict=True)]
    found = selecting.candidates(stages, pod(annotations=annotations))
    expected = [(stage.name, share) for stage, share in zip(stages, shares, strict=True) if share]
    assert [(stage.name, share) for stage, share in zip(found.stages, found.shares, strict=True)] == expected


def test_chance_falls_on_stages_by_their_shares(one: Any) -> None:
    stages = tuple(one("selector: {}", name=name) for name in "abc")
    among = selecting.Candidates(stages, (1, 2, 1))
    names = [
        found.name for chance in (0.0, 0.24, 0.25, 0.74, 0.75, 0.999) if (found := selecting.chosen(among, chance))
    ]
    assert names == ["a", "a", "b", "b", "c", "c"]
    assert selecting.chosen(selecting.Candidates(), 0.5) is None


S = NS_PER_S
DELAYS = [
    ("", {}, None),
    ("delay: {}", {}, (0,)),
    ("delay: {durationMilliseconds: 1500}", {}, (1500 * S // 1000,)),
    ("delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 5000}", {}, (S, 5 * S)),
    ("delay: {durationMilliseconds: 5000, jitterDurationMilliseconds: 1000}", {}, (S,)),
    (
        "delay: {durationMilliseconds: 1000, durationFrom: {expressionFrom: .metadata.annotations.d}}",
        {"d": "1m"},
        (60 * S,),
    ),
    (
        "delay: {durationMilliseconds: 1000, durationFrom: {expressionFrom: .metadata.annotations.d}}",
        {"d": "soon"},
        (S,),
    ),
    ("delay: {durationMilliseconds: 1000, durationFrom: {expressionFrom: .metadata.annotations.d}}", {"d": "5"}, (S,)),
    ("delay: {durationMilliseconds: 1000, durationFrom: {expressionFrom: .metadata.annotations.d}}", {"d": ""}, None),
    ("delay: {durationMilliseconds: 1000, durationFrom: {expressionFrom: .metadata.annotations.d}}", {}, (S,)),
    (
        "delay: {durationFrom: {jq: {expression: .metadata.annotations.d}}}",
        {"d": "2026-01-01T00:00:30Z"},
        (30 * S,),
    ),
    (
        "delay: {durationMilliseconds: 1000, jitterDurationFrom: {expressionFrom: .metadata.annotations.d}}",
        {"d": "2026-01-01T00:00:30.5Z"},
        (S, 30_500_000_000),
    ),
    ("delay: {durationFrom: {cel: {expression: '\"3s\"'}}}", {}, (3 * S,)),
    ("delay: {durationFrom: {cel: {expression: 'duration(\"2s\")'}}}", {}, (2 * S,)),
    ("delay: {durationFrom: {cel: {expression: '1000'}}}", {}, (1000,)),
]


@pytest.mark.parametrize(("spec", "annotations", "span"), DELAYS, ids=range(len(DELAYS)))
def test_a_stage_waits_as_its_delay_says(
    spec: str, annotations: dict[str, str], span: tuple[int, ...] | None, one: Any
) -> None:
    wait = timing.wait_of(one(f"selector: {{}}\n{spec}"), pod(annotations=annotations))
    found = None if wait is None else tuple(moment - NOW_NS for moment in wait.span_ns(NOW_NS))
    assert found == span


@given(chance=st.floats(0, 1, exclude_max=True), first=st.integers(0, 10**12), more=st.integers(1, 10**12))
def test_a_stage_is_due_within_its_span(chance: float, first: int, more: int) -> None:
    wait = timing.Wait(timing.Bound(first), timing.Bound(first + more))
    assert NOW_NS + first <= wait.due_ns(NOW_NS, chance) <= NOW_NS + first + more


FINALIZERS = [
    ([], Finalizers(("a",), (), empty=False), [("add", "", ["a"])]),
    (["x"], Finalizers(("a", "x"), (), empty=False), [("add", "/-", "a")]),
    (["x", "y", "z"], Finalizers((), ("x", "z"), empty=False), [("remove", "/2", None), ("remove", "/0", None)]),
    (["x"], Finalizers((), ("x",), empty=False), [("remove", "", None)]),
    (["x"], Finalizers(("a",), ("x",), empty=False), [("remove", "", None), ("add", "", ["a"])]),
    (["x", "y"], Finalizers(("a",), ("x",), empty=False), [("remove", "/0", None), ("add", "/-", "a")]),
    (["x"], Finalizers((), (), empty=True), [("remove", "", None)]),
    ([], Finalizers((), (), empty=True), []),
    ([], Finalizers((), ("x",), empty=False), []),
    (["y"], Finalizers((), ("x",), empty=False), []),
]


@pytest.mark.parametrize(("present", "change", "operations"), FINALIZERS, ids=range(len(FINALIZERS)))
def test_finalizers_are_changed_by_a_json_patch(
    present: list[str], change: Finalizers, operations: list[tuple[str, str, Any]]
) -> None:
    assert steps.finalizer_operations(present, change) == [
        {"op": op, "path": f"/metadata/finalizers{place}", **({"value": value} if op == "add" else {})}
        for op, place, value in operations
    ]


def rendered(stage: Stage, obj: Object) -> list[steps.Request]:
    functions = known_functions(stage.kind)
    plain = steps.plain_kind(stage.kind)
    return [request for step in stage.steps for request in steps.requests(step, obj, functions, plain=plain)]


PATCHES = [
    ("root: status, template: 'a: 1'", "Pod", PatchRequest({"status": {"a": 1}}, "strategic")),
    ("root: status, template: 'a: 1'", "Service", PatchRequest({"status": {"a": 1}}, "merge")),
    ("template: 'a: 1', type: merge, subresource: status", "Pod", PatchRequest({"a": 1}, "merge", "status")),
    ("root: status, template: ''", "Pod", PatchRequest({"status": None}, "strategic")),
    (
        "root: metadata, type: json, template: '[{op: add, path: /labels, value: {a: b}}]'",
        "Pod",
        PatchRequest([{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}], "json"),
    ),
]


@pytest.mark.parametrize(("patch", "kind", "request_"), PATCHES, ids=range(len(PATCHES)))
def test_a_patch_is_rendered_below_its_root(patch: str, kind: str, request_: PatchRequest, one: Any) -> None:
    assert rendered(one(f"steps: [{{patch: {{{patch}}}}}]", kind), pod()) == [request_]


UNRENDERABLE = [
    ("patch: {type: json, template: 'a: b'}", "patch.template: a patch of type json must be a list of operations, not"),
    ("patch: {template: '[1]'}", r"patch.template: a patch of type strategic must be a mapping, not \[1\]$"),
    ("apply: {template: 'a: b'}", "apply.template: an object to apply must have apiVersion and kind$"),
    (
        "patch: {template: 'a: {{ index .spec.x 0 }}'}",
        (
            r"patch.template: template: _:1:6: executing \"_\" at <index .spec.x 0>: error calling index: "
            "index of untyped nil$"
        ),
    ),
    ("patch: {template: 'a: b: c'}", "patch.template: yaml: .*mapping values are not allowed in this context"),
]


@pytest.mark.parametrize(("step", "sentence"), UNRENDERABLE, ids=[row[0] for row in UNRENDERABLE])
def test_what_cannot_be_rendered_is_said_with_its_field(step: str, sentence: str, one: Any) -> None:
    with pytest.raises(steps.Unrenderable, match=rf"^spec\.steps\[0\]\.{sentence}"):
        rendered(one(f"steps: [{{{step}}}]"), pod())


RUNNING = {**pod(), "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}}
CHANGES = [
    (PatchRequest({"status": {"phase": "Running"}}, "strategic"), False),
    (PatchRequest({"status": {"phase": "Failed"}}, "strategic"), True),
    # As the server prints them: a fraction of a second and empty texts are nothing.
    (PatchRequest({"status": {"startTime": "2026-01-01T00:00:00.5Z", "message": ""}}, "strategic"), False),
    (PatchRequest({"status": {"phase": 1}}, "merge"), True),
    (PatchRequest([{"op": "remove", "path": "/nothing"}], "json"), True),
    (PatchRequest([{"op": "replace", "path": "/status/phase", "value": "Running"}], "json"), False),
]


@pytest.mark.parametrize(("request_", "changed"), CHANGES, ids=range(len(CHANGES)))
def test_a_patch_that_changes_nothing_is_known(request_: PatchRequest, changed: bool) -> None:
    assert steps.changes(RUNNING, request_, POD) is changed


def test_custom_resources_are_compared_as_they_are() -> None:
    widget = Kind("example.com/v1", "Widget")
    obj = {"metadata": {"name": "w"}, "spec": {"a": 1}}
    assert not steps.changes(obj, PatchRequest({"spec": {"a": 1}}, "merge"), widget)
    assert steps.changes(obj, PatchRequest({"spec": {"a": 2}}, "merge"), widget)
    assert steps.changes(obj, PatchRequest({"spec": {"a": 1}}, "strategic"), widget)


def half(_what: str) -> float:
    return 0.5


def test_an_unrelated_change_does_not_begin_a_wait_anew(one: Any) -> None:
    stages = [one("selector: {}\ndelay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 3000}")]
    track = Track(uid="u")
    tracking.decide(track, stages, pod(), now_ns=NOW_NS, draw=half)
    assert track.due_ns == NOW_NS + 2 * S
    tracking.decide(track, stages, pod(labels={"a": "b"}), now_ns=NOW_NS + S, draw=half)
    assert track.due_ns == NOW_NS + 2 * S


def test_a_delay_that_reads_differently_counts_from_the_same_moment(one: Any) -> None:
    stages = [one("selector: {}\ndelay: {durationFrom: {expressionFrom: .metadata.annotations.d}}")]
    track = Track(uid="u")
    tracking.decide(track, stages, pod(annotations={"d": "10s"}), now_ns=NOW_NS, draw=half)
    tracking.decide(track, stages, pod(annotations={"d": "5s"}), now_ns=NOW_NS + S, draw=half)
    assert track.due_ns == NOW_NS + 5 * S


def test_an_object_that_leaves_a_stage_waits_anew_when_it_is_back(one: Any) -> None:
    stages = [one("selector: {matchLabels: {a: b}}\ndelay: {durationMilliseconds: 1000}")]
    track = Track(uid="u")
    tracking.decide(track, stages, pod(labels={"a": "b"}), now_ns=NOW_NS, draw=half)
    tracking.decide(track, stages, pod(), now_ns=NOW_NS + S // 2, draw=half)
    assert track.stage is None
    tracking.decide(track, stages, pod(labels={"a": "b"}), now_ns=NOW_NS + S, draw=half)
    assert track.due_ns == NOW_NS + 2 * S


def test_a_delay_that_cannot_be_evaluated_is_none_and_said(one: Any) -> None:
    (stage,) = stages = [one("selector: {}\ndelay: {durationFrom: {cel: {expression: self.spec.x}}}")]
    track = Track(uid="u")
    tracking.decide(track, stages, pod(), now_ns=NOW_NS, draw=half)
    assert (track.stage, track.due_ns) == (stage, NOW_NS)
    assert track.problem == f"{stage}: spec.delay: no such key: x; the stage is played without delay"


def test_a_stage_goes_on_when_its_first_steps_are_why_it_does_not_match_any_more(one: Any) -> None:
    stages = [one("selector: {matchLabels: {a: b}}"), one("selector: {matchLabels: {a: c}}", name="t")]
    track = Track(uid="u")
    tracking.decide(track, stages, pod(labels={"a": "b"}), now_ns=NOW_NS, draw=half)
    track.step = 1
    tracking.decide(track, stages, pod(), now_ns=NOW_NS, draw=half)
    assert (track.stage, track.step) == (stages[0], 1)
    tracking.decide(track, stages, pod(labels={"a": "c"}), now_ns=NOW_NS, draw=half)
    assert (track.stage, track.step) == (stages[1], 0)


def walked(trail: Trail, names: str, *, pause_ns: int = S // 10, **more: Any) -> tuple[str, ...]:
    """Play stages one after another, each of which writes its name."""
    options = {"at_once": True, "certain": True, **more}
    for index, name in enumerate(names):
        obj = pod(resourceVersion=str(index), labels={"stage": names[index - 1]})
        if found := trail.circle(name, obj, now_ns=NOW_NS + index * pause_ns, **options):
            return found
        trail.answered(str(index + 1))
    return ()


def test_a_state_that_comes_back_is_a_circle() -> None:
    assert walked(Trail(), "ab" * 5) in {("a", "b"), ("b", "a")}
    assert walked(Trail(), "a" * 10) == ("a",)
    assert set(walked(Trail(), "abc" * 5)) == {"a", "b", "c"}


def test_many_stages_in_a_row_are_no_circle() -> None:
    assert walked(Trail(), "abcdefghij") == ()


def test_where_there_is_a_delay_or_chance_a_state_may_come_back() -> None:
    assert walked(Trail(), "ab" * 20, at_once=False) == ()
    assert walked(Trail(), "ab" * 20, certain=False) == ()


def test_what_somebody_else_changes_back_is_no_circle() -> None:
    trail = Trail()
    for index in range(20):
        obj = pod(resourceVersion=str(2 * index))
        assert trail.circle("a", obj, at_once=True, certain=True, now_ns=index * S) == ()
        trail.answered(str(2 * index + 1))


def test_a_hundred_stages_within_a_second_are_too_many_whoever_writes() -> None:
    assert walked(Trail(), "ab" * 60, at_once=False, pause_ns=S // 200) == ("a", "b")
    assert loops.PLAYS_PER_S == 100


def test_addresses_begin_after_the_start_and_end_with_the_range() -> None:
    pool = AddressPool("10.0.0.0/29")
    assert [pool.take() for _ in range(6)] == [f"10.0.0.{number}" for number in range(1, 7)]
    with pytest.raises(
        OutOfAddresses, match=r"^all addresses of 10\.0\.0\.0/29 are taken: give the node a larger podCIDR"
    ):
        pool.take()
    pool.give_back("10.0.0.3")
    assert pool.take() == "10.0.0.3"
    assert AddressPool("10.0.0.1/24").take() == "10.0.0.2"
    assert AddressPool("fd00::/126").take() == "fd00::1"


def test_a_pod_keeps_its_addresses_until_it_is_gone() -> None:
    addresses = PodAddresses()
    cidrs = ["10.0.0.0/24", "fd00::/64"]
    assert addresses.take("a", cidrs) == addresses.take("a", cidrs) == ["10.0.0.1", "fd00::1"]
    addresses.note("b", cidrs, ["10.0.0.2"])
    assert addresses.take("c", cidrs) == ["10.0.0.3", "fd00::2"]
    addresses.release("a")
    assert addresses.take("d", cidrs) == ["10.0.0.1", "fd00::1"]
    assert addresses.take("e", ["nonsense"]) == []


def test_an_address_is_not_lost_when_a_second_range_is_full() -> None:
    addresses = PodAddresses()
    addresses.take("a", ["10.0.1.0/30"])
    addresses.take("b", ["10.0.1.0/30"])
    with pytest.raises(OutOfAddresses):
        addresses.take("c", ["10.0.0.0/24", "10.0.1.0/30"])
    assert addresses.take("d", ["10.0.0.0/24"]) == ["10.0.0.1"]


def test_a_node_has_the_addresses_that_kwok_finds() -> None:
    def node(*listed: tuple[str, str]) -> Object:
        return {"status": {"addresses": [{"type": kind, "address": address} for kind, address in listed]}}

    assert host_addresses(node(("ExternalIP", "1.1.1.1"), ("InternalIP", "10.0.0.9")), "x") == ["10.0.0.9"]
    dual = node(("InternalIP", "10.0.0.9"), ("InternalIP", "fd00::9"), ("InternalIP", "10.0.0.8"))
    assert host_addresses(dual, "x") == ["10.0.0.9", "fd00::9"]
    assert host_addresses(node(("Hostname", "n"), ("InternalIP", "n")), "127.0.0.1") == ["127.0.0.1"]
    assert host_addresses(None, "") == []
    assert ranges_of({"spec": {"podCIDR": "a", "podCIDRs": ["a", "b"]}}, "z") == ["a", "b"]
    assert ranges_of({"spec": {"podCIDR": "a"}}, "z") == ["a"]
    assert ranges_of(None, "z") == ["z"]
