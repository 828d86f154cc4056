"""One gang in a tree of zones, blocks and racks, with and without the wish to stay together."""

from kubedyno.lab.handles import Nodes, Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.lab.shapes import distributed
from kubedyno.model.domains import fewest_domains
from kubedyno.model.workloads import Closeness
from kubedyno.scenarios import outcomes, sizes
from kubedyno.scenarios.parameters import NodeCount

_GPUS_PER_POD = 2


@scenario("kai/topology-preferred", tags=("topology", "distributed"), needs=("gangs", "preferred-topology"))
async def topology_preferred(lab: Lab, *, nodes: NodeCount = sizes.KAI_TREE.nodes) -> None:
    """A gang that prefers few racks is placed in as few as it can be.

    The gang has as many pods as the cluster has nodes, with two GPUs each: a quarter of it. It is created while the
    scheduler is paused. The racks that it spans are counted and compared with the least number that can hold it.

    Parameters:
        nodes: size of the cluster; the tree of zones, blocks and racks that is nearest to it is built
    """
    pool = await _tree(lab, nodes)
    racks = await _placed(lab, pool, pool.close(preferred="rack"))
    fewest = _fewest_racks(pool)
    lab.expect("the gang is in as few racks as can hold it", racks == fewest, f"{racks} racks; {fewest} can hold it")


@scenario("kai/topology-none", tags=("topology", "distributed"), needs=("gangs",))
async def topology_none(lab: Lab, *, nodes: NodeCount = sizes.KAI_TREE.nodes) -> None:
    """The same gang without any wish: what the search for a good place costs beside `kai/topology-preferred`.

    The racks that it spans are measured, and nothing is demanded of them.

    Parameters:
        nodes: size of the cluster; the tree of zones, blocks and racks that is nearest to it is built
    """
    pool = await _tree(lab, nodes)
    await _placed(lab, pool, None)


async def _tree(lab: Lab, nodes: int) -> Nodes:
    tree = sizes.tree_near(nodes)
    pool = await lab.nodes("gpu", count=tree.nodes, gpus=sizes.GPUS_PER_NODE, topology=tree.levels)
    lab.record("nodes in the tree", "nodes", (tree.nodes,))
    return pool


async def _placed(lab: Lab, pool: Nodes, closeness: Closeness | None) -> int:
    """Place the gang, measure how long that took, and count the racks that it spans."""
    queue = await lab.queue("team")
    shape = distributed(workers=len(pool.names), gpus=_GPUS_PER_POD, closeness=closeness)
    async with lab.scheduler.paused():
        gang = await lab.submit(shape, queue=queue)
    with lab.timed(since=lab.scheduler.resumed_at):
        scheduled = await lab.scheduled(gang)
    lab.measure("time to place the gang", since=lab.scheduler.resumed_at, until=scheduled)
    outcomes.expect_all_placed(lab, gang)
    return _racks(lab, pool, gang)


def _racks(lab: Lab, pool: Nodes, gang: Workloads) -> int:
    racks = len(lab.domains(gang, pool.levels["rack"]))
    lab.record("racks spanned", "racks", (racks,))
    lab.record("racks needed at least", "racks", (_fewest_racks(pool),))
    return racks


def _fewest_racks(pool: Nodes) -> int:
    """How many of the empty cluster's racks can hold the gang."""
    pods_per_rack = sizes.KAI_TREE.nodes_per_rack * (pool.gpus // _GPUS_PER_POD)
    racks = len(pool.names) // sizes.KAI_TREE.nodes_per_rack
    fewest = fewest_domains({f"rack-{index}": pods_per_rack for index in range(racks)}, len(pool.names))
    return racks if fewest is None else fewest
