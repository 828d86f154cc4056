"""Bodies of new objects: what can be read, how strictly, in which language."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import config_map, container, edited, of, pod, secret, with_meta

from kubedyno.kube.resources import CONFIG_MAPS

YAML = "application/yaml"
MEBIBYTE = 1 << 20


@behaviour
async def unknown_fields_are_warned_of_by_default(api: Api) -> None:
    answer = await api.create({**config_map(a="1"), "colour": "red"})
    assert answer.code == 201
    assert answer.warnings == ['299 - "unknown field \\"colour\\""']


@behaviour
async def unknown_fields_are_ignored_if_asked(api: Api) -> None:
    answer = await api.create({**config_map(a="1"), "colour": "red"}, fieldValidation="Ignore")
    assert (answer.code, answer.warnings) == (201, [])


@behaviour
async def unknown_fields_are_refused_if_asked(api: Api) -> None:
    body = edited(edited(pod(), "spec/colour", "red"), "spec/containers/0/shape", "round")
    answer = await api.create(body, fieldValidation="Strict")
    assert (answer.code, answer.reason) == (400, "BadRequest")


@behaviour
async def fields_are_known_by_their_exact_case(api: Api) -> None:
    answer = await api.create(edited(pod(), "spec/NodeName", "x"), fieldValidation="Strict")
    assert answer.code == 400


@behaviour
async def fields_given_twice_are_warned_of(api: Api) -> None:
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"map"},"data":{"a":"1"},"data":{"b":"2"}}'
    answer = await api.send("POST", api.path(CONFIG_MAPS), body)
    assert answer.code == 201
    assert answer.warnings


@behaviour
async def fields_given_twice_are_refused_if_asked(api: Api) -> None:
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"map"},"data":{"a":"1","a":"2"}}'
    answer = await api.send("POST", api.path(CONFIG_MAPS), body, fieldValidation="Strict")
    assert answer.code == 400


@behaviour
async def another_value_of_field_validation_is_refused(api: Api) -> None:
    answer = await api.create(config_map(), fieldValidation="Sometimes")
    assert answer.code == 422


@behaviour
async def a_body_that_is_no_json_is_refused(api: Api) -> None:
    answer = await api.send("POST", api.path(CONFIG_MAPS), b'{"apiVersion": "v1", "kind":')
    assert (answer.code, answer.reason) == (400, "BadRequest")


@behaviour
async def an_empty_body_is_refused(api: Api) -> None:
    answer = await api.send("POST", api.path(CONFIG_MAPS), b"")
    assert answer.code == 400


@behaviour
async def a_list_is_no_object(api: Api) -> None:
    answer = await api.send("POST", api.path(CONFIG_MAPS), b"[]")
    assert answer.code == 400


@behaviour
async def json_null_is_no_object(api: Api) -> None:
    answer = await api.send("POST", api.path(CONFIG_MAPS), b"null")
    assert answer.code == 422


@behaviour
async def a_body_without_its_kind_is_taken_for_that_of_the_path(api: Api) -> None:
    answer = await api.send("POST", api.path(CONFIG_MAPS), {"metadata": {"name": "map"}, "data": {"a": "1"}})
    assert answer.code == 201
    assert answer["kind"] == "ConfigMap"


@behaviour
async def another_kind_than_that_of_the_path_is_refused(api: Api) -> None:
    answer = await api.send("POST", api.path(CONFIG_MAPS), secret())
    assert answer.code == 400


@behaviour
async def a_kind_that_nobody_knows_is_refused(api: Api) -> None:
    answer = await api.send("POST", api.path(CONFIG_MAPS), of("v1", "Nothing", "a"))
    assert answer.code == 400


@behaviour
async def a_version_that_nobody_knows_is_refused(api: Api) -> None:
    answer = await api.send("POST", api.path(CONFIG_MAPS), of("v9", "ConfigMap", "a"))
    assert answer.code == 400


@behaviour
async def values_of_the_wrong_type_are_refused(api: Api) -> None:
    answer = await api.create(of("v1", "ConfigMap", "map", data={"a": 1}))
    assert answer.code == 400


@behaviour
async def a_number_that_does_not_fit_is_refused(api: Api) -> None:
    answer = await api.create(pod(terminationGracePeriodSeconds=1 << 70))
    assert answer.code == 400


@behaviour
async def a_quantity_that_is_none_is_refused(api: Api) -> None:
    answer = await api.create(pod(containers=[container(resources={"requests": {"cpu": "much"}})]))
    assert answer.code == 400


@behaviour
async def a_time_that_is_none_is_refused(api: Api) -> None:
    answer = await api.create(with_meta(config_map(), creationTimestamp="yesterday"))
    assert answer.code == 400


@behaviour
async def yaml_is_read_too(api: Api) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\ndata:\n  a: '1'\n"
    answer = await api.send("POST", api.path(CONFIG_MAPS), body, content_type=YAML)
    assert answer.code == 201
    assert answer["data"] == {"a": "1"}


@behaviour
async def broken_yaml_is_refused(api: Api) -> None:
    answer = await api.send("POST", api.path(CONFIG_MAPS), b"a: [1", content_type=YAML)
    assert answer.code == 400


@behaviour
async def a_content_type_with_parameters_is_read(api: Api) -> None:
    body = config_map(a="1")
    answer = await api.send("POST", api.path(CONFIG_MAPS), body, content_type="application/json; charset=utf-8")
    assert answer.code == 201


@behaviour
async def another_content_type_is_refused(api: Api) -> None:
    answer = await api.send("POST", api.path(CONFIG_MAPS), config_map(), content_type="text/plain")
    assert (answer.code, answer.reason) == (415, "UnsupportedMediaType")


@behaviour
async def a_body_of_more_than_three_mebibytes_is_refused(api: Api) -> None:
    answer = await api.create(config_map(a="x" * (3 * MEBIBYTE)))
    assert (answer.code, answer.reason) == (413, "RequestEntityTooLarge")


@behaviour
async def binary_data_must_be_base64(api: Api) -> None:
    answer = await api.create({**config_map(), "binaryData": {"a": "%%%"}})
    assert answer.code == 400


@behaviour
async def a_very_deep_body_is_refused(api: Api) -> None:
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":' + b'{"a":' * 20_000 + b"1" + b"}" * 20_001
    answer = await api.send("POST", api.path(CONFIG_MAPS), body)
    assert answer.code == 400
