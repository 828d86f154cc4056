"""Evictions, with and without disruption budgets."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import budget, pod, with_meta

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import POD_DISRUPTION_BUDGETS, PODS


def eviction(name: str = "pod", **options: object) -> Object:
    made: Object = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return {**made, "deleteOptions": options} if options else made


def guarded(name: str = "pod", **spec: object) -> Object:
    return with_meta(pod(name, nodeName="here", **spec), labels={"app": "a"})


async def allow(api: Api, disruptions: int) -> None:
    """Write what a budget allows now, as the controller does; a generation it knows keeps it from doing so itself."""
    status = {
        "disruptionsAllowed": disruptions,
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "expectedPods": 1,
        "observedGeneration": 1,
    }
    await api.send(
        "PATCH",
        api.path(POD_DISRUPTION_BUDGETS, "budget", "status"),
        {"status": status},
        content_type="application/merge-patch+json",
        recorded=False,
    )


@behaviour
async def an_eviction_is_a_deletion_with_grace(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    answer = await api.post(PODS, "pod", "eviction", eviction())
    assert (answer.code, answer["status"]) == (201, "Success")
    there = await api.get(PODS, "pod")
    assert there.meta["deletionGracePeriodSeconds"] == 30


@behaviour
async def a_pod_that_runs_nowhere_is_gone_after_its_eviction(api: Api) -> None:
    await api.create(pod())
    await api.post(PODS, "pod", "eviction", eviction())
    assert (await api.get(PODS, "pod")).code == 404


@behaviour
async def what_is_not_there_cannot_be_evicted(api: Api) -> None:
    answer = await api.post(PODS, "pod", "eviction", eviction())
    assert answer.code == 404


@behaviour
async def options_of_the_deletion_are_taken(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    await api.post(PODS, "pod", "eviction", eviction(gracePeriodSeconds=3))
    assert (await api.get(PODS, "pod")).meta["deletionGracePeriodSeconds"] == 3


@behaviour
async def a_dry_eviction_does_nothing(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    answer = await api.post(PODS, "pod", "eviction", eviction(dryRun=["All"]))
    assert answer.code == 201
    assert "deletionTimestamp" not in (await api.get(PODS, "pod")).meta


@behaviour
async def the_name_of_an_eviction_is_that_of_the_pod(api: Api) -> None:
    await api.create(pod())
    answer = await api.post(PODS, "pod", "eviction", eviction("other"))
    assert answer.code == 400


@behaviour
async def the_old_version_of_evictions_is_taken(api: Api) -> None:
    await api.create(pod())
    answer = await api.post(PODS, "pod", "eviction", {**eviction(), "apiVersion": "policy/v1beta1"})
    assert answer.code == 201


@behaviour
async def a_finished_pod_is_evicted_whatever_its_budget(api: Api) -> None:
    await api.create(guarded())
    await api.merge(PODS, "pod", {"status": {"phase": "Succeeded"}}, "status")
    await api.create(budget(maxUnavailable=0), recorded=False)
    answer = await api.post(PODS, "pod", "eviction", eviction())
    assert answer.code == 201


@behaviour
async def two_budgets_for_one_pod_are_an_error(api: Api) -> None:
    await api.create(guarded())
    await api.merge(PODS, "pod", {"status": {"phase": "Running"}}, "status")
    for name in "ab":
        await api.create(budget(name, maxUnavailable=0), recorded=False)
    answer = await api.post(PODS, "pod", "eviction", eviction())
    assert answer.code == 500


@behaviour
async def evictions_cannot_be_read(api: Api) -> None:
    await api.create(pod())
    answer = await api.get(PODS, "pod", "eviction")
    assert answer.code == 405


@behaviour
async def a_budget_that_allows_nothing_refuses(api: Api) -> None:
    await api.create(guarded())
    ready = [{"type": "Ready", "status": "True"}]
    await api.merge(PODS, "pod", {"status": {"phase": "Running", "conditions": ready}}, "status", recorded=False)
    await api.create(budget(minAvailable=1), recorded=False)
    await allow(api, 0)

    async def decided() -> bool:
        now = await api.get(POD_DISRUPTION_BUDGETS, "budget", recorded=False)
        return bool(now["status"].get("expectedPods"))

    await api.until(decided)
    answer = await api.post(PODS, "pod", "eviction", eviction(), recorded=False)
    api.note("refusal", [answer.code, answer.reason, answer.message])
    assert (answer.code, answer.reason) == (429, "TooManyRequests")


@behaviour
async def a_pending_pod_is_evicted_whatever_its_budget(api: Api) -> None:
    await api.create(with_meta(pod(), labels={"app": "a"}))
    await api.create(budget(maxUnavailable=0), recorded=False)
    answer = await api.post(PODS, "pod", "eviction", eviction())
    assert answer.code == 201


@behaviour
async def an_eviction_of_the_first_version(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    answer = await api.post(PODS, "pod", "eviction", {**eviction(), "apiVersion": "policy/v1beta1"})
    assert answer.code == 201


@behaviour
async def an_eviction_of_the_wrong_kind_is_refused(api: Api) -> None:
    await api.create(pod())
    answer = await api.post(PODS, "pod", "eviction", pod())
    assert answer.code == 400


@behaviour
async def a_dry_eviction_by_its_options_does_nothing(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    answer = await api.post(PODS, "pod", "eviction", eviction(dryRun=["All"]))
    assert answer.code == 201
    assert "deletionTimestamp" not in (await api.get(PODS, "pod")).meta
