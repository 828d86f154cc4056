"""Deployments and their relatives: defaults, selectors, revisions of the spec, the scale endpoint.

The controllers of the real control plane look after these objects at once, so that only what the API server decides
is compared.
"""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import daemon_set, deployment, edited, of, replica_set, stateful_set, template

from kubedyno.kube.resources import DEPLOYMENTS, REPLICA_SETS

STATEFUL = "StatefulSet"


@behaviour
async def a_deployment_gets_its_defaults(api: Api) -> None:
    answer = await api.create(deployment(replicas=None), dryRun="All")
    assert answer["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": "25%", "maxUnavailable": "25%"}
    assert answer["spec"]["replicas"] == 1


@behaviour
async def a_replica_set_gets_its_defaults(api: Api) -> None:
    answer = await api.create(replica_set(replicas=None), dryRun="All")
    assert answer["spec"]["replicas"] == 1


@behaviour
async def a_stateful_set_gets_its_defaults(api: Api) -> None:
    answer = await api.create(stateful_set(replicas=None), dryRun="All")
    assert answer["spec"]["podManagementPolicy"] == "OrderedReady"


@behaviour
async def a_daemon_set_gets_its_defaults(api: Api) -> None:
    answer = await api.create(daemon_set(), dryRun="All")
    assert answer["spec"]["updateStrategy"]["type"] == "RollingUpdate"


@behaviour
async def the_selector_must_select_the_template(api: Api) -> None:
    answer = await api.create(deployment(selector={"matchLabels": {"app": "other"}}))
    assert answer.causes == ["spec.template.metadata.labels"]


@behaviour
async def a_selector_is_needed(api: Api) -> None:
    answer = await api.create(deployment(selector=None))
    assert answer.code == 422


@behaviour
async def an_empty_selector_is_refused(api: Api) -> None:
    answer = await api.create(deployment(selector={}))
    assert answer.causes == ["spec.selector"]


@behaviour
async def a_bad_selector_is_refused(api: Api) -> None:
    bad = {"matchExpressions": [{"key": "a", "operator": "Sometimes"}, {"key": "b", "operator": "In"}]}
    answer = await api.create(deployment(selector=bad))
    assert answer.code == 422


@behaviour
async def replicas_are_not_negative(api: Api) -> None:
    answer = await api.create(deployment(replicas=-1))
    assert answer.causes == ["spec.replicas"]


@behaviour
async def a_surge_and_its_opposite_are_not_both_zero(api: Api) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}
    answer = await api.create(deployment(strategy=strategy))
    assert answer.code == 422


@behaviour
async def recreate_takes_no_rolling_update(api: Api) -> None:
    answer = await api.create(deployment(strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}))
    assert answer.code == 422


@behaviour
async def pods_of_a_deployment_always_restart(api: Api) -> None:
    answer = await api.create(deployment(template=template(restartPolicy="Never")))
    assert answer.causes == ["spec.template.spec.restartPolicy"]


@behaviour(controlled=True)
async def the_selector_of_a_deployment_cannot_change(api: Api) -> None:
    made = await api.create(deployment())
    body = edited(made.body, "spec/selector", {"matchLabels": {"app": "b"}})
    body = edited(edited(body, "spec/template/metadata/labels", {"app": "b"}), "metadata/resourceVersion", None)
    answer = await api.replace(body)
    assert answer.causes == ["spec.selector"]


@behaviour(controlled=True)
async def a_change_of_the_spec_counts_a_generation(api: Api) -> None:
    await api.create(deployment())
    answer = await api.merge(DEPLOYMENTS, "deployment", {"spec": {"replicas": 1, "paused": True}})
    assert answer.meta["generation"] == 2


@behaviour(controlled=True)
async def a_change_of_the_labels_counts_none(api: Api) -> None:
    await api.create(deployment())
    answer = await api.merge(DEPLOYMENTS, "deployment", {"metadata": {"labels": {"a": "1"}}})
    assert answer.meta["generation"] == 1


@behaviour(controlled=True)
async def the_scale_is_read_on_its_own(api: Api) -> None:
    await api.create(deployment(replicas=0))
    answer = await api.get(DEPLOYMENTS, "deployment", "scale")
    assert (answer["kind"], answer["spec"]) == ("Scale", {})


@behaviour(controlled=True)
async def the_scale_is_written_on_its_own(api: Api) -> None:
    await api.create(replica_set(replicas=0, template=template(nodeName="nowhere")))
    answer = await api.merge(REPLICA_SETS, "set", {"spec": {"replicas": 2}}, "scale")
    assert answer["spec"] == {"replicas": 2}
    assert (await api.get(REPLICA_SETS, "set"))["spec"]["replicas"] == 2


