"""`kubedyno simulate`."""

from pathlib import Path

import click


@click.command("simulate")
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="The cluster; without it, the one this runs in.")
@click.option("--context", default=None, help="A context of the kubeconfig.")
@click.option(
    "--lease-seconds",
    type=click.IntRange(min=0),
    default=40,
    show_default=True,
    help="Duration of the nodes' leases; 0: none.",
)
@click.option("--seed", default=0, show_default=True, help="Of all that is drawn.")
@click.option(
    "--shards",
    type=click.IntRange(min=0, max=1024),
    default=0,
    show_default=True,
    help="Share the nodes with other simulators, in so many parts; 0: all nodes are ours.",
)
@click.option("--stages", multiple=True, type=click.Path(path_type=Path), help="Stage files to play by.")
@click.option("--cluster-stages", is_flag=True, help="Play by the Stage objects of the cluster.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Where /metrics and /healthz are served.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The same; 0: not at all.")
@click.option(
    "--pod-resources",
    type=click.Path(path_type=Path),
    help="A folder: serve the kubelets' pod-resources API at NODE/kubelet.sock in it, for nodes with the label"
    " kubedyno/pod-resources=true.",
)
@click.option("--pod-resources-nodes", default="", metavar="NODE,...", help="For these nodes as well.")
def command(
    *,
    kubeconfig: Path | None,
    context: str | None,
    lease_seconds: int,
    seed: int,
    shards: int,
    stages: tuple[Path, ...],
    cluster_stages: bool,
    address: str,
    port: int,
    pod_resources: Path | None,
    pod_resources_nodes: str,
) -> None:
    """Simulate the nodes of a cluster, in the foreground.

    Labs start this by themselves. Beside a cluster, or in it as a deployment, any number of them share its nodes by
    `--shards`. CL2_JOB_RUNNING_TIME_MS and CL2_LONG_JOB_RUNNING_TIME_MS in the environment are how long pods labelled
    `job-type: short-lived` and `long-running` work.
    """
    import os
    import socket
    import uuid

    from kubedyno.client import access
    from kubedyno.client import kubeconfig as kubeconfigs
    from kubedyno.kit import tasks
    from kubedyno.kit.errors import UsageError
    from kubedyno.sim.kubelet.plans import job_times
    from kubedyno.sim.podresources.sockets import socket_of
    from kubedyno.sim.serving import Endpoint, simulate_beside
    from kubedyno.sim.simulating import Simulation

    if cluster_stages and (stages or shards):
        raise UsageError("--cluster-stages: they are for one simulator alone; leave --stages and --shards out")
    named = tuple(dict.fromkeys(name.strip() for name in pod_resources_nodes.split(",") if name.strip()))
    if named and pod_resources is None:
        raise UsageError("--pod-resources-nodes: say with --pod-resources in which folder their sockets are to be")
    if pod_resources is not None:
        for name in named:
            socket_of(pod_resources, name)  # what is wrong with it is told before anything starts
    where = access.in_cluster(os.environ) if kubeconfig is None else kubeconfigs.load(kubeconfig, context=context)
    simulation = Simulation(
        seed=seed,
        lease_s=lease_seconds,
        job_times=job_times(os.environ),
        shards=shards,
        member=f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}",
        stages=stages,
        cluster_stages=cluster_stages,
        pod_resources=pod_resources,
        pod_resources_nodes=named,
    )
    endpoint = Endpoint(address, port) if port else None
    tasks.run(lambda: simulate_beside(where, simulation, endpoint))
