"""Field ownership as the real API server keeps it: each step is sent to it, and ours must come to the same."""

import copy
import random
from typing import Any

import msgspec
import pytest

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kit import randomness
from kubedyno.kube import ownership
from kubedyno.kube.fieldsets import FieldSet, field
from kubedyno.kube.normalizing import normalized
from kubedyno.kube.ownership import FieldConflict, Owned, Owner
from kubedyno.kube.resources import for_object
from kubedyno.kube.typed import field_set, view_of
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local

NAMESPACE = "default"
STATUS: FieldSet = frozenset([(field("status"),)])


def pod_template(**spec: Any) -> dict[str, Any]:
    """A kind with all of a pod's fields that no controller touches."""
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "web", "namespace": NAMESPACE, "labels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": spec},
    }


def container(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": f"image-of-{name}", **more}


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": NAMESPACE}, "data": data}


def service(*ports: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": NAMESPACE, "finalizers": ["example.com/one"]},
        "spec": {"selector": {"app": "web"}, "ports": list(ports)},
    }


def partial(**spec: Any) -> dict[str, Any]:
    """A configuration that names a pod template and these fields of its spec only."""
    name = {"name": "web", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": name, "template": {"spec": spec}}


FULL = pod_template(
    containers=[
        container("a", ports=[{"containerPort": 80}], env=[{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]),
        container("b", args=["one", "two"]),
    ],
    nodeSelector={"zone": "east"},
    tolerations=[{"key": "gpu", "operator": "Exists"}],
)

History = list[tuple[str, str, dict[str, Any]]]
"""Who does what, with what."""

HISTORIES: dict[str, History] = {
    "a created object belongs to its creator": [("maker", "create", FULL)],
    "an update takes what it changes": [
        ("maker", "create", config_map(a="1", b="2")),
        ("other", "merge", {"data": {"b": "3", "c": "4"}}),
        ("third", "merge", {"data": {"a": None}, "metadata": {"labels": {"x": "y"}}}),
        ("maker", "merge", {"data": {"c": "5"}}),
    ],
    "an apply owns what it names": [
        ("first", "apply", config_map(a="1", b="2")),
        ("first", "apply", config_map(a="1", c="3")),
        ("second", "apply", config_map(c="3", d="4")),
        ("first", "apply", config_map(a="1")),
        ("second", "apply", config_map(d="4")),
    ],
    "conflicts name the owner, and force takes over": [
        ("first", "apply", config_map(a="1")),
        ("second", "apply", config_map(a="2")),
        ("second", "force", config_map(a="2")),
        ("first", "apply", config_map(b="2")),
        ("first", "apply", config_map(a="1", b="2")),
    ],
    "containers, ports and variables are items by their keys": [
        ("first", "apply", FULL),
        (
            "second",
            "apply",
            partial(containers=[{"name": "a", "env": [{"name": "Z", "value": "3"}]}]),
        ),
        (
            "first",
            "apply",
            pod_template(containers=[container("a", ports=[{"containerPort": 80, "protocol": "TCP"}])]),
        ),
        ("second", "apply", partial(containers=[{"name": "a"}])),
    ],
    "atomic lists and maps go as a whole": [
        ("first", "apply", FULL),
        ("editor", "merge", {"template": {"spec": {"nodeSelector": {"zone": "west"}}}}),
        ("first", "apply", FULL),
        ("first", "force", FULL),
        (
            "editor",
            "strategic",
            {"template": {"spec": {"tolerations": [{"key": "other", "operator": "Exists"}]}}},
        ),
    ],
    "ports of a service have a default protocol as key, finalizers are a set": [
        ("first", "apply", service({"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"})),
        ("second", "merge", {"metadata": {"finalizers": ["example.com/one", "example.com/two"]}}),
        ("first", "apply", service({"name": "http", "port": 80}, {"name": "more", "port": 81})),
        ("second", "merge", {"metadata": {"finalizers": []}}),
    ],
    "items come in the order that the last applier wants": [
        ("first", "apply", partial(containers=[container("a"), container("b"), container("c")])),
        ("second", "apply", partial(containers=[container("x"), container("b")])),
        ("first", "apply", partial(containers=[container("c"), container("a"), container("d"), container("b")])),
        ("second", "apply", partial(containers=[container("x")])),
    ],
    "an empty object is owned by itself": [
        ("first", "apply", partial(containers=[container("a")], affinity={})),
        ("first", "apply", partial(containers=[container("a")], volumes=[{"name": "v", "emptyDir": {}}])),
        ("editor", "merge", {"template": {"spec": {"volumes": None}}}),
    ],
    "an applier and an updater of one name are two owners": [
        ("same", "apply", config_map(a="1")),
        ("same", "merge", {"data": {"a": "2", "b": "2"}}),
        ("same", "apply", config_map(a="2")),
    ],
}


@pytest.fixture
def client(shared_lab: RunningLab) -> Client:
    return shared_lab.client


def owners_of(obj: dict[str, Any]) -> dict[Owner, FieldSet]:
    return {owned.owner: owned.fields for owned in ownership.read(obj["metadata"].get("managedFields", []))}


def as_dict(owners: tuple[Owned, ...]) -> dict[Owner, FieldSet]:
    return {owned.owner: owned.fields for owned in owners}


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
async def test_ours_comes_to_what_the_server_says(client: Client, history: History) -> None:
    await replay(client, history)


@pytest.mark.parametrize("seed", range(30))
async def test_ours_comes_to_what_the_server_says_of_any_history(client: Client, seed: int) -> None:
    await replay(client, any_history(randomness.stream(seed, "histories")))


def any_history(rng: random.Random) -> History:
    """Three managers that apply and patch variables of containers, in any order."""

    def variables() -> list[dict[str, Any]]:
        return [{"name": name, "value": rng.choice("12")} for name in rng.sample("XYZ", rng.randint(0, 3))]

    def containers() -> list[dict[str, Any]]:
        chosen = rng.sample("abc", rng.randint(1, 3))
        return [container(name, **({"env": found} if (found := variables()) else {})) for name in chosen]

    def selector() -> dict[str, Any]:
        return {"nodeSelector": {"zone": rng.choice(["east", "west"])}} if rng.random() < 0.4 else {}

    history: History = [("one", "apply", partial(containers=containers(), **selector()))]
    for _ in range(6):
        manager = rng.choice(["one", "two", "three"])
        what = rng.choice(["apply", "apply", "force", "strategic"])
        document = partial(containers=containers(), **selector())
        history.append((manager, what, {"template": document["template"]} if what == "strategic" else document))
    return history


async def replay(client: Client, history: History) -> None:
    """Send each step to the server and compare."""
    first = history[0][2]
    resource = for_object(first)
    name, view = first["metadata"]["name"], view_of(first["apiVersion"], first["kind"])
    live: dict[str, Any] = {}
    try:
        for manager, what, document in history:
            before = copy.deepcopy(live)
            operation = "Apply" if what in {"apply", "force"} else "Update"
            by = Owner(manager=manager, operation=operation, api_version=first["apiVersion"])
            owners = ownership.read(before.get("metadata", {}).get("managedFields", []))
            if operation == "Apply":
                live = await _apply(client, document, before, owners, by, force=what == "force", view=view)
                continue
            if what == "create":
                live = await client.create(resource, document, field_manager=manager)
            else:
                kind = "merge" if what == "merge" else "strategic"
                live = await client.patch(
                    resource, name, document, kind=kind, namespace=NAMESPACE, field_manager=manager
                )
            empty = normalized({}, first["apiVersion"], first["kind"])
            ours = ownership.after_update(before or empty, live, owners, by=by, view=view, now="now", ignored=STATUS)
            assert as_dict(ours) == owners_of(live)
    finally:
        await client.patch(resource, name, {"metadata": {"finalizers": None}}, kind="merge", namespace=NAMESPACE)
        await client.delete(resource, name, namespace=NAMESPACE)


async def _apply(
    client: Client,
    document: dict[str, Any],
    before: dict[str, Any],
    owners: tuple[Owned, ...],
    by: Owner,
    *,
    force: bool,
    view: Any,
) -> dict[str, Any]:
    """Apply here and there; both conflict with the same words, or both come to the same object and owners."""
    refused: ApiError | None = None
    try:
        live = await client.apply(document, field_manager=by.manager, force=force)
    except ApiError as error:
        refused = error
    if refused is not None:
        with pytest.raises(FieldConflict) as conflict:
            ownership.apply(before, document, owners, by=by, force=force, view=view, now="now", ignored=STATUS)
        ours = [(f"conflict with {who}", path) for who, path in conflict.value.conflicts]
        assert refused.is_conflict
        assert sorted((cause.message, cause.field) for cause in refused.causes) == sorted(ours)
        assert refused.message == str(conflict.value)
        return before
    merged, after = ownership.apply(before, document, owners, by=by, force=force, view=view, now="now", ignored=STATUS)
    assert as_dict(after) == owners_of(live)
    asked = field_set(_comparable(before), view) | field_set(_comparable(document), view)
    mine, theirs = field_set(_comparable(merged), view), field_set(_comparable(live), view)
    assert mine - theirs == frozenset(), "ours has fields that the server has not"
    assert (theirs - mine) & asked == frozenset(), "the server kept fields that ours removed"
    assert _names(merged) == _names(live), "the order of containers"
    return live


def _names(obj: dict[str, Any]) -> list[str]:
    containers = obj.get("template", {}).get("spec", {}).get("containers", [])
    return [one["name"] for one in containers]


def _comparable(obj: dict[str, Any]) -> dict[str, Any]:
    """Without what the server writes by itself."""
    kept = {key: value for key, value in obj.items() if key != "status"}
    metadata = {k: v for k, v in obj.get("metadata", {}).items() if k in {"name", "labels", "finalizers"}}
    return msgspec.convert({**kept, "metadata": metadata}, dict[str, Any])
