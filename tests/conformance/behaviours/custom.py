"""Custom resources: schemas that prune, default and refuse; versions; subresources; columns."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import edited, of, with_meta
from tests.conformance.widgets import define, group, widget, widget_crd, widgets

from kubedyno.kube.resources import CRDS, Resource

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
SUBRESOURCES = {
    "status": {},
    "scale": {
        "specReplicasPath": ".spec.size",
        "statusReplicasPath": ".status.ready",
        "labelSelectorPath": ".status.selector",
    },
}


@behaviour
async def a_custom_object_lives(api: Api) -> None:
    at = await define(api)
    made = await api.create(widget(group(api), size=3), at=at)
    assert (made.code, made.meta["generation"]) == (201, 1)
    changed = await api.merge(at, "widget", {"spec": {"size": 4}})
    assert changed.meta["generation"] == 2
    assert (await api.list(at)).names == ["widget"]
    gone = await api.delete(at, "widget")
    assert gone["status"] == "Success"


@behaviour
async def a_new_definition_is_answered_as_it_was_given(api: Api) -> None:
    answer = await api.create(widget_crd(group(api)))
    assert answer.code == 201
    assert answer["spec"]["conversion"] == {"strategy": "None"}


@behaviour
async def a_definition_tells_that_it_is_served(api: Api) -> None:
    await define(api)

    async def established() -> bool:
        now = await api.get(CRDS, f"widgets.{group(api)}", recorded=False)
        return {item["type"] for item in now["status"].get("conditions", ())} >= {"NamesAccepted", "Established"}

    await api.until(established)
    answer = await api.get(CRDS, f"widgets.{group(api)}", recorded=False)
    conditions = [
        {key: item[key] for key in ("type", "status", "reason", "message")} for item in answer["status"]["conditions"]
    ]
    api.note("conditions", sorted(conditions, key=lambda item: item["type"]))
    api.note("names", answer["status"]["acceptedNames"])
    api.note("stored", answer["status"]["storedVersions"])
    assert [item["status"] for item in conditions] == ["True", "True"]


@behaviour
async def a_definition_is_in_the_discovery(api: Api) -> None:
    await define(api)

    async def told() -> bool:
        return (await api.send("GET", f"/apis/{group(api)}/v1", recorded=False)).code == 200

    await api.until(told)
    answer = await api.send("GET", f"/apis/{group(api)}/v1", recorded=False)
    kept = [{key: item[key] for key in item if key != "storageVersionHash"} for item in answer["resources"]]
    api.note("resources", kept)
    assert [item["kind"] for item in kept] == ["Widget"]


@behaviour
async def names_are_checked_as_elsewhere(api: Api) -> None:
    at = await define(api)
    answer = await api.create(widget(group(api), "Not_Good"), at=at)
    assert answer.causes == ["metadata.name"]


@behaviour
async def another_kind_is_refused(api: Api) -> None:
    at = await define(api)
    answer = await api.send("POST", api.path(at), of(f"{group(api)}/v1", "Gadget", "g"))
    assert answer.causes == ["kind"]


@behaviour
async def a_kind_is_needed(api: Api) -> None:
    at = await define(api)
    answer = await api.send("POST", api.path(at), {"metadata": {"name": "g"}})
    assert answer.code == 400


@behaviour
async def an_update_needs_a_version(api: Api) -> None:
    at = await define(api)
    await api.create(widget(group(api)), at=at)
    answer = await api.replace(widget(group(api), size=3), at=at)
    assert answer.code == 422


@behaviour
async def a_stale_update_conflicts(api: Api) -> None:
    at = await define(api)
    made = await api.create(widget(group(api)), at=at)
    await api.merge(at, "widget", {"spec": {"size": 3}})
    answer = await api.replace(made.body, at=at)
    assert answer.code == 409


@behaviour
async def strategic_patches_are_not_for_them(api: Api) -> None:
    at = await define(api)
    await api.create(widget(group(api)), at=at)
    answer = await api.strategic(at, "widget", {"spec": {"size": 3}})
    assert answer.code == 415


@behaviour
async def operations_work_on_them(api: Api) -> None:
    at = await define(api)
    await api.create(widget(group(api), size=3), at=at)
    answer = await api.operate(at, "widget", {"op": "replace", "path": "/spec/size", "value": 4})
    assert answer["spec"]["size"] == 4


@behaviour
async def apply_knows_the_keys_of_their_lists(api: Api) -> None:
    at = await define(api)
    await api.apply(widget(group(api), parts=[{"id": "a", "text": "1"}]), at=at)
    answer = await api.apply(widget(group(api), parts=[{"id": "b", "text": "2"}]), "bob", at=at)
    assert [part["id"] for part in answer["spec"]["parts"]] == ["a", "b"]
    conflict = await api.apply(widget(group(api), parts=[{"id": "a", "text": "9"}]), "bob", at=at)
    assert conflict.causes == ['.spec.parts[id="a"].text']


@behaviour
async def without_the_subresource_the_status_is_a_field(api: Api) -> None:
    at = await define(api)
    answer = await api.create({**widget(group(api)), "status": {"ready": 2}}, at=at)
    assert answer["status"] == {"ready": 2}
    missing = await api.get(at, "widget", "status")
    assert missing.code == 404


@behaviour
async def with_the_subresource_the_status_is_apart(api: Api) -> None:
    at = await define(api, subresources=SUBRESOURCES)
    made = await api.create({**widget(group(api), size=3), "status": {"ready": 2}}, at=at)
    assert "status" not in made.body
    answer = await api.merge(at, "widget", {"spec": {"size": 9}, "status": {"ready": 2}}, "status")
    assert (answer["spec"]["size"], answer["status"]) == (3, {"ready": 2})
    assert answer.meta["generation"] == 1
    kept = await api.merge(at, "widget", {"status": {"ready": 7}})
    assert kept["status"] == {"ready": 2}


@behaviour
async def a_bad_status_is_refused(api: Api) -> None:
    at = await define(api, subresources=SUBRESOURCES)
    await api.create(widget(group(api)), at=at)
    answer = await api.merge(at, "widget", {"status": {"ready": "yes"}}, "status")
    assert answer.causes == ["status.ready", ".status.ready"]


@behaviour
async def the_scale_is_read_by_its_paths(api: Api) -> None:
    at = await define(api, subresources=SUBRESOURCES)
    await api.create(widget(group(api), size=3), at=at)
    await api.merge(at, "widget", {"status": {"ready": 2, "selector": "app=a"}}, "status")
    answer = await api.get(at, "widget", "scale")
    assert (answer["spec"], answer["status"]) == ({"replicas": 3}, {"replicas": 2, "selector": "app=a"})


@behaviour
async def the_scale_is_written_by_its_paths(api: Api) -> None:
    at = await define(api, subresources=SUBRESOURCES)
    await api.create(widget(group(api), size=3), at=at)
    answer = await api.merge(at, "widget", {"spec": {"replicas": 5}}, "scale")
    assert answer["spec"] == {"replicas": 5}
    assert (await api.get(at, "widget"))["spec"]["size"] == 5


@behaviour
async def a_scale_without_replicas_is_an_error(api: Api) -> None:
    at = await define(api, subresources=SUBRESOURCES)
    await api.create(widget(group(api)), at=at)
    answer = await api.get(at, "widget", "scale")
    assert answer.code == 500


@behaviour
async def columns_are_printed(api: Api) -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "How big"},
        {"name": "Colour", "type": "string", "jsonPath": ".spec.colour", "priority": 1},
        {"name": "Parts", "type": "string", "jsonPath": ".spec.parts[*].id"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    at = await define(api, additionalPrinterColumns=columns)
    await api.create(widget(group(api), size=3, parts=[{"id": "a"}, {"id": "b"}]), at=at)
    await api.create(widget(group(api), "without"), at=at)
    answer = await api.list(at, accept=TABLE)
    assert answer["rows"][0]["cells"][:4] == ["widget", 3, "green", "a"]


@behaviour
async def without_columns_the_age_is_printed(api: Api) -> None:
    at = await define(api)
    await api.create(widget(group(api)), at=at)
    answer = await api.list(at, accept=TABLE)
    assert [column["name"] for column in answer["columnDefinitions"]] == ["Name", "Age"]


@behaviour
async def fields_are_selected_if_declared(api: Api) -> None:
    at = await define(api, selectableFields=[{"jsonPath": ".spec.colour"}])
    await api.create(widget(group(api), "a", colour="red"), at=at)
    await api.create(widget(group(api), "b"), at=at)
    answer = await api.list(at, fieldSelector="spec.colour=red")
    assert answer.names == ["a"]
    refused = await api.list(at, fieldSelector="spec.size=3")
    assert refused.code == 400


@behaviour
async def several_versions_show_one_object(api: Api) -> None:
    crd = widget_crd(group(api))
    first = crd["spec"]["versions"][0]
    second = {**edited({"v": first}, "v/name", "v2")["v"], "storage": False}
    crd["spec"]["versions"] = [first, second]
    at = await define(api, crd)
    await api.create(widget(group(api), size=3), at=at)
    answer = await api.get(widgets(group(api), "v2"), "widget")
    assert (answer["apiVersion"], answer["spec"]["size"]) == (f"{group(api)}/v2", 3)
    back = await api.merge(widgets(group(api), "v2"), "widget", {"spec": {"size": 4}})
    assert back["apiVersion"].endswith("/v2")
    assert (await api.get(at, "widget"))["spec"]["size"] == 4


@behaviour
async def a_version_that_is_not_served_is_not_found(api: Api) -> None:
    crd = widget_crd(group(api))
    first = crd["spec"]["versions"][0]
    second = {**edited({"v": first}, "v/name", "v2")["v"], "storage": False, "served": False}
    crd["spec"]["versions"] = [first, second]
    await define(api, crd)
    answer = await api.list(widgets(group(api), "v2"))
    assert answer.code == 404


@behaviour
async def old_versions_warn(api: Api) -> None:
    at = await define(api, deprecated=True, deprecationWarning="widgets are going away")
    answer = await api.list(at)
    assert answer.warnings == ['299 - "widgets are going away"']


@behaviour
async def a_watch_tells_of_them(api: Api) -> None:
    at = await define(api)
    made = await api.create(widget(group(api), "a"), at=at)
    async with api.watch(at, resourceVersion=made.version) as watch:
        await api.create(widget(group(api), "b"), at=at)
        await api.merge(at, "a", {"spec": {"size": 2}})
        await api.delete(at, "a")
        frames = await watch.next(3)
    assert [(frame.type, frame.name) for frame in frames] == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "a")]


@behaviour
async def a_watch_from_before_their_definition_has_expired(api: Api) -> None:
    at = await define(api)
    async with api.watch(at, resourceVersion=1) as watch:
        frames = await watch.rest()
    assert frames[0].object["code"] == 410


@behaviour
async def a_deleted_definition_takes_its_objects_along(api: Api) -> None:
    at = await define(api)
    await api.create(widget(group(api)), at=at)
    answer = await api.send("DELETE", api.path(CRDS, f"widgets.{group(api)}"), recorded=False)
    assert answer.code == 200

    async def gone() -> bool:
        return (await api.get(CRDS, f"widgets.{group(api)}", recorded=False)).code == 404

    await api.until(gone)

    async def unserved() -> bool:
        return (await api.list(at, recorded=False)).code == 404

    await api.until(unserved)
    api.note("after", (await api.list(at, recorded=False)).body)


@behaviour
async def the_name_of_a_definition_is_made_of_plural_and_group(api: Api) -> None:
    crd = with_meta(widget_crd(group(api)), name=f"gadgets.{group(api)}")
    answer = await api.create(crd)
    assert answer.code == 422


@behaviour
async def a_definition_needs_a_schema(api: Api) -> None:
    crd = widget_crd(group(api))
    del crd["spec"]["versions"][0]["schema"]
    answer = await api.create(crd)
    assert answer.code == 422


@behaviour
async def a_definition_stores_one_version(api: Api) -> None:
    answer = await api.create(widget_crd(group(api), storage=False))
    assert answer.code == 422


@behaviour
async def the_scope_of_a_definition_cannot_change(api: Api) -> None:
    await define(api)
    answer = await api.merge(CRDS, f"widgets.{group(api)}", {"spec": {"scope": "Cluster"}})
    assert answer.causes == ["spec.scope"]


@behaviour
async def a_cluster_wide_custom_object(api: Api) -> None:
    crd = edited(widget_crd(group(api)), "spec/scope", "Cluster")
    await api.create(crd, recorded=False)
    at = Resource(group(api), "v1", "Widget", "widgets", namespaced=False)

    async def served() -> bool:
        probe = await api.create(widget(group(api), "probe"), at=at, dryRun="All", recorded=False)
        return probe.code == 201

    await api.until(served)
    answer = await api.create(widget(group(api), size=2), at=at)
    assert "namespace" not in answer.meta


@behaviour
async def finalizers_keep_custom_objects(api: Api) -> None:
    at = await define(api)
    await api.create(with_meta(widget(group(api)), finalizers=["example.com/stay"]), at=at)
    kept = await api.delete(at, "widget")
    assert "deletionTimestamp" in kept.meta
    await api.merge(at, "widget", {"metadata": {"finalizers": None}})
    assert (await api.get(at, "widget")).code == 404


@behaviour
async def of_a_definition_that_goes_objects_are_changed_but_not_created(api: Api) -> None:
    at = await define(api, subresources=SUBRESOURCES)
    await api.create(with_meta(widget(group(api), size=2), finalizers=["example.com/stay"]), at=at)
    await api.delete(CRDS, f"widgets.{group(api)}", recorded=False)

    async def terminating() -> bool:
        probe = await api.create(widget(group(api), "probe"), at=at, dryRun="All", recorded=False)
        return probe.code == 403

    await api.until(terminating)

    async def deleted() -> bool:
        return "deletionTimestamp" in (await api.get(at, "widget", recorded=False)).meta

    await api.until(deleted)
    assert (await api.create(widget(group(api), "other"), at=at)).code == 403
    assert (await api.apply(widget(group(api), "other"), at=at)).code == 403
    assert (await api.merge(at, "other", {"spec": {"size": 3}})).code == 404
    patched = await api.merge(at, "widget", {"spec": {"size": 3}})
    assert patched["spec"]["size"] == 3
    put = await api.replace(edited(patched.body, "spec/size", 4), at=at)
    assert put["spec"]["size"] == 4
    assert (await api.merge(at, "widget", {"status": {"ready": 1}}, "status"))["status"] == {"ready": 1}
    assert (await api.merge(at, "widget", {"spec": {"replicas": 5}}, "scale"))["spec"] == {"replicas": 5}
    assert (await api.list(at)).names == ["widget"]
    assert (await api.merge(at, "widget", {"metadata": {"finalizers": None}})).code == 200


@behaviour
async def a_collection_of_custom_objects_goes(api: Api) -> None:
    at = await define(api)
    for name in "ab":
        await api.create(widget(group(api), name), at=at)
    answer = await api.delete_all(at)
    assert answer.code == 200
    assert (await api.list(at))["items"] == []


@behaviour
async def the_server_owns_the_status_of_a_definition(api: Api) -> None:
    await define(api)

    async def established() -> bool:
        now = await api.get(CRDS, f"widgets.{group(api)}", recorded=False)
        return {item["type"] for item in now["status"].get("conditions", ())} >= {"NamesAccepted", "Established"}

    await api.until(established)
    answer = await api.get(CRDS, f"widgets.{group(api)}")
    assert {entry["manager"] for entry in answer.meta["managedFields"]} == {"kubedyno", "kube-apiserver"}


@behaviour
async def another_version_in_the_body_is_refused(api: Api) -> None:
    at = await define(api)
    for version in (f"{group(api)}/v9", "apps/v1", ""):
        answer = await api.create(of(version, "Widget", "widget"), at=at)
        assert answer.code == 400


@behaviour
async def a_patch_cannot_change_kind_or_version(api: Api) -> None:
    at = await define(api)
    await api.create(widget(group(api)), at=at)
    kind = await api.merge(at, "widget", {"kind": "Gadget"})
    assert kind.causes == ["kind"]
    version = await api.merge(at, "widget", {"apiVersion": "other.example.com/v1"})
    assert version.causes == ["apiVersion"]


@behaviour
async def a_negative_scale_breaks_their_rules(api: Api) -> None:
    at = await define(api, subresources=SUBRESOURCES)
    await api.create(widget(group(api), size=3), at=at)
    answer = await api.merge(at, "widget", {"spec": {"replicas": -1}}, "scale")
    assert answer.code == 422


@behaviour
async def a_scale_without_replicas_is_written(api: Api) -> None:
    at = await define(api, subresources=SUBRESOURCES)
    await api.create(widget(group(api)), at=at)
    answer = await api.merge(at, "widget", {"spec": {"replicas": 2}}, "scale")
    assert answer["spec"] == {"replicas": 2}
    assert (await api.get(at, "widget"))["spec"]["size"] == 2


@behaviour
async def paths_below_their_group_that_lead_nowhere(api: Api) -> None:
    at = await define(api)
    await api.create(widget(group(api)), at=at)
    for path in (f"{at.root}/namespaces/{api.namespace}/gadgets", f"{at.root}/widgets/widget", f"/apis/{at.group}/v9"):
        answer = await api.send("GET", path)
        assert (answer.code, answer.body) == (404, "404 page not found\n")
    below = await api.send("GET", f"{api.path(at, 'widget')}/nobody")
    assert below.reason == "NotFound"
