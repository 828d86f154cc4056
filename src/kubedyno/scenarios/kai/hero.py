"""The hero job: one gang as large as a zone that must be in one."""

from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.lab.shapes import distributed
from kubedyno.scenarios import beside, occupying, outcomes, sizes
from kubedyno.scenarios.parameters import NodeCount, Rate, Share


@scenario(
    "kai/hero-job",
    tags=("topology", "distributed", "reclaim"),
    needs=("gangs", "required-topology", "quotas", "reclaim"),
)
async def hero_job(
    lab: Lab,
    *,
    nodes: NodeCount = sizes.KAI_TREE.nodes,
    reclaim: bool = True,
    background: Share = 0.0,
    churn: Rate = 0.0,
) -> None:
    """One gang that needs a whole zone gets exactly one zone of a full cluster.

    All nodes are full of one-GPU jobs of a queue without a right to them. The gang's pods take whole nodes, as many as
    a zone has, and must all be in one zone.

    Parameters:
        nodes: size of the cluster; the tree of at least two zones that is nearest to it is built
        reclaim: whether the cluster is full, and the zone must be reclaimed; else it is empty
        background: other jobs that wait all the time, as a share of the cluster's GPUs
        churn: other jobs a second that come and go without a GPU
    """
    tree = sizes.tree_near(nodes, fewest_zones=2)
    world = await occupying.occupied(lab, tree.nodes, tree=tree, jobs=reclaim)
    lab.record("nodes in the tree", "nodes", tree.nodes)
    closeness = world.pool.close(required="zone")
    shape = distributed(workers=tree.nodes_per_zone, gpus=sizes.GPUS_PER_NODE, closeness=closeness)
    async with beside.load(lab, tree.nodes, background=background, churn=churn):
        with lab.timed():
            hero = await lab.submit(shape, queue=world.reclaimers, name="hero")
            scheduled = await lab.scheduled(hero)
        lab.measure("time to place the hero job", since=hero.submitted, until=scheduled)
        await lab.running(hero)
    outcomes.expect_all_placed(lab, hero)
    zones = lab.domains(hero, world.pool.levels["zone"])
    lab.expect("the hero job is in one zone", len(zones) == 1, f"in {outcomes.told(zones)}")
    if reclaim:
        gpus = hero.pods * sizes.GPUS_PER_NODE
        outcomes.expect_reclaimed(lab, victims=world.victims, reclaimers=hero, gpus=gpus)
        await outcomes.expect_nothing_idle(lab, victims=world.victims, gpus=sizes.all_gpus(tree.nodes) - gpus)
