"""PUT: conflicts, what cannot change, what the status endpoint keeps apart, generations."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import config_map, container, edited, job, lease, of, pod, secret, service, with_meta

from kubedyno.kube.resources import CONFIG_MAPS, JOBS, LEASES, PODS


@behaviour
async def a_stale_update_conflicts(api: Api) -> None:
    made = await api.create(config_map(a="1"))
    await api.merge(CONFIG_MAPS, "map", {"data": {"a": "2"}})
    answer = await api.replace(made.body)
    assert (answer.code, answer.reason) == (409, "Conflict")


@behaviour
async def an_update_without_a_version_overwrites(api: Api) -> None:
    await api.create(config_map(a="1"))
    answer = await api.replace(config_map(b="2"))
    assert answer.code == 200
    assert answer["data"] == {"b": "2"}


@behaviour
async def an_update_that_changes_nothing_keeps_the_version(api: Api) -> None:
    made = await api.create(config_map(a="1"))
    answer = await api.replace(made.body)
    assert answer.version == made.version


@behaviour
async def an_update_by_another_manager_of_the_same_data_changes_the_version_not(api: Api) -> None:
    made = await api.create(config_map(a="1"))
    answer = await api.replace(made.body, fieldManager="somebody-else")
    assert answer.code == 200


@behaviour
async def an_update_may_not_create_a_config_map(api: Api) -> None:
    answer = await api.replace(config_map(a="1"))
    assert (answer.code, answer.reason) == (404, "NotFound")


@behaviour
async def an_update_may_create_a_lease(api: Api) -> None:
    answer = await api.replace(lease(holderIdentity="me"))
    assert answer.code == 201


@behaviour
async def an_update_with_a_uid_of_nobody_that_would_create_conflicts(api: Api) -> None:
    answer = await api.replace(with_meta(lease(), uid="11111111-1111-4111-8111-111111111111"))
    assert answer.code == 409


@behaviour
async def an_update_with_another_uid_conflicts(api: Api) -> None:
    made = await api.create(config_map())
    answer = await api.replace(edited(made.body, "metadata/uid", "11111111-1111-4111-8111-111111111111"))
    assert answer.code == 409


@behaviour
async def the_name_in_the_body_must_be_that_of_the_path(api: Api) -> None:
    await api.create(config_map())
    answer = await api.replace(config_map("other"), name="map")
    assert (answer.code, answer.reason) == (400, "BadRequest")


@behaviour
async def the_namespace_in_the_body_must_be_that_of_the_path(api: Api) -> None:
    await api.create(config_map())
    answer = await api.replace(with_meta(config_map(), namespace="default"))
    assert answer.code == 400


@behaviour
async def a_body_needs_a_name_although_the_path_has_one(api: Api) -> None:
    await api.create(config_map())
    body = config_map(a="1")
    del body["metadata"]["name"]
    answer = await api.send("PUT", api.path(CONFIG_MAPS, "map"), body)
    assert answer.code == 400


@behaviour
async def a_version_that_is_no_number_is_refused(api: Api) -> None:
    await api.create(config_map())
    answer = await api.replace(with_meta(config_map(), resourceVersion="abc"))
    assert answer.code == 500


@behaviour
async def the_creation_time_and_uid_are_kept_whatever_the_body_says(api: Api) -> None:
    made = await api.create(config_map())
    answer = await api.replace(with_meta(config_map(), creationTimestamp="2001-01-01T00:00:00Z"))
    assert answer.meta["creationTimestamp"] == made.meta["creationTimestamp"]
    assert answer.meta["uid"] == made.meta["uid"]


@behaviour
async def generate_name_can_be_changed_later(api: Api) -> None:
    await api.create(config_map())
    answer = await api.replace(with_meta(config_map(), generateName="other-"))
    assert answer.code == 200


@behaviour
async def an_immutable_config_map_stays_as_it_is(api: Api) -> None:
    await api.create({**config_map(a="1"), "immutable": True})
    data = await api.replace({**config_map(a="2"), "immutable": True})
    assert data.code == 422
    flag = await api.replace({**config_map(a="1"), "immutable": False})
    assert flag.causes == ["immutable"]


@behaviour
async def the_type_of_a_secret_cannot_change(api: Api) -> None:
    await api.create({**secret(a="1"), "type": "Opaque"})
    answer = await api.replace({**secret(a="1"), "type": "example.com/other"})
    assert answer.causes == ["type"]


@behaviour
async def containers_of_a_pod_cannot_be_added(api: Api) -> None:
    made = await api.create(pod())
    answer = await api.replace(edited(made.body, "spec/containers", [*made["spec"]["containers"], container("second")]))
    assert (answer.code, answer.reason) == (422, "Invalid")


@behaviour
async def the_image_of_a_container_can_change_and_counts_a_generation(api: Api) -> None:
    made = await api.create(pod())
    answer = await api.replace(edited(made.body, "spec/containers/0/image", "registry.example/app:2"))
    assert answer.code == 200
    assert answer.meta["generation"] == made.meta["generation"] + 1


@behaviour
async def an_image_cannot_become_empty(api: Api) -> None:
    made = await api.create(pod())
    answer = await api.replace(edited(made.body, "spec/containers/0/image", ""))
    assert answer.code == 422


@behaviour
async def resources_of_a_pod_cannot_change(api: Api) -> None:
    made = await api.create(pod())
    answer = await api.replace(edited(made.body, "spec/containers/0/resources", {"requests": {"cpu": "1"}}))
    assert answer.code == 422


@behaviour
async def a_node_name_cannot_be_written_by_an_update(api: Api) -> None:
    made = await api.create(pod())
    answer = await api.replace(edited(made.body, "spec/nodeName", "somewhere"))
    assert answer.code == 422


@behaviour
async def the_scheduler_of_a_pod_cannot_change(api: Api) -> None:
    made = await api.create(pod())
    answer = await api.replace(edited(made.body, "spec/schedulerName", "other"))
    assert answer.code == 422


@behaviour
async def the_priority_of_a_pod_cannot_change(api: Api) -> None:
    made = await api.create(pod())
    answer = await api.replace(edited(made.body, "spec/priority", 7))
    assert answer.code == 422


@behaviour
async def tolerations_can_be_added_and_not_removed(api: Api) -> None:
    made = await api.create(pod(tolerations=[{"key": "a", "operator": "Exists"}]))
    more = [*made["spec"]["tolerations"], {"key": "b", "operator": "Exists"}]
    added = await api.replace(edited(made.body, "spec/tolerations", more))
    assert added.code == 200
    removed = await api.replace(edited(added.body, "spec/tolerations", more[1:]))
    assert removed.code == 422


@behaviour
async def an_active_deadline_can_only_become_shorter(api: Api) -> None:
    made = await api.create(pod(activeDeadlineSeconds=100))
    shorter = await api.replace(edited(made.body, "spec/activeDeadlineSeconds", 50))
    assert shorter.code == 200
    longer = await api.replace(edited(shorter.body, "spec/activeDeadlineSeconds", 70))
    assert longer.causes == ["spec.activeDeadlineSeconds"]


@behaviour
async def scheduling_gates_can_be_removed_and_not_added(api: Api) -> None:
    gates = [{"name": "example.com/a"}, {"name": "example.com/b"}]
    made = await api.create(pod(schedulingGates=gates))
    removed = await api.replace(edited(made.body, "spec/schedulingGates", gates[:1]))
    assert removed.code == 200
    added = await api.replace(edited(removed.body, "spec/schedulingGates", gates))
    assert added.code == 422


@behaviour
async def a_gated_pod_may_get_a_stricter_node_selector(api: Api) -> None:
    made = await api.create(pod(schedulingGates=[{"name": "example.com/a"}], nodeSelector={"a": "1"}))
    stricter = await api.replace(edited(made.body, "spec/nodeSelector", {"a": "1", "b": "2"}))
    assert stricter.code == 200
    looser = await api.replace(edited(stricter.body, "spec/nodeSelector", {"b": "2"}))
    assert looser.code == 422


@behaviour
async def labels_of_a_pod_change_without_a_new_generation(api: Api) -> None:
    made = await api.create(pod())
    answer = await api.replace(edited(made.body, "metadata/labels", {"a": "1"}))
    assert answer.meta["generation"] == made.meta["generation"]


@behaviour
async def an_update_of_a_pod_ignores_its_status(api: Api) -> None:
    made = await api.create(pod())
    answer = await api.replace(edited(made.body, "status", {"phase": "Running"}))
    assert answer["status"]["phase"] == "Pending"


@behaviour
async def the_status_endpoint_ignores_the_spec_and_labels(api: Api) -> None:
    made = await api.create(pod())
    body = edited(edited(made.body, "spec/containers/0/image", "registry.example/other:1"), "status/phase", "Running")
    answer = await api.replace(edited(body, "metadata/labels", {"a": "1"}), "status")
    assert answer.code == 200
    assert answer["status"]["phase"] == "Running"
    assert answer["spec"]["containers"][0]["image"] == "registry.example/app:1"


@behaviour
async def the_status_of_a_pod_is_read_as_the_pod(api: Api) -> None:
    made = await api.create(pod())
    answer = await api.get(PODS, "pod", "status")
    assert answer.body == made.body


@behaviour
async def a_stale_status_update_conflicts(api: Api) -> None:
    made = await api.create(pod())
    await api.merge(PODS, "pod", {"metadata": {"labels": {"a": "1"}}})
    answer = await api.replace(edited(made.body, "status/phase", "Running"), "status")
    assert answer.code == 409


@behaviour
async def a_config_map_has_no_status(api: Api) -> None:
    await api.create(config_map())
    answer = await api.replace(config_map(), "status")
    assert answer.code == 404


@behaviour
async def an_update_of_a_deleted_pod_is_not_found(api: Api) -> None:
    made = await api.create(pod())
    await api.delete(PODS, "pod")
    answer = await api.replace(edited(made.body, "metadata/labels", {"a": "1"}))
    assert answer.code == 404


@behaviour
async def a_dry_update_is_answered_and_not_stored(api: Api) -> None:
    made = await api.create(config_map(a="1"))
    answer = await api.replace(config_map(a="2"), dryRun="All")
    assert answer["data"] == {"a": "2"}
    assert answer.version == made.version
    assert (await api.get(CONFIG_MAPS, "map"))["data"] == {"a": "1"}


@behaviour
async def a_wrong_kind_in_an_update_is_refused(api: Api) -> None:
    await api.create(config_map())
    answer = await api.send("PUT", api.path(CONFIG_MAPS, "map"), of("v1", "Secret", "map"))
    assert answer.code == 400


@behaviour
async def finalizers_must_be_qualified_names(api: Api) -> None:
    made = await api.create(config_map())
    answer = await api.replace(edited(made.body, "metadata/finalizers", ["not qualified"]))
    assert answer.code == 422
    plain = await api.replace(edited(made.body, "metadata/finalizers", ["plain"]))
    assert plain.code == 422


@behaviour
async def two_controllers_cannot_own_one_object(api: Api) -> None:
    made = await api.create(config_map())
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "map", "uid": made.meta["uid"], "controller": True}
    other = {**owner, "uid": "11111111-1111-4111-8111-111111111111"}
    answer = await api.create(with_meta(config_map("second"), ownerReferences=[owner, other]))
    assert answer.code == 422


@behaviour
async def an_owner_needs_kind_name_and_uid(api: Api) -> None:
    answer = await api.create(with_meta(config_map(), ownerReferences=[{"apiVersion": "v1"}]))
    assert answer.code == 422


@behaviour
async def the_selector_of_a_job_cannot_change(api: Api) -> None:
    made = await api.create(job())
    answer = await api.replace(edited(made.body, "spec/selector", {"matchLabels": {"a": "1"}}))
    assert answer.code == 422


@behaviour
async def parallelism_of_a_job_can_change_and_counts_a_generation(api: Api) -> None:
    made = await api.create(job())
    answer = await api.replace(edited(made.body, "spec/parallelism", 3))
    assert answer.meta["generation"] == made.meta["generation"] + 1
    again = await api.merge(JOBS, "job", {"metadata": {"labels": {"a": "1"}}})
    assert again.meta["generation"] == answer.meta["generation"]


@behaviour
async def the_address_of_a_service_cannot_change(api: Api) -> None:
    made = await api.create(service())
    answer = await api.replace(
        edited(edited(made.body, "spec/clusterIP", "10.96.0.250"), "spec/clusterIPs", ["10.96.0.250"])
    )
    assert answer.code == 422


@behaviour
async def a_renewed_lease_gets_a_new_version(api: Api) -> None:
    made = await api.create(lease(holderIdentity="me", renewTime="2021-01-01T00:00:00.000000Z"))
    answer = await api.replace(edited(made.body, "spec/renewTime", "2021-01-01T00:00:01.000000Z"))
    assert answer.version != made.version
    assert (await api.get(LEASES, "lease"))["spec"]["renewTime"] == "2021-01-01T00:00:01.000000Z"
