"""DELETE: grace, preconditions, finalizers, propagation, collections."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import config_map, edited, job, pod, replica_set, with_meta

from kubedyno.kube.resources import CONFIG_MAPS, JOBS, PODS, REPLICA_SETS

ELSEWHERE = "11111111-1111-4111-8111-111111111111"
STAY = ["example.com/stay"]


@behaviour
async def a_config_map_goes_at_once(api: Api) -> None:
    await api.create(config_map())
    answer = await api.delete(CONFIG_MAPS, "map")
    assert (answer.code, answer["status"]) == (200, "Success")
    assert (await api.get(CONFIG_MAPS, "map")).code == 404


@behaviour
async def what_is_not_there_is_not_found(api: Api) -> None:
    answer = await api.delete(CONFIG_MAPS, "missing")
    assert answer.code == 404


@behaviour
async def a_pod_that_runs_nowhere_goes_at_once_and_is_answered(api: Api) -> None:
    await api.create(pod())
    answer = await api.delete(PODS, "pod")
    assert (answer.code, answer["kind"]) == (200, "Pod")
    assert answer.meta["deletionGracePeriodSeconds"] == 0
    assert (await api.get(PODS, "pod")).code == 404


@behaviour
async def a_pod_on_a_node_has_thirty_seconds(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    answer = await api.delete(PODS, "pod")
    assert answer.meta["deletionGracePeriodSeconds"] == 30
    assert (await api.get(PODS, "pod")).code == 200


@behaviour
async def the_grace_of_the_pod_is_taken(api: Api) -> None:
    await api.create(pod(nodeName="here", terminationGracePeriodSeconds=7))
    answer = await api.delete(PODS, "pod")
    assert answer.meta["deletionGracePeriodSeconds"] == 7


@behaviour
async def the_grace_that_is_asked_for_is_taken(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    answer = await api.delete(PODS, "pod", {"gracePeriodSeconds": 3})
    assert answer.meta["deletionGracePeriodSeconds"] == 3


@behaviour
async def grace_can_only_become_shorter(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    await api.delete(PODS, "pod", {"gracePeriodSeconds": 10})
    longer = await api.delete(PODS, "pod", {"gracePeriodSeconds": 20})
    assert longer.meta["deletionGracePeriodSeconds"] == 10
    shorter = await api.delete(PODS, "pod", {"gracePeriodSeconds": 5})
    assert shorter.meta["deletionGracePeriodSeconds"] == 5


@behaviour
async def no_grace_removes_at_once(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    answer = await api.delete(PODS, "pod", {"gracePeriodSeconds": 0})
    assert answer.code == 200
    assert (await api.get(PODS, "pod")).code == 404


@behaviour
async def negative_grace_is_taken_for_one_second(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    answer = await api.delete(PODS, "pod", {"gracePeriodSeconds": -5})
    assert answer.code == 200
    assert answer.meta["deletionGracePeriodSeconds"] == 1


@behaviour
async def grace_may_stand_in_the_query(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    answer = await api.delete(PODS, "pod", gracePeriodSeconds=4)
    assert answer.meta["deletionGracePeriodSeconds"] == 4


@behaviour
async def a_body_wins_over_the_query(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    answer = await api.delete(PODS, "pod", {"gracePeriodSeconds": 9}, gracePeriodSeconds=4)
    assert answer.meta["deletionGracePeriodSeconds"] == 9


@behaviour
async def a_finished_pod_goes_at_once(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    await api.merge(PODS, "pod", {"status": {"phase": "Succeeded"}}, "status")
    answer = await api.delete(PODS, "pod")
    assert answer.meta["deletionGracePeriodSeconds"] == 0
    assert (await api.get(PODS, "pod")).code == 404


@behaviour
async def a_finalizer_keeps_the_object(api: Api) -> None:
    await api.create(with_meta(config_map(a="1"), finalizers=STAY))
    answer = await api.delete(CONFIG_MAPS, "map")
    assert (answer.code, answer["kind"]) == (200, "ConfigMap")
    assert "deletionTimestamp" in answer.meta
    gone = await api.merge(CONFIG_MAPS, "map", {"metadata": {"finalizers": None}})
    assert gone.code == 200
    assert (await api.get(CONFIG_MAPS, "map")).code == 404


@behaviour
async def a_second_deletion_changes_nothing(api: Api) -> None:
    await api.create(with_meta(config_map(), finalizers=STAY))
    first = await api.delete(CONFIG_MAPS, "map")
    second = await api.delete(CONFIG_MAPS, "map")
    assert second.version == first.version


@behaviour
async def a_finalizer_cannot_be_added_to_what_is_being_deleted(api: Api) -> None:
    await api.create(with_meta(config_map(), finalizers=STAY))
    await api.delete(CONFIG_MAPS, "map")
    answer = await api.merge(CONFIG_MAPS, "map", {"metadata": {"finalizers": [*STAY, "example.com/more"]}})
    assert answer.code == 422


@behaviour
async def what_is_being_deleted_can_still_change(api: Api) -> None:
    await api.create(with_meta(config_map(a="1"), finalizers=STAY))
    await api.delete(CONFIG_MAPS, "map")
    answer = await api.merge(CONFIG_MAPS, "map", {"data": {"a": "2"}})
    assert answer["data"] == {"a": "2"}


@behaviour
async def a_deletion_cannot_be_taken_back(api: Api) -> None:
    await api.create(with_meta(config_map(), finalizers=STAY))
    await api.delete(CONFIG_MAPS, "map")
    answer = await api.merge(CONFIG_MAPS, "map", {"metadata": {"deletionTimestamp": None}})
    assert "deletionTimestamp" in answer.meta


@behaviour
async def a_name_that_a_finalizer_keeps_is_taken(api: Api) -> None:
    await api.create(with_meta(config_map(), finalizers=STAY))
    await api.delete(CONFIG_MAPS, "map")
    answer = await api.create(config_map())
    assert answer.code == 409
    assert answer.message.startswith("object is being deleted")


@behaviour
async def a_pod_with_grace_and_finalizer_waits_for_both(api: Api) -> None:
    await api.create(with_meta(pod(nodeName="here"), finalizers=STAY))
    await api.delete(PODS, "pod")
    forced = await api.delete(PODS, "pod", {"gracePeriodSeconds": 0})
    assert forced.meta["deletionGracePeriodSeconds"] == 0
    assert (await api.get(PODS, "pod")).code == 200
    await api.merge(PODS, "pod", {"metadata": {"finalizers": None}})
    assert (await api.get(PODS, "pod")).code == 404


@behaviour
async def removing_the_finalizer_does_not_end_the_grace(api: Api) -> None:
    await api.create(with_meta(pod(nodeName="here"), finalizers=STAY))
    await api.delete(PODS, "pod")
    await api.merge(PODS, "pod", {"metadata": {"finalizers": None}})
    assert (await api.get(PODS, "pod")).code == 200


@behaviour
async def an_update_may_remove_the_last_finalizer(api: Api) -> None:
    await api.create(with_meta(config_map(), finalizers=STAY))
    kept = await api.delete(CONFIG_MAPS, "map")
    answer = await api.replace(edited(kept.body, "metadata/finalizers", None))
    assert answer.code == 200
    assert (await api.get(CONFIG_MAPS, "map")).code == 404


@behaviour
async def another_uid_is_left_alone(api: Api) -> None:
    await api.create(config_map())
    answer = await api.delete(CONFIG_MAPS, "map", {"preconditions": {"uid": ELSEWHERE}})
    assert (answer.code, answer.reason) == (409, "Conflict")


@behaviour
async def another_version_is_left_alone(api: Api) -> None:
    made = await api.create(config_map())
    await api.merge(CONFIG_MAPS, "map", {"data": {"a": "1"}})
    answer = await api.delete(CONFIG_MAPS, "map", {"preconditions": {"resourceVersion": made.version}})
    assert answer.code == 409


@behaviour
async def preconditions_that_hold_let_it_go(api: Api) -> None:
    made = await api.create(config_map())
    options = {"preconditions": {"uid": made.meta["uid"], "resourceVersion": made.version}}
    answer = await api.delete(CONFIG_MAPS, "map", options)
    assert answer.code == 200


@behaviour
async def a_pod_of_another_uid_is_left_alone(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    answer = await api.delete(PODS, "pod", {"preconditions": {"uid": ELSEWHERE}})
    assert answer.code == 409


@behaviour
async def a_dry_deletion_is_answered_and_not_done(api: Api) -> None:
    await api.create(config_map())
    answer = await api.delete(CONFIG_MAPS, "map", {"dryRun": ["All"]})
    assert answer.code == 200
    assert (await api.get(CONFIG_MAPS, "map")).code == 200


@behaviour
async def a_dry_deletion_of_a_pod_on_a_node(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    answer = await api.delete(PODS, "pod", dryRun="All")
    assert answer.code == 200
    assert "deletionTimestamp" not in (await api.get(PODS, "pod")).meta


@behaviour
async def a_propagation_that_nobody_knows_is_refused(api: Api) -> None:
    await api.create(config_map())
    answer = await api.delete(CONFIG_MAPS, "map", {"propagationPolicy": "Sideways"})
    assert answer.code == 422


@behaviour
async def two_ways_to_say_orphan_exclude_each_other(api: Api) -> None:
    await api.create(config_map())
    answer = await api.delete(CONFIG_MAPS, "map", {"propagationPolicy": "Orphan", "orphanDependents": True})
    assert answer.code == 422


@behaviour
async def in_the_foreground_a_finalizer_keeps_the_owner(api: Api) -> None:
    await api.create(with_meta(config_map(), finalizers=STAY))
    answer = await api.delete(CONFIG_MAPS, "map", {"propagationPolicy": "Foreground"})
    assert answer.meta["finalizers"] == [*STAY, "foregroundDeletion"]


@behaviour
async def orphaning_is_a_finalizer(api: Api) -> None:
    await api.create(with_meta(config_map(), finalizers=STAY))
    answer = await api.delete(CONFIG_MAPS, "map", {"propagationPolicy": "Orphan"})
    assert answer.meta["finalizers"] == [*STAY, "orphan"]


@behaviour
async def in_the_background_finalizers_stay_as_they_are(api: Api) -> None:
    await api.create(with_meta(config_map(), finalizers=STAY))
    answer = await api.delete(CONFIG_MAPS, "map", {"propagationPolicy": "Background"})
    assert answer.meta["finalizers"] == STAY


@behaviour
async def the_policy_may_stand_in_the_query(api: Api) -> None:
    await api.create(with_meta(config_map(), finalizers=STAY))
    answer = await api.delete(CONFIG_MAPS, "map", propagationPolicy="Foreground")
    assert "foregroundDeletion" in answer.meta["finalizers"]


@behaviour
async def a_job_orphans_its_pods_unless_told_otherwise(api: Api) -> None:
    await api.create(with_meta(job(), finalizers=STAY))
    answer = await api.delete(JOBS, "job")
    assert answer.meta["finalizers"] == [*STAY, "orphan"]
    assert answer.warnings


@behaviour
async def options_of_another_kind_are_refused(api: Api) -> None:
    await api.create(config_map())
    answer = await api.send("DELETE", api.path(CONFIG_MAPS, "map"), {"kind": "Pod", "apiVersion": "v1"})
    assert answer.code == 400


@behaviour
async def options_with_unknown_fields_are_taken(api: Api) -> None:
    await api.create(config_map())
    answer = await api.send("DELETE", api.path(CONFIG_MAPS, "map"), {"colour": "red"})
    assert answer.code == 200


@behaviour
async def options_that_cannot_be_read_are_refused(api: Api) -> None:
    await api.create(config_map())
    answer = await api.send("DELETE", api.path(CONFIG_MAPS, "map"), b'{"gracePeriodSeconds":"soon"}')
    assert answer.code == 400


@behaviour
async def a_collection_goes_by_label(api: Api) -> None:
    for name in "abc":
        await api.create(with_meta(config_map(name), labels={"mine": "", "is": name}))
    answer = await api.delete_all(CONFIG_MAPS, labelSelector="is in (a,b)")
    assert answer.code == 200
    assert (await api.list(CONFIG_MAPS, labelSelector="mine")).names == ["c"]


@behaviour
async def a_collection_goes_by_field(api: Api) -> None:
    for name in "ab":
        await api.create(with_meta(config_map(name), labels={"mine": ""}))
    answer = await api.delete_all(CONFIG_MAPS, fieldSelector="metadata.name=a")
    assert answer.names == ["a"]


@behaviour
async def an_empty_collection_goes_too(api: Api) -> None:
    answer = await api.delete_all(PODS)
    assert answer["items"] == []


@behaviour
async def a_collection_of_pods_goes_with_grace(api: Api) -> None:
    for name in "ab":
        await api.create(pod(name, nodeName="here"))
    answer = await api.delete_all(PODS, {"gracePeriodSeconds": 5})
    assert answer.code == 200
    there = await api.list(PODS)
    assert [item["metadata"]["deletionGracePeriodSeconds"] for item in there["items"]] == [5, 5]


@behaviour
async def a_dry_deletion_of_a_collection(api: Api) -> None:
    await api.create(with_meta(config_map(), labels={"mine": ""}))
    answer = await api.delete_all(CONFIG_MAPS, {"dryRun": ["All"]}, labelSelector="mine")
    assert answer.code == 200
    assert (await api.list(CONFIG_MAPS, labelSelector="mine")).names == ["map"]


@behaviour
async def a_collection_with_a_bad_selector_stays(api: Api) -> None:
    answer = await api.delete_all(CONFIG_MAPS, labelSelector="a in b")
    assert answer.code == 400


@behaviour
async def a_collection_over_all_namespaces_cannot_go(api: Api) -> None:
    answer = await api.send("DELETE", "/api/v1/configmaps", labelSelector=f"of={api.namespace}")
    assert answer.code == 405


@behaviour
async def finalizers_keep_what_a_collection_held(api: Api) -> None:
    await api.create(with_meta(config_map("a"), labels={"mine": ""}, finalizers=STAY))
    await api.create(with_meta(config_map("b"), labels={"mine": ""}))
    await api.delete_all(CONFIG_MAPS, labelSelector="mine")
    there = await api.list(CONFIG_MAPS, labelSelector="mine")
    assert there.names == ["a"]


@behaviour
async def a_collection_at_a_version_is_deleted_as_it_is(api: Api) -> None:
    made = await api.create(with_meta(config_map(), labels={"mine": ""}))
    answer = await api.delete_all(CONFIG_MAPS, labelSelector="mine", resourceVersion=made.version)
    assert answer.code == 200


@behaviour(controlled=True)
async def a_deleted_replica_set_is_answered_by_its_uid(api: Api) -> None:
    made = await api.create(replica_set())
    answer = await api.delete(REPLICA_SETS, "set")
    assert answer["details"]["uid"] == made.meta["uid"]


@behaviour
async def a_missing_object_is_not_found_whatever_the_preconditions(api: Api) -> None:
    answer = await api.delete(CONFIG_MAPS, "missing", {"preconditions": {"uid": ELSEWHERE}})
    assert answer.code == 404


@behaviour
async def a_subresource_cannot_be_deleted(api: Api) -> None:
    await api.create(pod())
    answer = await api.send("DELETE", api.path(PODS, "pod", "status"))
    assert answer.code == 405


@behaviour
async def what_was_deleted_can_be_created_again_as_another(api: Api) -> None:
    first = await api.create(config_map())
    await api.delete(CONFIG_MAPS, "map")
    second = await api.create(config_map())
    assert second.code == 201
    assert second.meta["uid"] != first.meta["uid"]
