"""Rules of metadata and the core group; what is told stands in `core_cases.json` as a real API server told it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubedyno.kinds import defaults, rules, strategies
from kubedyno.kube.codec import Object
from kubedyno.kube.normalizing import normalized
from kubedyno.kube.problems import Problem, invalid_status
from kubedyno.kube.resources import CONFIG_MAPS, PODS, Resource, by_kind, for_object

pytestmark = pytest.mark.unit

NOW = "2026-01-02T03:04:05Z"
CASES: dict[str, list[Object]] = msgspec.json.decode(Path(__file__).with_name("core_cases.json").read_bytes())
NO_NEW_FINALIZERS = "no new finalizers can be added if the object is being deleted"
WIDGETS = Resource("example.com", "v1", "Widget", "widgets", namespaced=True)


def told(case: Any) -> str:
    return str(case)[:120]


def filled(obj: Object, resource: Resource) -> Object:
    """An object as the server has it before it looks at the rules."""
    full = normalized(obj, resource.api_version, resource.kind)
    defaults.apply(full, resource.api_version, resource.kind)
    return full


def created(body: Object) -> list[Problem]:
    resource = for_object(body)
    obj = filled(body, resource)
    obj["metadata"]["uid"] = "u"
    if resource.namespaced:
        obj["metadata"]["namespace"] = "default"
    strategies.prepare_create(obj, resource, now=NOW)
    return rules.created(obj, resource)


def pod(**spec: Any) -> Object:
    given = {"containers": [{"name": "a", "image": "i"}], "serviceAccountName": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {**given, **spec}}


def messages(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.field, problem.message) for problem in problems]


@pytest.mark.parametrize("case", CASES["created"], ids=told)
def test_a_wrong_object_is_told_as_by_the_real_server(case: Object) -> None:
    resource = for_object(case["body"])
    problems = created(case["body"])
    status = invalid_status(resource.kind, resource.group, case["body"]["metadata"]["name"], problems)
    assert status.message == case["message"]
    assert [[cause.reason, cause.message, cause.field] for cause in status.causes] == case["causes"]


@pytest.mark.parametrize("case", CASES["updated"], ids=told)
def test_a_wrong_update_is_told_as_by_the_real_server(case: Object) -> None:
    resource = for_object(case["new"])
    new = filled(case["new"], resource)
    strategies.prepare_update(new, case["old"], resource, now=NOW, subresource=case["subresource"])
    problems = rules.updated(new, case["old"], resource, case["subresource"])
    status = invalid_status(resource.kind, resource.group, new["metadata"]["name"], problems)
    assert status.message == case["message"]
    assert [[cause.reason, cause.message, cause.field] for cause in status.causes] == case["causes"]


def test_a_right_pod_has_no_problems() -> None:
    assert created(pod()) == []


def test_an_update_that_changes_nothing_has_no_problems() -> None:
    obj = filled(pod(), PODS)
    obj["metadata"] |= {"namespace": "default", "uid": "u", "resourceVersion": "1"}
    assert rules.updated(obj, obj, PODS) == []
    assert rules.updated(obj, obj, PODS, "status") == []


def test_a_spec_that_is_known_to_be_right_is_not_looked_at_again() -> None:
    obj = filled(pod(restartPolicy="Maybe"), PODS)
    obj["metadata"] |= {"namespace": "default", "labels": {"a": "b c"}}
    assert [problem.field for problem in rules.created(obj, PODS)] == ["metadata.labels", "spec.restartPolicy"]
    assert [problem.field for problem in rules.created(obj, PODS, known_spec=True)] == ["metadata.labels"]


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        (
            {"preemptionPolicy": "Sometimes"},
            "spec.preemptionPolicy",
            'Unsupported value: "Sometimes": supported values: "PreemptLowerPriority", "Never"',
        ),
        (
            {"overhead": {"cpu": "-1"}},
            "spec.overhead.limits[cpu]",
            'Invalid value: "-1": must be greater than or equal to 0',
        ),
        (
            {"schedulingGroup": {}},
            "spec.schedulingGroup.podGroupName",
            "Invalid value: null: must specify one of: `podGroupName`",
        ),
    ],
)
def test_what_admission_hides_is_told_too(spec: Object, field: str, message: str) -> None:
    assert messages(created(pod(**spec))) == [(field, message)]


def test_a_config_map_is_no_larger_than_a_mebibyte() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b" * 2**20, "c": "d"}}
    assert messages(created(body)) == [("[]", "Too long: may not be more than 1048576 bytes")]


def config(**metadata: Any) -> Object:
    given = {"name": "c", "namespace": "default", "uid": "u", "resourceVersion": "1", "creationTimestamp": NOW}
    kept = {name: value for name, value in {**given, **metadata}.items() if value is not None}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": kept}


@pytest.mark.parametrize(
    ("new", "old", "problem"),
    [
        (
            config(resourceVersion=None),
            config(),
            ("metadata.resourceVersion", 'Invalid value: "": must be specified for an update'),
        ),
        (config(uid="v"), config(), ("metadata.uid", 'Invalid value: "v": field is immutable')),
        (
            config(deletionTimestamp=NOW),
            config(),
            ("metadata.deletionTimestamp", f'Invalid value: "{NOW}": field is immutable'),
        ),
        (
            config(deletionTimestamp=NOW, finalizers=["a/b", "c/d"]),
            config(deletionTimestamp=NOW, finalizers=["c/d"]),
            ("metadata.finalizers", f'Forbidden: {NO_NEW_FINALIZERS}, found new finalizers []string{{"a/b"}}'),
        ),
        (
            config(managedFields=[{"manager": "m", "operation": "Steal"}]),
            config(),
            ("metadata.managedFields[0].operation", 'Invalid value: "Steal": must be `Apply` or `Update`'),
        ),
        (
            config(generation=1),
            config(generation=2),
            ("metadata.generation", "Invalid value: 1: must not be decremented"),
        ),
    ],
)
def test_metadata_that_may_not_change_is_told(new: Object, old: Object, problem: tuple[str, str]) -> None:
    assert set(messages(rules.updated(new, old, CONFIG_MAPS))) == {problem}


def test_custom_resources_are_asked_for_their_metadata_only() -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "W", "finalizers": ["mine"]}}
    assert [problem.field for problem in rules.created(widget, WIDGETS)] == ["metadata.name"]


def test_a_kind_that_takes_any_name_still_wants_one_that_fits_into_a_url() -> None:
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a%b"}, "spec": {}}
    found = rules.created(budget, by_kind("policy/v1", "PodDisruptionBudget"))
    assert messages(found) == [("metadata.name", "Invalid value: \"a%b\": may not contain '%'")]


def test_a_cluster_wide_object_has_no_namespace() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": "default"}}
    found = rules.created(node, by_kind("v1", "Node"))
    assert messages(found) == [("metadata.namespace", "Forbidden: not allowed on this type")]


def test_static_pods_have_no_resource_claims() -> None:
    body = pod(nodeName="n", resourceClaims=[{"name": "x", "resourceClaimName": "c"}])
    body["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert messages(created(body)) == [("[]", "Forbidden: static pods do not support resource claims")]
