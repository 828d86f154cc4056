"""The simulation as a part of a lab: an activity in the lab's own process, or a process beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from kubedyno.plane.activity import Activity, Ground
from kubedyno.plane.component import OWN_ARGS, OWN_PROGRAM, Component, Probe, flags
from kubedyno.plane.identities import Identity
from kubedyno.plane.ports import LOOPBACK
from kubedyno.plane.site import Site
from kubedyno.sim.kubelet.plans import JobTimes
from kubedyno.sim.kubelet.sending import MANAGER
from kubedyno.sim.serving import Endpoint, serving
from kubedyno.sim.simulating import Instruments, Simulation, simulate

NAME = "kubelets"
SOCKETS = "pod-resources"
"""In this folder of a lab are the sockets of nodes with the label for it."""
# Kubelets are many, each with limits of its own; the one client that stands for all of them has none, as KWOK's.
IDENTITY = Identity(name=NAME, user="kubedyno-kubelets", groups=("system:masters",))


def activity(simulation: Simulation, *, port: int | None) -> Activity:
    """In the lab's own process; metrics are served on loopback at `port`."""
    instruments = Instruments()

    async def run(ground: Ground) -> None:
        if port is None:
            await simulate(ground.client, simulation, instruments, clock=ground.clock)
            return
        async with serving(instruments, Endpoint(LOOPBACK, port), ground.clock):
            await simulate(ground.client, simulation, instruments, clock=ground.clock)

    def audit() -> Mapping[str, float]:
        return dict(msgspec.structs.asdict(instruments.lag.report()))

    return Activity(
        name=NAME if simulation.kubelets else "devices",
        role="kubelet",
        run=run,
        program=MANAGER,
        ports={} if port is None else {"metrics": port},
        audit=audit if simulation.kubelets else None,
        instruments=instruments,
    )


def simulator(
    site: Site,
    *,
    seed: int,
    stages: Sequence[Path],
    cluster_stages: bool,
    job_times: JobTimes,
    after: tuple[str, ...],
) -> Component:
    """A process of its own, as KWOK is one; `job_times` is how long pods work by their label `job-type`."""
    port = site.draw_port()
    return Component(
        name=NAME,
        program=OWN_PROGRAM,
        role="kubelet",
        args=(
            *OWN_ARGS,
            "simulate",
            *flags(
                {
                    "kubeconfig": str(site.kubeconfig(IDENTITY.name)),
                    "lease-seconds": site.profile.lease_s,
                    "seed": seed,
                    "port": port,
                    "pod-resources": str(site.folder / SOCKETS),
                }
            ),
            *(f"--stages={path}" for path in stages),
            *(("--cluster-stages",) if cluster_stages else ()),
        ),
        env=job_times.environment,
        ports={"metrics": port},
        ready=Probe(url=f"http://{LOOPBACK}:{port}/healthz"),
        after=after,
    )