@behaviour(controlled=True)
async def a_scale_is_not_negative(api: Api) -> None:
    await api.create(replica_set())
    answer = await api.merge(REPLICA_SETS, "set", {"spec": {"replicas": -1}}, "scale")
    assert answer.code == 422


@behaviour(controlled=True)
async def a_scale_is_replaced(api: Api) -> None:
    await api.create(replica_set())
    body = of("autoscaling/v1", "Scale", "set", spec={"replicas": 0})
    answer = await api.send("PUT", api.path(REPLICA_SETS, "set", "scale"), body)
    assert answer.code == 200


@behaviour(controlled=True)
async def a_stale_scale_conflicts(api: Api) -> None:
    made = await api.create(replica_set())
    await api.merge(REPLICA_SETS, "set", {"spec": {"minReadySeconds": 5}})
    body = of("autoscaling/v1", "Scale", "set", spec={"replicas": 0})
    body["metadata"]["resourceVersion"] = made.version
    answer = await api.send("PUT", api.path(REPLICA_SETS, "set", "scale"), body)
    assert answer.code == 409


@behaviour
async def the_scale_of_what_is_not_there(api: Api) -> None:
    answer = await api.get(DEPLOYMENTS, "missing", "scale")
    assert answer.code == 404


@behaviour(controlled=True)
async def a_scale_of_the_wrong_kind_is_refused(api: Api) -> None:
    await api.create(replica_set())
    answer = await api.send("PUT", api.path(REPLICA_SETS, "set", "scale"), replica_set())
    assert answer.code == 400


@behaviour(controlled=True)
async def a_scale_by_operations(api: Api) -> None:
    await api.create(replica_set())
    answer = await api.operate(REPLICA_SETS, "set", {"op": "add", "path": "/spec/replicas", "value": 0}, sub="scale")
    assert answer.code == 200


@behaviour(controlled=True)
async def the_fields_of_a_stateful_set_are_mostly_fixed(api: Api) -> None:
    made = await api.create(stateful_set())
    body = edited(edited(made.body, "spec/serviceName", "other"), "metadata/resourceVersion", None)
    answer = await api.replace(body)
    assert answer.code == 422


@behaviour(controlled=True)
async def the_status_of_a_deployment_is_apart(api: Api) -> None:
    await api.create(deployment())
    answer = await api.merge(DEPLOYMENTS, "deployment", {"spec": {"replicas": 9}, "status": {"replicas": 0}}, "status")
    assert answer["spec"]["replicas"] == 0


@behaviour
async def a_status_with_more_ready_than_there_are_is_refused(api: Api) -> None:
    await api.create(replica_set("other"), recorded=False)
    patch = {"status": {"replicas": 1, "readyReplicas": 2}}
    answer = await api.merge(REPLICA_SETS, "other", patch, "status")
    assert answer.causes == ["status.readyReplicas"]


@behaviour(controlled=True)
async def unknown_fields_of_a_scale_are_warned_of(api: Api) -> None:
    await api.create(replica_set())
    patched = await api.merge(REPLICA_SETS, "set", {"spec": {"replica": 1}}, "scale")
    assert patched.warnings
    body = of("autoscaling/v1", "Scale", "set", spec={"replicas": 0, "replica": 1})
    replaced = await api.send("PUT", api.path(REPLICA_SETS, "set", "scale"), body)
    assert replaced.warnings


@behaviour(controlled=True)
async def a_scale_of_text_is_refused(api: Api) -> None:
    await api.create(replica_set())
    body = of("autoscaling/v1", "Scale", "set", spec={"replicas": "many"})
    answer = await api.send("PUT", api.path(REPLICA_SETS, "set", "scale"), body)
    assert answer.code == 400


@behaviour(controlled=True)
async def a_scale_of_another_version_is_refused(api: Api) -> None:
    await api.create(replica_set())
    body = of("nobody.example.com/v1", "Scale", "set", spec={"replicas": 0})
    answer = await api.send("PUT", api.path(REPLICA_SETS, "set", "scale"), body)
    assert answer.code == 400


@behaviour(controlled=True)
async def a_scale_needs_its_name(api: Api) -> None:
    await api.create(replica_set())
    other = await api.send(
        "PUT", api.path(REPLICA_SETS, "set", "scale"), of("autoscaling/v1", "Scale", "other", spec={"replicas": 0})
    )
    assert other.code == 400
    nobody = await api.send("PUT", api.path(REPLICA_SETS, "set", "scale"), {"spec": {"replicas": 0}})
    assert nobody.code == 400


@behaviour(controlled=True)
async def a_scale_of_another_object_conflicts(api: Api) -> None:
    await api.create(replica_set())
    body = of("autoscaling/v1", "Scale", "set", spec={"replicas": 0})
    body["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000"
    answer = await api.send("PUT", api.path(REPLICA_SETS, "set", "scale"), body)
    assert answer.code == 409
