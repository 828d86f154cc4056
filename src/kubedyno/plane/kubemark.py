"""A hollow node as a component: kubemark, a real kubelet whose containers, mounts and machine are pretended.

It plays the one node that it is named for, so a lab has as many of these processes as nodes.
"""

from collections.abc import Mapping

from kubedyno.plane.component import Component, Probe, flags
from kubedyno.plane.identities import Identity
from kubedyno.plane.ports import LOOPBACK
from kubedyno.plane.site import Site

PROGRAM = "kubemark"
# Kubelets are many users, each with a share of its own; one identity for all is exempt from fairness, as KWOK's.
IDENTITY = Identity(name="hollow-nodes", user="kubedyno-hollow-nodes", groups=("system:masters",))

RUNTIME = "fakeRuntime://"
"""What a node's containerRuntimeVersion begins with once its hollow kubelet has told its status."""

# A kubelet's own limits; kubemark's are a fifth of them.
_KUBELET_QPS, _KUBELET_BURST = 50, 100


def hollow_node(site: Site, *, node: str, resources: Mapping[str, str], after: tuple[str, ...]) -> Component:
    """The hollow kubelet of the node of that name, which shows `resources` as its capacity and as allocatable.

    Left alone it would show one CPU and 3.75 GiB; labels, taints and annotations are those of the Node that is there.
    """
    port = site.draw_port()
    return Component(
        name=f"hollow-{node}",
        program=PROGRAM,
        role="kubelet",
        args=flags(
            {
                "morph": "kubelet",
                "name": node,
                "kubeconfig": str(site.kubeconfig(IDENTITY.name)),
                "kubelet-port": port,
                "kubelet-read-only-port": 0,
                "use-host-image-service": False,
                "extended-resources": ",".join(f"{k}={v}" for k, v in sorted(resources.items()) if k != "pods"),
                "max-pods": resources.get("pods"),
                "kube-api-qps": site.profile.client_qps or _KUBELET_QPS,
                "kube-api-burst": site.profile.client_burst or _KUBELET_BURST,
            }
        ),
        ports={"kubelet": port},
        ready=Probe(url=f"http://{LOOPBACK}:{port}/healthz"),
        after=after,
    )
