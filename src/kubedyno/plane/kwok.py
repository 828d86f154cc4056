"""KWOK as a component: it plays the kubelets of all nodes, by the stages it is given."""

from collections.abc import Sequence
from pathlib import Path

from kubedyno.plane.component import Component, Probe, flags
from kubedyno.plane.identities import Identity
from kubedyno.plane.ports import LOOPBACK
from kubedyno.plane.site import Site

# In a cluster KWOK ships a flow schema that exempts it from fairness; system:masters is exempt too.
IDENTITY = Identity(name="kwok", user="kwok", groups=("system:masters",))


def controller(site: Site, *, stages: Sequence[Path], after: tuple[str, ...]) -> Component:
    """One KWOK process that manages all nodes. `stages` are files of Stage objects: KWOK has none of its own."""
    port = site.draw_port()
    return Component(
        name="kwok",
        program="kwok",
        role="kubelet",
        args=(
            *flags(
                {
                    "kubeconfig": str(site.kubeconfig(IDENTITY.name)),
                    "manage-all-nodes": True,
                    "node-ip": LOOPBACK,
                    "node-lease-duration-seconds": site.profile.lease_s,
                    "server-address": f"{LOOPBACK}:{port}",
                }
            ),
            *(f"--config={path}" for path in stages),
        ),
        ports={"server": port},
        ready=Probe(url=f"http://{LOOPBACK}:{port}/healthz"),
        after=after,
    )
