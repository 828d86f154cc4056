"""Quotas, limit ranges, priority classes and disruption budgets: what stands between a user and a pod."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import budget, config_map, container, edited, limit_range, of, pod, priority_class, quota

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import POD_DISRUPTION_BUDGETS, PODS, PRIORITY_CLASSES, RESOURCE_QUOTAS


def asking(name: str = "pod", limits: Object | None = None, **requests: str) -> Object:
    return pod(name, containers=[container(resources={"requests": requests, "limits": limits or {}})])


async def counted(api: Api, **hard: str) -> None:
    """A quota that admission has heard of: it allows no config maps either, so that one tells."""
    await api.create(quota(**hard, **{"count/configmaps": "0"}), recorded=False)

    async def felt() -> bool:
        now = await api.get(RESOURCE_QUOTAS, "quota", recorded=False)
        probe = await api.create(config_map("probe"), dryRun="All", recorded=False)
        return set(hard) <= set(now["status"].get("used", {})) and "exceeded quota" in probe.body.get("message", "")

    await api.until(felt)


async def enforced(api: Api, body: Object) -> None:
    """Create a limit range and wait until admission has heard of it."""
    await api.create(body)

    async def felt() -> bool:
        probe = await api.create(pod("probe"), dryRun="All", recorded=False)
        return probe.code != 201 or probe["metadata"].get("annotations") is not None

    await api.until(felt)


@behaviour
async def a_quota_counts_pods(api: Api) -> None:
    await counted(api, pods="1")
    assert (await api.create(pod("a"), recorded=False)).code == 201
    answer = await api.create(pod("b"))
    assert (answer.code, answer.reason) == (403, "Forbidden")


@behaviour
async def a_quota_sums_requests(api: Api) -> None:
    await counted(api, **{"requests.cpu": "1"})
    assert (await api.create(asking("a", cpu="600m"), recorded=False)).code == 201
    answer = await api.create(asking("b", cpu="600m"))
    assert answer.code == 403


@behaviour
async def a_quota_demands_requests(api: Api) -> None:
    await counted(api, **{"requests.cpu": "1", "limits.memory": "1Gi"})
    answer = await api.create(pod())
    assert answer.code == 403
    assert "must specify" in answer.message


@behaviour
async def a_quota_counts_devices(api: Api) -> None:
    await counted(api, **{"requests.nvidia.com/gpu": "1"})
    answer = await api.create(asking(limits={"nvidia.com/gpu": "2"}))
    assert answer.code == 403


@behaviour
async def a_quota_counts_objects_of_any_kind(api: Api) -> None:
    await counted(api, **{"count/secrets": "0"})
    answer = await api.create(of("v1", "Secret", "one"))
    assert answer.code == 403


@behaviour
async def a_quota_tells_what_is_used(api: Api) -> None:
    await counted(api, pods="5", **{"requests.cpu": "4"})
    await api.create(asking("a", cpu="500m"), recorded=False)
    answer = await api.get(RESOURCE_QUOTAS, "quota", recorded=False)
    used = {name: answer["status"]["used"][name] for name in ("pods", "requests.cpu")}
    api.note("used", used)
    assert used == {"pods": "1", "requests.cpu": "500m"}


@behaviour
async def a_quota_looks_at_its_scopes(api: Api) -> None:
    body = quota("quota", pods="0")
    body["spec"]["scopes"] = ["BestEffort"]
    await api.create(body, recorded=False)

    async def felt() -> bool:
        probe = await api.create(pod("probe"), dryRun="All", recorded=False)
        return "exceeded quota" in probe.body.get("message", "")

    await api.until(felt)
    assert (await api.create(asking("a", cpu="1"), recorded=False)).code == 201
    answer = await api.create(pod("b"))
    assert answer.code == 403


@behaviour
async def a_quota_is_checked(api: Api) -> None:
    for hard in ({"pods": "-1"}, {"unknown": "1"}):  # of both at once the server tells in any order
        answer = await api.create(quota(**hard))
        assert answer.code == 422


@behaviour
async def a_limit_range_fills_in(api: Api) -> None:
    limits = {"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1", "memory": "1Gi"}}
    await enforced(api, limit_range("limits", limits))
    answer = await api.create(pod())
    assert answer["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


@behaviour
async def a_limit_range_has_a_greatest_and_a_least(api: Api) -> None:
    limits = {"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "100m"}}
    await enforced(api, limit_range("limits", limits))
    large = await api.create(asking(limits={"cpu": "3"}))
    assert large.code == 403
    small = await api.create(asking(limits={"cpu": "50m"}))
    assert small.code == 403


@behaviour
async def a_limit_range_sums_over_the_pod(api: Api) -> None:
    limits = {"type": "Pod", "max": {"cpu": "2"}}
    await enforced(api, limit_range("limits", limits))
    containers = [container(name, resources={"limits": {"cpu": "1500m"}}) for name in "ab"]
    answer = await api.create(pod(containers=containers))
    assert answer.code == 403


@behaviour
async def a_limit_range_has_a_ratio(api: Api) -> None:
    limits = {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}
    await enforced(api, limit_range("limits", limits))
    answer = await api.create(asking(limits={"cpu": "3"}, cpu="1"))
    assert answer.code == 403


@behaviour
async def a_limit_range_gets_its_defaults(api: Api) -> None:
    answer = await api.create(limit_range("limits", {"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1"}}))
    got = answer["spec"]["limits"][0]
    assert (got["default"], got["defaultRequest"]) == ({"cpu": "2"}, {"cpu": "2"})


@behaviour
async def a_limit_range_is_checked(api: Api) -> None:
    bad = {"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}, "default": {"cpu": "3"}}
    answer = await api.create(limit_range("limits", bad))
    assert answer.code == 422


@behaviour
async def a_limit_range_limits_volumes(api: Api) -> None:
    limits = {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}
    await api.create(limit_range("limits", limits))
    body = of(
        "v1",
        "PersistentVolumeClaim",
        "large",
        spec={
            "storageClassName": "nobody",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "2Gi"}},
        },
    )

    async def refused() -> bool:
        return (await api.create(body, dryRun="All", recorded=False)).code == 403

    await api.until(refused)
    answer = await api.create(body)
    assert answer.code == 403


@behaviour
async def a_priority_class_is_stored(api: Api) -> None:
    answer = await api.create(priority_class(api.own("high"), 1000, description="for the test"))
    assert answer["preemptionPolicy"] == "PreemptLowerPriority"


@behaviour
async def the_value_of_a_class_cannot_change(api: Api) -> None:
    made = await api.create(priority_class(api.own("high"), 1000))
    answer = await api.replace(edited(made.body, "value", 2000))
    assert answer.code == 422


@behaviour
async def the_value_of_a_class_has_a_limit(api: Api) -> None:
    answer = await api.create(priority_class(api.own("high"), 1_000_000_001))
    assert answer.code == 422


@behaviour
async def the_names_of_the_system_are_taken(api: Api) -> None:
    answer = await api.create(priority_class(f"system-{api.namespace}", 10))
    assert answer.code == 422


@behaviour
async def the_system_has_two_classes(api: Api) -> None:
    for name in ("system-cluster-critical", "system-node-critical"):
        answer = await api.get(PRIORITY_CLASSES, name, recorded=False)
        api.note(name, [answer["value"], answer["description"], answer["preemptionPolicy"]])
        assert answer["value"] >= 2_000_000_000


@behaviour
async def a_class_of_the_system_cannot_be_deleted(api: Api) -> None:
    answer = await api.delete(PRIORITY_CLASSES, "system-node-critical", dryRun="All")
    assert answer.code == 403


@behaviour
async def a_budget_has_one_bound(api: Api) -> None:
    answer = await api.create(budget(minAvailable=1, maxUnavailable=1))
    assert answer.code == 422


@behaviour
async def the_bound_of_a_budget_is_checked(api: Api) -> None:
    for bad in ("half", "120%", -1):
        assert (await api.create(budget(minAvailable=bad))).causes == ["spec.minAvailable"]


@behaviour(controlled=True)
async def a_budget_is_stored(api: Api) -> None:
    answer = await api.create(budget(maxUnavailable="50%"))
    assert answer["spec"]["maxUnavailable"] == "50%"
    changed = await api.merge(POD_DISRUPTION_BUDGETS, "budget", {"spec": {"maxUnavailable": 1}})
    assert changed.meta["generation"] == 2


@behaviour
async def a_budget_selects_nothing_without_a_selector(api: Api) -> None:
    answer = await api.create(budget(maxUnavailable=1, selector=None), dryRun="All")
    assert answer.code == 201


@behaviour
async def a_policy_of_eviction_that_nobody_knows(api: Api) -> None:
    answer = await api.create(budget(maxUnavailable=1, unhealthyPodEvictionPolicy="Sometimes"))
    assert answer.code == 422


@behaviour
async def an_update_of_a_pod_is_not_counted_again(api: Api) -> None:
    await counted(api, pods="1")
    await api.create(pod("a"), recorded=False)
    answer = await api.merge(PODS, "a", {"metadata": {"labels": {"a": "1"}}})
    assert answer.code == 200


@behaviour
async def other_kinds_pass_a_quota_of_pods(api: Api) -> None:
    await counted(api, pods="0")
    answer = await api.create(of("v1", "Secret", "one"))
    assert answer.code == 201
