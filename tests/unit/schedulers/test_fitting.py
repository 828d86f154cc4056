"""Whether a pod may go to a node, case by case."""

from typing import Any

import pytest

from kubedyno.schedulers.reference import fitting
from kubedyno.schedulers.reference.fitting import GPU
from kubedyno.schedulers.reference.nodes_table import facts_of

pytestmark = pytest.mark.unit

UNSCHEDULABLE = "node(s) were unschedulable"
UNTOLERATED = "node(s) had untolerated taint(s)"
UNWANTED = "node(s) didn't match Pod's node affinity/selector"


def container(**requests: str) -> dict[str, Any]:
    return {
        "name": "c",
        "image": "i",
        "resources": {"requests": {_name(key): value for key, value in requests.items()}},
    }


def _name(key: str) -> str:
    return GPU if key == "gpu" else key


def pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": list(containers), **spec}}


def node(*, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "gpu-0", "labels": labels or {}}, "spec": spec}


@pytest.mark.parametrize(
    ("given", "requests"),
    [
        (pod(container()), {"pods": 1000}),
        (pod({"name": "c", "image": "i"}), {"pods": 1000}),
        (pod(container(cpu="500m", gpu="2")), {"cpu": 500, GPU: 2000, "pods": 1000}),
        (pod(container(cpu="1"), container(cpu="250m", memory="1Ki")), {"cpu": 1250, "memory": 1024000, "pods": 1000}),
        # The largest init container counts where it needs more than all others together.
        (
            pod(container(cpu="1"), container(cpu="1"), initContainers=[container(cpu="3"), container(gpu="1")]),
            {"cpu": 3000, GPU: 1000, "pods": 1000},
        ),
        (pod(container(cpu="2"), initContainers=[container(cpu="1")]), {"cpu": 2000, "pods": 1000}),
        (
            pod(container(cpu="2"), initContainers=[container(cpu="3")], overhead={"cpu": "100m", "memory": "1"}),
            {"cpu": 3100, "memory": 1000, "pods": 1000},
        ),
    ],
)
def test_what_a_pod_takes(given: dict[str, Any], requests: dict[str, int]) -> None:
    assert dict(fitting.needs_of(given).requests) == requests


def test_pods_of_one_template_have_equal_needs() -> None:
    def made(name: str) -> dict[str, Any]:
        one = pod(container(cpu="1", gpu="1"), nodeSelector={"b": "2", "a": "1"}, tolerations=[{"operator": "Exists"}])
        one["metadata"]["name"] = name
        return one

    first, second = fitting.needs_of(made("a")), fitting.needs_of(made("b"))
    assert first == second
    assert hash(first) == hash(second)
    assert first.gpus == 1000
    assert fitting.needs_of(pod(container())).gpus == 0
    assert fitting.needs_of(pod(container(cpu="1", gpu="1"))) != first


@pytest.mark.parametrize(
    ("status", "amounts"),
    [
        ({}, {}),
        ({"allocatable": {"cpu": "32", GPU: "8", "pods": "110"}}, {"cpu": 32000, GPU: 8000, "pods": 110000}),
        ({"capacity": {"cpu": "32"}}, {}),
    ],
)
def test_what_a_node_has_is_what_it_allocates(status: dict[str, Any], amounts: dict[str, int]) -> None:
    assert fitting.allocatable_of({"metadata": {"name": "n"}, "status": status}) == amounts


def taint(effect: str = "NoSchedule", key: str = "gpu", **more: str) -> dict[str, Any]:
    return {"key": key, "effect": effect, **more}


