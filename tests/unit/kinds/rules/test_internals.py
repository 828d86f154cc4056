import pytest

from kubedyno.kinds.rules.internals import go_json, immutable, internal, label_selector

pytestmark = pytest.mark.unit


def test_values_are_printed_with_the_names_and_the_nothing_of_go() -> None:
    assert internal("apps.DeploymentStrategy", {"type": "x"}) == '{"Type":"x","RollingUpdate":null}'
    assert internal("ResourceRequirements", {"requests": {"cpu": "1", "a": "2"}}) == (
        '{"Limits":null,"Requests":{"a":"2","cpu":"1"},"Claims":null}'
    )


def test_fields_of_embedded_types_stand_beside_the_others() -> None:
    assert internal("ConfigMapKeySelector", {"name": "n", "key": "k"}) == '{"Name":"n","Key":"k","Optional":null}'


def test_a_json_name_may_have_nothing_of_the_name_in_go() -> None:
    printed = internal("resource.DeviceAttribute", {"int": 1, "bool": True})
    assert printed.startswith('{"IntValue":1,"BoolValue":true,"StringValue":null,')


def test_the_internal_pod_has_host_fields_in_its_security_context() -> None:
    printed = internal("PodSpec", {"hostNetwork": True, "securityContext": {"runAsUser": 5}})
    assert '"SecurityContext":{"HostNetwork":true,"HostPID":false,' in printed
    assert '"RunAsUser":5' in printed


def test_signs_of_html_are_escaped() -> None:
    assert go_json({"b": "<&>", "a": 1}) == r'{"a":1,"b":"\u003c\u0026\u003e"}'


def test_a_selector_prints_labels_before_expressions() -> None:
    selector = {"matchExpressions": [{"operator": "Exists", "key": "a"}], "matchLabels": {"b": "c"}}
    assert label_selector(selector) == (
        '{"matchLabels":{"b":"c"},"matchExpressions":[{"key":"a","operator":"Exists"}]}'
    )


def test_nothing_and_an_empty_list_are_the_same_to_the_server() -> None:
    assert immutable("f", None, []) == []
    assert immutable("f", {}, None) == []
    assert [problem.message for problem in immutable("f", 0, None)] == ["Invalid value: 0: field is immutable"]
    assert [problem.message for problem in immutable("f", None, 0)] == ["Invalid value: null: field is immutable"]
