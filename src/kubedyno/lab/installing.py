"""Putting objects into a lab: CRDs until they are served, base objects, namespaces."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kube import codec, meta
from kubedyno.kube.resources import CRDS, SERVICE_ACCOUNTS
from kubedyno.plane.identities import Pki
from kubedyno.plane.webhooks import Webhooks

_FIELD_MANAGER = "kubedyno"
_ESTABLISHED_WITHIN_S = 60.0
_READY_WITHIN_S = 60.0


async def install_crds(client: Client, folders: Iterable[Path], webhooks: Sequence[Webhooks] = ()) -> None:
    """Create the CRDs below the folders and return when all of them are served; `webhooks` convert some of them."""
    documents = [
        reduce(lambda definition, hooks: hooks.converted(definition), webhooks, document)
        for folder in folders
        for path in sorted(folder.glob("*.yaml"))
        for document in codec.read_yaml(path.read_bytes(), source=str(path))
    ]
    async with tasks.owning() as group:
        for document in documents:
            group.create_task(apply(client, document))
    await await_crds(client, documents)


async def create_missing(client: Client, documents: Iterable[Mapping[str, Any]]) -> None:
    """Create those objects that are not there; others' are left as they are."""

    async def create(document: Mapping[str, Any]) -> None:
        try:
            await client.create(await client.resource_of(document), dict(document))
        except ApiError as error:
            if not error.is_already_exists:
                raise

    async with tasks.owning() as group:
        for document in documents:
            group.create_task(create(document))


async def await_crds(client: Client, documents: Iterable[Mapping[str, Any]]) -> None:
    """Return when the kinds of all these CRDs are served."""
    names = {document["metadata"]["name"] for document in documents}
    if not names:
        return

    def established(crds: Informer) -> bool:
        return all((crd := crds.get(("", name))) and meta.is_condition_true(crd, "Established") for name in names)

    async with Informer(client, CRDS) as crds:
        await crds.wait_until(established, timeout_s=_ESTABLISHED_WITHIN_S, what="the CRDs to be served")


async def apply(client: Client, document: Mapping[str, Any]) -> None:
    """Create the object or make it what the document says."""
    await client.apply(document, field_manager=_FIELD_MANAGER, force=True)


async def install_objects(client: Client, documents: Iterable[Mapping[str, Any]]) -> None:
    """Create objects one after another, in the given order: parents come before children."""
    for document in documents:
        await apply(client, document)


async def install_webhooks(client: Client, webhooks: Iterable[Webhooks], pki: Pki) -> None:
    """The certificates of components that the API server calls, and the objects that tell it when."""
    for hooks in webhooks:
        await apply(client, hooks.secret(pki.authority(hooks.authority.name)))
        await install_objects(client, hooks.configurations())


async def ensure_namespace(client: Client, name: str, *, labels: Mapping[str, str] | None = None) -> None:
    """The namespace, ready for pods: the API server refuses pods until its default service account exists."""
    metadata = {"name": name, **({"labels": dict(labels)} if labels else {})}
    await apply(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    await await_service_account(client, name)


async def await_service_account(client: Client, namespace: str) -> None:
    """Return when the controller-manager has made the namespace's default service account."""
    async with Informer(client, SERVICE_ACCOUNTS, namespace=namespace) as accounts:
        await accounts.wait_until(
            lambda found: found.get((namespace, "default")) is not None,
            timeout_s=_READY_WITHIN_S,
            what=f"the default service account of namespace {namespace}",
        )
