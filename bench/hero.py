"""A scenario for `hundred_thousand_nodes`: one gang of 10,000 GPUs that must be in one zone."""

from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.lab.shapes import distributed

WORKERS = 1_250
GPUS = 8
PLACED = "time to place"
TREE = {"zone": 50, "node": 2_000}


@scenario("bench/hero", needs=("gangs", "required-topology"))
async def hero(lab: Lab) -> None:
    """100,000 nodes, and a gang that takes more than half of one of their 50 zones."""
    pool = await lab.nodes("gpu", gpus=GPUS, topology=TREE)
    queue = await lab.queue("team")
    shape = distributed(workers=WORKERS, gpus=GPUS, closeness=pool.close(required="zone"))
    with lab.timed():
        gang = await lab.submit(shape, queue=queue)
        scheduled = await lab.scheduled(gang)
    lab.measure(PLACED, since=gang.submitted, until=scheduled)
    zones = lab.domains(gang, pool.levels["zone"])
    lab.expect("it is in one zone", list(zones.values()) == [WORKERS], str(zones))
