"""GET of one object: what is not found, and how; versions asked for."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import config_map, pod

from kubedyno.kube.resources import CONFIG_MAPS, NODES, PODS


@behaviour
async def an_object_that_is_not_there(api: Api) -> None:
    answer = await api.get(PODS, "missing")
    assert (answer.code, answer.reason) == (404, "NotFound")


@behaviour
async def an_object_of_a_group_that_is_not_there_is_named_with_its_group(api: Api) -> None:
    answer = await api.send("GET", f"/apis/apps/v1/namespaces/{api.namespace}/deployments/missing")
    assert answer["details"]["group"] == "apps"


@behaviour
async def a_cluster_wide_object_that_is_not_there(api: Api) -> None:
    answer = await api.get(NODES, api.own("missing"))
    assert answer.code == 404


@behaviour
async def an_object_of_a_namespace_that_is_not_there(api: Api) -> None:
    answer = await api.send("GET", f"/api/v1/namespaces/{api.own('none')}/pods/missing")
    assert answer.message == 'pods "missing" not found'


@behaviour
async def a_resource_that_nobody_serves(api: Api) -> None:
    answer = await api.send("GET", f"/api/v1/namespaces/{api.namespace}/nothings")
    assert answer.code == 404


@behaviour
async def a_group_that_nobody_serves(api: Api) -> None:
    answer = await api.send("GET", "/apis/nobody.example.com/v1/things")
    assert answer.code == 404
    assert answer.body == "404 page not found\n"


@behaviour
async def a_version_of_a_group_that_nobody_serves(api: Api) -> None:
    answer = await api.send("GET", "/apis/apps/v1beta9/deployments")
    assert answer.code == 404


@behaviour
async def a_subresource_that_nobody_serves(api: Api) -> None:
    await api.create(pod())
    answer = await api.get(PODS, "pod", "nothing")
    assert answer.code == 404


@behaviour
async def the_status_of_a_kind_without_one(api: Api) -> None:
    await api.create(config_map())
    answer = await api.get(CONFIG_MAPS, "map", "status")
    assert answer.code == 404


@behaviour
async def at_any_version_the_cache_answers(api: Api) -> None:
    made = await api.create(config_map(a="1"))
    await api.send("GET", api.path(CONFIG_MAPS), resourceVersion=made.version, recorded=False)
    answer = await api.get(CONFIG_MAPS, "map", resourceVersion=0)
    assert answer.body == made.body


@behaviour
async def at_least_at_a_version_that_was_written(api: Api) -> None:
    made = await api.create(config_map(a="1"))
    answer = await api.get(CONFIG_MAPS, "map", resourceVersion=made.version)
    assert answer.body == made.body


@behaviour
async def a_version_that_is_no_number(api: Api) -> None:
    await api.create(config_map())
    answer = await api.get(CONFIG_MAPS, "map", resourceVersion="abc")
    assert answer.code == 500


@behaviour
async def what_is_missing_at_any_version_is_not_found(api: Api) -> None:
    answer = await api.get(CONFIG_MAPS, "missing", resourceVersion=0)
    assert answer.code == 404


@behaviour
async def an_older_version_gives_the_newest(api: Api) -> None:
    made = await api.create(config_map(a="1"))
    changed = await api.merge(CONFIG_MAPS, "map", {"data": {"a": "2"}})
    await api.send("GET", api.path(CONFIG_MAPS), resourceVersion=changed.version, recorded=False)
    answer = await api.get(CONFIG_MAPS, "map", resourceVersion=made.version)
    assert answer["data"] == {"a": "2"}


@behaviour
async def unknown_parameters_are_ignored(api: Api) -> None:
    await api.create(config_map())
    answer = await api.get(CONFIG_MAPS, "map", colour="red")
    assert answer.code == 200


@behaviour
async def yaml_if_asked(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.get(CONFIG_MAPS, "map", accept="application/yaml", recorded=False)
    assert answer.code == 200
    assert answer.content_type == "application/yaml"
    api.note("first line", answer.body.splitlines()[0])


@behaviour
async def the_first_type_accepted_that_can_be_served(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.get(CONFIG_MAPS, "map", accept="text/html,application/json;q=0.9")
    assert answer.content_type == "application/json"


@behaviour
async def nothing_that_is_accepted_can_be_served(api: Api) -> None:
    await api.create(config_map())
    answer = await api.get(CONFIG_MAPS, "map", accept="text/html")
    assert (answer.code, answer.reason) == (406, "NotAcceptable")


@behaviour
async def a_log_of_a_pod_that_runs_nowhere(api: Api) -> None:
    await api.create(pod())
    answer = await api.get(PODS, "pod", "log")
    assert answer.code == 204
