"""PATCH in three languages: JSON operations, merge, strategic merge."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import config_map, container, pod, with_meta

from kubedyno.kube.resources import CONFIG_MAPS, PODS

IMAGE = "registry.example/app:2"


@behaviour
async def a_merge_sets_and_removes(api: Api) -> None:
    await api.create(config_map(a="1", b="2"))
    answer = await api.merge(CONFIG_MAPS, "map", {"data": {"a": None, "c": "3"}})
    assert answer["data"] == {"b": "2", "c": "3"}


@behaviour
async def a_merge_replaces_lists(api: Api) -> None:
    await api.create(pod(tolerations=[{"key": "a", "operator": "Exists"}]))
    answer = await api.merge(PODS, "pod", {"metadata": {"finalizers": ["example.com/a"]}})
    again = await api.merge(PODS, "pod", {"metadata": {"finalizers": ["example.com/b"]}})
    assert (answer.meta["finalizers"], again.meta["finalizers"]) == (["example.com/a"], ["example.com/b"])


@behaviour
async def a_merge_that_removes_the_whole_map(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.merge(CONFIG_MAPS, "map", {"data": None})
    assert "data" not in answer.body


@behaviour
async def an_empty_merge_changes_nothing(api: Api) -> None:
    made = await api.create(config_map(a="1"))
    answer = await api.merge(CONFIG_MAPS, "map", {})
    assert answer.version == made.version


@behaviour
async def a_merge_with_an_old_version_conflicts(api: Api) -> None:
    made = await api.create(config_map(a="1"))
    await api.merge(CONFIG_MAPS, "map", {"data": {"a": "2"}})
    patch = {"metadata": {"resourceVersion": made.version}, "data": {"a": "3"}}
    answer = await api.merge(CONFIG_MAPS, "map", patch)
    assert (answer.code, answer.reason) == (409, "Conflict")


@behaviour
async def a_merge_may_not_change_the_uid(api: Api) -> None:
    await api.create(config_map())
    answer = await api.merge(CONFIG_MAPS, "map", {"metadata": {"uid": "11111111-1111-4111-8111-111111111111"}})
    assert answer.code == 422


@behaviour
async def a_merge_may_not_rename(api: Api) -> None:
    await api.create(config_map())
    answer = await api.merge(CONFIG_MAPS, "map", {"metadata": {"name": "other"}})
    assert answer.code == 400


@behaviour
async def a_merge_may_not_move(api: Api) -> None:
    await api.create(config_map())
    answer = await api.merge(CONFIG_MAPS, "map", {"metadata": {"namespace": "default"}})
    assert answer.code == 400


@behaviour
async def a_merge_may_not_change_the_kind(api: Api) -> None:
    await api.create(config_map())
    answer = await api.merge(CONFIG_MAPS, "map", {"kind": "Secret"})
    assert answer.code == 422


@behaviour
async def a_merge_that_is_no_object_is_refused(api: Api) -> None:
    await api.create(config_map())
    answer = await api.merge(CONFIG_MAPS, "map", b"[1]")
    assert answer.code == 400


@behaviour
async def a_merge_that_is_no_json_is_refused(api: Api) -> None:
    await api.create(config_map())
    answer = await api.merge(CONFIG_MAPS, "map", b"{")
    assert answer.code == 400


@behaviour
async def a_merge_into_the_wrong_type_is_refused(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.merge(CONFIG_MAPS, "map", {"data": {"a": 1}})
    assert answer.code == 422


@behaviour
async def a_merge_of_unknown_fields_warns(api: Api) -> None:
    await api.create(config_map())
    answer = await api.merge(CONFIG_MAPS, "map", {"colour": "red"})
    assert answer.warnings


@behaviour
async def a_merge_of_unknown_fields_is_refused_if_asked(api: Api) -> None:
    await api.create(config_map())
    answer = await api.merge(CONFIG_MAPS, "map", {"colour": "red"}, fieldValidation="Strict")
    assert answer.code == 422


@behaviour
async def a_merge_of_what_is_not_there_is_not_found(api: Api) -> None:
    answer = await api.merge(CONFIG_MAPS, "missing", {"data": {"a": "1"}})
    assert answer.code == 404


@behaviour
async def a_merge_that_makes_the_object_invalid_is_refused(api: Api) -> None:
    await api.create(pod())
    answer = await api.merge(PODS, "pod", {"spec": {"containers": None}})
    assert answer.code == 422


@behaviour
async def a_dry_merge_is_answered_and_not_stored(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.merge(CONFIG_MAPS, "map", {"data": {"a": "2"}}, dryRun="All")
    assert answer["data"] == {"a": "2"}
    assert (await api.get(CONFIG_MAPS, "map"))["data"] == {"a": "1"}


@behaviour
async def metadata_of_the_server_are_out_of_reach(api: Api) -> None:
    made = await api.create(config_map())
    patch = {"metadata": {"creationTimestamp": None, "generation": 9, "selfLink": "/x"}}
    answer = await api.merge(CONFIG_MAPS, "map", patch)
    assert answer.meta["creationTimestamp"] == made.meta["creationTimestamp"]


@behaviour
async def managed_fields_can_be_wiped(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.merge(CONFIG_MAPS, "map", {"metadata": {"managedFields": [{}]}})
    assert answer.code == 200
    assert "managedFields" not in answer.meta


@behaviour
async def managed_fields_can_not_be_forgotten_by_null(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.merge(CONFIG_MAPS, "map", {"metadata": {"managedFields": None}})
    assert answer.meta["managedFields"]


@behaviour
async def operations_add_replace_and_remove(api: Api) -> None:
    await api.create(config_map(a="1", b="2"))
    answer = await api.operate(
        CONFIG_MAPS,
        "map",
        {"op": "add", "path": "/data/c", "value": "3"},
        {"op": "replace", "path": "/data/a", "value": "9"},
        {"op": "remove", "path": "/data/b"},
    )
    assert answer["data"] == {"a": "9", "c": "3"}


@behaviour
async def operations_copy_and_move(api: Api) -> None:
    await api.create(config_map(a="1", b="2"))
    answer = await api.operate(
        CONFIG_MAPS,
        "map",
        {"op": "copy", "from": "/data/a", "path": "/data/c"},
        {"op": "move", "from": "/data/b", "path": "/data/d"},
    )
    assert answer["data"] == {"a": "1", "c": "1", "d": "2"}


@behaviour
async def a_test_that_holds_lets_the_rest_pass(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.operate(
        CONFIG_MAPS,
        "map",
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "2"},
    )
    assert answer["data"] == {"a": "2"}


@behaviour
async def a_test_that_fails_refuses_the_patch(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.operate(CONFIG_MAPS, "map", {"op": "test", "path": "/data/a", "value": "2"})
    assert answer.code == 422
    assert (await api.get(CONFIG_MAPS, "map"))["data"] == {"a": "1"}


@behaviour
async def what_is_not_there_cannot_be_removed(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.operate(CONFIG_MAPS, "map", {"op": "remove", "path": "/data/z"})
    assert answer.code == 422


@behaviour
async def what_is_not_there_in_a_map_is_added_by_a_replacement(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.operate(CONFIG_MAPS, "map", {"op": "replace", "path": "/data/z", "value": "1"})
    assert answer["data"] == {"a": "1", "z": "1"}


@behaviour
async def nothing_is_added_below_what_is_not_there(api: Api) -> None:
    await api.create(config_map())
    answer = await api.operate(CONFIG_MAPS, "map", {"op": "add", "path": "/data/z", "value": "1"})
    assert answer.code == 422


@behaviour
async def an_operation_that_nobody_knows_is_refused(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.operate(CONFIG_MAPS, "map", {"op": "turn", "path": "/data/a"})
    assert answer.code == 422


@behaviour
async def operations_that_are_no_list_are_refused(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.patch("json", CONFIG_MAPS, "map", {"op": "remove", "path": "/data/a"})
    assert answer.code == 400


@behaviour
async def operations_insert_into_lists(api: Api) -> None:
    await api.create(with_meta(config_map(), finalizers=["example.com/b"]))
    answer = await api.operate(
        CONFIG_MAPS,
        "map",
        {"op": "add", "path": "/metadata/finalizers/0", "value": "example.com/a"},
        {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/c"},
    )
    assert answer.meta["finalizers"] == ["example.com/a", "example.com/b", "example.com/c"]


@behaviour
async def slashes_in_keys_are_escaped(api: Api) -> None:
    await api.create(with_meta(config_map(), labels={"example.com/a": "1"}))
    answer = await api.operate(
        CONFIG_MAPS, "map", {"op": "replace", "path": "/metadata/labels/example.com~1a", "value": "2"}
    )
    assert answer.meta["labels"] == {"example.com/a": "2"}


@behaviour
async def too_many_operations_are_refused(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.operate(CONFIG_MAPS, "map", *[{"op": "test", "path": "/data/a", "value": "1"}] * 10_001)
    assert answer.code == 413


@behaviour
async def a_patch_of_the_status_leaves_the_spec(api: Api) -> None:
    await api.create(pod())
    patch = {"spec": {"activeDeadlineSeconds": 5}, "status": {"phase": "Running"}}
    answer = await api.strategic(PODS, "pod", patch, "status")
    assert answer["status"]["phase"] == "Running"
    assert "activeDeadlineSeconds" not in answer["spec"]


@behaviour
async def a_patch_of_the_spec_leaves_the_status(api: Api) -> None:
    await api.create(pod())
    answer = await api.strategic(PODS, "pod", {"status": {"phase": "Running"}})
    assert answer["status"]["phase"] == "Pending"


@behaviour
async def the_image_of_a_pod_by_each_language(api: Api) -> None:
    await api.create(pod())
    for number, answer in enumerate(
        (
            await api.operate(PODS, "pod", {"op": "replace", "path": "/spec/containers/0/image", "value": "i:0"}),
            await api.merge(PODS, "pod", {"spec": {"containers": [container(image="i:1")]}}),
            await api.strategic(PODS, "pod", {"spec": {"containers": [{"name": "main", "image": "i:2"}]}}),
        )
    ):
        assert answer["spec"]["containers"][0]["image"] == f"i:{number}"


@behaviour
async def another_content_type_is_refused(api: Api) -> None:
    await api.create(config_map())
    answer = await api.send("PATCH", api.path(CONFIG_MAPS, "map"), {}, content_type="application/json")
    assert answer.code == 415


@behaviour
async def a_collection_cannot_be_patched(api: Api) -> None:
    answer = await api.send("PATCH", api.path(CONFIG_MAPS), {}, content_type="application/merge-patch+json")
    assert answer.code == 405


@behaviour
async def force_is_for_apply_alone(api: Api) -> None:
    await api.create(config_map())
    answer = await api.merge(CONFIG_MAPS, "map", {"data": {"a": "1"}}, force="true")
    assert answer.code == 422


@behaviour
async def a_manager_is_recorded_for_what_it_patched(api: Api) -> None:
    await api.create(config_map(a="1"), fieldManager="alice")
    answer = await api.merge(CONFIG_MAPS, "map", {"data": {"b": "2"}}, fieldManager="bob")
    assert sorted(entry["manager"] for entry in answer.meta["managedFields"]) == ["alice", "bob"]


@behaviour
async def a_patch_takes_a_field_from_its_manager(api: Api) -> None:
    await api.create(config_map(a="1"), fieldManager="alice")
    answer = await api.merge(CONFIG_MAPS, "map", {"data": {"a": "2"}}, fieldManager="bob")
    assert answer.code == 200
