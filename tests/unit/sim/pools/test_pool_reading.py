from pathlib import Path

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.sim.kubelet.settings import KubeletSettings
from kubedyno.sim.pools import Gpus, Level, Pool, Taint, Topology, reading, writing

pytestmark = pytest.mark.unit

EXAMPLES = Path(__file__).parents[4] / "examples"


def read(pool: str) -> Pool:
    (found,) = reading.read(f"pools: [{{name: p, {pool}}}]", source="pools.yaml", env={}).pools
    return found


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("count: 3", Pool(name="p", count=3)),
        ("", Pool(name="p", count=500)),
        ("count: 1, gpus: 4, cpu: 2.5, labels: null", Pool(name="p", count=1, gpus=4, cpu=2.5)),
        ("count: 1, gpus: {model: H100}", Pool(name="p", count=1, gpus=Gpus(model="H100"))),
        (
            "count: 2, taints: [{key: a, effect: NoSchedule}]",
            Pool(name="p", count=2, taints=(Taint(key="a", effect="NoSchedule"),)),
        ),
        (
            "topology: {zone: 2, rack: 3}",
            Pool(name="p", topology=Topology(levels=(Level(level="zone", count=2), Level(level="rack", count=3)))),
        ),
        (
            "topology: [{level: row, count: 2, label: a/row}]",
            Pool(name="p", topology=Topology(levels=(Level(level="row", count=2, label="a/row"),))),
        ),
        (
            "topology: {name: t, levels: {zone: 2}}",
            Pool(name="p", topology=Topology(name="t", levels=(Level(level="zone", count=2),))),
        ),
        ("count: 1, kubelet: {start: 2s}", Pool(name="p", count=1, kubelet=KubeletSettings(start="2s"))),
        ("nodes: [{a: x}, {a: y}]", Pool(name="p", nodes=({"a": "x"}, {"a": "y"}))),
    ],
)
def test_a_pool_is_read_and_written_back(written: str, expected: Pool) -> None:
    found = read(written)
    assert found == expected
    assert reading.read(writing.text([found]), source="again", env={}).pools == (found,)


