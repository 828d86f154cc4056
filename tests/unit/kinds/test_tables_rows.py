"""Rows of all sorts of objects, with cells as the real server prints them, and the table around them."""

from typing import Any

import pytest

from kubedyno.kinds.tables.table import SCALES, printer_of, table
from kubedyno.kube import resources
from kubedyno.kube.resources import BUILT_IN, by_plural

pytestmark = pytest.mark.unit

Json = dict[str, Any]

NOW_NS = 1000 * 10**9
CREATED = "1970-01-01T00:15:00Z"
AGE = "100s"
TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]}}
SELECTOR = {"matchLabels": {"b": "c"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["z", "y"]}]}


def cells(plural: str, *, is_deleted: bool = False, **fields: Any) -> list[Any]:
    metadata = {"name": "x", "creationTimestamp": CREATED, **fields.pop("metadata", {})}
    if is_deleted:
        metadata["deletionTimestamp"] = CREATED
    made = table(printer_of(by_plural(plural)), [{"metadata": metadata, **fields}], now_ns=NOW_NS)
    return list(made["rows"][0]["cells"])


def condition(type_: str, status: str = "True") -> Json:
    return {"type": type_, "status": status}


ROWS: list[tuple[str, Json, list[Any]]] = [
    (
        "nodes",
        {
            "metadata": {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "gpu"}},
            "spec": {"unschedulable": True},
            "status": {
                "conditions": [condition("Ready", "Unknown")],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {"kubeletVersion": "v1", "kernelVersion": "6", "architecture": "amd64"},
            },
        },
        [
            *("x", "NotReady,SchedulingDisabled", "gpu,worker", AGE, "v1"),
            *("10.0.0.1", "<none>", "<unknown>", "6 (amd64)", "<unknown>"),
        ],
    ),
    ("nodes", {}, ["x", "Unknown", "<none>", AGE, "", "<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"]),
    ("namespaces", {"status": {"phase": "Active"}}, ["x", "Active", AGE]),
    ("configmaps", {"data": {"a": "1"}, "binaryData": {"b": ""}}, ["x", 2, AGE]),
    ("secrets", {"type": "Opaque", "data": {}}, ["x", "Opaque", 0, AGE]),
    (
        "resourcequotas",
        {"status": {"hard": {"pods": "4", "limits.cpu": "2", "cpu": "1"}, "used": {"pods": "1"}}},
        ["x", "cpu: 0/1, pods: 1/4", "limits.cpu: 0/2", AGE],
    ),
    (
        "deployments",
        {
            "spec": {"replicas": 3, "selector": SELECTOR, "template": TEMPLATE},
            "status": {"readyReplicas": 1, "updatedReplicas": 2},
        },
        ["x", "1/3", 2, 0, AGE, "a,b", "i,j", "a in (y,z),b=c"],
    ),
    (
        "replicasets",
        {"spec": {"replicas": 3, "template": TEMPLATE}, "status": {"replicas": 2, "readyReplicas": 1}},
        ["x", 3, 2, 1, AGE, "a,b", "i,j", "<none>"],
    ),
    ("statefulsets", {"spec": {"replicas": 2, "template": TEMPLATE}}, ["x", "0/2", AGE, "a,b", "i,j"]),
    (
        "cronjobs",
        {"spec": {"schedule": "@daily", "suspend": False}, "status": {"active": [{}], "lastScheduleTime": CREATED}},
        ["x", "@daily", "<none>", "False", 1, AGE, AGE, "", "", "<none>"],
    ),
    (
        "poddisruptionbudgets",
        {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 2}},
        ["x", "50%", "N/A", 2, AGE],
    ),
    ("leases", {"spec": {"holderIdentity": "me"}}, ["x", "me", AGE]),
    (
        "priorityclasses",
        {"value": 5, "globalDefault": True, "preemptionPolicy": "Never"},
        ["x", 5, True, AGE, "Never"],
    ),
    ("resourceclaims.resource.k8s.io", {}, ["x", "pending", AGE]),
    (
        "resourceclaims.resource.k8s.io",
        {"status": {"allocation": {}, "reservedFor": [{}]}},
        ["x", "allocated,reserved", AGE],
    ),
    (
        "resourceslices.resource.k8s.io",
        {"spec": {"nodeName": "n", "driver": "d", "pool": {"name": "p"}}},
        ["x", "n", "d", "p", AGE],
    ),
    (
        "services",
        {
            "spec": {
                "type": "LoadBalancer",
                "clusterIPs": ["10.0.0.9"],
                "externalIPs": ["192.0.2.9"],
                "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
                "selector": {"b": "c", "a": "d"},
            },
            "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.2"}, {"hostname": "a.example.com"}]}},
        },
        ["x", "LoadBalancer", "10.0.0.9", "192.0.2.2,a.example.com,192.0.2.9", "80:30080/TCP,53/UDP", AGE, "a=d,b=c"],
    ),
    (
        "services",
        {"spec": {"type": "LoadBalancer"}},
        ["x", "LoadBalancer", "<none>", "<pending>", "<none>", AGE, "<none>"],
    ),
    (
        "persistentvolumeclaims",
        {
            "spec": {"volumeName": "v", "storageClassName": "s"},
            "status": {
                "phase": "Bound",
                "capacity": {"storage": "5Gi"},
                "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
            },
        },
        ["x", "Bound", "v", "5Gi", "RWO,RWX", "s", "<unset>", AGE, "<unset>"],
    ),
    (
        "storageclasses",
        {"provisioner": "p", "metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}},
        ["x (default)", "p", "Delete", "Immediate", False, AGE],
    ),
    (
        "clusterrolebindings",
        {
            "roleRef": {"kind": "ClusterRole", "name": "view"},
            "subjects": [
                {"kind": "User", "name": "u"},
                {"kind": "User", "name": "v"},
                {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
            ],
        },
        ["x", "ClusterRole/view", AGE, "u, v", "", "n/s"],
    ),
    ("roles", {}, ["x", CREATED]),
    ("limitranges", {}, ["x", CREATED]),
    (
        "horizontalpodautoscalers",
        {
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "d"},
                "maxReplicas": 4,
                "metrics": [
                    {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 70}}},
                    {"type": "Pods", "pods": {"target": {"averageValue": "2k"}}},
                    {"type": "External", "external": {"target": {"value": "9"}}},
                ],
            },
            "status": {"currentMetrics": [{"type": "Resource", "resource": {"current": {"averageUtilization": 12}}}]},
        },
        ["x", "Deployment/d", "cpu: 12%/70%, <unknown>/2k + 1 more...", "<unset>", 4, 0, AGE],
    ),
    (
        "apiservices",
        {"status": {"conditions": [{"type": "Available", "status": "False", "reason": "Missing"}]}},
        ["x", "Local", "False (Missing)", AGE],
    ),
    ("workloads.scheduling.k8s.io", {}, ["x", AGE]),
]


