"""POST: names, bodies that cannot be read, strictness about unknown fields, dry runs."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import config_map, namespace, node, secret, with_meta

from kubedyno.kube.resources import CONFIG_MAPS, NAMESPACES, PODS

YAML = "application/yaml"
MEBIBYTE = 1 << 20


@behaviour
async def a_second_object_of_a_name_is_refused(api: Api) -> None:
    await api.create(config_map())
    answer = await api.create(config_map())
    assert (answer.code, answer.reason) == (409, "AlreadyExists")


@behaviour
async def metadata_are_filled_in(api: Api) -> None:
    answer = await api.create(config_map(a="1"))
    assert answer.code == 201
    assert {"uid", "resourceVersion", "creationTimestamp", "namespace", "managedFields"} <= answer.meta.keys()


@behaviour
async def metadata_that_only_the_server_sets_are_ignored(api: Api) -> None:
    given = {
        "uid": "11111111-1111-4111-8111-111111111111",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 7,
        "selfLink": "/somewhere",
        "generation": 12,
    }
    answer = await api.create(with_meta(config_map(), **given))
    assert answer.code == 201
    assert "deletionTimestamp" not in answer.meta


@behaviour
async def a_version_in_a_new_object_is_refused(api: Api) -> None:
    answer = await api.create(with_meta(config_map(), resourceVersion="5"))
    assert answer.code == 500


@behaviour
async def a_generated_name_has_five_more_letters(api: Api) -> None:
    body = config_map()
    body["metadata"] = {"generateName": "made-"}
    answer = await api.create(body)
    assert answer.code == 201
    assert len(answer.meta["name"]) == len("made-") + 5


@behaviour
async def a_name_is_preferred_to_a_generated_one(api: Api) -> None:
    answer = await api.create(with_meta(config_map("mine"), generateName="made-"))
    assert answer.meta["name"] == "mine"


@behaviour
async def a_long_generated_name_is_cut(api: Api) -> None:
    body = config_map()
    body["metadata"] = {"generateName": "a" * 70}
    answer = await api.create(body)
    assert answer.code == 201
    api.note("length", len(answer.meta["name"]))
    assert len(answer.meta["name"]) == 63


@behaviour
async def an_object_needs_a_name(api: Api) -> None:
    body = config_map()
    body["metadata"] = {}
    answer = await api.create(body)
    assert answer.code == 422
    assert answer.causes == ["metadata.name"]


@behaviour
async def an_object_needs_metadata(api: Api) -> None:
    body = config_map()
    del body["metadata"]
    answer = await api.create(body)
    assert answer.code == 422


@behaviour
async def upper_case_names_are_refused(api: Api) -> None:
    answer = await api.create(config_map("Upper_Case"))
    assert answer.code == 422


@behaviour
async def names_longer_than_253_are_refused(api: Api) -> None:
    answer = await api.create(config_map("a" * 254))
    assert answer.code == 422


@behaviour
async def namespaces_have_names_of_63_at_most(api: Api) -> None:
    answer = await api.create(namespace(api.own("a" * 64)))
    assert answer.causes == ["metadata.name", "metadata.labels"]


@behaviour
async def a_bad_generated_name_is_told_of(api: Api) -> None:
    body = config_map()
    body["metadata"] = {"generateName": "Bad_"}
    answer = await api.create(body, recorded=False)
    api.note("fields", answer.causes)
    assert answer.causes == ["metadata.generateName", "metadata.name"]


@behaviour
async def labels_and_annotations_are_checked(api: Api) -> None:
    for bad in ({"bad key!": "x"}, {"a/b/c": "x"}, {"ok": "bad value!"}, {"Upper.Example/a": "x"}):
        assert (await api.create(with_meta(config_map(), labels=bad))).causes == ["metadata.labels"]
    answer = await api.create(with_meta(config_map(), annotations={"bad key!": "x"}))
    assert answer.causes == ["metadata.annotations"]


@behaviour
async def annotations_have_a_total_size(api: Api) -> None:
    answer = await api.create(with_meta(config_map(), annotations={"a": "x" * (256 * 1024)}))
    assert answer.causes == ["metadata.annotations"]


@behaviour
async def the_namespace_of_the_body_must_be_that_of_the_path(api: Api) -> None:
    answer = await api.create(with_meta(config_map(), namespace="default"))
    assert answer.code == 400


@behaviour
async def a_namespace_that_is_not_there_is_told_of(api: Api) -> None:
    answer = await api.create(config_map(), namespace=api.own("missing"))
    assert (answer.code, answer.reason) == (404, "NotFound")
    assert answer["details"]["kind"] == "namespaces"


@behaviour
async def nothing_is_created_in_a_terminating_namespace(api: Api) -> None:
    name = api.own("ending")
    await api.create(namespace(name))
    await api.create(with_meta(config_map(), finalizers=["example.com/stay"]), namespace=name)
    await api.send("DELETE", api.path(NAMESPACES, name), recorded=False)
    answer = await api.create(config_map("late"), namespace=name)
    assert (answer.code, answer.reason) == (403, "Forbidden")
    assert answer["details"]["causes"][0]["reason"] == "NamespaceTerminating"


@behaviour
async def creating_a_namespaced_object_without_a_namespace_is_not_allowed(api: Api) -> None:
    answer = await api.create(config_map(), namespace="")
    assert answer.code == 405


@behaviour
async def creating_at_the_path_of_an_object_is_not_allowed(api: Api) -> None:
    answer = await api.send("POST", api.path(CONFIG_MAPS, "map"), config_map())
    assert answer.code == 405


@behaviour
async def a_dry_run_is_answered_and_not_stored(api: Api) -> None:
    answer = await api.create(config_map(a="1"), dryRun="All")
    assert answer.code == 201
    assert "resourceVersion" not in answer.meta
    assert (await api.get(CONFIG_MAPS, "map")).code == 404


@behaviour
async def a_dry_run_of_what_exists_is_refused(api: Api) -> None:
    await api.create(config_map())
    answer = await api.create(config_map(), dryRun="All")
    assert answer.code == 409


@behaviour
async def another_value_of_dry_run_is_refused(api: Api) -> None:
    answer = await api.create(config_map(), dryRun="Some")
    assert answer.code == 422


@behaviour
async def a_field_manager_has_a_length(api: Api) -> None:
    answer = await api.create(config_map(), fieldManager="m" * 129)
    assert answer.code == 422


@behaviour
async def a_field_manager_is_printable(api: Api) -> None:
    answer = await api.create(config_map(), fieldManager="a\tb")
    assert answer.code == 422


@behaviour
async def a_field_manager_is_recorded(api: Api) -> None:
    answer = await api.create(config_map(a="1"), fieldManager="alice")
    assert [entry["manager"] for entry in answer.meta["managedFields"]] == ["alice"]


@behaviour
async def a_config_map_holds_one_mebibyte(api: Api) -> None:
    answer = await api.create(config_map(a="x" * (MEBIBYTE + 1)))
    assert answer.code == 422


@behaviour
async def keys_of_a_config_map_are_checked_over_both_parts(api: Api) -> None:
    answer = await api.create({**config_map(same="1"), "binaryData": {"same": "AA==", "not good": "AA=="}})
    assert answer.code == 422


@behaviour
async def string_data_of_a_secret_become_data(api: Api) -> None:
    answer = await api.create({**secret(a="new", b="2"), "data": {"a": "b2xk"}})
    assert answer["data"] == {"a": "bmV3", "b": "Mg=="}
    assert "stringData" not in answer.body


@behaviour
async def a_secret_of_a_known_type_needs_its_keys(api: Api) -> None:
    answer = await api.create({**secret(a="1"), "type": "kubernetes.io/tls"})
    assert answer.code == 422


@behaviour
async def a_node_needs_no_spec(api: Api) -> None:
    answer = await api.create(node(api.own("node")), dryRun="All")
    assert answer.code == 201


@behaviour
async def pretty_answers_are_the_same_objects(api: Api) -> None:
    answer = await api.create(config_map(a="1"), pretty="true")
    assert answer.code == 201


@behaviour
async def annotations_survive_as_they_are(api: Api) -> None:
    odd = {"example.com/odd": 'quotes " and \u2028 and <html> & \U0001f600\n\ttab'}
    answer = await api.create(with_meta(config_map(), annotations=odd))
    assert answer.meta["annotations"] == odd
    assert (await api.get(CONFIG_MAPS, "map")).meta["annotations"] == odd


@behaviour
async def empty_maps_and_lists_are_left_out(api: Api) -> None:
    answer = await api.create(with_meta({**config_map(), "data": {}}, labels={}, finalizers=[], annotations=None))
    assert answer.code == 201
    assert "labels" not in answer.meta
    assert "data" not in answer.body


@behaviour
async def a_name_with_a_slash_is_quoted_in_the_path(api: Api) -> None:
    answer = await api.send("GET", f"{api.path(PODS)}/a%2Fb")
    assert answer.code == 404


@behaviour
async def cluster_wide_objects_ignore_a_namespace_in_the_body(api: Api) -> None:
    answer = await api.create(with_meta(node(api.own("node")), namespace="default"), dryRun="All")
    assert answer.code == 201
    assert "namespace" not in answer.meta
