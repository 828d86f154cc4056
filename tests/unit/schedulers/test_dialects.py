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
from kubedyno.model.queues import Queue, Share
from kubedyno.model.workloads import Closeness, Group, Workload
from kubedyno.schedulers import SCHEDULERS
from kubedyno.schedulers.dialects import DIALECTS, find
from kubedyno.schedulers.dialects.following import EVERYTHING
from kubedyno.schedulers.kai.capabilities import lacking
from kubedyno.sim import marks
from kubedyno.sim.devices.classes import device_classes

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
        "job", "jobset", "kai", "kube", "kueue", "plugins", "podgroup", "pods", "pytorchjob", "reference", "runai",
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


WRITES_JOBS = ("kai", "kube", "plugins", "reference")


@pytest.mark.parametrize("name", WRITES_JOBS)
def test_a_single_pod_that_is_to_come_back_is_a_job(name: str) -> None:
    shape = Workload(name="w", namespace="here", as_job=True, runs_for="20s", labels={"kubedyno/run": "r"})
    (job,) = DIALECTS.get(name).objects(shape)
    assert job["kind"] == "Job"
    assert job["spec"]["backoffLimit"] > 1000
    template = job["spec"]["template"]
    assert template["metadata"]["annotations"] == {marks.DURATION: "20s"}
    assert job["metadata"]["labels"]["kubedyno/run"] == template["metadata"]["labels"]["kubedyno/run"] == "r"


@pytest.mark.parametrize("name", WRITES_JOBS)
def test_a_gang_is_no_job(name: str) -> None:
    kinds = [made["kind"] for made in DIALECTS.get(name).objects(Workload(name="w", pods=2, as_job=True))]
    assert kinds == ["PodGroup", "Pod", "Pod"]


@pytest.mark.parametrize("name", sorted(set(NAMES) - LAUNCHERS))
def test_pods_say_priority_nodes_and_notes(name: str) -> None:
    shape = Workload(name="w", priority="build", node_selector={"disk": "ssd"}, annotations={"note": "x"})
    (spec,) = pod_specs(DIALECTS.get(name).objects(shape))
    assert spec.get("priorityClassName") == (None if name == "kueue" else "build")
    assert spec["nodeSelector"] == {"disk": "ssd"}
    assert any(told.get("note") == "x" for told in annotations(DIALECTS.get(name).objects(shape)))


def annotations(found: Any) -> Iterator[dict[str, str]]:
    """The annotations of pods and of their templates."""
    if isinstance(found, dict):
        if "containers" in (found.get("spec") or {}):
            yield (found.get("metadata") or {}).get("annotations") or {}
        for value in found.values():
            yield from annotations(value)
    elif isinstance(found, list):
        for value in found:
            yield from annotations(value)


@pytest.mark.parametrize("name", sorted({*WRITES_JOBS, "podgroup", "pods", "job"}))
@pytest.mark.parametrize("as_job", [False, True])
def test_claims_come_from_a_template_that_is_there_first(name: str, as_job: bool) -> None:
    shape = Workload(name="w", namespace="here", gpus=0, claims=3, as_job=as_job, labels={"kubedyno/run": "r"})
    template, *others = DIALECTS.get(name).objects(shape)
    assert template["kind"] == "ResourceClaimTemplate"
    assert template["metadata"]["labels"] == {"kubedyno/workload": "w", "kubedyno/run": "r"}
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"] == {"deviceClassName": "gpu.nvidia.com", "count": 3}
    assert request["exactly"]["deviceClassName"] in {made["metadata"]["name"] for made in device_classes()}
    (spec,) = pod_specs(others)
    (claim,) = spec["resourceClaims"]
    assert claim["resourceClaimTemplateName"] == template["metadata"]["name"]
    assert spec["containers"][0]["resources"]["claims"] == [{"name": claim["name"]}]
    assert "nvidia.com/gpu" not in spec["containers"][0]["resources"]["requests"]


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"kai", "reference"} - LAUNCHERS))
def test_a_part_of_a_gpu_is_refused_where_there_are_no_words_for_it(name: str) -> None:
    with pytest.raises(UsageError, match=rf"asks for 0\.5 of a GPU, for which dialect {name} has no words"):
        DIALECTS.get(name).objects(Workload(name="w", fraction=0.5))


@pytest.mark.parametrize("name", ["job", "jobset", "pytorchjob"])
def test_groups_are_refused_where_one_template_makes_all_pods(name: str) -> None:
    groups = (Group(name="a", pods=1), Group(name="b", pods=2))
    with pytest.raises(UsageError, match="workload w has groups, which cannot be made from one template"):
        DIALECTS.get(name).objects(Workload(name="w", groups=groups))


def test_the_reference_groups_a_pod_only_where_it_cannot_speak_for_itself() -> None:
    dialect = DIALECTS.get("reference")
    (pod,) = dialect.objects(Workload(name="w", queue="q", fraction=0.5))
    assert pod["spec"]["schedulerName"] == "default-scheduler"
    assert pod["metadata"]["labels"]["kai.scheduler/queue"] == "q"
    assert pod["metadata"]["annotations"]["gpu-fraction"] == "0.5"
    near = Closeness(topology="t", preferred="rack")
    for shape in (
        Workload(name="w", closeness=near),
        Workload(name="w", preemptible=False),
        Workload(name="w", pods=2),
    ):
        group, *pods = dialect.objects(shape)
        assert (group["apiVersion"], group["kind"]) == ("scheduling.run.ai/v2alpha2", "PodGroup")
        assert {one["metadata"]["annotations"]["pod-group-name"] for one in pods} == {"w"}


def test_the_reference_writes_gangs_and_queues_as_kai_has_them() -> None:
    groups = (Group(name="a", pods=1), Group(name="b", pods=2, least=1))
    shape = Workload(name="w", queue="q", groups=groups, priority="build", preemptible=True)
    (ours, *_), (theirs, *_) = (DIALECTS.get(name).objects(shape) for name in ("reference", "kai"))
    assert ours == theirs
    wanted = (Queue(name="a", gpu=Share(quota=8, limit=16)), Queue(name="b", parent="a"))
    assert DIALECTS.get("reference").queues(wanted) == DIALECTS.get("kai").queues(wanted)


def test_the_definitions_of_the_reference_are_of_all_kinds_that_it_reads() -> None:
    found = {made["metadata"]["name"]: made for made in SCHEDULERS.get("reference").definitions()}
    assert list(found) == [
        "noderesourcetopologies.topology.node.k8s.io",
        "podgroups.scheduling.run.ai",
        "queues.scheduling.run.ai",
        "topologies.kai.scheduler",
        "topologies.kueue.x-k8s.io",
    ]
    assert lacking(found.values()) == {}
    for name in ("kai", "kube-scheduler"):
        assert SCHEDULERS.get(name).definitions() == []


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("kai", ["Queue", "Queue"]),
        ("reference", ["Queue", "Queue"]),
        ("runai", ["Queue", "Queue"]),
        ("kueue", ["ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue", "ClusterQueue", "LocalQueue"]),
        ("kube", []),
        ("pods", []),
    ],
)
def test_queues_are_objects_where_the_dialect_knows_them(name: str, kinds: list[str]) -> None:
    assert [obj["kind"] for obj in DIALECTS.get(name).queues((Queue(name="a"), Queue(name="b")))] == kinds
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
