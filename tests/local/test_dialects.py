"""What the dialects write is accepted by real servers and ours, and becomes what their lifecycles follow."""

import os
from collections.abc import AsyncIterator
from typing import Any, get_args

import pytest
from tests.dialects import pods_of, rendered
from tests.labs import lab_in_process

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.kube import codec, meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import JOB_SETS, KAI_POD_GROUPS, PODS
from kubedyno.lab import installing
from kubedyno.model.dialects import Form
from kubedyno.model.lifecycles import ACCEPTED, STEPS, SUBMITTED
from kubedyno.model.queues import Queue, Share
from kubedyno.model.workloads import Closeness, Group, Workload
from kubedyno.plane import provisioning
from kubedyno.schedulers import SCHEDULERS
from kubedyno.schedulers.dialects import DIALECTS
from kubedyno.schedulers.dialects.ways import DECIDED

pytestmark = pytest.mark.local

NAMES = sorted(DIALECTS)
TYPES: tuple[Form, ...] = ("training", "distributed", "interactive")
WORKERS = 3

JOB_SET_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": JOB_SETS.full_name},
    "spec": {
        "group": JOB_SETS.group,
        "scope": "Namespaced",
        "names": {"kind": JOB_SETS.kind, "plural": JOB_SETS.plural},
        "versions": [
            {
                "name": JOB_SETS.version,
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@pytest.fixture(scope="module", params=["local", "embedded"])
async def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """An API server that has the kinds of all dialects."""
    folder = tmp_path_factory.mktemp("dialects") / "lab"
    async with lab_in_process(folder, engine=request.param, scheduler="kube-scheduler") as lab:
        # KAI's come first: Kueue's definition of the kind that they have in common lacks the version that KAI reads.
        for definitions in (
            await brought("kai"),
            [JOB_SET_DEFINITION, *(await brought("kueue")), *(await brought("scheduler-plugins"))],
        ):
            await installing.create_missing(lab.client, definitions)
            await installing.await_crds(lab.client, definitions)
        yield lab.client


async def brought(group: str) -> list[Object]:
    """The definitions that come with programs; Kueue's and KAI's have a kind in common."""
    folder = await provisioning.assets(group, bin_dir=None, cache=cache_dir(), env=os.environ, progress=Quiet())
    files = sorted(folder.glob("*.yaml"))
    return [document for file in files for document in codec.read_yaml(file.read_bytes(), source=str(file))]


async def accepted(client: Client, documents: list[dict[str, Any]]) -> None:
    """The server would create them as they are, and knows all of their fields."""
    for document in documents:
        resource = await client.resource_of(document)
        await client.create(resource, document, dry_run=True, field_validation="Strict")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", get_args(Form))
async def test_a_template_is_accepted(server: Client, name: str, form: Form) -> None:
    place = DIALECTS.get(name).place(None)
    await accepted(server, rendered(name, form, namespace=place.namespace, queue=place.queue or "", pvc="claim"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", TYPES)
async def test_a_template_without_gpus_and_volume_is_accepted(server: Client, name: str, form: Form) -> None:
    await accepted(server, rendered(name, form, queue="q", gpus=0))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pods", [1, 3])
async def test_intent_and_its_queues_are_accepted(server: Client, name: str, pods: int) -> None:
    dialect = DIALECTS.get(name)
    await accepted(server, dialect.queues((Queue(name="team"),)))
    await accepted(server, dialect.objects(Workload(name="w", queue="team", pods=pods)))


NEAR = Closeness(topology="t", required="zone", preferred="rack")
SHAPES = {
    "job": Workload(name="w", queue="team", as_job=True, runs_for="20s", closeness=NEAR, preemptible=True),
    "pod": Workload(name="w", gpus=2, cpu="500m", node_selector={"disk": "ssd"}, annotations={"note": "x"}),
    "gang": Workload(name="w", queue="team", pods=3, priority="build-preemptible"),
    "elastic gang": Workload(name="w", pods=3, least=2, closeness=NEAR, preemptible=False),
    "groups": Workload(
        name="w",
        priority="inference",
        closeness=Closeness(topology="t", preferred="zone"),
        groups=(Group(name="a", pods=2, gpus=4, closeness=NEAR), Group(name="b", pods=2, least=1, gpus=0)),
    ),
    "fraction": Workload(name="w", fraction=0.25),
    "fractions": Workload(name="w", pods=2, fraction=0.5),
    "claims": Workload(name="w", gpus=0, claims=2),
}
QUEUES = (
    Queue(name="above", gpu=Share(quota=16, over_quota_weight=2, limit=32.5), priority=200),
    Queue(name="below", parent="above", cpu=Share(quota=1000), memory=Share(limit=1e6)),
)


@pytest.fixture(scope="module")
async def minimal(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """A real API server with the reference scheduler's own definitions of KAI's kinds."""
    async with lab_in_process(tmp_path_factory.mktemp("minimal") / "lab", scheduler="reference") as lab:
        yield lab.client


async def answers(client: Client, documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a server makes of objects; what it invents for each is left out."""
    found = []
    for document in documents:
        resource = await client.resource_of(document)
        made = await client.create(resource, document, dry_run=True, field_validation="Strict")
        for name in ("uid", "creationTimestamp", "resourceVersion", "managedFields", "generation"):
            made["metadata"].pop(name, None)
        found.append(made)
    return found


@pytest.mark.parametrize("shape", sorted(SHAPES))
async def test_kais_own_definitions_and_ours_make_the_same_of_a_workload(
    server: Client, minimal: Client, shape: str
) -> None:
    documents = [
        made
        for made in DIALECTS.get("reference").objects(SHAPES[shape])
        if made["apiVersion"] == KAI_POD_GROUPS.api_version
    ]
    assert await answers(server, documents) == await answers(minimal, documents)
    await accepted(minimal, DIALECTS.get("reference").objects(SHAPES[shape]))
    await accepted(server, DIALECTS.get("kai").objects(SHAPES[shape]))


async def test_kais_own_definitions_and_ours_make_the_same_of_queues_and_topologies(
    server: Client, minimal: Client
) -> None:
    levels = [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    topology = {
        "apiVersion": "kueue.x-k8s.io/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "t"},
        "spec": {"levels": levels},
    }
    documents = [*DIALECTS.get("reference").queues(QUEUES), topology]
    assert await answers(server, documents) == await answers(minimal, documents)


def spoilt(document: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {**document, "spec": {**document["spec"], **spec}}


GROUP = DIALECTS.get("reference").objects(Workload(name="w", pods=2))[0]
(QUEUE,) = DIALECTS.get("reference").queues((Queue(name="q"),))


@pytest.mark.parametrize(
    "document",
    [
        spoilt(GROUP, minMember=0),
        spoilt(GROUP, minMember="two"),
        spoilt(GROUP, preemptibility="sometimes"),
        spoilt(GROUP, subGroups=[{"minMember": 1}]),
        spoilt(GROUP, subGroups=[{"name": "a", "minMember": 0}]),
        spoilt(GROUP, topologyConstraint={"level": "rack"}),
        spoilt(GROUP, unknown=1),
        spoilt(QUEUE, resources={"gpu": {"quota": "all"}}),
        spoilt(QUEUE, resources={"tpu": {"quota": 1}}),
        spoilt(QUEUE, priority=1.5),
    ],
)
async def test_kais_own_definitions_and_ours_refuse_the_same(
    server: Client, minimal: Client, document: dict[str, Any]
) -> None:
    for client in (server, minimal):
        resource = await client.resource_of(document)
        with pytest.raises(ApiError) as caught:
            await client.create(resource, document, dry_run=True, field_validation="Strict")
        assert caught.value.code in {400, 422}


async def test_the_kai_that_is_built_here_lacks_no_field() -> None:
    assert SCHEDULERS.get("kai").lacks_with(await brought("kai")) == SCHEDULERS.get("kai").lacks


@pytest.mark.parametrize("name", NAMES)
async def test_every_kind_that_is_followed_can_be_listed(server: Client, name: str) -> None:
    for followed in DIALECTS.get(name).lifecycle.kinds:
        await server.list(followed.resource, field_selector=followed.fields or None)


async def submitted(client: Client, name: str, form: Form, **values: Any) -> tuple[str, list[Object]]:
    """Create a workload with a volume in a namespace of its own; its pods, when all of them run."""
    namespace = f"{name}-{form}"
    await installing.ensure_namespace(client, namespace)
    place = DIALECTS.get(name).place(None)
    given = {"namespace": namespace, "queue": place.queue or "", "pvc": "claim", "workers": WORKERS, **values}
    workload = rendered(name, form, **given)
    for document in [*rendered(name, "pvc", workload_type=form, **given), *workload]:
        await client.create(await client.resource_of(document), document)
    count = pods_of(workload)

    def all_run(pods: Informer) -> bool:
        return len(pods.items) == count and all(pod["status"].get("phase") == "Running" for pod in pods.items)

    async with Informer(client, PODS, namespace=namespace) as pods:
        await pods.wait_until(all_run, timeout_s=60, what=f"{count} running pods of {namespace}")
        return namespace, list(pods.items)


async def unseen(client: Client, name: str, form: Form, namespace: str) -> set[str]:
    """The steps of the detailed plot that nothing in the namespace shows."""
    lifecycle = DIALECTS.get(name).lifecycle
    seen: set[tuple[str, str]] = set()
    for followed in lifecycle.kinds:
        try:
            found = await client.list(followed.resource, namespace=namespace)
        except ApiError as error:
            if not error.is_not_found:
                raise
            continue
        seen |= {(followed.role, shown.phase) for obj in found["items"] for shown in followed.shows(obj)}
    steps = lifecycle.steps("detailed", workload_type=form, has_volume=True)
    return {step for step in steps if not seen & set(STEPS[step].sources)} - {SUBMITTED, ACCEPTED}


@pytest.fixture(scope="module")
async def reference_lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    folder = tmp_path_factory.mktemp("reference") / "lab"
    async with lab_in_process(folder, engine="embedded", scheduler="reference", nodes=20) as lab:
        yield lab.client


@pytest.mark.parametrize("name", ["kube", "reference", "job", "podgroup", "pods", "pytorchjob", "runai"])
@pytest.mark.parametrize("form", TYPES)
async def test_a_workload_runs_under_the_reference_scheduler_and_shows_its_way(
    reference_lab: Client, name: str, form: Form
) -> None:
    namespace, pods = await submitted(reference_lab, name, form)
    groups = set() if name in {"kube", "reference", "podgroup"} else {"podgroup"}
    assert await unseen(reference_lab, name, form, namespace) <= {*groups, *DECIDED}
    assert {pod["metadata"]["labels"]["kubedyno/workload"] for pod in pods} == {"w-0"}


def owner(obj: Object) -> str:
    controller = meta.controller_owner(obj)
    return controller["uid"] if controller else ""


@pytest.fixture(scope="module")
async def kai_lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    async with lab_in_process(tmp_path_factory.mktemp("kai") / "lab", scheduler="kai", nodes=4) as lab:
        yield lab.client


@pytest.mark.parametrize(
    ("name", "form", "gang"),
    [
        ("kai", "training", 1),
        ("kai", "distributed", WORKERS),
        ("kai", "interactive", 1),
        ("job", "distributed", 1),
        ("pytorchjob", "distributed", WORKERS),
        ("runai", "training", 1),
        ("runai", "distributed", WORKERS + 1),
    ],
)
async def test_a_workload_runs_under_kai_and_shows_its_way(kai_lab: Client, name: str, form: Form, gang: int) -> None:
    namespace, pods = await submitted(kai_lab, name, form, scheduler_name="kai-scheduler")
    assert await unseen(kai_lab, name, form, namespace) == set()
    groups = (await kai_lab.list(KAI_POD_GROUPS, namespace=namespace))["items"]
    assert {group["spec"]["minMember"] for group in groups} == {gang}
    assert len(groups) == (len(pods) if gang == 1 else 1)
    [priority] = {group["spec"]["priorityClassName"] for group in groups}
    assert priority == ("build" if form == "interactive" else "train")
    ours = {pod["metadata"]["uid"] for pod in pods} | {owner(pod) for pod in pods}
    for followed in DIALECTS.get("kai").lifecycle.kinds:
        if followed.role in {"podgroup", "decision"} and followed.owner is not None:
            found = (await kai_lab.list(followed.resource, namespace=namespace))["items"]
            assert {followed.owner(obj) for obj in found} <= ours
