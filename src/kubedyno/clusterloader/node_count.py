"""How many nodes a cluster has for the pods of a test: what `.Nodes` is where nobody says it."""

from kubedyno.client.rest import Client
from kubedyno.clusterloader.measurements.node_health import is_healthy
from kubedyno.kube.resources import NODES


async def nodes_there(client: Client) -> int:
    """The nodes that pods may come to; taints that somebody chose, as those of fake nodes, do not matter."""
    return sum(map(is_healthy, (await client.list_all(NODES)).items))
