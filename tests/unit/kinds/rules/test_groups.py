"""Rules of the groups beside the core; what is told stands in `groups_cases.json` as a real API server told it."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubedyno.kinds import defaults
from kubedyno.kinds.rules import (
    apps,
    autoscaling,
    batch,
    coordination,
    devices,
    events,
    networking,
    policy,
    rbac,
    runtimes,
    scheduling,
    storage,
    webhooks,
)
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kube.meta import copied
from kubedyno.kube.normalizing import normalized
from kubedyno.kube.problems import Problem

pytestmark = pytest.mark.unit

Document = dict[str, Any]
UID = "00000000-0000-0000-0000-000000000000"
CASES: list[Document] = msgspec.json.decode(Path(__file__).with_name("groups_cases.json").read_bytes())
CREATED = [case for case in CASES if "old" not in case]
CHANGED = [case for case in CASES if "old" in case and "subresource" not in case]
STATUSES = [case for case in CASES if "subresource" in case]
RULES: dict[tuple[str, str], Rules] = {
    **apps.RULES,
    **autoscaling.RULES,
    **batch.RULES,
    **coordination.RULES,
    **devices.RULES,
    **events.RULES,
    **networking.RULES,
    **policy.RULES,
    **rbac.RULES,
    **runtimes.RULES,
    **scheduling.RULES,
    **storage.RULES,
    **webhooks.RULES,
}


def prepared(document: Document) -> Document:
    """The object as the rules get it: read, defaulted, and with the selector that a Job is given."""
    ready = normalized(document, document["apiVersion"], document["kind"])
    defaults.apply(ready, document["apiVersion"], document["kind"])
    ready["metadata"] |= {"namespace": "default", "uid": UID}
    if document["kind"] == "Job" and not ready["spec"].get("manualSelector"):
        labels = ready["spec"]["template"].setdefault("metadata", {}).setdefault("labels", {})
        for prefix in ("", "batch.kubernetes.io/"):
            labels.setdefault(f"{prefix}job-name", ready["metadata"]["name"])
            labels.setdefault(f"{prefix}controller-uid", UID)
        selector = ready["spec"].setdefault("selector", {}).setdefault("matchLabels", {})
        selector.setdefault("batch.kubernetes.io/controller-uid", UID)
    return ready


def rules_of(document: Document) -> Rules:
    return RULES[document["apiVersion"].rpartition("/")[0], document["kind"]]


def told(problems: Iterable[Problem]) -> list[list[str]]:
    return [[problem.field, problem.reason, problem.message] for problem in problems]


def named(case: Document) -> str:
    return f"{case['new']['kind']} {' '.join(field for field, _, _ in case['told'])}"


@pytest.mark.parametrize("case", CREATED, ids=named)
def test_a_wrong_object_is_told_in_the_words_of_the_server(case: Document) -> None:
    assert told(rules_of(case["new"]).create(prepared(case["new"]))) == case["told"]


@pytest.mark.parametrize("case", CHANGED, ids=named)
def test_a_wrong_change_is_told_in_the_words_of_the_server(case: Document) -> None:
    assert told(rules_of(case["new"]).update(prepared(case["new"]), prepared(case["old"]))) == case["told"]


@pytest.mark.parametrize("case", STATUSES, ids=named)
def test_a_wrong_status_is_told_in_the_words_of_the_server(case: Document) -> None:
    assert told(rules_of(case["new"]).update_status(prepared(case["new"]), prepared(case["old"]))) == case["told"]


@pytest.mark.parametrize("case", CHANGED, ids=named)
def test_a_right_object_has_no_problems_and_may_stay_as_it_is(case: Document) -> None:
    document, rules = case["old"], rules_of(case["old"])
    assert told(rules.create(prepared(document))) == []
    assert told(rules.update(prepared(document), prepared(document))) == []


@pytest.mark.parametrize("case", CASES, ids=named)
def test_rules_leave_their_objects_alone(case: Document) -> None:
    new, old = prepared(case["new"]), prepared(case.get("old", case["new"]))
    before = copied([new, old])
    rules = rules_of(case["new"])
    for check in (rules.update, rules.update_status):
        list(check(new, old))
    list(rules.create(new))
    assert [new, old] == before


def job(**spec: Any) -> Document:
    pod = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "i"}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"template": {"spec": pod}, **spec},
    }


def node_selector(new: Document) -> None:
    new["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}


def resources(new: Document) -> None:
    new["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "2"}}


def labels(new: Document) -> None:
    new["spec"]["template"]["metadata"]["labels"]["mine"] = "x"


def node_affinity(new: Document) -> None:
    terms = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    new["spec"]["template"]["spec"]["affinity"] = {"nodeAffinity": required}


@pytest.mark.parametrize("change", [node_selector, resources, labels, node_affinity])
def test_a_suspended_job_may_change_where_it_runs_and_what_it_asks_for(change: Callable[[Document], None]) -> None:
    for suspended in (True, False):
        old = prepared(job(suspend=suspended))
        new = copied(old)
        change(new)
        fields = [field for field, _, _ in told(batch.RULES["batch", "Job"].update(new, old))]
        assert fields == ([] if suspended else ["spec.template"])


def test_an_indexed_job_may_be_scaled_together_with_its_parallelism() -> None:
    old = prepared(job(completionMode="Indexed", completions=2, parallelism=2))
    new = copied(old)
    new["spec"] |= {"completions": 4, "parallelism": 4}
    assert told(batch.RULES["batch", "Job"].update(new, old)) == []


def test_a_new_consumer_of_a_claim_that_is_being_deleted_is_refused() -> None:
    allocation = {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "g"}]}}
    first, second = ({"resource": "pods", "name": name, "uid": name} for name in "ab")
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
    }
    old = {**claim, "status": {"allocation": allocation, "reservedFor": [first]}}
    new = {**claim, "status": {"allocation": allocation, "reservedFor": [first, second]}}
    check = devices.RULES["resource.k8s.io", "ResourceClaim"].update_status
    said = "Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
    assert told(check(new, old)) == [["status.reservedFor", "FieldValueForbidden", said]]
    assert told(check(old, new)) == []
