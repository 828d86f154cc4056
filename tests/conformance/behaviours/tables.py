"""Other forms of an answer: tables for people, metadata alone for controllers."""

from tests.conformance.api import Answer, Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import (
    config_map,
    container,
    deployment,
    job,
    lease,
    pod,
    priority_class,
    service,
    volume_claim,
    with_meta,
)

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CONFIG_MAPS, DEPLOYMENTS, JOBS, NAMESPACES, PODS, SERVICES, by_plural

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def undescribed(answer: Answer) -> list[Object]:
    """The columns without their documentation, which one behaviour looks at."""
    return [{key: column[key] for key in column if key != "description"} for column in answer["columnDefinitions"]]


@behaviour
async def pods_as_a_table(api: Api) -> None:
    await api.create(pod("a"))
    await api.create(pod("b", nodeName="here"))
    answer = await api.list(PODS, accept=TABLE)
    assert answer["kind"] == "Table"
    assert answer["rows"][1]["cells"][:3] == ["b", "0/1", "Pending"]


@behaviour
async def one_pod_as_a_table(api: Api) -> None:
    await api.create(pod())
    answer = await api.get(PODS, "pod", accept=TABLE)
    assert len(answer["rows"]) == 1


@behaviour
async def nothing_as_a_table(api: Api) -> None:
    answer = await api.list(PODS, accept=TABLE)
    assert answer["rows"] == []


@behaviour
async def a_running_pod_as_a_table(api: Api) -> None:
    await api.create(pod(nodeName="here", containers=[container("a"), container("b")]))
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    status = {
        "phase": "Running",
        "podIP": "10.1.2.3",
        "podIPs": [{"ip": "10.1.2.3"}],
        "containerStatuses": [
            {"name": "a", "ready": True, "restartCount": 2, "image": "i", "imageID": "", "state": {"running": {}}},
            {"name": "b", "ready": False, "restartCount": 3, "image": "i", "imageID": "", "state": waiting},
        ],
    }
    await api.merge(PODS, "pod", {"status": status}, "status")
    answer = await api.list(PODS, accept=TABLE)
    assert answer["rows"][0]["cells"][1:4] == ["1/2", "CrashLoopBackOff", "5"]


