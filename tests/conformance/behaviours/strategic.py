"""Strategic merge: lists that merge by their keys, and directives."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import config_map, container, deployment, pod, service, with_meta

from kubedyno.kube.resources import CONFIG_MAPS, DEPLOYMENTS, PODS, SERVICES

IMAGE = "registry.example/app:2"


@behaviour
async def strategic_lists_merge_by_their_key(api: Api) -> None:
    await api.create(pod(containers=[container("a"), container("b")]))
    answer = await api.strategic(PODS, "pod", {"spec": {"containers": [{"name": "b", "image": IMAGE}]}})
    assert [item["image"] for item in answer["spec"]["containers"]] == ["registry.example/app:1", IMAGE]


@behaviour
async def strategic_lists_need_their_key(api: Api) -> None:
    await api.create(pod())
    answer = await api.strategic(PODS, "pod", {"spec": {"containers": [{"image": IMAGE}]}})
    assert answer.code == 500


@behaviour(controlled=True)
async def a_strategic_patch_deletes_a_container_of_a_template(api: Api) -> None:
    await api.create(deployment(template=_template("a", "b")))
    patch = {"spec": {"template": {"spec": {"containers": [{"$patch": "delete", "name": "a"}]}}}}
    answer = await api.strategic(DEPLOYMENTS, "deployment", patch)
    assert [item["name"] for item in answer["spec"]["template"]["spec"]["containers"]] == ["b"]


@behaviour(controlled=True)
async def a_strategic_patch_replaces_a_whole_list(api: Api) -> None:
    await api.create(deployment(template=_template("a", "b")))
    patch = {"spec": {"template": {"spec": {"containers": [{"$patch": "replace"}, container("c")]}}}}
    answer = await api.strategic(DEPLOYMENTS, "deployment", patch)
    assert [item["name"] for item in answer["spec"]["template"]["spec"]["containers"]] == ["c"]


@behaviour
async def a_strategic_patch_replaces_a_whole_map(api: Api) -> None:
    await api.create(with_meta(config_map(), labels={"a": "1", "b": "2"}))
    answer = await api.strategic(CONFIG_MAPS, "map", {"metadata": {"labels": {"$patch": "replace", "c": "3"}}})
    assert answer.meta["labels"] == {"c": "3"}


@behaviour
async def a_strategic_patch_deletes_a_whole_map(api: Api) -> None:
    await api.create(with_meta(config_map(a="1"), labels={"a": "1"}))
    answer = await api.strategic(CONFIG_MAPS, "map", {"metadata": {"labels": {"$patch": "delete"}}})
    assert "labels" not in answer.meta


@behaviour(controlled=True)
async def retain_keys_drops_the_others(api: Api) -> None:
    await api.create(deployment(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}))
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    answer = await api.strategic(DEPLOYMENTS, "deployment", patch)
    assert answer["spec"]["strategy"] == {"type": "Recreate"}


@behaviour
async def retain_keys_must_name_what_the_patch_sets(api: Api) -> None:
    await api.create(with_meta(config_map(), labels={"a": "1"}))
    answer = await api.strategic(CONFIG_MAPS, "map", {"metadata": {"labels": {"$retainKeys": ["b"], "a": "2"}}})
    assert answer.code == 400


@behaviour(controlled=True)
async def the_order_of_items_can_be_set(api: Api) -> None:
    await api.create(deployment(template=_template("a", "b", "c")))
    patch = {
        "spec": {
            "template": {
                "spec": {
                    "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}, {"name": "b"}],
                    "containers": [{"name": "b", "image": IMAGE}],
                }
            }
        }
    }
    answer = await api.strategic(DEPLOYMENTS, "deployment", patch)
    assert [item["name"] for item in answer["spec"]["template"]["spec"]["containers"]] == ["c", "a", "b"]


@behaviour
async def the_order_must_name_what_the_patch_sets(api: Api) -> None:
    await api.create(pod())
    patch = {"spec": {"$setElementOrder/containers": [{"name": "other"}], "containers": [{"name": "main"}]}}
    answer = await api.strategic(PODS, "pod", patch)
    assert answer.code == 500


@behaviour
async def strategic_sets_are_merged_with_the_new_first(api: Api) -> None:
    await api.create(with_meta(config_map(), finalizers=["example.com/a"]))
    answer = await api.strategic(CONFIG_MAPS, "map", {"metadata": {"finalizers": ["example.com/b"]}})
    assert answer.meta["finalizers"] == ["example.com/b", "example.com/a"]


@behaviour
async def items_are_deleted_from_a_set(api: Api) -> None:
    await api.create(with_meta(config_map(), finalizers=["example.com/a", "example.com/b"]))
    answer = await api.strategic(
        CONFIG_MAPS, "map", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}
    )
    assert answer.meta["finalizers"] == ["example.com/b"]


@behaviour
async def a_directive_that_nobody_knows_is_refused(api: Api) -> None:
    await api.create(with_meta(config_map(), labels={"a": "1"}))
    answer = await api.strategic(CONFIG_MAPS, "map", {"metadata": {"labels": {"$patch": "turn"}}})
    assert answer.code == 500


@behaviour
async def tolerations_are_replaced_as_a_whole(api: Api) -> None:
    await api.create(pod(tolerations=[{"key": "a", "operator": "Exists"}]))
    answer = await api.strategic(PODS, "pod", {"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}})
    assert answer.code == 422


@behaviour
async def ports_of_a_service_merge_by_port(api: Api) -> None:
    await api.create(service(ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81}]))
    answer = await api.strategic(SERVICES, "service", {"spec": {"ports": [{"port": 81, "targetPort": 8081}]}})
    assert [item["targetPort"] for item in answer["spec"]["ports"]] == [80, 8081]


@behaviour
async def conditions_merge_by_type(api: Api) -> None:
    await api.create(pod())
    for kind, state in (("Ready", "False"), ("Other", "True"), ("Ready", "True")):
        answer = await api.strategic(
            PODS, "pod", {"status": {"conditions": [{"type": kind, "status": state}]}}, "status"
        )
    assert [(item["type"], item["status"]) for item in answer["status"]["conditions"]] == [
        ("Other", "True"),
        ("Ready", "True"),
    ]


@behaviour(controlled=True)
async def env_merges_by_name(api: Api) -> None:
    await api.create(
        deployment(template=_template("a", env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]))
    )
    env = [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}, {"name": "A", "$patch": "delete"}]
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "a", "env": env}]}}}}
    answer = await api.strategic(DEPLOYMENTS, "deployment", patch)
    got = answer["spec"]["template"]["spec"]["containers"][0]["env"]
    assert sorted((item["name"], item["value"]) for item in got) == [("B", "3"), ("C", "4")]


@behaviour
async def owners_merge_by_uid(api: Api) -> None:
    first = await api.create(config_map("first"))
    second = await api.create(config_map("second"))
    owners = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": made.meta["name"], "uid": made.meta["uid"]}
        for made in (first, second)
    ]
    await api.create(with_meta(config_map(), ownerReferences=owners[:1]))
    answer = await api.strategic(CONFIG_MAPS, "map", {"metadata": {"ownerReferences": owners[1:]}})
    assert [owner["name"] for owner in answer.meta["ownerReferences"]] == ["second", "first"]
    removed = {"$patch": "delete", "uid": first.meta["uid"]}
    fewer = await api.strategic(CONFIG_MAPS, "map", {"metadata": {"ownerReferences": [removed]}})
    assert [owner["name"] for owner in fewer.meta["ownerReferences"]] == ["second"]


def _template(*names: str, **fields: object) -> dict[str, object]:
    containers = [container(name, **fields) for name in names]
    return {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": containers}}
