"""The builtin kubelet: one activity plays the kubelets of all nodes, as a client of the API.

What a pod or a node says of itself at each step is data (`podstates`, `nodestates`); `playing` writes it in time.
"""

from kubedyno.plane.activity import Activity, Ground
from kubedyno.sim.kubelet.playing import play_kubelets


def activity(*, lease_s: int) -> Activity:
    """The kubelets of all nodes as an activity of a lab."""

    async def run(ground: Ground) -> None:
        await play_kubelets(ground.client, clock=ground.clock, seed=ground.seed, lease_s=lease_s)

    return Activity(name="kubelets", role="kubelet", run=run, program="kubelet")
