from collections.abc import Callable
from typing import Any, get_args

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.kube import codec
from kubedyno.model.submissions import WorkloadType
from kubedyno.schedulers.dialects import DIALECTS
from kubedyno.workload.order import Order
from kubedyno.workload.preparing import SUBMISSION_LABEL, WORKLOAD_LABEL, Prepared, Writer
from kubedyno.workload.templating import Template

pytestmark = pytest.mark.unit

Ordering = Callable[..., Order]
Writing = Callable[..., Writer]

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: main, image: '{{ image }}'}]}\n"


def objects(workload: Prepared) -> list[dict[str, Any]]:
    return [codec.decode(document.body) for document in workload.documents]


@pytest.mark.parametrize("kind", get_args(WorkloadType))
@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_every_template_of_every_dialect_makes_workloads(
    ordering: Ordering, writing: Writing, dialect: str, kind: str
) -> None:
    order = ordering(
        dialect=dialect, workload_type=kind, num_workloads=20, num_workers=3, pvc=True, projects=["a", "b"]
    )
    writer = writing(order)
    for index in (0, 1, 7, 19):
        workload = writer.prepared(index)
        assert objects(workload) == writer.objects(index), "filled in, it is what the template makes"
        assert workload.name == f"{kind}-abc123-{index}"
        assert workload.main_document.name.startswith(workload.name)
        assert (workload.project, workload.main) == ("ab"[index % 2], 1)
        for obj in objects(workload):
            assert obj["metadata"]["labels"][WORKLOAD_LABEL] == workload.name
            assert obj["metadata"]["labels"][SUBMISSION_LABEL] == "abc123"
            assert obj["metadata"]["namespace"] == workload.main_document.namespace
        assert workload.documents[0].kind == "PersistentVolumeClaim"
        assert workload.documents[0].name in codec.encode(objects(workload)[-1]).decode()


def test_templates_of_dialects_are_filled_in_and_not_read_again(
    ordering: Ordering, writing: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = writing(ordering(num_workloads=100))
    writer.prepared(0)

    def read(*_: Any) -> Any:
        pytest.fail("a workload of a known shape was read again")

    monkeypatch.setattr(Template, "objects", read)
    assert objects(writer.prepared(57))[0]["metadata"]["name"] == "training-abc123-57"


@pytest.mark.parametrize(
    "text",
    [
        POD % "'x-{{ index }}'" + "# {{ index % 2 }}\n",
        POD % "'{{ name }}'"
        + "{% if index == 3 %}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n{% endif %}",
        POD % "'{{ name }}'" + "data: 0{{ index }}\n",
        POD % "'{{ name }}'" + "data: {{ index }}:30\n",
        POD % "'{{ name | upper | lower }}'" + "data: {{ name | length }}\n",
        POD % "'{{ name }}'" + "data: {{ index }}\nmore: '{{ index }}'\nratio: .{{ index }}\n",
        POD % "fixed",
    ],
)
def test_templates_that_depend_on_the_number_in_their_own_way_are_done_right(
    ordering: Ordering, writing: Writing, text: str
) -> None:
    writer = writing(ordering(num_workloads=12), text)
    for index in range(12):
        assert objects(writer.prepared(index)) == writer.objects(index)


def test_the_names_of_a_plain_yaml_are_made_unique(ordering: Ordering, writing: Writing) -> None:
    text = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: train}
spec:
  template:
    metadata: {labels: {app: train, kubedyno/workload: other}}
    spec: {volumes: [{name: v, configMap: {name: config}}], containers: [{name: main, image: train-image}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: config, namespace: train}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 5
"""
    workload = writing(ordering(num_workloads=3), text).prepared(2)
    job, config, priority = objects(workload)
    assert (workload.name, config["metadata"]["name"]) == ("train-2", "config-2")
    assert job["metadata"]["namespace"] == "train"
    template = job["spec"]["template"]
    assert template["metadata"]["labels"] == {"app": "train-2", "kubedyno/workload": "train-2"}
    assert template["spec"]["volumes"] == [{"name": "v", "configMap": {"name": "config-2"}}]
    assert template["spec"]["containers"] == [{"name": "main", "image": "train-image"}]
    assert workload.documents[2].namespace is None
    assert "namespace" not in priority["metadata"]


def test_fields_are_set_in_the_main_object_or_in_all_of_a_kind(ordering: Ordering, writing: Writing) -> None:
    fields = ["spec.schedulingPolicy.gang.minCount=2", "Pod:spec.priorityClassName=train"]
    order = ordering(dialect="kube", workload_type="distributed", num_workers=3, fields=fields, num_workloads=5)
    group, *pods = objects(writing(order).prepared(4))
    assert group["spec"]["schedulingPolicy"]["gang"]["minCount"] == 2
    assert [pod["spec"]["priorityClassName"] for pod in pods] == ["train"] * 3
    with pytest.raises(UsageError, match=r"--field Node:spec.x=1: there is no Node among Pod, PodGroup"):
        writing(ordering(dialect="kube", workload_type="distributed", fields=["Node:spec.x=1"]))


def test_a_namespace_goes_over_that_of_the_project(ordering: Ordering, writing: Writing) -> None:
    order = ordering(dialect="kai", projects=["team"], namespace="here")
    workload = writing(order).prepared(0)
    assert (workload.main_document.namespace, workload.queue, workload.project) == ("here", "team", "team")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "workload.yaml: there is no object in it; write one with apiVersion, kind, metadata.name"),
        ("just text", "workload.yaml:1: a document must be a mapping with apiVersion and kind, not a str"),
        ("a: [", "workload.yaml:2:1: did not find expected node content"),
        ("kind: Pod\nmetadata: {name: x}", "workload.yaml: document 1: apiVersion is missing; every object needs"),
        ("apiVersion: v1\nkind: Pod", "workload.yaml: document 1: metadata.name is missing"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {generateName: x}",
            "workload.yaml: document 1: metadata.name is missing",
        ),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: 12}", "workload.yaml: document 1: metadata.name: 12 is no text"),
        (POD % "a" + "---\nkind: X", "workload.yaml: document 2: apiVersion is missing"),
        (POD % "'{{ names }}'", "workload.yaml: there is no value 'names': did you mean 'name'?"),
        ("a: 1\nb: {{ 1 + }}", "workload.yaml:2: the template cannot be rendered: unexpected end of variable block"),
        ("a: {% if %}", "workload.yaml:1: the template cannot be rendered: "),
        ("a: 1\nb: {{ name.first }}", "workload.yaml:2: the template cannot be rendered: `name.first` is undefined"),
        (POD % ("x" * 62), f"workload.yaml: the name {'x' * 62}-0 has 64 characters; "),
    ],
)
def test_a_wrong_template_is_refused_with_its_place(
    ordering: Ordering, writing: Writing, text: str, sentence: str
) -> None:
    with pytest.raises(UsageError) as raised:
        writing(ordering(), text or "# nothing")
    assert str(raised.value).startswith(sentence)