@behaviour
async def a_terminating_pod_as_a_table(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    await api.delete(PODS, "pod")
    answer = await api.list(PODS, accept=TABLE)
    assert answer["rows"][0]["cells"][2] == "Terminating"


@behaviour
async def a_gated_pod_as_a_table(api: Api) -> None:
    await api.create(pod(schedulingGates=[{"name": "example.com/wait"}]))
    answer = await api.list(PODS, accept=TABLE)
    assert answer["rows"][0]["cells"][2] == "SchedulingGated"


@behaviour
async def a_finished_pod_as_a_table(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    await api.merge(PODS, "pod", {"status": {"phase": "Failed", "reason": "Evicted"}}, "status")
    answer = await api.list(PODS, accept=TABLE)
    assert answer["rows"][0]["cells"][2] == "Evicted"


@behaviour
async def pods_of_a_table_with_whole_objects(api: Api) -> None:
    await api.create(pod())
    answer = await api.list(PODS, accept=TABLE, includeObject="Object")
    assert answer["rows"][0]["object"]["spec"]


@behaviour
async def pods_of_a_table_without_objects(api: Api) -> None:
    await api.create(pod())
    answer = await api.list(PODS, accept=TABLE, includeObject="None")
    assert answer["rows"][0]["object"] is None


@behaviour
async def an_include_that_nobody_knows_is_refused(api: Api) -> None:
    answer = await api.list(PODS, accept=TABLE, includeObject="Some")
    assert answer.code == 400


@behaviour
async def a_table_in_pages(api: Api) -> None:
    for name in "abc":
        await api.create(pod(name))
    first = await api.list(PODS, accept=TABLE, limit=2)
    assert first.meta["remainingItemCount"] == 1
    second = await api.list(PODS, accept=TABLE, limit=2, **{"continue": first.token})
    assert second["rows"][0]["cells"][0] == "c"


@behaviour
async def a_watch_as_tables_tells_the_columns_once(api: Api) -> None:
    start = (await api.list(CONFIG_MAPS, recorded=False)).version
    async with api.watch(CONFIG_MAPS, accept=TABLE, resourceVersion=start, labelSelector="mine") as watch:
        for name in "ab":
            await api.create(with_meta(config_map(name), labels={"mine": ""}))
        first, second = await watch.next(2)
    assert first.object["columnDefinitions"]
    assert not second.object["columnDefinitions"]


@behaviour
async def config_maps_as_a_table(api: Api) -> None:
    await api.create(config_map(a="1", b="2"))
    answer = await api.get(CONFIG_MAPS, "map", accept=TABLE)
    assert answer["rows"][0]["cells"][:2] == ["map", 2]


@behaviour
async def jobs_as_a_table(api: Api) -> None:
    await api.create(job(completions=3, parallelism=2))
    answer = await api.list(JOBS, accept=TABLE)
    assert answer["rows"][0]["cells"][:3] == ["job", "Running", "0/3"]


@behaviour
async def namespaces_as_a_table(api: Api) -> None:
    answer = await api.get(NAMESPACES, api.namespace, accept=TABLE)
    assert answer["rows"][0]["cells"][:2] == [api.namespace, "Active"]


@behaviour
async def services_as_a_table(api: Api) -> None:
    await api.create(service(clusterIP="None"))
    answer = await api.list(SERVICES, accept=TABLE)
    assert answer["rows"][0]["cells"][:3] == ["service", "ClusterIP", "None"]


@behaviour
async def leases_and_classes_as_tables(api: Api) -> None:
    await api.create(lease(holderIdentity="me"))
    answer = await api.list(by_plural("leases.coordination.k8s.io"), accept=TABLE)
    assert answer["rows"][0]["cells"][:2] == ["lease", "me"]
    await api.create(priority_class(api.own("high"), 7))
    classes = await api.get(by_plural("priorityclasses.scheduling.k8s.io"), api.own("high"), accept=TABLE)
    assert classes["rows"][0]["cells"][:3] == [api.own("high"), 7, False]


@behaviour
async def volume_claims_as_a_table(api: Api) -> None:
    await api.create(volume_claim())
    answer = await api.list(by_plural("persistentvolumeclaims"), accept=TABLE)
    assert answer["rows"][0]["cells"][:2] == ["volume", "Pending"]


@behaviour(controlled=True)
async def columns_of_deployments(api: Api) -> None:
    await api.create(deployment())
    answer = await api.list(DEPLOYMENTS, accept=TABLE, recorded=False)
    api.note("columns", undescribed(answer))
    assert [column["name"] for column in answer["columnDefinitions"]][:2] == ["Name", "Ready"]


@behaviour
async def columns_of_other_kinds(api: Api) -> None:
    for plural in (
        "nodes",
        "events",
        "secrets",
        "serviceaccounts",
        "persistentvolumes",
        "resourcequotas",
        "replicasets.apps",
        "statefulsets.apps",
        "daemonsets.apps",
        "cronjobs.batch",
        "poddisruptionbudgets.policy",
        "storageclasses.storage.k8s.io",
        "resourceclaims.resource.k8s.io",
        "resourceslices.resource.k8s.io",
        "deviceclasses.resource.k8s.io",
        "roles.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
    ):
        answer = await api.list(by_plural(plural), accept=TABLE, limit=1, recorded=False)
        api.note(f"columns of {plural}", undescribed(answer))
        assert answer["kind"] == "Table"


@behaviour(differs="column-descriptions")
async def columns_are_described(api: Api) -> None:
    answer = await api.list(PODS, accept=TABLE, recorded=False)
    api.note("descriptions", {column["name"]: column["description"] for column in answer["columnDefinitions"]})
    assert "readiness" in answer["columnDefinitions"][1]["description"]


@behaviour
async def an_error_is_no_table(api: Api) -> None:
    answer = await api.get(PODS, "missing", accept=TABLE)
    assert (answer.code, answer["kind"]) == (404, "Status")


@behaviour
async def a_table_or_else_json(api: Api) -> None:
    await api.create(config_map())
    answer = await api.get(CONFIG_MAPS, "map", accept=f"{TABLE},application/json")
    assert answer["kind"] == "Table"


@behaviour
async def a_table_of_a_version_that_nobody_knows(api: Api) -> None:
    answer = await api.list(PODS, accept="application/json;as=Table;v=v9;g=meta.k8s.io")
    assert answer.code == 406


@behaviour
async def a_creation_answered_by_a_table(api: Api) -> None:
    answer = await api.create(config_map(a="1"), accept=TABLE)
    assert (answer.code, answer["kind"]) == (201, "Table")


@behaviour
async def the_metadata_of_one_object(api: Api) -> None:
    await api.create(with_meta(pod(), labels={"a": "1"}))
    answer = await api.get(PODS, "pod", accept=METADATA)
    assert answer["kind"] == "PartialObjectMetadata"
    assert "spec" not in answer.body


@behaviour
async def the_metadata_of_a_list(api: Api) -> None:
    await api.create(pod())
    answer = await api.list(PODS, accept=METADATA_LIST)
    assert answer["kind"] == "PartialObjectMetadataList"


@behaviour
async def the_metadata_of_a_list_by_the_name_of_one(api: Api) -> None:
    await api.create(pod())
    answer = await api.list(PODS, accept=METADATA)
    assert answer.code == 406


@behaviour
async def a_watch_of_metadata(api: Api) -> None:
    made = await api.create(pod())
    async with api.watch(PODS, accept=METADATA, resourceVersion=made.version) as watch:
        await api.merge(PODS, "pod", {"metadata": {"labels": {"a": "1"}}})
        (frame,) = await watch.next()
    assert frame.object["kind"] == "PartialObjectMetadata"


@behaviour
async def a_patch_answered_by_metadata(api: Api) -> None:
    await api.create(config_map())
    answer = await api.merge(CONFIG_MAPS, "map", {"data": {"a": "1"}}, accept=METADATA)
    assert answer["kind"] == "PartialObjectMetadata"


@behaviour
async def a_bookmark_of_metadata(api: Api) -> None:
    async with api.watch(
        JOBS,
        accept=METADATA,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    ) as watch:
        (frame,) = await watch.next()
    assert frame.object["kind"] == "PartialObjectMetadata"
