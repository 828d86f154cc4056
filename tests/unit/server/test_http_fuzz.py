"""Whatever is sent, the server answers with what it means to say, and its store stays whole."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import hypothesis
import msgspec
import pytest
from attacking import CONFIG_MAPS, PODS, Reply, Served, a_server, api_with_account, config_map, request
from hypothesis import strategies as st

from kubedyno.server.api import Api
from kubedyno.server.messages import Answer, Request
from kubedyno.store import invariants

pytestmark = pytest.mark.unit

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
TARGETS = [
    PODS,
    f"{PODS}/a",
    f"{PODS}/a/status",
    f"{PODS}/a/binding",
    f"{PODS}/a/eviction",
    CONFIG_MAPS,
    f"{CONFIG_MAPS}/a",
    "/api/v1/namespaces/default",
    "/apis/batch/v1/namespaces/default/jobs",
    "/apis/apps/v1/namespaces/default/deployments/a/scale",
    "/apis/resource.k8s.io/v1/resourceslices",
    "/version",
    "/api",
    "/openapi/v3",
]
CONTENT_TYPES = [
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
    "",
]
PARAMETERS = [
    *("dryRun", "fieldManager", "fieldValidation", "force", "limit", "continue", "labelSelector", "fieldSelector"),
    *("resourceVersion", "resourceVersionMatch", "gracePeriodSeconds", "propagationPolicy", "orphanDependents"),
    *("pretty", "includeObject", "timeoutSeconds"),
]
NAMES = [
    *("apiVersion", "kind", "metadata", "name", "namespace", "labels", "annotations", "finalizers", "uid", "spec"),
    *("generateName", "ownerReferences", "resourceVersion", "deletionTimestamp", "status", "containers", "image"),
    *("resources", "limits", "requests", "cpu", "nodeName", "tolerations", "affinity", "volumes", "template"),
    *("op", "path", "value", "from", "$patch", "$retainKeys", "$setElementOrder/containers", "data", "target"),
    *("gracePeriodSeconds", "propagationPolicy", "preconditions", "dryRun", "phase", "conditions", "type", "ports"),
]
TEXTS = ["", "a", "v1", "Pod", "Always", "100m", "1mm", "/spec", "/metadata/labels/-", "2026-01-01T00:00:00Z", "\0"]

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
texts = st.sampled_from(TEXTS) | st.text(max_size=8)
trees = st.recursive(
    scalars | texts,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.sampled_from(NAMES) | texts, below, max_size=6),
    max_leaves=25,
)
queries = st.dictionaries(st.sampled_from(PARAMETERS), texts, max_size=3)


@pytest.fixture(scope="module")
def api() -> Api:
    made = api_with_account()
    assert made.handle(Request("POST", CONFIG_MAPS, {}, config_map("a"))).status == 201  # type: ignore[union-attr]
    pod = b'{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}'
    assert made.handle(Request("POST", PODS, {}, pod)).status == 201  # type: ignore[union-attr]
    return made


def answered(api: Api, sent: Request) -> Answer | None:
    """The answer, which must be meant; None: it is a watch."""
    before = api.state.store.revision
    made = api.handle(sent)
    if api.state.store.revision != before:
        invariants.validate(api.state.store)
    if not isinstance(made, Answer):
        return None
    if made.content_type == "application/json":
        msgspec.json.decode(made.body)
    assert b"Internal error occurred" not in made.body, (sent, made.body)
    return made


@hypothesis.settings(max_examples=150)
@hypothesis.given(
    st.builds(
        Request,
        st.sampled_from(METHODS),
        st.sampled_from(TARGETS),
        queries,
        st.binary(max_size=300),
        st.sampled_from(CONTENT_TYPES),
        st.sampled_from(["application/json", "application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io"])
        | texts,
        texts,
    )
)
def test_any_bytes_in_any_request_are_answered(api: Api, sent: Request) -> None:
    answered(api, sent)


@hypothesis.settings(max_examples=150)
@hypothesis.given(st.sampled_from(["POST", "PUT"]), st.sampled_from(TARGETS[:11]), trees, st.booleans())
def test_any_json_as_an_object_is_answered(api: Api, method: str, path: str, tree: Any, as_yaml: bool) -> None:
    content_type = "application/yaml" if as_yaml else "application/json"
    answered(api, Request(method, path, {"dryRun": "All"}, json.dumps(tree).encode(), content_type))


@hypothesis.settings(max_examples=150)
@hypothesis.given(trees, trees, st.sampled_from(["/metadata", "/spec", "/status", "/spec/containers/0", "/x"]))
def test_any_json_within_a_pod_is_answered(api: Api, spec: Any, status: Any, place: str) -> None:
    pod = {"metadata": {"name": "b"}, "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": status}
    answered(api, Request("POST", PODS, {"dryRun": "All"}, json.dumps({**pod, "spec": spec}).encode()))
    patch = [{"op": "add", "path": place, "value": spec}]
    sent = json.dumps(patch).encode()
    answered(api, Request("PATCH", f"{PODS}/a", {"dryRun": "All"}, sent, "application/json-patch+json"))


@hypothesis.settings(max_examples=150)
@hypothesis.given(st.sampled_from(CONTENT_TYPES[2:6]), trees, st.sampled_from([f"{PODS}/a", f"{CONFIG_MAPS}/a"]))
def test_any_json_as_a_patch_is_answered(api: Api, content_type: str, tree: Any, path: str) -> None:
    query = {"dryRun": "All", "fieldManager": "x"}
    answered(api, Request("PATCH", path, query, json.dumps(tree).encode(), content_type))


@hypothesis.settings(max_examples=120)
@hypothesis.given(trees, queries)
def test_any_options_of_a_deletion_are_answered(api: Api, tree: Any, query: dict[str, str]) -> None:
    answered(api, Request("DELETE", f"{PODS}/a", {**query, "dryRun": "All"}, json.dumps(tree).encode()))


@hypothesis.settings(max_examples=150)
@hypothesis.given(st.text(max_size=20) | st.text("a=!,()<> tnoi.-_/", max_size=20), queries)
def test_any_selector_is_answered(api: Api, selector: str, query: dict[str, str]) -> None:
    for name in ("labelSelector", "fieldSelector"):
        answered(api, Request("GET", PODS, {**query, name: selector}))


@pytest.fixture(scope="module")
def loop_and_server() -> Iterator[tuple[asyncio.Runner, Served]]:
    with asyncio.Runner() as runner:
        server = a_server()
        served = runner.run(server.__aenter__())
        yield runner, served
        assert runner.run(served.is_well())
        runner.run(server.__aexit__(None, None, None))


@hypothesis.settings(max_examples=120)
@hypothesis.given(st.binary(min_size=1, max_size=200))
def test_any_bytes_on_a_connection_are_survived(loop_and_server: tuple[asyncio.Runner, Served], raw: bytes) -> None:
    runner, served = loop_and_server
    found = runner.run(served.send(raw, half_close=True))
    assert not found or Reply(found).code in {400, 401, 405, 431, 505}


@hypothesis.settings(max_examples=120)
@hypothesis.given(
    st.sampled_from(METHODS), st.text(max_size=30), st.binary(max_size=50), st.sampled_from(CONTENT_TYPES[:-1])
)
def test_any_path_over_http_is_answered(
    loop_and_server: tuple[asyncio.Runner, Served], method: str, path: str, body: bytes, content_type: str
) -> None:
    runner, served = loop_and_server
    raw = request(method, f"/api/v1/{quote(path)}", body, content_type=content_type)
    assert 200 <= Reply(runner.run(served.send(raw))).code < 500