@pytest.mark.parametrize(("plural", "fields", "expected"), ROWS, ids=[f"{n}-{row[0]}" for n, row in enumerate(ROWS)])
def test_a_row(plural: str, fields: Json, expected: list[Any]) -> None:
    assert cells(plural, **fields) == expected


BEGUN = {"startTime": "1970-01-01T00:10:00Z"}


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"completions": 5}, {}, ["Running", "0/5", ""]),
        ({"parallelism": 3}, {**BEGUN, "succeeded": 1}, ["Running", "1/1 of 3", "6m40s"]),
        ({"parallelism": 1}, BEGUN, ["Running", "0/1", "6m40s"]),
        ({"completions": 1}, {"conditions": [condition("Suspended")]}, ["Suspended", "0/1", ""]),
        ({"completions": 1}, {"conditions": [condition("FailureTarget")]}, ["FailureTarget", "0/1", ""]),
        ({"completions": 1}, {"conditions": [condition("FailureTarget"), condition("Failed")]}, ["Failed", "0/1", ""]),
        (
            {"completions": 1},
            {**BEGUN, "completionTime": "1970-01-01T00:11:00Z", "succeeded": 1, "conditions": [condition("Complete")]},
            ["Complete", "1/1", "60s"],
        ),
    ],
)
def test_a_job(spec: Json, status: Json, expected: list[Any]) -> None:
    assert cells("jobs", spec=spec, status=status)[1:4] == expected


