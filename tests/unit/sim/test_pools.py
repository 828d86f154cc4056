import ipaddress

import pytest
import yaml

from kubedyno.sim.pools import Pool, default_stages, nodes

pytestmark = pytest.mark.unit


def test_a_node_has_the_shape_of_its_pool() -> None:
    first, second = nodes(Pool(name="gpu", count=2, gpus=4, cpu="8", memory="1Gi", pods=20, labels={"zone": "a"}))
    assert (first["metadata"]["name"], second["metadata"]["name"]) == ("gpu-0", "gpu-1")
    assert first["metadata"]["labels"] == {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "gpu-0",
        "kubernetes.io/os": "linux",
        "kubedyno/pool": "gpu",
        "zone": "a",
    }
    capacity = {"cpu": "8", "memory": "1Gi", "pods": "20", "nvidia.com/gpu": "4"}
    assert first["status"]["capacity"] == first["status"]["allocatable"] == capacity


def test_without_gpus_there_is_no_such_resource() -> None:
    (node,) = nodes(Pool(name="cpu", count=1, gpus=0))
    assert "nvidia.com/gpu" not in node["status"]["capacity"]
    assert node["metadata"]["labels"]["type"] == "kwok"


def test_every_node_has_addresses_of_its_own() -> None:
    ranges = [node["spec"]["podCIDR"] for node in nodes(Pool(name="big", count=65536))]
    assert len(set(ranges)) == 65536
    for text in (ranges[0], ranges[256], ranges[-1]):
        assert ipaddress.ip_network(text).subnet_of(ipaddress.ip_network("10.0.0.0/8"))


@pytest.mark.parametrize("count", [-1, 65537])
def test_more_nodes_than_addresses_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match=rf"^a pool has 0 to 65536 nodes, not {count}$"):
        nodes(Pool(name="p", count=count))


def test_the_default_stages_are_stages_of_nodes_and_pods() -> None:
    paths = default_stages()
    assert [path.name for path in paths] == ["node.yaml", "pod.yaml"]
    for path, kind in zip(paths, ("Node", "Pod"), strict=True):
        stages = [stage for stage in yaml.safe_load_all(path.read_text()) if stage]
        assert {stage["kind"] for stage in stages} == {"Stage"}
        assert kind in {stage["spec"]["resourceRef"]["kind"] for stage in stages}
        names = [stage["metadata"]["name"] for stage in stages]
        assert len(set(names)) == len(names)
