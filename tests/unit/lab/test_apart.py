"""A run on a cluster of others: its nodes for its pods, its pods for its nodes."""

from collections.abc import Iterator
from typing import Any

import pytest

from kubedyno.kube.placement import is_tolerated
from kubedyno.lab import apart
from kubedyno.lab.creating import RUN_LABEL
from kubedyno.lab.shapes import distributed, training
from kubedyno.model.workloads import Workload
from kubedyno.schedulers import SCHEDULERS
from kubedyno.sim import pools
from kubedyno.sim.pools.nodes import nodes

pytestmark = pytest.mark.unit


def pod_specs(scheduler: str, workload: Workload) -> Iterator[dict[str, Any]]:
    """The specs of its pods, as its dialect writes them or what makes them."""
    for document in SCHEDULERS.get(scheduler).dialect.objects(workload):
        if document["kind"] == "Pod":
            yield document["spec"]
        elif document["kind"] == "Job":
            yield document["spec"]["template"]["spec"]


@pytest.mark.parametrize("scheduler", list(SCHEDULERS))
@pytest.mark.parametrize("shape", [training(gpus=1), distributed(workers=2, gpus=1)], ids=["job", "gang"])
def test_pods_of_the_run_fit_its_nodes_only_and_others_do_not(scheduler: str, shape: Workload) -> None:
    (node,) = nodes(apart.pool_of(pools.base("gpu", 1), "r1"), now="2026-01-01T00:00:00Z")
    (taint,) = node["spec"]["taints"]
    mine = list(pod_specs(scheduler, apart.workload_of(shape, "r1")))
    assert mine
    for spec in mine:
        assert spec["nodeSelector"] == {RUN_LABEL: node["metadata"]["labels"][RUN_LABEL]}
        assert is_tolerated(taint, spec["tolerations"])
    for spec in (*pod_specs(scheduler, shape), *pod_specs(scheduler, apart.workload_of(shape, "r2"))):
        assert not is_tolerated(taint, spec.get("tolerations") or ())


def test_what_a_workload_selects_and_tolerates_by_itself_stays() -> None:
    own = {"key": "gpu", "operator": "Exists"}
    shape = Workload(name="a", node_selector={"zone": "z"}, tolerations=(own,))
    found = apart.workload_of(shape, "r1")
    assert found.node_selector == {"zone": "z", RUN_LABEL: "r1"}
    assert found.tolerations[0] == own