@pytest.mark.parametrize(("plural", "column"), [("jobs", 1), ("persistentvolumes", 4), ("persistentvolumeclaims", 1)])
def test_what_is_being_deleted_says_so(plural: str, column: int) -> None:
    assert cells(plural, is_deleted=True)[column] == "Terminating"


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ([], "Pending"),
        ([condition("PodGroupScheduled")], "Scheduled"),
        ([condition("PodGroupScheduled", "False")], "Unschedulable"),
        ([condition("PodGroupScheduled"), {"type": "DisruptionTarget", "reason": "Preempted"}], "Preempted"),
    ],
)
def test_a_pod_group(conditions: list[Json], said: str) -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}, "podGroupTemplateRef": {"workload": {"workloadName": "w"}}}
    row = cells("podgroups.scheduling.k8s.io", spec=spec, status={"conditions": conditions})
    assert row == ["x", "Gang", "w", said, AGE]


def test_an_event_of_either_group_is_printed_alike() -> None:
    series = {"count": 5, "lastObservedTime": "1970-01-01T00:16:00.000000Z"}
    told: Json = {"type": "Warning", "reason": "R", "series": series, "reportingInstance": "i"}
    told["eventTime"] = "1970-01-01T00:15:00.000000Z"
    target = {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{a}"}
    old = cells("events", involvedObject=target, message=" m\n", reportingComponent="c", **told)
    new = cells("events.events.k8s.io", regarding=target, note="m", reportingController="c", **told)
    expected = ["40s", "Warning", "R", "pod/p", "spec.containers{a}", "c, i", "m", "100s", 5, "x"]
    assert old == expected
    assert new == expected


def test_flow_schemas_come_in_the_order_of_their_precedence() -> None:
    flows = by_plural("flowschemas")
    objects = [
        {"metadata": {"name": name}, "spec": {"matchingPrecedence": precedence}}
        for name, precedence in (("b", 9), ("a", 9), ("z", 1))
    ]
    rows = table(printer_of(flows), objects, now_ns=NOW_NS)["rows"]
    assert [row["cells"][0] for row in rows] == ["z", "a", "b"]


@pytest.mark.parametrize(
    "resource", [*BUILT_IN, SCALES], ids=lambda resource: f"{resource.api_version} {resource.kind}"
)
def test_every_kind_can_print_a_bookmark(resource: resources.Resource) -> None:
    """A watch sends bookmarks as objects with nothing but a version."""
    made = table(printer_of(resource), [{"metadata": {"resourceVersion": "5"}}], now_ns=NOW_NS, with_columns=False)
    assert (made["metadata"], made["columnDefinitions"]) == ({"resourceVersion": "5"}, None)
    assert made["rows"][0]["object"]["metadata"] == {"resourceVersion": "5"}


def test_a_table_has_the_metadata_of_its_list_and_no_descriptions() -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "creationTimestamp": CREATED}}
    made = table(
        printer_of(resources.CONFIG_MAPS),
        [obj],
        now_ns=NOW_NS,
        include_object="Object",
        metadata={"resourceVersion": "9", "continue": "c"},
    )
    assert made == {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "9", "continue": "c"},
        "columnDefinitions": [
            {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0},
            {"name": "Data", "type": "string", "format": "", "description": "", "priority": 0},
            {"name": "Age", "type": "string", "format": "", "description": "", "priority": 0},
        ],
        "rows": [{"cells": ["x", 0, AGE], "object": obj}],
    }


def test_a_row_may_go_without_its_object() -> None:
    made = table(printer_of(resources.SECRETS), [{"metadata": {"name": "x"}}], now_ns=NOW_NS, include_object="None")
    assert made["rows"] == [{"cells": ["x", "", 0, "<unknown>"], "object": None}]
