"""Disaggregated inference: services whose parts are gangs of their own, each close together."""

from collections import defaultdict
from typing import Annotated

from kubedyno.lab.handles import Nodes, Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import Range, scenario
from kubedyno.lab.shapes import inference, training
from kubedyno.model.workloads import Group, Workload
from kubedyno.scenarios import occupying, outcomes, sizes

_PREFILL = "prefill"
_DECODE = "decode"
_NODES_PER_SERVICE = 4


@scenario(
    "kai/disaggregated-inference",
    tags=("topology", "inference", "reclaim"),
    needs=("gangs", "sub-groups", "required-topology", "non-preemptible", "quotas", "reclaim"),
)
async def disaggregated_inference(
    lab: Lab, *, nodes: Annotated[int, Range(8, 50_000)] = sizes.KAI_TREE.nodes, reclaim: bool = True
) -> None:
    """Services of a prefill and a decode part are placed, each part in one rack and all of it in one block.

    A quarter of the cluster goes to services while it is empty. Jobs of one GPU then fill the rest, and as many
    services again must reclaim their racks from them.

    Parameters:
        nodes: size of the cluster; the tree of zones, blocks and racks that is nearest to it is built
        reclaim: whether the second half of the services comes
    """
    tree = sizes.tree_near(nodes)
    pool = await lab.nodes("gpu", count=tree.nodes, gpus=sizes.GPUS_PER_NODE, topology=tree.levels)
    lab.record("nodes in the tree", "nodes", tree.nodes)
    count = max(1, tree.nodes // (4 * _NODES_PER_SERVICE))
    queue = await lab.queue(occupying.RECLAIMERS)
    shape = _service(pool)
    gpus = int(shape.gpu_count) * count
    with lab.timed():
        services = await lab.submit(shape, count=count, queue=queue)
        lab.measure("time to place services", since=services.submitted, until=await lab.scheduled(services))
    if reclaim:
        victims = await _filled_up(lab, sizes.all_gpus(tree.nodes) - gpus)
        with lab.timed():
            late = await lab.submit(shape, count=count, queue=queue)
            lab.measure("time to reclaim for services", since=late.submitted, until=await lab.scheduled(late))
        services |= late
        outcomes.expect_reclaimed(lab, victims=victims, reclaimers=services, gpus=gpus)
    outcomes.expect_all_placed(lab, services)
    _expect_close(lab, pool, services)


def _service(pool: Nodes) -> Workload:
    """Four nodes: two pods of a node each, and four of half a node."""
    rack = pool.close(required="rack")
    return inference(
        groups=(
            Group(name=_PREFILL, pods=2, gpus=sizes.GPUS_PER_NODE, closeness=rack),
            Group(name=_DECODE, pods=4, gpus=sizes.GPUS_PER_NODE // 2, closeness=rack),
        ),
        closeness=pool.close(required="block"),
        priority="inference",
    )


async def _filled_up(lab: Lab, gpus: int) -> Workloads:
    queue = await lab.queue(occupying.VICTIMS)
    victims = await lab.submit(training(gpus=1), count=gpus, queue=queue, name="victim")
    await lab.running(victims)
    await occupying.entitle(lab, 0)
    return victims


def _expect_close(lab: Lab, pool: Nodes, services: Workloads) -> None:
    racks, blocks = (lab.domain_of(pool.levels[level]) for level in ("rack", "block"))
    racks_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    blocks_of: dict[str, set[str]] = defaultdict(set)
    for pod, node in lab.placement(services).items():
        service, part, _ = pod.rsplit("-", 2)
        racks_of[service, part].add(racks[node])
        blocks_of[service].add(blocks[node])
    torn = [
        f"{part} of {service} is in {len(found)} racks" for (service, part), found in racks_of.items() if len(found) > 1
    ]
    wide = [f"{service} is in {len(found)} blocks" for service, found in blocks_of.items() if len(found) > 1]
    lab.expect("each part of a service is in one rack", not torn, outcomes.told(torn))
    lab.expect("each service is in one block", not wide, outcomes.told(wide))
