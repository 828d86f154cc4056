"""Requests that are wrong before any object is looked at."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import config_map, pod

from kubedyno.kube.resources import CONFIG_MAPS, NODES, PODS


@behaviour
async def a_token_that_nobody_knows(api: Api) -> None:
    answer = await api.send("GET", api.path(PODS), as_stranger=True)
    assert (answer.code, answer.reason) == (401, "Unauthorized")


@behaviour
async def a_write_with_a_token_that_nobody_knows(api: Api) -> None:
    answer = await api.send("POST", api.path(CONFIG_MAPS), config_map(), as_stranger=True)
    assert answer.code == 401


@behaviour
async def a_path_that_is_none(api: Api) -> None:
    answer = await api.send("GET", "/foo")
    assert answer.code == 404


@behaviour
async def a_path_below_a_group_that_is_none(api: Api) -> None:
    answer = await api.send("GET", "/api/v2/pods")
    assert answer.code == 404


@behaviour
async def a_path_that_goes_on(api: Api) -> None:
    await api.create(pod())
    answer = await api.send("GET", f"{api.path(PODS, 'pod')}/status/more")
    assert answer.code == 404


@behaviour
async def a_namespaced_path_of_a_cluster_wide_kind(api: Api) -> None:
    answer = await api.send("GET", f"/api/v1/namespaces/{api.namespace}/nodes")
    assert answer.code == 404


@behaviour
async def a_name_without_a_namespace(api: Api) -> None:
    answer = await api.send("GET", "/api/v1/pods/one")
    assert answer.code == 404


@behaviour
async def a_trailing_slash_changes_nothing(api: Api) -> None:
    answer = await api.send("GET", f"{api.path(PODS)}/")
    assert answer.code == 200


@behaviour
async def two_slashes(api: Api) -> None:
    answer = await api.send("GET", f"/api/v1//namespaces/{api.namespace}/pods")
    assert answer.code == 404


@behaviour
async def a_verb_that_a_path_does_not_have(api: Api) -> None:
    answer = await api.send("PUT", api.path(PODS), pod())
    assert (answer.code, answer.reason) == (405, "MethodNotAllowed")


@behaviour(differs="methods")
async def a_verb_that_nobody_knows(api: Api) -> None:
    answer = await api.send("TURN", api.path(PODS))
    assert answer.code == 405


@behaviour
async def a_post_to_one_object(api: Api) -> None:
    answer = await api.send("POST", api.path(NODES, "x"), {})
    assert answer.code == 405


@behaviour
async def a_post_to_a_status(api: Api) -> None:
    await api.create(pod())
    answer = await api.send("POST", api.path(PODS, "pod", "status"), pod())
    assert answer.code == 405


@behaviour
async def an_answer_in_a_language_that_is_not_spoken(api: Api) -> None:
    answer = await api.send("GET", api.path(PODS), accept="image/png")
    assert answer.code == 406


@behaviour
async def anything_is_accepted_as_json(api: Api) -> None:
    for accept in ("*/*", "application/*", ""):
        answer = await api.send("GET", api.path(PODS), accept=accept)
        assert answer.content_type == "application/json"


@behaviour
async def the_best_of_two_qualities(api: Api) -> None:
    answer = await api.send("GET", f"{api.path(PODS)}/missing", accept="application/json;q=0.5,application/json")
    assert answer.content_type == "application/json"


@behaviour
async def a_body_in_a_language_that_is_not_spoken(api: Api) -> None:
    answer = await api.send("POST", api.path(PODS), b"<pod/>", content_type="application/xml")
    assert answer.code == 415


@behaviour
async def an_update_in_a_language_that_is_not_spoken(api: Api) -> None:
    await api.create(config_map())
    answer = await api.send("PUT", api.path(CONFIG_MAPS, "map"), config_map(), content_type="text/plain")
    assert answer.code == 415


@behaviour
async def a_huge_update(api: Api) -> None:
    await api.create(config_map())
    answer = await api.replace(config_map(a="x" * (3 << 20)))
    assert answer.code == 413


@behaviour
async def a_huge_patch(api: Api) -> None:
    await api.create(config_map())
    answer = await api.merge(CONFIG_MAPS, "map", {"data": {"a": "x" * (3 << 20)}})
    assert answer.code == 413


@behaviour
async def a_huge_deletion(api: Api) -> None:
    await api.create(config_map())
    answer = await api.send("DELETE", api.path(CONFIG_MAPS, "map"), b'{"a":"' + b"x" * (3 << 20) + b'"}')
    assert answer.code == 413


@behaviour
async def a_body_that_is_no_text(api: Api) -> None:
    answer = await api.send("POST", api.path(CONFIG_MAPS), b"\xff\xfe\x00")
    assert answer.code == 400


@behaviour
async def a_body_with_something_after_it(api: Api) -> None:
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"map"}} trailing'
    answer = await api.send("POST", api.path(CONFIG_MAPS), body)
    assert answer.code == 400


@behaviour
async def a_percent_sign_in_a_path(api: Api) -> None:
    answer = await api.send("GET", f"{api.path(PODS)}/a%20b")
    assert answer.code == 404


@behaviour
async def a_head_is_no_get(api: Api) -> None:
    answer = await api.send("HEAD", api.path(PODS))
    assert answer.code == 405


@behaviour
async def options_are_not_asked_for(api: Api) -> None:
    answer = await api.send("OPTIONS", api.path(PODS))
    assert answer.code == 405