LABEL = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("cuont: 3", "pool p: cuont: there is no such key; did you mean 'count'?"),
        ("gpus: {modelx: H100}", "pool p: gpus.modelx: there is no such key; did you mean 'model'?"),
        ("gpus: {model: H100, mig: {lay: 1}}", "pool p: gpus.mig.lay: there is no such key; did you mean 'layout'?"),
        ("kubelet: {startt: 1s}", "pool p: kubelet.startt: there is no such key; did you mean 'start'?"),
        ("topology: {name: a, levels: {zone: 1}, labels: b}", "pool p: topology.labels: there is no such key; "),
        ("taints: [{key: a, effectt: b}]", "pool p: taints[0].effectt: there is no such key; did you mean 'effect'?"),
        ("gpus: {model: H1000}", "pool p: gpus: unknown GPU 'H1000': did you mean H100? The catalogue has "),
        ("gpus: {model: T4, mig: {layout: {1g.10gb: 1}}}", "pool p: gpus: GPU T4 has no MIG: "),
        ("gpus: {count: 2}", "pool p: gpus: devices need one of `model` "),
        ("gpus: {model: H100, show: []}", "pool p: gpus.show: write `[extended]`, `[dra]` or `[extended, dra]`"),
        ("gpus: {model: H100, partitionable: true}", "pool p: gpus.partitionable: only DRA has such devices; "),
        ("gpus: {model: H100, delay: soon}", "pool p: gpus.delay: 'soon' is no duration: write it like 30s, "),
        ("gpus: {model: H100, delay: -3s}", "pool p: gpus.delay: -3s is less than nothing; write it like 30s"),
        ("gpus: {model: H100, clusterUuid: a}", "pool p: gpus.clusterUuid: 'a' is no UUID; leave it out "),
        ("count: -1", "pool p: count: -1 is less than nothing; write 0 or more"),
        ("gpus: -1", "pool p: gpus: -1 is less than nothing; write 0 or more"),
        ("gpus: {model: H100, count: -8}", "pool p: gpus.count: -8 is less than nothing; write 0 or more"),
        ("pods: -1", "pool p: pods: -1 is less than nothing; write 0 or more"),
        ("count: many", "pool p: count: expected `int | null`, got `str`"),
        ("count: 131073", "pool p: count: 131073 nodes are too many; a cluster has at most 131072"),
        ("cpu: lots", "pool p: cpu: 'lots' is no quantity: write it like 500m, 2, 1.5Gi or 12e3"),
        ("memory: 5GB", "pool p: memory: '5GB' is no quantity: "),
        ("resources: {rdma/hca: x}", "pool p: resources.rdma/hca: 'x' is no quantity: "),
        ("resources: {rdma/hca: 1500m}", "pool p: resources.rdma/hca: Kubernetes refuses it: Invalid value: "),
        ("cpu: -4", "pool p: resources.cpu: Kubernetes refuses it: Invalid value: "),
        ("reserved: {cpu: 33}", "pool p: reserved.cpu: 33 is more than the 32 that a node has"),
        ("reserved: {gpu: 1}", "pool p: reserved.gpu: the nodes have no gpu; they have cpu, memory, pods"),
        ("architecture: arm46", "pool p: architecture: 'arm46' is none; did you mean 'arm64'?"),
        ("labels: {a: 'b c'}", f'pool p: labels: Kubernetes refuses it: Invalid value: "b c": {LABEL}'),
        ("labels: {a: 'x{{ index }} y'}", f'pool p: labels: Kubernetes refuses it: Invalid value: "x0 y": {LABEL}'),
        ("labels: {'a b': c}", 'pool p: labels: Kubernetes refuses it: Invalid value: "a b": name part must consist'),
        ("labels: {a: 1}", "pool p: labels.a: 1 is no text; put it in quotes"),
        ("labels: {a: true}", "pool p: labels.a: True is no text; put it in quotes"),
        ("labels: {kubedyno/pool: q}", "pool p: labels.kubedyno/pool: this label is how the nodes of a pool are found"),
        ("annotations: {kubedyno/devices: q}", "pool p: annotations.kubedyno/devices: this is written by the pool"),
        (
            "labels: {a: '{{ inndex }}'}",
            "pool p: labels.a: template '{{ inndex }}': `inndex` is undefined; there are index,",
        ),
        ("labels: {a: '{{ index // }}'}", "pool p: labels.a: template '{{ index // }}': unexpected end of variable"),
        ("annotations: {a: '{{ 1 // 0 }}'}", "pool p: annotations.a: template '{{ 1 // 0 }}': "),
        (
            "taints: [{key: a, effect: NoSchedule, value: '{{ rack }}'}]",
            "pool p: taints[0].value: template '{{ rack }}': `rack` is undefined; there are index, name, pool",
        ),
        (
            "taints: [{key: a, effect: Never}]",
            'pool p: taints[0].effect: Kubernetes refuses it: Unsupported value: "Ne',
        ),
        (
            "taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule, value: b}]",
            "pool p: taints[1]: Kubernetes refuses it: Duplicate value: ",
        ),
        ("topology: {zone: 2}, count: 3", "pool p: count: the topology has room for 2 nodes, not for 3; write fewer, "),
        ("topology: {zone: 0}", "pool p: topology.zone: 0 of a level cannot be; write 1 or more"),
        ("topology: {}", "pool p: topology: there are no levels; write them like "),
        ("topology: {node: 2, rack: 2}", "pool p: topology: level `node` is the innermost one; write it last"),
        ("topology: {index: 2}", "pool p: topology: a level cannot be called 'index'; use letters and digits, "),
        ("topology: [{level: a, count: 1}, {level: a, count: 1}]", "pool p: topology: level 'a' stands there twice"),
        ("topology: [{level: a, count: 1, label: x}, {level: b, count: 1, label: x}]", "pool p: topology.b: label x "),
        ("count: 1, nodes: [{a: x}, {a: y}]", "pool p: nodes: there are labels for 2 nodes, and the pool has 1"),
        (
            "kubelet: {topologyManagerPolicy: best}",
            "pool p: kubelet: topologyManagerPolicy is 'best': write one of none, best-effort, ",
        ),
        (
            "cpu: 7, kubelet: {topologyManagerPolicy: restricted, numa: {}}",
            "pool p: kubelet: numa: 7 CPUs cannot be divided into 2 NUMA nodes of whole cores with 2 threads: ",
        ),
        ("kubelet: {cpuManagerPolicy: static}", "pool p: kubelet: [cpumanager] the static policy requires "),
        ("kubelet: {start: soon}", "pool p: kubelet: start: 'soon' is no duration: "),
    ],
)
def test_a_wrong_pool_is_told_with_file_pool_field_and_remedy(written: str, sentence: str) -> None:
    with pytest.raises(UsageError) as error:
        read(written)
    assert str(error.value).startswith(f"pools.yaml: {sentence}")
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "f: the file is empty; write `pools:` and a list of pools"),
        ("pool: []", "f: pool: there is no such key; did you mean 'pools'?"),
        ("pools: 3", "f: pools: write a list of pools, each with a name"),
        ("pools: [3]", "f: pools[0]: a pool is a mapping with a name, not a int"),
        ("pools: [{count: 3}]", "f: pools[0]: name: every pool needs one; write it like gpu-nodes"),
        ("pools: [{name: A_b}]", 'f: pool A_b: name: Kubernetes refuses it: Invalid value: "A_b-0": a lowercase RFC'),
        ("pools: [{name: a}, {name: a}]", "f: pool a: name: two pools have this name; rename one"),
        (
            "apiVersion: v1\nkind: Pod",
            "f: Pod of v1: here are pools and NodePools of kwok.sigs.run-ai.com only; use `kubectl apply` for others",
        ),
    ],
)
def test_a_wrong_file_is_told(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as error:
        reading.read(text, source="f", env={})
    assert str(error.value).startswith(sentence)


def test_two_files_cannot_have_pools_of_one_name(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("pools: [{name: p, count: 1}]")
    with pytest.raises(UsageError, match=r"b\.yaml: pool p: name: .*a\.yaml has a pool of that name; rename one"):
        reading.read_files([tmp_path / "a.yaml", tmp_path / "b.yaml"])
    with pytest.raises(UsageError, match=r"c\.yaml: No such file or directory; name a file with pools"):
        reading.read_files([tmp_path / "c.yaml"])


def test_the_environment_says_how_many_nodes_a_pool_has_that_does_not_say_it() -> None:
    text = "pools: [{name: a}, {name: b, count: 2}, {name: c, topology: {rack: 3}}]"
    found = reading.read(text, source="f", env={"NODE_COUNT": "7"})
    assert [pool.size for pool in found.pools] == [7, 2, 3]
    with pytest.raises(UsageError, match="NODE_COUNT=x: this is no number of nodes; write it like 500"):
        reading.read(text, source="f", env={"NODE_COUNT": "x"})


def test_the_examples_are_what_they_say() -> None:
    fleet = reading.read_files([EXAMPLES / "pools.yaml"], env={})
    assert sum(pool.size for pool in fleet.pools) == 172
    (base,) = reading.read_files([EXAMPLES / "base-pool.yaml"], env={}).pools
    assert (base.size, base.gpus, base.pods) == (500, 8, 110)
    (node_pool,) = reading.read_files([EXAMPLES / "nodepool.yaml"], env={}).objects
    assert node_pool["spec"]["nodeCount"] == 500
