"""The kind NodePool: its names, its definition (`definition.yaml`), and putting that into a cluster."""

from importlib import resources
from typing import Final

from kubedyno.client.calling import HTTP_ERROR
from kubedyno.client.errors import HTTP_NOT_FOUND, ApiError
from kubedyno.client.rest import Client
from kubedyno.kube import status
from kubedyno.kube.codec import Object, read_yaml
from kubedyno.kube.resources import CRDS, Resource

NODE_POOLS: Final = Resource("kwok.sigs.run-ai.com", "v1beta1", "NodePool", "nodepools", False, ("status",))  # noqa: FBT003 - namespaced


def document() -> Object:
    """The CustomResourceDefinition."""
    text = (resources.files("kubedyno.sim.nodepools") / "definition.yaml").read_text(encoding="utf-8")
    (definition,) = read_yaml(text, source="definition.yaml")
    return definition


async def install(client: Client) -> None:
    """Define the kind; a definition that is there, perhaps the kwok-operator's own, is left alone."""
    try:
        await client.create(CRDS, document())
    except ApiError as error:
        if not error.is_already_exists:
            raise


async def is_served(client: Client) -> bool:
    """Whether the server answers for the kind: for a moment after it is Established a real one does not yet."""
    path = NODE_POOLS.path()
    answer = await client.request_raw("GET", path, query={"limit": "1"})
    if answer.status == HTTP_NOT_FOUND:
        return False
    if answer.status >= HTTP_ERROR:
        raise ApiError(status.parse(answer.body, code=answer.status), method="GET", path=path)
    return True
