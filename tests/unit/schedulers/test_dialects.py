"""Every template of every dialect: it renders, makes as many pods as it should, and its projects are somewhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.dialects import pods_of, rendered

from kubedyno.kit.errors import UsageError
from kubedyno.kube.resources import KAI_QUEUES, KUEUE_LOCAL_QUEUES, NAMESPACES
from kubedyno.model.dialects import Form, Place
from kubedyno.model.lifecycles import STEPS
from kubedyno.model.workloads import Workload
from kubedyno.schedulers import SCHEDULERS
from kubedyno.schedulers.dialects import DIALECTS, find
from kubedyno.schedulers.dialects.following import EVERYTHING

pytestmark = pytest.mark.unit

NAMES = sorted(DIALECTS)
TYPES: tuple[Form, ...] = ("training", "distributed", "interactive")
LAUNCHERS = {"runai"}


def pod_specs(found: Any) -> Iterator[dict[str, Any]]:
    """All specs with containers, wherever they are."""
    if isinstance(found, dict):
        if "containers" in found:
            yield found
        for value in found.values():
            yield from pod_specs(value)
    elif isinstance(found, list):
        for value in found:
            yield from pod_specs(value)


def test_the_dialects() -> None:
    assert NAMES == [
        "job", "jobset", "kai", "kube", "kueue", "podgroup", "pods", "pytorchjob", "reference", "runai",
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize("pvc", ["", "claim"])
def test_a_template_renders_to_objects_in_its_namespace(name: str, form: Form, pvc: str) -> None:
    documents = rendered(name, form, pvc=pvc or ("claim" if form == "pvc" else ""), namespace="here")
    assert documents
    assert {document["metadata"]["namespace"] for document in documents} == {"here"}
    assert all(document["apiVersion"] and document["kind"] and document["metadata"]["name"] for document in documents)
    assert len({(document["kind"], document["metadata"]["name"]) for document in documents}) == len(documents)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("form", "workers", "pods"), [
    ("training", 7, 1), ("interactive", 7, 1), ("distributed", 1, 1), ("distributed", 7, 7),
])  # fmt: skip
def test_n_workers_are_n_pods_and_a_launcher_where_there_is_one(name: str, form: Form, workers: int, pods: int) -> None:
    launchers = 1 if name in LAUNCHERS and form == "distributed" else 0
    assert pods_of(rendered(name, form, workers=workers)) == pods + launchers


@pytest.mark.parametrize("name", sorted(set(NAMES) - LAUNCHERS))
@pytest.mark.parametrize("form", TYPES)
def test_pods_ask_for_what_was_asked(name: str, form: Form) -> None:
    specs = list(pod_specs(rendered(name, form, gpus=3, scheduler_name="mine", image="an/image:1", pvc="claim")))
    assert specs
    for spec in specs:
        [container] = spec["containers"]
        assert spec["schedulerName"] == "mine"
        assert container["image"] == "an/image:1"
        assert container["resources"]["limits"] == {"nvidia.com/gpu": 3}
        assert spec["volumes"][0]["persistentVolumeClaim"] == {"claimName": "claim"}
        assert container["volumeMounts"][0]["name"] == spec["volumes"][0]["name"]
        assert container.get("tty", False) == (form == "interactive")


@pytest.mark.parametrize("name", sorted(set(NAMES) - LAUNCHERS))
@pytest.mark.parametrize("form", TYPES)
def test_pods_without_gpus_and_volumes_say_nothing_of_either(name: str, form: Form) -> None:
    for spec in pod_specs(rendered(name, form, gpus=0)):
        [container] = spec["containers"]
        assert "limits" not in container["resources"]
        assert "volumes" not in spec
        assert "volumeMounts" not in container


@pytest.mark.parametrize("form", TYPES)
def test_run_ais_fields_have_values(form: Form) -> None:
    [document] = rendered("runai", form, gpus=3, image="an/image:1", pvc="claim", queue="team", workers=7)
    spec = document["spec"]
    assert (spec["gpu"]["value"], spec["image"]["value"]) == ("3", "an/image:1")
    assert spec["pvcs"]["items"]["pvc--0"]["value"]["claimName"] == "claim"
    assert spec["labels"]["items"]["kubedyno/workload"]["value"] == document["metadata"]["name"]
    assert spec.get("numWorkers", {}).get("value") == (7 if form == "distributed" else None)
    assert document["metadata"]["labels"]["kai.scheduler/queue"] == "team"


@pytest.mark.parametrize("name", sorted(set(NAMES) - LAUNCHERS))
@pytest.mark.parametrize("form", TYPES)
def test_pods_carry_the_name_of_their_workload(name: str, form: Form) -> None:
    documents = rendered(name, form, workers=2)
    found = list(labelled(documents))
    assert found
    assert {labels.get("kubedyno/workload") for labels in found} == {"w-0"}


def labelled(found: Any) -> Iterator[dict[str, str]]:
    """The labels of pods and of their templates."""
    if isinstance(found, dict):
        if "containers" in (found.get("spec") or {}):
            yield (found.get("metadata") or {}).get("labels") or {}
        for value in found.values():
            yield from labelled(value)
    elif isinstance(found, list):
        for value in found:
            yield from labelled(value)


def test_a_queue_is_named_where_its_scheduler_looks_for_it() -> None:
    for form in TYPES:
        [job] = rendered("kai", form, queue="team")
        assert job["metadata"]["labels"]["kai.scheduler/queue"] == "team"
        assert [labels["kai.scheduler/queue"] for labels in labelled(job)] == ["team"]
        [suspended] = rendered("kueue", form, queue="team")
        assert suspended["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team"
        assert suspended["spec"]["suspend"] is True


def test_interactive_work_is_not_preempted_by_kai() -> None:
    [spec] = pod_specs(rendered("kai", "interactive"))
    assert spec["priorityClassName"] == "build"


@pytest.mark.parametrize(("form", "mode"), [("training", "ReadWriteOnce"), ("distributed", "ReadWriteMany")])
def test_a_claim_can_be_used_by_all_pods_of_its_workload(form: Form, mode: str) -> None:
    [claim] = rendered("kube", "pvc", pvc="mine", workload_type=form)
    assert claim["metadata"]["name"] == "mine"
    assert claim["spec"]["accessModes"] == [mode]


@pytest.mark.parametrize(
    ("name", "project", "place", "kind", "called"),
    [
        *((name, "team", Place("team"), NAMESPACES, "team") for name in
          ("kube", "reference", "job", "jobset", "pytorchjob", "podgroup", "pods")),
        *((name, None, Place("default"), NAMESPACES, None) for name in
          ("kube", "reference", "job", "jobset", "pytorchjob", "podgroup", "pods")),
        ("kai", "team", Place("default", "team"), KAI_QUEUES, "team"),
        ("kai", None, Place("default", "default-queue"), KAI_QUEUES, None),
        ("kueue", "team", Place("default", "team"), KUEUE_LOCAL_QUEUES, "team"),
        ("kueue", None, Place("default", "default"), KUEUE_LOCAL_QUEUES, None),
        ("runai", "team", Place("runai-team", "team"), NAMESPACES, "runai-team"),
        ("runai", None, Place("default", "default-queue"), NAMESPACES, None),
    ],
)  # fmt: skip
def test_a_project_is_a_place(name: str, project: str | None, place: Place, kind: Any, called: str | None) -> None:
    dialect = DIALECTS.get(name)
    assert dialect.place(project) == place
    assert dialect.project_kind == kind
    if project is not None:
        assert dialect.project_name(project) == called


@pytest.mark.parametrize("name", sorted(SCHEDULERS))
def test_a_scheduler_speaks_a_dialect_that_is_found_by_its_name(name: str) -> None:
    assert SCHEDULERS.get(name).dialect is find(name)


def test_a_slip_of_the_pen_is_answered_with_the_nearest_dialect() -> None:
    with pytest.raises(UsageError, match=r"there is no dialect 'kiu'.*'kai'"):
        find("kiu")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pods", [1, 3])
def test_intent_becomes_objects_of_as_many_pods(name: str, pods: int) -> None:
    workload = Workload(name="w", namespace="here", queue="q", pods=pods, gpus=2, labels={"team": "a"})
    objects = DIALECTS.get(name).objects(workload)
    assert pods_of(objects) == pods
    assert all(obj["metadata"]["labels"]["kubedyno/workload"] == "w" for obj in objects)
    assert all(obj["metadata"]["labels"]["team"] == "a" for obj in objects)
    assert {obj["metadata"]["namespace"] for obj in objects} == {"here"}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("kai", ["Queue", "Queue"]),
        ("runai", ["Queue", "Queue"]),
        ("kueue", ["ResourceFlavor", "ClusterQueue", "LocalQueue", "ClusterQueue", "LocalQueue"]),
        ("kube", []),
        ("pods", []),
    ],
)
def test_queues_are_objects_where_the_dialect_knows_them(name: str, kinds: list[str]) -> None:
    assert [obj["kind"] for obj in DIALECTS.get(name).queues(("a", "b"))] == kinds
    assert DIALECTS.get(name).queues(()) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_steps_of_a_dialect_are_known_and_in_both_plots(name: str) -> None:
    lifecycle = DIALECTS.get(name).lifecycle
    for steps in (lifecycle.general, lifecycle.detailed):
        assert steps[0] == "submitted"
        assert "accepted" in steps
        assert set(steps) <= set(STEPS)
        assert len(set(steps)) == len(steps)
    assert set(lifecycle.general) <= set(lifecycle.detailed)
    assert set(lifecycle.only) <= set(STEPS)


@pytest.mark.parametrize("name", NAMES)
def test_every_step_of_a_dialect_can_be_seen_in_one_of_its_kinds(name: str) -> None:
    lifecycle = DIALECTS.get(name).lifecycle
    roles = {followed.role for followed in lifecycle.kinds}
    for step in set(lifecycle.detailed) - {"submitted", "accepted"}:
        assert roles & {role for role, _ in STEPS[step].sources}, step


@pytest.mark.parametrize(
    ("name", "workload_type", "has_volume", "expected"),
    [
        ("kai", "training", False,
         "submitted job accepted first_pod podgroup last_decided last_bound last_running"),
        ("kai", "distributed", True,
         ("submitted job accepted first_pod gang_ready podgroup volume_bound first_decided last_decided "
         "first_bound last_bound first_running last_running")),
        ("kube", "training", True, "submitted job accepted first_pod volume_bound last_bound last_running"),
        ("kube", "distributed", False,
         "submitted podgroup accepted first_pod gang_ready first_bound last_bound first_running last_running"),
        ("kueue", "interactive", False,
         "submitted job accepted workload admitted first_pod last_bound last_running"),
    ],
)  # fmt: skip
def test_one_pod_is_not_its_own_first_and_last(name: str, workload_type: str, has_volume: bool, expected: str) -> None:
    lifecycle = DIALECTS.get(name).lifecycle
    found = lifecycle.steps("detailed", workload_type=workload_type, has_volume=has_volume)
    assert found == tuple(expected.split())


def test_the_general_plot_has_the_same_steps_for_all_workloads_of_kai() -> None:
    lifecycle = DIALECTS.get("kai").lifecycle
    for workload_type in TYPES:
        assert lifecycle.steps("general", workload_type=workload_type, has_volume=True) == (
            "submitted", "job", "accepted", "first_pod", "last_bound", "last_running",
        )  # fmt: skip


def test_a_step_comes_after_steps_that_are_before_it() -> None:
    order = list(STEPS)
    for name, step in STEPS.items():
        assert all(order.index(earlier) < order.index(name) for earlier in step.after), name


def test_what_is_followed_for_everybody_has_one_role_for_each_kind() -> None:
    roles: dict[str, set[str]] = {}
    for followed in EVERYTHING:
        roles.setdefault(followed.resource.full_name, set()).add(followed.role)
    assert {len(found) for found in roles.values()} == {1}
    for name in NAMES:
        assert set(DIALECTS.get(name).lifecycle.kinds) <= set(EVERYTHING), name
    assert len({(followed.resource, followed.fields) for followed in EVERYTHING}) == len(EVERYTHING)


def documented() -> dict[str, tuple[str, str]]:
    """The table of steps in the documentation: the cells of each dialect."""
    text = Path(__file__).parents[3].joinpath("docs", "dialects.md").read_text()
    rows = (line.split("|")[1:-1] for line in text.split("## Steps")[1].splitlines() if line.startswith("| `"))
    return {
        name.strip(" `"): (general.strip(), detailed.strip())
        for names, general, detailed in rows
        for name in names.split(",")
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_documentation_tells_the_steps(name: str) -> None:
    general, detailed = documented()[name]
    lifecycle = DIALECTS.get(name).lifecycle
    assert tuple(general.replace(" or ", ", ").split(", ")) == lifecycle.general
    ending = ("first_bound", "last_bound", "first_running", "last_running")
    assert (*detailed.replace(" or ", ", ").split(", "), *ending) == lifecycle.detailed


def test_the_documentation_has_a_line_for_each_dialect() -> None:
    assert sorted(documented()) == NAMES