def wanting(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def labelled(*expressions: dict[str, Any]) -> dict[str, Any]:
    return {"matchExpressions": list(expressions)}


ZONED = node(labels={"zone": "a", "size": "8"})


@pytest.mark.parametrize(
    ("given", "spec", "said"),
    [
        (node(), {}, ""),
        (node(unschedulable=True), {}, UNSCHEDULABLE),
        (node(unschedulable=False), {}, ""),
        (node(taints=[taint()]), {}, UNTOLERATED),
        (node(taints=[taint("NoExecute")]), {}, UNTOLERATED),
        (node(taints=[taint("PreferNoSchedule")]), {}, ""),
        (node(taints=[taint()]), {"tolerations": [{"key": "gpu", "operator": "Exists"}]}, ""),
        (
            node(taints=[taint(), taint(key="other")]),
            {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
            UNTOLERATED,
        ),
        (
            node(taints=[taint(), taint(key="other")]),
            {"tolerations": [{"key": "other", "operator": "Exists"}, {"key": "gpu", "operator": "Exists"}]},
            "",
        ),
        # What comes first is told: a cordoned node, then its taints, then what the pod selects.
        (node(unschedulable=True, taints=[taint()]), {"nodeSelector": {"a": "b"}}, UNSCHEDULABLE),
        (node(taints=[taint()]), {"nodeSelector": {"a": "b"}}, UNTOLERATED),
        (ZONED, {"nodeSelector": {"zone": "a"}}, ""),
        (ZONED, {"nodeSelector": {"zone": "a", "size": "8"}}, ""),
        (ZONED, {"nodeSelector": {"zone": "b"}}, UNWANTED),
        (ZONED, {"nodeSelector": {"zone": "a", "rack": "1"}}, UNWANTED),
        (ZONED, wanting(labelled(expression("zone", "In", "a", "b"))), ""),
        (ZONED, wanting(labelled(expression("zone", "In", "b"))), UNWANTED),
        (ZONED, wanting(labelled(expression("zone", "NotIn", "b"))), ""),
        (ZONED, wanting(labelled(expression("rack", "NotIn", "1"))), ""),
        (ZONED, wanting(labelled(expression("zone", "Exists"))), ""),
        (ZONED, wanting(labelled(expression("rack", "Exists"))), UNWANTED),
        (ZONED, wanting(labelled(expression("rack", "DoesNotExist"))), ""),
        (ZONED, wanting(labelled(expression("size", "Gt", "7"))), ""),
        (ZONED, wanting(labelled(expression("size", "Gt", "8"))), UNWANTED),
        (ZONED, wanting(labelled(expression("size", "Lt", "9"))), ""),
        (ZONED, wanting(labelled(expression("zone", "Gt", "7"))), UNWANTED),
        (ZONED, wanting(labelled(expression("size", "Gt", "many"))), UNWANTED),
        # All expressions of a term, any of the terms; a term without any matches nothing.
        (ZONED, wanting(labelled(expression("zone", "Exists"), expression("rack", "Exists"))), UNWANTED),
        (ZONED, wanting(labelled(expression("rack", "Exists")), labelled(expression("zone", "Exists"))), ""),
        (ZONED, wanting({}), UNWANTED),
        (ZONED, wanting({}, labelled(expression("zone", "Exists"))), ""),
        (ZONED, wanting({"matchFields": [expression("metadata.name", "In", "gpu-0")]}), ""),
        (ZONED, wanting({"matchFields": [expression("metadata.name", "In", "gpu-1")]}), UNWANTED),
        (ZONED, wanting({"matchFields": [expression("metadata.name", "NotIn", "gpu-1")]}), ""),
        # The selector and the affinity both have to hold.
        (ZONED, {"nodeSelector": {"zone": "b"}, **wanting(labelled(expression("zone", "Exists")))}, UNWANTED),
        (ZONED, {"nodeSelector": {"zone": "a"}, **wanting(labelled(expression("rack", "Exists")))}, UNWANTED),
        # What is only preferred refuses nothing.
        (ZONED, {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}}, ""),
    ],
)
def test_whether_a_node_may_be_used(given: dict[str, Any], spec: dict[str, Any], said: str) -> None:
    facts = facts_of(given)
    needs = fitting.needs_of(pod(container(), **spec))
    found = fitting.refused(given["metadata"]["name"], facts.labels, facts.taints, facts.unschedulable, needs)
    assert found.startswith(said) if said else found == ""
