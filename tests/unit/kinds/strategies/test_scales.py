import pytest

from kubedyno.kinds.strategies.scales import scale_of

pytestmark = pytest.mark.unit

_META = {"name": "x", "namespace": "y", "uid": "u", "resourceVersion": "7", "creationTimestamp": "t"}


def test_a_scale_tells_replicas_and_selector() -> None:
    spec = {
        "replicas": 3,
        "selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]},
    }
    assert scale_of({"metadata": {**_META, "generation": 2}, "spec": spec, "status": {"replicas": 2}}) == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": _META,
        "spec": {"replicas": 3},
        "status": {"replicas": 2, "selector": "a=b,c"},
    }


def test_a_replication_controller_selects_by_labels_alone() -> None:
    scale = scale_of({"metadata": _META, "spec": {"replicas": 0, "selector": {"a": "b"}}})
    assert (scale["spec"], scale["status"]) == ({}, {"replicas": 0, "selector": "a=b"})
