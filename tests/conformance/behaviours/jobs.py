"""Jobs: generated labels and selectors, defaults, what cannot change. Nobody runs them here."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import container, edited, job, of, with_meta

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import JOBS


@behaviour
async def selector_and_labels_are_made_from_the_uid(api: Api) -> None:
    answer = await api.create(job())
    uid = answer.meta["uid"]
    assert answer["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert answer["spec"]["template"]["metadata"]["labels"]["job-name"] == "job"


@behaviour
async def a_manual_selector_is_kept(api: Api) -> None:
    template = {**job()["spec"]["template"], "metadata": {"labels": {"a": "1"}}}
    answer = await api.create(job(manualSelector=True, selector={"matchLabels": {"a": "1"}}, template=template))
    assert answer["spec"]["selector"] == {"matchLabels": {"a": "1"}}


@behaviour
async def a_selector_without_leave_is_refused(api: Api) -> None:
    answer = await api.create(job(selector={"matchLabels": {"a": "1"}}))
    assert answer.code == 422


@behaviour
async def defaults_are_filled_in(api: Api) -> None:
    spec = (await api.create(job()))["spec"]
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"], spec["completionMode"]) == (
        1,
        1,
        6,
        "NonIndexed",
    )


@behaviour
async def parallelism_alone_leaves_completions_open(api: Api) -> None:
    spec = (await api.create(job(parallelism=3)))["spec"]
    assert "completions" not in spec


@behaviour
async def indexed_jobs_need_completions(api: Api) -> None:
    answer = await api.create(job(completionMode="Indexed", parallelism=3))
    assert answer.causes == ["spec.completions"]


@behaviour
async def the_restart_policy_is_checked(api: Api) -> None:
    answer = await api.create(edited(job(), "spec/template/spec/restartPolicy", "Always"))
    assert answer.causes == ["spec.template.spec.restartPolicy"]


@behaviour
async def numbers_are_not_negative(api: Api) -> None:
    bad: Object = {"parallelism": -1, "completions": -1, "backoffLimit": -1, "activeDeadlineSeconds": -1}
    answer = await api.create(job(ttlSecondsAfterFinished=-1, **bad))
    assert answer.code == 422
    assert len(answer.causes) == 5


@behaviour
async def a_status_given_at_creation_is_dropped(api: Api) -> None:
    answer = await api.create({**job(), "status": {"succeeded": 3}})
    assert answer["status"] == {}


@behaviour
async def the_template_cannot_change(api: Api) -> None:
    made = await api.create(job())
    answer = await api.replace(edited(made.body, "spec/template/spec/containers/0/image", "other"))
    assert answer.code == 422


@behaviour
async def the_template_of_a_suspended_job_may_be_steered(api: Api) -> None:
    made = await api.create(job(suspend=True))
    answer = await api.replace(edited(made.body, "spec/template/spec/nodeSelector", {"a": "1"}))
    assert answer.code == 200
    assert answer.meta["generation"] == 2


@behaviour
async def completions_cannot_change_when_not_indexed(api: Api) -> None:
    made = await api.create(job(completions=2))
    answer = await api.replace(edited(made.body, "spec/completions", 3))
    assert answer.causes == ["spec.completions"]


@behaviour
async def an_indexed_job_is_scaled_by_both_numbers(api: Api) -> None:
    made = await api.create(job(completionMode="Indexed", completions=2, parallelism=2))
    both = edited(edited(made.body, "spec/completions", 3), "spec/parallelism", 3)
    assert (await api.replace(both)).code == 200


@behaviour
async def the_manager_of_a_job_cannot_change(api: Api) -> None:
    made = await api.create(job())
    answer = await api.replace(edited(made.body, "spec/managedBy", "example.com/other"))
    assert answer.code == 422


@behaviour
async def a_failure_policy_needs_never(api: Api) -> None:
    rules = [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]
    body = job(podFailurePolicy={"rules": rules})
    answer = await api.create(edited(body, "spec/template/spec/restartPolicy", "OnFailure"))
    assert answer.code == 422


@behaviour
async def a_failure_policy_is_checked(api: Api) -> None:
    rules = [
        {"action": "Explode", "onExitCodes": {"operator": "In", "values": [0]}},
        {"action": "Ignore"},
        {"action": "Count", "onPodConditions": [{"type": "Not Good", "status": "Perhaps"}]},
    ]
    answer = await api.create(job(podFailurePolicy={"rules": rules}))
    assert answer.code == 422


@behaviour
async def a_failure_policy_gets_its_defaults(api: Api) -> None:
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    answer = await api.create(job(podFailurePolicy={"rules": rules}))
    got = answer["spec"]["podFailurePolicy"]["rules"][0]["onPodConditions"]
    assert got == [{"type": "DisruptionTarget", "status": "True"}]
    assert answer["spec"]["podReplacementPolicy"] == "Failed"


@behaviour
async def a_success_policy_is_for_indexed_jobs(api: Api) -> None:
    answer = await api.create(job(successPolicy={"rules": [{"succeededCount": 1}]}))
    assert answer.code == 422


@behaviour
async def limits_per_index_are_for_indexed_jobs(api: Api) -> None:
    answer = await api.create(job(backoffLimitPerIndex=1))
    assert answer.code == 422


@behaviour
async def the_name_of_an_indexed_job_leaves_room_for_the_index(api: Api) -> None:
    answer = await api.create(job("j" * 63, completionMode="Indexed", completions=1000))
    assert answer.code == 422


@behaviour
async def the_status_of_a_job_has_rules_of_its_own(api: Api) -> None:
    await api.create(job())
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    answer = await api.merge(JOBS, "job", {"status": done}, "status")
    assert answer.code == 422


@behaviour
async def a_job_is_completed_in_two_steps(api: Api) -> None:
    await api.create(job())
    stamp = "2021-01-01T00:00:00Z"
    met = {"type": "SuccessCriteriaMet", "status": "True", "lastTransitionTime": stamp}
    first = await api.merge(JOBS, "job", {"status": {"startTime": stamp, "conditions": [met]}}, "status")
    assert first.code == 200
    complete = {"type": "Complete", "status": "True", "lastTransitionTime": stamp}
    status = {"conditions": [met, complete], "completionTime": "2021-01-01T00:00:05Z", "succeeded": 1}
    answer = await api.merge(JOBS, "job", {"status": status}, "status")
    assert answer.code == 200
    undone = await api.merge(JOBS, "job", {"status": {"conditions": [met]}}, "status")
    assert undone.code == 422


@behaviour
async def a_time_to_live_can_be_set_later(api: Api) -> None:
    await api.create(job())
    answer = await api.merge(JOBS, "job", {"spec": {"ttlSecondsAfterFinished": 100}})
    assert answer["spec"]["ttlSecondsAfterFinished"] == 100


@behaviour
async def labels_of_one_s_own_stay_beside_the_generated(api: Api) -> None:
    answer = await api.create(with_meta(job(), labels={"mine": "yes"}))
    assert answer.meta["labels"]["mine"] == "yes"


@behaviour
async def a_job_needs_a_template(api: Api) -> None:
    answer = await api.create(of("batch/v1", "Job", "job", spec={}))
    assert answer.code == 422


@behaviour
async def a_cron_job_gets_its_defaults(api: Api) -> None:
    template = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container()]}}}}
    body = of("batch/v1", "CronJob", "cron", spec={"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": template})
    answer = await api.create(body)
    assert answer["spec"]["concurrencyPolicy"] == "Allow"


@behaviour
async def the_schedule_of_a_cron_job_is_checked(api: Api) -> None:
    template = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container()]}}}}
    body = of("batch/v1", "CronJob", "cron", spec={"schedule": "now and then", "jobTemplate": template})
    answer = await api.create(body)
    assert answer.causes == ["spec.schedule"]
