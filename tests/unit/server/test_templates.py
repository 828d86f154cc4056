"""Pods that take the short way are what they would be by the long one."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubedyno.kit.clock import VirtualClock
from kubedyno.kube import codec
from kubedyno.server.api import Api
from kubedyno.server.embedding import new_api
from kubedyno.server.messages import Answer, Request

pytestmark = pytest.mark.unit

PODS = "/api/v1/namespaces/default/pods"


def api() -> Api:
    made = new_api(clock=VirtualClock(start_ns=10**18), seed=1)
    sent(made, "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    return made


def sent(api: Api, path: str, obj: Any) -> Answer:
    answer = api.handle(Request("POST", path, {}, msgspec.json.encode(obj), user_agent="tester/1"))
    assert isinstance(answer, Answer)
    return answer


def bare(answer: Answer) -> Any:
    """The pod without what is drawn or counted anew for each."""
    pod = codec.decode(answer.body)
    for name in ("uid", "resourceVersion"):
        pod["metadata"].pop(name, None)
    text = msgspec.json.encode(pod).decode()
    volume = next(one["name"] for one in pod["spec"]["volumes"] if one["name"].startswith("kube-api-access-"))
    return msgspec.json.decode(text.replace(volume, "kube-api-access-x"))


INIT = {"initContainers": [{"name": "i", "image": "x"}]}
TEXTS = st.text(alphabet="ab$()-", max_size=3)
CONTAINERS = st.fixed_dictionaries(
    {"name": st.just("main"), "image": st.sampled_from(["a", "b:1"])},
    optional={
        "command": st.lists(TEXTS, max_size=2),
        "args": st.lists(TEXTS, max_size=2),
        "env": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from(["A", "B"])}, optional={"value": TEXTS}), max_size=2
        ),
        "resources": st.sampled_from([{}, {"limits": {"nvidia.com/gpu": 1}}, {"requests": {"cpu": "1000m"}}]),
    },
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.dictionaries(st.sampled_from(["a", "b/c", "bad key"]), st.sampled_from(["x", ""]), max_size=2),
        "annotations": st.dictionaries(st.sampled_from(["a", "kubernetes.io/x"]), TEXTS, max_size=2),
        "finalizers": st.sampled_from([[], ["example.com/x"], ["batch.kubernetes.io/job-tracking"]]),
        "ownerReferences": st.sampled_from([[], [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}]]),
    },
)
SPECS = st.builds(
    lambda container, more: {"containers": [container], **more},
    CONTAINERS,
    st.sampled_from(
        [{}, {"restartPolicy": "Never"}, {"priority": 5}, {"initContainers": [{"name": "i", "image": "x"}]}]
    ),
)
POD_LISTS = st.lists(st.tuples(METADATA, SPECS), min_size=2, max_size=6)


@settings(max_examples=150, deadline=None)
@given(POD_LISTS)
def test_each_pod_is_as_if_it_were_the_first(pods: list[tuple[Any, Any]]) -> None:
    used = api()
    for number, (metadata, spec) in enumerate(pods):
        pod = {"metadata": {**metadata, "name": f"pod-{number}"}, "spec": spec}
        short, long = sent(used, PODS, pod), sent(api(), PODS, pod)
        assert (short.status, short.warnings) == (long.status, long.warnings)
        if short.status == 201:
            assert bare(short) == bare(long)
        else:
            assert short.body == long.body


def plain(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "x"}], **more}}


def test_a_template_is_forgotten_when_what_it_depends_on_changes() -> None:
    used = api()
    assert sent(used, PODS, plain("a")).status == 201
    limits = {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}}
    assert sent(used, "/api/v1/namespaces/default/limitranges", limits).status == 201
    limited = codec.decode(sent(used, PODS, plain("b")).body)
    assert limited["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1"}


def test_each_pod_is_charged_to_a_quota() -> None:
    used = api()
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}, "status": {}}
    assert sent(used, "/api/v1/namespaces/default/resourcequotas", quota).status == 201
    path = "/api/v1/namespaces/default/resourcequotas/q/status"
    status = {"metadata": {"name": "q"}, "status": {"hard": {"pods": "2"}, "used": {"pods": "0"}}}
    used.handle(Request("PUT", path, {}, msgspec.json.encode(status)))
    assert [sent(used, PODS, plain(name)).status for name in "abc"] == [201, 201, 403]


def test_a_name_that_is_taken_is_refused_on_the_short_way_too() -> None:
    used = api()
    assert [sent(used, PODS, plain("a")).status for _ in range(2)] == [201, 409]


@pytest.mark.parametrize(
    "metadata",
    [b'"name":"a","name":"p"', b'"name":"p","labels":{"a":"b","a":"c"}', b'"labels":{},"labels":{},"name":"p"'],
)
def test_what_stands_twice_is_warned_of_however_well_the_template_is_known(metadata: bytes) -> None:
    made = api()
    spec = {"containers": [{"name": "c", "image": "x"}]}
    for number in range(3):
        assert not sent(made, PODS, {"metadata": {"name": f"p-{number}"}, "spec": spec}).warnings
    body = b'{"metadata":{%b},"spec":%b}' % (metadata, codec.encode(spec))
    answer = made.handle(Request("POST", PODS, {}, body, user_agent="tester/1"))
    assert isinstance(answer, Answer)
    assert [warning.partition(" ")[0] for warning in answer.warnings] == ["duplicate"]
